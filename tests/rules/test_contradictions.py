"""The book finds by itself what its rules make impossible."""

import pytest

import rules
from rules.contradictions import EXPECTED, Impossible, impossibilities, impossibility_lines
from rules.edition import Edition


def swapped(edition: str, **taken: str) -> Edition:
    """An edition with some rules as another one has them."""
    changed = Edition(edition, rules.load_edition(edition).sections)
    changed._rules |= {rule: rules.load_edition(other).rule(rule) for rule, other in taken.items()}
    return changed


def whats(found: list[Impossible], kind: str) -> set[str]:
    return {one.what for one in found if one.kind == kind}


SUBSET = "model.{}.published_subset_size_gb = {}"


@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
def test_the_published_subset_row_is_out_of_reach_in_the_corrected_book(edition: str) -> None:
    found = impossibilities(rules.load_edition(edition))
    assert whats(found, "unreachable") == {
        SUBSET.format("llama3-70b", "114.0"),
        SUBSET.format("llama3-405b", "94.0"),
        SUBSET.format("llama3-1t", "161.0"),
    }
    assert all("4.3.5.model" in one.why for one in found)
    assert whats(found, "contradiction") == whats(found, "shadowed") == set()


def test_the_text_as_printed_contradicts_itself() -> None:
    """4.3.5 without its "not" asks large models for 8 processes, and 4.6.1 asks them for their own count."""
    printed = swapped("3.0-as-published", **{"4.6.1": "3.0"})
    found = impossibilities(printed)
    assert {f"closed {model} --checkpoint-subset" for model in ("llama3-70b", "llama3-405b", "llama3-1t")} <= whats(
        found, "contradiction"
    )
    assert {one.why for one in found if one.what == "closed llama3-70b --checkpoint-subset"} == {
        "4.3.5.count and 4.6.1.asked cannot hold together at any process count"
    }
    assert SUBSET.format("llama3-405b", "94.0") in whats(found, "unreachable")


def test_the_book_as_enforced_contradicts_itself_in_open_and_refuses_the_one_legal_row() -> None:
    found = impossibilities(rules.load_edition("3.0-as-published"))
    assert whats(found, "contradiction") == {
        "open llama3-405b --checkpoint-subset",
        "open llama3-1t --checkpoint-subset",
    }
    assert whats(found, "unreachable") == {SUBSET.format("llama3-8b", "105.0")}


def test_a_rule_that_decides_nothing_is_named_with_the_one_before_it() -> None:
    (shadowed,) = [o for o in impossibilities(rules.load_edition("3.0-as-published")) if o.kind == "shadowed"]
    assert shadowed.what == "closed 4.3.5.label"
    assert "4.6.1.asked" in shadowed.why


def test_what_is_impossible_is_as_committed() -> None:
    editions = [rules.load_edition(name) for name in rules.edition_ids()]
    assert EXPECTED.read_text().splitlines() == impossibility_lines(editions), "run: mlpstorage rules check --update"
