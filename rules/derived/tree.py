"""Derived facts of the results tree: the pauses between neighbouring invocations (2.1.18, 2.1.24).

A pause runs from the end of one invocation to the start of the next, both in one zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

from ..facts.base import Absence
from ..facts.tree import Pause
from .zones import Instant, Moment, Zone, end_shift, moved, shifts


@dataclass(frozen=True, slots=True)
class LeafTimes:
    """When one invocation began and ended, and between which readings its duration is measured.

    ``start_name`` and ``end_name`` say what was read; ``exact`` that nothing but the invocation lies between them.
    """

    name: str
    start: Moment
    end: Moment
    begun: Moment
    ended: Moment
    start_name: str = ""
    end_name: str = ""
    exact: bool = True
    zone: Zone | None = None

    @property
    def duration(self) -> timedelta | Absence:
        """How long it took."""
        if isinstance(self.begun, Absence):
            return self.begun
        return self.ended if isinstance(self.ended, Absence) else self.ended.at - self.begun.at

    def moved(self, start: timedelta, end: timedelta) -> LeafTimes:
        """The same in another zone: ``start`` is added to its start, ``end`` to its end."""
        return replace(self, start=moved(self.start, start), end=moved(self.end, end))

    @property
    def unknown(self) -> Absence | None:
        """Why one of its times is not known; None where all are."""
        known = (self.start, self.end, self.duration)
        return next((value for value in known if isinstance(value, Absence)), None)


def foreign_command(path: str) -> str:
    """The cause of what is not known because the leaf at this path was written by another command (1.1)."""
    return f"command:{path}"


def pauses(path: str, leaves: Iterable[LeafTimes], strays: Sequence[LeafTimes] = ()) -> list[Pause]:
    """Pauses between neighbours in the order of their starts; a leaf whose times are not known has none beside it.

    ``strays`` are no leaves by their names (2.1.17): they have no pauses, and one of them may have filled another's.
    """
    ordered, strays = _in_one_zone(list(leaves), strays)
    shortest = min(_seconds(ordered), default=0.0)
    found = []
    for first, second in pairwise(ordered):
        durations = _seconds((first, second))
        if isinstance(first.end, Absence) or isinstance(second.start, Absence) or not durations:
            continue
        if isinstance(first.duration, Absence) or isinstance(second.duration, Absence):
            continue  # the one that is not known may be the longer one
        if any(isinstance(s.start, Instant) and first.end.at <= s.start.at < second.start.at for s in strays):
            continue
        bound = "" if first.exact and second.exact else "; an upper bound, start-up or tear-down lie in it"
        found.append(
            Pause(
                names=f"{first.name} and {second.name}",
                path=path,
                idle_seconds=(second.start.at - first.end.at).total_seconds(),
                shortest_seconds=shortest,
                longest_seconds=max(durations),
                origin=f"{first.end_name} {first.end.shown}, {second.start_name} {second.start.shown}{bound}",
            )
        )
    return found


def _in_one_zone(leaves: Sequence[LeafTimes], strays: Sequence[LeafTimes]) -> tuple[list[LeafTimes], list[LeafTimes]]:
    """The leaves in the order of their starts and the strays, their times in one zone; durations stay as they are."""
    by = shifts([leaf.zone for leaf in (*leaves, *strays)])
    if not any(by):
        return sorted(leaves, key=_order), list(strays)
    pairs = [(leaf.moved(shift, shift), shift) for leaf, shift in zip((*leaves, *strays), by, strict=True)]
    ordered = sorted(pairs[: len(leaves)], key=lambda pair: _order(pair[0]))
    for index, ((first, own), (second, following)) in enumerate(pairwise(ordered)):
        last = end_shift(moved(first.end, -own), own, second.start, following)
        ordered[index] = (first.moved(timedelta(), last - own), own)
    return [leaf for leaf, _ in ordered], [leaf for leaf, _ in pairs[len(leaves) :]]


def _order(leaf: LeafTimes) -> str:
    return leaf.start.at.isoformat() if isinstance(leaf.start, Instant) else leaf.name


def _seconds(leaves: Sequence[LeafTimes]) -> list[float]:
    """Durations that are known and can be one."""
    known = [duration for leaf in leaves if not isinstance(duration := leaf.duration, Absence)]
    return [duration.total_seconds() for duration in known if duration > timedelta()]
