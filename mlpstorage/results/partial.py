"""Reading of large JSON objects only what is asked for.

Nine tenths of a metadata file are counters of disks and interfaces that no fact hangs on. A skimmer checks the syntax
of the whole text, builds only the values that are read, and sees every key that stands twice beside one of these.
What it gives, a parse of the whole text gives too; where it is in doubt it gives nothing, and the whole is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import PydanticOmit, SchemaValidator
from pydantic_core.core_schema import (
    CoreSchema,
    any_schema,
    definition_reference_schema,
    definitions_schema,
    dict_schema,
    list_schema,
    no_info_after_validator_function,
    str_schema,
    union_schema,
)

Path = tuple[str, ...]
_Node = tuple[frozenset[str] | None, Mapping[str, Any]]
"""Of the objects at a path: the keys that are read (None: all), and the nodes below."""
_WHOLE: _Node = (None, {})
_OMIT = PydanticOmit()


class Skimmer:
    """Reads an object without the values of some keys.

    ``only`` names, for the objects at a path of keys, those that are read; elsewhere all are. Lists are no level of a
    path: it holds for each object in them. ``lists`` are the levels where a long list of objects is expected, and
    ``plain`` says that lists hold no objects at all. Reads one text at a time: it is not for several threads.
    """

    def __init__(
        self, only: Mapping[Path, frozenset[str]], *, lists: frozenset[int] = frozenset(), plain: bool = False
    ) -> None:
        depth = max(map(len, only)) + 1
        self._nodes = [_node(only, ()), *[_WHOLE] * depth]
        self._begun = self._kept = 0
        orders = ["plain" if plain else "lists" if level in lists else "objects" for level in range(depth + 1)]
        values = [self._value(level, depth, order) for level, order in enumerate(orders)]
        self._validator = SchemaValidator(definitions_schema(definition_reference_schema("0"), values))

    def read(self, data: bytes) -> dict[str, Any] | None:
        """The object; None where the text is not one, or where a key may stand in it twice."""
        self._begun = self._kept = 0
        try:
            value = self._validator.validate_json(data)
        except ValueError:  # no such object, or numbers that cannot be; a parse of the whole text says what
            return None
        return value if isinstance(value, dict) and self._begun == self._kept else None

    def _value(self, level: int, depth: int, order: str) -> CoreSchema:
        """A value of a level. Keys of its objects are counted as they stand there and as they are kept."""
        key, below = (self._key_at(level), level + 1) if level < depth else (self._any_key, level)
        keys = no_info_after_validator_function(key, str_schema())
        objects = no_info_after_validator_function(
            self._end, dict_schema(keys, definition_reference_schema(f"{below}"))
        )
        items = list_schema(definition_reference_schema(f"{level}"))
        # What is tried in vain is copied for a message that nobody reads, so what may be large comes first.
        choices: dict[str, list[CoreSchema]] = {
            "objects": [objects, items],
            "lists": [list_schema(objects), objects, items],
            "plain": [objects],
        }
        return union_schema([*choices[order], any_schema()], mode="left_to_right", ref=f"{level}")

    def _key_at(self, level: int) -> Callable[[str], str]:
        nodes = self._nodes

        def key_at(key: str) -> str:
            names, below = nodes[level]
            if names is not None and key not in names:
                raise _OMIT
            nodes[level + 1] = below.get(key, _WHOLE)
            self._begun += 1
            return key

        return key_at

    def _any_key(self, key: str) -> str:
        self._begun += 1
        return key

    def _end(self, value: dict[str, Any]) -> dict[str, Any]:
        self._kept += len(value)
        return value


def _node(only: Mapping[Path, frozenset[str]], path: Path) -> _Node:
    below = {known[len(path)] for known in only if known[: len(path)] == path != known}
    return only.get(path), {key: _node(only, (*path, key)) for key in below}
