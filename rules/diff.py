"""What differs between two editions: entries, and the launches whose verdict changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .compiled import CompiledClause, CompiledRule
from .edition import Edition
from .matrix import Cell, flipped


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One difference of an entry: ``what`` is statement, severity, require ...; empty text where a side lacks it."""

    rule: str
    clause: str
    what: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class EditionDiff:
    """Changed entries and flipped cells of the launch matrix."""

    old: str
    new: str
    entries: tuple[EntryChange, ...] = ()
    cells: tuple[tuple[Cell, Cell], ...] = field(default=())


def diff_editions(old: Edition, new: Edition) -> EditionDiff:
    """Compare two editions entry by entry, and their verdicts over the exhaustive launch table."""
    entries = tuple(_entries(old, new))
    return EditionDiff(old.id, new.id, entries, tuple(flipped(old, new)))


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
            ("when", left.clause.when, right.clause.when),
            ("judgement", _judgement(left), _judgement(right)),
            ("if_recorded", left.clause.if_recorded, right.clause.if_recorded),
            ("if_not_recorded", left.clause.if_not_recorded, right.clause.if_not_recorded),
        ):
            if was != now:
                yield EntryChange(before.id, key, what, was, now)


def _judgement(clause: CompiledClause) -> str:
    return f"present {clause.clause.present}" if clause.clause.present else f"require {clause.clause.require}"
