"""Facts of a submitter's ``systems/`` directory as a whole; what single descriptions say are facts of their system."""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Int, Known, Record, fact


class SystemsEntry(Record):
    """An entry that belongs to no system. Of many, the last record stands for the rest."""

    name: str = fact("Name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    kind: Literal["directory", "file", "notes"] = fact("'notes': a Markdown file.", known=Known.RUN)


class SharedDocument(Record):
    """One PDF content, with the systems whose PDF has it."""

    path: str = fact("Path of the first.", known=Known.RUN)
    systems: list[str] = fact("Names of the systems.", known=Known.RUN)


class SystemsDirectory(FactModel):
    """The ``systems/`` directory of one submitter in one division."""

    subject: ClassVar[str] = "systems_directory"
    namespace: ClassVar[str] = "systems_dir"
    plural: ClassVar[str] = "systems_directories"

    results_directory: Fact[bool] = fact("There is a results/ beside it.", known=Known.RUN)
    results_systems: Fact[Int] = fact("Systems that have results.", known=Known.RUN, unit="systems")
    entries: Fact[list[SystemsEntry]] = fact(
        "Entries that belong to no system, names with a dot left out.", known=Known.RUN
    )
    documents: Fact[list[SharedDocument]] = fact("Different PDFs that could be read.", known=Known.RUN)
