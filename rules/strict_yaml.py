"""YAML for rule data, without YAML's guesses.

Every scalar stays the text that was written (an unquoted ``null`` is None); pydantic converts it by the target type.
What could change the meaning of a predicate unseen is refused: explicit tags (``require: ! a || b`` would lose its
"not"), anchors and aliases, merge keys, duplicate keys, and predicates that are folded or stand in a flow mapping.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import RuleLoadError

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # libyaml is optional in PyYAML
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

PREDICATE_KEYS = frozenset({"require", "when", "at", "applies"})
"""Keys whose value is CEL: one line, or a literal block, in a block mapping."""
_QUOTED = frozenset({"'", '"', "|", ">"})
_NULLS = frozenset({"null", "~", ""})
PREDICATE_MAPPINGS = frozenset({"let"})
"""Keys whose value is a mapping of such texts."""


@dataclass(frozen=True, slots=True)
class Document:
    """A loaded file: plain dicts, lists and texts, and the line (from 1) of each node by its path of keys."""

    path: Path
    data: Any
    lines: Mapping[tuple[str | int, ...], int]

    def line(self, location: tuple[str | int, ...]) -> int:
        """The line of the node at this path of keys, or of its nearest ancestor."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)

    def position(self, location: tuple[str | int, ...], character: int) -> tuple[int, int]:
        """Line and column in the file of a character (from 1) of the text at this path of keys.

        The column is 0, and the line that of the key, where the text does not stand in the file as it is.
        """
        key, value = self.line(location), self.data
        try:
            for part in location:
                value = value[part]
            before = value[: character - 1].count("\n")
            start = value.rfind("\n", 0, max(character - 1, 0)) + 1
            piece = value[start:].partition("\n")[0]
            written = self.path.read_text(encoding="utf-8").splitlines()
        except (KeyError, IndexError, TypeError, AttributeError, OSError):
            return key, 0
        for line in (key, min(key + 1 + before, len(written))):  # beside the key, or in a block below it
            at = written[line - 1].find(piece, written[line - 1].find(":") + 1 if line == key else 0)
            if character and piece and at >= 0:
                return line, at + character - start
        return key, 0


def load(path: Path, leave_out: str = "") -> Document:
    """Read one file. Raises RuleLoadError with file and line for anything that is refused.

    ``leave_out`` is a key whose blocks are passed over unread; lines keep their numbers.
    """
    lines: dict[tuple[str | int, ...], int] = {}
    try:
        text = path.read_text(encoding="utf-8")
        if leave_out:
            text = _without(leave_out, text)
        data = _Reader(path, text, lines).document()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RuleLoadError(f"not YAML: {error.problem}", path, line) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RuleLoadError(f"cannot be read: {error}", path, 1) from error
    return Document(path, data, lines)


def _without(key: str, text: str) -> str:
    """The text with empty lines in place of the key's blocks: the lines below it that are indented further, or begin
    an item of a list at its own indentation.
    """
    block = rf"^( *){re.escape(key)}:\n(?:(?:\1 .*|\1- .*| *)\n)*"
    return re.sub(block, lambda found: "\n" * found[0].count("\n"), text, flags=re.MULTILINE)


class _Reader:
    """Builds the data from the parser's events, which still show what a later stage has forgotten."""

    def __init__(self, path: Path, text: str, lines: dict[tuple[str | int, ...], int]) -> None:
        self._path = path
        self._next: Callable[[], Any] = _Loader(text).get_event
        self._lines = lines

    def _fail(self, problem: str, event: yaml.Event) -> RuleLoadError:
        return RuleLoadError(problem, self._path, _line(event))

    def document(self) -> Any:
        """The data of the first document."""
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.NodeEvent):
                return self._value(event, ())
        raise RuleLoadError("the file is empty", self._path, 1)

    def _value(self, event: yaml.Event, location: tuple[str | int, ...]) -> Any:
        self._lines[location] = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.AliasEvent):
            raise self._fail("an alias is not allowed", event)
        if not isinstance(event, yaml.CollectionStartEvent):
            raise self._fail("unexpected YAML", event)
        self._refuse_properties(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, location)
        items: list[Any] = []
        while not isinstance(child := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(child, (*location, len(items))))
        return items

    def _refuse_properties(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.anchor is not None:
            raise self._fail("an anchor is not allowed", event)
        if event.tag is not None:
            raise self._fail("a tag is not allowed: quote the text if it begins with '!'", event)

    def _scalar(self, event: yaml.ScalarEvent) -> str | None:
        self._refuse_properties(event)
        text: str = event.value
        return None if text in _NULLS and event.style not in _QUOTED else text

    def _mapping(self, event: yaml.MappingStartEvent, location: tuple[str | int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        inside_let = bool(location) and location[-1] in PREDICATE_MAPPINGS
        while not isinstance(key_event := self._next(), yaml.MappingEndEvent):
            key = self._scalar(key_event) if isinstance(key_event, yaml.ScalarEvent) else None
            if key is None or (key == "<<" and key_event.style not in _QUOTED):
                raise self._fail("a key must be plain text; merge keys are not allowed", key_event)
            if key in result:
                raise self._fail(f"duplicate key {key!r}", key_event)
            value_event = self._next()
            if (key in PREDICATE_KEYS or inside_let) and isinstance(value_event, yaml.ScalarEvent):
                self._check_predicate(key, event, value_event)
            place = (*location, key)
            result[key] = self._value(value_event, place)
            self._lines[place] = _line(key_event)
        return result

    def _check_predicate(self, key: str, mapping: yaml.MappingStartEvent, value: yaml.ScalarEvent) -> None:
        if mapping.flow_style:
            raise self._fail(f"{key!r} must not stand in a flow mapping {{...}}", value)
        spans_lines = (
            value.start_mark is not None
            and value.end_mark is not None
            and (value.start_mark.line != value.end_mark.line)
        )
        if value.style == ">" or (spans_lines and value.style != "|"):
            raise self._fail(f"{key!r} must be one line or a literal block (|), not folded text", value)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1
