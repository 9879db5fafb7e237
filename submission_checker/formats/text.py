"""``--format text``: for a reviewer at a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from mlpstorage.results.text import clean, harmless, hung, no_command
from rules import Finding, Outcome

from ..report import WEIGHTY, CheckReport, Place, Waived, grouped
from ..validation import validate
from .shown import folded, relative, title_of, totals, value_text

if TYPE_CHECKING:
    from . import Style

_EVIDENCE_SHOWN = 8
_PATHS_SHOWN = 3
_REMARKS_SHOWN = 4
_ROWS_SHOWN = 15
_SUMMED_FROM = 10
"""Number of findings that takes a summary: fewer are seen at once."""


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """Findings by submitter and workload, the worst first; then how many by rule and submitter, and a line of totals.

    Infos are one line each, or only counted where they are not asked for.
    """
    for line in _lines(report, style):
        out.write(no_command(harmless(line)) + "\n")


def _lines(report: CheckReport, style: Style) -> Iterator[str]:
    if report.caution:
        yield from hung(f"Caution: edition {report.edition}: {report.caution}", style.width, "", "")
        yield ""
    for place, findings in grouped(report.findings):
        shown = [finding for finding in findings if finding.severity.value != "info" or style.verbose]
        if not shown:
            continue
        yield title_of(place)
        for finding in shown:
            waived = report.waiver_of(finding)
            if finding.severity.value == "info" and waived is None:
                yield from _info(finding, style.width)
            else:
                yield from _finding(finding, style, waived)
        yield ""
    yield from _since(report, style)
    remarks = folded(report.remarks)
    closing = [
        *(f"Not checked: {item}" for item in (*report.restrictions, *report.unreadable)),
        *(f"Fault of the checker at {fault.path}: {fault.message.splitlines()[0]}" for fault in report.faults),
        *(f"Remark: {item}" for item in (report.remarks if style.verbose else remarks[:_REMARKS_SHOWN])),
    ]
    if len(remarks) > _REMARKS_SHOWN and not style.verbose:
        closing.append(f"Remark: {len(remarks) - _REMARKS_SHOWN} more (--verbose shows them)")
    for item in closing:
        yield from hung(item, style.width, "")
    if closing:
        yield ""
    yield from _summary(report, style.width)
    hidden = bool(report.severities["info"]) and not style.verbose
    unseen = hidden and any(
        f.severity.value == "info" and (f.opens or f.outcome == Outcome.UNDETERMINED.value) for f in report.findings
    )
    yield totals(report, " (--verbose)" if hidden else "", " (--verbose lists them)" if unseen else "")


def _summary(report: CheckReport, width: int) -> Iterator[str]:
    """How many errors and warnings that count there are by rule and by submitter, and the status of each submitter."""
    validation = validate(report)
    counting = [f for f in report.findings if f.severity in WEIGHTY and report.waiver_of(f) is None]
    if len(counting) >= _SUMMED_FROM:
        rules: dict[str, list[int]] = {}
        for finding in counting:
            numbers = rules.setdefault(f"{finding.rule} {finding.name}", [0] * len(WEIGHTY))
            numbers[WEIGHTY.index(finding.severity)] += 1
        yield from _table("rule", list(rules.items()), width)
        submitters = [
            (
                f"{one.status:9}  {title_of(Place(one.division, one.submitter))}",
                [sum(unit.blockers for unit in one.units), sum(unit.warnings for unit in one.units)],
            )
            for one in validation.submissions
        ]
        yield from _table("submitter", submitters, width)
    yield f"Status: {validation.status}"


def _table(title: str, rows: list[tuple[str, list[int]]], width: int) -> Iterator[str]:
    """Numbers of errors and warnings, the most first; what is too much to be seen at once is added up."""
    rows = sorted(rows, key=lambda row: [-number for number in row[1]])
    more = rows[_ROWS_SHOWN:]
    if len(more) > 1:
        rest = [sum(numbers[index] for _, numbers in more) for index in range(len(WEIGHTY))]
        rows = [*rows[:_ROWS_SHOWN], (f"{len(more)} {title}s more", rest)]
    yield f"{'errors':>8}{'warnings':>10}  {title}"
    for name, (errors, warnings) in rows:
        line = f"{errors:>8}{warnings:>10}  {name}"
        yield line if len(line) <= width else f"{line[: width - 3]}..."
    yield ""


def _finding(finding: Finding, style: Style, waived: Waived | None) -> Iterator[str]:
    level = finding.severity.value
    yield f"  {level.upper() if waived is None else f'waived {level}'} {finding.rule} {finding.name}"
    yield f"    {finding.path}"
    if waived is not None:
        owner = f" ({waived.owner})" if waived.owner else ""
        end = f" until {waived.until}" if waived.until else ""
        yield from hung(f"waived{end}{owner}: {waived.reason}", style.width, "    ")
    yield from hung(finding.message, style.width, "    ", "")
    for item in finding.evidence[:_EVIDENCE_SHOWN]:
        value = value_text(item.value)
        yield f"      {item.fact} = {value}"
        if item.source:
            yield f"        {relative(item.source, finding.path)}"
    if len(finding.evidence) > _EVIDENCE_SHOWN:
        yield f"      ... {len(finding.evidence) - _EVIDENCE_SHOWN} more facts (--format json has all)"
    others = [path for path in finding.paths if path != finding.path]
    if others:
        more = f" and {len(others) - _PATHS_SHOWN} more" if len(others) > _PATHS_SHOWN else ""
        names = ", ".join(relative(path, finding.path) for path in others[:_PATHS_SHOWN])
        yield from hung(f"holds for: {names}{more}", style.width, "    ")
    if finding.opens:
        yield from hung(f"leaves undecided: {', '.join(finding.opens)}", style.width, "    ")
    if finding.remedy:
        yield from hung(f"remedy: {finding.remedy}", style.width, "    ")


def _since(report: CheckReport, style: Style) -> Iterator[str]:
    if report.since is None:
        return
    name = clean(report.since.report)
    yield f"Cleared since {name}: {len(report.since.cleared)}"
    yield from _earlier(report.since.cleared, style.width)
    unsettled = report.since.unsettled
    if unsettled:
        why = "for they were not looked at or cannot be decided"
        more = "" if style.verbose else " (--verbose lists them)"
        yield f"Neither found again nor cleared, {why}: {len(unsettled)}{more}"
        yield from _earlier(unsettled if style.verbose else [], style.width)
    yield f"Not shown, for they stood in {name} already: {len(report.since.known)}"
    yield ""


def _earlier(items: list[dict[str, Any]], width: int) -> Iterator[str]:
    """Findings of an earlier report, one line each."""
    for item in items:
        yield from hung(f"{item['severity']} {item['rule']} {item['path']}: {item['message']}", width, "  ")


def _info(finding: Finding, width: int) -> Iterator[str]:
    yield from hung(f"info {finding.rule}: {finding.message}", width, "  ")
    if finding.opens:
        yield from hung(f"leaves undecided: {', '.join(finding.opens)}", width, "    ")
