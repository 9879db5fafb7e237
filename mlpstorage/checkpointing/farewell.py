"""What is said when a run has ended."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import rules

from ..results import layout
from .exits import Exit
from .gate import load_edition
from .leaf import Record
from .report import Reporter

_NO_RESULT = (
    "It is no result: remove the leaf when you have read its logs. Left where it is, it counts among the runs of the "
    "workload."
)


def farewell(record: Record, code: Exit, reporter: Reporter) -> None:
    """How the run ended, why, and what is to do next."""
    plan, leaf = record.plan, record.leaf
    if code is Exit.INTERRUPTED and record.status == "interrupted":
        reporter.say("INTERRUPTED: all ranks were ended; the leaf says so.", "bold yellow")
        reporter.say(_NO_RESULT, indent=2)
    elif code is Exit.FAILED:
        reporter.say("The benchmark FAILED:", "bold red")
        for problem in record.problems:
            reporter.say(problem, indent=2)
        reporter.say(_last_error(leaf / layout.STDERR_LOG), indent=2)
        reporter.line(f"  see {leaf / layout.STDERR_LOG}")
        reporter.say(_NO_RESULT, indent=2)
    else:
        reporter.say("Done.", "bold green")
        if plan.num_checkpoints_write and not plan.num_checkpoints_read:
            _call_out(record, reporter)
    reporter.line(f"  {leaf}")


def _last_error(log: Path) -> str:
    """The last line of a log that names an exception; empty where none does."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if re.search(r"(Error|Exception)\b", line)), "")


def _call_out(record: Record, reporter: Reporter) -> None:
    """After a write-only run: the read run belongs to it, and the clock of rule 4.7.1 runs."""
    ended = record.ended or datetime.now()
    statement = _statement(record.decision.edition, "4.7.1")
    reporter.say(f"Writing ended at {ended:%H:%M:%S}. Clear caches now, then start the read run at once:", "bold")
    reporter.line("  the same command with --num-checkpoints-write 0 and without --num-checkpoints-read 0")
    if statement:
        reporter.say(f"4.7.1: {statement}", indent=2)


def _statement(edition: str, rule: str) -> str:
    try:
        return load_edition(edition).rule(rule).statement
    except rules.RuleBookError:
        return ""
