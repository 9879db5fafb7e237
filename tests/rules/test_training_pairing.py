"""Which datasize record a run belongs to (3.3.1), and what a missing phase leaves open."""

from __future__ import annotations

import pytest

from rules.derived.training_workload import Phases, pair_datasize, read_bandwidth, role
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
        ([record("20260702_080000"), record("20260702_090000")], "20260702_090000"),
        ([record("20260701_080000", "/data"), record("20260701_090000", "/other")], "20260701_080000"),
        ([record("20260701_080000", "/a"), record("20260701_090000", "/b")], None),
        ([record("20260701_080000", "/a"), record("20260701_090000")], "20260701_090000"),
    ],
    ids=["none", "one fits all", "latest", "not after the run", "all later", "same directory", "mismatch", "any run"],
)
def test_pairing(records, expected):
    found = pair_datasize(run("20260701_100000", "/data"), records)
    assert (None if found is None else found.name) == expected


def test_a_run_without_a_directory_matches_every_record():
    records = [record("20260701_080000", "/a"), record("20260701_090000", "/b")]
    found = pair_datasize(run("20260701_100000", None), records)
    assert found is not None
    assert found.name == "20260701_090000"


def test_the_first_of_exactly_six_runs_warms_up():
    assert [role(index, 6) for index in range(6)] == ["warmup", *["measured"] * 5]
    assert {role(index, 5) for index in range(5)} == {"unassigned"}
    assert {role(index, 7) for index in range(7)} == {"unassigned"}


def test_a_missing_phase_has_the_cause_of_the_rule_on_phases():
    phases = Phases("closed/a/results/s/training/m", [], [], [], [], ("datagen",))
    absent = phases.missing("datasize")
    assert absent.cause == "file:closed/a/results/s/training/m/datasize"
    assert absent.reason is Reason.MISSING_FILE
    assert phases.missing("datagen").reason is Reason.NOT_APPLICABLE


def test_bandwidth_is_the_mean_of_means_in_gib():
    assert read_bandwidth([1024.0, 2048.0, 3072.0, 4096.0, 5120.0]) == 3.0
