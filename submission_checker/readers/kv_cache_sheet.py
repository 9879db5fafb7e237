"""What every part of a KV-cache run needs to state its facts."""

from __future__ import annotations

from typing import Any

from mlpstorage.results.document import Found, Reading
from rules.facts import Absence, FactSheet, Reason, Source

from .common import put
from .kv_cache_files import RunFiles


class RunSheet:
    """The files of one leaf and the sheet that its facts are stated on."""

    def __init__(self, files: RunFiles) -> None:
        self.files = files
        self.leaf = files.leaf
        self.metadata = files.metadata
        self.summary = files.summary
        self.sheet = FactSheet()
        self.path = files.path
        self.at = Source(self.path)
        self._commands_at = files.metadata.source("/command_output_files")

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _optional(self, name: str, found: Found[Any]) -> None:
        self._put(name, self.files.optional(found))

    def _or_default(self, found: Found[Any], default: Any) -> Found[Any]:
        """The value; where a readable file does not have the key, what that means."""
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            return Reading(default, Source(found.path, found.pointer))
        return found

    def _each_command(self, name: str, value: Any) -> None:
        """A value of each command, each once."""
        commands = self.files.commands
        if isinstance(commands, Absence):
            self.sheet.put(name, commands)
            return
        values = {found for command in commands if (found := value(command)) is not None}
        self.sheet.put(name, sorted(values), self._commands_at)
