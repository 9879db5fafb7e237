"""The bytes of a file as data, or why they are none: JSON with an object at its top, YAML with a mapping or a list."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pydantic_core import from_json, to_json

from . import yaml_text
from .files import State
from .partial import Skimmer
from .text import clean, shorten

_KEPT_BYTES = 16 * 2**10
"""Larger YAML files are not kept for the next one that is the same."""
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_NUMBERED_QUOTE = b"\\u0022"


class BadContentError(Exception):
    """The content is not usable: state and reason."""

    def __init__(self, detail: str, state: State = "damaged") -> None:
        super().__init__(detail)
        self.state: State = state


def skim_json(skimmer: Skimmer, data: bytes) -> dict[str, Any]:
    """What the skimmer reads of a text, or all. Raises BadContentError."""
    _check_encoding(data)
    value = skimmer.read(data)
    return parse_json(data) if value is None else value


def parse_json(data: bytes) -> dict[str, Any]:
    """The object. Raises BadContentError."""
    _check_encoding(data)
    try:
        value = from_json(data)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise BadContentError("it is nested too deeply", "refused") from None
        raise BadContentError(f"it is not JSON: {clean(str(error), 200)}") from None
    except RecursionError:
        raise BadContentError("it is nested too deeply", "refused") from None
    if not isinstance(value, dict):
        raise BadContentError(f"its top level is {_name(value)}, not an object")
    if not _keys_are_unique(data, value):
        _refuse_duplicates(data)
    return value


def _keys_are_unique(data: bytes, value: dict[str, Any]) -> bool:
    """Whether it is certain, at the cost of a fraction of the parse, that no key was overwritten by a second one.

    What was parsed, written again, has all quotation marks of the text but those of keys that were dropped: marks
    inside of texts are escaped in both. Only one written by its number is no mark in the text and would hide a loss.
    """
    return _NUMBERED_QUOTE not in data and data.count(b'"') == to_json(value).count(b'"')


def _check_encoding(data: bytes) -> None:
    if data.startswith(_BYTE_ORDER_MARKS):
        raise BadContentError("it starts with a byte order mark; plain UTF-8 is wanted")
    if b"\0" in data[:64]:
        raise BadContentError("it is binary, or UTF-16; plain UTF-8 is wanted")


def _refuse_duplicates(data: bytes) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadContentError(f"the key {shorten(key)} stands in it twice")
            seen.add(key)

    json.loads(data, object_pairs_hook=unique)


def _name(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def parse_yaml(data: bytes) -> dict[str, Any]:
    """The mapping; a list is wrapped as ``{"": list}``. Raises BadContentError.

    As parsed before, if the same bytes were: runs of one workload have one configuration. Nobody changes it.
    """
    return _parsed_yaml(data) if len(data) <= _KEPT_BYTES else _parsed_yaml.__wrapped__(data)


@lru_cache(64)
def _parsed_yaml(data: bytes) -> dict[str, Any]:
    _check_encoding(data)
    try:
        value = yaml_text.parse(data)
    except yaml_text.UnusableYamlError as problem:
        state: State = "refused" if isinstance(problem, yaml_text.RefusedYamlError) else "damaged"
        raise BadContentError(str(problem), state) from None
    if isinstance(value, list):
        return {"": value}
    if not isinstance(value, dict):
        raise BadContentError(f"its top level is {_name(value)}, not a mapping")
    return value
