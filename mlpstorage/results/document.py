"""One file of a results tree as data: its state, and typed access to its values by JSON pointer.

A getter gives a :class:`Reading` (value and source) or the :class:`~rules.facts.Absence` that says why there is none.
Where a value can stand at several places, the getters take them all: the first that has one counts (:func:`first_of`).
What counts as a value of a type is the same for every file (``convert.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar

from rules.facts import Absence, Reason, Source

from .convert import InvalidValueError, as_bool, as_float, as_int, as_list, as_mapping, as_text, as_time, as_utc_time
from .files import LARGE_FILE_POINTER, MAX_JSON_BYTES, MAX_YAML_BYTES, Content, Root, State
from .parsing import BadContentError, parse_json, parse_yaml, skim_json
from .partial import Skimmer
from .text import clean, shorten

T = TypeVar("T")
U = TypeVar("U")


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


def read_json(
    root: Root, path: str, *, placeholder: str = "", skimmer: Skimmer | None = None, keep: bool = False
) -> Document:
    """A JSON file whose top level is an object. Never raises for bad content.

    ``placeholder``: the cause id if the content was pruned (one for all files of a leaf). ``skimmer``: what of it is
    read, instead of all. ``keep``: the next reader of the file gets this document, so that it is parsed once.
    """
    kept: Document | None = root.kept.pop(path, None)
    parse = parse_json if skimmer is None else partial(skim_json, skimmer)
    document = kept or _document(root.read(path, MAX_JSON_BYTES), path, placeholder, parse)
    if keep:
        root.kept[path] = document
    return document


def read_yaml(root: Root, path: str, *, placeholder: str = "") -> Document:
    """A YAML file whose top level is a mapping; a list is wrapped as ``{"": list}``. Never raises for bad content."""
    return _document(root.read(path, MAX_YAML_BYTES), path, placeholder, parse_yaml)


def _document(content: Content, path: str, placeholder: str, parse: Callable[[bytes], dict[str, Any]]) -> Document:
    shown = clean(path)
    pruned = content.state == "placeholder" and content.detail != LARGE_FILE_POINTER
    cause = placeholder if pruned and placeholder else f"file:{shown}"
    if content.state != "ok":
        return Document(shown, content.state, cause, content.detail)
    try:
        return Document(shown, "ok", cause, data=parse(content.data))
    except BadContentError as problem:
        return Document(shown, problem.state, cause, str(problem))
