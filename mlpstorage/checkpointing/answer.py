"""The answer to a command: text as it happens, or one JSON document at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .exits import Exit
from .gate import Decision
from .plan import Plan

if TYPE_CHECKING:
    from .report import Reporter


class Answer:
    """The two ways to answer: text as it happens, or one JSON object at the end (and the text on standard error)."""

    def __init__(self, kind: str) -> None:
        self.json = kind == "json"
        self.document: dict[str, Any] = {}
        self._reporter: Reporter | None = None

    @property
    def reporter(self) -> Reporter:
        """What prints text; it is loaded when there is some."""
        if self._reporter is None:
            from .report import Reporter

            self._reporter = Reporter(to_stderr=self.json)
        return self._reporter

    def decision(self, plan: Plan, decision: Decision) -> None:
        """Print the verdict with what the document has beside it; in JSON that comes at the end."""
        if self.json:
            return
        self.reporter.decision(plan, decision)
        for notice in self.document["notices"]:
            self.reporter.say(notice, "yellow")
        if self.document.get("needs"):
            self.reporter.say(f"A start needs more: {self.document['needs']}", "yellow")
        if self.document["command"]:
            self.reporter.say("This would run (what stands in <...> is filled in at the start):")
            self.reporter.command(self.document["command"])

    def end(self, code: Exit) -> int:
        """Print the document, if JSON was asked for; gives the exit code."""
        if self.json:
            print(json.dumps({**self.document, "exit_code": int(code)}, indent=2))
        return code
