"""What is wrong with data that does not fit its model, in words that name the key that was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

Location = tuple[str | int, ...]


class Misplaced(ValueError):
    """A value does not fit the others; ``where`` are the keys from the model that found it to the value."""

    def __init__(self, problem: str, *where: str | int) -> None:
        super().__init__(problem)
        self.where = where


_UNKNOWN, _MISSING = "extra_forbidden", "missing"
_WANTED: Mapping[str, str] = {
    "string_too_short": "must not be empty",
    "string_type": "must be text",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}
"""Kind of error to what a value must be; any other is told in pydantic's words."""
_CHOICES = frozenset({"enum", "literal_error"})
_LONGEST = 60


def problem_of(error: ValidationError, data: Any, model: type[BaseModel]) -> tuple[Location, str]:
    """Where the first problem is, as a path of keys that ``data`` has, and what it is.

    Unknown keys come first: a misspelt key is one, and whatever else is said of its mapping follows from it.
    """
    errors = error.errors()
    unknown = next((each for each in errors if each["type"] == _UNKNOWN), None)
    if unknown is not None:
        location = _written(unknown["loc"], data)
        return location, "unknown key" + near(str(location[-1]), _keys(model, location[:-1]))
    # Where a value may be of several kinds, each kind complains; the one that got furthest is the one that was meant.
    first = _written(errors[0]["loc"], data)
    same = [each for each in errors if _written(each["loc"], data)[: len(first)] == first]
    chosen = max(same, key=lambda each: len(_written(each["loc"], data)))
    cause = chosen.get("ctx", {}).get("error")
    inner = cause.where if isinstance(cause, Misplaced) else ()
    return _written((*chosen["loc"], *inner), data), in_words(chosen)


def near(word: str, known: Iterable[str]) -> str:
    """What may have been meant by a word that is not known, to be put behind what is said of it; or nothing."""
    close = get_close_matches(word, sorted(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def in_words(problem: Mapping[str, Any]) -> str:
    """One of the problems that pydantic lists."""
    if problem["type"] == _MISSING:
        return f"{str(problem['loc'][-1])!r} is missing"
    if problem["input"] is None:
        return "must not be empty"
    wanted = f"must be {problem['ctx']['expected']}" if problem["type"] in _CHOICES else _WANTED.get(problem["type"])
    if wanted is None:
        return str(problem["msg"]).removeprefix("Value error, ")
    given = repr(problem["input"])
    return wanted + (f", not {given}" if len(given) <= _LONGEST else "")


def _written(location: Location, data: Any) -> Location:
    """The parts of a location that stand in the data, without the names of types and of what was filled in."""
    found: list[str | int] = []
    for part in location:
        here = data if isinstance(data, dict) else dict(enumerate(data)) if isinstance(data, list) else {}
        if part in here:
            found.append(part)
            data = here[part]
    return tuple(found)


def _keys(model: type[BaseModel], location: Location) -> set[str]:
    """The keys that a mapping at this place may have."""
    schema = model.model_json_schema()
    found: list[Mapping[str, Any]] = [schema]
    for part in location:
        found = [below for each in found for below in _below(schema, each, part)]
    return {key for each in found for kind in _kinds(schema, each) for key in kind.get("properties", {})}


def _kinds(schema: Mapping[str, Any], part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a part of a schema stands for: itself, what it refers to, or each of several kinds."""
    if "$ref" in part:
        return [schema["$defs"][part["$ref"].rpartition("/")[2]]]
    return [kind for each in part["anyOf"] for kind in _kinds(schema, each)] if "anyOf" in part else [part]


def _below(schema: Mapping[str, Any], part: Mapping[str, Any], key: str | int) -> list[Mapping[str, Any]]:
    """What may stand under this key, or number, of a part of a schema."""
    found: list[Mapping[str, Any]] = []
    for kind in _kinds(schema, part):
        below = kind.get("items") if isinstance(key, int) else kind.get("properties", {}).get(key)
        below = below or kind.get("additionalProperties")
        if isinstance(below, dict):
            found.append(below)
    return found
