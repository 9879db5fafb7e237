"""The ``systems/`` directory of a submitter: what belongs to no system, and the systems that have no results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.facts import Absence, FactSheet, Source
from rules.facts.system import System
from rules.facts.systems import SharedDocument, SystemsDirectory, SystemsEntry

from ..listing import RESULTS, SYSTEMS, Listing, SubmitterDirectory
from .common import unlisted
from .system import DESCRIPTION, DOCUMENT, Results, by_system, read_description, stem_of, system_facts

_NOTES = ".md"
_MAX_ENTRIES = 50
"""Stray entries that are told one by one; the others are counted."""
_MAX_DOCUMENT_BYTES = 32 * 2**20
"""Larger PDFs are not compared with each other."""


def read_systems_directory(root: Root, listing: Listing, submitter: SubmitterDirectory) -> SystemsDirectory:
    """The directory's facts, above the systems that are described there and have no results.

    Systems with results are judged with these.
    """
    path = submitter.place(SYSTEMS)
    entries = submitter.systems
    directories = entries.visible if entries else ()
    files = tuple(name for name in entries.files if not name.startswith(".")) if entries else ()
    with_results = submitter.results or ()
    sheet = FactSheet()
    source, beside = Source(clean(path)), submitter.place(RESULTS)
    locked = unlisted(path, entries.problem) if entries and entries.problem else None
    unseen = unlisted(beside, submitter.results_problem) if submitter.results_problem else None
    sheet.put("results_directory", submitter.results is not None, source)
    sheet.put("results_systems", unseen or len(with_results), Source(clean(beside)))
    sheet.put("entries", locked or list(_strays(path, directories, files)), source)
    sheet.put("documents", locked or list(_documents(root, path, files)), source)
    state: Results = "absent" if submitter.results is not None else "no_directory"
    below = list(_unused(root, path, by_system((*directories, *files)), with_results, unseen or state))
    return sheet.build(SystemsDirectory, clean(path), below)


def _unused(
    root: Root, path: str, described: Mapping[str, Sequence[str]], used: Sequence[str], state: Results | Absence
) -> Iterable[System]:
    """Systems that are described and have no results, as far as is known."""
    for stem in sorted(described.keys() - set(used)):
        yield system_facts(read_description(root, f"{path}/{stem}{DESCRIPTION}", described), (), state)


def _strays(path: str, directories: Iterable[str], files: Iterable[str]) -> Iterable[SystemsEntry]:
    strays: list[tuple[str, bool]] = [(name, True) for name in directories if not stem_of(name)]
    strays += [(name, False) for name in files if not stem_of(name)]
    told = 0
    for index, (name, is_directory) in enumerate(strays):
        notes = not is_directory and name.endswith(_NOTES)
        if told == _MAX_ENTRIES and not notes:
            rest = len(strays) - index
            yield SystemsEntry(name=f"and {rest} more", path=clean(path), kind="file")
            return
        told += not notes
        kind: Literal["directory", "file", "notes"] = "directory" if is_directory else "notes" if notes else "file"
        yield SystemsEntry(name=clean(name), path=clean(f"{path}/{name}"), kind=kind)


def _documents(root: Root, path: str, files: Iterable[str]) -> Iterable[SharedDocument]:
    """The different PDFs. Placeholders, which are all alike, are none."""
    found: dict[str, list[str]] = {}
    for name in files:
        if name.endswith(DOCUMENT):
            content = root.read(f"{path}/{name}", _MAX_DOCUMENT_BYTES)
            if content.state == "ok":
                digest = hashlib.sha256(content.data).hexdigest()
                found.setdefault(digest, []).append(name.removesuffix(DOCUMENT))
    for stems in found.values():
        yield SharedDocument(path=clean(f"{path}/{stems[0]}{DOCUMENT}"), systems=[clean(stem) for stem in stems])
