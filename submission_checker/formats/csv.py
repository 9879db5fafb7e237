"""``--format csv``: one finding a row (RFC 4180, with a header), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, TextIO

from mlpstorage.results.text import clean, no_old_command
from rules import Finding

from ..report import CheckReport, Waived, shown_place
from .shown import value_text

if TYPE_CHECKING:
    from . import Style

COLUMNS = (
    "severity", "outcome", "rule", "name", "clause", "division", "submitter", "system", "workload", "path", "item",
    "message", "remedy", "evidence", "holds_for", "leaves_undecided", "waived", "waived_until", "fingerprint",
)  # fmt: skip
_FORMULA = tuple("=+-@\t\r\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
                 "\N{FULLWIDTH COMMERCIAL AT}")  # fmt: skip
"""What makes a spreadsheet compute a cell instead of showing it."""


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """Every finding in report order; lists in a cell are separated by ``; ``."""
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for finding in report.findings:
        writer.writerow([harmless(cell) for cell in _row(finding, report.waiver_of(finding))])


def harmless(text: str) -> str:
    """A cell that a spreadsheet takes for text, with no control characters in it."""
    text = no_old_command(clean(text, 30_000))
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _row(finding: Finding, waived: Waived | None) -> list[str]:
    place = shown_place(finding.path)
    evidence = [f"{item.fact} = {value_text(item.value)} ({item.source})" for item in finding.evidence]
    return [
        finding.severity.value,
        finding.outcome,
        finding.rule,
        finding.name,
        finding.clause,
        finding.division,
        place.submitter,
        place.system,
        place.workload,
        finding.path,
        finding.item,
        finding.message,
        finding.remedy,
        "; ".join(evidence),
        "; ".join(finding.paths),
        "; ".join(finding.opens),
        waived.reason if waived else "",
        waived.until if waived else "",
        finding.fingerprint,
    ]
