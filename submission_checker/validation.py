"""The validation report: is each submission ready, what was checked, what stands in the way, and what clears it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from typing import Any

import rules
from rules import Finding, Outcome

from .report import CheckReport, Place, place_of, rule_key


class Status(StrEnum):
    """What a submission is, by what was checked. Only the first is a success."""

    READY = "READY"
    UNDECIDED = "UNDECIDED"
    """Nothing stands in the way of what was checked, but not everything was."""
    NOT_READY = "NOT READY"


class State(StrEnum):
    """What a requirement is, at one place or over all; the worst of its subjects there."""

    VIOLATED = "violated"
    UNDECIDED = "undecided"
    WARNED = "warning"
    WAIVED = "waived"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"
    NOTHING = "nothing to judge"
    LEFT_OUT = "not selected"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One rule of the edition, and what became of it over all that was checked."""

    rule: str
    name: str
    statement: str
    severity: str
    state: State
    counts: Mapping[str, int]


@dataclass
class Unit:
    """A workload, a system or a submitter: its own findings, and what became of each requirement there."""

    place: Place
    judged: Callable[[Unit], dict[str, State]]
    """Makes the states."""
    findings: list[Finding] = field(default_factory=list)
    status: Status = Status.READY
    code: list[str] = field(default_factory=list)
    """Code images (or pools of them) with blockers that the results here rest on."""
    held_up_by: list[str] = field(default_factory=list)
    """What else has blockers that stand in the way here, too: code, or what lies above."""
    blockers: int = 0
    known_blockers: int = 0
    """Blockers that an earlier report has already and that are not shown."""
    warnings: int = 0
    not_checked: list[str] = field(default_factory=list)
    open_rules: list[str] = field(default_factory=list)
    """Rules with an error clause that could not be decided, and not because something was pruned on purpose."""

    @cached_property
    def states(self) -> dict[str, State]:
        """The state of each rule here. Not every format asks for them, and they are half the work of a report."""
        return self.judged(self)

    @property
    def kind(self) -> str:
        """What the place is."""
        if self.place.workload:
            return "workload"
        return "system" if self.place.system else "submitter" if self.place.submitter else "tree"

    @property
    def calm(self) -> bool:
        """There is nothing of its own to tell."""
        told = (self.blockers, self.known_blockers, self.code, self.warnings, self.not_checked, self.open_rules)
        return not any(told)

    @property
    def undecided(self) -> list[str]:
        """Ids of the rules that could not be decided in full here; one that is violated may be among them."""
        return sorted({*self.rules_in(State.UNDECIDED), *self.open_rules}, key=rule_key)

    def rules_in(self, *states: State) -> list[str]:
        """Ids of the rules in one of these states."""
        return [rule for rule, state in self.states.items() if state in states]


@dataclass
class Submission:
    """All that one submitter handed in for one division."""

    division: str
    submitter: str
    units: list[Unit] = field(default_factory=list)

    @cached_property
    def status(self) -> Status:
        """The worst of its parts."""
        return worst_status(unit.status for unit in self.units)

    @cached_property
    def states(self) -> dict[str, State]:
        """The worst state of each rule over all parts."""
        return _worst_states(unit.states for unit in self.units)

    @cached_property
    def numbers(self) -> Counter[str]:
        """Number of findings of each rule that count."""
        return Counter(finding.rule for unit in self.units for finding in unit.findings)

    @property
    def rows(self) -> list[Unit]:
        """The parts to list: every workload, and of what lies above them only what has something to tell."""
        busy = {unit.place.system for unit in self.workloads}
        return [
            unit
            for unit in self.units
            if unit.kind == "workload" or not unit.calm or (unit.kind == "system" and unit.place.system not in busy)
        ]

    @property
    def workloads(self) -> list[Unit]:
        """The parts that hold results."""
        return [unit for unit in self.units if unit.kind == "workload"]


@dataclass
class Validation:
    """The whole report, ready to be written down."""

    report: CheckReport
    status: Status
    submissions: list[Submission]
    rest: Unit
    """What belongs to no submitter."""
    blockers: list[Finding]
    prerequisites: list[Finding]
    """What is missing and leaves rules undecided."""
    not_checked: list[str]

    @property
    def units(self) -> list[Unit]:
        """Every place, those of a submitter together."""
        own = [self.rest] if self.rest.findings or self.rest.states else []
        return own + [unit for submission in self.submissions for unit in submission.units]

    @cached_property
    def requirements(self) -> list[Requirement]:
        """Every rule of the edition as the book numbers them, with its state over all."""
        return _requirements(self.report, [self.rest, *(unit for one in self.submissions for unit in one.units)])

    def clears(self, finding: Finding) -> str:
        """What has to be done about a finding."""
        return finding.remedy or "Correct what the evidence shows, or ask the reviewers for a ruling."


def worst_status(found: Iterable[Status]) -> Status:
    """The worst of several; UNDECIDED of nothing, for nothing was checked."""
    return max(found, key=list(Status).index, default=Status.UNDECIDED)


def validate(report: CheckReport) -> Validation:
    """Draw the conclusions of a report. A ruling takes a blocker away; nothing else does."""
    units = _units(report)
    rest = units.pop(Place())
    submissions: dict[tuple[str, str], Submission] = {}
    for place, unit in units.items():
        key = (place.division, place.submitter)
        submissions.setdefault(key, Submission(*key)).units.append(unit)
    judged = [rest, *units.values()] if units or rest.states else []
    not_checked = _not_checked(report)
    status = worst_status([unit.status for unit in judged] + ([Status.UNDECIDED] if not_checked else []))
    counting = [finding for finding in report.findings if report.waiver_of(finding) is None]
    return Validation(
        report,
        status,
        sorted(submissions.values(), key=lambda s: (-list(Status).index(s.status), s.division, s.submitter)),
        rest,
        [finding for finding in counting if finding.severity.value == "error"],
        [
            finding
            for finding in counting
            if finding.severity.value != "info" and (finding.opens or finding.outcome == Outcome.UNDETERMINED.value)
        ],
        not_checked,
    )


def _units(report: CheckReport) -> dict[Place, Unit]:
    """Every place that is spoken of, with what is known of it; the one without a submitter is always among them."""
    known = [(place_of(str(item["path"])), item) for item in (report.since.known if report.since else [])]
    gaps = _gaps(report)
    places = {Place(), *report.states, *report.open_rules, *(place_of(finding.path) for finding in report.findings)}
    places |= {place_of(path) for path, _ in gaps} | {place for place, _ in known}
    blocked = {f.path for f in report.findings if f.severity.value == "error" and report.waiver_of(f) is None}
    blocked |= {str(item["path"]) for _, item in known if _blocks(item)}
    resting = [(path, place) for path in sorted(blocked) for place in report.resting.get(path, ())]
    places |= {place for _, place in resting}
    judged = partial(_states, report, _weights(report))
    units = {place: Unit(place, judged) for place in sorted(places)}
    for finding in report.findings:
        units[place_of(finding.path)].findings.append(finding)
    for place, item in known:
        units[place].known_blockers += _blocks(item)
    for path, place in resting:
        units[place].code.append(path)
    for path, text in gaps:
        units[place_of(path)].not_checked.append(text)
    for place, ids in report.open_rules.items():
        units[place].open_rules = sorted(ids, key=rule_key)
    for unit in units.values():
        counting = [finding.severity.value for finding in unit.findings if report.waiver_of(finding) is None]
        unit.blockers, unit.warnings = counting.count("error"), counting.count("warning")
    for place, unit in units.items():
        _decide(report, unit, [units[above] for above in _above(place) if above in units])
    return units


def _blocks(item: Mapping[str, Any]) -> bool:
    """Whether a finding of an earlier report stands in the way."""
    return item["severity"] == "error" and not item.get("waived")


def _above(place: Place) -> list[Place]:
    """The system and the submitter of a place."""
    above = []
    if place.workload:
        above.append(Place(place.division, place.submitter, place.system))
    if place.system:
        above.append(Place(place.division, place.submitter))
    return above


_OF_OUTCOME: Mapping[Outcome | None, State] = {
    Outcome.VIOLATION: State.VIOLATED,
    Outcome.UNDETERMINED: State.UNDECIDED,
    Outcome.PASS: State.PASSED,
    Outcome.NOT_APPLICABLE: State.NOT_APPLICABLE,
    None: State.NOTHING,
}


Weights = Mapping[tuple[str, str, str], State]
"""Division, submitter and rule to what its violations there weigh."""


def _weights(report: CheckReport) -> Weights:
    """For violations that are counted at another place than the finding stands at, or that are known already."""
    found: dict[tuple[str, str, str], State] = {}
    order = list(State)

    def add(path: str, rule: str, state: State) -> None:
        place = place_of(path)
        key = (place.division, place.submitter, rule)
        found[key] = min(found.get(key, state), state, key=order.index)

    for finding in report.findings:
        if finding.outcome == Outcome.VIOLATION.value:
            add(finding.path, finding.rule, _weighed(report, [finding]))
    for item in report.since.known if report.since else []:
        counted = State.VIOLATED if item["severity"] == "error" else State.WARNED
        add(str(item["path"]), str(item["rule"]), State.WAIVED if item.get("waived") else counted)
    return found


def _states(report: CheckReport, weights: Weights, unit: Unit) -> dict[str, State]:
    """The state of each rule at a place: what the checks said, weighed by severity and rulings."""
    found: dict[str, State] = {}
    by_rule: dict[str, list[Finding]] = {}
    for finding in unit.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    outcomes = report.states.get(unit.place, {})
    for rule in sorted({*outcomes, *by_rule}, key=rule_key):
        state = _OF_OUTCOME[outcomes.get(rule)]
        mine = [f for f in by_rule.get(rule, []) if f.outcome == Outcome.VIOLATION.value]
        if mine:
            state = _weighed(report, mine)
        elif state is State.VIOLATED:
            state = weights.get((unit.place.division, unit.place.submitter, rule), state)
        elif state is State.NOTHING:
            undecided = [f for f in by_rule.get(rule, []) if f.outcome == Outcome.UNDETERMINED.value]
            state = State.UNDECIDED if undecided else State.PASSED
        found[rule] = state
    return found


def _weighed(report: CheckReport, violations: Sequence[Finding]) -> State:
    counting = [finding for finding in violations if report.waiver_of(finding) is None]
    if not counting:
        return State.WAIVED
    return State.VIOLATED if any(finding.severity.value == "error" for finding in counting) else State.WARNED


def _gaps(report: CheckReport) -> list[tuple[str, str]]:
    """Paths that were not checked, and how a report names each."""
    paths = [(path, path) for path in (*report.unjudged, *report.unreadable)]
    return paths + [(fault.path, f"{fault.path} (fault)") for fault in report.faults]


def _decide(report: CheckReport, unit: Unit, above: Sequence[Unit]) -> None:
    unit.held_up_by = unit.code + [
        f"its {other.kind}" for other in above if other.blockers or other.known_blockers or other.code
    ]
    if unit.blockers + unit.known_blockers or unit.held_up_by:
        unit.status = Status.NOT_READY
    elif report.left_out or report.partial or any(other.not_checked or other.open_rules for other in (unit, *above)):
        unit.status = Status.UNDECIDED


def _not_checked(report: CheckReport) -> list[str]:
    """What could not be checked, or was not asked for."""
    found = [f"{path}: it could not be listed" for path in report.unreadable]
    found += [f"{fault.path or 'a part of the tree'}: the checker failed there" for fault in report.faults]
    found += [f"{path}: results of this family are not judged yet" for path in report.unjudged]
    found += report.restrictions
    for place in sorted(report.open_rules):
        where = " > ".join(part for part in place if part) or "the tree"
        ids = ", ".join(sorted(report.open_rules[place], key=rule_key))
        found.append(f"{where}: what these error rules rest on is missing or cannot be used: {ids}")
    if not report.leaves:
        found.append("no run was judged")
    return found


def _worst_states(found: Iterable[Mapping[str, State]]) -> dict[str, State]:
    order = list(State)
    worst: dict[str, State] = {}
    for states in found:
        for rule, state in states.items():
            known = worst.get(rule, State.NOTHING)
            worst[rule] = state if order.index(state) < order.index(known) else known
    return {rule: worst[rule] for rule in sorted(worst, key=rule_key)}


def _requirements(report: CheckReport, units: Sequence[Unit]) -> list[Requirement]:
    """Every rule of the edition as the book numbers them, with its state over all."""
    states = _worst_states(unit.states for unit in units)
    left_out = set(report.left_out)
    found = []
    for compiled in sorted(rules.load_edition(report.edition).rules, key=lambda compiled: rule_key(compiled.id)):
        state = State.LEFT_OUT if compiled.id in left_out else states.get(compiled.id, State.NOTHING)
        counts = report.tally.get(compiled.id, Counter[str]())
        severity = min((clause.severity for clause in compiled.clauses), key=list(rules.Severity).index)
        found.append(
            Requirement(
                compiled.id,
                compiled.rule.name,
                " ".join(compiled.statement.split()),
                severity.value,
                state,
                {outcome.value: counts[outcome.value] for outcome in Outcome},
            )
        )
    return found
