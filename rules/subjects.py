"""How subjects nest, and how the name of a fact becomes a value.

A rule on a subject may read the subject's own facts, those of the subjects it lies in, the columns of the subjects
directly below it (``runs.num_processes``: a list), and the tables. The nesting follows from the fact models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from .compiler import SCALARS, Type, Variable, cel_type
from .facts.base import MODELS, Absence, FactModel, Reason, Record
from .tables import CELL_TYPES, Table

ITEM = "item"
BOOK_SOURCE = "rule book"
"""How the source of a table cell begins."""
_ITEM_PREFIX = f"{ITEM}."
ROWS = "rows"
"""``<table>.rows`` is the list of a keyed table's row names."""

_MOST_ROWS = 20
"""Row names that a message lists."""

Cells = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Table name to row to column to value, for one edition."""


def load_models(modules: Iterable[str]) -> None:
    """Import fact models by the name of their module under ``rules.facts``. Raises ImportError."""
    for name in modules:
        import_module(f"rules.facts.{name}")


def child_models(model: type[FactModel]) -> Mapping[str, type[FactModel]]:
    """The loaded models of the subjects directly below, by their plural."""
    return {child.plural: child for child in MODELS.values() if child.parent == model.subject}


@cache
def ancestors(model: type[FactModel]) -> tuple[type[FactModel], ...]:
    """The models that this one lies in, nearest first."""
    if not model.parent:
        return ()
    parent = MODELS[model.parent]
    return (parent, *ancestors(parent))


def variables(model: type[FactModel], item: type[Record] | None, tables: Sequence[Table]) -> dict[str, Variable]:
    """Every name that a clause on this subject (and on this kind of item) may read."""
    found: dict[str, Variable] = {}
    for owner in (model, *ancestors(model)):
        found.update(_variables_of(owner))
    for plural, child in child_models(model).items():
        for name, info in child.fact_infos().items():
            if info.type in SCALARS:
                found[f"{plural}.{name.partition('.')[2]}"] = Variable(Type.List(cel_type(info.type)))
    if item is not None:
        found.update(_variables_of(item))
    for table in tables:
        if table.key and row_key(table, model) is None:
            continue
        for column, declared in table.columns.items():
            found[f"{table.name}.{column}"] = Variable(cel_type(CELL_TYPES[declared.type]), (), declared.unit)
        if table.key:
            found[f"{table.name}.{ROWS}"] = Variable(Type.List(Type.STRING))
    return found


@cache
def _variables_of(model: type[FactModel] | type[Record]) -> Mapping[str, Variable]:
    """The facts of one model, or of an item, that an expression may read."""
    kinds = ((info, cel_type(info.type)) for info in model.fact_infos().values())
    return {info.name: Variable(kind, info.choices, info.unit) for info, kind in kinds if kind is not None}


def row_key(table: Table, model: type[FactModel]) -> str | None:
    """The fact that selects the table's row for a clause on this subject, nearest subject first."""
    for owner in (model, *ancestors(model)):
        for key in table.key:
            if key in owner.fact_infos():
                return key
    return None


@dataclass(slots=True)
class Scope:
    """Resolves names for one subject, and for one item where a clause judges items."""

    chain: tuple[FactModel, ...]
    """The subject, then what it lies in."""
    tables: Mapping[str, Table]
    cells: Cells
    missing: Absence
    """Stands for the facts of ancestors that were not given."""
    item: Record | None = None
    known: dict[str, Any] = field(default_factory=dict)
    """What was resolved before, apart from the item."""
    signatures: Mapping[type[FactModel], tuple[Any, ...]] = field(default_factory=dict)
    """Of the subjects of the chain, where many are judged: see :mod:`rules.recall`."""

    def of_item(self, item: Record) -> Scope:
        """The same scope for one item."""
        return Scope(self.chain, self.tables, self.cells, self.missing, item, self.known)

    def resolve(self, name: str) -> Any:
        """Value or Absence of a declared name."""
        if self.item is not None and name.startswith(_ITEM_PREFIX):
            return self.item.lookup(name)
        if name not in self.known:
            self.known[name] = self._resolve(name)
        return self.known[name]

    def _resolve(self, name: str) -> Any:
        root, _, rest = name.partition(".")
        for subject in self.chain:
            if subject.namespace == root:
                return getattr(subject, rest)
        if root in self.cells:
            return self._cell(root, rest)
        if root in child_models(type(self.chain[0])):
            return self._column(root, rest)
        return self.missing

    def _cell(self, table: str, column: str) -> Any:
        rows = self.cells[table]
        if not self.tables[table].key:
            return rows[""][column]
        if column == ROWS:
            return list(rows)
        key_name = row_key(self.tables[table], type(self.chain[0]))
        key = self.resolve(key_name) if key_name else self.missing
        if isinstance(key, Absence):
            return key
        if key not in rows:
            known = ", ".join(list(rows)[:_MOST_ROWS]) + (", ..." if len(rows) > _MOST_ROWS else "")
            at = self.source(key_name) if key_name else ""
            detail = (
                f"{self.tables[table].title} has no row {key!r} ({key_name}{at and f' at {at}'}); there are: {known}"
            )
            return Absence(f"row:{table}:{key}", Reason.NO_ROW, detail=detail)
        return rows[key][column]

    def _column(self, children: str, field: str) -> Any:
        values = [getattr(child, field) for child in self.chain[0].below if child.plural == children]
        return next((value for value in values if isinstance(value, Absence)), values)

    def source(self, name: str) -> str:
        """Where the value of a name comes from, as evidence prints it."""
        root = name.partition(".")[0]
        for subject in self.chain:
            if subject.namespace == root:
                return str(subject.source(name) or subject.path)
        if root in self.tables:
            return f"{BOOK_SOURCE}, {self.tables[root].title}"
        return self.chain[0].path


def walk(root: FactModel, above: tuple[FactModel, ...] = ()) -> Iterator[tuple[FactModel, ...]]:
    """Each subject below and including ``root`` as a chain: itself, then what it lies in."""
    chain = (root, *above)
    yield chain
    for child in root.below:
        yield from walk(child, chain)
