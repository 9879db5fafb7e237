"""Clients and hosts of a KV-cache run, as its summary, its arguments and its commands state them (6.3.3.1)."""

from __future__ import annotations

import posixpath
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_text
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.derived.checkpointing import parse_hosts
from rules.facts import Absence, Reason
from rules.facts.kv_cache import BaseCount

from .kv_cache_commands import Command
from .kv_cache_sheet import RunSheet

CACHE_BASE = "rank-cache-base"
BASES = (CACHE_BASE, "rank-output-base")
"""Directories that the wrapper takes, each once; the ranks' own ones lie in them."""


class ClientFacts(RunSheet):
    """States the layout."""

    def _layout(self) -> int | None:
        """Clients and hosts as the summary, the command line and the commands state them; the number of hosts."""
        self._put("total_ranks", self.files.ranks)
        self._put("ranks", self.files.clients)
        self._put("npernode", self.summary.int("/npernode"))
        self._put("host_count", self.summary.int("/host_count"))
        hosts = self._or_default(self.metadata.read("/args/hosts", _as_host_count), self._command_hosts() or 1)
        self._put("hosts_given", hosts)
        self._put("resolved_ranks", self._resolved(hosts))
        self._optional("collected_hosts", self.metadata.int("/system_info/num_hosts"))
        self._each_launch("command_ranks", lambda command: command.processes)
        self._each_launch("command_slots", lambda command: None if command.slots is None else sum(command.slots))
        self._put("bases", self._bases())
        self._each_command("programs", lambda command: posixpath.basename(command.program))
        return hosts.value if isinstance(hosts, Reading) else None

    def _command_hosts(self) -> int | None:
        commands = self.files.commands if isinstance(self.files.commands, list) else []
        return next((command.hosts for command in commands if command.hosts), None)

    def _resolved(self, hosts: Found[int]) -> Found[int]:
        if isinstance(hosts, Absence):
            return hosts
        processes = self.metadata.int("/args/num_processes")
        per_host = self.metadata.int("/args/npernode")
        for found in (processes, per_host):
            if isinstance(found, Absence) and found.reason is not Reason.KEY_ABSENT:
                return found
        count, each = (found.value if isinstance(found, Reading) else None for found in (processes, per_host))
        resolved = derived.resolve_ranks(count, each, hosts.value)
        if resolved is None:
            detail = (
                f"{count} processes ({each or 'not given'} a host) cannot be shared evenly by {hosts.value} host(s)"
            )
            return self.metadata.invalid("/args/num_processes", detail)
        return Reading(resolved, self.metadata.source("/args"))

    def _bases(self) -> Found[list[BaseCount]]:
        """Of all commands of the wrapper: one without an output base has no place."""
        commands = self.files.commands
        if isinstance(commands, Absence):
            return commands
        stated: dict[tuple[str, int], list[str]] = {}
        for command in commands:
            if not command.direct:
                for name in BASES:
                    stated.setdefault((name, len(command.values(name))), []).append(_name_of(command))
        found = [
            BaseCount(name=name, count=count, commands=derived.shown(names))
            for (name, count), names in sorted(stated.items())
        ]
        return Reading(found, self._commands_at)

    def _each_launch(self, name: str, value: Any) -> None:
        """The same of the launcher's words, which need not state it: the benchmark can be started without one."""
        commands = self.files.commands
        if isinstance(commands, list) and all(value(command) is None for command in commands):
            detail = "the commands state no number of ranks, or not the slots of each host"
            at = self._commands_at
            self.sheet.put(name, self.files.not_recorded("launcher", at.pointer, at.path, detail))
        else:
            self._each_command(name, value)


def _as_host_count(value: Any) -> int:
    """Distinct hosts of a list or text; slots are stripped. Raises InvalidValueError."""
    entries = value if isinstance(value, list) else [value]
    try:
        hosts = parse_hosts(as_text(entry) for entry in entries)
    except ValueError as error:
        raise InvalidValueError(f"a list of hosts: {clean(str(error), 200)}") from None
    return max(len(hosts), 1)


def _name_of(command: Command) -> str:
    if command.place is None:
        return f"entry {command.index} of the metadata"
    option, trial = command.place
    return f"option_{option}/trial_{trial}"
