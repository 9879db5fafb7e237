"""The rule book as it stands: consistent, current, and equal to the decision table that was agreed on."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import rules
from rules.book_tables import subset_cell
from rules.check import check_edition
from rules.diff import diff_editions
from rules.index import INDEX, index_lines
from rules.loading import BOOK
from rules.matrix import COUNTS, EXPECTED, matrix, verdict_lines
from rules.mutate import clause_mutants
from rules.render import render_book
from rules.tables import load_table

BOOK_FILE = Path(__file__).parents[2] / "Rules.md"
EDITIONS = rules.edition_ids()

# The decision table of checkpointing: C closed, O open, r open but reduced, - invalid.
UNDECLARED = {
    "llama3-8b": "r r C O O O O O O O O O",
    "llama3-70b": "- - r - r C O O O O O O",
    "llama3-405b": "- - - - - - - r - C O O",
    "llama3-1t": "- - - - - - - - - r C O",
}
DECLARED = {
    "llama3-8b": "- - C - - - - - - - - -",
    "llama3-70b": "- - - - - - - - - - - -",
    "llama3-405b": "- - - - - - - - - - - -",
    "llama3-1t": "- - - - - - - - - - - -",
}
AS_PUBLISHED = {
    "llama3-8b": "r r C O O O O O O O O O",
    "llama3-70b": "- - C - r C O O O O O O",
    "llama3-405b": "- - C - - - - r - C O O",
    "llama3-1t": "- - C - - - - - - r C O",
}
DECLARED_AS_PUBLISHED = {
    "llama3-8b": "- - - - - - - - - - - -",
    "llama3-70b": "- - C - - - - - - - - -",
    "llama3-405b": "- - C - - - - - - - - -",
    "llama3-1t": "- - C - - - - - - - - -",
}


def symbols(edition, declared):
    cells = matrix(rules.load_edition(edition))
    return {
        model: " ".join(c.symbol for c in cells if c.model == model and c.declared == declared) for model in UNDECLARED
    }


@pytest.mark.parametrize("edition", EDITIONS)
def test_examples_hold_and_kill_every_wrong_version(edition):
    result = check_edition(rules.load_edition(edition))
    assert result.problems == []
    assert result.mutants > 400


def test_the_published_typo_is_a_wrong_version_of_the_corrected_rule():
    corrected = rules.load_edition("3.0").rule("4.3.5")
    published = rules.load_edition("3.0-as-published").rule("4.3.5").clause("model").clause.require
    texts = {
        mutant.clause.require.replace("(run", "run").replace(")", "")
        for mutant in clause_mutants(corrected)
        if mutant.clause
    }
    assert published.replace("(run", "run").replace(")", "") in texts


def test_matrix_shows_the_counts_of_the_decision_table():
    assert COUNTS == (4, 7, 8, 12, 16, 64, 128, 256, 408, 512, 1024, 2048)


@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
def test_matrix_equals_the_decision_table(edition):
    assert symbols(edition, declared=False) == UNDECLARED
    assert symbols(edition, declared=True) == DECLARED


def test_matrix_of_the_published_text_shows_what_it_did():
    assert symbols("3.0-as-published", declared=False) == AS_PUBLISHED
    assert symbols("3.0-as-published", declared=True) == DECLARED_AS_PUBLISHED


def test_the_correction_flips_exactly_these_launches():
    difference = diff_editions(rules.load_edition("3.0-as-published"), rules.load_edition("3.0"))
    flips = {(now.model, now.processes, now.declared): (was.eligible, now.eligible) for was, now in difference.cells}
    assert flips == {
        ("llama3-8b", 8, True): ("invalid", "closed"),
        ("llama3-70b", 8, False): ("closed", "open"),
        ("llama3-70b", 8, True): ("closed", "invalid"),
        ("llama3-405b", 8, False): ("closed", "invalid"),
        ("llama3-405b", 8, True): ("closed", "invalid"),
        ("llama3-1t", 8, False): ("closed", "invalid"),
        ("llama3-1t", 8, True): ("closed", "invalid"),
    }
    assert {change.rule for change in difference.entries if change.rule.startswith("4.")} == {"4.3.5", "4.6.1"}


@pytest.mark.parametrize(
    ("edition", "cells"),
    [
        ("3.0", {"llama3-8b": "105", "llama3-70b": "invalid", "llama3-405b": "invalid", "llama3-1t": "invalid"}),
        ("3.0-as-published", {"llama3-8b": "invalid", "llama3-70b": "114", "llama3-405b": "94", "llama3-1t": "161"}),
    ],
)
def test_table_2_shows_a_subset_size_only_where_the_rules_allow_the_run(edition, cells):
    chosen = rules.load_edition(edition)
    assert {model: subset_cell(chosen, model) for model in cells} == cells


def loaded():
    return [rules.load_edition(name) for name in EDITIONS]


def test_index_of_severities_is_as_committed():
    assert INDEX.read_text().splitlines() == index_lines(loaded()), "run: mlpstorage rules check --update"


@pytest.mark.parametrize(
    ("rule", "clause", "said"),
    [
        ("1.1", "file", "explains=leaf.metadata_cause"),
        ("LEAF-03", "main", "fold=directory"),
        ("2.1.17", "count", "at=item.path"),
    ],
)
def test_the_index_shows_what_findings_explain_and_where_they_stand(rule, clause, said):
    lines = [line for line in index_lines(loaded()) if line.split()[::2][:2] == [rule, clause]]
    assert lines
    assert all(f" {said} " in line for line in lines)


def test_verdicts_of_launches_are_as_committed():
    assert EXPECTED.read_text().splitlines() == verdict_lines(loaded()), "run: mlpstorage rules check --update"


def test_rules_md_is_current():
    assert BOOK_FILE.read_text() == render_book(EDITIONS), "run: mlpstorage rules render"


def test_the_rendered_book_shows_every_table_once_and_links_lead_to_them():
    text = BOOK_FILE.read_text()
    headings = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
    for path in (BOOK / "tables").glob("*.yaml"):
        table = load_table(path.stem)
        assert headings.count(f"{table.title} (`{table.name}`)") == 1, table.name
    # An address has the heading's letters in lower case, without punctuation, and a hyphen for each blank.
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#(.*?)\)", text))
    assert links
    assert links <= anchors


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("| subset_processes | 8 processes | Process count of a subset run. |", id="a limit"),
        pytest.param(
            "| closed_processes | 8 processes | 64 processes | 512 processes | 1024 processes |"
            " Process count of a CLOSED run, TP x PP x DP. |",
            id="more columns than rows, turned round",
        ),
        pytest.param("| unet3d_a100 | unet3d | a100 | 7 samples | 0.636 s | 5 epochs |", id="more rows than columns"),
        pytest.param("| dlrm_mi355 | dlrm | mi355 | 18432 samples | 0.0005625 s | 1 epoch |", id="one of a unit"),
        pytest.param("- epochs: Epochs of one run (e).", id="what its columns mean"),
        pytest.param("The row is that of `run.model` or `workload.model`.", id="what chooses the row"),
        pytest.param("| query_noise | 0.05 |", id="a table that only derived facts read"),
        pytest.param(
            "| unet3d | reader.odirect | workflow.checkpoint, checkpoint.checkpoint_folder; `4.0-draft`: - |",
            id="a value that differs by edition",
        ),
        pytest.param(
            "Tables: [Checkpointing models](#checkpointing-models-model),"
            " [Limits of checkpointing](#limits-of-checkpointing-limit).",
            id="what a rule reads",
        ),
    ],
)
def test_the_rendered_book_shows_of_its_tables(line):
    assert line in BOOK_FILE.read_text().splitlines()


def test_the_rendered_book_has_every_rule_of_every_edition_and_no_empty_part():
    text = render_book(EDITIONS)
    for edition in loaded():
        for rule in edition.rules:
            assert f"\n#### {rule.id} {rule.rule.name}" in text
    parts = [line for line in text.splitlines() if line]
    empty = [one for one, next_ in pairwise(parts) if one.startswith("### ") and next_.startswith(("### ", "## "))]
    assert empty == []


def test_all_of_section_4_is_there():
    wanted = (
        {f"4.3.{n}" for n in range(1, 6)} | {"4.4.1", "4.4.2"} | {f"4.{s}.{n}" for s in (6, 7) for n in range(1, 5)}
    )
    for edition in loaded():
        assert wanted <= {rule.id for rule in edition.rules}
