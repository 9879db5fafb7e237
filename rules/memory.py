"""Outcomes by the values that they followed from.

What a rule says follows from the values that it reads, and from nothing else. The leaves of a round are much alike, so
that most rules meet the same values again and again; then nothing is evaluated. Only outcomes that carry nothing but
themselves are kept: a violation has its message and its evidence, an open question its absences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .facts.base import Absence, Reason
from .outcomes import Outcome

BARE = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE})
"""Outcomes that say all there is to say."""
LONGEST_LIST = 64
"""Items of a list that is still worth comparing with others."""
_MOST_KEPT = 64
"""Combinations of values: enough for what repeats, and a bound for large and for hostile trees."""
_ABSENT: Mapping[Reason, object] = {reason: object() for reason in Reason}


def comparable(value: Any) -> Any:
    """A value or absence in a form that is equal only where every outcome is.

    A name has one type, so that 1, 1.0 and true never stand for each other. Of an absence the reason counts. A list
    that is too long to be worth it stays a list, and nothing is remembered of it.
    """
    kind = type(value)
    if kind is Absence:
        return _ABSENT[value.reason]
    if kind is list and len(value) <= LONGEST_LIST:
        return tuple(value)
    return value


class Memory:
    """Bare outcomes by comparable values."""

    __slots__ = ("_met",)

    def __init__(self) -> None:
        self._met: dict[tuple[Any, ...], Outcome] = {}

    def __len__(self) -> int:
        return len(self._met)

    def get(self, key: tuple[Any, ...]) -> Outcome | None:
        """The outcome that was met with these values; None where there is none, or none can be."""
        try:
            return self._met.get(key)
        except TypeError:  # a list
            return None

    def keep(self, key: tuple[Any, ...], outcome: Outcome) -> None:
        """Remember a bare outcome, if that can be."""
        if len(self._met) >= _MOST_KEPT:
            self._met.clear()
        try:
            self._met[key] = outcome
        except TypeError:
            return
