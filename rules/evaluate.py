"""Evaluates an edition's rules on a subject and all that lies below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .compiled import CompiledClause, CompiledRule
from .entries import PARENT
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
from .recall import Recall, Recalls, Signature, signature
from .subjects import Cells, Scope, walk
from .tables import Table

LAUNCH = "launch"
SUBMISSION = "submission"
NOT_GIVEN = "not given"
"""Cause id of the facts of subjects above the one that is judged, where they are not given."""

Results = list[tuple[CompiledClause, list[Judgement]]]


class Evaluator:
    """One evaluation of one subject; clauses are judged once, whichever divisions are asked for.

    ``above`` are the subjects that the root lies in, nearest first, where they are known; ``recalls`` what the rules
    said of other subjects.
    """

    def __init__(
        self,
        rules: Sequence[CompiledRule],
        tables: Mapping[str, Table],
        cells: Cells,
        root: FactModel,
        stage: str,
        above: tuple[FactModel, ...] = (),
        recalls: Recalls | None = None,
    ) -> None:
        if stage not in (LAUNCH, SUBMISSION):
            raise ValueError(f"stage must be {LAUNCH!r} or {SUBMISSION!r}, not {stage!r}")
        missing = (
            Absence("later", Reason.LATER, detail="not looked at before the run")
            if stage == LAUNCH
            else Absence(NOT_GIVEN, Reason.MISSING_FILE, detail="not given")
        )
        self._scopes: dict[type[FactModel], list[Scope]] = {}
        signatures: dict[int, Signature] = {}
        for chain in walk(root, above):
            for subject in chain:
                if id(subject) not in signatures:
                    signatures[id(subject)] = signature(subject)
            of_chain = {type(subject): signatures[id(subject)] for subject in chain}
            scope = Scope(chain, tables, cells, missing, signatures=of_chain)
            self._scopes.setdefault(type(chain[0]), []).append(scope)
        self._rules = rules
        self._recalls = {} if recalls is None else recalls
        self._judged: dict[tuple[int, int], list[Judgement]] = {}
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
        said = _Said(division)
        outcomes: list[tuple[str, str, Outcome]] = []
        for rule in self._rules:
            for model in rule.by_subject:
                scopes = self._scopes.get(model)
                if scopes:
                    recall = self._recall(rule, model, scopes[0])
                    for scope in scopes:
                        outcomes.append((scope.chain[0].path, rule.id, self._outcome(rule, recall, scope, said)))
        return Evaluation(
            division,
            tuple(sorted(said.findings.values(), key=lambda finding: finding.sort_key)),
            tuple(said.questions),
            tuple(said.deferred.values()),
            said.explained,
            tuple(self._faults),
            tuple(outcomes),
        )

    def _recall(self, rule: CompiledRule, model: type[FactModel], scope: Scope) -> Recall:
        """What the rule said of such subjects; ``scope`` is one of them."""
        recall = self._recalls.get((rule.id, model))
        if recall is None:
            recall = self._recalls[rule.id, model] = Recall(rule.by_subject[model], scope)
        return recall

    def _outcome(self, rule: CompiledRule, recall: Recall, scope: Scope, said: _Said) -> Outcome:
        """What the rule says of one subject, remembered if that is all there is to say; the rest goes to ``said``."""
        key = recall.key(scope, said.division)
        outcome = recall.memory.get(key)
        if outcome is None:
            outcome, bare = said.add(rule, scope, self.results(rule, scope, said.division))
            if bare:
                recall.memory.keep(key, outcome)
        return outcome

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
            key = (id(scope), id(clause))
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


@dataclass(slots=True)
class _Said:
    """What the rules said so far in one division, apart from the bare outcomes."""

    division: str
    findings: dict[str, Finding] = field(default_factory=dict)
    questions: list[OpenQuestion] = field(default_factory=list)
    deferred: dict[tuple[str, str], Deferred] = field(default_factory=dict)
    explained: dict[str, str] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)

    def add(self, rule: CompiledRule, scope: Scope, results: Results) -> tuple[Outcome, bool]:
        """Add one rule's results on one subject; gives the worst, and whether there was nothing but outcomes to add."""
        outcomes, bare = set(), True
        for clause, judgements in results:
            for judgement in judgements:
                outcome = judgement.outcome
                if outcome is Outcome.VIOLATION:
                    bare = False
                    if clause.severity is Severity.INFO:
                        outcome = Outcome.PASS
                    finding = _finding(rule, clause, judgement, scope, self.division)
                    owner = _merge(self.findings, self.numbers, finding)
                    self.explained.update(dict.fromkeys(judgement.explains, owner))
                elif outcome is Outcome.UNDETERMINED:
                    bare = False
                    self._leave_open(rule, clause, judgement)
                outcomes.add(outcome)
        return next(outcome for outcome in WORST_FIRST if outcome in outcomes), bare

    def _leave_open(self, rule: CompiledRule, clause: CompiledClause, judgement: Judgement) -> None:
        later = _later(judgement)
        if later:
            waits = Deferred(rule.id, rule.rule.name, clause.key, later, clause.known)
            self.deferred[rule.id, clause.key] = waits
        else:
            self.questions.extend(_questions(rule, clause, judgement, self.division))


def _finding(rule: CompiledRule, clause: CompiledClause, judgement: Judgement, scope: Scope, division: str) -> Finding:
    own = judgement.subject.path
    path = judgement.at or own
    if rule.fold and not judgement.at:
        owners = scope.chain[1:] if rule.fold == PARENT else [o for o in scope.chain if o.namespace == rule.fold]
        path = owners[0].path if owners else own
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
            finding = replace(finding, fingerprint=f"{finding.fingerprint}:{siblings + 1}")
        findings[key] = finding
        return finding.fingerprint
    evidence: list[Evidence] = list(known.evidence)
    shown = {(item.fact, item.source) for item in evidence}
    evidence.extend(item for item in finding.evidence if (item.fact, item.source) not in shown)
    findings[key] = replace(known, paths=(*known.paths, *finding.paths), evidence=tuple(evidence))
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
