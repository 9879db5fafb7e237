"""Reference and limit tables: the numbers and names of the rule book, as data.

*Reference* tables (architectures, templates, process counts) may be used by adapters and by derived arithmetic and are
the same in every edition. *Limits* (bounds, allowed values) are visible to predicates only and may differ by edition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from . import strict_yaml
from .checked import is_checked
from .errors import RuleLoadError
from .invalid import Location, Misplaced, in_words, near
from .loading import BOOK, edition_ids, load_model

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
    choices: list[str] = []
    """What a text may be; empty: any."""
    value: Any = None
    """Limits without rows: the value, or a mapping from edition to value."""

    def convert(self, raw: Any) -> Any:
        """The cell's value by the column's type. Raises ValidationError."""
        return _adapter(self.type).validate_python(raw)

    def check(self, raw: Any, place: Location) -> None:
        """A value fits the column. Raises Misplaced, with ``place`` and, of a list, the number of the item."""
        try:
            value = self.convert(raw)
        except ValidationError as error:
            first = error.errors()[0]
            raise Misplaced(in_words(first), *place, *first["loc"]) from error
        if self.choices and value not in self.choices:
            raise Misplaced(f"must be one of {', '.join(self.choices)}, not {value!r}", *place)


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
            for name in cells:
                if name not in self.columns:
                    raise Misplaced(f"no such column{near(name, self.columns)}", "rows", row, name)
            missing = [name for name in self.columns if name not in cells]
            if missing:
                raise Misplaced(f"columns are missing: {', '.join(missing)}", "rows", row)
        if not self.rows:
            for name, column in self.columns.items():
                if column.value is None:
                    raise Misplaced("'value' is missing", "columns", name)
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
    table, document = load_model(BOOK / "tables" / f"{name}.yaml", Table)
    if not is_checked():
        check_cells(table, document)
    return table


def check_cells(table: Table, document: strict_yaml.Document) -> None:
    """Every cell has a value in every edition, and it fits its column. Raises RuleLoadError."""
    for column, place, raw in _values(table):
        try:
            for at, value in _by_edition(table, raw):
                column.check(value, at)
        except Misplaced as error:
            where = (*place, *error.where)
            raise RuleLoadError(f"{'.'.join(map(str, where))}: {error}", document.path, document.line(where)) from error


def _values(table: Table) -> Iterator[tuple[Column, Location, Any]]:
    """Each cell as it is written: its column, its place in the file, its value or values."""
    for name, column in table.columns.items():
        if not table.rows:
            yield column, ("columns", name, "value"), column.value
        for row, cells in table.rows.items():
            yield column, ("rows", row, name), cells[name]


def _by_edition(table: Table, raw: Any) -> Iterator[tuple[Location, Any]]:
    """The values of a cell, each with its place in the cell. Raises Misplaced."""
    if not isinstance(raw, dict):
        yield (), raw
        return
    if table.kind == "reference":
        raise Misplaced("a reference table does not differ by edition: give one value")
    for edition in raw:
        if edition not in edition_ids():
            raise Misplaced(f"no such edition{near(edition, edition_ids())}", edition)
    for edition in edition_ids():
        if edition not in raw:
            raise Misplaced(f"no value for edition {edition!r}")
        yield (edition,), raw[edition]


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
