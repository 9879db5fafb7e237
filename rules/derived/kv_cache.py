"""Derived facts of KV cache (section 6): aggregates over ranks and trials, the layout of clients, what is missing.

All of it is arithmetic on reference tables and on what an adapter observed; limits do not occur here. A figure that is
not known is an :class:`~rules.facts.Absence`, and a derived fact passes on the one that keeps it from being known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..facts.base import Absence, Fact, Reason, Source
from ..facts.kv_cache import Argument, MissingResult, OptionParameter, RankRate, SeedGroup, SharedValue
from ..tables import load_table, reference_rows
from .checkpointing import canonical

_OPTIONS_TABLE = "kvcache-options"
SMALL = 0.001
"""Differences are relative to the larger value, or to this where both are smaller (bandwidths, rates, latencies)."""
SHOWN = 5
"""Rank results that a text names before it counts the rest."""
NO_FILE = "there is no result file"

Place = tuple[int, int, int]
"""Option, trial and rank of one rank result."""


@dataclass(slots=True)
class RankResult:
    """What one result file states; each figure is a value or an Absence."""

    place: Place
    source: Source
    figures: Mapping[str, Fact[float]]
    seed: Fact[int]
    measurements: str = ""
    """Digest of the latencies; empty where there are none."""
    autoscaled: bool = False
    traced: bool = False


@dataclass(frozen=True, slots=True)
class OptionResults:
    """The rank results of one Option: those that are there, how many there should be, and why others are not known."""

    number: int
    ranks: int
    trials: int
    results: Sequence[RankResult]
    none: Absence
    """Stands for what cannot be said where there is no result at all."""
    unknown: Absence | None = None
    """Why the whole is not known: results that were pruned, or are missing without the summary saying so."""


@dataclass(slots=True)
class Derived:
    """A derived figure and the result that decided it, if it was one."""

    value: float
    source: Source | None = None


def option_names() -> tuple[str, ...]:
    """The Options of Table KVCache-1."""
    return tuple(reference_rows(_OPTIONS_TABLE))


def parameter_names() -> tuple[str, ...]:
    """The command-line options that Table KVCache-1 fixes."""
    return tuple(column.parameter for column in load_table(_OPTIONS_TABLE).columns.values() if column.parameter)


def reference_parameters(option: str) -> Mapping[str, str]:
    """Parameters of an Option by command-line option, in canonical spelling; empty for an unknown Option."""
    row = reference_rows(_OPTIONS_TABLE).get(option)
    if row is None:
        return {}
    columns = load_table(_OPTIONS_TABLE).columns
    return {column.parameter: canonical(row[name]) for name, column in columns.items() if column.parameter}


def compare_parameters(
    option: str, stated: Mapping[int, Mapping[str, str]], *, complete: bool
) -> list[OptionParameter]:
    """Each parameter of the Option with each value that its trials (number to parameters) used.

    ``complete``: a parameter that a trial does not state was not set; else that trial says nothing of it.
    """
    found: list[OptionParameter] = []
    for name, reference in reference_parameters(option).items():
        values: dict[str, list[int]] = {}
        for trial in sorted(stated):
            if complete or name in stated[trial]:
                values.setdefault(canonical(stated[trial].get(name)), []).append(trial)
        found.extend(
            OptionParameter(name=name, value=value, reference=reference, trials=trials)
            for value, trials in values.items()
        )
    return found


def compare_arguments(recorded: Mapping[str, object]) -> list[Argument]:
    """The recorded workload arguments that have an inert default, beside it and the values of Table KVCache-1."""
    options = reference_rows(_OPTIONS_TABLE).values()
    return [
        Argument(
            name=name,
            value=canonical(recorded[name]),
            default=row["default"],
            table_values=sorted({canonical(option[row["column"]]) for option in options}) if row["column"] else [],
        )
        for name, row in reference_rows("kvcache-arguments").items()
        if recorded.get(name) is not None
    ]


def resolve_ranks(processes: int | None, per_host: int | None, hosts: int) -> int | None:
    """Clients that the command line resolves to (6.3.3.1); None where the processes cannot be shared evenly.

    A rank for each host where nothing is given. ``--npernode 1`` beside a process count is the parser's default.
    """
    if processes is None:
        return hosts * (1 if per_host is None else per_host)
    if processes <= 0 or processes % hosts:
        return None
    if per_host is None or per_host == 1 or per_host * hosts == processes:
        return processes
    return None


def outvoted(stated: int, started: int, there: int) -> int:
    """Clients (or trials) that a run had, where its summary states one number and its commands start another.

    ``there``: one more than the highest rank (trial) that has a directory. The commands outvote the summary where no
    directory lies beyond them, unless the summary holds all of these as well and is the smaller of the two.
    """
    return stated if there > started or there <= stated < started else started


def deviation(one: float, other: float) -> float:
    """Difference of two figures relative to the larger one; see :data:`SMALL`."""
    return abs(one - other) / max(abs(one), abs(other), SMALL)


def mean_of_sums(option: OptionResults, figure: str) -> Fact[float]:
    """Mean over the trials of the sum over the ranks (6.3.4.1, 6.3.4.2).

    A figure whose key a result lacks counts as 0, as does a trial without any result; results that are missing lower
    the sum. An unusable figure, or no result at all, leaves the aggregate unknown.
    """
    if option.unknown is not None or not option.results:
        return option.unknown or option.none
    total = 0.0
    for result in option.results:
        value = result.figures[figure]
        if isinstance(value, Absence):
            if value.reason is Reason.INVALID:
                return value
            continue
        total += value
    return total / max(option.trials, 1)


def extreme(
    option: OptionResults, figure: str, choose: Callable[..., float], *, if_absent: float | None = None
) -> Derived | Absence:
    """The largest or smallest (``choose``) figure of all results. ``if_absent`` stands for a key that is not there."""
    if option.unknown is not None:
        return option.unknown
    known: list[Derived] = []
    for result in option.results:
        value = result.figures[figure]
        if not isinstance(value, Absence):
            known.append(Derived(value, result.source))
        elif value.reason is Reason.INVALID or if_absent is None:
            return value
        else:
            known.append(Derived(if_absent, result.source))
    if not known:
        return option.none
    return choose(known, key=lambda derived: derived.value)  # type: ignore[return-value]


def worst_rate(option: OptionResults, rate: str, amount: str, span: str) -> RankRate | Absence:
    """The rank whose rate differs most from its amount over its span (0 where the span is)."""
    if option.unknown is not None:
        return option.unknown
    worst: tuple[float, float, float, RankResult] | None = None
    for result in option.results:
        stated, total, seconds = (result.figures[name] for name in (rate, amount, span))
        if isinstance(stated, Absence):
            return stated
        if isinstance(total, Absence):
            return total
        if isinstance(seconds, Absence):
            return seconds
        computed = total / seconds if seconds else 0.0
        off = deviation(stated, computed)
        if worst is None or off > worst[0]:
            worst = off, stated, computed, result
    if worst is None:
        return option.none
    off, stated, computed, result = worst
    path, name = result.source.path, name_of(result.place)
    return RankRate(rank=name, path=path, stated=stated, computed=computed, deviation=off)


def worst_ratio(option: OptionResults, amount: str, span: str) -> Derived | Absence:
    """Largest ratio of two figures of one rank."""
    if option.unknown is not None:
        return option.unknown
    worst: Derived | None = None
    for result in option.results:
        top, bottom = result.figures[amount], result.figures[span]
        if isinstance(top, Absence):
            return top
        if isinstance(bottom, Absence):
            return bottom
        ratio = top / bottom if bottom else 0.0
        if worst is None or ratio > worst.value:
            worst = Derived(ratio, result.source)
    if worst is None:
        return option.none
    return worst


def cpu_tier(option: OptionResults) -> tuple[str, list[str] | Absence]:
    """Which rank results were served from the CPU tier alone: 'none', 'some', 'all', or 'unknown'; and their names.

    Such a result has no entry in the storage tier at its end. A key that is not there does not say so.
    """
    entries = figures(option, "storage_entries")
    if isinstance(entries, Absence):
        return "unknown", entries
    names = sorted(name_of(result.place) for result, value in entries if value == 0)
    return ("none" if not names else "all" if len(names) == len(entries) else "some"), names


def unsampled(option: OptionResults, *, recorded: bool) -> list[str] | Absence:
    """Rank results with entries in the storage tier and without a device read latency (or one of 0).

    ``recorded``: some result of the run has a device latency, so that the build could record it.
    """
    entries = figures(option, "storage_entries")
    if isinstance(entries, Absence):
        return entries
    absent = [p95 for result, _ in entries if isinstance(p95 := result.figures["device_read_p95"], Absence)]
    unknown = absent if not recorded else [p95 for p95 in absent if p95.reason is Reason.INVALID]
    if unknown:
        return unknown[0]
    return [
        name_of(result.place)
        for result, value in entries
        if value and (isinstance(p95 := result.figures["device_read_p95"], Absence) or p95 == 0)
    ]


def figures(option: OptionResults, figure: str) -> list[tuple[RankResult, float]] | Absence:
    """One figure of every result, or why one of them is not known."""
    if option.unknown is not None:
        return option.unknown
    found: list[tuple[RankResult, float]] = []
    for result in option.results:
        value = result.figures[figure]
        if isinstance(value, Absence):
            return value
        found.append((result, value))
    if not found:
        return option.none
    return found


def name_of(place: Place) -> str:
    """``option_1/trial_0/rank_2``."""
    option, trial, rank = place
    return f"option_{option}/trial_{trial}/rank_{rank}"


def shown(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def seed_groups(option: OptionResults) -> list[SeedGroup] | Absence:
    """Rank results by seed minus rank."""
    groups: dict[int, list[str]] = {}
    for result in option.results:
        if isinstance(result.seed, Absence):
            return result.seed
        groups.setdefault(result.seed - result.place[2], []).append(name_of(result.place))
    if not groups:
        return option.unknown or option.none
    return [SeedGroup(base=base, ranks=shown(names)) for base, names in sorted(groups.items())]


def shared_seeds(option: OptionResults) -> list[SharedValue]:
    """Seeds that several ranks of one trial have."""
    holders: dict[tuple[int, int], list[str]] = {}
    for result in option.results:
        if not isinstance(result.seed, Absence):
            holders.setdefault((result.place[1], result.seed), []).append(name_of(result.place))
    return [
        SharedValue(what="seed", value=str(seed), count=len(names), holders=shown(names))
        for (_, seed), names in sorted(holders.items())
        if len(names) > 1
    ]


def shared_measurements(results: Iterable[RankResult]) -> list[SharedValue]:
    """Lists of latencies that several rank results of a leaf have in common: one was copied from the other."""
    holders: dict[str, list[str]] = {}
    for result in results:
        if result.measurements:
            holders.setdefault(result.measurements, []).append(name_of(result.place))
    return [
        SharedValue(what="measurements", value="end-to-end latencies", count=len(names), holders=shown(names))
        for names in holders.values()
        if len(names) > 1
    ]


def observed_delay(
    starts: Mapping[int, Sequence[datetime | None]], ends: Mapping[int, datetime | None], end_delay: float
) -> float | None:
    """Shortest time between two Options, in seconds; None where the times of rank 0 do not show it.

    ``starts``: start of rank 0 in each trial, by Option; ``ends``: when its last result was saved, where the log says
    so. The wrapper waits ``end_delay`` after that. Without a log the time from the last start of an Option to the
    first of the next one stands beside the usual time between its own trials.
    """
    found: list[float] = []
    for option, times in starts.items():
        following = starts.get(option + 1)
        if not following or following[0] is None or not times or times[-1] is None:
            continue
        end = ends.get(option)
        if end is not None:
            found.append((following[0] - end).total_seconds() - end_delay)
            continue
        steps = [
            (later - earlier).total_seconds()
            for earlier, later in itertools.pairwise(times)
            if earlier is not None and later is not None
        ]
        if steps:
            from statistics import median

            found.append((following[0] - times[-1]).total_seconds() - median(steps))
    return min(found) if found else None


def is_inside(path: str, directory: str) -> bool:
    """Whether a normalised path is, or lies below, a directory: by whole components, and without looking."""
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))


@dataclass(slots=True)
class Unusable:
    """Rank results of one Option without a usable file, and reasons by place."""

    option: int
    ranks: int
    trials: int
    present: set[tuple[int, int]] = field(default_factory=set)
    """Trial and rank of the usable ones."""
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)
    """What is wrong with those that have a file."""
    declared: set[tuple[int, int]] = field(default_factory=set)
    """Those that the summary lists as missing."""

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for trial in range(self.trials):
            for rank in range(self.ranks):
                if (trial, rank) not in self.present:
                    yield trial, rank

    @property
    def count(self) -> int:
        """How many there are."""
        inside = sum(1 for trial, rank in self.present if trial < self.trials and rank < self.ranks)
        return self.ranks * self.trials - inside

    def records(self, leaf: str, cause: str) -> list[MissingResult]:
        """As facts, few whatever number of ranks is stated: of a trial one for those that the summary lists and one for
        the others, and likewise of the trials without any usable result.
        """
        if not self.count:
            return []
        option = f"option_{self.option}"
        if self.count == self.ranks * self.trials and not self.reasons:
            every = all(place in self.declared for place in self)
            return [self._record([option], leaf, option, self.count, every, [NO_FILE], cause)]
        records: list[MissingResult] = []
        whole: dict[bool, list[str]] = {}
        for trial in range(self.trials):
            missing = [rank for rank in range(self.ranks) if (trial, rank) not in self.present]
            name = f"{option}/trial_{trial}"
            if len(missing) == self.ranks > 1 and not any(place[0] == trial for place in self.reasons):
                whole.setdefault(all((trial, rank) in self.declared for rank in missing), []).append(name)
                continue
            for declared in (True, False):
                ranks = [rank for rank in missing if ((trial, rank) in self.declared) is declared]
                names = [f"{name}/rank_{rank}" for rank in ranks]
                details = dict.fromkeys(self.reasons.get((trial, rank), NO_FILE) for rank in ranks)
                if ranks:
                    records.append(self._record(names, leaf, name, len(ranks), declared, details, cause))
        return records + [
            self._record(names, leaf, option, len(names) * self.ranks, declared, [NO_FILE], cause)
            for declared, names in whole.items()
        ]

    @staticmethod
    def _record(
        names: Sequence[str], leaf: str, around: str, count: int, declared: bool, details: Iterable[str], cause: str
    ) -> MissingResult:
        """``around``: the directory that several names lie in."""
        return MissingResult(
            name=shown(names),
            path=f"{leaf}/{names[0] if len(names) == 1 else around}",
            count=count,
            declared=declared,
            detail=shown(list(details)),
            cause=cause,
        )


def beyond_first_host(options: Iterable[Unusable], slots: Sequence[int]) -> bool:
    """Whether the missing rank results are exactly those of the hosts other than the first one.

    ``slots``: ranks of each host in the order of the command line; ranks are numbered host by host, or in turn.
    """
    if len(slots) < 2:
        return False
    by_host = frozenset(range(slots[0]))
    in_turn = frozenset(range(0, sum(slots), len(slots)))
    there = [
        frozenset(rank for trial_there, rank in option.present if trial_there == trial)
        for option in options
        for trial in range(option.trials)
    ]
    return bool(there) and (all(ranks == by_host for ranks in there) or all(ranks == in_turn for ranks in there))
