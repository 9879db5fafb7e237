"""Times of a leaf, and the zone that they are in (rules.derived.zones)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from mlpstorage.results.convert import InvalidValueError
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.layout import leaf_time
from mlpstorage.results.text import clean
from rules.derived.zones import Instant, Moment, Zone, instant, zone_of
from rules.facts import Absence, Reason, Source

from ..leaf import Leaf

_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
_UTC = timedelta()


def moment(found: Found[datetime]) -> Moment:
    """A time as it is written."""
    return instant(found.value, found.source) if isinstance(found, Reading) else found


def utc_moment(found: Found[datetime]) -> Moment:
    """A time that was read as naive UTC."""
    return Instant(found.value, found.source, _UTC) if isinstance(found, Reading) else found


def directory_time(leaf: Leaf) -> Moment:
    """The time that a leaf's name states."""
    time, path = leaf_time(leaf.name), clean(leaf.path)
    if time is None:
        return Absence(f"name:{path}", Reason.INVALID, path, detail="the leaf's name is not a time")
    return Instant(time, Source(path))


def collected(metadata: Document) -> Moment:
    """When the facts of the hosts were collected at the start of the run."""
    return utc_moment(
        metadata.utc_time("/system_info/collection_timestamp", "/cluster_snapshots/start/collection_timestamp")
    )


def leaf_zone(metadata: Document, starts: Iterable[Moment], collection: Moment) -> Zone | None:
    """The zone of a leaf, from its metadata and readings of its start."""
    offset = _offset(metadata)
    return zone_of(offset.value if isinstance(offset, Reading) else None, starts, collection)


def unusable_times(metadata: Document) -> list[str]:
    """What the metadata states as times of the invocation, or as their zone, and is none."""
    times = (metadata.stated_time(f"/invocation_{name}_time") for name in ("start", "end"))
    return [f"{found.pointer[1:]}: {found.detail}" for found in (*times, _offset(metadata)) if _is_invalid(found)]


def _is_invalid(found: Found[Any]) -> TypeGuard[Absence]:
    return isinstance(found, Absence) and found.reason is Reason.INVALID


def _offset(metadata: Document) -> Found[timedelta]:
    """``utc_offset`` of our own tool."""
    return metadata.read("/utc_offset", _as_offset)


def _as_offset(value: Any) -> timedelta:
    match = _OFFSET.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidValueError("a difference from UTC (+HH:MM)")
    sign, hours, minutes = match.groups()
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if sign == "-" else size
