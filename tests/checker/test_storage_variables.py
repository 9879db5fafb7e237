"""Variables of the storage library (1.2): a real run that used them, the same run without, and a launch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from training_trees import TrainingTree
from trees import cases_directory

from mlpstorage.checkpointing.gate import SECTIONS, decide, load_edition
from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.checkpointing.options import parse
from submission_checker.scan import Options, check

CASE = cases_directory() / "01-ckpt-8b-object-single" / "tree"
PASSED = (
    "S3DLIO_CHUNK_SIZE", "S3DLIO_ENABLE_RANGE_OPTIMIZATION", "S3DLIO_RANGE_CONCURRENCY", "S3DLIO_RANGE_THRESHOLD_MB",
)  # fmt: skip
"""What the run of that case was started with, as far as the rule names it."""


def told(root: Path, edition: str) -> list[tuple[str, str, str]]:
    report = check(root, Options(edition=edition))
    assert not report.faults
    return [(f.clause, f.severity.value, f.message) for f in report.findings if f.rule == "1.2"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    if not CASE.is_dir():
        pytest.skip(f"no case in {CASE}")
    shutil.copytree(CASE, tmp_path / "tree")
    return tmp_path / "tree"


def edit(tree: Path, **replaced: str) -> None:
    """Replace text in the metadata of the run."""
    (path,) = tree.rglob("*_metadata.json")
    text = path.read_text()
    for name, value in replaced.items():
        assert name in text
        text = text.replace(name, value)
    path.write_text(text)


def without_variables(tree: Path) -> None:
    edit(tree, **{f"-x {name}": "" for name in PASSED})


@pytest.mark.parametrize(("edition", "severity"), [("3.0", "info"), ("4.0-draft", "error")])
def test_a_real_run_with_variables(tree: Path, edition: str, severity: str) -> None:
    ((clause, found, message),) = told(tree, edition)
    assert (clause, found) == ("passed", severity)
    assert all(name in message for name in PASSED)
    assert "S3DLIO_UNSIGNED_PAYLOAD" not in message
    assert told(tree, "3.0-as-published") == []


def test_the_same_run_without_them(tree: Path) -> None:
    without_variables(tree)
    assert told(tree, "4.0-draft") == []


def test_the_same_run_with_them_declared(tree: Path) -> None:
    (path,) = tree.rglob("*_metadata.json")
    data = json.loads(path.read_text())
    data["override_parameters"].update({f"storage.storage_options.{name}": "1" for name in PASSED})
    path.write_text(json.dumps(data))
    assert told(tree, "4.0-draft") == []


def test_a_variable_that_the_description_names(tree: Path) -> None:
    without_variables(tree)
    (path,) = tree.rglob("acme-obj-1c1s.yaml")
    path.write_text(path.read_text().replace("S3DLIO_UNSIGNED_PAYLOAD", "S3DLIO_PUT_VERIFY"))
    ((clause, severity, message),) = told(tree, "4.0-draft")
    assert (clause, severity) == ("described", "error")
    assert "S3DLIO_PUT_VERIFY" in message


def test_an_open_run_may_use_them(tree: Path) -> None:
    (tree / "closed").rename(tree / "open")
    assert told(tree, "4.0-draft") == []


def test_without_the_command_the_rule_is_open_and_not_met(tree: Path) -> None:
    (path,) = tree.rglob("*_metadata.json")
    whole = json.loads(path.read_text())
    for command in (None, 5, ["mpirun"], "mpirun 'n"):
        path.write_text(json.dumps({**whole, "executed_command": command, "environment": {"HOME": "/root"}}))
        report = check(tree, Options(edition="4.0-draft"))
        assert report.tally["1.2"] == {"undetermined": 1}
        assert [f.rule for f in report.findings if "1.2" in (f.rule, *f.opens)]


@pytest.mark.parametrize(
    "environment",
    [
        {"S3DLIO_H2C": "1"},
        ["S3DLIO_H2C=1"],
        [{"name": "S3DLIO_H2C", "value": "1"}],
        [{"key": "S3DLIO_H2C", "value": "1"}],
        [["S3DLIO_H2C", "1"]],
        ["export S3DLIO_H2C=1"],
        {" S3DLIO_H2C": "1"},
        {"host01": {"S3DLIO_H2C": "1"}},
        "S3DLIO_H2C=1 HOME=/root",
        {**{f"A{number:04}": "1" for number in range(600)}, "S3DLIO_H2C": "1"},
    ],
)
def test_an_environment_in_any_form_is_read(tree: Path, environment: object) -> None:
    without_variables(tree)
    (path,) = tree.rglob("*_metadata.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "environment": environment}))
    ((clause, _, message),) = told(tree, "4.0-draft")
    assert (clause, "S3DLIO_H2C" in message) == ("passed", True)


@pytest.mark.parametrize("environment", [5, [5], [True]])
def test_an_environment_that_cannot_be_read_is_no_pass(tree: Path, environment: object) -> None:
    without_variables(tree)
    (path,) = tree.rglob("*_metadata.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "environment": environment}))
    assert check(tree, Options(edition="4.0-draft")).tally["1.2"] == {"undetermined": 1}


@pytest.mark.parametrize(
    "passed",
    [
        "-x S3DLIO_H2C", "-x S3DLIO_H2C=1", "-xS3DLIO_H2C=1", "-genv S3DLIO_H2C 1", "--genv S3DLIO_H2C 1",
        "-genvlist A,S3DLIO_H2C", "--export=ALL,S3DLIO_H2C=1", "--export ALL,S3DLIO_H2C",
        "--mca mca_base_env_list A;S3DLIO_H2C=1",
        "--mca mca_base_env_list A=b;S3DLIO_H2C=1",
    ],
)  # fmt: skip
def test_launchers_pass_variables_on_in_many_ways(tree: Path, passed: str) -> None:
    without_variables(tree)
    edit(tree, **{"-x STORAGE_LIBRARY": passed})
    ((clause, _, message),) = told(tree, "4.0-draft")
    assert (clause, "S3DLIO_H2C" in message) == ("passed", True)


def test_more_variables_than_anybody_sets_are_no_pass(tree: Path) -> None:
    (path,) = tree.rglob("*_metadata.json")
    many = {f"S3DLIO_{number}": "1" for number in range(600)}
    path.write_text(json.dumps({**json.loads(path.read_text()), "environment": many}))
    assert check(tree, Options(edition="4.0-draft")).tally["1.2"] == {"undetermined": 1}


def test_training_runs(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    for leaf in tree.runs:
        leaf.edit("metadata", {"/data_access_protocol": "object", "/args/data_access_protocol": "object"})
    assert told(tmp_path, "4.0-draft") == []
    for leaf in tree.runs:
        leaf.edit("metadata", {"/environment": {"S3DLIO_H2C": "1"}})
    (found,) = [f for f in check(tmp_path, Options(edition="4.0-draft")).findings if f.rule == "1.2"]
    assert (found.clause, found.severity.value, len(found.paths)) == ("trained", "error", 6)
    assert found.path.endswith("/training/unet3d")


def test_training_runs_on_clients_that_are_described_with_them(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    for leaf in tree.runs:
        leaf.edit("metadata", {"/args/data_access_protocol": "object"})
    (path,) = tmp_path.rglob("systems/*.yaml")
    description = yaml.safe_load(path.read_text())
    for group in description["system_under_test"]["clients"]:
        group["environment"] = [{"name": "S3DLIO_H2C", "value": "****"}]
    path.write_text(json.dumps(description))  # JSON is YAML
    (found,) = told(tmp_path, "4.0-draft")
    assert found[:2] == ("trained_described", "error")


@pytest.mark.parametrize(
    ("edition", "names", "warned"),
    [
        ("4.0-draft", ["S3DLIO_H2C"], True),
        ("4.0-draft", ["S3DLIO_MAX_RETRY_ATTEMPTS", "AWS_REGION"], False),
        ("3.0", ["S3DLIO_H2C"], False),
    ],
)
def test_a_launch_is_warned_and_not_refused(edition: str, names: list[str], warned: bool) -> None:
    words = ["closed", "--model", "llama3-8b", "--api", "object", "--checkpoint-folder", "s3://b/p"]
    plan = parse([*words, "--accelerator-type", "b200"], dict.fromkeys(names, "1")).plan
    decision = decide(load_edition(edition), launch_workload(plan), "closed")
    assert decision.allowed
    assert ("1.2" in {finding.rule for finding in decision.remarks}) is warned
    assert "1" in SECTIONS


@pytest.mark.parametrize("params", [["-x S3DLIO_H2C=1"], "-x S3DLIO_H2C=1", ["-x", "S3DLIO_H2C=1", 7]])
def test_a_variable_among_the_arguments_for_mpi(tree: Path, params: object) -> None:
    without_variables(tree)
    (path,) = tree.rglob("*_metadata.json")
    data = json.loads(path.read_text())
    data["args"]["mpi_params"] = params
    path.write_text(json.dumps(data))
    ((clause, severity, message),) = told(tree, "4.0-draft")
    assert (clause, severity) == ("passed", "error")
    assert "S3DLIO_H2C" in message
