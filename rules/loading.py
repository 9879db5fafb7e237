"""Reads a file of the rule book into its model, and the list of editions and sections."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from . import strict_yaml
from .entries import Book
from .errors import RuleLoadError
from .invalid import problem_of

BOOK = Path(__file__).parent / "book"

_M = TypeVar("_M", bound=BaseModel)


def load_model(path: Path, model: type[_M], leave_out: str = "") -> tuple[_M, strict_yaml.Document]:
    """The file by its model, and its lines; ``leave_out`` as in ``strict_yaml.load``. Raises RuleLoadError."""
    document = strict_yaml.load(path, leave_out)
    try:
        return model.model_validate(document.data), document
    except ValidationError as error:
        raise _readable(error, document, model) from error


def _readable(error: ValidationError, document: strict_yaml.Document, model: type[BaseModel]) -> RuleLoadError:
    location, problem = problem_of(error, document.data, model)
    rule = clause = ""
    if location[:1] == ("rules",) and len(location) > 1:
        data = document.data["rules"][location[1]]
        rule = str(data.get("id", f"number {location[1]}")) if isinstance(data, dict) else ""
        if len(location) > 3 and location[2] == "clauses":
            clause = str(location[3])
    field = ".".join(str(part) for part in location[2 if rule else 0 :])
    return RuleLoadError(
        f"{field + ': ' if field else ''}{problem}", document.path, document.line(location), rule=rule, clause=clause
    )


@cache
def book() -> Book:
    """The list of editions and sections. Raises RuleLoadError."""
    return load_model(BOOK / "editions.yaml", Book)[0]


def edition_ids() -> tuple[str, ...]:
    """Ids of all editions, oldest first."""
    return tuple(book().editions)
