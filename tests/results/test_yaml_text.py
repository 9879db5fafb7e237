"""The values of a YAML text are those of PyYAML's safe loader; what hides something from a reader is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlpstorage.results.yaml_text import RefusedYamlError, UnusableYamlError, parse

KEYS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=80)
    | st.datetimes()
    | st.dates()
    | st.sampled_from(["yes", "0x1f", "1e3", "012", "~", "null", "=", "<<", "1:20", "2026-07-01"])
)
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=4), max_leaves=15
)


@given(VALUES, st.sampled_from([None, True, False]), st.sampled_from([None, "'", '"']))
def test_values_are_those_of_the_safe_loader(value: Any, flow: bool | None, style: str | None) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, default_style=style, allow_unicode=True)
    if "&" not in text and "? " not in text:
        assert parse(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [x, 'y', \"z\"]\nc: {d: ~, e: 1.5}\n",
        "1: a\ntrue: b\n2026-01-02: c\n=: d\n",
        "a: !!int '160'\nb: !!str 5\nc: ! 7\nd: !!map {e: !!seq [1]}\nf: !!binary aGk=\n",
        "a: |\n  text\n  more\nb: >\n  folded\n  text\nc: plain\n  goes on\n",
        "- workload=llama3_8b\n- ++workload.a.b=1\n- ++hydra.run.dir=/srv/a: b\n",
        "a: 2026-07-01T10:00:00Z\nb: 2026-07-01 10:00:00.5 +2\nc: 1_000\nd: .inf\ne: 0o14\nf: 190:20:30\n",
        "a: &x 1\n",
        "%YAML 1.1\n---\na: 1\n...\n",
        "'a': 1\n\"b\": 2\n? c\n: 3\n",
        "",
        "a:\n",
        "just text\n",
    ],
)
def test_one_text_of_each_kind(text: str) -> None:
    for _ in range(2):  # the second time from what the first one left
        assert repr(parse(text.encode())) == repr(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("a: 1\nb: 2\na: 3\n", UnusableYamlError, "line 3: the key 'a' stands in it twice"),
        ("'1': a\n1: b\n", UnusableYamlError, "twice"),
        ("a: {b: 1, b: 2}\n", UnusableYamlError, "twice"),
        ("a:\n  <<: {b: 1}\n", UnusableYamlError, "line 2: a key must be plain text"),
        ("? [a]\n: 1\n", UnusableYamlError, "line 1: a key must be plain text"),
        ("? {a: b}\n: 1\n", UnusableYamlError, "plain text"),
        ("a: &x [1]\nb: *x\n", RefusedYamlError, "line 2: aliases are not read"),
        ("*x : 1\n", RefusedYamlError, "aliases"),
        ("[" * 101 + "]" * 101, RefusedYamlError, "nested deeper than 100 levels"),
        ("- " * 101 + "a\n", RefusedYamlError, "nested"),
        ("a: 1\n---\nb: 2\n", UnusableYamlError, "line 2: but found another document"),
        ("a: 1\nb: =\n", UnusableYamlError, "line 2: could not determine a constructor"),
        ("a: !!set {b}\n", UnusableYamlError, "could not determine a constructor"),
        ("a: !!python/name:os.system x\n", UnusableYamlError, "could not determine a constructor"),
        ("a: !!timestamp 2026\n", UnusableYamlError, "not usable YAML: '2026' is not what its tag"),
        ("a: 1" + ":1" * 1_000_000 + "\n", UnusableYamlError, "a number has 2000001 characters"),
        ("a: !!float 1" + "0" * 1000 + "\n", UnusableYamlError, "a number has 1001 characters"),
        ("a: !!bool x\n", UnusableYamlError, "'x' is not what its tag"),
        ("a: !!int ''\n", UnusableYamlError, "'' is not what its tag"),
        ("a: !!float ''\n", UnusableYamlError, "not usable YAML"),
        ("a: 2026-02-31\n", UnusableYamlError, "not usable YAML: day"),
        ("a: " + "9" * 5000 + "\n", UnusableYamlError, "not usable YAML"),
        ("a: 1: 2\n", UnusableYamlError, "line 1: mapping values are not allowed"),
        ("a: [1\n", UnusableYamlError, "not YAML"),
        ("\ta: 1\n", UnusableYamlError, "not YAML"),
        ("a: \x01\n", UnusableYamlError, "not"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text: str, error: type[UnusableYamlError], reason: str) -> None:
    for _ in range(2):
        with pytest.raises(error) as found:
            parse(text.encode())
        assert reason in str(found.value)


def test_a_hundred_levels_are_read() -> None:
    value: Any = "x"
    for _ in range(100):
        value = [value]
    assert parse(b"[" * 100 + b"x" + b"]" * 100) == value
