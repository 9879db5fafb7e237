"""The division that a leaf of any family lies in, or states."""

from __future__ import annotations

from typing import get_args

from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.layout import DIVISIONS
from mlpstorage.results.text import clean
from rules.facts import Source
from rules.facts.checkpointing import Division

from ..leaf import Leaf


def division_of(leaf: Leaf, metadata: Document) -> Found[str]:
    """The division that a leaf of any family lies in; outside any tree the one that it states."""
    if leaf.division:
        return Reading(leaf.division, Source(clean(leaf.path)))
    recorded = recorded_division(metadata)
    if isinstance(recorded, Reading) and recorded.value not in get_args(Division):
        return metadata.invalid(recorded.source.pointer, f"{recorded.value!r} is not a division")
    return recorded


def recorded_division(metadata: Document) -> Found[str]:
    """The division that the run was started for, lower case: ``args.mode``, or the older truth values."""
    if not metadata.has("/args/mode"):
        for name in DIVISIONS:
            flag = metadata.bool(f"/args/{name}")
            if isinstance(flag, Reading) and flag.value:
                return Reading(name, flag.source)
    found = metadata.text("/args/mode", "/mode")
    return found.map(str.lower) if isinstance(found, Reading) else found
