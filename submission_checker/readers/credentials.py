"""Credentials among what metadata records of how a run was started (SEC-01)."""

from __future__ import annotations

from mlpstorage.results.credentials import recorded_credentials, spoken_credentials
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.text import clean

_COMMAND = "executed_command"
_SETTINGS = ("environment", "args", "override_parameters", _COMMAND)


def credentials_of(metadata: Document) -> Found[list[str]]:
    """Names of the settings that hold one, sorted; never a value."""
    if not metadata.ok:
        return metadata.absence()
    settings = {name: metadata.data.get(name) for name in _SETTINGS}
    command = settings[_COMMAND]
    names = {*recorded_credentials(settings), *spoken_credentials(command if isinstance(command, str) else "")}
    return Reading(sorted(clean(name) for name in names), metadata.source())
