"""``--param KEY=VALUE`` of ``mlpstorage checkpointing run``: overrides of the DLIO workload."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ..results.credentials import holds_credential, names_credential
from .exits import UsageError
from .plan import ARCHITECTURE_KEYS, TOOL_KEYS, known_keys
from .values import integer, uninterpreted

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_PADDED = re.compile(r"[+-]?0[0-9_]+(\.[0-9]*)?")
_MOST = 10**6
_RANKS = ("model.parallelism.tensor", "model.parallelism.pipeline")
"""Their product is the ranks of one instance; the size of a checkpoint is added up over these."""


def params(entries: Iterable[str], model: str) -> dict[str, str]:
    """Dotted keys, without ``workload.``, to values. Raises UsageError for what DLIO would take for something else."""
    found: dict[str, str] = {}
    known = known_keys(model)
    for entry in entries:
        key, separator, value = entry.partition("=")
        key, value = key.strip().lstrip("+").removeprefix("workload."), value.strip()
        if not separator or not _KEY.fullmatch(key):
            raise UsageError(f"--param: {entry!r} is not key=value with a dotted key")
        if key in TOOL_KEYS:
            raise UsageError(f"--param: {key} cannot be set here: {TOOL_KEYS[key]}")
        _one_setting(key, known)
        if names_credential(key) or holds_credential(value):
            raise UsageError(f"--param: {key} looks like a credential and would be recorded; use the environment")
        uninterpreted(f"--param: the value of {key}", value)
        if key in ARCHITECTURE_KEYS:
            value = str(integer(f"--param {key}", value, 0 if key.endswith("zero_stage") else 1, _MOST))
        elif key in known and _PADDED.fullmatch(value):
            raise UsageError(f"--param: {key}: DLIO takes {value} for text; write the number without leading zeros")
        found[key] = value
    ranks = math.prod(int(found.get(key, "1")) for key in _RANKS)
    if ranks > _MOST:
        raise UsageError(f"--param: {' times '.join(_RANKS)} are {ranks} ranks, more than any run has")
    return found


def _one_setting(key: str, known: Iterable[str]) -> None:
    """A key must not replace a whole section of the workload, with all that the tool sets there."""
    inside = next((name for name in known if name.startswith(f"{key}.")), None)
    if inside is not None:
        raise UsageError(f"--param: {key} is a whole section; name one setting of it, as {inside} is one")
    outside = next((name for name in known if key.startswith(f"{name}.")), None)
    if outside is not None:
        raise UsageError(f"--param: {key}: {outside} is one setting and has none below it")
