"""The vector-database section: what guards its entries, and the arithmetic below them."""

from datetime import datetime

import pytest

import rules
from rules.check import check_edition
from rules.derived import vector_database as derived
from rules.tables import load_table

EDITIONS = rules.edition_ids()


@pytest.mark.parametrize("edition", EDITIONS)
def test_examples_hold_and_kill_every_wrong_version(edition):
    result = check_edition(rules.load_edition(edition, ["5"]))
    assert result.problems == []
    assert result.mutants > 500


def test_no_edition_has_a_bound_that_the_book_does_not_define():
    columns = load_table("vdb-limits").columns
    assert not any("recall" in name and name != "recall_spread" for name in columns)
    assert not any("min" in name and "quer" in name for name in columns)


def test_the_ground_truth_rule_is_newer_than_the_published_edition_and_only_informs_there():
    clauses = rules.load_edition("3.0-as-published", ["5"]).rule("5.3.5").clauses
    assert {clause.severity.value for clause in clauses} == {"info"}


SEVERITIES = [
    ("5.2.2", "collection", "warning", "warning", "error"),
    ("5.4.1", "unrecorded", "warning", "warning", "error"),
    ("5.4.1", "different", "error", "error", "error"),
    ("5.4.2", "same", "warning", "warning", "error"),
    ("5.4.2", "evidence", "warning", "warning", "error"),
    ("5.5.1", "recorded", "warning", "warning", "error"),
    ("5.3.5", "ok", "info", "error", "error"),
    ("5.3.5", "setup", "info", "warning", "warning"),
    ("5.3.1", "summary", "warning", "warning", "warning"),
    ("5.3.4", "reported", "error", "error", "error"),
    ("X5.2", "results", "error", "error", "error"),
    ("X5.2", "batches", "warning", "warning", "error"),
]


@pytest.mark.parametrize(("rule", "clause", "published", "corrected", "draft"), SEVERITIES)
def test_severities_by_edition(rule, clause, published, corrected, draft):
    found = [rules.load_edition(edition, ["5"]).rule(rule).clause(clause).severity.value for edition in EDITIONS]
    assert found == [published, corrected, draft]


@pytest.mark.parametrize(
    ("values", "fraction", "expected"),
    [
        ([5.0], 0.95, 5.0),
        ([0.0, 1.0], 0.5, 0.5),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 0.95, 4.8),
        ([float(n) for n in range(101)], 0.99, 99.0),
    ],
)
def test_percentiles_lie_between_the_two_nearest_values(values, fraction, expected):
    assert derived.percentile(values, fraction) == pytest.approx(expected)


def test_totals_over_ranks_run_from_the_first_start_to_the_last_end():
    parts = [derived.RankPart(100, 10.0, 69.0), derived.RankPart(140, 11.0, 70.0)]
    assert derived.rank_totals(parts) == {
        "total_queries": 240.0,
        "total_time_seconds": 60.0,
        "throughput_qps": 4.0,
    }
    assert derived.rank_totals([]) == {}
    assert derived.rank_totals([derived.RankPart(1, 5.0, 5.0)]) == {}


def test_the_worked_example_of_throughput_and_time():
    assert derived.throughput_deviation(143.21770140400662, 60.00654888153076, 8594) < 1e-6
    assert derived.throughput_deviation(1000.0, 60.0, 6000) == 54000.0


@pytest.mark.parametrize(
    ("claimed", "found", "expected"),
    [(100.0, 100.0, 0.0), (99.0, 100.0, 0.01), (0.0, 0.0, 0.0), (0.0, 5.0, 1.0), (1e308, -1e308, 2.0)],
)
def test_deviation_is_over_the_larger_number(claimed, found, expected):
    assert derived.deviation(claimed, found) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("search_limit", 10.0, "10"),
        ("query_noise", "0.050", "0.05"),
        ("recall_epsilon", 0.0, "0"),
        ("no_create_flat", "False", "false"),
        ("params", "", "(not set)"),
        ("params", [], "(not set)"),
        ("params", ["nlist=4"], "[nlist=4]"),
        ("distribution", "normal", "normal"),
    ],
)
def test_parameters_have_one_spelling(name, value, text):
    assert derived.parameter(name, value, "place").value == text


TEN, ELEVEN, NOON = (datetime(2026, 7, 21, hour) for hour in (10, 11, 12))


@pytest.mark.parametrize(
    ("loads", "first_run", "chosen"),
    [
        ([(TEN, TEN)], NOON, 0),
        ([(TEN, TEN), (ELEVEN, ELEVEN)], NOON, 1),
        ([(TEN, TEN), (ELEVEN, NOON)], ELEVEN, 0),
        ([(TEN, TEN), (TEN, ELEVEN)], ELEVEN, 1),
        ([(TEN, None), (NOON, None)], ELEVEN, 0),
        ([(NOON, NOON)], TEN, 0),
        ([(TEN, TEN), (ELEVEN, ELEVEN)], None, 1),
        ([(None, None), (TEN, TEN)], NOON, 1),
    ],
)
def test_runs_rest_on_the_last_load_that_had_ended(loads, first_run, chosen):
    assert derived.load_of_runs([derived.LoadTimes(*times) for times in loads], first_run) == chosen
