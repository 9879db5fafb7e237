"""Credentials among what metadata records of how a run was started (SEC-01)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlpstorage.results.credentials import recorded_credentials, spoken_credentials
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.text import clean

_SETTINGS = ("environment", "args", "override_parameters", "parameters")
_COMMANDS = ("executed_command", "command_output_files")


def credentials_of(metadata: Document) -> Found[list[str]]:
    """Names of the settings that hold one, sorted; never a value."""
    if not metadata.ok:
        return metadata.absence()
    names = set(recorded_credentials({name: metadata.data.get(name) for name in _SETTINGS}))
    for command in {*_commands(metadata.data)}:
        names.update(spoken_credentials(command))
    return Reading(sorted(clean(name) for name in names), metadata.source())


def _commands(data: dict[str, Any]) -> Iterator[str]:
    for name in _COMMANDS:
        found = data.get(name)
        for item in found if isinstance(found, list) else [found]:
            command = item.get("command") if isinstance(item, dict) else item
            if isinstance(command, str):
                yield command
