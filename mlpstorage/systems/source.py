"""The YAML of a system description: its values, the line of each, and keys that stand in it twice.

Values are those of YAML 1.1 after its tags (``!!int "160"`` is 160), as PyYAML's safe loader gives them. Anything that
would hide what a reader of the file sees is refused: aliases, merge keys, tags of other languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from mlpstorage.results import yaml_text
from mlpstorage.results.document import Document
from mlpstorage.results.files import Content
from mlpstorage.results.text import SHORT, clean, shorten
from mlpstorage.results.yaml_text import UnusableYamlError

MAX_DEPTH = 50
"""Levels of nesting; the format has nine."""
MAX_VALUES = 100_000
"""Keys and values; the longest descriptions, with all kernel settings of every node group, have some ten thousand."""
_TWIN = "\n"
"""Stands for a key that was there before; no cleaned key is this."""
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One description as it was read. ``document`` has its state, path and values."""

    document: Document
    lines: Mapping[Location, int] = field(default_factory=dict, repr=False)
    """Line (from 1) of each value by its place; that of a mapping's value is its key's."""
    duplicates: tuple[tuple[Location, int], ...] = ()
    """Places and lines of keys that were there before; the first value counts."""
    texts: Mapping[Location, str] = field(default_factory=dict, repr=False)
    """What stands in the file where the value is no text: 9.10, say, for 9.1."""

    def line(self, location: Location) -> int:
        """The line of a value, or of the nearest thing around it."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


def parse(content: Content, path: str) -> Source:
    """A description from the bytes of its file. Never raises for bad content: the document's state tells."""
    shown = clean(path)
    cause = f"file:{shown}"
    if content.state != "ok":
        return Source(Document(shown, content.state, cause, content.detail))
    reader = _Reader()
    try:
        data = reader.read(content.data)
    except UnusableYamlError as problem:
        return Source(Document(shown, "damaged", cause, clean(str(problem), 300)))
    return Source(Document(shown, "ok", cause, data=data), reader.lines, tuple(reader.duplicates), reader.texts)


class _Open:
    """A mapping or list whose end has not come: its value, its place, and the key that waits for a value, with its
    place.

    What lies in the value of a key that was there before has no place.
    """

    __slots__ = ("key", "key_location", "location", "value")

    def __init__(self, value: dict[str, Any] | list[Any], location: Location | None) -> None:
        self.value = value
        self.location = location
        self.key: str | None = None
        self.key_location: Location | None = None


class _Reader:
    """Builds the values from the events of the text: nothing is composed before it is known to be harmless."""

    def __init__(self) -> None:
        self.lines: dict[Location, int] = {}
        self.duplicates: list[tuple[Location, int]] = []
        self.texts: dict[Location, str] = {}
        self._top: Any = None
        self._open: list[_Open] = []
        self._values = self._documents = 0

    def read(self, data: bytes) -> dict[str, Any]:
        """The top mapping. Raises UnusableYamlError."""
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnusableYamlError(f"it is not UTF-8 (byte {error.start})") from None
        if "\0" in text:
            raise UnusableYamlError("it holds NUL characters: it is binary, or UTF-16")
        yaml_text.feed(text, self._take)
        if not isinstance(self._top, dict):
            raise UnusableYamlError("its top level is not a mapping")
        return self._top

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._open.pop()
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise UnusableYamlError(f"it is not YAML: line {_line(event)}: but found another document")
        elif isinstance(event, yaml.NodeEvent):
            self._values += 1
            if self._values > MAX_VALUES:
                raise UnusableYamlError(f"it has more than {MAX_VALUES} values")
            self._node(event, kind)

    def _node(self, event: Any, kind: type) -> None:
        above = self._open[-1] if self._open else None
        if kind is yaml.AliasEvent:
            raise UnusableYamlError(f"line {_line(event)}: aliases are not read: write the value out")
        if above is not None and isinstance(above.value, dict) and above.key is None:
            self._key(above, event, kind)
        elif kind is yaml.ScalarEvent:
            value = yaml_text.scalar(event)
            location = self._put(above, value, event)
            if not isinstance(value, str) and location is not None:
                self.texts[location] = clean(event.value, SHORT)
        else:
            if event.tag not in yaml_text.COLLECTIONS:
                raise UnusableYamlError(f"it is not YAML: line {_line(event)}: the tag {event.tag} is not read")
            opened: dict[str, Any] | list[Any] = {} if kind is yaml.MappingStartEvent else []
            self._open.append(_Open(opened, self._put(above, opened, event)))
            if len(self._open) > MAX_DEPTH:
                raise UnusableYamlError(f"it is nested deeper than {MAX_DEPTH} levels")

    def _key(self, above: _Open, event: Any, kind: type) -> None:
        line = _line(event)
        if kind is not yaml.ScalarEvent or yaml_text.is_merge(event):
            shown = shorten(event.value) if kind is yaml.ScalarEvent else "a list or a mapping"
            raise UnusableYamlError(f"line {line}: a key must be plain text; {shown} is not")
        key = clean(event.value)
        twin = key in above.value
        above.key, above.key_location = _TWIN if twin else key, None
        if above.location is not None:
            location = (*above.location, key)
            if twin:
                self.duplicates.append((location, line))
            else:
                self.lines[location] = line
                above.key_location = location

    def _put(self, above: _Open | None, value: Any, event: Any) -> Location | None:
        """Add a value to what lies above it; gives its place."""
        location: Location | None = ()
        if above is None:
            self._top = value
        elif isinstance(above.value, list):
            location = None if above.location is None else (*above.location, len(above.value))
            above.value.append(value)
        else:  # the key has said in which line
            if above.key is not None and above.key is not _TWIN:
                above.value[above.key] = value
            above.key = None
            return above.key_location
        if location is not None:
            self.lines[location] = _line(event)
        return location


def _line(event: Any) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
