"""Facts of a checkpointing workload, derived from its invocations and the times observed in them (4.3.1, 4.7.1, 4.7.2).

All arithmetic is on naive times of one zone, that of the first invocation that shows its own; the collector's stamps,
which are UTC, are brought there as well. A fact passes on the absence of what it derives from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from ..facts.base import Absence, FactSheet, Reason, Source
from ..facts.checkpointing import CheckpointingRun, CheckpointingWorkload, HostValue
from .zones import NAME_STEP, Instant, Moment, Zone, end_shift, moved, shifts

_NO_TIME = timedelta()


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When one invocation did what. Times in the zone of its leaf, but for ``collected_end``, which is UTC."""

    invocation_start: Moment
    invocation_end: Moment
    directory: Moment
    """The leaf's name: start of the process."""
    summary_start: Moment
    """Start of the measured section, after MPI and Python start-up."""
    summary_end: Moment
    collected: Moment
    """Host facts at the start; with the start of the process it shows the zone."""
    collected_end: Moment
    """UTC: the latest stamp of the host facts at the end."""
    first_write: Moment
    """Start of the first checkpoint write."""
    last_write: Moment
    """End of the last checkpoint write."""
    first_read: Moment
    last_read: Moment
    zone: Zone | None = None
    """None where neither the tool recorded it nor two stamps show it."""

    @property
    def start(self) -> Moment:
        """Start of the invocation: as recorded, else the leaf's name, else the summary's start."""
        return _first(self.invocation_start, self.directory, self.summary_start)

    @property
    def collected_end_local(self) -> Moment:
        """The end of the host facts' collection in local time."""
        if isinstance(self.collected_end, Absence):
            return self.collected_end
        if self.zone is None:
            return _absent(self.collected, self.directory)
        return Instant(self.collected_end.at + self.zone.offset, self.collected_end.source, _NO_TIME)

    @property
    def end(self) -> Moment:
        """End of the invocation: as recorded, else that of the hosts' collection, else the summary's end."""
        return _first(self.invocation_end, self.collected_end_local, self.summary_end)

    def moved(self, start: timedelta, end: timedelta) -> RunTimes:
        """The same in another zone: ``start`` is added to what is near the start, ``end`` to what is near the end."""
        near_start = ("invocation_start", "directory", "summary_start", "first_write", "first_read")
        near_end = ("invocation_end", "summary_end", "last_write", "last_read")
        changes = {
            name: moved(getattr(self, name), by)
            for names, by in ((near_start, start), (near_end, end))
            for name in names
        }
        zone = None if self.zone is None else replace(self.zone, offset=self.zone.offset + end)
        return replace(self, zone=zone, **changes)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A run with its times, and by key (kernel, cores ...) how many of its client hosts tell their value, and which."""

    run: CheckpointingRun
    times: RunTimes
    hosts: Mapping[str, tuple[int, str]] | Absence


def derive_workload(path: str, invocations: Iterable[Invocation]) -> CheckpointingWorkload:
    """The workload of these invocations (at least one), in the order of their start."""
    ordered = _in_one_zone(invocations)
    runs = [invocation.run for invocation in ordered]
    sheet = FactSheet()
    for name in ("division", "model", "api", "o_direct"):
        _agreed(sheet, path, runs, name)
    _aggregate(sheet, runs, "checkpoints_written", "num_checkpoints_write", sum)
    _aggregate(sheet, runs, "checkpoint_size_gib", "checkpoint_size_gib", min)
    _aggregate(sheet, runs, "num_hosts", "num_hosts", max)
    _aggregate(sheet, runs, "client_memory_gib", "client_memory_gib", max)
    _structure(sheet, path, runs)
    _host_values(sheet, path, ordered)
    sheet.put("overlap", *_overlap(ordered))
    _gap(sheet, path, ordered)
    _durations(sheet, path, ordered)
    return sheet.build(CheckpointingWorkload, path, runs)


def _in_one_zone(invocations: Iterable[Invocation]) -> list[Invocation]:
    """The invocations in the order of their start, their times in one zone."""
    listed = list(invocations)
    starts = shifts([invocation.times.zone for invocation in listed])
    if not any(starts):
        return sorted(listed, key=_order)
    pairs = [(replace(i, times=i.times.moved(shift, shift)), shift) for i, shift in zip(listed, starts, strict=True)]
    pairs.sort(key=lambda pair: _order(pair[0]))
    for index, ((first, own), (second, following)) in enumerate(pairwise(pairs)):
        by = end_shift(moved(first.times.end, -own), own, second.times.start, following)
        pairs[index] = (replace(first, times=first.times.moved(_NO_TIME, by - own)), own)
    return [invocation for invocation, _ in pairs]


def _first(*moments: Moment) -> Moment:
    """The first that is known, else the absence of the last, the most basic of them."""
    return next((moment for moment in moments if isinstance(moment, Instant)), moments[-1])


def _absent(*values: Any) -> Absence:
    return next(value for value in values if isinstance(value, Absence))


def _order(invocation: Invocation) -> tuple[datetime, str]:
    start = invocation.times.start
    return (start.at if isinstance(start, Instant) else datetime.max, invocation.run.path)


def _agreed(sheet: FactSheet, path: str, runs: Sequence[CheckpointingRun], name: str) -> None:
    """A fact that all runs share: what those that state it agree on."""
    stated = [run for run in runs if not isinstance(getattr(run, name), Absence)]
    if not stated:
        sheet.put(name, getattr(runs[0], name))
        return
    values = {getattr(run, name) for run in stated}
    if len(values) > 1:
        detail = f"the invocations differ: {', '.join(sorted(map(str, values)))}"
        sheet.put(name, Absence(f"differs:{path}:{name}", Reason.INVALID, path, detail=detail))
        return
    sheet.put(name, values.pop(), stated[0].sources.get(name))


def _aggregate(
    sheet: FactSheet, runs: Sequence[CheckpointingRun], name: str, of: str, combine: Callable[[list[Any]], Any]
) -> None:
    """One number for all runs; absent if it is for one of them. The source is that of the run that decides."""
    values = [getattr(run, of) for run in runs]
    if any(isinstance(value, Absence) for value in values):
        sheet.put(name, _absent(*values))
        return
    result = combine(values)
    decisive = values.index(result) if result in values else 0
    sheet.put(name, result, runs[decisive].sources.get(of))


def _structure(sheet: FactSheet, path: str, runs: Sequence[CheckpointingRun]) -> None:
    counts = [(run.num_checkpoints_write, run.num_checkpoints_read) for run in runs]
    unknown = [value for pair in counts for value in pair if isinstance(value, Absence)]
    source = Source(path)
    if unknown:
        sheet.put("invocations", unknown[0])
        sheet.put("structure", unknown[0])
    else:
        steps = [f"{writes}/{reads}" for writes, reads in counts]
        sheet.put("invocations", steps, source)
        sheet.put("structure", " ".join(steps), source)
    both = [_both(writes, reads) for writes, reads in counts]
    if any(value is True for value in both):
        sheet.put("combined", True, runs[both.index(True)].sources.get("num_checkpoints_write"))
    elif unknown and any(isinstance(value, Absence) for value in both):
        sheet.put("combined", _absent(*both))
    else:
        sheet.put("combined", False, source)


def _both(writes: Any, reads: Any) -> bool | Absence:
    """Whether an invocation writes and reads; a known zero decides without the other count."""
    known = [value for value in (writes, reads) if not isinstance(value, Absence)]
    if any(value <= 0 for value in known):
        return False
    return True if len(known) == 2 else _absent(writes, reads)


def _host_values(sheet: FactSheet, path: str, ordered: Sequence[Invocation]) -> None:
    """2.1.9: the values that as many hosts told in all invocations, of the first beside that of one that differs."""
    found: list[Mapping[str, tuple[int, str]]] = []
    for invocation in ordered if len(ordered) > 1 else ():
        if isinstance(invocation.hosts, Absence):
            sheet.put("host_values", invocation.hosts)
            return
        found.append(invocation.hosts)
    compared = []
    for name in found[0] if found else ():
        values = [hosts[name] for hosts in found if name in hosts]
        if len(values) == len(found) and len({hosts for hosts, _ in values}) == 1:
            later = next((value for value in values if value != values[0]), values[0])
            compared.append(HostValue(name=name, first=values[0][1], later=later[1]))
    sheet.put("host_values", compared, Source(path))


def _overlap(ordered: Sequence[Invocation]) -> tuple[bool | Absence, Source | None]:
    """Whether a measured section began before an earlier one had ended."""
    if len(ordered) == 1:
        return False, Source(ordered[0].run.path)
    starts = [invocation.times.summary_start for invocation in ordered]
    ends = [invocation.times.summary_end for invocation in ordered]
    sections = []
    for start, end in zip(starts, ends, strict=True):
        if isinstance(start, Absence) or isinstance(end, Absence):
            return _absent(start, end), None
        sections.append((start, end))
    sections.sort(key=lambda section: section[0].at)
    latest = sections[0][1]
    for start, end in sections[1:]:
        if start.at < latest.at:
            return True, start.source
        latest = max(latest, end, key=lambda moment: moment.at)
    return False, latest.source


def _gap(sheet: FactSheet, path: str, ordered: Sequence[Invocation]) -> None:
    """4.7.1 (c): the pause between the invocations of a write/read pair."""
    pair = _is_pair(ordered)
    sheet.put("pair", pair, Source(path))
    if pair is True:
        _measure_gap(sheet, ordered[0].times, ordered[1].times)
    elif pair is False:
        no_pair = Absence(f"no-pair:{path}", Reason.NOT_APPLICABLE, path, detail="there is no write/read pair")
        _put_no_gap(sheet, no_pair)
    else:
        _put_no_gap(sheet, pair)


def _put_no_gap(sheet: FactSheet, absence: Absence) -> None:
    for name in ("gap_seconds", "gap_exact", "gap_origin"):
        sheet.put(name, absence)


def _is_pair(ordered: Sequence[Invocation]) -> bool | Absence:
    if len(ordered) != 2:
        return False
    first, second = (invocation.run for invocation in ordered)
    only_writes = _only(first.num_checkpoints_write, first.num_checkpoints_read)
    only_reads = _only(second.num_checkpoints_read, second.num_checkpoints_write)
    if only_writes is False or only_reads is False:
        return False
    return _absent(only_writes, only_reads) if only_writes is not True or only_reads is not True else True


def _only(wanted: Any, other: Any) -> bool | Absence:
    """Whether an invocation does only the one phase; a count that contradicts it decides alone."""
    if not isinstance(wanted, Absence) and wanted <= 0:
        return False
    if not isinstance(other, Absence) and other > 0:
        return False
    if isinstance(wanted, Absence) or isinstance(other, Absence):
        return _absent(wanted, other)
    return True


def _measure_gap(sheet: FactSheet, write: RunTimes, read: RunTimes) -> None:
    ends = (
        ("invocation end", write.invocation_end, True),
        ("end of host collection", write.collected_end_local, True),
        ("summary end", write.summary_end, False),
    )
    starts = (
        ("invocation start", read.invocation_start, True),
        ("leaf name", read.directory, True),
        ("summary start", read.summary_start, False),
    )
    end_name, end, end_exact = next((item for item in ends if isinstance(item[1], Instant)), ends[-1])
    start_name, start, start_exact = next((item for item in starts if isinstance(item[1], Instant)), starts[-1])
    if isinstance(end, Absence) or isinstance(start, Absence):
        _put_no_gap(sheet, _absent(end, start))
        return
    gap = start.at - end.at
    if start is read.directory and -NAME_STEP < gap < _NO_TIME:
        gap = _NO_TIME
    sheet.put("gap_seconds", gap.total_seconds(), start.source)
    sheet.put("gap_exact", end_exact and start_exact, end.source)
    origin = f"write {end_name} {end.shown}, read {start_name} {start.shown}"
    sheet.put("gap_origin", origin, end.source)


def _durations(sheet: FactSheet, path: str, ordered: Sequence[Invocation]) -> None:
    """4.7.2, 4.7.3: the whole test, and the pause between the last write and the first read.

    The statistics of rank 0 tell them; where their content is not available, the summaries bound them.
    """
    writers = [i for i in ordered if _both(i.run.num_checkpoints_write, 1) is not False]
    readers = [i for i in ordered if _both(i.run.num_checkpoints_read, 1) is not False]
    if not writers or not readers:
        phase = "write" if not writers else "read"
        detail = f"no invocation of the workload has a {phase} phase"
        absence = Absence(f"no-{phase}:{path}", Reason.NOT_APPLICABLE, path, detail=detail)
        sheet.put("total_seconds", absence)
        sheet.put("interval_seconds", absence)
        return
    first_write = _earliest(i.times.first_write for i in writers)
    last_write = _latest(i.times.last_write for i in writers)
    first_read = _earliest(i.times.first_read for i in readers)
    last_read = _latest(i.times.last_read for i in readers)
    begin = _first_available(first_write, _earliest(i.times.summary_start for i in writers))
    end = _first_available(last_read, _latest(i.times.summary_end for i in readers))
    _put_span(sheet, "total_seconds", begin, end)
    if not {id(i) for i in writers} & {id(i) for i in readers}:
        last_write = _first_available(last_write, _latest(i.times.summary_end for i in writers))
        first_read = _first_available(first_read, _earliest(i.times.summary_start for i in readers))
    _put_span(sheet, "interval_seconds", last_write, first_read)


def _put_span(sheet: FactSheet, name: str, begin: Moment, end: Moment) -> None:
    if isinstance(begin, Absence) or isinstance(end, Absence):
        sheet.put(name, _absent(begin, end))
    else:
        sheet.put(name, (end.at - begin.at).total_seconds(), end.source)


def _first_available(measured: Moment, bound: Moment) -> Moment:
    """What was measured, else its bound. A value that is there and cannot be used is not replaced."""
    if isinstance(measured, Absence) and measured.reason is not Reason.INVALID and isinstance(bound, Instant):
        return bound
    return measured


def _earliest(moments: Iterable[Moment]) -> Moment:
    return _extreme(moments, min)


def _latest(moments: Iterable[Moment]) -> Moment:
    return _extreme(moments, max)


def _extreme(moments: Iterable[Moment], choose: Callable[..., Instant]) -> Moment:
    known = []
    for moment in moments:
        if isinstance(moment, Absence):
            return moment
        known.append(moment)
    return choose(known, key=lambda moment: moment.at)
