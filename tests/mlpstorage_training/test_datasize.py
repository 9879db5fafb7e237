"""``mlpstorage training datasize``: the size, its explanation, and what is refused."""

from __future__ import annotations

import json

import pytest

from mlpstorage.cli import main
from rules.tables import reference_rows

ARGUMENTS = {
    "--model": "unet3d",
    "--accelerator-type": "b200",
    "--max-accelerators": "60",
    "--client-host-memory-in-gb": "376",
    "--num-client-hosts": "15",
}


def words(division: str = "closed", **changes: str | None) -> list[str]:
    options = {**ARGUMENTS, **{f"--{name.replace('_', '-')}": value for name, value in changes.items()}}
    return ["training", "datasize", division, *(w for k, v in options.items() if v is not None for w in (k, v))]


def answer(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> dict[str, object]:
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("changes", "files", "governs"),
    [
        ({}, 210000, "steps"),
        ({"max_accelerators": "104", "client_host_memory_in_gb": "504", "num_client_hosts": "9"}, 364000, "steps"),
        ({"max_accelerators": "50", "client_host_memory_in_gb": "755.0", "num_client_hosts": "10"}, 276491, "memory"),
        (
            {
                "model": "retinanet",
                "max_accelerators": "40",
                "client_host_memory_in_gb": "384",
                "num_client_hosts": "1",
            },
            6383464,
            "memory",
        ),
    ],
)
def test_sizes_of_recorded_sizings(capsys, changes, files, governs):
    found = answer(capsys, words(**changes))
    assert (found["num_files_train"], found["governs"]) == (files, governs)
    assert found["num_subfolders_train"] == 0
    assert found["total_disk_bytes"] == files * found["record_length_bytes"]
    assert found["findings"] == []


def test_the_larger_of_declared_and_measured_memory_counts(capsys):
    declared = {"max_accelerators": "8", "client_host_memory_in_gb": "189", "num_client_hosts": "2"}
    assert answer(capsys, words(**declared))["num_files_train"] == 28000
    measured = answer(capsys, words(**declared, measured_host_memory_in_gb="1007.6"))
    assert (measured["num_files_train"], measured["files_by_steps"]) == (73800, 28000)
    assert (measured["client_host_memory_in_gb"], measured["measured_host_memory_in_gb"]) == (189.0, 1007.6)
    smaller = answer(capsys, words(**declared, measured_host_memory_in_gb="100"))
    assert smaller["num_files_train"] == 28000


def test_text_explains_both_terms(capsys):
    assert main(words()) == 0
    text = capsys.readouterr().out
    for part in (
        "closed, edition 3.0",
        "up to 60 accelerators",
        "15 hosts of 376 GiB",
        "batch size 7, 1 sample in a file, 146600628 bytes a sample",
        "500 steps x 7 x 60 accelerators / 1\n             = 210000 files",
        "5 x 6055903887360 bytes (5640.0000 GiB) / (146600628 bytes x 1)\n             = 206544.27 files",
        "dataset.num_files_train       210000",
        "dataset.num_subfolders_train  0",
        "30786131880000 bytes (28.00 TiB)",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "row", [*reference_rows("training-templates").values()], ids=lambda row: f"{row['model']}_{row['accelerator']}"
)
@pytest.mark.parametrize("division", ["closed", "open", "whatif"])
def test_every_template_fits_on_a_screen_and_says_the_same_in_both_formats(capsys, division, row):
    chosen = words(division, model=row["model"], accelerator_type=row["accelerator"])
    code = main(chosen)
    text = capsys.readouterr().out
    assert main([*chosen, "--format", "json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert max(map(len, text.splitlines())) <= 80
    assert f"dataset.num_files_train       {found['num_files_train']}\n" in text
    assert f"{found['total_disk_bytes']} bytes" in text
    submittable = f"{row['model']}_{row['accelerator']}" in ("unet3d_b200", "retinanet_b200", "retinanet_mi355")
    assert code == (0 if submittable or division == "whatif" else 1)
    assert [finding["rule"] for finding in found["findings"]] == ["X3.3"] * code


def test_text_shows_declared_and_measured_memory_as_they_were_written(capsys):
    assert main(words(measured_host_memory_in_gb="380.1250")) == 0
    assert "15 hosts of 376 GiB (measured: 380.125 GiB; the larger counts)\n" in capsys.readouterr().out


def test_the_division_may_stand_first(capsys):
    assert main(["closed", "training", "datasize", *words()[3:]]) == 0
    assert "210000" in capsys.readouterr().out


@pytest.mark.parametrize("division", ["closed", "open"])
def test_a_combination_that_cannot_be_submitted_is_forbidden(capsys, division):
    assert main(words(division, model="flux")) == 1
    assert "X3.3" in capsys.readouterr().out


def test_whatif_sizes_every_template_and_judges_nothing(capsys):
    found = answer(capsys, words("whatif", model="flux", accelerator_type="mi355"))
    assert found["findings"] == []
    assert found["files_by_steps"] == 7500
    assert main(words("whatif")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "not for submission" in line] == ["whatif: not for submission"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "bert"}, "'bert' is no training model"),
        ({"accelerator_type": "mi355"}, "unsupported combination"),
        ({"max_accelerators": "0"}, "--max-accelerators"),
        ({"max_accelerators": "3.5"}, "--max-accelerators"),
        ({"num_client_hosts": "-1"}, "--num-client-hosts"),
        ({"client_host_memory_in_gb": "nan"}, "--client-host-memory-in-gb"),
        ({"client_host_memory_in_gb": "0"}, "--client-host-memory-in-gb"),
        ({"client_host_memory_in_gb": None}, "--client-host-memory-in-gb"),
        ({"client_host_memory_in_gb": "-5"}, "is not a positive number of GiB"),
        ({"client_host_memory_in_gb": "99999999999999"}, "more than a host can have"),
        (
            {
                "client_host_memory_in_gb": "1000000000",
                "num_client_hosts": "2147483647",
                "max_accelerators": "2147483647",
            },
            "no filesystem holds them",
        ),
        ({"edition": "9.9"}, "no edition '9.9'"),
    ],
)
def test_bad_command_lines_are_one_line(capsys, changes, said):
    assert main(words(**changes)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_the_environment_may_name_the_edition(capsys, monkeypatch):
    monkeypatch.setenv("MLPSTORAGE_EDITION", "4.0-draft")
    assert answer(capsys, words())["edition"] == "4.0-draft"
