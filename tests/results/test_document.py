"""A value that can stand at several places of a file."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from mlpstorage.results.document import Document, Found, Reading, first_of
from rules.facts import Reason

PLACES = ("/args/count", "/count", "/no/such/object")
MISSING = Document("a.json", "missing", "file:a.json", "there is no such file")


def _document(*values: Any) -> Document:
    return Document("a.json", "ok", "file:a.json", data={"args": {"count": values[0]}, "count": values[1], "no": 1})


@pytest.mark.parametrize(
    ("content", "pointer", "detail"),
    [
        ({}, "/metric", "the key is not set"),
        ({"metric": None}, "/metric", "the key is not set"),
        ({"metric": "none"}, "/metric", "it is not an object"),
        ({"metric": {}}, "/metric/a~1b", "the key is not set"),
        ({"metric": {"a/b": {}}}, "/metric/a~1b/mean", "the key is not set"),
    ],
)
def test_what_an_object_would_hold_is_missing_with_it(content: dict[str, Any], pointer: str, detail: str) -> None:
    found = Document("a.json", "ok", "file:a.json", data=content).int("/metric/a~1b/mean")
    assert not isinstance(found, Reading)
    assert (found.reason, found.pointer, found.detail) == (Reason.KEY_ABSENT, pointer, detail)
    assert found.cause == f"key:a.json#{pointer}"


def _one_by_one(document: Document) -> Found[int]:
    return first_of(*(document.int(place) for place in PLACES))


def test_the_first_place_with_a_value_counts() -> None:
    found = _document(None, 2).int(*PLACES)
    assert isinstance(found, Reading)
    assert (found.value, found.source.pointer) == (2, "/count")


def test_a_value_that_cannot_be_used_is_not_passed_over() -> None:
    found = _document("many", 2).int(*PLACES)
    assert not isinstance(found, Reading)
    assert (found.reason, found.pointer) == (Reason.INVALID, "/args/count")


def test_several_places_are_read_as_one_after_the_other() -> None:
    documents = [_document(*values) for values in product((None, 1, "2", 2.5, [], {}), repeat=2)]
    for document in (*documents, MISSING):
        assert document.int(*PLACES) == _one_by_one(document)
