"""Whether runs can be compared, and whether a feature differs by more than equal runs differ from each other.

Method. The run-to-run floor of a metric is the range of the bases (largest minus smallest): what repeating the same run
changes by itself. A feature's difference is its distance from the mean of the bases, and its ratio is that difference
over the floor: at most 1 is inside the noise, more is outside. With a floor of zero, or fewer than two bases, nothing
can be decided. No fixed tolerance is used anywhere.

Source. The range of a few repeats as their spread: statistical process control (W. A. Shewhart, 1931). How often noise
alone lands outside: a further run of the same kind exceeds the range of n earlier ones with probability 2 / (n + 1),
whatever the distribution (S. S. Wilks, "Determination of sample sizes for setting tolerance limits", Annals of
Mathematical Statistics 12, 1941). The band used here contains that range, so this is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from rules.derived.zones import shifts

from .subjects import NOT_STATED, LeafData, Subject

METHOD = (
    "floor = largest - smallest of the bases; ratio = |feature - mean of the bases| / floor; inside: ratio <= 1; "
    "outside: ratio > 1; undecidable: floor 0 or fewer than two bases"
)
SOURCE = "range of repeats (Shewhart 1931); chance of noise alone at most 2 / (bases + 1) (Wilks 1941)"
MIN_BASES = 2


class Verdict(StrEnum):
    """How a metric of a feature compares with the noise."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    UNDECIDABLE = "undecidable"


@dataclass(frozen=True, slots=True)
class Judged:
    """One metric of one feature: the signed difference in the metric's unit; no ratio where nothing can be decided."""

    feature: str
    value: float | None
    difference: float | None
    ratio: float | None
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric over all runs. ``bases`` are their values in the order given; None where a run lacks it."""

    name: str
    bases: tuple[float | None, ...]
    mean: float | None
    floor: float | None
    features: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A configuration key that is not the same everywhere: its value for each run, in the order given."""

    key: str
    values: tuple[str, ...]
    among_bases: bool
    """The bases differ in it, which nobody can declare: they are repeats of one another."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole result. ``problems`` and ``undeclared`` say why runs cannot be compared; then there are no metrics."""

    bases: tuple[Subject, ...]
    features: tuple[Subject, ...]
    declared: tuple[Difference, ...]
    undeclared: tuple[Difference, ...]
    unused: tuple[str, ...]
    """Keys that were declared to differ and do not."""
    problems: tuple[str, ...]
    metrics: tuple[Metric, ...]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """All runs in the order given."""
        return (*self.bases, *self.features)

    @property
    def comparable(self) -> bool:
        """Whether anything may be concluded from the metrics."""
        return not self.problems and not self.undeclared

    @property
    def chance(self) -> float:
        """Upper bound of the probability that one metric of an equal run lies outside by noise alone."""
        return min(1.0, 2 / (len(self.bases) + 1))

    def count(self, verdict: Verdict) -> int:
        """Number of metrics of features with this verdict."""
        return sum(judged.verdict is verdict for metric in self.metrics for judged in metric.features)


def compare(bases: Sequence[Subject], features: Sequence[Subject], differs: Sequence[str]) -> Comparison:
    """Judge the metrics of the features, if the runs are comparable. ``differs``: keys, or prefixes ending in a dot."""
    subjects = [*bases, *features]
    differences = list(_differences(bases, features))
    declared = tuple(d for d in differences if _matches(d.key, differs) and not d.among_bases)
    undeclared = tuple(d for d in differences if d not in declared)
    used = {pattern for pattern in differs if any(_matches(d.key, [pattern]) for d in differences)}
    problems = (*_incomplete(subjects), *_overlaps(subjects))
    comparable = not problems and not undeclared
    return Comparison(
        tuple(bases), tuple(features), declared, undeclared, tuple(p for p in differs if p not in used), problems,
        tuple(_metrics(bases, features)) if comparable else (),
    )  # fmt: skip


def _differences(bases: Sequence[Subject], features: Sequence[Subject]) -> Iterator[Difference]:
    """Keys that are not the same in all complete runs; what the files of others lack is their one problem."""
    subjects = [*bases, *features]
    for key in sorted({key for subject in subjects if subject.complete for key in subject.config}):
        if len(_stated(key, subjects)) > 1:
            values = tuple(subject.config.get(key, NOT_STATED) for subject in subjects)
            yield Difference(key, values, len(_stated(key, bases)) > 1)


def _stated(key: str, subjects: Sequence[Subject]) -> set[str]:
    """What the complete runs state for a key."""
    return {subject.config.get(key, NOT_STATED) for subject in subjects if subject.complete}


def _matches(key: str, patterns: Sequence[str]) -> bool:
    return any(key == pattern or (pattern.endswith(".") and key.startswith(pattern)) for pattern in patterns)


def _incomplete(subjects: Sequence[Subject]) -> Iterator[str]:
    for subject in subjects:
        yield from (f"{subject.name} is not complete: {text}" for leaf in subject.leaves for text in leaf.missing)


def _overlaps(subjects: Sequence[Subject]) -> Iterator[str]:
    """Runs that shared the machine disturb each other."""
    for index, first in enumerate(subjects):
        for second in subjects[index + 1 :]:
            if any(_overlap(a, b) for a in first.leaves for b in second.leaves):
                yield f"{first.name} and {second.name} overlap in time: they ran at once, or are one run given twice"


def _overlap(a: LeafData, b: LeafData) -> bool:
    if a.start is None or a.end is None or b.start is None or b.end is None:
        return False  # reported as incomplete
    by_a, by_b = shifts([a.zone, b.zone])
    return a.start + by_a < b.end + by_b and b.start + by_b < a.end + by_a


def _metrics(bases: Sequence[Subject], features: Sequence[Subject]) -> Iterator[Metric]:
    for name in dict.fromkeys(name for subject in (*bases, *features) for name in subject.metrics):
        values = tuple(base.metrics.get(name) for base in bases)
        known = [value for value in values if value is not None]
        mean = fmean(known) if known else None
        floor = max(known) - min(known) if len(known) >= MIN_BASES else None
        judged = tuple(_judge(feature, name, mean, floor) for feature in features)
        yield Metric(name, values, mean, floor, judged)


def _judge(feature: Subject, name: str, mean: float | None, floor: float | None) -> Judged:
    value = feature.metrics.get(name)
    if value is None or mean is None:
        why = "the feature lacks it" if value is None else "no base has it"
        return Judged(feature.name, value, None, None, Verdict.UNDECIDABLE, why)
    difference = value - mean
    if floor is None:
        why = f"fewer than {MIN_BASES} bases have it: the noise is not known"
        return Judged(feature.name, value, difference, None, Verdict.UNDECIDABLE, why)
    ratio = abs(difference) / floor if floor > 0 else math.inf
    if not math.isfinite(ratio):
        return Judged(feature.name, value, difference, None, Verdict.UNDECIDABLE, "the bases do not differ: floor 0")
    return Judged(feature.name, value, difference, ratio, Verdict.INSIDE if ratio <= 1 else Verdict.OUTSIDE)
