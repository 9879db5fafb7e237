"""What was remembered of one subject never changes what is said of another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

import rules
from rules.evaluate import SUBMISSION, Evaluator
from rules.examples import BuiltExample, build_examples
from rules.facts.base import Absence, Reason
from rules.memory import LONGEST_LIST, Memory, comparable
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
    assert comparable(one) == comparable(Absence("file:b", Reason.MISSING_FILE, "b"))
    assert comparable(one) != comparable(Absence("key:a", Reason.KEY_ABSENT, "a"))
    assert comparable(one) != comparable(str(Reason.MISSING_FILE))


def test_what_cannot_be_compared_is_not_remembered() -> None:
    memory = Memory()
    key = (comparable([0] * (LONGEST_LIST + 1)),)
    memory.keep(key, Outcome.PASS)
    assert memory.get(key) is None
    short = (comparable([0] * LONGEST_LIST),)
    memory.keep(short, Outcome.PASS)
    assert memory.get(short) is Outcome.PASS


def test_memory_is_bounded() -> None:
    memory = Memory()
    for number in range(100_000):
        memory.keep((number,), Outcome.PASS)
    assert len(memory) < 10_000
    assert memory.get((99_999,)) is Outcome.PASS
