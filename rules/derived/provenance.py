"""What makes two results comparable: the hash over the keys that define a workload (``core-config-v1``)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..tables import reference_rows

ALGORITHM = "core-config-v1"
UNKNOWN = "unknown"
"""What a stamp says where a value is not known; null never stands there."""
HASH_DIGITS = 16


def allowlist_of(family: str) -> str:
    """Name of the newest allowlist of a workload family, e.g. ``training@1``; empty where there is none."""
    return next((name for name in reversed(list(reference_rows("code-core-config"))) if _family(name) == family), "")


def _family(allowlist: str) -> str:
    return allowlist.partition("@")[0]


def core_config(parameters: Mapping[str, Any], allowlist: str) -> dict[str, Any]:
    """The workload-defining keys of a DLIO workload, dotted, with values in one canonical form.

    ``parameters`` is the nested workload as a leaf's metadata records it. Raises KeyError for an unknown allowlist.
    """
    row = reference_rows("code-core-config")[allowlist]
    return {
        key: canonical(value)
        for key, value in flatten(parameters)
        if _listed(key, row["keep"]) and not _listed(key, row["drop"])
    }


def core_config_hash(core: Mapping[str, Any]) -> str:
    """First :data:`HASH_DIGITS` hexadecimal digits of the SHA-256 of the canonical JSON.

    Raises ValueError for values that JSON cannot hold.
    """
    text = json.dumps(core, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:HASH_DIGITS]


def _listed(key: str, patterns: Iterable[str]) -> bool:
    """``model.*`` lists everything below model; any other pattern is a key."""
    return any(key.startswith(pattern[:-1]) if pattern.endswith(".*") else key == pattern for pattern in patterns)


def flatten(nested: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key and value of each leaf of nested mappings."""
    for key, value in nested.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def canonical(value: Any) -> Any:
    """One spelling for what DLIO reads alike: ``"True"`` is true, ``"7"`` and 7.0 are 7; lists element by element."""
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Sequence):
        return [canonical(item) for item in value]
    return value


def _of_text(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return canonical(number) if math.isfinite(number) else text  # no JSON holds NaN
