"""The shape in which ``rules matrix`` shows a decision table, whatever the workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Grid:
    """One table: its title, its column headings and its rows; the first column names the row."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The tables of one workload: what they show, what their symbols mean and what is held fixed."""

    grids: Sequence[Grid]
    legend: str
    fixed: Mapping[str, str]
    cells: Sequence[Mapping[str, Any]]
    """The same as data, one mapping a cell."""
