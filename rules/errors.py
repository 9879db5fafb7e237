"""Errors that the rule book library raises."""

from __future__ import annotations

from pathlib import Path


class RuleBookError(Exception):
    """Base of all errors of this package."""


class RuleLoadError(RuleBookError):
    """The rule data does not load: names file, line and, where it is known, rule and clause."""

    def __init__(
        self, problem: str, path: Path | str, line: int, *, rule: str = "", clause: str = "", column: int = 0
    ) -> None:
        self.problem = problem
        self.path = Path(path)
        self.line = line
        self.column = column
        self.rule = rule
        self.clause = clause
        where = f"{self.path.name}:{line}" + (f":{column}" if column else "")
        subject = " ".join(
            part for part in (f"rule {rule}" if rule else "", f"clause {clause}" if clause else "") if part
        )
        super().__init__(f"{where}: {subject + ': ' if subject else ''}{problem}")


class UnknownEditionError(RuleBookError):
    """No edition of this name exists."""


class UnknownRuleError(RuleBookError):
    """The edition has no rule of this id."""


class EvaluationFault(RuleBookError):
    """A rule failed for a reason that no fact explains: a defect of the rule or of the engine, never of the subject."""
