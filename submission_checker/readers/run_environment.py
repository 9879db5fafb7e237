"""Environment variables that a run was started with, and those that its configuration names (1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.document import Document, Found, Reading
from rules.derived.variables import storage_variables
from rules.facts import Absence, FactSheet

from .checkpointing_files import LeafDocuments
from .common import put

_COMMAND, _ENVIRONMENT = "/executed_command", "/environment"
_OVERRIDES = ("/override_parameters", "/parameters", "/args/params")
_MAX_NAMES = 500
_MAX_DEPTH = 12


def put_environment(sheet: FactSheet, files: LeafDocuments) -> None:
    """State both for one leaf."""
    metadata = files.metadata
    put(sheet, "environment", _environment(metadata, files.command_words))
    if metadata.ok:
        keys = [key for pointer in _OVERRIDES for key in _keys(_raw(metadata, pointer))]
        put(sheet, "declared_variables", _few(metadata, _OVERRIDES[0], [*files.stated_overrides, *keys]))
    else:
        sheet.put("declared_variables", metadata.absence())


def _environment(metadata: Document, words: list[str]) -> Found[list[str]]:
    """Names that the metadata lists, and those that the launcher was told to pass on; one of the two must be there."""
    listed, command = _raw(metadata, _ENVIRONMENT), metadata.text(_COMMAND)
    if not words and not isinstance(listed, (dict, list)):
        if isinstance(command, Absence):
            return command
        return metadata.invalid(_COMMAND, "it is no command whose quotes match")
    passed = [name for name, _ in dlio.environment(words)]
    names = list(_listed(listed))
    return _few(metadata, _ENVIRONMENT if names and not storage_variables(passed) else _COMMAND, [*passed, *names])


def _raw(metadata: Document, pointer: str) -> Any:
    found = metadata.raw(pointer)
    return found.value if isinstance(found, Reading) else None


def _listed(value: Any) -> Iterator[str]:
    """Names of a mapping, of NAME=VALUE texts, or of records with a name; what is null is not set."""
    if isinstance(value, dict):
        yield from (name for name, set_to in value.items() if set_to is not None)
    for item in value if isinstance(value, list) else ():
        name = item.get("name") if isinstance(item, dict) else item
        if isinstance(name, str):
            yield name.partition("=")[0].strip()


def _keys(value: Any, depth: int = 0) -> Iterator[str]:
    """Keys of nested mappings, and of key=value texts in texts and lists."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if isinstance(inner, (dict, list)):
                yield from _keys(inner, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item, depth + 1)
    elif isinstance(value, str):
        parts = (part.partition("=") for part in value.split())
        yield from (key for key, separator, _ in parts if separator)


def _few(metadata: Document, pointer: str, names: Iterable[str]) -> Found[list[str]]:
    found = storage_variables(names)
    if len(found) > _MAX_NAMES:
        return metadata.invalid(pointer, f"{len(found)} variables of storage clients; at most {_MAX_NAMES} are read")
    return Reading(found, metadata.source(pointer))
