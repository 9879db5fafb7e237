"""Runs that name the manifest of their dataset (3.3.1 in 4.0-draft): what agrees is silent, each slip has its token."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training_trees import DELETE, TrainingLeaf, TrainingTree
from trees import cases_directory

from rules import Finding
from submission_checker.scan import Options, check

DRAFT = "4.0-draft"
FILE = "datagen-manifest.json"
COUNT_KEY = "dataset.num_files_generated"
GENERATION = "20260701_090000"

Change = Callable[[TrainingLeaf], object]


def manifest(leaf: TrainingLeaf, **keys: Any) -> None:
    """The leaf's manifest with these keys changed."""
    path = leaf.path / FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


def name_manifest(leaf: TrainingLeaf, files: int, generation: str = GENERATION) -> None:
    """What a tool of the draft adds to a run: a manifest, its name in the metadata, its count for the benchmark."""
    (leaf.path / FILE).write_text(
        json.dumps({"run_datetime": generation, "model": "unet3d", "num_files_generated": files})
    )
    leaf.edit("metadata", {"/datagen_manifest_file": FILE})
    leaf.override(COUNT_KEY, files, typed=False)


@pytest.fixture
def tree(tmp_path: Path) -> TrainingTree:
    tree = TrainingTree(tmp_path).build()
    for leaf in tree.runs:
        name_manifest(leaf, tree.files)
    return tree


def judged(root: Path, edition: str = DRAFT) -> list[Finding]:
    report = check(root, Options(edition=edition))
    assert not report.faults
    return [f for f in report.findings if f.rule.startswith(("3.", "X3", "READ-03")) and f.severity.value != "info"]


def tokens(found: list[Finding]) -> list[tuple[str, str]]:
    """Token and severity of each finding of 3.3.1; others by their rule and clause."""
    return [
        (f.message.partition(":")[0] if f.rule == "3.3.1" else f"{f.rule} {f.clause}", f.severity.value) for f in found
    ]


def used(leaf: TrainingLeaf, count: int) -> None:
    leaf.override("dataset.num_files_train", count)
    leaf.edit("summary", {"/num_files_train": count})


def remove(leaf: TrainingLeaf) -> None:
    (leaf.path / FILE).unlink()


def typed(leaf: TrainingLeaf) -> None:
    leaf.override(COUNT_KEY, 99999)


def counted(count: int) -> Change:
    """Manifest and benchmark with this number of generated files."""

    def change(leaf: TrainingLeaf) -> None:
        manifest(leaf, num_files_generated=count)
        leaf.override(COUNT_KEY, count, typed=False)

    return change


def link(leaf: TrainingLeaf) -> None:
    path = leaf.path / FILE
    path.unlink()
    path.symlink_to(leaf.file("summary"))


SPOILT: dict[str, tuple[Change, list[tuple[str, str]]]] = {
    "not in the leaf": (remove, [("MANIFEST-MISSING", "error")]),
    "none named": (
        lambda leaf: leaf.edit("metadata", {"/datagen_manifest_file": None}),
        [("MANIFEST-ABSENT", "warning")],
    ),
    "empty name": (
        lambda leaf: leaf.edit("metadata", {"/datagen_manifest_file": ""}),
        [("MANIFEST-ABSENT", "warning")],
    ),
    "another count typed": (typed, [("MANIFEST-OVERRIDDEN", "error")]),
    "of another generation": (
        lambda leaf: manifest(leaf, run_datetime="20260630_090000"),
        [("MANIFEST-LINK", "error")],
    ),
    "more than datagen made": (
        counted(60000),
        [("MANIFEST-COUNT", "error")],
    ),
    "another count passed on": (
        lambda leaf: leaf.override(COUNT_KEY, 50000, typed=False),
        [("MANIFEST-COUNT", "error")],
    ),
    "more used than both say": (lambda leaf: used(leaf, 56001), [("MANIFEST-OVERRUN", "error")]),
    "fewer than used and made": (
        counted(50000),
        [("MANIFEST-COUNT", "error"), ("MANIFEST-OVERRUN", "error")],
    ),
    "a link": (link, [("READ-03 run", "error")]),
    "cut short": (lambda leaf: (leaf.path / FILE).write_text("{"), [("READ-03 run", "error")]),
}


def test_a_manifest_that_agrees_is_silent(tree: TrainingTree) -> None:
    assert tokens(judged(tree.root)) == []


@pytest.mark.parametrize("name", SPOILT)
def test_one_spoilt_leaf_has_its_token_and_no_other(tree: TrainingTree, name: str) -> None:
    spoil, expected = SPOILT[name]
    spoil(tree.runs[2])
    found = judged(tree.root)
    assert sorted(tokens(found)) == expected
    assert all(tree.runs[2].path.name in f.path for f in found)


@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0"])
def test_older_editions_know_no_manifest(tree: TrainingTree, edition: str) -> None:
    for leaf in tree.runs:
        remove(leaf)
    assert not [f for f in judged(tree.root, edition) if "MANIFEST" in f.message]


def test_a_run_that_names_no_manifest_is_not_judged_by_one(tree: TrainingTree) -> None:
    for leaf in tree.runs:
        leaf.edit("metadata", {"/datagen_manifest_file": DELETE})
        manifest(leaf, num_files_generated=1, run_datetime="20200101_000000")
    assert tokens(judged(tree.root)) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda leaf: leaf.edit("metadata", {"/datagen_manifest_file": f"/mnt/pfs/data/unet3d/{FILE}"}),
        lambda leaf: leaf.edit("metadata", {"/datagen_manifest_file": "/mnt/pfs/data/unet3d/made.json"}),
        lambda leaf: leaf.edit("metadata", {"/datagen_manifest_file": DELETE, "/args/datagen_manifest_file": FILE}),
        lambda leaf: (leaf.path / FILE).write_text("PRUNED BY STAFF\n"),
        lambda leaf: manifest(leaf, num_files_generated=None, num_files_train="56000"),
        lambda leaf: manifest(leaf, run_datetime=None, datagen=f"/home/bench/results/datagen/{GENERATION}/"),
        lambda leaf: leaf.override(COUNT_KEY, 56000),
        lambda leaf: used(leaf, 56000),
    ],
    ids=["path", "path of another name", "option", "pruned", "count as text", "datagen", "typed, the same", "all used"],
)  # fmt: skip
def test_legal_spellings_are_silent(tree: TrainingTree, change: Change) -> None:
    for leaf in tree.runs:
        change(leaf)
    assert tokens(judged(tree.root)) == []


def test_the_manifest_says_which_of_two_generations_a_run_used(tree: TrainingTree) -> None:
    tree.files = 60000
    tree.add_datagen("20260701_091500")
    assert tokens(judged(tree.root)) == []


def test_a_missing_manifest_is_one_finding_that_answers_for_what_it_leaves_open(tree: TrainingTree) -> None:
    remove(tree.runs[0])
    report = check(tree.root, Options(edition=DRAFT))
    about = [f for f in report.findings if FILE in f"{f.path}{f.message}"]
    assert [f.message.partition(":")[0] for f in about] == ["MANIFEST-MISSING"]
    for text in (tree.runs[0].path.name, FILE, "Supply the manifest"):
        assert text in about[0].message + about[0].remedy


@pytest.mark.parametrize("value", [3, ["x"], "..", "x/../", {"a": 1}, True])
def test_hostile_names_break_nothing(tree: TrainingTree, value: object) -> None:
    tree.runs[0].edit("metadata", {"/datagen_manifest_file": value})
    assert not check(tree.root, Options(edition=DRAFT)).faults


@pytest.mark.parametrize("value", [None, "x", -1, 0, 2**70, [1], {}])
def test_hostile_manifests_break_nothing(tree: TrainingTree, value: object) -> None:
    manifest(tree.runs[0], num_files_generated=value, run_datetime=value)
    assert not check(tree.root, Options(edition=DRAFT)).faults


def published(tmp_path: Path) -> list[TrainingLeaf]:
    """The run leaves of a published workload (280000 files generated and used), given manifests."""
    source = cases_directory() / "08-train-unet3d-complete" / "tree"
    if not source.is_dir():
        pytest.skip(f"no training case in {cases_directory()}")
    shutil.copytree(source, tmp_path / "tree", copy_function=shutil.copyfile)
    for path in (tmp_path / "tree").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (tmp_path / "tree").chmod(0o755)
    (workload,) = (tmp_path / "tree").glob("closed/*/results/*/training/unet3d")
    (generation,) = (workload / "datagen").iterdir()
    leaves = [TrainingLeaf(path) for path in sorted((workload / "run").iterdir()) if path.is_dir()]
    for leaf in leaves:
        name_manifest(leaf, 280000, generation.name)
    return leaves


@pytest.mark.parametrize(
    ("token", "spoil", "legal"),
    [
        ("MANIFEST-MISSING", remove, lambda leaf: None),
        ("MANIFEST-ABSENT", SPOILT["none named"][0], lambda leaf: None),
        ("MANIFEST-OVERRIDDEN", typed, lambda leaf: leaf.override(COUNT_KEY, 280000)),
        ("MANIFEST-LINK", SPOILT["of another generation"][0], lambda leaf: manifest(leaf, model="any")),
        ("MANIFEST-COUNT", counted(280001), counted(280000)),
        ("MANIFEST-OVERRUN", lambda leaf: used(leaf, 280001), lambda leaf: used(leaf, 279999)),
    ],
)  # fmt: skip
def test_published_leaves(tmp_path: Path, token: str, spoil: Change, legal: Change) -> None:
    leaves = published(tmp_path)
    legal(leaves[3])
    assert not [f for f in judged(tmp_path / "tree") if f.rule == "3.3.1"]
    spoil(leaves[3])
    (finding,) = [f for f in judged(tmp_path / "tree") if f.rule == "3.3.1"]
    assert finding.message.startswith(token)
    assert finding.path.endswith(leaves[3].path.name)


def test_a_file_that_other_readers_know_is_no_manifest(tmp_path: Path) -> None:
    """A run names its pointer, or its own metadata, as the manifest: no reader is given what another one parsed."""
    tree = TrainingTree(tmp_path).build()
    pointer, own = tree.runs[:2]
    (pointer.path / ".mlps-code-image").write_text("0" * 32)
    pointer.edit("metadata", {"/datagen_manifest_file": ".mlps-code-image"})
    own.edit("metadata", {"/datagen_manifest_file": own.file("metadata").name})
    report = check(tree.root, Options(edition=DRAFT))
    assert not report.faults
    assert report.leaves == len(tree.runs) + len(tree.leaves("datagen")) + len(tree.leaves("datasize"))
