"""What all readers need to state facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from mlpstorage.results.document import Document, Found, Reading, as_choice
from mlpstorage.results.text import clean
from rules.facts import FactSheet
from rules.facts.files import LeafFile

Role = Literal["summary", "metadata", "config", "other"]

as_api = as_choice("file", "object")
"""Converter for the protocol, the same in metadata and in system descriptions."""


def put(sheet: FactSheet, name: str, found: Found[Any]) -> None:
    """State what a getter gave."""
    if isinstance(found, Reading):
        sheet.put(name, found.value, found.source)
    else:
        sheet.put(name, found)


def leaf_file(document: Document, role: Role, directory: str) -> LeafFile:
    """The record of a file that was read; ``directory`` is cut from its name."""
    return LeafFile(
        name=clean(document.path.removeprefix(f"{directory}/")),
        path=document.path,
        role=role,
        state=document.state,
        detail=document.detail,
        cause=document.cause,
    )


def mapped(found: Found[Any], convert: Callable[[Any], Any]) -> Found[Any]:
    """What was read, converted; an absence stays what it is."""
    return found.map(convert) if isinstance(found, Reading) else found
