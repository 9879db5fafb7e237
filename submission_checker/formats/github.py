"""``--format github``: workflow commands that GitHub shows as annotations.

A runner shows ten annotations of a level and drops the others without a word, so that more findings than that are
grouped by rule, and the last line says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from mlpstorage.results.text import clean, no_old_command
from rules import Finding

from ..report import SEVERITIES, CheckReport, shown_place
from .shown import count, file_of, title_of, totals

if TYPE_CHECKING:
    from . import Style

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
SHOWN = 10
"""Annotations of one level that GitHub shows for a step."""
_PATHS = 5


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """One command a finding, the worst first; findings that are waived are not annotated, only counted."""
    counting = [finding for finding in report.findings if report.waiver_of(finding) is None]
    for severity in SEVERITIES:
        found = [finding for finding in counting if finding.severity.value == severity]
        for finding, message in _grouped(found) if len(found) > SHOWN else _single(found):
            title = f"{finding.rule} {finding.name}"
            out.write(
                f"::{LEVELS[severity]} file={_property(file_of(finding))},title={_property(title)}::{_data(message)}\n"
            )
    for fault in report.faults:
        out.write(f"::error title=Fault of the checker::{_data(f'{fault.path}: {fault.message.splitlines()[0]}')}\n")
    for path in report.unreadable:
        out.write(f"::error title=Not checked::{_data(path)}\n")
    out.write(f"{clean(totals(report))}\n")


def _single(findings: list[Finding]) -> Iterator[tuple[Finding, str]]:
    for finding in findings:
        remedy = f"\n{finding.remedy}" if finding.remedy else ""
        yield finding, f"{title_of(shown_place(finding.path))}: {finding.message}{remedy}"


def _grouped(findings: list[Finding]) -> Iterator[tuple[Finding, str]]:
    rules: dict[str, list[Finding]] = {}
    for finding in findings:
        rules.setdefault(finding.rule, []).append(finding)
    for group in rules.values():
        first, *others = group
        lines = [f"{title_of(shown_place(first.path))}: {first.message}", first.remedy]
        if others:
            lines.append(f"and {count(len(others), 'more finding')} of this rule, at:")
            lines.extend(finding.path for finding in others[:_PATHS])
            lines.extend(["..."] if len(others) > _PATHS else [])
        yield first, "\n".join(line for line in lines if line)


def _data(text: str) -> str:
    """Text of a command: one line, in which nothing ends it."""
    lines = "%0A".join(no_old_command(clean(line)).replace("%", "%25") for line in text.split("\n"))
    return lines.replace("\r", "%0D")


def _property(text: str) -> str:
    """A property of a command, in which nothing ends the property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
