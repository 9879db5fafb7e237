"""Evaluates an edition's rules on a subject and all that lies below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from .compiled import CompiledClause, CompiledRule
from .errors import EvaluationFault
from .facts.base import Absence, FactModel, Reason
from .judge import Judgement, judge, yielding
from .outcomes import (
    WORST_FIRST,
    Classification,
    Deferred,
    Evaluation,
    Evidence,
    Finding,
    OpenQuestion,
    Outcome,
    Severity,
    fingerprint,
)
from .subjects import Cells, Scope, walk
from .tables import Table

LAUNCH = "launch"
SUBMISSION = "submission"
NOT_GIVEN = "not given"
"""Cause id of the facts of subjects above the one that is judged, where they are not given."""

Results = list[tuple[CompiledClause, list[Judgement]]]


class Evaluator:
    """One evaluation of one subject; clauses are judged once, whichever divisions are asked for.

    ``above`` are the subjects that the root lies in, nearest first, where they are known.
    """

    def __init__(
        self,
        rules: Sequence[CompiledRule],
        tables: Mapping[str, Table],
        cells: Cells,
        root: FactModel,
        stage: str,
        above: tuple[FactModel, ...] = (),
    ) -> None:
        if stage not in (LAUNCH, SUBMISSION):
            raise ValueError(f"stage must be {LAUNCH!r} or {SUBMISSION!r}, not {stage!r}")
        missing = (
            Absence("later", Reason.LATER, detail="not looked at before the run")
            if stage == LAUNCH
            else Absence(NOT_GIVEN, Reason.MISSING_FILE, detail="not given")
        )
        self._scopes: dict[type[FactModel], list[Scope]] = {}
        for chain in walk(root, above):
            self._scopes.setdefault(type(chain[0]), []).append(Scope(chain, tables, cells, missing))
        self._rules = rules
        self._judged: dict[tuple[int, str, str], list[Judgement]] = {}
        self._faults: list[str] = []

    def classify(self) -> Classification:
        """Judge closed, then open. Warnings never decide."""
        closed, open_ = self.evaluate("closed"), self.evaluate("open")
        eligible, basis = "invalid", closed
        if not closed.violates:
            eligible, basis = "closed", closed
        elif not open_.violates:
            eligible, basis = "open", open_
        errors = {q.rule for q in basis.open_questions if q.severity is Severity.ERROR}
        return Classification(eligible, closed, open_, tuple(sorted(errors)))

    def evaluate(self, division: str) -> Evaluation:
        """Judge in one division."""
        findings: dict[str, Finding] = {}
        questions: list[OpenQuestion] = []
        deferred: dict[tuple[str, str], Deferred] = {}
        tally: dict[str, Counter[str]] = {}
        explained: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        by_path: dict[str, dict[str, Counter[str]]] = {}
        for rule in self._rules:
            counts: Counter[str] = Counter()
            for scope in (scope for model in rule.by_subject for scope in self._scopes.get(model, ())):
                results = self.results(rule, scope, division)
                outcomes = set()
                for clause, judgements in results:
                    for judgement in judgements:
                        note = judgement.outcome is Outcome.VIOLATION and clause.severity is Severity.INFO
                        outcomes.add(Outcome.PASS if note else judgement.outcome)
                        if judgement.outcome is Outcome.VIOLATION:
                            finding = _finding(rule, clause, judgement, scope, division)
                            owner = _merge(findings, numbers, finding)
                            explained.update(dict.fromkeys(judgement.explains, owner))
                        elif judgement.outcome is Outcome.UNDETERMINED:
                            later = _later(judgement)
                            if later:
                                deferred[rule.id, clause.key] = Deferred(
                                    rule.id, rule.rule.name, clause.key, later, clause.known
                                )
                            else:
                                questions.extend(_questions(rule, clause, judgement, division))
                worst = next(outcome for outcome in WORST_FIRST if outcome in outcomes).value
                counts[worst] += 1
                here = by_path.setdefault(scope.chain[0].path, {})
                if rule.id not in here:
                    here[rule.id] = Counter()
                here[rule.id][worst] += 1
            if counts:
                tally[rule.id] = counts
        return Evaluation(
            division,
            tuple(sorted(findings.values(), key=lambda finding: finding.sort_key)),
            tuple(questions),
            tuple(deferred.values()),
            tally,
            explained,
            tuple(self._faults),
            by_path,
        )

    def _judge(self, rule: CompiledRule, clause: CompiledClause, scope: Scope) -> list[Judgement]:
        """A rule that breaks is told apart from a subject that fails, and the other rules go on."""
        try:
            return judge(rule, clause, scope)
        except EvaluationFault as fault:
            self._faults.append(str(fault))
            return [Judgement(Outcome.UNDETERMINED, scope.chain[0])]

    def results(self, rule: CompiledRule, scope: Scope, division: str) -> Results:
        """The rule's clauses on one subject in one division, ``unless`` applied."""
        subject = scope.chain[0]
        results: Results = []
        for clause in rule.by_subject[type(subject)]:
            if division not in clause.divisions:
                results.append((clause, [Judgement(Outcome.NOT_APPLICABLE, subject)]))
                continue
            key = (id(scope), rule.id, clause.key)
            if key not in self._judged:
                self._judged[key] = self._judge(rule, clause, scope)
            results.append((clause, self._judged[key]))
        if not any(clause.clause.unless for clause, _ in results):
            return results
        yields = yielding(
            (clause, any(item.outcome is Outcome.VIOLATION for item in found)) for clause, found in results
        )
        return [
            (clause, [Judgement(Outcome.NOT_APPLICABLE, subject)] if clause.key in yields else found)
            for clause, found in results
        ]


def _finding(rule: CompiledRule, clause: CompiledClause, judgement: Judgement, scope: Scope, division: str) -> Finding:
    own = judgement.subject.path
    path = judgement.at or own
    if rule.fold and not judgement.at:
        path = next((owner.path for owner in scope.chain if owner.namespace == rule.fold), own)
    return Finding(
        rule=rule.id,
        name=rule.rule.name,
        clause=clause.key,
        severity=clause.severity,
        outcome="note" if clause.severity is Severity.INFO else Outcome.VIOLATION.value,
        division=division,
        path=path,
        paths=(own,),
        item=judgement.item,
        message=judgement.message,
        remedy=judgement.remedy,
        evidence=judgement.evidence,
        fingerprint=fingerprint(rule.id, clause.key, path, judgement.item),
    )


def _merge(findings: dict[str, Finding], numbers: Counter[str], finding: Finding) -> str:
    """Fold equal findings of several leaves into one that keeps their paths; gives its fingerprint.

    ``numbers`` counts the findings of one clause, place and item.
    """
    key = f"{finding.fingerprint}\0{finding.message}"
    known = findings.get(key)
    if known is None:
        siblings = numbers[finding.fingerprint]
        numbers[finding.fingerprint] += 1
        if siblings:  # the same clause and place, another message: a finding of its own, told apart by its number
            finding = finding.model_copy(update={"fingerprint": f"{finding.fingerprint}:{siblings + 1}"})
        findings[key] = finding
        return finding.fingerprint
    evidence: list[Evidence] = list(known.evidence)
    evidence.extend(item for item in finding.evidence if item not in evidence)
    findings[key] = known.model_copy(update={"paths": (*known.paths, *finding.paths), "evidence": tuple(evidence)})
    return known.fingerprint


def _later(judgement: Judgement) -> tuple[str, ...]:
    return tuple(sorted(name for name, absence in judgement.absent if absence.reason is Reason.LATER))


def _questions(rule: CompiledRule, clause: CompiledClause, judgement: Judgement, division: str) -> list[OpenQuestion]:
    return [
        OpenQuestion(
            absence, name, rule.id, rule.rule.name, clause.key, clause.severity, division, judgement.subject.path
        )
        for name, absence in judgement.absent
    ]
