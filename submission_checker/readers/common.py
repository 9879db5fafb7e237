"""What all readers need to state facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from mlpstorage.results.convert import as_choice
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import LARGE_FILE_POINTER, Root
from mlpstorage.results.text import clean
from rules.derived.locations import location, uri_problem
from rules.facts import Absence, FactSheet, Reason
from rules.facts.files import LeafFile

from ..leaf import Leaf
from ..listing import UNLISTED

Role = Literal["summary", "metadata", "config", "other"]

NOT_STATED = "(not stated)"
"""Stands for a value that a file does not have, where it is shown beside another file's."""

as_api = as_choice("file", "object")
"""Converter for the protocol, the same in metadata and in system descriptions."""


def put(sheet: FactSheet, name: str, found: Found[Any]) -> None:
    """State what a getter gave."""
    if isinstance(found, Reading):
        sheet.put(name, found.value, found.source)
    else:
        sheet.put(name, found)


def leaf_files(documents: Iterable[tuple[Document, Role]], directory: str) -> list[LeafFile]:
    """The records of a leaf's files, without those in a directory that cannot be listed: TREE-01 tells of that one."""
    return [
        leaf_file(document, role, directory)
        for document, role in documents
        if not document.cause.startswith(f"{UNLISTED}:")
    ]


def leaf_file(document: Document, role: Role, directory: str) -> LeafFile:
    """The record of a file that was read; ``directory`` is cut from its name."""
    return LeafFile(
        name=clean(document.path.removeprefix(f"{directory}/")),
        path=document.path,
        role=role,
        state="pointer" if document.detail == LARGE_FILE_POINTER else document.state,
        detail=document.detail,
        cause=document.cause,
    )


def mapped(found: Found[Any], convert: Callable[[Any], Any]) -> Found[Any]:
    """What was read, converted; an absence stays what it is."""
    return found.map(convert) if isinstance(found, Reading) else found


def recorded_verdict(metadata: Document) -> Found[str]:
    """The gate's verdict that the tool recorded, lower case; 'none' where it gave none (null)."""
    if metadata.ok and "verification" in metadata.data and metadata.data["verification"] is None:
        return Reading("none", metadata.source("/verification"))
    return mapped(metadata.text("/verification"), str.lower)


def stated_path(document: Document, *pointers: str) -> Found[str]:
    """The first of these texts that says something, as it stands there; one of blanks alone is none."""
    for pointer in pointers:
        found = document.text(pointer)
        if isinstance(found, Reading):
            if found.value.strip():
                return found
        elif found.reason is not Reason.KEY_ABSENT:
            return found
    return document.key_absent(pointers[0])


def put_location(sheet: FactSheet, name: str, problem: str, stated: Found[str]) -> None:
    """State where data lie, as the sheet's ``api`` spells it, and what is wrong with it as an object URI."""
    api = sheet.get("api")
    put(sheet, name, mapped(stated, lambda path: location(path, api)))
    undecided = isinstance(stated, Reading) and isinstance(api, Absence)
    put(sheet, problem, api if undecided else mapped(stated, lambda path: uri_problem(path, api)))


def listed(root: Root, directory: str) -> tuple[list[str], list[str]] | Absence:
    """Names of the directories and of all else in a directory of a leaf; one that cannot be listed is for TREE-01."""
    try:
        return root.list(directory)
    except OSError as error:
        problem = root.unlisted[directory] = os.strerror(error.errno or 0)
        return unlisted(directory, f"the directory cannot be listed: {problem}")


def in_listed(root: Root, leaf: Leaf, name: str, document: Document) -> Document:
    """A file of a leaf as it was read. Refused, it has the cause of the directory on the way that cannot be listed."""
    *way, _ = name.split("/")
    if document.state != "refused":
        return document
    directories: Sequence[str] = leaf.directories
    path = ""
    for part in way:
        if part not in directories:
            break
        path = f"{path}/{part}".lstrip("/")
        names = listed(root, leaf.at(path))
        if isinstance(names, Absence):
            return Document(document.path, document.state, names.cause, names.detail)
        directories = names[0]
    return document


def unlisted(path: str, problem: str) -> Absence:
    """Why nothing is known of what lies in a directory that could not be listed; TREE-01 owns it."""
    return Absence(f"{UNLISTED}:{clean(path)}", Reason.UNREADABLE, clean(path), detail=problem)


def positive(document: Document, pointer: str) -> Found[int]:
    """A number of hosts."""
    found = document.int(pointer)
    if isinstance(found, Reading) and found.value <= 0:
        return document.invalid(pointer, f"{found.value} is not a number of hosts")
    return found
