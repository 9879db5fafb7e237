"""What is new against an earlier report, and what was cleared since: for review rounds on a living tree."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from mlpstorage.results.text import clean
from rules import Finding, load_edition
from rules.outcomes import SEVERITY_ORDER

from .depth import deep_clauses
from .report import SCHEMA, CheckReport, Since, finding_json, place_of

_NEEDED = ("rule", "severity", "path", "message", "fingerprint")
_MAX_BYTES = 2**30
_DEPTH = {True: "with --deep", False: "without --deep"}


class EarlierReportError(ValueError):
    """The file is no report of this checker; the text says why."""


def read_report(path: str) -> dict[str, Any]:
    """An earlier report in the format of ``--format json``. Raises EarlierReportError."""
    try:
        if os.path.getsize(path) > _MAX_BYTES:
            raise EarlierReportError(f"--since {clean(path)}: it has more than {_MAX_BYTES} bytes")
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise EarlierReportError(f"--since {clean(path)}: {os.strerror(error.errno or 0)}") from None
    except (ValueError, RecursionError) as error:
        raise EarlierReportError(f"--since {clean(path)}: it is not JSON: {clean(str(error), 200)}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise EarlierReportError(f"--since {clean(path)}: it is no report with schema {SCHEMA} (--format json)")
    findings = data.get("findings")
    if not isinstance(findings, list) or not all(_usable(item) for item in findings):
        raise EarlierReportError(f"--since {clean(path)}: its findings lack one of: {', '.join(_NEEDED)}")
    return data


def apply_since(
    report: CheckReport, path: str, earlier: dict[str, Any], *, selected: Iterable[str], scope: Sequence[str] = (),
    submitters: Sequence[str] = (),
) -> None:  # fmt: skip
    """Keep what is new in the report, and list what was cleared.

    A finding is known by its fingerprint. It is new as well where it had been waived and is not now, or where it weighs
    more than before. Only what was looked at can have been cleared: ``selected`` rules, below ``scope``, of
    ``submitters`` (all if empty).
    What only a deep check decides is cleared by none but another one.
    """
    before: dict[str, dict[str, Any]] = {item["fingerprint"]: item for item in earlier["findings"]}
    now = {finding.fingerprint for finding in report.findings}
    rules_reported, start = set(selected), "/".join(scope)
    undecided = frozenset() if report.deep else deep_clauses(report.edition)
    since = Since(clean(os.path.basename(path)), clean(str(earlier.get("edition", ""))))
    since.cleared = [
        item
        for item in earlier["findings"]
        if item["fingerprint"] not in now
        and item["rule"] in rules_reported
        and (item["rule"], item.get("clause")) not in undecided
        and (not start or item["path"] == start or item["path"].startswith(f"{start}/"))
        and (not submitters or place_of(item["path"]).submitter in submitters)
    ]
    since.known = [
        finding_json(finding, report.waiver_of(finding))
        for finding in report.findings
        if not _is_new(report, finding, before.get(finding.fingerprint))
    ]
    report.findings = [f for f in report.findings if _is_new(report, f, before.get(f.fingerprint))]
    if since.edition != report.edition:
        report.remarks.append(
            f"{since.report} was made by edition {since.edition}, this report by {report.edition}: what differs may "
            "come from the rules"
        )
    elif earlier.get("edition_digest") not in (None, load_edition(report.edition).digest):
        report.remarks.append(
            f"the rules of edition {report.edition} are not those that made {since.report}: what differs may come "
            "from the rules"
        )
    if _was_deep(earlier) != report.deep:
        report.remarks.append(
            f"{since.report} was made {_DEPTH[_was_deep(earlier)]}, this report {_DEPTH[report.deep]}: "
            + (
                "what only that decides is new here"
                if report.deep
                else "what only that decides is not listed as cleared"
            )
        )
    report.since = since
    report.sort()


def _is_new(report: CheckReport, finding: Finding, before: dict[str, Any] | None) -> bool:
    if before is None:
        return True
    if report.waiver_of(finding) is not None:
        return False
    return bool(before.get("waived")) or SEVERITY_ORDER[finding.severity] < SEVERITY_ORDER[before["severity"]]


def _was_deep(earlier: dict[str, Any]) -> bool:
    filters = earlier.get("filters")
    return isinstance(filters, dict) and filters.get("deep") is True


def _usable(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and all(isinstance(item.get(key), str) for key in _NEEDED)
        and item["severity"] in SEVERITY_ORDER
    )
