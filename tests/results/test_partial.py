"""Skimming a JSON text gives what a parse of all of it gives, without what is not asked for."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlpstorage.results.partial import Path, Skimmer

ONLY = {("s", "h"): frozenset({"m", "c"}), ("s", "h", "m"): frozenset({"t"}), ("z",): frozenset[str]()}
SKIMMER = Skimmer(ONLY, lists=frozenset({2}))
KEYS = st.sampled_from(["s", "h", "m", "c", "t", "z", "é", '"', "a b"])
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def without(value: Any, path: Path = ()) -> Any:
    """What is asked for of a value, said in the plainest way."""
    if isinstance(value, list):
        return [without(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    names = ONLY.get(path, value)
    return {key: without(item, (*path, key)) for key, item in value.items() if key in names}


class Pairs(list[tuple[str, Any]]):
    """An object as it is written: a key may stand in it twice."""

    def text(self) -> str:
        return "{" + ", ".join(f"{json.dumps(key)}: {written(value)}" for key, value in self) + "}"


def written(value: Any) -> str:
    if isinstance(value, Pairs):
        return value.text()
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)


def has_twins(value: Any, path: Path = ()) -> bool:
    """Whether a key stands twice, or more often, among those that are asked for of one object."""
    if isinstance(value, Pairs):
        names = [key for key, _ in value if path not in ONLY or key in ONLY[path]]
        kept = [(key, item) for key, item in value if key in names]
        return len(names) != len(set(names)) or any(has_twins(item, (*path, key)) for key, item in kept)
    return isinstance(value, list) and any(has_twins(item, path) for item in value)


PAIRS = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.lists(st.tuples(KEYS, below), max_size=4).map(Pairs),
    max_leaves=20,
).filter(lambda value: isinstance(value, Pairs))


@given(OBJECTS, st.sampled_from([None, 0, 2]))
def test_what_is_read_is_what_a_parse_of_all_gives(value: dict[str, Any], indent: int | None) -> None:
    for ascii_only in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
        assert SKIMMER.read(text.encode("utf-8", "surrogatepass")) in (without(value), None)
    if text.isascii():
        assert SKIMMER.read(text.encode()) == without(value)


@given(PAIRS)
def test_a_key_that_is_read_and_stands_twice_gives_nothing(value: Pairs) -> None:
    found = SKIMMER.read(value.text().encode())
    if has_twins(value):
        assert found is None
    elif found is not None:
        assert found == without(json.loads(value.text()))


@given(OBJECTS, st.data())
def test_a_text_that_is_no_json_gives_nothing(value: dict[str, Any], data: st.DataObject) -> None:
    """Neither cut short nor with a character too many, wherever it stands, unread parts included."""
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text) - 1))
    assert SKIMMER.read(text[:at].encode()) is None
    try:
        json.loads(broken := text[:at] + "}" + text[at:])
    except ValueError:
        assert SKIMMER.read(broken.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        '{"s": {"h": []}, "s": {"h": []}}',
        '{"s": {"h": [], "h": []}}',
        '{"s": {"h": [{"c": 1, "c": 2}]}}',
        '{"s": {"h": [{"m": {"t": 1, "t": 1}}]}}',
        '{"a": [{"b": {"c": {"d": {"e": 1, "e": 2}}}}]}',
    ],
)
def test_twins_are_seen_at_every_level(text: str) -> None:
    assert SKIMMER.read(text.encode()) is None


def test_twins_among_what_is_not_read_do_not_matter() -> None:
    text = b'{"s": {"h": [{"x": 1, "x": 2, "c": 3}]}, "z": {"y": 1, "y": 2}}'
    assert SKIMMER.read(text) == {"s": {"h": [{"c": 3}]}, "z": {}}


@pytest.mark.parametrize("text", ["[]", "null", "1", '"x"', "", "{", '{"a": "\\ud800"}', '{"a":' * 300])
def test_what_is_no_object_gives_nothing(text: str) -> None:
    assert SKIMMER.read(text.encode()) is None


def test_numbers_are_those_of_a_whole_parse() -> None:
    text = b'{"a": 1, "b": 1.0, "c": 123456789012345678901234567890, "d": 1e400, "e": -0.0, "f": NaN}'
    found = SKIMMER.read(text)
    assert found is not None
    assert math.isnan(found.pop("f"))
    assert [repr(value) for value in found.values()] == ["1", "1.0", "123456789012345678901234567890", "inf", "-0.0"]


def test_plain_lists_are_taken_as_they_are() -> None:
    skimmer = Skimmer({(): frozenset({"a", "b"})}, plain=True)
    assert skimmer.read(b'{"a": [1, 2.5, "x"], "b": {"c": 1}, "c": [1]}') == {"a": [1, 2.5, "x"], "b": {"c": 1}}
    assert skimmer.read(b'{"b": {"c": 1, "c": 2}}') is None


def test_one_reading_leaves_nothing_for_the_next() -> None:
    assert SKIMMER.read(b'{"a": 1, "a": 2}') is None
    assert SKIMMER.read(b'{"s": {"h": 1}}') == {"s": {"h": 1}}
    assert SKIMMER.read(b'{"m": {"x": 1}}') == {"m": {"x": 1}}
