"""What a change of the rules does to a results tree, as ``mlpstorage rules diff --against`` shows it.

Reading a tree is the checker's work, and nothing here may depend on the checker. So it is started as a program, like
mpirun: ``submission-checker effect OLD NEW RESULTS_DIR`` prints what both editions make of one reading, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from rules.diff import ENUMERATED, EditionDiff
from rules.tables import cell_text

from .results.text import hung

_PROGRAM = "submission_checker"
SCHEMA = "mlpstorage-effect/1"
Effect = Mapping[str, Any]


class EffectError(Exception):
    """The tree could not be judged; ``code`` is the exit code to end with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def effect_on(results_dir: str, old: str, new: str) -> Effect:
    """Judge a tree by two editions. Raises EffectError."""
    spec = find_spec(_PROGRAM)
    if spec is None or spec.origin is None:
        raise EffectError("--against needs the submission checker: install it beside mlpstorage", 2)
    # The copy that was found, and -P: a working directory inside a stranger's tree must not become a place of modules.
    beside = os.path.dirname(os.path.dirname(spec.origin))
    path = os.pathsep.join(filter(None, (beside, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", _PROGRAM, "effect", old, new, "--", results_dir]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
    try:
        document = json.loads(done.stdout)
    except ValueError:
        raise EffectError(done.stderr.strip() or f"{_PROGRAM} gave no result", done.returncode or 3) from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise EffectError(f"{_PROGRAM} is of another version: it gave no {SCHEMA}", 2)
    if document["faults"]:
        first = document["faults"][0]
        raise EffectError(f"fault of the checker at {first['path']}: {first['message']}", 3)
    return document


def effect_text(effect: Effect, width: int) -> Iterator[str]:
    """The effect for a terminal: each run with both verdicts, both findings and both statements.

    Only paths make lines longer than ``width``.
    """
    old, new = effect["old"], effect["new"]
    yield from hung(
        f"Runs of {effect['results_dir']} whose verdict or findings differ: {_runs(effect)} of {effect['judged']}",
        width, "",
    )  # fmt: skip
    yield from (f"  {_arrow(item)}: {item['runs']}" for item in effect["verdicts"] if item["old"] != item["new"])
    for before, run in zip([{}, *effect["runs"]], effect["runs"], strict=False):
        yield ""
        if run["kind"] != "run" and before.get("kind") in (None, "run"):
            yield from ("Elsewhere in the tree", "")
        verdict = f"  {_arrow(run['verdict'])}{_eligible(run)}"
        yield from [run["path"] + verdict] if len(run["path"] + verdict) <= width else [run["path"], verdict]
        yield from (f"  leaf {leaf}" for leaf in run["leaves"])
        for change in run["findings"]:
            yield from hung(f"{change['rule']} {change['name']}, clause {change['clause']}:", width, "  ")
            yield from hung(f"{old}: {_said(change['old'])}", width, "    ")
            yield from hung(f"{new}: {_said(change['new'])}", width, "    ")
        for statement in run["statements"]:
            if statement["old"] == statement["new"]:
                continue
            yield f"  statement of {statement['rule']}:"
            yield from hung(f"{old}: {_line(statement['old'])}", width, "    ")
            yield from hung(f"{new}: {_line(statement['new'])}", width, "    ")
    for item in effect["unreadable"]:
        yield from hung(f"Not judged: {item}", width, "")


def diff_markdown(difference: EditionDiff, effect: Effect | None) -> Iterator[str]:
    """Changed entries and limits, launches whose verdict changes and, for a tree, its runs: as Markdown."""
    old, new = difference.old, difference.new
    yield from (f"# Rules {_md(old)} and {_md(new)}", "", "## Entries", "")
    yield from _table(
        ("rule", "clause", "what", old, new),
        [(c.rule, c.clause, c.what, _line(c.old), _line(c.new)) for c in difference.entries],
    )
    yield from ("", "## Limits", "")
    yield from _table(
        ("limit", "row", "read by", old, new),
        [
            (c.limit, c.row, ", ".join(c.rules), cell_text(c.old) or "(none)", cell_text(c.new) or "(none)")
            for c in difference.limits
        ],
    )
    yield from ("", "## Launches whose verdict changes", "")
    yield from _table(
        ("model", "processes", "declared subset", old, new),
        [
            (now.model, str(now.processes), "yes" if now.declared else "no", was.eligible, now.eligible)
            for was, now in difference.cells
        ],
    )
    held = ", ".join(f"{name} = {value}" for name, value in difference.fixed.items())
    yield from ("", f"Looked at: {ENUMERATED}. Held fixed: {_md(held)}.")
    if effect is not None:
        yield from ("", "## Runs whose verdict or findings differ", "")
        yield f"{_runs(effect)} of {effect['judged']} in {_md(effect['results_dir'])}."
        for run in effect["runs"]:
            yield from _run_markdown(run, old, new)
        yield from (f"\nNot judged: {_md(item)}" for item in effect["unreadable"])


def _run_markdown(run: Mapping[str, Any], old: str, new: str) -> Iterator[str]:
    yield from ("", f"### {_md(run['path'])}", "", f"{_arrow(run['verdict'])}{_eligible(run)}", "")
    yield from (f"- {_md(leaf)}" for leaf in run["leaves"])
    if run["leaves"]:
        yield ""
    yield from _table(
        ("rule", "clause", f"finding by {old}", f"finding by {new}"),
        [(c["rule"], c["clause"], _said(c["old"]), _said(c["new"])) for c in run["findings"]],
    )
    changed = [s for s in run["statements"] if s["old"] != s["new"]]
    if changed:
        yield ""
        yield from _table(
            ("rule", f"statement of {old}", f"statement of {new}"),
            [(s["rule"], _line(s["old"]), _line(s["new"])) for s in changed],
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        yield "None."
        return
    yield "| " + " | ".join(_md(cell) for cell in head) + " |"
    yield "|" + "---|" * len(head)
    yield from ("| " + " | ".join(_md(cell) for cell in row) + " |" for row in rows)


def _runs(effect: Effect) -> int:
    return int(effect["differ"])


def _arrow(pair: Mapping[str, str]) -> str:
    return pair["old"] if pair["old"] == pair["new"] else f"{pair['old']} -> {pair['new']}"


def _eligible(run: Mapping[str, Any]) -> str:
    pair = run["eligible"]
    return "" if pair["old"] == pair["new"] else f" (eligible: {_arrow(pair)})"


def _said(finding: Mapping[str, str] | None) -> str:
    return "nothing" if finding is None else f"{finding['severity']}: {_line(finding['message'])}"


def _line(text: str) -> str:
    return " ".join(text.split()) or "(none)"


def _md(text: str) -> str:
    """A text that Markdown shows as it is: nothing in it makes markup, a link or another cell."""
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#|~!$" else char for char in text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
