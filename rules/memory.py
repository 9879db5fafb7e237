"""Results by the values that they followed from.

What a rule says follows from the values that it reads, and from nothing else. The leaves of a round are much alike, so
that most rules meet the same values again and again; then nothing is evaluated. Of outcomes, only those that carry
nothing but themselves are kept: a violation has its message and its evidence, an open question its absences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from .facts.base import Absence, Reason
from .outcomes import Outcome

T = TypeVar("T")

BARE = frozenset({Outcome.PASS, Outcome.NOT_APPLICABLE})
"""Outcomes that say all there is to say."""
LONGEST_LIST = 64
"""Items of a list that is still worth comparing with others."""
LONGEST_TEXT = 1024
"""Characters of a text, or of a list of texts; with them a cache is bounded in size, not in number alone."""
_MOST_KEPT = 32
"""Combinations of values: enough for what repeats, and a bound for large and for hostile trees."""
_ABSENT: Mapping[Reason, Any] = {reason: object() for reason in Reason}


def comparable(values: Iterable[Any]) -> tuple[Any, ...]:
    """Values and absences in a form that is equal only where every outcome is.

    A name has one type, so that 1, 1.0 and true never stand for each other. Of an absence the reason counts. A list or
    a text that is too long to be worth it becomes, or stays, a list, and nothing is remembered of it.
    """
    found = []
    for value in values:
        kind = type(value)
        if kind is Absence:
            found.append(_ABSENT[value.reason])
        elif kind is str and len(value) > LONGEST_TEXT:
            found.append([value])
        elif kind is list and len(value) <= LONGEST_LIST:
            texts = value and type(value[0]) is str
            found.append(value if texts and sum(map(len, value)) > LONGEST_TEXT else tuple(value))
        else:
            found.append(value)
    return tuple(found)


class Memory(Generic[T]):
    """Results by comparable values, at most ``most`` of them."""

    __slots__ = ("_met", "_most")

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._met: dict[tuple[Any, ...], T] = {}
        self._most = most

    def __len__(self) -> int:
        return len(self._met)

    def get(self, key: tuple[Any, ...]) -> T | None:
        """The result that was met with these values; None where there is none, or none can be."""
        try:
            return self._met.get(key)
        except TypeError:  # a list
            return None

    def keep(self, key: tuple[Any, ...], result: T) -> None:
        """Remember a result, if that can be; one that cannot displaces nothing."""
        try:
            if len(self._met) >= self._most and key not in self._met:
                self._met.clear()
            self._met[key] = result
        except TypeError:
            return
