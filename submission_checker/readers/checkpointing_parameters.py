"""What was asked of DLIO in a checkpointing leaf: by its configuration, its overrides and the command."""

from __future__ import annotations

from mlpstorage.results import dlio
from mlpstorage.results.credentials import Curtain
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.text import clean, clean_all
from rules.derived import checkpointing as derived
from rules.facts import Absence
from rules.facts.checkpointing import StatedArgument, StatedParameter
from rules.remembered import remembered

from .checkpointing_files import LeafDocuments
from .common import NOT_STATED

MAX_PARAMETERS = 2000
"""Keys of a DLIO workload; real ones have about thirty."""


class ParameterReader:
    """Reads the parameters of one leaf; different hidden values stay different."""

    def __init__(self, files: LeafDocuments) -> None:
        self._files = files
        self._curtain = Curtain()

    def flat(self, document: Document, pointer: str) -> Found[dict[str, str]]:
        """The keys of a DLIO workload with their values in canonical spelling; what may be a credential is hidden."""
        tree = document.mapping(pointer)
        if isinstance(tree, Absence):
            return tree
        flat = self._shown(derived.flatten(tree.value))
        if len(flat) > MAX_PARAMETERS:
            return document.invalid(pointer, f"it has {len(flat)} keys; at most {MAX_PARAMETERS} are read")
        return Reading(flat, tree.source)

    def _shown(self, flat: dict[str, str]) -> dict[str, str]:
        return clean_all({name: self._curtain.shown(name, value) for name, value in flat.items()})

    def stated(self, flat: Found[dict[str, str]]) -> Found[list[StatedParameter]]:
        """Each key that was overridden, with its value in ``flat``, in the overrides and in the command."""
        overrides = self._shown(derived.flatten(self._files.stated_overrides))
        command = self._shown(derived.flatten(self._files.command_overrides))
        names = sorted({*overrides, *command})
        if not names and not self._files.overrides.ok:
            return self._files.overrides.absence()
        if len(names) > MAX_PARAMETERS:
            detail = f"it overrides {len(names)} keys; at most {MAX_PARAMETERS} are read"
            return self._files.overrides.invalid("", detail)
        if isinstance(flat, Absence):
            return flat
        stated = [
            _stated(name, *(where.get(name, NOT_STATED) for where in (flat.value, overrides, command)))
            for name in names
        ]
        return Reading(
            stated, self._files.overrides.source() if self._files.overrides.ok else self._files.metadata.source()
        )

    def arguments(self, model: Found[str], processes: Found[int]) -> Found[list[StatedArgument]]:
        """Model and process count of the metadata, beside those of the overrides and of the command."""
        if isinstance(model, Absence):
            return model
        if isinstance(processes, Absence):
            return processes
        places = (self._files.override_words, self._files.command_words)
        chosen = [clean(dlio.workload_choice(words) or NOT_STATED) for words in places]
        started = dlio.mpi_processes(self._files.command_words)
        asked = (str(processes.value), NOT_STATED, NOT_STATED if started is None else str(started))
        rows = (("workload", model.value.replace("-", "_"), *chosen), ("num_processes", *asked))
        stated = [StatedArgument(name=row[0], metadata=row[1], overrides=row[2], command=row[3]) for row in rows]
        return Reading(stated, self._files.metadata.source())


@remembered(1024)
def _stated(name: str, config: str, overrides: str, command: str) -> StatedParameter:
    """The same record for all the runs of a workload, which agree in nearly all keys."""
    return StatedParameter(name=name, config=config, overrides=overrides, command=command)
