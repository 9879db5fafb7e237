"""Environment variables that a run was started with, and those that its configuration names (1.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mlpstorage.results import dlio
from mlpstorage.results.document import Reading
from mlpstorage.results.text import clean
from rules.facts import FactSheet

from .checkpointing_files import LeafDocuments

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_MAX_NAMES = 500


def put_environment(sheet: FactSheet, files: LeafDocuments) -> None:
    """State both for one leaf."""
    metadata = files.metadata
    if not metadata.ok:
        sheet.put("environment", metadata.absence())
        sheet.put("declared_variables", metadata.absence())
        return
    recorded = metadata.mapping("/environment")
    names = [name for name, _ in dlio.environment(files.command_words)]
    if isinstance(recorded, Reading):
        names += recorded.value
    sheet.put("environment", _first(names), metadata.source("/executed_command"))
    sheet.put("declared_variables", _first(map(_last_part, _settings(files))), metadata.source("/override_parameters"))


def _settings(files: LeafDocuments) -> Iterator[str]:
    yield from files.stated_overrides
    for pointer in ("/override_parameters", "/args/params"):
        found = files.metadata.raw(pointer)
        if isinstance(found, Reading) and isinstance(found.value, (dict, list)):
            yield from (item.partition("=")[0] for item in found.value if isinstance(item, str))


def _last_part(key: str) -> str:
    return key.rpartition(".")[2]


def _first(names: Iterable[str]) -> list[str]:
    return sorted({clean(name) for name in names if _VARIABLE.fullmatch(name)})[:_MAX_NAMES]
