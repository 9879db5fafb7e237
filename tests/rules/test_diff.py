"""What differs between editions, and how an edition shows that it was changed."""

from copy import copy
from dataclasses import replace
from typing import Any

import pytest

import rules
from rules.compiled import CompiledRule
from rules.diff import diff_editions
from rules.edition import Edition
from rules.loading import BOOK


def changed(edition: str, rule: CompiledRule) -> Edition:
    """The edition with this rule in place of its own."""
    made = Edition(edition, rules.load_edition(edition).sections)
    made._rules[rule.id] = rule
    return made


def with_cell(table: str, column: str, value: Any, row: str = "") -> Edition:
    """Edition 3.0 with another value in one cell."""
    made = Edition("3.0", rules.load_edition("3.0").sections)
    rows = made.cells[table]
    made.cells = {**made.cells, table: {**rows, row: {**rows[row], column: value}}}
    return made


def test_the_same_rules_have_the_same_digest() -> None:
    edition = rules.load_edition("3.0")
    assert Edition("3.0", edition.sections).digest == edition.digest
    assert len({rules.load_edition(name).digest for name in rules.edition_ids()}) == len(rules.edition_ids())


def test_any_change_of_a_rule_changes_the_digest() -> None:
    edition, other = rules.load_edition("3.0"), rules.load_edition("3.0-as-published")
    assert changed("3.0", other.rule("4.3.5")).digest != edition.digest
    assert changed("3.0", edition.rule("4.3.5")).digest == edition.digest
    assert with_cell("limit", "subset_processes", 9).digest != edition.digest


def test_an_edition_does_not_differ_from_itself() -> None:
    edition = rules.load_edition("3.0")
    difference = diff_editions(edition, edition)
    assert (difference.entries, difference.limits, difference.cells) == ((), (), ())


@pytest.mark.parametrize(
    ("table", "column", "row", "value", "was", "file", "readers"),
    [
        ("limit", "remap_fraction", "", 0.9, 0.5, "checkpointing-limits.yaml", ("4.7.3",)),
        ("limit", "min_ranks_per_host", "", 40, 4, "checkpointing-limits.yaml", ("4.6.2",)),
        ("training_tunable", "tolerated", "unet3d", [], ["workflow.checkpoint", "checkpoint.checkpoint_folder"],
         "training-tunable.yaml", ("3.6.2", "3.6.3")),
    ],
)  # fmt: skip
def test_a_limit_that_differs_is_named_with_its_place_and_the_rules_that_read_it(
    table: str, column: str, row: str, value: Any, was: Any, file: str, readers: tuple[str, ...]
) -> None:
    (change,) = diff_editions(rules.load_edition("3.0"), with_cell(table, column, value, row)).limits
    assert (change.limit, change.row, change.old, change.new) == (f"{table}.{column}", row, was, value)
    assert change.rules == readers
    path, _, line = change.place.rpartition(":")
    assert path == f"rules/book/tables/{file}"
    text = (BOOK / "tables" / file).read_text().splitlines()[int(line) - 1]
    assert text.strip().startswith(("value:", f"{column}:", '"3.0":'))


def test_a_difference_says_what_it_holds_fixed() -> None:
    """A bound on the ranks of a host changes no verdict of launches that all run on one host."""
    edition = rules.load_edition("3.0")
    difference = diff_editions(edition, with_cell("limit", "min_ranks_per_host", 5))
    assert difference.fixed["run.num_hosts"] == "1"
    drafted = diff_editions(edition, rules.load_edition("4.0-draft"))
    assert drafted.fixed["run.accelerator"].startswith("not stated -> ")


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("let", {"let": {"least": "limit.remap_fraction"}}),
        ("unless", {"unless": ["stated"]}),
        ("when", {"when": "workload.combined"}),
    ],
)
def test_a_clause_that_judges_by_something_else_differs(what: str, changes: dict[str, Any]) -> None:
    edition = rules.load_edition("3.0")
    rule = edition.rule("4.7.3")
    clauses = []
    for clause in rule.clauses:
        other = copy(clause)
        if clause.key == "interval":
            other.clause = clause.clause.model_copy(update=changes)
        clauses.append(other)
    difference = diff_editions(edition, changed("3.0", replace(rule, clauses=tuple(clauses))))
    assert [(c.rule, c.clause, c.what) for c in difference.entries] == [("4.7.3", "interval", what)]


def test_a_rule_that_one_edition_lacks_and_a_clause_that_it_adds_are_named() -> None:
    difference = diff_editions(rules.load_edition("3.0"), rules.load_edition("4.0-draft"))
    stated = [change for change in difference.entries if (change.rule, change.clause) == ("4.3.4", "stated")]
    assert [(change.what, change.old, change.new) for change in stated] == [("clause", "", "present run.accelerator")]
