"""Environment variables that a run was started with, and those that its configuration names (1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.convert import InvalidValueError
from mlpstorage.results.document import Document, Found, Reading
from rules.derived.variables import storage_variables
from rules.facts import Absence, FactSheet

from .checkpointing_files import LeafDocuments
from .common import put

_COMMAND, _ENVIRONMENT = "/executed_command", "/environment"
_MPI_PARAMS = "/args/mpi_params"
_OVERRIDES = ("/override_parameters", "/parameters", "/args/params")
_MAX_NAMES = 500
_NAME_KEYS = ("name", "key")
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
    """Names that the metadata lists, and those that the launcher was told to pass on, as command or argument.

    The command must be there to say that nothing was passed; names that are listed count without it.
    """
    try:
        listed = storage_variables(_listed(_raw(metadata, _ENVIRONMENT)))
    except InvalidValueError:
        return metadata.invalid(_ENVIRONMENT, "it is no mapping or list of variables")
    words = [*words, *_words(_raw(metadata, _MPI_PARAMS))]
    passed = storage_variables(name for name, _ in dlio.environment(words))
    if not words and not listed:
        command = metadata.text(_COMMAND)
        return command if isinstance(command, Absence) else metadata.invalid(_COMMAND, "it cannot be split into words")
    return _few(metadata, _ENVIRONMENT if listed and not passed else _COMMAND, [*passed, *listed])


def _raw(metadata: Document, pointer: str) -> Any:
    found = metadata.raw(pointer)
    return found.value if isinstance(found, Reading) else None


def _words(value: Any) -> Iterator[str]:
    """Words of a text, or of the texts of a list."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str):
            yield from text.split()


def _listed(value: Any, depth: int = 0) -> Iterator[str]:
    """Names of mappings (by host, perhaps), of NAME=VALUE texts, or of records with a name; what is null is not set.

    Raises InvalidValueError for anything else.
    """
    if value is None:
        return
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, inner in value.items():
            if isinstance(inner, dict):
                yield from _listed(inner, depth + 1)
            elif inner is not None:
                yield key.strip()
                if key in _NAME_KEYS and isinstance(inner, str):
                    yield inner.strip()
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            yield from _listed(item, depth + 1)
    elif isinstance(value, str):
        for word in value.split():
            yield word.partition("=")[0]
    else:
        raise InvalidValueError("variables")


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
