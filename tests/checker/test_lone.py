"""Directories outside any tree: what is judged as what."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import kv_cache_trees
import pytest
import training_trees
import trees
import vector_database_trees
from trees import combined

from mlpstorage.results.roots.local import LocalRoot
from submission_checker.discovery import NothingToCheckError
from submission_checker.scan import Options, check

Build = Callable[[Path], Path]


def _training(root: Path) -> Path:
    return training_trees.TrainingTree(root).build().workload


def _kv_cache(root: Path) -> Path:
    return kv_cache_trees.legal(root)[0].workload


def _vector_database(root: Path) -> Path:
    return vector_database_trees.complete(root).directory


def _checkpointing(root: Path) -> Path:
    return trees.combined(root).workload


FAMILIES = pytest.mark.parametrize(
    ("build", "section"),
    [(_training, "3"), (_vector_database, "5"), (_kv_cache, "6")],
    ids=["training", "vector_database", "kv_cache"],
)


def _violated(path: Path, below: str) -> list[tuple[str, str, str]]:
    found = check(path, Options()).findings
    mine = [(f.rule, f.path, f.message) for f in found if f.severity.value != "info" and f.path.startswith(below)]
    return sorted((rule, path.removeprefix(below), message) for rule, path, message in mine)


@FAMILIES
def test_a_workload_directory_is_judged_as_what_its_leaves_are(tmp_path: Path, build: Build, section: str) -> None:
    workload = build(tmp_path / "t")
    (min((workload / "run").iterdir()) / "summary.json").unlink()
    found = _violated(tmp_path / "t", workload.relative_to(tmp_path / "t").as_posix())
    (tmp_path / "away").mkdir()
    away = Path(shutil.move(workload, tmp_path / "away"))
    report = check(away, Options())
    assert report.faults == []
    assert {rule.partition(".")[0] for rule, counts in report.tally.items() if counts["pass"]} >= {"2", section}
    assert not any(counts["pass"] for rule, counts in report.tally.items() if rule.startswith("4."))
    assert _violated(away, away.name) == found


@pytest.mark.parametrize("build", [_training, _vector_database, _kv_cache, _checkpointing])
def test_results_that_are_never_submitted_are_told(tmp_path: Path, build: Build) -> None:
    workload = build(tmp_path / "t")
    for file in workload.rglob("*_metadata.json"):
        metadata = json.loads(file.read_text())
        metadata["args"]["mode"] = "whatif"
        file.write_text(json.dumps(metadata))
    away = Path(shutil.move(workload, tmp_path / "away"))
    leaf = min(file.parent for file in away.rglob("summary.json"))
    for named in (away, leaf):
        told = f"{named.name}: whatif results, never to be submitted; judged as in closed"
        assert told in check(named, Options()).remarks


def test_a_directory_of_whatif_runs_says_what_can_be_judged(tmp_path: Path) -> None:
    (tmp_path / "whatif" / "whatif" / "results").mkdir(parents=True)
    with pytest.raises(NothingToCheckError, match="only whatif/, whose runs are never submitted: name one of these"):
        check(tmp_path, Options())


@FAMILIES
def test_runs_without_what_lies_beside_them_are_refused(tmp_path: Path, build: Build, section: str) -> None:
    away = Path(shutil.move(build(tmp_path / "t") / "run", tmp_path / "run"))
    with pytest.raises(NothingToCheckError, match="name the directory above, which holds run/, or one run"):
        check(away, Options())


@pytest.mark.parametrize(
    ("build", "command"),
    [(_training, "datasize"), (_training, "datagen"), (_training, "run"), (_vector_database, "run")],
)
def test_a_leaf_of_any_command_is_judged_as_such(tmp_path: Path, build: Build, command: str) -> None:
    (leaf, *_) = sorted((build(tmp_path / "t") / command).iterdir())
    away = Path(shutil.move(leaf, tmp_path / leaf.name))
    report = check(away, Options())
    assert report.faults == []
    assert [(f.rule, f.message) for f in report.findings if f.severity.value == "error"] == []


@pytest.mark.parametrize("file", ["notes/", "notes/README", "20260701_110000/", "20260701_110000/.keep"])
def test_what_is_no_run_is_not_judged_as_one(tmp_path: Path, file: str) -> None:
    tree = combined(tmp_path)
    directory, _, name = file.partition("/")
    other = tree.workload / directory
    other.mkdir()
    if name:
        (other / name).touch()
    with pytest.raises(NothingToCheckError, match=f"{directory}: neither summary.json nor metadata is in it"):
        check(other, Options())


def test_a_run_that_lost_its_files_is_still_one(tmp_path: Path) -> None:
    other = combined(tmp_path).workload / "20260701_110000"
    other.mkdir()
    (other / "dlio.log").touch()
    assert "2.1.25" in {finding.rule for finding in check(other, Options()).findings}


def test_a_directory_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = _training(tmp_path / "t")
    away = Path(shutil.move(workload, tmp_path / "unet3d"))
    real = LocalRoot.survey

    def locked(root: LocalRoot, path: str) -> object:
        if path.endswith("run/20260701_120000"):
            raise PermissionError(13, "Permission denied", path)
        return real(root, path)

    monkeypatch.setattr(LocalRoot, "survey", locked)
    with pytest.raises(NothingToCheckError, match="for unet3d/run/20260701_120000 cannot be listed"):
        check(away, Options())


def test_what_cannot_be_listed_inside_a_leaf_is_no_violation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = Path(shutil.move(_kv_cache(tmp_path / "t"), tmp_path / "away"))
    before, real = _violated(away, ""), LocalRoot.list

    def locked(root: LocalRoot, path: str) -> object:
        if path.endswith("option_1"):
            raise PermissionError(13, "Permission denied", path)
        return real(root, path)

    monkeypatch.setattr(LocalRoot, "list", locked)
    assert _violated(away, "") == before
    assert check(away, Options()).unreadable == ["away/run/20260720_120000/option_1: Permission denied"]


@pytest.mark.parametrize("asked_for", ["20260701_100000", "20260701_100001"])
def test_either_half_of_a_run_is_the_run(tmp_path: Path, asked_for: str) -> None:
    """The log alone is no run by its files: what was reserved for it has the rest."""
    leaf = training_trees.TrainingTree(tmp_path / "t").build().runs[0].path
    whole = Path(shutil.move(leaf, tmp_path / leaf.name))
    log = tmp_path / "20260701_100001"
    log.mkdir()
    (log / "training_run.stdout.log").write_text("started\n")
    (whole / "training_run.stdout.log").unlink(missing_ok=True)
    report = check(tmp_path / asked_for, Options())
    assert report.leaves == 1
    assert [f.rule for f in report.findings if f.rule == "LEAF-02"] == ["LEAF-02"]
