"""Text from a tree is harmless before it goes anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlpstorage.results.text import LONG, clean, clean_all, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, and (quoted) \\ as it is", "plain, and (quoted) \\ as it is"),
        ("Grüße 東京", "Grüße 東京"),
        ("\x1b[2Jgone", "\ufffd[2Jgone"),
        ("a\nb\tc\0", "a\ufffdb\ufffdc\ufffd"),
        ("\u202etxt.exe\u200b", "\ufffdtxt.exe\ufffd"),
        ("half \ud800", "half \ufffd"),
        ("wide\u2003and\u00a0fixed spaces", "wide and fixed spaces"),
    ],
)
def test_what_harms_is_replaced(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_printed(text: str) -> None:
    shown = clean(text)
    assert shown.isprintable()
    assert clean(shown) == shown
    assert len(shown) == len(text)


@given(st.dictionaries(st.text(st.characters(codec=None)), st.text(st.characters(codec=None))))
def test_many_texts_are_cleaned_as_each_is(texts: dict[str, str]) -> None:
    assert clean_all(texts) == {clean(key): clean(value) for key, value in texts.items()}


def test_of_many_texts_only_a_long_one_is_cut() -> None:
    texts = {"short": "x" * (LONG - 10), "long": "x" * (LONG + 1)}
    assert clean_all(texts) == {"short": texts["short"], "long": clean(texts["long"])}


def test_long_text_is_cut_and_says_so() -> None:
    assert clean("x" * (LONG + 1)).endswith(f"... ({LONG + 1} characters)")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1, "1"), (0.0, "0.0"), (1.0, "1.0"), (True, "true"), (False, "false"), (None, "null"), ("0", "'0'")],
)
def test_a_raw_value_is_shown_by_its_type(value: object, shown: str) -> None:
    assert shorten(value) == shown
