"""System descriptions as facts: the YAML, and the PDF that belongs beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mlpstorage.results.document import Document, Found
from mlpstorage.results.files import LARGE_FILE_POINTER, MAX_YAML_BYTES, Root
from mlpstorage.results.text import clean
from mlpstorage.systems.description import Description, read_content
from mlpstorage.systems.facts import put_description, put_runs
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts.system import FileState, System

from .common import as_api, leaf_file

NO_DESCRIPTION = Absence(
    "alone:description", Reason.NOT_APPLICABLE, detail="there is no system description that could be read"
)
DESCRIPTION = ".yaml"
DOCUMENT = ".pdf"
DESCRIPTION_LIKE = (".yaml", ".yml")
"""Endings, in any case, of files that were meant to be descriptions."""

Results = Literal["present", "absent", "no_directory"]

_PDF = b"%PDF-"
_PDF_HEAD = 1024
"""A PDF states what it is within its first kilobyte."""


@dataclass(frozen=True, slots=True)
class Companion:
    """One of the two files of a system, or one that was meant to be it. Paths are safe to print."""

    path: str
    state: FileState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SystemFiles:
    """The two files of one system."""

    name: str
    description: Description
    yaml: Companion
    pdf: Companion

    @property
    def document(self) -> Document:
        """The description's content."""
        return self.description.document


def read_description(root: Root, path: str, siblings: Mapping[str, Sequence[str]] | None = None) -> SystemFiles:
    """The files of the system whose description has (or should have) this path.

    ``siblings`` are the names beside it :func:`by_system`, where they are known already.
    """
    directory, _, file = path.rpartition("/")
    stem = file.removesuffix(DESCRIPTION)
    description = read_content(root.read(path, MAX_YAML_BYTES), path)
    pdf = _document(root, f"{directory}/{stem}{DOCUMENT}")
    yaml = Companion(clean(path), description.document.state, description.document.detail)
    if "missing" in (yaml.state, pdf.state):
        names = (by_system(_names(root, directory)) if siblings is None else siblings).get(stem, ())
        yaml = _misnamed(yaml, directory, stem, DESCRIPTION_LIKE, names)
        pdf = _misnamed(pdf, directory, stem, (DOCUMENT,), names)
    return SystemFiles(clean(stem), description, yaml, pdf)


def by_system(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Names in a directory of descriptions, by the system that they are meant for."""
    found: dict[str, list[str]] = {}
    for name in names:
        if stem := stem_of(name):
            found.setdefault(stem, []).append(name)
    return found


def stem_of(name: str) -> str:
    """The system that a file is meant for, by its name; empty for none."""
    for ending in (*DESCRIPTION_LIKE, DOCUMENT):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return ""


def _names(root: Root, directory: str) -> list[str]:
    try:
        directories, files = root.list(directory)
    except OSError:
        return []
    return [*directories, *files]


def _misnamed(
    companion: Companion, directory: str, stem: str, endings: Sequence[str], names: Sequence[str]
) -> Companion:
    """The file that was meant, where the right one is missing."""
    if companion.state != "missing":
        return companion
    for name in names:
        if name[len(stem) :].lower() in endings:
            return Companion(clean(f"{directory}/{name}"), "misnamed", f"it is named {clean(name)}")
    return companion


def _document(root: Root, path: str) -> Companion:
    content = root.read(path, _PDF_HEAD, head=True)
    shown = clean(path)
    if content.detail == LARGE_FILE_POINTER:
        return Companion(shown, "damaged", content.detail)
    if content.state != "ok":
        return Companion(shown, content.state, content.detail)
    if _PDF not in content.data:
        return Companion(shown, "damaged", f"it does not begin with {_PDF.decode()}")
    return Companion(shown, "ok")


def described_api(files: SystemFiles) -> Found[str]:
    """The protocol that the benchmark used, as the description states it."""
    return files.document.read("/system_under_test/solution/architecture/benchmark_API", as_api)


def system_facts(
    files: SystemFiles, workloads: tuple[FactModel, ...] = (), results: Results | Absence = "present"
) -> System:
    """What the files say, over the workloads that ran on the system."""
    sheet = FactSheet()
    document = files.document
    put_description(sheet, files.description)
    put_runs(sheet, workloads)
    source = Source(document.path)
    sheet.put("name", files.name, source)
    sheet.put("results", results, source)
    for prefix, companion in (("description", files.yaml), ("document", files.pdf)):
        sheet.put(f"{prefix}_state", companion.state, Source(companion.path))
        sheet.put(f"{prefix}_path", companion.path, Source(companion.path))
        sheet.put(f"{prefix}_detail", companion.detail, Source(companion.path))
    directory = document.path.rpartition("/")[0]
    sheet.put("files", [leaf_file(document, "other", directory)], source)
    return sheet.build(System, document.path, workloads)
