"""``--format junit``: JUnit XML for build servers, within what the strict reading of that format allows.

A suite is a workload, system or submitter; a case is one rule there. A violated error is a failure, an undecided one an
error; warnings and infos pass with their text in the output. Skipped is what is waived, stood in an earlier report
already, does not apply, or is undecided without the weight of an error. A case without a word was decided, and passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import rules
from mlpstorage.results.text import harmless
from rules import Finding, Outcome

from ..report import CheckReport, Place, Waived, place_of, rule_key
from .shown import title_of, value_text

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from . import Style

_IDLE = "does not apply here"
_KNOWN = "violated, as in the earlier report already"
_ELSEWHERE = "violated; its finding stands at another place"
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have."""


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """One document; the text is the same whatever the locale."""
    from xml.etree import ElementTree as ET

    names = {rule.id: rule.rule.name for rule in rules.load_edition(report.edition).rules}
    found: dict[Place, dict[str, list[Finding]]] = {}
    known = {(place_of(item["path"]), item["rule"]) for item in (report.since.known if report.since else [])}
    for finding in report.findings:
        found.setdefault(place_of(finding.path), {}).setdefault(finding.rule, []).append(finding)
    root = ET.Element("testsuites")
    for place in sorted({*report.states, *report.open_rules, *found}):
        states, findings = report.states.get(place, {}), found.get(place, {})
        open_rules = report.open_rules.get(place, set())
        suite = ET.SubElement(root, "testsuite", name=legal(title_of(place)))
        for rule in sorted({*states, *findings, *open_rules}, key=rule_key):
            name = f"{rule} {names.get(rule, '')}".strip()
            case = ET.SubElement(suite, "testcase", name=legal(name), classname=legal(_dotted(place)))
            mine = findings.get(rule, [])
            causes = _causes(report, place, rule) if rule in open_rules else None
            _outcome(case, report, mine, states.get(rule), causes, known=(place, rule) in known)
        _count(suite)
    for fault in report.faults:
        suite = ET.SubElement(root, "testsuite", name="checker")
        case = ET.SubElement(suite, "testcase", name=legal(fault.path or "worker"), classname="checker")
        ET.SubElement(case, "error", type="fault", message=legal(fault.message.splitlines()[0]))
        _count(suite)
    for path in report.unreadable:
        suite = ET.SubElement(root, "testsuite", name="not checked")
        case = ET.SubElement(suite, "testcase", name=legal(path), classname="checker")
        ET.SubElement(case, "error", type="unreadable", message="this directory could not be listed")
        _count(suite)
    ET.indent(root)
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    out.write(ET.tostring(root, encoding="unicode") + "\n")


def legal(text: str) -> str:
    """``text`` with each character that XML cannot hold, or that does harm, replaced by U+FFFD."""
    return _ILLEGAL.sub("\ufffd", harmless(text))


def _outcome(
    case: ET.Element,
    report: CheckReport,
    findings: list[Finding],
    state: Outcome | None,
    causes: list[Finding] | None,
    *,
    known: bool,
) -> None:
    """What one rule is at one place, by its findings there, or by its state where it has none.

    ``causes`` is None but where an error could not be decided: then the findings that say why. ``known``: a finding of
    it stood in an earlier report already.
    """
    from xml.etree import ElementTree as ET

    counting = [finding for finding in findings if report.waiver_of(finding) is None]
    errors = [finding for finding in counting if finding.severity.value == "error"]
    rest = [finding for finding in findings if finding not in errors]
    waived = [ruling for ruling in map(report.waiver_of, findings or causes or ()) if ruling is not None]
    if errors:
        violated = any(finding.outcome == Outcome.VIOLATION.value for finding in errors)
        attributes = {"type": "error" if violated else "undecided", "message": legal(errors[0].message)}
        ET.SubElement(case, "failure" if violated else "error", attributes).text = legal(_texts(report, errors))
    elif waived and len(waived) == len(findings or causes or ()):
        ET.SubElement(case, "skipped", message=legal(_ruling(waived[0])))
    elif causes is not None:
        message = causes[0].message if causes else "what it rests on is missing or cannot be used"
        ET.SubElement(case, "error", type="undecided", message=legal(message)).text = legal(_texts(report, causes))
    elif state is Outcome.UNDETERMINED:
        ET.SubElement(case, "skipped", message="it could not be decided")
    elif state is not Outcome.PASS and not findings:
        idle = state is Outcome.NOT_APPLICABLE
        ET.SubElement(case, "skipped", message=_IDLE if idle else _KNOWN if known else _ELSEWHERE)
    if rest:
        ET.SubElement(case, "system-out").text = legal(_texts(report, rest))


def _causes(report: CheckReport, place: Place, rule: str) -> list[Finding]:
    """The findings, at a place or above or below it, that leave a rule undecided."""
    return [
        finding
        for finding in report.findings
        if (rule in finding.opens or (finding.rule == rule and finding.outcome == Outcome.UNDETERMINED.value))
        and all(one == other or not one or not other for one, other in zip(place, place_of(finding.path), strict=True))
    ]


def _texts(report: CheckReport, findings: Iterable[Finding]) -> str:
    return "\n\n".join(_text(report, finding) for finding in findings)


def _text(report: CheckReport, finding: Finding) -> str:
    waived = report.waiver_of(finding)
    lines = [f"{finding.severity.value}: {finding.message}", f"at {finding.path}"]
    lines += [f"holds for {path}" for path in finding.paths if path != finding.path]
    lines += [f"  {item.fact} = {value_text(item.value)} ({item.source})" for item in finding.evidence]
    lines += [f"leaves undecided: {', '.join(finding.opens)}"] if finding.opens else []
    lines += [f"remedy: {finding.remedy}"] if finding.remedy else []
    lines += [_ruling(waived)] if waived else []
    return "\n".join(lines)


def _dotted(place: Place) -> str:
    """A class name, in which only dots separate: build servers make a tree of it."""
    parts = (place.division, place.submitter, place.system, *place.workload.split("/"))
    return ".".join(part.replace(".", "_") for part in parts if part) or "tree"


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))


def _ruling(waived: Waived) -> str:
    return f"waived{f' until {waived.until}' if waived.until else ''}: {waived.reason}"
