"""What a change of the rules does to a results tree: the runs whose verdict or findings differ between two editions.

The tree is read once, and both editions judge the same facts. ``mlpstorage rules diff A B --against RESULTS_DIR`` shows
the result; the two programs share no code but the rules, so this one prints JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import rules
from mlpstorage.results.text import clean
from rules import Edition, Finding
from rules.evaluate import SUBMISSION
from rules.facts import FactModel
from rules.facts.system import System
from rules.subjects import ancestors, walk

from .exits import UsageError
from .formats.shown import json_text
from .judging import Options, Part, evaluate
from .outputs import Sink
from .report import Fault, rule_key
from .scan import check
from .selection import split_list

SCHEMA = "mlpstorage-effect/1"
JUDGED, INCOMPLETE, FAULT = 0, 2, 3
"""Exit codes."""
PASS = "pass"  # noqa: S105 - a verdict
_COMPARED = ("severity", "outcome", "message", "opens")


@dataclass(slots=True)
class Effect:
    """What differs, gathered while a tree is read. ``runs`` are objects as JSON has them."""

    old: Edition
    new: Edition
    judged: int = 0
    """Workloads (or lone leaves) that both editions judged."""
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Old and new verdict to the number of workloads."""
    runs: list[dict[str, Any]] = field(default_factory=list)

    def judge(self, part: Part, subjects: Sequence[FactModel], division: str) -> None:
        """Judge subjects by both editions and keep what differs."""
        old, new = (self._findings(edition, part, subjects, division) for edition in (self.old, self.new))
        for unit in _units(subjects):
            before, after = old.pop(unit.path, []), new.pop(unit.path, [])
            eligible = self._eligible(unit)
            verdict = (_verdict(before), _verdict(after))
            self.judged += 1
            self.verdicts[verdict] += 1
            self._add("run", unit.path, [child.path for child in unit.facts.below], division, eligible, before, after)
        for path in sorted({*old, *new}):
            self._add("other", path, [], division, ("", ""), old.get(path, []), new.get(path, []))

    def _findings(
        self, edition: Edition, part: Part, subjects: Sequence[FactModel], division: str
    ) -> dict[str, list[Finding]]:
        """Findings by the path of the run that they concern; those of no run by their own."""
        evaluations = [evaluate(edition, facts, division) for facts in subjects]
        part.faults.extend(Fault(subjects[0].path, clean(text, 500)) for e in evaluations for text in e.faults)
        paths = sorted((unit.path for unit in _units(subjects)), key=len, reverse=True)
        found: dict[str, list[Finding]] = {}
        for finding in rules.conclude(evaluations).findings:
            place = next((p for p in paths if finding.path == p or finding.path.startswith(f"{p}/")), finding.path)
            found.setdefault(place, []).append(finding)
        return found

    def _eligible(self, unit: _Unit) -> tuple[str, str]:
        """What a run is eligible for by each edition."""
        old, new = (
            edition.evaluator(unit.facts, SUBMISSION, unit.above).classify().eligible
            for edition in (self.old, self.new)
        )
        return old, new

    def _add(
        self,
        kind: str,
        path: str,
        leaves: Sequence[str],
        division: str,
        eligible: tuple[str, str],
        before: Sequence[Finding],
        after: Sequence[Finding],
    ) -> None:
        changes = list(_changes(before, after))
        if not changes and eligible[0] == eligible[1]:
            return
        self.runs.append(
            {
                "kind": kind,
                "path": path,
                "leaves": list(leaves),
                "division": division,
                "verdict": {"old": _verdict(before), "new": _verdict(after)},
                "eligible": {"old": eligible[0], "new": eligible[1]},
                "findings": changes,
                "statements": [
                    self._statements(rule) for rule in sorted({item["rule"] for item in changes}, key=rule_key)
                ],
            }
        )

    def _statements(self, rule: str) -> dict[str, str]:
        old, new = (_statement(edition, rule) for edition in (self.old, self.new))
        return {"rule": rule, "old": old, "new": new}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A workload with its leaves, or a leaf by itself: what has a verdict."""

    facts: FactModel
    above: tuple[FactModel, ...]

    @property
    def path(self) -> str:
        return self.facts.path


def parser() -> argparse.ArgumentParser:
    """Options of ``submission-checker effect``."""
    made = argparse.ArgumentParser(
        prog="submission-checker effect",
        description="Print as JSON the runs of a tree that two editions judge differently (see mlpstorage rules diff).",
        epilog="exit: 0 all was judged; 2 it could not be; 3 a fault of the checker",
        allow_abbrev=False,
    )
    made.add_argument("old", metavar="EDITION")
    made.add_argument("new", metavar="EDITION")
    made.add_argument("results_dir", metavar="RESULTS_DIR")
    made.add_argument("--submitter", "--submitters", action="append", default=[], metavar="NAME")
    made.add_argument("--debug", action="store_true", help="show where the checker itself failed")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Print the effect. Gives the exit code. Raises NotCheckedError."""
    options = Options(submitters=tuple(split_list(arguments.submitter)), debug=arguments.debug)
    try:
        document = effect(arguments.results_dir, arguments.old, arguments.new, options)
    except rules.UnknownEditionError as error:
        raise UsageError(str(error)) from None
    with contextlib.closing(Sink(None)) as sink:
        sink.write(json_text(document, indent=2) + "\n")
    return FAULT if document["faults"] else INCOMPLETE if document["unreadable"] else JUDGED


def effect(path: str, old: str, new: str, options: Options) -> dict[str, Any]:
    """Evaluate a tree by two editions. Raises NothingToCheckError and UnknownEditionError."""
    gathered = Effect(rules.load_edition(old), rules.load_edition(new))
    report = check(path, replace(options, edition=new, judge=gathered.judge))
    gathered.runs.sort(key=lambda run: (run["kind"] != "run", run["path"]))
    return {
        "schema": SCHEMA,
        "old": old,
        "new": new,
        "results_dir": clean(os.fspath(path)),
        "judged": gathered.judged,
        "verdicts": [
            {"old": pair[0], "new": pair[1], "runs": count} for pair, count in sorted(gathered.verdicts.items())
        ],
        "differ": sum(run["kind"] == "run" for run in gathered.runs),
        "runs": gathered.runs,
        "unreadable": report.unreadable,
        "faults": [{"path": fault.path, "message": fault.message} for fault in report.faults],
    }


def _units(subjects: Iterable[FactModel]) -> Iterator[_Unit]:
    """Those subjects that claim a division and were measured; of nested ones the outermost."""
    for root in subjects:
        taken: list[FactModel] = []
        for chain in walk(root):
            if _is_measured(chain[0]) and not any(facts in taken for facts in chain[1:]):
                taken.append(chain[0])
                yield _Unit(chain[0], chain[1:])


def _is_measured(facts: FactModel) -> bool:
    lies_in = {owner.subject for owner in ancestors(type(facts))}
    return System.subject in lies_in and "division" in type(facts).model_fields


def _verdict(findings: Sequence[Finding]) -> str:
    severities = {finding.severity.value for finding in findings}
    return next((severity for severity in ("error", "warning") if severity in severities), PASS)


def _changes(before: Sequence[Finding], after: Sequence[Finding]) -> Iterator[dict[str, Any]]:
    """Findings that one side lacks or states differently."""
    old = {finding.fingerprint: finding for finding in before}
    new = {finding.fingerprint: finding for finding in after}
    for fingerprint in dict.fromkeys((*old, *new)):
        was, now = old.get(fingerprint), new.get(fingerprint)
        if was is not None and now is not None and all(getattr(was, k) == getattr(now, k) for k in _COMPARED):
            continue
        some = now or was
        if some is not None:
            yield {
                "rule": some.rule,
                "name": some.name,
                "clause": some.clause,
                "path": some.path,
                "paths": list(some.paths),
                "old": _said(was),
                "new": _said(now),
            }


def _said(finding: Finding | None) -> dict[str, str] | None:
    if finding is None:
        return None
    return {"severity": finding.severity.value, "message": finding.message, "remedy": finding.remedy}


def _statement(edition: Edition, rule: str) -> str:
    try:
        return edition.rule(rule).statement
    except rules.UnknownRuleError:
        return ""
