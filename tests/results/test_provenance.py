"""Stamps and manifests: what is written fits the form, and what does not fit is told key by key."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlpstorage.results import manifest, provenance
from rules.derived.provenance import allowlist_of, canonical, core_config, core_config_hash

STAMP: dict[str, Any] = {
    "schema": "mlps-run-provenance/1",
    "rules_edition": "3.0",
    "layout_version": 3,
    "tool": {"name": "mlpstorage", "version": "3.1", "git_sha": "unknown", "code_image": "md5-tree-v2:" + "0" * 32},
    "dlio": {"version": "2.0.0", "source": "unknown", "commit": "unknown"},
    "storage_library": {"name": "none"},
    "core_config": {
        "algorithm": "core-config-v1",
        "allowlist": "training@1",
        "hash": "0d3ad0dec188becd",
        "keys": ["framework"],
    },
    "stamped_at": "2026-07-01T10:00:00Z",
    "stamped_by": "mlpstorage 3.1",
    "provenance": {
        "rules_edition": "runtime",
        "layout_version": "tool-constant",
        "tool": "runtime",
        "dlio": "direct-url",
        "storage_library": "n/a",
        "core_config": "runtime",
    },
}
UNET3D: dict[str, Any] = {
    "model": {"name": "unet3d", "type": "cnn", "model_size": 499153191},
    "framework": "pytorch",
    "workflow": {"generate_data": False, "train": True, "checkpoint": False},
    "dataset": {
        "data_folder": "/mnt/data/unet3d",
        "format": "npz",
        "num_files_train": "280000",
        "num_samples_per_file": 1,
        "record_length_bytes": 146600628,
        "record_length_bytes_stdev": 68341808,
        "record_length_bytes_resize": 2097152,
    },
    "reader": {
        "data_loader": "pytorch", "batch_size": 7, "read_threads": "6", "file_shuffle": "seed",
        "sample_shuffle": "seed",
    },
    "train": {"epochs": 5, "computation_time": 0.162},
    "checkpoint": {
        "checkpoint_folder": "checkpoints/unet3d",
        "checkpoint_after_epoch": 5,
        "epochs_between_checkpoints": 2,
    },
    "metric": {"au": 0.9},
}  # fmt: skip


def test_a_whole_stamp_is_read_and_written_alike() -> None:
    read = provenance.parse(STAMP)
    assert isinstance(read, provenance.Provenance)
    assert read.document() == STAMP
    with_notes = {**STAMP, "notes": "by hand", "storage_library": {"name": "s3", "version": "1"}}
    read = provenance.parse(with_notes)
    assert isinstance(read, provenance.Provenance)
    assert read.document() == with_notes


@pytest.mark.parametrize("key", sorted(STAMP))
def test_each_key_is_needed_and_never_null(key: str) -> None:
    without = {name: value for name, value in STAMP.items() if name != key}
    for wrong in (without, {**STAMP, key: None}):
        problems = provenance.parse(wrong)
        assert isinstance(problems, list)
        assert problems[0].startswith(key)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("schema", "mlps-run-provenance/2"), ("layout_version", True), ("layout_version", 0), ("layout_version", "3"),
        ("rules_edition", 3.0), ("tool.git_sha", None), ("tool.more", "x"), ("more", "x"), ("core_config.hash", "0D3A"),
        ("core_config.hash", "0" * 32), ("core_config.keys", [1]), ("core_config.algorithm", "core-config-v2"),
        ("provenance.tool", "guessed"), ("notes", None), ("dlio", "2.0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_place(place: str, value: object) -> None:
    stamp = copy.deepcopy(STAMP)
    *above, key = place.split(".")
    target = stamp[above[0]] if above else stamp
    target[key] = value
    problems = provenance.parse(stamp)
    assert isinstance(problems, list)
    assert problems[0].startswith(place)


def test_unknown_hashes_are_allowed() -> None:
    stamp = {**STAMP, "core_config": {**STAMP["core_config"], "hash": "unknown", "keys": []}}
    assert isinstance(provenance.parse(stamp), provenance.Provenance)


def test_the_published_workload_hash_comes_out() -> None:
    core = core_config(UNET3D, allowlist_of("training"))
    assert core_config_hash(core) == "0d3ad0dec188becd"
    assert "checkpoint.checkpoint_folder" not in core
    assert "dataset.num_files_train" not in core


def test_what_does_not_define_the_workload_does_not_change_its_hash() -> None:
    changed = copy.deepcopy(UNET3D)
    changed["dataset"].update(num_files_train=5, data_folder="/elsewhere")
    changed["reader"].update(read_threads=9, odirect="true")
    changed["checkpoint"]["checkpoint_folder"] = "/elsewhere"
    changed["storage"] = {"storage_type": "s3"}
    assert core_config_hash(core_config(changed, "training@1")) == "0d3ad0dec188becd"
    changed["reader"]["batch_size"] = 8
    assert core_config_hash(core_config(changed, "training@1")) != "0d3ad0dec188becd"


def test_how_a_value_is_spelt_does_not_change_the_hash() -> None:
    spelt = copy.deepcopy(UNET3D)
    spelt["reader"]["batch_size"] = " 7 "
    spelt["workflow"]["train"] = "True"
    spelt["train"].update(epochs=5.0, computation_time="0.162")
    assert core_config_hash(core_config(spelt, "training@1")) == "0d3ad0dec188becd"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, True), (7.0, 7), (7.5, 7.5), ("true", True), ("False", False), ("7", 7), ("7.0", 7), ("0.5", 0.5),
        ("1e3", 1000), (" npz ", "npz"), ("nan", "nan"), ("inf", "inf"), ("9" * 5000, "9" * 5000),
        (["1", 2.0], [1, 2]), (None, None),
    ],
)  # fmt: skip
def test_canonical_values(value: object, wanted: object) -> None:
    found = canonical(value)
    assert (found, type(found)) == (wanted, type(wanted))


def leaf(top: Path, place: str, *, stamped: bool = False, pointer: str = "") -> Path:
    path = top / place
    path.mkdir(parents=True)
    family = place.split("/")[2]
    metadata = {"benchmark_type": family, "accelerator": "b200", "parameters": UNET3D}
    (path / f"{family}_{path.name}_metadata.json").write_text(json.dumps(metadata))
    if stamped:
        (path / "provenance.json").write_text(json.dumps(STAMP))
    if pointer:
        (path / ".mlps-code-image").write_text(pointer)
    return path


RUN = "results/fast/training/unet3d/run/20260701_100000"
GENERATION = "results/fast/training/unet3d/datagen/20260701_090000"
CHECKPOINT = "results/fast/checkpointing/llama3-8b/20260701_110000"
INDEXED = "results/fast/vector_database/milvus/DISKANN/run/20260701_120000"


def test_the_manifest_lists_every_leaf_once(tmp_path: Path) -> None:
    acme = tmp_path / "closed/acme"
    leaf(acme, RUN, stamped=True, pointer="md5-tree-v2:" + "0" * 32 + "\n")
    for place in (GENERATION, CHECKPOINT, INDEXED):
        leaf(acme, place)
    (acme / "results/fast/checkpointing/llama3-8b/20260701_115959").mkdir()  # a reserved name, never used
    (acme / "results/fast/checkpointing/llama3-8b/notes").mkdir()
    (acme / "systems").mkdir()
    (acme / "systems/fast.yaml").write_text("")
    path = manifest.write(acme, "closed", "3.0", 3, "test")
    text = path.read_text()
    document = yaml.safe_load(text)
    assert "rules_edition: '3.0'" in text
    read = manifest.parse(document)
    assert isinstance(read, manifest.Manifest)
    assert sorted(run.leaf for run in read.runs) == sorted([RUN, GENERATION, CHECKPOINT, INDEXED])
    assert (read.orgname, read.mode, read.rules_edition, read.layout_version) == ("acme", "closed", "3.0", 3)
    assert read.tool_versions == ["3.1"]
    assert read.code_images == ["md5-tree-v2:" + "0" * 32]
    assert document["systems"] == [{"name": "fast", "description": "systems/fast.yaml", "pdf": "missing"}]
    by_leaf = {run.leaf: run for run in read.runs}
    assert by_leaf[RUN].provenance == f"{RUN}/provenance.json"
    unstamped = by_leaf[GENERATION]
    assert (unstamped.rules_edition, unstamped.provenance, unstamped.code_image) == ("unknown", "derived", "unknown")
    assert (unstamped.command, unstamped.core_config, unstamped.accelerator) == ("datagen", "0d3ad0dec188becd", "b200")
    assert (by_leaf[INDEXED].model, by_leaf[INDEXED].core_config) == ("DISKANN", "unknown")
    assert by_leaf[CHECKPOINT].command == "run"


@pytest.mark.parametrize(
    ("status", "listed"),
    [("completed", True), (None, True), ([], True), ("failed", False), ("interrupted", False), ("running", False)],
)
def test_a_leaf_of_a_run_that_gave_no_result_is_not_in_the_manifest(
    tmp_path: Path, status: object, listed: bool
) -> None:
    leaf = tmp_path / "results/fast/checkpointing/llama3-8b/20260701_100000"
    leaf.mkdir(parents=True)
    (leaf / "checkpointing_20260701_100000_metadata.json").write_text(json.dumps({"status": status}))
    document = yaml.safe_load(manifest.write(tmp_path, "closed", "3.0", 3, "test").read_text())
    assert len(document["runs"]) == listed


def test_damaged_leaves_do_not_keep_the_manifest_from_being_written(tmp_path: Path) -> None:
    path = leaf(tmp_path, RUN, stamped=True, pointer="x" * 1000)
    (path / "provenance.json").write_text('{"schema": ')
    (path / f"training_{path.name}_metadata.json").write_bytes(b"\xff")
    (tmp_path / "results/link").symlink_to("/")
    (run,) = yaml.safe_load(manifest.write(tmp_path, "open", "3.0", 3, "test").read_text())["runs"]
    assert (run["provenance"], run["core_config"], run["code_image"]) == ("derived", "unknown", "unknown")


def test_an_edition_that_is_not_quoted_is_read_as_text(tmp_path: Path) -> None:
    leaf(tmp_path, RUN)
    text = (
        manifest.write(tmp_path, "open", "3.0", 3, "test")
        .read_text()
        .replace("rules_edition: '3.0'", "rules_edition: 3.0")
    )
    read = manifest.parse(yaml.safe_load(text))
    assert isinstance(read, manifest.Manifest)
    assert read.rules_edition == "3.0"


def test_problems_of_a_manifest_name_the_key() -> None:
    problems = manifest.parse({"schema": "mlps-submission-manifest/1", "runs": [{"leaf": None}]})
    assert isinstance(problems, list)
    assert any(problem.startswith("orgname") for problem in problems)
    assert any(problem.startswith("runs.0.leaf") for problem in problems)
