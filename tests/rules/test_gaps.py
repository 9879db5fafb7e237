"""What a new edition lacks is told at once, not one rule after the other."""

import re

import pytest

import rules
from rules import gaps
from rules.check import check_editions
from rules.entries import Rule
from rules.gaps import gaps_of
from rules.loading import BOOK
from rules.strict_yaml import load


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_the_editions_of_the_book_lack_nothing(edition):
    assert gaps_of(edition) == []


def test_a_check_tells_all_that_a_new_edition_lacks_with_its_place():
    (result,) = check_editions(["3.1"])
    assert result.problems == gaps_of("3.1")
    files = {problem.partition(":")[0] for problem in result.problems}
    assert {"section-2-tree.yaml", "section-3-training.yaml", "section-4-checkpointing.yaml"} <= files
    assert {"tables/kvcache-limits.yaml", "tables/training-tunable.yaml"} <= files
    for problem in result.problems:
        file, line = re.match(r"([^:]+):(\d+): ", problem).groups()
        there = (BOOK / file).read_text().splitlines()[int(line) - 1 :]
        assert any('"3.0"' in text for text in there[:6]), problem


DIFFERS = {"3.0": "error"}


@pytest.mark.parametrize(
    ("rule", "clauses", "expected"),
    [
        ({}, {"a": {}}, []),
        ({"severity": DIFFERS}, {"a": {}}, [("severity",)]),
        ({"severity": DIFFERS}, {"a": {"severity": "info"}}, []),
        ({"severity": DIFFERS}, {"a": {"severity": "info"}, "b": {}}, [("severity",)]),
        ({"severity": DIFFERS}, {"a": {"editions": ["3.0"]}}, []),
        ({"severity": DIFFERS, "editions": ["3.0"]}, {"a": {}}, []),
        ({}, {"a": {"severity": DIFFERS}, "b": {"severity": DIFFERS}}, [("clauses", k, "severity") for k in "ab"]),
        ({}, {"a": {"severity": DIFFERS, "editions": ["3.0"]}}, []),
        ({"severity": {"3.1": "error"}}, {"a": {"severity": {"3.1": "info"}}}, []),
    ],
)
def test_a_severity_that_no_clause_of_the_edition_asks_for_is_no_gap(rule, clauses, expected):
    written = {key: {"require": "true", "message": "m", "remedy": "r", **clause} for key, clause in clauses.items()}
    entry = Rule.model_validate(
        {"id": "9.1", "name": "n", "subject": "tree", "statement": "s", "clauses": written, "examples": [], **rule}
    )
    assert list(gaps._severities(entry, "3.1")) == expected


def test_a_section_that_is_wrong_otherwise_is_left_to_loading(monkeypatch):
    documents = {path: load(path) for path in BOOK.glob("section-*.yaml")}
    documents[BOOK / "section-4-checkpointing.yaml"].data["rules"][0]["severty"] = "error"
    monkeypatch.setattr(gaps.strict_yaml, "load", lambda path, leave_out="": documents.get(path) or load(path))
    assert not [problem for problem in gaps_of("3.1") if problem.startswith("section-4")]
