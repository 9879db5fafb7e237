"""``--format html``: the validation report as one self-contained page that needs no network.

Everything is in the page without a script; the script only filters. A content security policy names the one script and
the one style sheet by their hashes, so that nothing else in the page can run, whatever a results tree may hold.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from typing import TYPE_CHECKING, TextIO
from urllib.parse import urlencode

from mlpstorage.results.text import harmless

from ..report import CheckReport, Place, rule_key
from ..validation import State, Submission, validate
from .shown import value_text

if TYPE_CHECKING:
    from . import Style

SYMBOLS = {
    State.VIOLATED: "\N{MULTIPLICATION SIGN}",
    State.UNDECIDED: "?",
    State.WARNED: "!",
    State.WAIVED: "w",
    State.PASSED: "\N{CHECK MARK}",
    State.NOT_APPLICABLE: "\N{EN DASH}",
    State.NOTHING: "",
    State.LEFT_OUT: "",
}
_QUIET = {State.PASSED, State.NOT_APPLICABLE, State.NOTHING, State.LEFT_OUT}
"""States that make no column of the heat map of themselves."""


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """One page; without a time of its own, so that the same findings give the same bytes."""
    from ._templates import context, environment, resource

    validation = validate(report)
    anchors = _anchors(report)
    script, sheet = resource("report.js"), resource("report.css")
    template = environment(autoescape=True).get_template("report.html.j2")
    page = template.render(
        **context(validation),
        waived=[finding for finding in report.findings if report.waiver_of(finding) is not None],
        columns=_columns(validation.submissions),
        found_rules=sorted({finding.rule for finding in report.findings}, key=rule_key),
        symbols=SYMBOLS,
        anchor=lambda finding: anchors[id(finding)],
        slug=slug,
        script=script,
        sheet=sheet,
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; "
        "base-uri 'none'; form-action 'none'",
        query=query,
        value=lambda item: value_text(item, 2000, 200),
    )
    out.write(page)


def slug(state: str) -> str:
    """A state as the name of a class."""
    return state.replace(" ", "-")


def query(place: Place | None = None, rule: str = "") -> str:
    """The address, within the page, of the findings of one submission or rule."""
    values = {"division": place.division, "submitter": harmless(place.submitter)} if place else {}
    return "#?" + urlencode(values | ({"rule": rule} if rule else {}))


def _anchors(report: CheckReport) -> dict[int, str]:
    """The anchor of each finding by its identity: its fingerprint, numbered where several findings share one."""
    seen: Counter[str] = Counter()
    found = {}
    for finding in report.findings:
        seen[finding.fingerprint] += 1
        again = f"-{seen[finding.fingerprint]}" if seen[finding.fingerprint] > 1 else ""
        found[id(finding)] = f"f-{finding.fingerprint}{again}"
    return found


def _columns(submissions: list[Submission]) -> list[tuple[str, bool]]:
    """The rules of the heat map in the order of the book, each with whether there is something to see."""
    found: dict[str, bool] = {}
    for submission in submissions:
        for rule, state in submission.states.items():
            found[rule] = found.get(rule, False) or state not in _QUIET
    return [(rule, found[rule]) for rule in sorted(found, key=rule_key)]


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
