"""Facts and totals as words, shared by the formats that people read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mlpstorage.results.layout import DIVISIONS
from mlpstorage.results.text import clean, hidden
from rules import Finding, Outcome

from ..report import CheckReport, Place

VALUE_LENGTH = 60
LIST_LENGTH = 4
_SAID = ": "
"""Stands between the place that a remark is on and what it says."""
_FILE = re.compile(r"\.(json|yaml|yml|log|txt|csv|pdf|md|py|npz|out|err)$", re.IGNORECASE)


def value_text(value: Any, length: int = VALUE_LENGTH, items: int = LIST_LENGTH) -> str:
    """The value of a fact on one line, without harmful characters, cut at ``length``."""
    if value is None:
        return "(not known)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return clean(f"{len(value)} items" if len(value) > items else ", ".join(map(str, value)), length)
    return clean(str(value), length)


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON in ASCII, in which no runner finds a command. Raises ValueError for what JSON does not have."""
    return hidden(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent))


def json_pieces(value: Any, indent: int | None = None) -> Iterator[str]:
    """The text of :func:`json_text` piece by piece, each text in one of them."""
    for piece in json.JSONEncoder(ensure_ascii=True, allow_nan=False, indent=indent).iterencode(value):
        yield hidden(piece)


def title_of(place: Place) -> str:
    """Division, submitter, system and workload, as far as they are known."""
    parts = (place.division, place.submitter, place.system, place.workload)
    return " > ".join(part for part in parts if part) or "(no submitter)"


def relative(path: str, base: str) -> str:
    """A path shortened by ``base``, where it lies below it."""
    return path.removeprefix(f"{base}/") or path


def is_file(path: str) -> bool:
    """Whether a path of a finding names a file, by its ending."""
    return _FILE.search(path) is not None


def file_of(finding: Finding) -> str:
    """The file that carries (or should carry) the fact, where the evidence names one; else the finding's own path."""
    if is_file(finding.path):
        return finding.path
    for item in finding.evidence:
        path = item.source.partition("#")[0].partition(": ")[0]
        if path.startswith((f"{finding.path}/", *(f"{division}/" for division in DIVISIONS))) and is_file(path):
            return path
    return finding.path


def sentence(text: str) -> str:
    """A text that another one may follow on the same line."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def count(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def folded(remarks: Sequence[str]) -> list[str]:
    """Remarks that say the same of several places as one, with their number and the first place."""
    kinds: dict[str, list[str]] = {}
    for remark in remarks:
        kinds.setdefault(remark.partition(_SAID)[2] or remark, []).append(remark)
    return [
        found[0] if len(found) == 1 else f"{len(found)} places, the first {found[0].partition(_SAID)[0]}: {said}"
        for said, found in kinds.items()
    ]


def totals(report: CheckReport, infos: str = "", undecided: str = "") -> str:
    """The one line that says what came out; ``infos`` and ``undecided`` are put behind their numbers."""
    counts, checks = report.severities, report.checks
    incomplete = "INCOMPLETE: " if report.faults or report.unreadable else ""
    waived = sum(report.waiver_of(finding) is not None for finding in report.findings)
    new = "" if report.since is None else "new: "
    return (
        f"{incomplete}{new}{count(counts['error'], 'error')}, {count(counts['warning'], 'warning')}, "
        f"{count(counts['info'], 'info')}{infos}{f', {waived} waived' if waived else ''}"
        f" in {count(report.leaves, 'run')}; "
        f"checks: {checks['pass']} passed, "
        f"{checks['violation']} violated{_folded(report)}, {checks['not_applicable']} not applicable, "
        f"{checks['undetermined']} undecided{undecided}; edition {report.edition}"
    )


def _folded(report: CheckReport) -> str:
    """That several violated checks are one finding, which holds for several leaves; nothing where none is folded."""
    found = sum(f.outcome == Outcome.VIOLATION.value and f.rule in report.tally for f in report.findings)
    folded = report.since is None and 0 < found < report.checks["violation"]
    return f" (folded into {count(found, 'finding')})" if folded else ""
