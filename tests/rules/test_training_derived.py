"""Sizes and utilisation of the worked examples, to the digit, for every model and accelerator."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rules.derived.training import (
    GIB,
    Template,
    compare_template,
    decimal_text,
    declared_memory,
    describe_overrides,
    exact,
    mean,
    memory_of_entries,
    size_dataset,
    sizing_facts,
    template,
    utilisation,
    utilisation_of_rates,
)
from rules.facts import Absence, FactSheet, Reason
from rules.tables import reference_rows


def sized(model: str, accelerator: str, accelerators: int, memory_bytes: int | Fraction):
    row = template(model, accelerator)
    assert row is not None
    return size_dataset(accelerators, row.batch_size, row.samples_per_file, row.record_length, memory_bytes)


@pytest.mark.parametrize(
    ("name", "model", "count", "memory", "by_memory", "rounded_up", "by_steps"),
    [
        ("T1", "unet3d", 60, 6070182858752, "207031.27", 207032, 210000),
        ("T2", "unet3d", 99, 4865539571712, "165945.39", 165946, 346500),
        ("T3", "retinanet", 40, 405238575104, "6273878.18", 6273879, 480000),
        ("T4", "retinanet", 72, 304227991552, "4710038.67", 4710039, 864000),
        ("T5", "unet3d", 8, 3245717526528, "110699.31", 110700, 28000),
        ("T6", "unet3d", 1, 198490786816, "6769.78", 6770, 3500),
        ("T7", "unet3d", 30, 3029183708160, "103314.15", 103315, 105000),
        ("T8", "unet3d", 2, 405058634752, "13815.04", 13816, 7000),
    ],
)
def test_worked_leaves(name, model, count, memory, by_memory, rounded_up, by_steps):
    sizing = sized(model, "b200", count, memory)
    assert decimal_text(sizing.by_memory) == by_memory
    assert -(-sizing.by_memory // 1) == rounded_up
    assert sizing.by_steps == by_steps
    assert sizing.files == max(rounded_up, by_steps)


@pytest.mark.parametrize(
    ("model", "count", "gib_of_a_host", "hosts", "floored", "files"),
    [
        ("unet3d", 60, 376, 15, 210000, 210000),
        ("unet3d", 104, 504, 9, 364000, 364000),
        ("retinanet", 40, 384, 1, 6383463, 6383464),
        ("unet3d", 8, 384, 8, 112500, 112501),
        ("unet3d", 50, 755.0, 10, 276490, 276491),
        ("unet3d", 8, 1007.6, 2, 73799, 73800),
    ],
)
def test_recorded_sizings(model, count, gib_of_a_host, hosts, floored, files):
    sizing = sized(model, "b200", count, declared_memory(gib_of_a_host, hosts))
    assert (sizing.files_floored, sizing.files) == (floored, files)


def test_a_sizing_gives_the_bytes_that_its_record_states():
    assert sized("unet3d", "b200", 50, declared_memory(755.0, 10)).bytes == 40533754236348


@pytest.mark.parametrize(
    ("name", "numerator", "denominator"),
    [
        ("unet3d_a100", 3500, 1),
        ("unet3d_h100", 3500, 1),
        ("unet3d_b200", 3500, 1),
        ("retinanet_b200", 12000, 1),
        ("retinanet_mi355", 18000, 1),
        ("resnet50_a100", 200000, 1251),
        ("resnet50_h100", 200000, 1251),
        ("cosmoflow_a100", 500, 1),
        ("cosmoflow_h100", 500, 1),
        ("dlrm_b200", 4, 1),
        ("dlrm_mi355", 6, 1),
        ("flux_b200", 250, 3),
        ("flux_mi355", 125, 1),
    ],
)
@pytest.mark.parametrize("count", [1, 3, 64])
def test_files_for_the_steps_of_every_template(name, numerator, denominator, count):
    model, _, accelerator = name.rpartition("_")
    sizing = sized(model, accelerator, count, 0)
    assert sizing.by_steps == Fraction(numerator * count, denominator)
    assert sizing.files == -(-numerator * count // denominator)


def test_every_template_is_checked_above():
    assert len(reference_rows("training-templates")) == 13


@pytest.mark.parametrize(
    ("model", "accelerator", "row"),
    [
        ("unet3d", "b200", Template("unet3d", "b200", Fraction(146600628), 1, 7, 0.162, 5)),
        ("retinanet", "mi355", Template("retinanet", "mi355", Fraction(322957), 1, 36, 0.071325, 8)),
        ("resnet50", "h100", Template("resnet50", "h100", Fraction(11466007, 100), 1251, 400, 0.224, 5)),
        ("dlrm", "mi355", Template("dlrm", "mi355", Fraction(761), 1536000, 18432, 0.0005625, 1)),
        ("flux", "mi355", Template("flux", "mi355", Fraction(2164832), 288, 72, 2.025, 1)),
        ("unet3d", "mi355", None),
        ("bert", "b200", None),
    ],
)
def test_templates(model, accelerator, row):
    assert template(model, accelerator) == row


def test_a_record_length_with_a_fraction_is_exact():
    sizing = sized("resnet50", "h100", 1, 10 * GIB)
    assert sizing.by_memory == Fraction(50 * GIB * 100, 11466007 * 1251)


def test_memory_is_the_sum_of_the_entries_in_whole_bytes():
    assert memory_of_entries([5653.298328399658]) == 6070182858752
    assert memory_of_entries([0.0, 5653.298328399658]) == 6070182858752
    assert memory_of_entries([4531.3868408203125]) == 4865539571712


def test_one_file_short_through_rounding_and_one_file_short_without():
    assert sized("retinanet", "b200", 8, memory_of_entries([283.33438030421735])).text.endswith("4710039 files")
    rounded = sized("retinanet", "b200", 8, memory_of_entries([283.33438030421735]))
    assert (rounded.files_floored, rounded.files) == (4710038, 4710039)
    whole = sized("unet3d", "b200", 30, 0)
    assert (whole.files_floored, whole.files) == (105000, 105000)


def test_the_explanation_holds_every_number():
    text = sized("unet3d", "b200", 60, 6070182858752).text
    assert text == (
        "by steps 500 steps x 7 x 60 accelerators / 1 = 210000; by memory 5 x 6070182858752 bytes (5653.2983 GiB) / "
        "(146600628 bytes x 1) = 207031.27; steps governs: 210000 files"
    )


@pytest.mark.parametrize("bad", [(0, 7, 1, Fraction(1), 1), (1, 0, 1, Fraction(1), 1), (1, 7, 0, Fraction(1), 1)])
def test_numbers_that_cannot_be_sized_are_refused(bad):
    with pytest.raises(ValueError, match="must be positive"):
        size_dataset(*bad)
    with pytest.raises(ValueError, match="must be positive"):
        size_dataset(1, 7, 1, Fraction(0), 1)


UNEQUAL = {
    "au": [92.15150697111079, 91.09496741945019, 90.88127305116812, 91.11421769103919, 91.35317203397113],
    "rate": [1989.6345519203826, 1966.825426430319, 1962.2061013101131, 1966.9960509787256, 1972.0628430963548],
    "mean": 91.31902743334788,
}
"""The summary of a published run: unet3d, 50 accelerators."""


def test_utilisation_from_throughput_lies_just_below_the_stated_one():
    recomputed = [utilisation(rate, 0.162, 50, 7) for rate in UNEQUAL["rate"]]
    assert round(float(recomputed[0]), 6) == 92.091656
    excess = [exact(stated) - other for stated, other in zip(UNEQUAL["au"], recomputed, strict=True)]
    assert all(Fraction(4, 100) < one < Fraction(22, 100) for one in excess)
    assert utilisation(700, 0.5, 5, 70) == 100


def test_utilisations_of_rates_are_rounded_to_billionths():
    exactly = [round(utilisation(rate, 0.162, 50, 7), 9) for rate in UNEQUAL["rate"]]
    excess = [round(exact(stated) - other, 9) for stated, other in zip(UNEQUAL["au"], exactly, strict=True)]
    found = utilisation_of_rates(UNEQUAL["au"], UNEQUAL["rate"], 0.162, 50, 7)
    assert found == (float(mean(exactly)), float(min(excess)), float(max(excess)))
    assert utilisation_of_rates([100.0], [1e-12], 0.5, 5, 10) == (0.0, 100.0, 100.0)
    assert utilisation_of_rates([0.0, 0.0], [0.5e-9, 1.5e-9], 0.01, 1, 1) == (1e-9, -2e-9, 0.0)


def test_means_reproduce_the_summary():
    assert abs(float(mean(UNEQUAL["au"])) - UNEQUAL["mean"]) < 1e-9
    with pytest.raises(ValueError, match="no values"):
        mean([])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(210000), "210000"),
        (Fraction(1, 3), "0.33"),
        (Fraction(2, 3), "0.67"),
        (Fraction(99999, 100000), "0.99"),
        (Fraction(100001, 100000), "1.01"),
    ],
)
def test_a_fraction_is_never_shown_as_a_whole_number(value, text):
    assert decimal_text(value) == text


def test_steps_are_known_without_the_memory():
    later = Absence("later", Reason.LATER)
    found = sizing_facts(60, 7, 1, 146600628.0, later)
    assert (found["files_by_steps"], found["files_by_steps_floored"]) == (210000, 210000)
    assert {value for name, value in found.items() if not name.startswith("files_by_steps")} == {later}


def test_the_number_of_steps_is_rounded_both_ways():
    found = sizing_facts(60, 7, 1251, 114660.07, 1)
    assert (found["files_by_steps_floored"], found["files_by_steps"]) == (167, 168)


def test_sizes_beyond_any_dataset_are_absent():
    sheet = FactSheet()
    for name, value in sizing_facts(2**62, 2**62, 1, 1e-9, 2**62).items():
        sheet.put(name, value)
    assert all(isinstance(value, Absence) for name, value in sheet.values.items() if name != "sizing")


def test_overrides_carry_origin_and_reference():
    values = {"reader.read_threads": "8", "train.epochs": "1", "dataset.skip_listing": "true"}
    found = {o.name: (o.origin, o.default) for o in describe_overrides("unet3d", "b200", values, {"train.epochs"})}
    assert found == {
        "dataset.skip_listing": ("tool", "(not set)"),
        "reader.read_threads": ("tool", "(not set)"),
        "train.epochs": ("user", "5"),
    }
    assert {o.origin for o in describe_overrides("unet3d", "b200", values, None)} == {"not recorded"}
    origins = [o.origin for o in describe_overrides("unet3d", "b200", values, {"train.epochs"}, from_file=True)]
    assert origins == ["not recorded", "not recorded", "user"]


def test_keys_that_nobody_overrode_stand_beside_the_template():
    effective = {"dataset.record_length": "2164832", "train.epochs": "1", "reader.batch_size": "99"}
    found = {v.name: (v.value, v.default) for v in compare_template("flux", "b200", effective, ["reader.batch_size"])}
    assert found["dataset.record_length_bytes"] == ("2164832", "2164832")
    assert found["train.epochs"] == ("1", "1")
    assert found["train.computation_time"] == ("(not set)", "1.35")
    assert "reader.batch_size" not in found
    assert found["workflow.checkpoint"] == ("false", "false")
    changed = compare_template("flux", "b200", {"workflow.checkpoint": "true"}, [])
    assert [(v.name, v.value) for v in changed if v.name == "workflow.checkpoint"] == [("workflow.checkpoint", "true")]
