"""Reference and limit tables: the numbers and names of the rule book, as data.

*Reference* tables (architectures, templates, process counts) may be used by adapters and by derived arithmetic and are
the same in every edition. *Limits* (bounds, allowed values) are visible to predicates only and may differ by edition.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from . import strict_yaml
from .errors import RuleLoadError
from .invalid import problem_of

BOOK = Path(__file__).parent / "book"

CELL_TYPES: Mapping[str, Any] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list[int]": list[int],
    "list[str]": list[str],
}


@cache
def _adapter(cell_type: str) -> TypeAdapter[Any]:
    return TypeAdapter(CELL_TYPES[cell_type])


class Column(BaseModel):
    """Declaration of one column, or of one scalar of a limits table."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    type: Literal["int", "float", "str", "bool", "list[int]", "list[str]"]
    description: str
    unit: str = ""
    parameter: str = ""
    """DLIO key that a reference column states, if it states one."""
    applies: str = ""
    """CEL over a run's facts: the launches that a cell speaks of. Empty: all launches of its row."""
    value: Any = None
    """Limits without rows: the value, or a mapping from edition to value."""

    def convert(self, raw: Any) -> Any:
        """The cell's value by the column's type. Raises ValidationError."""
        return _adapter(self.type).validate_python(raw)


class Table(BaseModel):
    """One table. ``key`` names the facts that select a row; without rows the columns hold one value each."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    name: str
    kind: Literal["reference", "limits"]
    title: str
    key: list[str] = []
    columns: dict[str, Column]
    rows: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for row, cells in self.rows.items():
            if set(cells) != set(self.columns):
                wrong = sorted(set(cells) ^ set(self.columns))
                raise ValueError(f"row {row}: columns missing or unknown: {', '.join(wrong)}")
        if not self.rows:
            for name, column in self.columns.items():
                if column.value is None:
                    raise ValueError(f"{name} has no value")
        return self

    def cells(self, edition: str = "") -> dict[str, dict[str, Any]]:
        """Row to column to value, converted, for one edition. A table without rows has the row ''."""
        raw = self.rows or {"": {name: column.value for name, column in self.columns.items()}}
        return {
            row: {name: self.columns[name].convert(self._choose(cells[name], edition)) for name in self.columns}
            for row, cells in raw.items()
        }

    def _choose(self, cell: Any, edition: str) -> Any:
        if not isinstance(cell, dict):
            return cell
        if self.kind == "reference":
            raise ValueError(f"table {self.name}: a reference table does not differ by edition")
        if edition not in cell:
            raise ValueError(f"table {self.name}: no value for edition {edition!r}")
        return cell[edition]


def read_table(name: str) -> strict_yaml.Document:
    """The file ``rules/book/tables/<name>.yaml`` with its lines. Raises RuleLoadError."""
    return strict_yaml.load(BOOK / "tables" / f"{name}.yaml")


@cache
def load_table(name: str) -> Table:
    """The table in ``rules/book/tables/<name>.yaml``. Raises RuleLoadError."""
    document = read_table(name)
    try:
        return Table.model_validate(document.data)
    except ValidationError as error:
        location, problem = problem_of(error, document.data, Table)
        field = ".".join(map(str, location))
        raise RuleLoadError(
            f"{field + ': ' if field else ''}{problem}", document.path, document.line(location)
        ) from error


@cache
def reference_rows(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Rows of a reference table by key. Raises ValueError for a limits table: adapters must not read those."""
    table = load_table(name)
    if table.kind != "reference":
        raise ValueError(f"{name} holds limits: only predicates may read them")
    return table.cells()


def cell_text(value: Any) -> str:
    """The value of a cell as a reader expects it."""
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)
