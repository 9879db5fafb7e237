"""Rulings: findings that were looked at and accepted, each with its reason and, as a rule, an end.

A waiver never hides a finding. The finding stays in every report with the ruling's reason, and does not count. A
waiver that has expired, waives nothing, or could waive what nobody looked at is itself a finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

import rules
from mlpstorage.results.text import clean
from rules import Finding, Severity
from rules.invalid import problem_of
from rules.outcomes import fingerprint
from rules.strict_yaml import load

from .exits import NotCheckedError
from .report import CheckReport, Waived, place_of
from .selection import no_such_rule

EXPIRED, UNUSED, TOO_BROAD = "WAIVER-01", "WAIVER-02", "WAIVER-03"
NAMES = {EXPIRED: "waiverHolds", UNUSED: "waiverWaivesSomething", TOO_BROAD: "waiverNamesASubmitter"}
STATEMENTS = {
    EXPIRED: "A waiver holds until its date or its edition; then what it waived counts again.",
    UNUSED: "A waiver waives at least one finding of the tree.",
    TOO_BROAD: "A waiver names the submitter whose findings it waives.",
}
"""Rules of this module, for they judge the waivers file and not the results."""
_TODO = "TODO"


class WaiversError(NotCheckedError):
    """The waivers file cannot be used; the text names file, entry and what is wanted."""


_AsWritten = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1)]
"""A pattern: a name may begin or end with a blank."""


class _Entry(BaseModel):
    """One entry of the file as it is written."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, defer_build=True)

    rule: str = Field(min_length=1)
    path: _AsWritten
    reason: str = Field(min_length=1)
    until: str = ""
    text: str = ""
    owner: str = ""
    paths: list[_AsWritten] = []


@dataclass(slots=True)
class Waiver:
    """One ruling. ``path`` is a pattern over finding paths: ``*`` within a name, ``**`` over any number of names.

    ``paths`` are such patterns for the leaves that a finding may hold for; without any, it may hold for all.
    """

    rule: str
    path: str
    reason: str
    until: str
    text: str
    owner: str
    line: int
    expired: bool
    pattern: re.Pattern[str]
    paths: tuple[re.Pattern[str], ...] = ()
    waived: dict[tuple[str, str], Finding] = field(default_factory=dict)
    """What it has waived, or would have if it had not expired, by fingerprint and path."""
    outgrown: list[str] = field(default_factory=list)
    """Leaves that the findings it speaks of hold for, and that it was not made for."""

    def matches(self, finding: Finding) -> bool:
        """Whether the ruling speaks of this finding."""
        return (
            finding.rule == self.rule
            and self.text in finding.message
            and self.pattern.fullmatch(finding.path) is not None
        )

    def foreign(self, finding: Finding) -> list[str]:
        """The leaves that a finding holds for and that the ruling was not made for."""
        if not self.paths:
            return []
        return [path for path in finding.paths if not any(pattern.fullmatch(path) for pattern in self.paths)]

    @property
    def names_submitter(self) -> bool:
        """Division and submitter are spelt out, so that no other submitter's findings can be meant."""
        return not any(_has_wildcard(part) for part in self.path.split("/")[:2])


class Rulings:
    """The waivers of a file, applied to findings one by one."""

    def __init__(self, name: str, waivers: Sequence[Waiver]) -> None:
        self.name = name
        self.waivers = waivers
        self._again: Counter[int] = Counter()
        """Number of findings that count again, by the line of the expired waiver."""

    def waive(self, finding: Finding) -> Waived | None:
        """The first ruling that holds for the finding; every ruling that speaks of it counts as used."""
        speaking = [waiver for waiver in self.waivers if waiver.matches(finding)]
        found = [waiver for waiver in speaking if waiver.expired or not waiver.foreign(finding)]
        for waiver in found:
            waiver.waived[finding.fingerprint, finding.path] = finding
        holding = next((waiver for waiver in found if not waiver.expired), None)
        if holding is None:
            self._again.update(waiver.line for waiver in found)
            for waiver in speaking:
                waiver.outgrown.extend([] if waiver.expired else waiver.foreign(finding))
            return None
        return Waived(holding.reason, holding.until, holding.owner)

    def findings(self, *, whole: bool, selected: Iterable[str]) -> Iterator[Finding]:
        """What is wrong with the waivers, after all findings were seen.

        ``whole``: the whole tree was checked, so that a waiver of nothing is unused; ``selected`` are the rules that
        were reported.
        """
        rules_reported = set(selected)
        for waiver in self.waivers:
            count = len(waiver.waived)
            if waiver.expired:
                again = self._again[waiver.line]
                what = f"{again} finding{'s count' if again > 1 else ' counts'} again"
                if not again:
                    what = "another waiver holds for what it waived" if count else "nothing of it is left"
                remedy = "Rule on it anew, with a later end." if again else "Remove it."
                yield self._finding(EXPIRED, waiver, f"it ended with {waiver.until}; {what}", remedy)
            elif waiver.outgrown:
                leaves = sorted(set(waiver.outgrown))
                more = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
                what = f"what it speaks of holds for {leaves[0]}{more} as well, which is not among its paths"
                yield self._finding(UNUSED, waiver, f"{what}, and counts", "Look at it, and add the path.")
            elif not count and whole and waiver.rule in rules_reported:
                yield self._finding(UNUSED, waiver, "it waives no finding of this tree", "Remove it, or correct it.")
            if not waiver.names_submitter:
                owners = sorted({"/".join(finding.path.split("/")[:2]) for finding in waiver.waived.values()})
                hit = f"; it speaks of {', '.join(owners)}" if owners else ""
                message = f"its path {waiver.path!r} names no submitter{hit}"
                remedy = "Write one waiver for each submitter: <division>/<submitter>/..."
                yield self._finding(TOO_BROAD, waiver, message, remedy)

    def _finding(self, rule: str, waiver: Waiver, message: str, remedy: str) -> Finding:
        place = f"{self.name}, line {waiver.line}"
        return Finding(
            rule=rule,
            name=NAMES[rule],
            clause="main",
            severity=Severity.WARNING,
            outcome="violation",
            division=place_of(waiver.path).division.lower(),
            path=_literal_start(waiver.path),
            item=f"{waiver.rule} {waiver.path}",
            message=clean(f"waiver of {waiver.rule} ({place}): {message}"),
            remedy=remedy,
            evidence=(rules.Evidence(fact="waiver.until", value=waiver.until, source=place),),
            fingerprint=fingerprint(rule, waiver.rule, waiver.path, waiver.text),
        )


def read_waivers(path: str, edition: str, today: date) -> Rulings:
    """The waivers of a file, for a check by this edition on this day. Raises WaiversError.

    Each entry needs ``rule``, ``path`` and ``reason``. ``until`` is the last day on which it holds (2027-03-31), or the
    last edition ("4.0-draft"). ``text`` narrows it to findings whose message holds this text, ``paths`` to those that
    hold for no other leaves.
    """
    try:
        document = load(Path(path))
    except rules.RuleLoadError as error:
        raise WaiversError(f"--waivers {path}{_unusable(error)}") from None
    data = document.data
    if not isinstance(data, dict) or set(data) != {"waivers"} or not isinstance(data["waivers"], list):
        raise WaiversError(f"waivers: {path}: it must hold one key, 'waivers', with a list")
    found = []
    known = [rule.id for rule in rules.load_edition(edition).rules]
    for index, raw in enumerate(data["waivers"]):
        line = document.line(("waivers", index))
        try:
            entry = _Entry.model_validate(raw)
            if entry.rule not in known:
                raise ValueError(f"rule: {no_such_rule(entry.rule, known)}")
            found.append(_waiver(entry, line, edition, today))
        except ValidationError as error:
            location, problem = problem_of(error, raw, _Entry)
            where = "".join(f"{part}: " for part in location) or ("" if isinstance(raw, dict) else "entry: ")
            raise WaiversError(
                f"waivers: {path}:{document.line(('waivers', index, *location))}: {where}{problem}"
            ) from None
        except ValueError as error:
            raise WaiversError(f"waivers: {path}:{line}: {error}") from None
    return Rulings(Path(path).name, found)


def _unusable(error: rules.RuleLoadError) -> str:
    """What is wrong with a file, to be put behind its path: the line only where there is one."""
    if isinstance(error.__cause__, OSError):
        return f": it cannot be read: {(error.__cause__.strerror or 'unknown reason').lower()}"
    if isinstance(error.__cause__, UnicodeDecodeError):
        return ": it cannot be read: it is not UTF-8 text"
    return f":{error.line}: {error.problem}"


def apply_rulings(report: CheckReport, rulings: Rulings, *, whole: bool, selected: Iterable[str]) -> None:
    """Waive what the rulings speak of, and add what is wrong with them to the report."""
    for finding in report.findings:
        waived = rulings.waive(finding)
        if waived is not None:
            report.waived[finding.fingerprint, finding.path] = waived
    if not whole:
        report.remarks.append("waivers that waive nothing are not reported: only a part of the tree was checked")
    report.findings.extend(rulings.findings(whole=whole, selected=selected))
    report.sort()


def draft(report: CheckReport) -> str:
    """A waivers file for the findings that nobody has ruled on; it is refused until each reason is written."""
    entries: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        if report.waiver_of(finding) is None and finding.severity is not Severity.INFO and finding.rule not in NAMES:
            entries.setdefault((finding.rule, finding.path), []).append(finding)
    lines = [
        f"# Draft of waivers by submission-checker, edition {report.edition}. Keep what you rule on, and say why.",
        "# until: the last day (YYYY-MM-DD) or the last edition; text: only findings whose message holds it;",
        "# paths: only findings that hold for these leaves and no other.",
        "waivers:" if entries else "waivers: []",
    ]
    for (rule, path), group in entries.items():
        lines += [f"  # {finding.severity}: {finding.message}" for finding in group]
        for finding in group:
            entry = {"rule": rule, "path": _escaped(path), **({"text": finding.message} if len(group) > 1 else {})}
            entry |= {"reason": f"{_TODO}: why this is accepted", "until": report.edition, "owner": ""}
            lines += [f"  {'- ' if key == 'rule' else '  '}{key}: {_scalar(value)}" for key, value in entry.items()]
            others = [each for each in dict.fromkeys(finding.paths) if each != path]
            lines += ["    paths:", *(f"      - {_scalar(_escaped(each))}" for each in others)] if others else []
    return "\n".join(lines) + "\n"


def _waiver(entry: _Entry, line: int, edition: str, today: date) -> Waiver:
    if entry.reason.upper().startswith(_TODO):
        raise ValueError("reason: it is still to be written")
    return Waiver(
        entry.rule, entry.path, entry.reason, entry.until, entry.text, entry.owner, line,
        expired=_expired(entry.until, edition, today), pattern=_compiled(entry.path),
        paths=tuple(map(_compiled, entry.paths)),
    )  # fmt: skip


def _expired(until: str, edition: str, today: date) -> bool:
    editions = rules.edition_ids()
    if not until:  # it holds for this tree, whenever it is checked
        return False
    if until in editions:
        return editions.index(edition) > editions.index(until)
    try:
        return today > date.fromisoformat(until)
    except ValueError:
        wanted = f"a date (YYYY-MM-DD) or one of the editions {', '.join(editions)}"
        raise ValueError(f"until: {until!r} is not {wanted}") from None


_PIECE = re.compile(r"\\.|\*\*/|\*\*|\*|\?|[^\\*?]+|\\", re.DOTALL)
_MEANING = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _compiled(pattern: str) -> re.Pattern[str]:
    """A path pattern as a regular expression; a backslash takes a wildcard's meaning away."""
    expression = "".join(
        _MEANING.get(piece) or re.escape(piece[1:] if piece.startswith("\\") and len(piece) > 1 else piece)
        for piece in _PIECE.findall(pattern)
    )
    return re.compile(expression, re.DOTALL)


def _has_wildcard(part: str) -> bool:
    return any(piece in _MEANING for piece in _PIECE.findall(part))


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?])", r"\\\1", path)


def _literal_start(path: str) -> str:
    """The directories of a pattern that hold no wildcard: where in the tree its findings lie."""
    parts = []
    for part in path.split("/"):
        if _has_wildcard(part):
            break
        parts.append(part)
    return clean("/".join(parts)) or "."


def _scalar(value: Any) -> str:
    """A text as YAML of one line, quoted so that nothing is guessed from it."""
    return str(yaml.safe_dump(str(value), default_style='"', width=10**9, allow_unicode=True)).strip()
