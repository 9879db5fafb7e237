"""``--format junit``: JUnit XML for build servers, within what the strict reading of that format allows.

A suite is a workload, system or submitter; a case is one rule there. A violated error is a failure, an undecided one an
error; warnings and infos pass with their text in the output; what is waived or does not apply is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import rules
from rules import Finding, Outcome

from ..report import CheckReport, Place, Waived, place_of, rule_key
from .shown import harmless, title_of, value_text

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

    from . import Style

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have."""


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """One document; the text is the same whatever the locale."""
    from xml.etree import ElementTree as ET

    names = {rule.id: rule.rule.name for rule in rules.load_edition(report.edition).rules}
    found: dict[Place, dict[str, list[Finding]]] = {}
    for finding in report.findings:
        found.setdefault(place_of(finding.path), {}).setdefault(finding.rule, []).append(finding)
    root = ET.Element("testsuites")
    for place in sorted({*report.states, *found}):
        states, findings = report.states.get(place, {}), found.get(place, {})
        suite = ET.SubElement(root, "testsuite", name=legal(title_of(place)))
        for rule in sorted({*states, *findings}, key=rule_key):
            name = f"{rule} {names.get(rule, '')}".strip()
            case = ET.SubElement(suite, "testcase", name=legal(name), classname=legal(_dotted(place)))
            _outcome(case, report, findings.get(rule, []), not_applicable=states.get(rule) is Outcome.NOT_APPLICABLE)
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


def _outcome(case: ET.Element, report: CheckReport, findings: list[Finding], *, not_applicable: bool) -> None:
    """What the findings of one rule at one place make of its case."""
    from xml.etree import ElementTree as ET

    counting = [finding for finding in findings if report.waiver_of(finding) is None]
    errors = [finding for finding in counting if finding.severity.value == "error"]
    rest = [finding for finding in findings if finding not in errors]
    if errors:
        violated = any(finding.outcome == Outcome.VIOLATION.value for finding in errors)
        attributes = {"type": "error" if violated else "undecided", "message": legal(errors[0].message)}
        ET.SubElement(case, "failure" if violated else "error", attributes).text = legal(_texts(report, errors))
    elif findings and not counting:
        waived = report.waiver_of(findings[0])
        why = _ruling(waived) if waived else "waived"
        ET.SubElement(case, "skipped", message=legal(why))
    elif not_applicable and not findings:
        ET.SubElement(case, "skipped", message="does not apply here")
    if rest:
        ET.SubElement(case, "system-out").text = legal(_texts(report, rest))


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
