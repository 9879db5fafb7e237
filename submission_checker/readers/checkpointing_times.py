"""When a checkpointing invocation did what, from the files of its leaf."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from mlpstorage.results.document import Document, Found, InvalidValueError, Reading, as_utc_time
from mlpstorage.results.layout import leaf_time
from rules.derived.workload import Instant, Moment, RunTimes
from rules.facts import Absence, Reason, Source

from .checkpointing_files import LeafDocuments

_OFFSET = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")


def read_times(files: LeafDocuments) -> RunTimes:
    """All times of a leaf that rules on gaps and durations use."""
    metadata, summary = files.metadata, files.summary
    saves, loads = files.steps("save"), files.steps("load")
    return RunTimes(
        invocation_start=_moment(metadata.local_time("/invocation_start_time")),
        invocation_end=_moment(metadata.local_time("/invocation_end_time")),
        directory=_directory(files),
        summary_start=_moment(summary.local_time("/start", "/start_time")),
        summary_end=_moment(summary.local_time("/end", "/end_time")),
        collected=_moment(
            metadata.utc_time("/system_info/collection_timestamp", "/cluster_snapshots/start/collection_timestamp")
        ),
        collected_end=_collected_end(metadata),
        first_write=_extreme(files, saves, "save", first=True),
        last_write=_extreme(files, saves, "save", first=False),
        first_read=_extreme(files, loads, "load", first=True),
        last_read=_extreme(files, loads, "load", first=False),
        stated_offset=_offset(metadata),
    )


def _moment(found: Found[datetime]) -> Moment:
    return Instant(found.value, found.source) if isinstance(found, Reading) else found


def _directory(files: LeafDocuments) -> Moment:
    time = leaf_time(files.leaf.name)
    if time is None:
        return Absence(f"name:{files.path}", Reason.INVALID, files.path, detail="the leaf's name is not a time")
    return Instant(time, Source(files.path))


def _collected_end(metadata: Document) -> Moment:
    """The latest stamp of the collection after the run: its own, or a host's."""
    pointer = "/cluster_snapshots/end/collection_timestamp"
    whole = metadata.utc_time(pointer)
    if isinstance(whole, Absence):
        return whole
    latest = Instant(whole.value, whole.source)
    hosts = metadata.list("/cluster_snapshots/end/hosts")
    for index, host in enumerate(hosts.value if isinstance(hosts, Reading) else []):
        stamp = _host_stamp(host)
        if stamp is not None and stamp > latest.at:
            latest = Instant(stamp, metadata.source(f"/cluster_snapshots/end/hosts/{index}/collection_timestamp"))
    return latest


def _offset(metadata: Document) -> timedelta | None:
    """``utc_offset`` of our own tool, as ``+HH:MM``."""
    found = metadata.text("/utc_offset")
    match = _OFFSET.fullmatch(found.value) if isinstance(found, Reading) else None
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return -size if sign == "-" else size


def _host_stamp(host: Any) -> datetime | None:
    try:
        return as_utc_time(host.get("collection_timestamp")) if isinstance(host, dict) else None
    except InvalidValueError:
        return None


def _extreme(files: LeafDocuments, steps: Sequence[Any] | Absence, phase: str, *, first: bool) -> Moment:
    """Start of the first, or end of the last step of a phase."""
    if isinstance(steps, Absence):
        return steps
    if not steps:
        return files.stats.key_absent(f"/1/{phase}_ckpt1")
    moments = [step.start if first else step.end for step in steps]
    known = [moment for moment in moments if isinstance(moment, Instant)]
    if len(known) < len(moments):
        return next(moment for moment in moments if isinstance(moment, Absence))
    return (min if first else max)(known, key=lambda moment: moment.at)
