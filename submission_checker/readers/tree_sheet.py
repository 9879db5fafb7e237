"""What the facts on the tree have in common: records of what was listed, in bounded numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from mlpstorage.results import layout
from mlpstorage.results.text import clean
from rules.facts import FactSheet, Source
from rules.facts import tree as facts

from ..listing import UNLISTED, Obstacle
from .common import unlisted

MAX_RECORDS = 500
"""Entries of one kind of one directory that rules are asked about; a last record says how many more there are."""
_MAX_NAMES = 8
"""Names that one text lists."""

MAX_LISTED = 50
"""Names that one list has."""

T = TypeVar("T")


class Sheet(FactSheet):
    """A sheet whose facts come from where a directory was listed, unless said otherwise."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._here = Source(path or ".")

    def put(self, name: str, value: Any, source: Source | None = None) -> None:
        """As FactSheet does, with the directory as the source where none is given."""
        super().put(name, value, source or self._here)


def misplaced_records(paths: Iterable[str]) -> list[facts.Misplaced]:
    """Leaves that lie at a wrong depth."""
    found = [facts.Misplaced(path=clean(path), above=clean(path.rpartition("/")[0])) for path in sorted(paths)]
    return capped(found, "path")


def obstacle_records(obstacles: Iterable[Obstacle]) -> list[facts.Obstacle]:
    """What was not gone into."""
    return capped(
        [
            facts.Obstacle(
                path=clean(obstacle.path) or ".",
                kind=obstacle.kind,
                listed=obstacle.kind != UNLISTED,
                names=listed(obstacle.names),
                count=len(obstacle.names),
                submission=any(
                    name.lower() in layout.DIVISIONS for name in ([obstacle.path] if obstacle.path else obstacle.names)
                ),
                in_leaf=obstacle.in_leaf,
                detail=clean(obstacle.detail),
                cause=unlisted(obstacle.path, obstacle.detail).cause,
            )
            for obstacle in obstacles
        ],
        "path",
    )


def listed(names: Sequence[str]) -> str:
    """The first names as one text, and how many more there are."""
    return ", ".join([clean(name) for name in names[:_MAX_NAMES]] + _more(len(names) - _MAX_NAMES))


def first_names(names: list[str]) -> list[str]:
    """The first names as a list, and how many more there are."""
    return [*names[:MAX_LISTED], *_more(len(names) - MAX_LISTED)]


def _more(count: int) -> list[str]:
    return [f"({count} more)"] if count > 0 else []


def capped(records: list[T], field: str, total: int | None = None) -> list[T]:
    """At most MAX_RECORDS, of which the last one says how many were left out."""
    count = len(records) if total is None else total
    if count <= MAX_RECORDS:
        return records
    last: Any = records[MAX_RECORDS - 1]
    note = f"{getattr(last, field)} (and {count - MAX_RECORDS} more)"
    return [*records[: MAX_RECORDS - 1], last.model_copy(update={field: note})]
