"""``--format json``: the whole report as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from ..report import FINDINGS, CheckReport, finding_json, frame_json
from .shown import json_text

if TYPE_CHECKING:
    from . import Style


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """ASCII only, keys in the order of the contract, each finding on a line of its own, a newline at the end.

    The findings, most of a report, are written one at a time: they are never all in memory a second time.
    """
    before = "{"
    for key, value in frame_json(report).items():
        out.write(f"{before}\n  {json_text(key)}: ")
        before = ","
        if key == FINDINGS and report.findings:
            _write_findings(report, out)
        else:
            out.write(json_text(value, indent=2).replace("\n", "\n  "))
    out.write("\n}\n")


def _write_findings(report: CheckReport, out: TextIO) -> None:
    before = "["
    for finding in report.findings:
        out.write(f"{before}\n    {json_text(finding_json(finding, report.waiver_of(finding)))}")
        before = ","
    out.write("\n  ]")
