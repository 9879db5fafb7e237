"""``--format sarif``: SARIF 2.1.0 for code scanning and other tools that read results of analysers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

import rules
from rules import Finding, Outcome, Severity
from rules.compiled import CompiledRule

from ..report import CheckReport, rule_key
from ..rulings import STATEMENTS
from .shown import file_of, is_file, json_pieces, totals

if TYPE_CHECKING:
    from . import Style

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
TREE = "TREE"
"""Base of every URI: the results directory. Its own place is nobody's business and is not stated."""
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
MAX_RESULTS = 25_000
"""Results of one run that a code-scanning upload takes; with more it is refused as a whole."""
_TEXT = 1024
_KINDS = {Outcome.VIOLATION.value: "fail", Outcome.UNDETERMINED.value: "open", "note": "informational"}


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """One run. ASCII only, sorted: the same findings give the same bytes."""
    for piece in json_pieces(document(report), indent=1):
        out.write(piece)
    out.write("\n")


def document(report: CheckReport) -> dict[str, Any]:
    """The SARIF log as data."""
    from .. import __version__

    entries = {rule.id: rule for rule in rules.load_edition(report.edition).rules}
    names = {finding.rule: finding.name for finding in report.findings}
    named = sorted({finding.rule for finding in report.findings} | set(report.tally), key=rule_key)
    order = {rule: index for index, rule in enumerate(named)}
    seen: Counter[str] = Counter()
    kept = report.findings[:MAX_RESULTS]
    results = [_result(report, finding, order[finding.rule], seen) for finding in kept]
    directories = sorted({finding.path for finding in kept if finding.path and not is_file(finding.path)})
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "submission-checker",
                "semanticVersion": __version__,
                "rules": [_rule(entries[rule]) if rule in entries else _own_rule(rule, names[rule]) for rule in named],
            }
        },
        "automationDetails": {"id": f"submission-checker/{quote(report.edition)}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {TREE: {"description": {"text": "The results tree that was checked."}}},
        "invocations": [_invocation(report)],
        "results": results,
        "properties": {"edition": report.edition, "totals": totals(report)},
    }
    if directories:
        run["artifacts"] = [{"location": _location(path), "roles": ["directory"]} for path in directories]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def uri(path: str) -> str:
    """A path relative to the tree as a URI reference; directories end with a slash."""
    text = quote(path or ".", safe="/", errors="replace")
    return text if is_file(path) else f"{text.rstrip('/')}/"


def _location(path: str) -> dict[str, Any]:
    return {"uri": uri(path), "uriBaseId": TREE}


def _rule(compiled: CompiledRule) -> dict[str, Any]:
    entry = compiled.rule
    worst = min((clause.severity for clause in compiled.clauses), key=list(Severity).index)
    remedies = list(dict.fromkeys(clause.clause.remedy for clause in compiled.clauses if clause.clause.remedy))
    statement = " ".join(compiled.statement.split())
    help_text = "\n\n".join([statement, *filter(None, [entry.rationale.strip()]), *remedies])
    listed = "\n".join(f"- `{remedy}`" if "{" in remedy else f"- {remedy}" for remedy in remedies)
    markdown = "\n\n".join(filter(None, [f"**{entry.id} {entry.name}**", statement, entry.rationale.strip(), listed]))
    return {
        "id": entry.id,
        "name": entry.name,
        "shortDescription": {"text": _cut(statement.split(". ")[0].rstrip(".") + ".")},
        "fullDescription": {"text": _cut(statement)},
        "help": {"text": help_text, "markdown": markdown},
        "defaultConfiguration": {"level": LEVELS[worst.value]},
        "properties": {"tags": [entry.subject, *entry.divisions], "problem.severity": _problem(worst)},
    }


def _own_rule(rule: str, name: str) -> dict[str, Any]:
    """A rule of the checker itself, about the waivers that it was given."""
    text = {"text": STATEMENTS.get(rule, name)}
    return {"id": rule, "name": name, "shortDescription": text, "fullDescription": text, "help": text}


def _problem(severity: Severity) -> str:
    return "recommendation" if severity is Severity.INFO else severity.value


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 3]}..."


def _result(report: CheckReport, finding: Finding, index: int, seen: Counter[str]) -> dict[str, Any]:
    seen[finding.fingerprint] += 1
    kind = _KINDS[finding.outcome]
    paths = list(dict.fromkeys([file_of(finding), finding.path, *finding.paths]))[:100]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "kind": kind,
        # With any kind but "fail" the level must be "none" (3.27.10); the schema does not check that.
        "level": LEVELS[finding.severity.value] if kind == "fail" else "none",
        "message": {"text": f"{finding.message}\n{finding.remedy}" if finding.remedy else finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _location(path),
                    "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": name, "kind": "member"}
                    for name in dict.fromkeys(item.fact for item in finding.evidence)
                ],
            }
            for path in paths
        ],
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.fingerprint}:{seen[finding.fingerprint]}"},
        "properties": {
            "severity": finding.severity.value,
            "division": finding.division,
            "clause": finding.clause,
            "leavesUndecided": list(finding.opens),
            "evidence": [item.as_json() for item in finding.evidence],
        },
    }
    waived = report.waiver_of(finding)
    if waived is not None:
        until = {"properties": {"expires": waived.until}} if waived.until else {}
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": waived.reason, **until}]
    return result


def _invocation(report: CheckReport) -> dict[str, Any]:
    notes = [
        {"level": "error", "message": {"text": f"Fault of the checker at {fault.path}: {fault.message}"}}
        for fault in report.faults
    ]
    notes += [{"level": "error", "message": {"text": f"Not checked: {path}"}} for path in report.unreadable]
    if len(report.findings) > MAX_RESULTS:
        left_out = len(report.findings) - MAX_RESULTS
        text = f"{left_out} further results are left out: an upload takes {MAX_RESULTS}. --format json has all."
        notes.append({"level": "warning", "message": {"text": text}})
    found: dict[str, Any] = {"executionSuccessful": not report.faults}
    if notes:
        found["toolExecutionNotifications"] = notes
    return found
