"""The memory of one rule for one kind of subject: which of its facts decide, and what was said of them before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

from .compiled import CompiledClause
from .facts.base import Absence, FactModel
from .memory import LONGEST_LIST, Memory, comparable
from .outcomes import Outcome
from .subjects import Scope, ancestors, row_key

Signature = tuple[Any, ...]
"""The facts of one subject, in the order of its model, in a form that is equal only where every outcome is."""


def signature(subject: FactModel) -> Signature:
    """The signature of a subject. Takes time in proportion to the number of its facts."""
    return comparable(_all_facts(type(subject))(subject))


@cache
def _all_facts(model: type[FactModel]) -> Callable[[FactModel], Sequence[Any]]:
    return _getter(attrgetter, model.fact_fields())


def _getter(make: Callable[..., Callable[[Any], Any]], names: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Takes the named parts of something as a tuple."""
    if len(names) > 1:
        return make(*names)
    if not names:
        return lambda whole: ()
    one = make(names[0])
    return lambda whole: (one(whole),)


class Recall:
    """The memory of one rule for one kind of subject."""

    __slots__ = ("_columns", "_lists", "_parts", "memory")

    def __init__(self, clauses: Sequence[CompiledClause], scope: Scope) -> None:
        """``scope`` is any one of such a subject: it tells tables from facts."""
        model = type(scope.chain[0])
        names = {_what_decides(name, model, scope) for clause in clauses for name in clause.inputs} - {""}
        owners = (model, *ancestors(model))
        self._parts: list[tuple[type[FactModel], Callable[[Signature], tuple[Any, ...]]]] = []
        for owner in owners:
            fields = owner.fact_fields()
            mine = sorted(name.partition(".")[2] for name in names if name in owner.fact_infos())
            if mine:
                self._parts.append((owner, _getter(itemgetter, [fields.index(field) for field in mine])))
        of_subjects = {name for owner in owners for name in owner.fact_infos()}
        self._columns = sorted(names - of_subjects)
        """Names that are read off the subjects below."""
        items: dict[str, set[str]] = {}
        for clause in clauses:
            if clause.clause.each:
                items.setdefault(clause.clause.each, set()).update(clause.item_inputs)
        self._lists = [(name, _getter(attrgetter, sorted(fields))) for name, fields in sorted(items.items())]
        self.memory: Memory[Outcome] = Memory()

    def key(self, scope: Scope, division: str) -> tuple[Any, ...]:
        """All that decides the rule on this subject."""
        known = scope.signatures
        parts: list[Any] = [division]
        for owner, getter in self._parts:
            facts = known.get(owner)
            parts.append(comparable((scope.missing,)) if facts is None else getter(facts))
        if self._columns:
            parts.append(comparable(map(scope.resolve, self._columns)))
        for name, getter in self._lists:
            items = scope.resolve(name)
            if type(items) is Absence or len(items) > LONGEST_LIST:
                parts.append(comparable((items,)))
            else:
                parts.append(tuple([comparable(getter(item)) for item in items]))
        return tuple(parts)


Recalls = dict[tuple[str, type[FactModel]], Recall]
"""By rule id and kind of subject; of one edition."""


def _what_decides(name: str, model: type[FactModel], scope: Scope) -> str:
    """The fact, or column, that a name stands for: for a table's cell the fact that chooses the row, if any does."""
    table = scope.tables.get(name.partition(".")[0])
    if table is None:
        return name
    return (row_key(table, model) or "") if table.key else ""
