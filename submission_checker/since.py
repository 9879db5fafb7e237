"""What is new against an earlier report, and what was cleared since: for review rounds on a living tree."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from mlpstorage.results.text import clean
from rules import Finding, Outcome, load_edition
from rules.outcomes import SEVERITY_ORDER

from .depth import deep_clauses
from .exits import NotCheckedError
from .report import SCHEMA, CheckReport, Since, finding_json, place_of

_NEEDED = ("rule", "severity", "path", "message", "fingerprint")
_OPTIONAL = ("clause", "submitter", "outcome")
_MAX_BYTES = 2**30
_DEPTH = {True: "with --deep", False: "without --deep"}


class EarlierReportError(NotCheckedError):
    """The file is no report of this checker; the text says why."""


def read_report(path: str) -> dict[str, Any]:
    """An earlier report in the format of ``--format json``. Raises EarlierReportError."""
    try:
        if os.path.getsize(path) > _MAX_BYTES:
            raise EarlierReportError(f"--since {clean(path)}: it has more than {_MAX_BYTES} bytes")
        with open(path, encoding="utf-8") as file:
            data = json.load(file, parse_constant=_finite, parse_float=_finite)
    except OSError as error:
        raise EarlierReportError(f"--since {clean(path)}: {os.strerror(error.errno or 0)}") from None
    except (ValueError, RecursionError) as error:
        raise EarlierReportError(f"--since {clean(path)}: it is not JSON: {clean(str(error), 200)}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise EarlierReportError(f"--since {clean(path)}: it is no report with schema {SCHEMA} (--format json)")
    for key, found in (("findings", data.get("findings")), *_carried(data)):
        if not isinstance(found, list) or not all(_usable(item) for item in found):
            raise EarlierReportError(
                f"--since {clean(path)}: {key} is no list of findings, each with the texts {', '.join(_NEEDED)}"
            )
    return data


def apply_since(
    report: CheckReport, path: str, earlier: dict[str, Any], *, selected: Collection[str], scope: Sequence[str] = (),
    submitters: Sequence[str] = (),
) -> None:  # fmt: skip
    """Keep what is new in the report, and list what was cleared.

    A finding is known by its fingerprint and the leaves that it holds for. It is new as well where it had been waived
    and is not now, or where it weighs more than before. Only what was looked at and could be decided can have been
    cleared: ``selected`` rules, below ``scope``, of ``submitters`` (all if empty). What only a deep check decides is
    cleared by none but another one.
    """
    before = _Before([*earlier["findings"], *(item for _, found in _carried(earlier) for item in found)])
    since = Since(clean(os.path.basename(path)), clean(str(earlier.get("edition", ""))))
    new = before.news(report)
    since.known = [finding_json(f, report.waiver_of(f)) for f in report.findings if id(f) not in new]
    report.findings = [f for f in report.findings if id(f) in new]
    start = "/".join(scope)
    undecided = frozenset() if report.deep else deep_clauses(report.edition)
    for item in before.gone():
        settled = (
            item["rule"] in selected
            and (item["rule"], item.get("clause")) not in undecided
            and (not start or _lies_in(item["path"], start))
            and (not submitters or place_of(item["path"]).submitter in submitters)
            and _was_decided(report, item)
        )
        (since.cleared if settled else since.unsettled).append(item)
    report.remarks.extend(_remarks(report, since, earlier, selected))
    report.since = since
    report.sort()


class _Before:
    """The findings of an earlier report, by what they are and each leaf that they hold for.

    Several findings of one clause at one place differ by their wording alone, and their fingerprints by a number: they
    are counted, and of those that are alike the one with the same wording is meant.
    """

    def __init__(self, items: Sequence[dict[str, Any]]) -> None:
        self._items = items
        self._left: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._met: set[int] = set()
        for item in items:
            for key in _keys(item["fingerprint"], item["path"], item.get("paths", ())):
                self._left.setdefault(key, []).append(item)

    def news(self, report: CheckReport) -> set[int]:
        """Identities of the findings of a report that did not stand so before."""
        worded = {(_kind(item["fingerprint"]), item["message"]) for item in self._items}
        found = set()
        for finding in sorted(report.findings, key=lambda f: (_kind(f.fingerprint), f.message) not in worded):
            keys = _keys(finding.fingerprint, finding.path, finding.paths)
            before = [item for item in (self._take(key, finding.message) for key in keys) if item is not None]
            if len(before) < len(keys) or any(_weighs_more(report, finding, item) for item in before):
                found.add(id(finding))
        return found

    def _take(self, key: tuple[str, str], message: str) -> dict[str, Any] | None:
        left = self._left.get(key)
        if not left:
            return None
        item = next((item for item in left if item["message"] == message), left[0])
        left.remove(item)
        self._met.add(id(item))
        return item

    def gone(self) -> Iterator[dict[str, Any]]:
        """Those that no finding of the report goes on with."""
        return (item for item in self._items if id(item) not in self._met)


def _kind(fingerprint: str) -> str:
    """A fingerprint without the number that tells several findings of one clause and place apart."""
    return fingerprint.partition(":")[0]


def _keys(fingerprint: str, path: str, paths: Iterable[str]) -> set[tuple[str, str]]:
    return {(_kind(fingerprint), each) for each in paths} or {(_kind(fingerprint), path)}


def _weighs_more(report: CheckReport, finding: Finding, before: dict[str, Any]) -> bool:
    if report.waiver_of(finding) is not None:
        return False
    return bool(before.get("waived")) or SEVERITY_ORDER[finding.severity] < SEVERITY_ORDER[before["severity"]]


def _was_decided(report: CheckReport, item: dict[str, Any]) -> bool:
    """Whether the check could tell that an earlier finding does not hold any more."""
    places = {item["path"], *item.get("paths", ())}
    faults = [fault.path for fault in report.faults]
    if any(path in ("", ".") for path in faults):
        return False
    if any(_lies_in(place, path) for place in places for path in (*report.unseen, *report.unjudged, *faults)):
        return False
    if item.get("outcome") == Outcome.UNDETERMINED:  # its cause is gone; another one has a finding of its own
        return True
    return not any((item["rule"], item.get("clause"), place) in report.undecided for place in places)


def _lies_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _remarks(
    report: CheckReport, since: Since, earlier: dict[str, Any], selected: Collection[str]
) -> Iterator[str]:  # fmt: skip
    """What else may have made the difference: other rules, another depth, an earlier report of less."""
    if since.edition != report.edition:
        yield (
            f"{since.report} was made by edition {since.edition}, this report by {report.edition}: what differs may "
            "come from the rules"
        )
    elif earlier.get("edition_digest") not in (None, load_edition(report.edition).digest):
        yield (
            f"the rules of edition {report.edition} are not those that made {since.report}: what differs may come "
            "from the rules"
        )
    filters = earlier.get("filters")
    filters = filters if isinstance(filters, dict) else {}
    was_deep = filters.get("deep") is True
    if was_deep != report.deep:
        yield f"{since.report} was made {_DEPTH[was_deep]}, this report {_DEPTH[report.deep]}: " + (
            "what only that decides is new here" if report.deep else "what only that decides is not listed as cleared"
        )
    less = _left_out(report, filters, selected)
    if less:
        yield f"{since.report} is a report of less ({', '.join(less)}): what it did not look at is new here"


def _left_out(report: CheckReport, filters: dict[str, Any], selected: Collection[str]) -> list[str]:
    """What the earlier report did not look at, and this one does."""
    found = []
    rules_left_out, submitters, part = (filters.get(key) for key in ("rules_left_out", "submitters", "part"))
    left_out = [rule for rule in selected if rule in rules_left_out] if isinstance(rules_left_out, list) else []
    if left_out:
        found.append(f"without {len(left_out)} of the rules that are reported now")
    here = report.only or report.part.split("/")[1:2]
    if isinstance(submitters, list) and submitters and not (here and all(name in submitters for name in here)):
        found.append("of some submitters only")
    if isinstance(part, str) and part and not (report.part and _lies_in(report.part, part)):
        found.append("of a part of the tree only")
    return found


def _carried(earlier: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What an earlier report, if it was itself made against one, says of findings that it does not show."""
    since = earlier.get("since", {})
    for key in ("known", "unsettled"):
        yield f"since.{key}", since.get(key, []) if isinstance(since, dict) else None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


def _usable(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and all(isinstance(item.get(key), str) for key in _NEEDED)
        and all(isinstance(item.get(key, ""), str) for key in _OPTIONAL)
        and isinstance(item.get("paths", []), list)
        and all(isinstance(path, str) for path in item.get("paths", []))
        and item["severity"] in SEVERITY_ORDER
    )
