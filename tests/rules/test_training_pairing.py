"""Which datasize record a run belongs to (3.3.1), and what a missing phase leaves open."""

from __future__ import annotations

import pytest

import rules
from rules.derived import training_workload
from rules.derived.training_workload import Phases, pair_datasize, read_bandwidth, role, series_of
from rules.facts import Absence, FactSheet, Reason
from rules.facts.training import TrainingDatasize

NONE = Absence("test", Reason.KEY_ABSENT)


def record(name: str, data_dir: str | None = None) -> TrainingDatasize:
    sheet = FactSheet()
    for field in TrainingDatasize.fact_fields():
        sheet.put(field, NONE)
    sheet.put("name", name)
    sheet.put("data_dir", NONE if data_dir is None else data_dir)
    return sheet.build(TrainingDatasize, name)


def run(name: str, data_dir: str | None) -> FactSheet:
    sheet = FactSheet()
    sheet.put("name", name)
    sheet.put("data_dir", NONE if data_dir is None else data_dir)
    return sheet


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], None),
        ([record("20260701_090000", "/other")], "20260701_090000"),
        ([record("20260701_080000"), record("20260701_090000")], "20260701_090000"),
        ([record("20260701_080000"), record("20260702_090000")], "20260701_080000"),
        ([record("20260701_080000"), record("20260701_100000")], "20260701_100000"),
        ([record("20260702_080000"), record("20260702_090000")], "20260702_090000"),
        ([record("20260701_080000", "/data"), record("20260701_090000", "/other")], "20260701_080000"),
        ([record("20260701_080000", "/a"), record("20260701_090000", "/b")], None),
        ([record("20260701_080000", "/a"), record("20260701_090000")], "20260701_090000"),
    ],
    ids=[
        "none",
        "one fits all",
        "latest",
        "not after the run",
        "at the run",
        "all later",
        "same directory",
        "mismatch",
        "any run",
    ],
)
def test_pairing(records, expected):
    found = pair_datasize(run("20260701_100000", "/data"), records)
    assert (None if found is None else found.name) == expected


def test_a_run_without_a_directory_matches_every_record():
    records = [record("20260701_080000", "/a"), record("20260701_090000", "/b")]
    found = pair_datasize(run("20260701_100000", None), records)
    assert found is not None
    assert found.name == "20260701_090000"


@pytest.mark.parametrize(
    ("count", "roles"),
    [
        (1, "w"),
        (5, "wmmmm"),
        (6, "wmmmmm"),
        (7, "??mmmmm"),
        (8, "???mmmmm"),
        (12, "???????mmmmm"),
    ],
)
def test_a_run_is_measured_where_it_begins_no_window_of_six(count: int, roles: str) -> None:
    assert (
        "".join({"unassigned": "?"}.get(role(place, count), role(place, count)[0]) for place in range(count)) == roles
    )


def test_the_table_says_how_many_runs_a_series_has(monkeypatch):
    """The count stands in the rule data alone: rule 2.1.17 reads the same cell."""
    monkeypatch.setattr(training_workload, "reference_rows", lambda name: {"": {"runs": 7}})
    assert [role(place, 7) for place in range(7)] == ["warmup", *["measured"] * 6]
    assert role(0, 8) == "unassigned"
    assert "training_series.runs" in rules.load_edition().rule("2.1.17").clause("count").clause.require


@pytest.mark.parametrize(
    ("runs", "counted", "series"),
    [
        (["b200"] * 3, "yyy", {"b200": [0, 1, 2]}),
        (["b200", "mi355", "b200"], "yyy", {"b200": [0, 2], "mi355": [1]}),
        ([None, "b200", None], "yyy", {"b200": [0, 1, 2]}),
        ([None, None], "yy", {"": [0, 1]}),
        (["b200", None, "mi355"], "yyy", {"b200": [0], "mi355": [2]}),
        (["b200", "b200", "b200"], "yny", {"b200": [0, 2]}),
    ],
    ids=["one type", "two types", "the only type", "none states one", "of two types", "not of the series"],
)
def test_runs_of_one_accelerator_type_are_a_series(runs, counted, series):
    sheets = []
    for accelerator in runs:
        sheet = FactSheet()
        sheet.put("accelerator", NONE if accelerator is None else accelerator)
        sheets.append(sheet)
    assert series_of(sheets, [letter == "y" for letter in counted]) == series


def test_a_missing_phase_has_the_cause_of_the_rule_on_phases():
    phases = Phases("closed/a/results/s/training/m", [], [], [], [], ("datagen",))
    absent = phases.missing("datasize")
    assert absent.cause == "file:closed/a/results/s/training/m/datasize"
    assert absent.reason is Reason.MISSING_FILE
    assert phases.missing("datagen").reason is Reason.NOT_APPLICABLE


def test_bandwidth_is_the_mean_of_means_in_gib():
    assert read_bandwidth([1024.0, 2048.0, 3072.0, 4096.0, 5120.0]) == 3.0
