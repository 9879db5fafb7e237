"""Judges one clause on one subject: pass, violation, not applicable or undetermined, with the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .compiled import CompiledClause, CompiledRule
from .compiler import Resolver, Unknown
from .errors import EvaluationFault
from .facts.base import Absence, FactModel, Reason, Record
from .memory import BARE, comparable
from .outcomes import Evidence, Outcome
from .subjects import ITEM, Scope

_VIOLATES_PRESENT = frozenset({Reason.KEY_ABSENT, Reason.INVALID, Reason.NOT_RECORDED, Reason.NOT_APPLICABLE})


@dataclass(slots=True)
class Judgement:
    """What one clause says of one subject, or of one item of it."""

    outcome: Outcome
    subject: FactModel
    item: str = ""
    at: str = ""
    message: str = ""
    remedy: str = ""
    evidence: tuple[Evidence, ...] = ()
    absent: tuple[tuple[str, Absence], ...] = ()
    explains: tuple[str, ...] = ()
    """Cause ids that a violation owns."""


def judge(rule: CompiledRule, clause: CompiledClause, scope: Scope, *, explain: bool = True) -> list[Judgement]:
    """All judgements of a clause: one, or, for a clause that judges items, one for each bare outcome that some item has
    and one for every item that leaves more to say.

    Without ``explain`` a violation comes without message, remedy and evidence. Raises EvaluationFault, with rule and
    clause, for a defect of the rule.
    """
    subject = scope.chain[0]
    try:
        guard = _guard(clause, scope)
        if guard is not None:
            return [guard]
        if not clause.clause.each:
            return [_judge_one(clause, scope, "", explain)]
        items = scope.resolve(clause.clause.each)
        if isinstance(items, Absence):
            return [Judgement(Outcome.UNDETERMINED, subject, absent=((clause.clause.each, items),))]
        if not items:
            return [Judgement(Outcome.NOT_APPLICABLE, subject)]
        return _judge_items(clause, scope, items, explain)
    except EvaluationFault as fault:
        raise EvaluationFault(f"rule {rule.id}, clause {clause.key}, {subject.path or 'launch'}: {fault}") from fault


def _judge_items(clause: CompiledClause, scope: Scope, items: Sequence[Record], explain: bool) -> list[Judgement]:
    shared = comparable(map(scope.resolve, clause.inputs))
    bare: dict[Outcome, None] = {}
    judgements = []
    for item in items:
        key = (shared, comparable([getattr(item, name) for name in clause.item_inputs]))
        outcome = clause.met.get(key)
        if outcome is None:
            judgement = _judge_one(clause, scope.of_item(item), _item_key(item), explain)
            outcome = judgement.outcome
            if outcome not in BARE:
                judgements.append(judgement)
                continue
            clause.met.keep(key, outcome)
        bare[outcome] = None
    return [*(Judgement(outcome, scope.chain[0]) for outcome in bare), *judgements]


def yielding(clauses: Iterable[tuple[CompiledClause, bool]]) -> frozenset[str]:
    """Keys of the clauses that yield to a sibling (``unless``), given which ones are violated by themselves.

    In the order of the entry: a clause that has yielded itself makes no other one yield.
    """
    fired: set[str] = set()
    yields: set[str] = set()
    for clause, violated in clauses:
        if fired.intersection(clause.clause.unless):
            yields.add(clause.key)
        elif violated:
            fired.add(clause.key)
    return frozenset(yields)


def _item_key(item: Any) -> str:
    return str(getattr(item, next(iter(type(item).model_fields))))


def _guard(clause: CompiledClause, scope: Scope) -> Judgement | None:
    """Whether ``if_recorded`` or ``if_not_recorded`` keeps the clause from applying."""
    for name, wanted in ((clause.clause.if_recorded, False), (clause.clause.if_not_recorded, True)):
        if not name:
            continue
        value = scope.resolve(name)
        not_recorded = isinstance(value, Absence) and value.reason is Reason.NOT_RECORDED
        if not_recorded != wanted:
            if isinstance(value, Absence) and wanted:
                return Judgement(Outcome.UNDETERMINED, scope.chain[0], absent=((name, value),))
            return Judgement(Outcome.NOT_APPLICABLE, scope.chain[0])
    return None


def _judge_one(clause: CompiledClause, scope: Scope, item: str, explain: bool) -> Judgement:
    subject = scope.chain[0]
    resolve = scope.resolve if not clause.let else _with_lets(clause, scope)
    if clause.when is not None:
        applies = clause.when.evaluate(resolve)
        if isinstance(applies, Unknown):
            return Judgement(Outcome.UNDETERMINED, subject, item, absent=applies.absent)
        if not applies:
            return Judgement(Outcome.NOT_APPLICABLE, subject, item)
    explains: tuple[str, ...] = ()
    if clause.require is None:
        value = scope.resolve(clause.clause.present)
        if not isinstance(value, Absence):
            return Judgement(Outcome.PASS, subject, item)
        if value.reason not in _VIOLATES_PRESENT:
            return Judgement(Outcome.UNDETERMINED, subject, item, absent=((clause.clause.present, value),))
        explains = (value.cause,)
    else:
        holds = clause.require.evaluate(resolve)
        if isinstance(holds, Unknown):
            return Judgement(Outcome.UNDETERMINED, subject, item, absent=holds.absent)
        if holds:
            return Judgement(Outcome.PASS, subject, item)
    if not explain:
        return Judgement(Outcome.VIOLATION, subject, item)
    for name in clause.clause.explained:
        owned = scope.resolve(name)
        explains += (
            (owned.cause,) if isinstance(owned, Absence) else tuple(owned if isinstance(owned, list) else [owned])
        )
    at = clause.at.evaluate(resolve) if clause.at is not None else ""
    return Judgement(
        Outcome.VIOLATION,
        subject,
        item,
        at="" if isinstance(at, Unknown) else at,
        message=clause.message.render(resolve),
        remedy=clause.remedy.render(resolve),
        evidence=_evidence(clause, scope),
        explains=explains,
    )


def _with_lets(clause: CompiledClause, scope: Scope) -> Resolver:
    """Knows the clause's own names, too."""
    lets: dict[str, Any] = {}

    def resolve(name: str) -> Any:
        return lets[name] if name in lets else scope.resolve(name)

    for name, expression in clause.let:
        lets[name] = expression.evaluate(resolve)
    return resolve


def _evidence(clause: CompiledClause, scope: Scope) -> tuple[Evidence, ...]:
    found = []
    for name in sorted({*clause.reads, *clause.message.reads} - {key for key, _ in clause.let}):
        value = scope.resolve(name) if name != clause.clause.each else None
        if value is None:
            continue
        if isinstance(value, Absence):
            reason = value.detail or value.reason.value.replace("_", " ")
            found.append(Evidence(fact=name, value=None, source=f"{value.place}: {reason}" if value.place else reason))
        else:
            origin = clause.clause.each if name.startswith(f"{ITEM}.") else name
            found.append(Evidence(fact=name, value=value, source=scope.source(origin)))
    return tuple(found)
