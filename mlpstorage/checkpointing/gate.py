"""Facts to a decision: may this run start in the division that it claims?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import rules
from rules.facts.checkpointing import CheckpointingWorkload

from ..results.layout import WHATIF
from .exits import UsageError
from .launch import remedy

if TYPE_CHECKING:
    from rules.outcomes import Deferred, Finding

SECTIONS = ("1", "4")
"""The sections of the book that gate a checkpointing run; the others need not be loaded for it."""
_SHOWN = {"rule", "name", "clause", "severity", "outcome", "item", "message", "remedy", "evidence", "opens"}
ELIGIBLE_FOR: Mapping[str, tuple[str, ...]] = {"closed": ("closed",), "open": ("closed", "open")}
"""Verdicts with which a run may start in a division; whatif needs none."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say about a planned run.

    ``verdict`` is what the run is eligible for ("closed", "open", "invalid"); ``forbidding`` the error findings that
    keep it from the division asked for; ``remarks`` warnings, notes and open questions (in whatif: of a CLOSED run);
    ``advice`` (whatif only) what a CLOSED run would be refused for; ``deferred`` the clauses that wait for facts of a
    later stage; ``faults`` rules that are broken: what they would have said is not known.
    """

    edition: str
    division: str
    verdict: str
    forbidding: tuple[Finding, ...]
    remarks: tuple[Finding, ...]
    advice: tuple[Finding, ...]
    deferred: tuple[Deferred, ...]
    faults: tuple[str, ...] = ()
    caution: str = ""
    """What the book says against judging by this edition."""

    @property
    def divisions(self) -> tuple[str, ...]:
        """The divisions that its verdict lets the run be submitted in."""
        return tuple(division for division, verdicts in ELIGIBLE_FOR.items() if self.verdict in verdicts)

    @property
    def allowed(self) -> bool:
        """The run may start. A broken rule lets nothing but whatif pass."""
        return self.division == WHATIF or (not self.faults and self.division in self.divisions)

    def document(self) -> dict[str, Any]:
        """The decision as plain JSON data, keys as in the command-line contract."""
        return {
            "edition": self.edition,
            "caution": self.caution,
            "division": self.division,
            "verdict": self.verdict,
            "violations": [_finding(item) for item in self.forbidding],
            "remarks": [_finding(item) for item in self.remarks],
            "advice": [_finding(item) for item in self.advice],
            "deferred": [
                {"rule": item.rule, "clause": item.clause, "facts": list(item.facts), "known": str(item.known)}
                for item in self.deferred
            ],
            "faults": list(self.faults),
        }


def load_edition(name: str, source: str = "--edition") -> rules.Edition:
    """The checkpointing rules of the edition asked for, or of the default one.

    Raises UsageError, which names the ``source`` of the name, for a name that does not exist.
    """
    try:
        return rules.load_edition(name or rules.DEFAULT_EDITION, sections=SECTIONS)
    except rules.UnknownEditionError as error:
        raise UsageError(f"{source}: {error}") from error


def decide(edition: rules.Edition, workload: CheckpointingWorkload, division: str) -> Decision:
    """Judge a planned workload by the launch-stage rules. Raises rules.RuleBookError where the book does not load."""
    verdict = edition.classify(workload, stage="launch")
    judged = verdict.open if division == "open" else verdict.closed
    violations: list[Finding] = []
    remarks: list[Finding] = []
    for finding in map(_with_remedy, rules.conclude([judged]).findings):
        forbids = finding.outcome == "violation" and finding.severity == "error"
        (violations if forbids else remarks).append(finding)
    whatif = division == WHATIF
    return Decision(
        edition=edition.id,
        division=division,
        verdict=str(verdict.eligible),
        forbidding=() if whatif else tuple(violations),
        remarks=tuple(remarks),
        advice=tuple(violations) if whatif else (),
        deferred=tuple(judged.deferred),
        faults=tuple(dict.fromkeys((*verdict.closed.faults, *verdict.open.faults))),
        caution=edition.info.caution,
    )


def _with_remedy(finding: Finding) -> Finding:
    """An open question with what cures it here: before a run there is no file that could be supplied."""
    if finding.outcome != "undetermined":
        return finding
    return replace(finding, remedy=remedy(finding.path) or finding.remedy)


def _finding(finding: Finding) -> dict[str, Any]:
    return {name: value for name, value in finding.as_json().items() if name in _SHOWN}
