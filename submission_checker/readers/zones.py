"""Times of a leaf, and the zone that they are in (rules.derived.zones)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

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
    return zone_of(_offset(metadata), starts, collection)


def _offset(metadata: Document) -> timedelta | None:
    """``utc_offset`` of our own tool, as ``+HH:MM``."""
    found = metadata.text("/utc_offset")
    match = _OFFSET.fullmatch(found.value) if isinstance(found, Reading) else None
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if sign == "-" else size
