"""What a person reads: the decision, the readiness problems, the progress. 80 columns, also on a pipe."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rules.messages import unit_of
from rules.subjects import BOOK_SOURCE

from ..results.layout import WHATIF
from .gate import Decision
from .plan import Plan

if TYPE_CHECKING:
    from rich.console import Console

    from rules.outcomes import Finding

    from .progress import Step
    from .readiness import Problem

WIDTH = 80
_REFERENCE = "item.reference"
"""Stands beside what the run has for the same key; it is the book's all the same."""
_LONGEST_VALUE = 60
"""Longer values (lists of keys) are left to the JSON form."""


class Reporter:
    """Prints to one stream: standard output for text, standard error where standard output carries JSON."""

    def __init__(self, *, to_stderr: bool) -> None:
        self._stream = sys.stderr if to_stderr else sys.stdout
        self._console = _console(self._stream) if self._stream.isatty() else None

    def say(self, text: str, style: str = "", indent: int = 0) -> None:
        """One paragraph, wrapped and indented."""
        margin = " " * indent
        width = (WIDTH if self._console is None else self._console.width) - indent
        for line in textwrap.wrap(_printable(text), width, break_on_hyphens=False, break_long_words=False):
            self._print(margin + line, style)

    def line(self, text: str) -> None:
        """One line that is never wrapped: commands and paths, so that they can be copied."""
        self._print(_printable(text))

    def _print(self, line: str, style: str = "") -> None:
        if self._console is None:
            print(line, file=self._stream, flush=True)
        else:
            self._console.print(line, style=style, soft_wrap=True)

    def decision(self, plan: Plan, decision: Decision) -> None:
        """The verdict, then what forbids the run or deserves a word."""
        if decision.caution:
            self.say(f"Caution: edition {decision.edition}: {decision.caution}", "yellow")
        for fault in decision.faults:
            self.say(f"BROKEN RULE: {fault}", "bold red")
        if decision.division == WHATIF:
            self.say(f"whatif: any size may run; not for submission (edition {decision.edition})", "bold")
            self.say(f"Legal in a submission: {' and '.join(decision.divisions) or 'in no division'}")
            if decision.advice:
                self.say("A closed run would be refused:")
            self._advice(decision.advice)
            self._findings(decision.remarks, "yellow")
            self._later(decision)
            return
        if decision.faults:
            self.say(f"UNDECIDED in {decision.division}: {_asked(plan)} (edition {decision.edition})", "bold red")
        elif decision.allowed:
            self.say(f"LEGAL in {decision.division}: {_asked(plan)} (edition {decision.edition})", "bold green")
        else:
            self.say(f"FORBIDDEN in {decision.division}: {_asked(plan)} (edition {decision.edition})", "bold red")
        self._findings(decision.forbidding, "red")
        self._findings(decision.remarks, "yellow")
        if decision.allowed:
            self._later(decision)
        else:
            if decision.division == "closed" and decision.verdict == "open" and not plan.does_nothing:
                self.say("The open division accepts this run as it is: mlpstorage checkpointing run open ...", "bold")
            self.say("Nothing was started.")

    def probed(self, before: Decision, after: Decision) -> None:
        """What the probed facts add to a decision that still allows the run."""
        known = {finding.fingerprint for finding in (*before.remarks, *before.advice)}
        self._advice(finding for finding in after.advice if finding.fingerprint not in known)
        self._findings((finding for finding in after.remarks if finding.fingerprint not in known), "yellow")

    def _advice(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            self.say(f"{finding.rule} {finding.message}", "dim", indent=2)

    def _later(self, decision: Decision) -> None:
        """Which rules still have something to say, and when."""
        for stage, when in (("probe", "once the machine is probed"), ("run", "after the run")):
            waiting = dict.fromkeys(item.rule for item in decision.deferred if item.known == stage)
            if waiting:
                self.say(f"Judged {when}: {', '.join(waiting)}", "dim")

    def _findings(self, findings: Iterable[Finding], style: str) -> None:
        for finding in findings:
            label = finding.severity.value if finding.outcome == "violation" else finding.outcome
            self.say(f"{finding.rule} {finding.name} ({label})", style, indent=2)
            self.say(finding.message, indent=6)
            for label, of_book in (("found:", False), ("book:", True)):
                shown = _evidence(finding, of_book=of_book)
                if shown:
                    self.say(f"{label:<6} {shown}", "dim", indent=6)
            if finding.remedy:
                self.say(f"fix:   {finding.remedy}", indent=6)

    def problems(self, problems: Sequence[Problem], heading: str = "NOT READY: nothing was started.") -> None:
        """What keeps the machine from running it, each with what mends it."""
        if any(problem.blocking for problem in problems):
            self.say(heading, "bold red")
        for problem in problems:
            self.say(f"{problem.subject}: {problem.text}", "red" if problem.blocking else "yellow", indent=2)
            self.line(f"      mend: {problem.mend}")

    def command(self, argv: Sequence[str]) -> None:
        """The command as it could be typed, an argument on each line."""
        self.line(" \\\n    ".join(map(_shell_word, argv)))

    def progress(self) -> Callable[[Step], None]:
        """A receiver of steps: a rewritten line on a terminal, a line for each finished checkpoint elsewhere."""

        def show(step: Step) -> None:
            if step.rate is not None:
                # The longer line that a terminal still shows must not stick out behind this one.
                self._print(f"  {step}".ljust(0 if self._console is None else WIDTH - 1))
            elif self._console is not None:
                self._console.print(f"  {step} ...", end="\r")

        return show


def _console(stream: TextIO) -> Console:
    """A console for a terminal. Elsewhere there is no style to show, and rich would take a seventh of a dry run."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, soft_wrap=False)


def _asked(plan: Plan) -> str:
    subset = ", declared a subset" if plan.checkpoint_subset else ""
    count = "" if plan.num_processes is None else f" on {plan.num_processes} {unit_of(plan.num_processes, 'processes')}"
    return f"{plan.model}{count}{subset}"


def _evidence(finding: Finding, *, of_book: bool) -> str:
    """The facts that a finding rests on: of the run and where they were read, or of the rule book.

    Of a fact that has no value the place says why.
    """
    parts = []
    for evidence in finding.evidence:
        name = evidence.fact.partition(".")[2]
        value = "" if evidence.value is None else f" {_value(evidence.value)}"
        from_book = evidence.source.startswith(BOOK_SOURCE) or evidence.fact == _REFERENCE
        if from_book != of_book or len(value) > _LONGEST_VALUE:
            continue
        parts.append(f"{name}{value}" + (f" ({evidence.source})" if evidence.source and not of_book else ""))
    return ", ".join(parts)


def _shell_word(word: str) -> str:
    """A word for the shell; in double quotes where that saves escaping the single quotes that hydra wants."""
    if "'" in word and not set(word) & set('"$`\\!'):
        return f'"{word}"'
    return shlex.quote(word)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _printable(text: str) -> str:
    """Without control characters: file names and host answers must not drive the terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
