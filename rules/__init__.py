"""The rule book of MLPerf Storage as a library.

>>> import rules
>>> edition = rules.load_edition("3.0")
>>> edition.rule("4.3.5").rule.name
'checkpointSubsetRunValidation'
"""

from typing import TYPE_CHECKING

from .edition import Edition, load_edition
from .errors import EvaluationFault, RuleBookError, RuleLoadError, UnknownEditionError, UnknownRuleError
from .loading import book, edition_ids
from .outcomes import (
    Classification,
    Deferred,
    Evaluation,
    Evidence,
    Finding,
    Outcome,
    Report,
    Severity,
    conclude,
)

DEFAULT_EDITION: str
"""The edition that is used where none is named. Read when it is asked for, so that a wrong file can be told."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        if name == "DEFAULT_EDITION":
            return book().default
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DEFAULT_EDITION",
    "Classification",
    "Deferred",
    "Edition",
    "Evaluation",
    "EvaluationFault",
    "Evidence",
    "Finding",
    "Outcome",
    "Report",
    "RuleBookError",
    "RuleLoadError",
    "Severity",
    "UnknownEditionError",
    "UnknownRuleError",
    "conclude",
    "edition_ids",
    "load_edition",
]
