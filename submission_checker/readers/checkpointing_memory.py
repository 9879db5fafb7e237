"""Memory of the clients of a checkpointing run: as the tool collected it, the benchmark saw it, a user claimed it."""

from __future__ import annotations

from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_float
from mlpstorage.results.document import Document, Found, Reading
from rules.derived.checkpointing import GIB
from rules.facts import Absence

from .common import positive


def client_memory(metadata: Document, summary: Document, expected: Any) -> Found[float]:
    """GiB of the smallest client: as collected, else the summary's sum over all ``expected`` hosts, else as claimed."""
    hosts = metadata.list("/system_info/hosts")
    if isinstance(hosts, Reading):
        totals = [_memory_total(host) for host in hosts.value]
        complete = len(totals) == expected or len(totals) == metadata.data["system_info"].get("num_hosts")
        known = [total for total in totals if total is not None]
        if known and complete and len(known) == len(totals):
            return Reading(min(known) / GIB, hosts.source)
    least = metadata.float("/system_info/min_memory_bytes")
    if isinstance(least, Reading) and least.value > 0:
        return least.map(lambda value: value / GIB)
    summed = summed_memory(summary)
    if isinstance(summed, Reading):
        count = len(summary.data["host_memory_GB"]) if isinstance(expected, Absence) else expected
        if count > 0:
            return Reading(summed.value / count, summed.source)
    claimed = metadata.float("/args/client_host_memory_in_gb")
    if isinstance(claimed, Reading) and claimed.value <= 0:
        return metadata.invalid("/args/client_host_memory_in_gb", f"{claimed.value} is not a memory size")
    return claimed if isinstance(claimed, Reading) else metadata.key_absent("/system_info/hosts")


def host_memory(metadata: Document, summary: Document, hosts: Any) -> Found[float]:
    """GiB of the mean client: as collected, else from the summary, where only the sum over all hosts is right."""
    total = metadata.float("/system_info/total_memory_bytes")
    collected = positive(metadata, "/system_info/num_hosts")
    if isinstance(total, Reading) and isinstance(collected, Reading) and total.value > 0:
        return Reading(total.value / collected.value / GIB, total.source)
    summed = summed_memory(summary)
    if isinstance(summed, Absence) or isinstance(hosts, Absence):
        return summed if isinstance(summed, Absence) else hosts
    return Reading(summed.value / max(hosts, 1), summed.source)


def summed_memory(summary: Document) -> Found[float]:
    """GiB of all clients as the benchmark saw them; the entries stand at the wrong hosts when ranks share one."""
    per_host = summary.list("/host_memory_GB")
    if isinstance(per_host, Absence):
        return per_host
    try:
        total = sum(as_float(item) for item in per_host.value)
    except InvalidValueError:
        total = 0.0
    if total <= 0:
        return summary.invalid("/host_memory_GB", "its sum is no memory size")
    return Reading(total, per_host.source)


def collected_memory(metadata: Document, summary: Document, hosts: Any) -> Found[float] | None:
    """GiB of all clients as the tool collected it; None where it, or the benchmark, speaks of other hosts."""
    total = metadata.float("/system_info/total_memory_bytes")
    counts = (metadata.int("/system_info/num_hosts"), summary.int("/num_hosts"))
    same = all(isinstance(count, Absence) or count.value == hosts for count in counts)
    if isinstance(total, Absence) or not same or total.value <= 0:
        return None
    return total.map(lambda memory: memory / GIB)


def _memory_total(host: Any) -> float | None:
    try:
        total = as_float(host["memory"]["total"])
    except (InvalidValueError, KeyError, TypeError):
        return None
    return total if total > 0 else None
