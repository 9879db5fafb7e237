"""The YAML of a system description: its values, the line of each, and keys that stand in it twice.

Values are those of YAML 1.1 after its tags (``!!int "160"`` is 160), as PyYAML's safe loader gives them. Anything that
would hide what a reader of the file sees is refused: aliases, merge keys, tags of other languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mlpstorage.results.document import Document
from mlpstorage.results.files import Content
from mlpstorage.results.text import clean, shorten
from mlpstorage.results.yaml_text import scalar_value

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # libyaml is optional in PyYAML
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

MAX_DEPTH = 50
"""Levels of nesting; the format has nine."""
MAX_VALUES = 100_000
"""Keys and values; the longest descriptions, with all kernel settings of every node group, have some ten thousand."""
_PLAIN = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One description as it was read. ``document`` has its state, path and values."""

    document: Document
    lines: Mapping[Location, int] = field(default_factory=dict, repr=False)
    """Line (from 1) of each value by its place; that of a mapping's value is its key's."""
    duplicates: tuple[tuple[Location, int], ...] = ()
    """Places and lines of keys that were there before; the first value counts."""

    def line(self, location: Location) -> int:
        """The line of a value, or of the nearest thing around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


class _RefusedError(Exception):
    """The file cannot be used; the text says why."""


def parse(content: Content, path: str) -> Source:
    """A description from the bytes of its file. Never raises for bad content: the document's state tells."""
    shown = clean(path)
    cause = f"file:{shown}"
    if content.state != "ok":
        return Source(Document(shown, content.state, cause, content.detail))
    reader = _Reader()
    try:
        data = reader.read(content.data)
    except _RefusedError as problem:
        return Source(Document(shown, "damaged", cause, clean(str(problem), 300)))
    return Source(Document(shown, "ok", cause, data=data), reader.lines, tuple(reader.duplicates))


class _Reader:
    def __init__(self) -> None:
        self.lines: dict[Location, int] = {}
        self.duplicates: list[tuple[Location, int]] = []

    def read(self, data: bytes) -> dict[str, Any]:
        """The top mapping. Raises _RefusedError."""
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _RefusedError(f"it is not UTF-8 (byte {error.start})") from None
        if "\0" in text:
            raise _RefusedError("it holds NUL characters: it is binary, or UTF-16")
        try:
            self._check_events(text)
            node = yaml.compose(text, Loader=_Loader)
            value = None if node is None else self._value(node, ())
        except yaml.MarkedYAMLError as error:
            place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
            raise _RefusedError(f"it is not YAML: {place}{error.problem}") from None
        except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
            # dates that do not exist, integers of thousands of digits
            raise _RefusedError(f"it is not usable YAML: {error}") from None
        if not isinstance(value, dict):
            raise _RefusedError("its top level is not a mapping")
        return value

    def _check_events(self, text: str) -> None:
        depth = values = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1 if event.start_mark else 1
                raise _RefusedError(f"line {line}: aliases are not read: write the value out")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise _RefusedError(f"it is nested deeper than {MAX_DEPTH} levels")
            values += isinstance(event, yaml.NodeEvent)
            if values > MAX_VALUES:
                raise _RefusedError(f"it has more than {MAX_VALUES} values")

    def _value(self, node: Any, location: Location) -> Any:
        self.lines.setdefault(location, node.start_mark.line + 1)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN:
            raise _RefusedError(f"it is not YAML: line {node.start_mark.line + 1}: the tag {node.tag} is not read")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*location, index)) for index, child in enumerate(node.value)]
        return scalar_value(node)

    def _mapping(self, node: Any, location: Location) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise _RefusedError(f"line {line}: a key must be plain text; {shorten(key_node.value)} is not")
            key = clean(key_node.value)
            if key in found:
                self.duplicates.append(((*location, key), line))
                continue
            self.lines[(*location, key)] = line
            found[key] = self._value(value_node, (*location, key))
        return found
