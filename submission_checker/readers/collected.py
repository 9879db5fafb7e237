"""Client hosts as the tool collected them."""

from __future__ import annotations

import re
from typing import Any, Literal

from mlpstorage.results.convert import InvalidValueError, as_float
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.text import clean
from rules.derived.checkpointing import canonical
from rules.facts import Absence

from .common import mapped

_VALUES = {
    "host.cpu": ("cpu", "model"),
    "host.cores": ("cpu", "num_cores"),
    "host.memory_gib": ("memory", "total"),
    "host.kernel": ("system", "kernel_version"),
    "host.os": ("system", "os_release", "PRETTY_NAME"),
}
"""What is told of hosts, and where an entry of the collector has it."""
_MAX_SHOWN = 500
_NO_NUMBER = re.compile(r"-.*|0(\.\d*)?")
"""A number below 1, which is how a collector says that it found nothing."""
_BANNER = "Linux version "
"""Where the collector took the kernel's banner for its release."""


def host_values(metadata: Document) -> dict[str, str]:
    """What all hosts have, by key: distinct values over all of them. A key that no entry states is left out."""
    return {key: values for key, (_, values) in told_by_hosts(metadata).items()}


def told_by_hosts(metadata: Document) -> dict[str, tuple[int, str]]:
    """The same, each beside the number of hosts that state it; an empty text and a number below 1 state nothing."""
    found = metadata.list("/system_info/hosts")
    seen: dict[str, list[str]] = {}
    for host in found.value if isinstance(found, Reading) else ():
        for key, pointer in _VALUES.items():
            value: Any = host
            for name in pointer:
                value = value.get(name) if isinstance(value, dict) else None
            if key == "host.memory_gib":
                value = round(_number(host, *pointer) / 2**30)
            if key == "host.kernel" and isinstance(value, str) and value.startswith(_BANNER):
                value = value.removeprefix(_BANNER).partition(" ")[0]
            if value is not None and (text := canonical(value).strip()) and not _NO_NUMBER.fullmatch(text):
                seen.setdefault(key, []).append(text)
    return {key: (len(values), clean(", ".join(sorted(set(values))), _MAX_SHOWN)) for key, values in seen.items()}


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
