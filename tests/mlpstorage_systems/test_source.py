"""The text of a description as values, with the line of each and the keys that stand in it twice."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlpstorage.results.files import Content
from mlpstorage.systems.source import Source, parse

KEYS = st.text("ab-_ é1", max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab: #1é", max_size=6),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)


def source(text: str) -> Source:
    return parse(Content("ok", text.encode()), "x.yaml")


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_values_are_those_of_the_safe_loader(value: dict[str, Any]) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    if "&" not in text:
        found = source(text)
        assert found.document.data == value
        assert found.duplicates == ()


def test_each_value_has_the_line_of_its_key_or_of_itself() -> None:
    found = source('a:\n  b: 1\n  "":\n    - x\n    - c: 2\n      d: [3,\n        4]\n')
    assert found.document.data == {"a": {"b": 1, "": ["x", {"c": 2, "d": [3, 4]}]}}
    assert dict(found.lines) == {
        (): 1, ("a",): 1, ("a", "b"): 2, ("a", ""): 3, ("a", "", 0): 4, ("a", "", 1): 5, ("a", "", 1, "c"): 5,
        ("a", "", 1, "d"): 6, ("a", "", 1, "d", 0): 6, ("a", "", 1, "d", 1): 7,
    }  # fmt: skip


def test_of_a_key_that_stands_twice_the_first_value_counts_and_the_second_hides_nothing() -> None:
    found = source("a: {b: 1}\nc: 2\na:\n  b: [3, {d: 4, d: 5}]\n  e: 6\nc: 7\nf: 8\n")
    assert found.document.data == {"a": {"b": 1}, "c": 2, "f": 8}
    assert found.duplicates == ((("a",), 3), (("c",), 6))
    assert ("a", "e") not in found.lines
    assert found.lines[("f",)] == 7


def test_twins_within_lists_and_mappings_are_told_by_their_place() -> None:
    found = source("a:\n- b: 1\n  b: 2\n- {c: {d: 1, d: 2}}\n")
    assert found.duplicates == ((("a", 0, "b"), 3), (("a", 1, "c", "d"), 4))
    assert found.document.data == {"a": [{"b": 1}, {"c": {"d": 1}}]}
