"""What an evaluation gives: outcomes, findings with their evidence, and questions left open."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pydantic_core import to_jsonable_python

from .facts.base import Absence, Known, Reason


class Outcome(StrEnum):
    """Result of one clause, or of a rule (the worst of its clauses')."""

    PASS = "pass"  # noqa: S105 - an outcome
    VIOLATION = "violation"
    NOT_APPLICABLE = "not_applicable"
    UNDETERMINED = "undetermined"


WORST_FIRST = (Outcome.VIOLATION, Outcome.UNDETERMINED, Outcome.PASS, Outcome.NOT_APPLICABLE)


class Severity(StrEnum):
    """How much a violation weighs. Info is a note, never a violation."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


SEVERITY_ORDER: Mapping[str, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(slots=True)
class Evidence:
    """One fact that a finding rests on, its value, and where that was read."""

    fact: str
    value: Any
    source: str

    def as_json(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        return {"fact": self.fact, "value": to_jsonable_python(self.value), "source": self.source}


@dataclass(slots=True, kw_only=True)
class Finding:
    """One thing a reader of a report should know.

    ``outcome`` is violation, note (an info) or undetermined. ``path`` is relative to the results directory;
    ``paths`` lists the leaves that a folded finding holds for; ``opens`` the rules that it leaves undecided.
    """

    rule: str
    name: str
    clause: str
    severity: Severity
    outcome: str
    division: str
    path: str
    paths: tuple[str, ...] = ()
    item: str = ""
    message: str
    remedy: str
    evidence: tuple[Evidence, ...] = ()
    opens: tuple[str, ...] = ()
    fingerprint: str

    def as_json(self) -> dict[str, Any]:
        """Its fields as JSON has them, in order of declaration."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {
            "severity": self.severity.value,
            "paths": list(self.paths),
            "evidence": [item.as_json() for item in self.evidence],
            "opens": list(self.opens),
        }

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Worst first, then by place and rule: the order of every report."""
        return (SEVERITY_ORDER[self.severity], self.path, self.rule, self.clause, self.item, self.message)


@dataclass(frozen=True, slots=True)
class Deferred:
    """A clause that cannot be decided yet: the facts it waits for, and when they exist."""

    rule: str
    name: str
    clause: str
    facts: tuple[str, ...]
    known: Known


@dataclass(slots=True)
class OpenQuestion:
    """A clause that could not be decided because of one absence."""

    absence: Absence
    fact: str
    rule: str
    name: str
    clause: str
    severity: Severity
    division: str
    path: str


Tally = dict[str, Counter[str]]
"""Rule id to how often each outcome occurred."""


@dataclass(slots=True)
class Evaluation:
    """Everything that one evaluation of a subject (and what is below it) gave in one division."""

    division: str
    findings: tuple[Finding, ...]
    open_questions: tuple[OpenQuestion, ...]
    deferred: tuple[Deferred, ...]
    explained: Mapping[str, str]
    """Cause id to the fingerprint of the finding that owns it."""
    faults: tuple[str, ...] = ()
    """Defects of rules that were met, each with rule and clause; what they left unjudged counts as undetermined."""
    outcomes: tuple[tuple[str, str, Outcome], ...] = ()
    """Path of a subject, rule id and outcome, for each subject that a rule judged."""

    @property
    def tally(self) -> Tally:
        """How often each outcome occurred, one count a subject; counted anew each time."""
        found: Tally = {}
        count_outcomes(found, self.outcomes)
        return found

    @property
    def violates(self) -> bool:
        """Some error-severity clause is violated."""
        return any(f.outcome == Outcome.VIOLATION and f.severity is Severity.ERROR for f in self.findings)


@dataclass(frozen=True, slots=True)
class Classification:
    """What a run (or a workload with its leaves) is eligible for; undetermined error clauses travel with it."""

    eligible: str
    closed: Evaluation
    open: Evaluation
    undetermined: tuple[str, ...] = ()
    """Rules with an error clause that could not be decided in the division it is eligible for."""


@dataclass(slots=True)
class Report:
    """Findings of many evaluations in report order, and the totals."""

    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=dict)

    @property
    def checks(self) -> Counter[str]:
        """How often a rule on a subject passed, failed, did not apply, or could not be decided."""
        total: Counter[str] = Counter({outcome.value: 0 for outcome in Outcome})
        for counts in self.tally.values():
            total.update(counts)
        return total


def count_outcomes(tally: Tally, outcomes: Iterable[tuple[str, str, Outcome]]) -> None:
    """Count outcomes, as an evaluation has them."""
    for _, rule, outcome in outcomes:
        counts = tally.get(rule)
        if counts is None:
            counts = tally[rule] = Counter()
        counts[outcome] += 1


def add_tally(tally: Tally, more: Tally) -> None:
    """Add the counts of ``more``, which is used up."""
    for rule, counts in more.items():
        known = tally.setdefault(rule, counts)
        if known is not counts:
            for outcome, number in counts.items():
                known[outcome] += number


def fingerprint(*parts: str) -> str:
    """A stable identity: of rule, clause, path and item, never of the message."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


_QUIET_REASONS = frozenset({Reason.PLACEHOLDER, Reason.NOT_RECORDED, Reason.NOT_APPLICABLE, Reason.LATER})
_REMEDIES: Mapping[Reason, str] = {
    Reason.MISSING_FILE: "Supply the file; no rerun is needed if the run wrote it.",
    Reason.UNREADABLE: "Supply the file as the run wrote it.",
    Reason.KEY_ABSENT: "Restore the key as the run wrote it.",
    Reason.INVALID: "Restore the value as the run wrote it.",
    Reason.PLACEHOLDER: "None is needed: the file was pruned on purpose.",
    Reason.POINTER: "Supply the file itself: git lfs pull before the package is made.",
    Reason.NOT_RECORDED: "None is needed: that tool version could not record it.",
    Reason.NO_ROW: "Use one of the names that the table has.",
}


def conclude(evaluations: Iterable[Evaluation]) -> Report:
    """Bring evaluations together: a root cause is reported once, however many clauses and leaves it leaves open.

    Where a finding owns the cause, it lists the rules left open; otherwise one finding is made for each cause.
    """
    report = Report()
    explained: dict[str, str] = {}
    questions: dict[str, list[OpenQuestion]] = {}
    for evaluation in evaluations:
        report.findings.extend(evaluation.findings)
        explained.update(evaluation.explained)
        for question in evaluation.open_questions:
            questions.setdefault(question.absence.cause, []).append(question)
        count_outcomes(report.tally, evaluation.outcomes)
    opens: dict[str, set[str]] = {}
    for cause, asked in questions.items():
        if cause in explained:
            opens.setdefault(explained[cause], set()).update(question.rule for question in asked)
        else:
            report.findings.append(_cause_finding(cause, asked))
    report.findings = sorted(
        (
            replace(finding, opens=tuple(sorted(opens[finding.fingerprint] - {finding.rule})))
            if finding.fingerprint in opens
            else finding
            for finding in report.findings
        ),
        key=lambda finding: finding.sort_key,
    )
    return report


def _cause_finding(cause: str, asked: list[OpenQuestion]) -> Finding:
    first = min(asked, key=lambda q: (SEVERITY_ORDER[q.severity], q.rule, q.clause, q.path))
    absence = first.absence
    severity = Severity.INFO if absence.reason in _QUIET_REASONS else first.severity
    if absence.reason is Reason.POINTER:
        severity = Severity.WARNING
    rules = sorted({question.rule for question in asked})
    facts = sorted({question.fact for question in asked})
    place = absence.place or first.path
    why = absence.detail or absence.reason.value.replace("_", " ")
    return Finding(
        rule=first.rule,
        name=first.name,
        clause=first.clause,
        severity=severity,
        outcome=Outcome.UNDETERMINED.value,
        division=first.division,
        path=absence.path or first.path,
        paths=tuple(sorted({question.path for question in asked})),
        message=f"cannot be decided: {', '.join(facts)} not known ({place + ': ' if place else ''}{why})",
        remedy=_REMEDIES.get(absence.reason, "Supply what is missing."),
        opens=tuple(rule for rule in rules if rule != first.rule),
        # What no file states (a row that a table lacks) may be missing at several places.
        fingerprint=fingerprint("undetermined", cause, *(() if absence.path else (first.path,))),
    )
