"""``--format jsonl``: one finding a line, written as soon as it is found; the last line is a summary object.

A file without that last line was cut. Each object says by its ``type`` what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import TextIOBase
from typing import TYPE_CHECKING, Any, TextIO

from rules import Finding

from ..report import FINDINGS, CheckReport, finding_json, frame_json
from .shown import json_text

if TYPE_CHECKING:
    from . import Style


class Stream:
    """Lines for a report that is still being made."""

    def __init__(self, out: TextIO | TextIOBase) -> None:
        self._out = out

    def found(self, findings: Iterable[Finding]) -> None:
        """Write findings that no ruling waives, and hand them on at once."""
        for finding in findings:
            self._line("finding", finding_json(finding))
        self._out.flush()

    def close(self, report: CheckReport) -> None:
        """Write the summary: all of the report but its findings."""
        self._line("summary", {key: value for key, value in frame_json(report).items() if key != FINDINGS})
        self._out.flush()

    def _line(self, kind: str, content: Mapping[str, Any]) -> None:
        self._out.write(json_text({"type": kind, **content}) + "\n")


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """The lines of a report that is complete, in report order."""
    stream = Stream(out)
    for finding in report.findings:
        stream._line("finding", finding_json(finding, report.waiver_of(finding)))
    stream.close(report)
