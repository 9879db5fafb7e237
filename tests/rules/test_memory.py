"""What was remembered of one subject never changes what is said of another."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from inspect import signature
from itertools import islice
from types import ModuleType

import pytest

import mlpstorage.results
import mlpstorage.systems
import rules
import rules.derived
import submission_checker.readers
from rules.evaluate import SUBMISSION, Evaluator
from rules.examples import BuiltExample, build_examples
from rules.facts.base import Absence, Reason
from rules.memory import LONGEST_LIST, LONGEST_TEXT, Memory, comparable
from rules.outcomes import Outcome
from rules.recall import Recalls


def examples(edition: rules.Edition) -> Iterator[BuiltExample]:
    for loaded in edition.loaded_sections():
        for rule in edition.rules:
            if edition.section_of(rule.id) is loaded:
                yield from build_examples(loaded, rule)


@pytest.mark.parametrize(("edition_id", "division", "every"), [("4.0-draft", "closed", 2), ("3.0", "open", 4)])
def test_examples_judged_one_after_the_other_say_what_each_says_by_itself(
    edition_id: str, division: str, every: int
) -> None:
    edition = rules.load_edition(edition_id)
    shared: Recalls = {}
    for example in islice(examples(edition), 0, None, every):
        subject, *above = example.chain
        by_itself, after_others = (
            Evaluator(edition.rules, edition.tables, edition.cells, subject, SUBMISSION, tuple(above), recalls)
            .evaluate(division)
            for recalls in ({}, shared)
        )  # fmt: skip
        assert after_others == by_itself, str(example)
    remembered = sum(len(recall.memory) for recall in shared.values())
    assert remembered > 500


def test_the_reason_of_an_absence_counts_and_its_place_does_not() -> None:
    one = Absence("file:a", Reason.MISSING_FILE, "a")
    assert comparable([one]) == comparable([Absence("file:b", Reason.MISSING_FILE, "b")])
    assert comparable([one]) != comparable([Absence("key:a", Reason.KEY_ABSENT, "a")])
    assert comparable([one]) != comparable([str(Reason.MISSING_FILE)])


def test_what_cannot_be_compared_is_not_remembered() -> None:
    memory: Memory[Outcome] = Memory()
    key = comparable([[0] * (LONGEST_LIST + 1)])
    memory.keep(key, Outcome.PASS)
    assert memory.get(key) is None
    short = comparable([[0] * LONGEST_LIST])
    memory.keep(short, Outcome.PASS)
    assert memory.get(short) is Outcome.PASS


def test_what_cannot_be_remembered_displaces_nothing() -> None:
    memory: Memory[Outcome] = Memory(2)
    for key in ((1,), (2,), ([],)):
        memory.keep(key, Outcome.PASS)
    assert len(memory) == 2


def test_memory_is_bounded() -> None:
    memory: Memory[Outcome] = Memory()
    for number in range(100_000):
        memory.keep((number,), Outcome.PASS)
    assert len(memory) < 10_000
    assert memory.get((99_999,)) is Outcome.PASS


@pytest.mark.parametrize("package", [rules.derived, mlpstorage.results, mlpstorage.systems, submission_checker.readers])
def test_no_cache_of_what_a_file_says_is_without_bound(package: ModuleType) -> None:
    """Arguments of readers and of derived facts come from files: a name may be any text, another one in each leaf."""
    unbounded = []
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(found.name)).items():
                if hasattr(value, "cache_info") and value.__module__ == found.name and signature(value).parameters:
                    unbounded += [f"{found.name}.{name}"] if value.cache_info().maxsize is None else []
    assert unbounded == []


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("x" * LONGEST_TEXT, True),
        ("x" * (LONGEST_TEXT + 1), False),
        (["x" * LONGEST_TEXT], True),
        (["x", "x" * LONGEST_TEXT], False),
        ([], True),
    ],
)
def test_what_is_remembered_is_small(value: object, kept: bool) -> None:
    memory: Memory[int] = Memory()
    memory.keep(comparable([value]), 1)
    assert len(memory) == kept
    assert memory.get(comparable([value])) == (1 if kept else None)
