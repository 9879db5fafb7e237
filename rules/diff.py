"""What differs between two editions: entries, limits, and the launches whose verdict changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .compiled import CompiledClause, CompiledRule
from .edition import Edition
from .matrix import Cell, fixed_facts, flipped

ENUMERATED = "launches of checkpointing, by model, process count and declaration of a subset run"
"""What the cells of a difference enumerate."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One difference of an entry: ``what`` is statement, severity, require ...; empty text where a side lacks it."""

    rule: str
    clause: str
    what: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class LimitChange:
    """One cell of a table that differs. ``row`` is empty where a table has no rows."""

    limit: str
    """Table and column, as predicates name it."""
    row: str
    unit: str
    old: Any
    new: Any
    place: str
    """File and line of the new value."""
    rules: tuple[str, ...]
    """Ids of the rules that read it, in either edition."""


@dataclass(frozen=True, slots=True)
class EditionDiff:
    """Changed entries and limits, and flipped cells of the launch matrix."""

    old: str
    new: str
    entries: tuple[EntryChange, ...] = ()
    cells: tuple[tuple[Cell, Cell], ...] = field(default=())
    limits: tuple[LimitChange, ...] = ()
    fixed: dict[str, str] = field(default_factory=dict)
    """What is the same in all launches of ``cells``: a change that matters elsewhere only shows in no verdict."""


def diff_editions(old: Edition, new: Edition) -> EditionDiff:
    """Compare two editions entry by entry, and their verdicts over the exhaustive launch table."""
    was, now = fixed_facts(old), fixed_facts(new)
    fixed = {name: value if was[name] == value else f"{was[name]} -> {value}" for name, value in now.items()}
    return EditionDiff(
        old.id, new.id, tuple(_entries(old, new)), tuple(flipped(old, new)), tuple(_limits(old, new)), fixed
    )


def _limits(old: Edition, new: Edition) -> Iterator[LimitChange]:
    for table in new.tables.values():
        before, after = old.cells.get(table.name, {}), new.cells[table.name]
        for row, column in ((row, column) for row in after for column in table.columns):
            was, now = before.get(row, {}).get(column), after[row][column]
            if was != now:
                name, unit = f"{table.name}.{column}", table.columns[column].unit
                place = new.cell_place(table.name, column, row)
                yield LimitChange(name, row, unit, was, now, place, _readers(name, old, new))


def _readers(name: str, *editions: Edition) -> tuple[str, ...]:
    found = (r.id for edition in editions for r in edition.rules if any(name in clause.reads for clause in r.clauses))
    return tuple(dict.fromkeys(found))


def _entries(old: Edition, new: Edition) -> Iterator[EntryChange]:
    theirs = {rule.id: rule for rule in old.rules}
    ours = {rule.id: rule for rule in new.rules}
    for rule_id in sorted({*theirs, *ours}):
        before, after = theirs.get(rule_id), ours.get(rule_id)
        if before is None or after is None:
            present = after or before
            name = present.rule.name if present else ""
            yield EntryChange(rule_id, "", "rule", name if before else "", name if after else "")
            continue
        if before.statement != after.statement:
            yield EntryChange(rule_id, "", "statement", before.statement, after.statement)
        yield from _clauses(before, after)


def _clauses(before: CompiledRule, after: CompiledRule) -> Iterator[EntryChange]:
    old = {clause.key: clause for clause in before.clauses}
    new = {clause.key: clause for clause in after.clauses}
    for key in dict.fromkeys((*old, *new)):
        left, right = old.get(key), new.get(key)
        if left is None or right is None:
            yield EntryChange(
                before.id, key, "clause", _judgement(left) if left else "", _judgement(right) if right else ""
            )
            continue
        for what, was, now in (
            ("severity", left.severity.value, right.severity.value),
            ("divisions", ", ".join(left.divisions), ", ".join(right.divisions)),
            ("let", _named(left), _named(right)),
            ("when", left.clause.when, right.clause.when),
            ("judgement", _judgement(left), _judgement(right)),
            ("if_recorded", left.clause.if_recorded, right.clause.if_recorded),
            ("if_not_recorded", left.clause.if_not_recorded, right.clause.if_not_recorded),
            ("unless", ", ".join(left.clause.unless), ", ".join(right.clause.unless)),
        ):
            if was != now:
                yield EntryChange(before.id, key, what, was, now)


def _named(clause: CompiledClause) -> str:
    return "; ".join(f"{name} = {text}" for name, text in clause.clause.let.items())


def _judgement(clause: CompiledClause) -> str:
    return f"present {clause.clause.present}" if clause.clause.present else f"require {clause.clause.require}"
