"""YAML of a stranger as values, in one pass over its events: no aliases, no merge keys, each key once, not too deep.

The values are those of PyYAML's safe loader. Nothing is composed before it is known to be harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import yaml

from .text import clean, shorten

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # libyaml is optional in PyYAML
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MAX_DEPTH = 100
"""Levels of nesting; the deepest real file has nine."""
COLLECTIONS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
"""Tags of mappings and lists, None where none is written."""
_MERGE = "tag:yaml.org,2002:merge"
_VALUE = "tag:yaml.org,2002:value"
_TEXT = "tag:yaml.org,2002:str"
_RESOLVER: Any = yaml.resolver.Resolver()
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MAX_NUMBER = 1000
"""Characters of a number: those to the base of 60 take time with the square of their length."""
_KEPT_LENGTH = 64


class UnusableYamlError(ValueError):
    """The text is no YAML, or cannot be used; it says why."""


class RefusedYamlError(UnusableYamlError):
    """It might be YAML, and is not read."""


def parse(data: bytes) -> Any:
    """The one value of the text; None if there is none. Raises UnusableYamlError."""
    builder = _Builder()
    feed(data, builder.take)
    return builder.value


def feed(data: bytes | str, take: Callable[[Any], None]) -> None:
    """Hand out the events of a text, as ``yaml.parse`` gives them, one by one.

    Raises UnusableYamlError, also for what ``take`` raises as PyYAML does.
    """
    try:
        loader: Any = _SafeLoader(data)
        for event in iter(loader.get_event, None):
            take(event)
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UnusableYamlError(f"it is not YAML: {place}{clean(str(error.problem), 200)}") from None
    except UnusableYamlError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
        # dates that do not exist, integers of thousands of digits
        raise UnusableYamlError(f"it is not usable YAML: {clean(str(error), 200)}") from None


class _Mapping:
    """A mapping whose end has not come: its value, the texts of its keys, and the key that waits for a value."""

    __slots__ = ("key", "keys", "value", "waiting")

    def __init__(self) -> None:
        self.value: dict[Any, Any] = {}
        self.keys: set[str] = set()
        self.key: Any = None
        self.waiting = False


class _Builder:
    def __init__(self) -> None:
        self.value: Any = None
        self._documents = 0
        self._open: list[_Mapping | list[Any]] = []

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            top = self._open[-1] if self._open else None
            if isinstance(top, _Mapping) and not top.waiting:
                self._key(top, event)
            else:
                self._put(top, scalar(event))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._start(event, _Mapping() if kind is yaml.MappingStartEvent else [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._open.pop()
        elif kind is yaml.AliasEvent:
            raise RefusedYamlError(f"line {event.start_mark.line + 1}: aliases are not read")
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                raise yaml.composer.ComposerError(None, None, "but found another document", event.start_mark)

    def _key(self, top: _Mapping, event: Any) -> None:
        if event.value in top.keys:
            line = event.start_mark.line + 1
            raise UnusableYamlError(f"line {line}: the key {shorten(event.value)} stands in it twice")
        top.keys.add(event.value)
        if is_merge(event):
            raise UnusableYamlError(f"line {event.start_mark.line + 1}: a key must be plain text")
        top.key = scalar(event, is_key=True)
        top.waiting = True

    def _start(self, event: Any, container: _Mapping | list[Any]) -> None:
        top = self._open[-1] if self._open else None
        if isinstance(top, _Mapping) and not top.waiting:
            raise UnusableYamlError(f"line {event.start_mark.line + 1}: a key must be plain text")
        if event.tag not in COLLECTIONS:
            problem = f"could not determine a constructor for the tag {event.tag!r}"
            raise yaml.constructor.ConstructorError(None, None, problem, event.start_mark)
        self._put(top, container.value if isinstance(container, _Mapping) else container)
        self._open.append(container)
        if len(self._open) > MAX_DEPTH:
            raise RefusedYamlError(f"it is nested deeper than {MAX_DEPTH} levels")

    def _put(self, top: _Mapping | list[Any] | None, value: Any) -> None:
        if isinstance(top, _Mapping):
            top.value[top.key] = value
            top.waiting = False
        elif top is None:
            self.value = value
        else:
            top.append(value)


def is_merge(event: Any) -> bool:
    """Whether a scalar's event is a merge key."""
    return event.tag == _MERGE or (event.tag is None and event.implicit[0] and event.value == "<<")


def scalar(event: Any, *, is_key: bool = False) -> Any:
    """The value of a scalar's event. Raises as PyYAML does."""
    if event.tag is None and len(event.value) <= _KEPT_LENGTH:
        if not event.implicit[0]:
            return event.value
        try:
            return _plain(event.value, is_key)
        except (yaml.YAMLError, ValueError, OverflowError):
            pass  # once more, to name the line
    return _construct(event.value, event.tag, event.implicit, event.start_mark, is_key)


@lru_cache(4096)
def _plain(text: str, is_key: bool) -> Any:
    """The value of a plain text; most files repeat the same few."""
    return _construct(text, None, (True, False), None, is_key)


def _construct(text: str, tag: str | None, implicit: tuple[bool, bool], mark: Any, is_key: bool) -> Any:
    if tag in (None, "!"):
        tag = _RESOLVER.resolve(yaml.ScalarNode, text, implicit)
    if is_key and tag == _VALUE:
        tag = _TEXT
    if len(text) > _MAX_NUMBER and tag in _NUMBERS:
        raise ValueError(f"a number has {len(text)} characters")
    return scalar_value(yaml.ScalarNode(tag, text, mark, mark))


def scalar_value(node: Any) -> Any:
    """What a scalar node stands for. Raises yaml.YAMLError, or ValueError or OverflowError where its text is wrong."""
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (AttributeError, LookupError):  # what the constructors meet where a text is not what its tag says
        raise ValueError(f"{shorten(node.value)} is not what its tag {node.tag} says") from None
