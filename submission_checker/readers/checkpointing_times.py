"""When a checkpointing invocation did what, from the files of its leaf."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_utc_time
from mlpstorage.results.document import Document, Reading
from rules.derived.workload import RunTimes
from rules.derived.zones import Instant, Moment, Zone, local
from rules.facts import Absence

from .checkpointing_files import LeafDocuments, Step
from .zones import collected, directory_time, leaf_zone, moment


def read_times(files: LeafDocuments) -> RunTimes:
    """All times of a leaf that rules on gaps and durations use."""
    metadata, summary = files.metadata, files.summary
    saves, loads = files.steps("save"), files.steps("load")
    start = moment(metadata.stated_time("/invocation_start_time"))
    directory, collection = directory_time(files.leaf), collected(metadata)
    zone = leaf_zone(metadata, (start, directory), collection)
    return RunTimes(
        invocation_start=local(start, zone),
        invocation_end=local(moment(metadata.stated_time("/invocation_end_time")), zone),
        directory=directory,
        summary_start=local(moment(summary.stated_time("/start", "/start_time")), zone),
        summary_end=local(moment(summary.stated_time("/end", "/end_time")), zone),
        collected=collection,
        collected_end=_collected_end(metadata),
        first_write=_extreme(files, saves, "save", zone, first=True),
        last_write=_extreme(files, saves, "save", zone, first=False),
        first_read=_extreme(files, loads, "load", zone, first=True),
        last_read=_extreme(files, loads, "load", zone, first=False),
        zone=zone,
    )


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


def _host_stamp(host: Any) -> datetime | None:
    try:
        return as_utc_time(host.get("collection_timestamp")) if isinstance(host, dict) else None
    except InvalidValueError:
        return None


def _extreme(
    files: LeafDocuments, steps: Sequence[Step] | Absence, phase: str, zone: Zone | None, *, first: bool
) -> Moment:
    """Start of the first, or end of the last step of a phase."""
    if isinstance(steps, Absence):
        return steps
    if not steps:
        return files.stats.key_absent(f"/1/{phase}_ckpt1")
    moments = [local(step.start if first else step.end, zone) for step in steps]
    known = [moment for moment in moments if isinstance(moment, Instant)]
    if len(known) < len(moments):
        return next(moment for moment in moments if isinstance(moment, Absence))
    return (min if first else max)(known, key=lambda moment: moment.at)
