"""Hosts of a run and how its ranks were placed on them."""

from __future__ import annotations

from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.convert import InvalidValueError, as_text
from mlpstorage.results.document import Document, Found, Reading, first_of
from mlpstorage.results.text import clean
from rules.derived.checkpointing import parse_hosts, ranks_per_host
from rules.facts import Absence

from .checkpointing_files import as_words

Hosts = list[tuple[str, int | None]]


def hosts_of(metadata: Document, launch: dlio.Launch | None) -> Found[Hosts]:
    """Distinct hosts with their slots: the arguments' list (or text), else the executed command's."""
    found = metadata.read("/args/hosts", _as_hosts)
    if isinstance(found, Reading) and not found.value:  # the empty text, or an empty list
        found = metadata.key_absent("/args/hosts")
    if isinstance(found, Absence) and launch is not None and launch.hosts is not None:
        try:
            command: Found[Hosts] = Reading(_as_hosts(launch.hosts), metadata.source("/executed_command"))
        except InvalidValueError as problem:
            command = metadata.invalid("/executed_command", f"its hosts are not {problem}")
        return first_of(found, command)
    return found


def min_ranks_per_host(
    metadata: Document,
    launch: dlio.Launch | None,
    hosts: Found[Hosts],
    num_hosts: Any,
    processes: Found[int],
) -> Found[int]:
    """Ranks on the least loaded host.

    mpirun fills the hosts in turn, mpiexec (PALS) in blocks. Where the user placed the ranks, or where only the number
    of hosts is known, it is the mean rounded down: no placement gives the least loaded host more.
    """
    if isinstance(processes, Absence):
        return processes
    if isinstance(num_hosts, Absence):
        return num_hosts
    count = processes.value
    if isinstance(hosts, Absence) or len(hosts.value) != num_hosts or _placed_by_user(metadata):
        return Reading(count // num_hosts, processes.source if isinstance(hosts, Absence) else hosts.source)
    block = _block(launch)
    if block is not None and num_hosts > 1:
        rest = count - block * (num_hosts - 1)
        return Reading(max(0, min(block, rest)), metadata.source("/executed_command"))
    return Reading(min(ranks_per_host(hosts.value, count)), hosts.source)


def _placed_by_user(metadata: Document) -> bool:
    options = metadata.read("/args/mpi_params", as_words)
    return isinstance(options, Reading) and dlio.maps_ranks(options.value)


def _block(launch: dlio.Launch | None) -> int | None:
    text = launch.per_host if launch else None
    return int(text) if text and text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else None


def _as_hosts(value: Any) -> Hosts:
    entries = value if isinstance(value, list) else [value]
    try:
        return parse_hosts(as_text(entry) for entry in entries)
    except ValueError as error:
        raise InvalidValueError(f"a list of hosts: {clean(str(error), 200)}") from None
