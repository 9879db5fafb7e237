"""One file of a results tree as data: its state, and typed access to its values by JSON pointer.

A getter gives a :class:`Reading` (value and source) or the :class:`~rules.facts.Absence` that says why there is none.
Where a value can stand at several places, the getters take them all: the first that has one counts (:func:`first_of`).
What counts as a value of a type is the same for every file (see :func:`as_int` and its siblings).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from pydantic_core import from_json, to_json

from rules.facts import Absence, Reason, Source

from . import yaml_text
from .files import LARGE_FILE_POINTER, MAX_JSON_BYTES, MAX_YAML_BYTES, Content, Root, State
from .partial import Skimmer
from .text import clean, shorten

T = TypeVar("T")
U = TypeVar("U")

_KEPT_BYTES = 16 * 2**10
"""Larger YAML files are not kept for the next one that is the same."""
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_NUMBERED_QUOTE = b"\\u0022"
_SMALLEST, _LARGEST = 1e-100, 1e100
"""Sizes of numbers from a file: sums, ratios and products of them stay finite."""
_DIGITS = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(slots=True)  # not frozen, nor is what follows: thousands are made, and a guard costs more than the rest
class Reading(Generic[T]):
    """A value and where it was read. Never changed."""

    value: T
    source: Source

    def map(self, convert: Callable[[T], U]) -> Reading[U]:
        """The converted value from the same source."""
        return Reading(convert(self.value), self.source)


Found = Reading[T] | Absence
"""What a getter gives."""


class InvalidValueError(ValueError):
    """A value is not of the wanted type; the text says what was wanted."""


@dataclass(slots=True)
class Document:
    """One parsed file. Never changed. ``path`` is relative to the results directory and safe to print."""

    path: str
    state: State
    cause: str
    detail: str = ""
    data: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        """The file was read and parsed."""
        return self.state == "ok"

    def absence(self, pointer: str = "") -> Absence:
        """Why nothing of this file is known. Only where the file is not ok."""
        return Absence(self.cause, why_unread(self.state, self.detail), self.path, pointer, self.detail)

    def source(self, pointer: str = "") -> Source:
        """A place in this file."""
        return Source(self.path, pointer)

    def raw(self, pointer: str) -> Found[Any]:
        """The value as it was parsed. A null counts as a key that is not there."""
        value = self._value(pointer)
        return self.key_absent(pointer) if value is None else Reading(value, Source(self.path, pointer))

    def _value(self, pointer: str) -> Any:
        """The value; None where there is none."""
        node: Any = self.data if self.state == "ok" else None
        for key in _keys(pointer):
            if not isinstance(node, dict):
                return None
            node = node.get(key)
        return node

    def has(self, pointer: str) -> bool:
        """Whether a value other than null is there."""
        return self._value(pointer) is not None

    def key_absent(self, pointer: str) -> Absence:
        """The absence of a key of this (readable) file; of the object that holds it, where that is what is missing."""
        if not self.ok:
            return self.absence(pointer)
        lost, detail = self._lost(pointer)
        return Absence(f"key:{self.path}#{lost}", Reason.KEY_ABSENT, self.path, lost, detail)

    def _lost(self, pointer: str) -> tuple[str, str]:
        """The place above or at a pointer that keeps everything below it from being there, and what it lacks."""
        node: Any = self.data
        keys = pointer.split("/")
        for depth, key in enumerate(_keys(pointer), start=1):
            if not isinstance(node, dict):
                return "/".join(keys[:depth]), "it is not an object"
            node = node.get(key)
            if node is None:
                return "/".join(keys[: depth + 1]), "the key is not set"
        return pointer, "the key is not set"

    def invalid(self, pointer: str, detail: str) -> Absence:
        """The absence of a value that is there and cannot be used."""
        return Absence(f"value:{self.path}#{pointer}", Reason.INVALID, self.path, pointer, detail)

    def read(self, pointer: str, convert: Callable[[Any], T]) -> Found[T]:
        """The value by one of the converters below, or any that raises :class:`InvalidValueError`."""
        return self._first((pointer,), convert)

    def _first(self, pointers: tuple[str, ...], convert: Callable[[Any], T]) -> Found[T]:
        """What :func:`first_of` gives for these places; those that do not count are not read."""
        for pointer in pointers:
            value = self._value(pointer)
            if value is None:
                continue
            try:
                return Reading(convert(value), Source(self.path, pointer))
            except InvalidValueError as problem:
                return self.invalid(pointer, f"{shorten(value)} is not {problem}")
        return self.key_absent(pointers[0])

    def int(self, *pointers: str) -> Found[int]:
        """An integer; see :func:`as_int`."""
        return self._first(pointers, as_int)

    def float(self, *pointers: str) -> Found[float]:
        """A finite number; see :func:`as_float`."""
        return self._first(pointers, as_float)

    def bool(self, *pointers: str) -> Found[bool]:
        """A truth value; see :func:`as_bool`."""
        return self._first(pointers, as_bool)

    def text(self, *pointers: str) -> Found[str]:
        """A text, harmless to print; see :func:`as_text`."""
        return self._first(pointers, as_text)

    def stated_time(self, *pointers: str) -> Found[datetime]:
        """A time as it is written, with its zone or without."""
        return self._first(pointers, as_time)

    def utc_time(self, *pointers: str) -> Found[datetime]:
        """A time with a zone, in UTC; see :func:`as_utc_time`."""
        return self._first(pointers, as_utc_time)

    def mapping(self, *pointers: str) -> Found[dict[str, Any]]:
        """An object."""
        return self._first(pointers, as_mapping)

    def list(self, *pointers: str) -> Found[list[Any]]:
        """A list; the empty text that some tools write for an empty list is one."""
        return self._first(pointers, as_list)


def why_unread(state: State, detail: str) -> Reason:
    """Why nothing is known of a file that is in a state other than 'ok'."""
    pruned = Reason.POINTER if detail == LARGE_FILE_POINTER else Reason.PLACEHOLDER
    return {"missing": Reason.MISSING_FILE, "placeholder": pruned}.get(state, Reason.UNREADABLE)


def _keys(pointer: str) -> list[str]:
    """The keys of a JSON pointer."""
    tokens = pointer.split("/")[1:]
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens] if "~" in pointer else tokens


def first_of(*found: Found[T]) -> Found[T]:
    """The first source that is present: a value, or one that is there and cannot be used.

    Sources that are not there are passed over; if none is, the first one's absence is given.
    """
    for candidate in found:
        if isinstance(candidate, Reading) or candidate.reason is Reason.INVALID:
            return candidate
    return found[0]


# Coercion: one table for all files.


def as_int(value: Any) -> int:
    """64, 64.0, "64" and " 64 " are 64; true, 64.5, texts, lists and what 64 bits cannot hold are refused."""
    if type(value) is int and -(2**63) <= value < 2**63:  # as nearly all are
        return value
    digits = isinstance(value, str) and _DIGITS.fullmatch(value.strip()) is not None
    if digits or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise InvalidValueError("an integer")
    return value


def as_float(value: Any) -> float:
    """Numbers and texts of one; NaN, infinities, sizes that nobody measures, and truth values are refused."""
    if type(value) is float and _SMALLEST <= value <= _LARGEST:  # as nearly all are
        return value
    if isinstance(value, str) and len(value) <= 40 and "_" not in value:
        try:
            value = float(value)
        except ValueError:
            raise InvalidValueError("a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError("a number")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidValueError("a finite number") from None
    if not math.isfinite(number):
        raise InvalidValueError("a finite number")
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise InvalidValueError(f"a number of a size that is measured, {_SMALLEST:g} to {_LARGEST:g}")
    return number


def as_bool(value: Any) -> bool:
    """true, "true", "True" and their opposites; numbers and "yes" are refused."""
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise InvalidValueError("true or false")
    return value


def as_strict_bool(value: Any) -> bool:
    """Only true and false themselves."""
    if not isinstance(value, bool):
        raise InvalidValueError("true or false")
    return value


def as_text(value: Any) -> str:
    """A text without blanks around it, control characters replaced; numbers are refused."""
    if not isinstance(value, str):
        raise InvalidValueError("text")
    return clean(value.strip())


def as_choice(*choices: str) -> Callable[[Any], str]:
    """A converter to one of these lower-case words, whatever the case in the file."""

    def convert(value: Any) -> str:
        text = as_text(value).lower()
        if text not in choices:
            raise InvalidValueError(" or ".join(choices))
        return text

    return convert


def as_mapping(value: Any) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise InvalidValueError("an object")
    return value


def as_list(value: Any) -> list[Any]:
    """A list, or the empty text."""
    if value == "":
        return []
    if not isinstance(value, list):
        raise InvalidValueError("a list")
    return value


def as_time(value: Any) -> datetime:
    """A time with a zone or without."""
    try:
        time = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or not 1970 <= time.year < 2200:  # keeps all arithmetic inside datetime's range
        raise InvalidValueError("an ISO 8601 time")
    return time


def as_local_time(value: Any) -> datetime:
    """A naive time. A zone that is written out is dropped: it is the leaf's, and so are all its other times."""
    time = as_time(value)
    return time if time.tzinfo is None else time.replace(tzinfo=None)


def as_utc_time(value: Any) -> datetime:
    """A time with a zone as naive UTC."""
    time = as_time(value)
    if time.tzinfo is None:
        raise InvalidValueError("a time with a zone (Z)")
    return time.astimezone(UTC).replace(tzinfo=None)


# Parsing.


def read_json(
    root: Root, path: str, *, placeholder: str = "", skimmer: Skimmer | None = None, keep: bool = False
) -> Document:
    """A JSON file whose top level is an object. Never raises for bad content.

    ``placeholder``: the cause id if the content was pruned (one for all files of a leaf). ``skimmer``: what of it is
    read, instead of all. ``keep``: the next reader of the file gets this document, so that it is parsed once.
    """
    kept: Document | None = root.kept.pop(path, None)
    parse = _parse_json if skimmer is None else partial(_skim_json, skimmer)
    document = kept or _document(root.read(path, MAX_JSON_BYTES), path, placeholder, parse)
    if keep:
        root.kept[path] = document
    return document


def read_yaml(root: Root, path: str, *, placeholder: str = "") -> Document:
    """A YAML file whose top level is a mapping; a list is wrapped as ``{"": list}``. Never raises for bad content."""
    return _document(root.read(path, MAX_YAML_BYTES), path, placeholder, _parse_yaml)


class _BadContentError(Exception):
    """The content is not usable: state and reason."""

    def __init__(self, detail: str, state: State = "damaged") -> None:
        super().__init__(detail)
        self.state: State = state


def _document(content: Content, path: str, placeholder: str, parse: Callable[[bytes], dict[str, Any]]) -> Document:
    shown = clean(path)
    pruned = content.state == "placeholder" and content.detail != LARGE_FILE_POINTER
    cause = placeholder if pruned and placeholder else f"file:{shown}"
    if content.state != "ok":
        return Document(shown, content.state, cause, content.detail)
    try:
        return Document(shown, "ok", cause, data=parse(content.data))
    except _BadContentError as problem:
        return Document(shown, problem.state, cause, str(problem))


def _skim_json(skimmer: Skimmer, data: bytes) -> dict[str, Any]:
    _check_encoding(data)
    value = skimmer.read(data)
    return _parse_json(data) if value is None else value


def _parse_json(data: bytes) -> dict[str, Any]:
    _check_encoding(data)
    try:
        value = from_json(data)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _BadContentError("it is nested too deeply", "refused") from None
        raise _BadContentError(f"it is not JSON: {clean(str(error), 200)}") from None
    except RecursionError:
        raise _BadContentError("it is nested too deeply", "refused") from None
    if not isinstance(value, dict):
        raise _BadContentError(f"its top level is {_name(value)}, not an object")
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
        raise _BadContentError("it starts with a byte order mark; plain UTF-8 is wanted")
    if b"\0" in data[:64]:
        raise _BadContentError("it is binary, or UTF-16; plain UTF-8 is wanted")


def _refuse_duplicates(data: bytes) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _BadContentError(f"the key {shorten(key)} stands in it twice")
            seen.add(key)

    json.loads(data, object_pairs_hook=unique)


def _name(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def _parse_yaml(data: bytes) -> dict[str, Any]:
    """As parsed before, if the same bytes were: runs of one workload have one configuration. Nobody changes it."""
    return _parsed_yaml(data) if len(data) <= _KEPT_BYTES else _parsed_yaml.__wrapped__(data)


@lru_cache(64)
def _parsed_yaml(data: bytes) -> dict[str, Any]:
    _check_encoding(data)
    try:
        value = yaml_text.parse(data)
    except yaml_text.UnusableYamlError as problem:
        state: State = "refused" if isinstance(problem, yaml_text.RefusedYamlError) else "damaged"
        raise _BadContentError(str(problem), state) from None
    if isinstance(value, list):
        return {"": value}
    if not isinstance(value, dict):
        raise _BadContentError(f"its top level is {_name(value)}, not a mapping")
    return value
