"""Client hosts as the tool collected them."""

from __future__ import annotations

from typing import Any, Literal

from mlpstorage.results.document import Document, Found, InvalidValueError, Reading, as_float
from rules.facts import Absence

from .common import mapped


def collected_hosts(metadata: Document) -> Found[list[tuple[float, float]]]:
    """Memory in bytes and cores of each host that the tool collected; 0 where an entry does not tell."""
    found = metadata.list("/system_info/hosts")
    if isinstance(found, Absence):
        return found
    hosts = [(_number(host, "memory", "total"), _number(host, "cpu", "num_cores")) for host in found.value]
    return Reading(hosts, found.source)


def extremes(metadata: Document, index: Literal[0, 1]) -> Found[tuple[float, float]]:
    """Least and most memory (0) or cores (1) of the collected hosts."""
    found = collected_hosts(metadata)
    pointer = "/system_info/hosts"
    if isinstance(found, Absence):
        return found
    known = [host[index] for host in found.value if host[index] > 0]
    if index == 0:  # the list may be cut, the totals beside it are not
        ends = [metadata.float(f"/system_info/{end}_memory_bytes") for end in ("min", "max")]
        known += [end.value for end in ends if isinstance(end, Reading) and end.value > 0]
    if not known:
        return metadata.invalid(pointer, "no entry states it")
    return Reading((min(known), max(known)), found.source)


def ratio(metadata: Document, index: Literal[0, 1]) -> Found[float]:
    """Largest over smallest host, by memory (0) or cores (1)."""
    found = extremes(metadata, index)
    return mapped(found, lambda ends: ends[1] / ends[0])


def _number(host: Any, part: str, key: str) -> float:
    try:
        return as_float(host[part][key])
    except (InvalidValueError, KeyError, TypeError):
        return 0.0
