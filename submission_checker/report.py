"""What a check found, in the shape that every output format prints."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mlpstorage.results.images import IMAGE_PREFIX, POOL
from mlpstorage.results.layout import COMMAND, DIVISIONS, FAMILY_LEVELS
from mlpstorage.results.text import clean
from rules import Finding, Outcome, Report, load_edition
from rules.outcomes import WORST_FIRST, Tally

from .listing import RESULTS, SYSTEMS

if TYPE_CHECKING:
    from .validation import Submission

SCHEMA = "mlpstorage-check-report/1"
SUBMISSION_DEPTH = 2
"""Names that lead to a submission: the division and the submitter."""
SEVERITIES = ("error", "warning", "info")
"""Worst first."""
WEIGHTY = SEVERITIES[:2]
"""Those that can stand in the way."""


class Place(NamedTuple):
    """Whose result a path belongs to; parts that the path does not name are empty."""

    division: str = ""
    submitter: str = ""
    system: str = ""
    workload: str = ""


def place_of(path: str) -> Place:
    """Division, submitter, system and workload of a path relative to the results directory."""
    parts = path.split("/")
    if len(parts) < 2 or parts[0].lower() not in DIVISIONS:
        return Place()
    division, submitter, kind, rest = parts[0], parts[1], "".join(parts[2:3]).lower(), parts[3:]
    if kind == SYSTEMS and rest:
        return Place(division, submitter, rest[0].rpartition(".")[0] or rest[0])
    if kind == RESULTS:
        return Place(division, submitter, "".join(rest[:1]), "/".join(rest[1 : 1 + _workload_depth(rest[1:2])]))
    return Place(division, submitter)


def shown_place(path: str) -> Place:
    """As :func:`place_of`; what an organisation's own pool holds lies in no division and is that organisation's."""
    pool, _, name = path.partition("/")
    own = name.startswith(IMAGE_PREFIX) and pool != POOL and pool.lower() not in DIVISIONS
    return Place(submitter=pool) if own else place_of(path)


def _workload_depth(family: list[str]) -> int:
    """Number of names that make a workload: the family and its levels, without that of the command."""
    levels = FAMILY_LEVELS.get("".join(family), ())
    return 1 + sum(level != COMMAND for level in levels)


States = dict[Place, dict[str, Outcome]]
"""Place to rule id to the worst outcome on the subjects there."""


OpenRules = dict[Place, set[str]]
"""Place to the ids of rules with an error clause that could not be decided there, for what they rest on is gone."""


Resting = dict[str, set[Place]]
"""Path of a code image, or of a pool, to the places whose results rest on it."""


def note_outcomes(states: States, outcomes: Iterable[tuple[str, str, Outcome]]) -> None:
    """Note outcomes, each given with the path of its subject and the rule's id, at the place of that path."""
    places: dict[str, dict[str, Outcome]] = {}
    for path, rule, outcome in outcomes:
        known = places.get(path)
        if known is None:
            known = places[path] = states.setdefault(place_of(path), {})
        known[rule] = worse(known.get(rule, outcome), outcome)


def add_states(states: States, more: States) -> None:
    """Add what was judged elsewhere, place by place."""
    for place, outcomes in more.items():
        known = states.setdefault(place, {})
        for rule, outcome in outcomes.items():
            # One text for each rule, not one for each process and place that sent it.
            known[sys.intern(rule)] = worse(known.get(rule, outcome), outcome)


def worse(one: Outcome, other: Outcome) -> Outcome:
    """The worse of two outcomes."""
    return one if one is other or WORST_FIRST.index(one) < WORST_FIRST.index(other) else other


@dataclass(frozen=True, slots=True)
class Fault:
    """A defect of the checker: what it was looking at, and what went wrong."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Waived:
    """Why a finding does not count: the ruling's reason, how long it holds (a date or an edition; empty: for good), and
    its owner.
    """

    reason: str
    until: str
    owner: str = ""


@dataclass(slots=True)
class Since:
    """What changed against an earlier report. All lists hold findings as JSON has them.

    ``known``: what stood in the earlier report already and is therefore not among the findings. ``unsettled``: what
    stood there and is neither found again nor cleared, for this check did not look at it or could not decide it.
    """

    report: str
    edition: str
    cleared: list[dict[str, Any]] = field(default_factory=list)
    known: list[dict[str, Any]] = field(default_factory=list)
    unsettled: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class CheckReport:
    """The whole result of a check. ``findings`` are in report order: worst first, then by path and rule."""

    edition: str
    results_dir: str
    caution: str = ""
    """What a reader must know about the edition."""
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=dict)
    """Rule id to how often it passed, was violated, did not apply, could not be decided."""
    remarks: list[str] = field(default_factory=list)
    """What was passed over on purpose, and why."""
    unreadable: list[str] = field(default_factory=list)
    """Directories that could not be listed: what is in them was not checked."""
    faults: list[Fault] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    """Directories of results that no rules are there for yet."""
    unseen: list[str] = field(default_factory=list)
    """Paths of what was passed over: what could not be listed, links, special files, workloads that lost a part."""
    undecided: set[tuple[str, str, str]] = field(default_factory=set)
    """Rule, clause and subject's path of what could not be decided, where these are kept."""
    left_out: list[str] = field(default_factory=list)
    """Rules that the user did not select."""
    deep: bool = False
    """The files of every rank were read as well."""
    partial: bool = False
    """Less than a submission was looked at: a system, a workload or a leaf."""
    part: str = ""
    """The path of the part of the tree that was asked for; empty: all."""
    only: list[str] = field(default_factory=list)
    """The submitters that the user asked for; empty: all."""
    states: States = field(default_factory=dict)
    """What each rule said at each place."""
    open_rules: OpenRules = field(default_factory=dict)
    """What nobody can call ready, for the files that would decide it are missing or say nothing usable."""
    submitters: int = 0
    systems: int = 0
    leaves: int = 0
    resting: Resting = field(default_factory=dict)
    """Whose results an error in a pool of code images concerns."""
    waived: dict[tuple[str, str], Waived] = field(default_factory=dict)
    """Fingerprint and path of the findings that a ruling waives: they stay in ``findings`` and do not count."""
    since: Since | None = None
    """Set where only what is new is reported."""

    def waiver_of(self, finding: Finding) -> Waived | None:
        """The ruling that waives a finding, if there is one."""
        return self.waived.get((finding.fingerprint, finding.path))

    @property
    def restrictions(self) -> list[str]:
        """What the user did not ask for."""
        found = ["only a part of a submission was looked at"] if self.partial else []
        if self.left_out:
            found.append(f"rules of the edition that were not selected: {len(self.left_out)}")
        return found

    @property
    def checks(self) -> Counter[str]:
        """Totals over all rules."""
        return Report(tally=self.tally).checks

    @property
    def severities(self) -> Counter[str]:
        """Number of findings of each severity that no ruling waives."""
        return Counter(f.severity.value for f in self.findings if self.waiver_of(f) is None)

    def sort(self) -> None:
        """Bring everything into report order, however it was gathered."""
        self.findings.sort(key=lambda finding: finding.sort_key)
        self.tally = {rule: self.tally[rule] for rule in sorted(self.tally, key=rule_key)}
        self.remarks.sort()
        self.unreadable.sort()
        self.unjudged.sort()
        self.states = {
            place: {rule: self.states[place][rule] for rule in sorted(self.states[place], key=rule_key)}
            for place in sorted(self.states)
        }
        self.faults.sort(key=lambda fault: (fault.path, fault.message))


@lru_cache(1024)
def rule_key(rule: str) -> tuple[Any, ...]:
    """Sorts rule ids as the book numbers them: 4.3.2 before 4.3.10, numbers before letters."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in rule.split("."))


def as_json(report: CheckReport) -> dict[str, Any]:
    """The report as the contract of ``--format json`` has it."""
    found = [finding_json(finding, report.waiver_of(finding)) for finding in report.findings]
    return {key: found if key == FINDINGS else value for key, value in frame_json(report).items()}


FINDINGS = "findings"
"""The key of a report in JSON that holds most of it."""


def frame_json(report: CheckReport) -> dict[str, Any]:
    """All of the report but its findings; an empty list holds their place."""
    from . import __version__
    from .validation import validate

    counts, validation = report.severities, validate(report)
    since = {} if report.since is None else {"since": asdict(report.since)}
    more = ({"part": report.part} if report.part else {}) | ({"deep": True} if report.deep else {})
    return {
        "schema": SCHEMA,
        "tool": {"name": "submission-checker", "version": __version__},
        "edition": report.edition,
        "edition_digest": load_edition(report.edition).digest,
        "caution": report.caution,
        "results_dir": clean(report.results_dir),
        "filters": {"submitters": report.only, "rules_left_out": report.left_out, **more},
        "status": validation.status.value,
        "summary": {
            "errors": counts["error"],
            "warnings": counts["warning"],
            "infos": counts["info"],
            "waived": sum(report.waiver_of(finding) is not None for finding in report.findings),
            "checks": {outcome.value: report.checks[outcome.value] for outcome in Outcome},
            "submitters": report.submitters,
            "systems": report.systems,
            "leaves": report.leaves,
        },
        "submissions": [submission_json(submission) for submission in validation.submissions],
        "not_checked": validation.not_checked,
        FINDINGS: [],
        "rules": {
            rule: {outcome.value: counts[outcome.value] for outcome in Outcome} for rule, counts in report.tally.items()
        },
        "remarks": report.remarks,
        "unreadable": report.unreadable,
        "faults": [{"path": fault.path, "message": fault.message} for fault in report.faults],
        **since,
    }


def submission_json(submission: Submission) -> dict[str, Any]:
    """The status of one submitter's results, and of each workload in them."""
    return {
        "division": submission.division,
        "submitter": submission.submitter,
        "status": submission.status.value,
        "workloads": [
            {
                "system": unit.place.system,
                "workload": unit.place.workload,
                "status": unit.status.value,
                "blockers": unit.blockers,
                "warnings": unit.warnings,
            }
            for unit in submission.workloads
        ],
    }


def finding_json(finding: Finding, waived: Waived | None = None) -> dict[str, Any]:
    """One finding as the contract has it, with clause, outcome, item, further paths and rules left open."""
    place = shown_place(finding.path)
    return {
        "rule": finding.rule,
        "name": finding.name,
        "clause": finding.clause,
        "severity": finding.severity.value,
        "outcome": finding.outcome,
        "division": finding.division,
        "submitter": place.submitter,
        "system": place.system,
        "workload": place.workload,
        "path": finding.path,
        "paths": list(finding.paths),
        "item": finding.item,
        "message": finding.message,
        "remedy": finding.remedy,
        "evidence": [item.as_json() for item in finding.evidence],
        "opens": list(finding.opens),
        "fingerprint": finding.fingerprint,
        "waived": None if waived is None else {k: text for k, text in asdict(waived).items() if text or k == "until"},
    }


def grouped(findings: Iterable[Finding]) -> list[tuple[Place, list[Finding]]]:
    """Findings by place, all places of a submitter together; the worst submitter, division and place come first.

    Order within a place is kept. Infos weigh nothing: who does not see them could not tell the order otherwise.
    """
    groups: dict[Place, list[Finding]] = {}
    weights: dict[tuple[str, ...], list[int]] = {}
    for finding in findings:
        place = shown_place(finding.path)
        groups.setdefault(place, []).append(finding)
        for key in _levels(place):
            weight = weights.setdefault(key, [0] * len(WEIGHTY))
            if finding.severity in WEIGHTY:
                weight[WEIGHTY.index(finding.severity)] -= 1
    return sorted(groups.items(), key=lambda item: [(weights[key], key) for key in _levels(item[0])])


def _levels(place: Place) -> tuple[tuple[str, ...], ...]:
    """The submitter, the submission and the place itself."""
    return (place.submitter,), (place.submitter, place.division), place
