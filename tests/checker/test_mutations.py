"""A legal tree has no error and no warning; each spoilt one has exactly the finding that it was spoilt for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from trees import DELETE, GIB, LeafDir, Tree, cases_directory, combined, opened, pair

import rules
from submission_checker.scan import Options, check

Spoil = Callable[[Tree], None]


def findings(tree: Tree, edition: str = "3.0") -> list[tuple[str, str]]:
    report = check(tree.root, Options(edition=edition))
    assert not report.faults
    return sorted((f.rule, f.severity.value) for f in report.findings if f.severity.value != "info")


def on_all(change: Callable[[LeafDir], None]) -> Spoil:
    def spoil(tree: Tree) -> None:
        for leaf in tree.leaves:
            change(leaf)

    return spoil


def edit(file: str, changes: dict[str, object]) -> Spoil:
    return on_all(lambda leaf: leaf.edit(file, changes))


def edit_one(index: int, file: str, changes: dict[str, object]) -> Spoil:
    return lambda tree: tree.leaves[index].edit(file, changes)


def override(key: str, value: object) -> Spoil:
    return on_all(lambda leaf: leaf.override(key, value))


def describe(**changes: object) -> Spoil:
    return lambda tree: tree.describe(**changes)


def both(*spoils: Spoil) -> Spoil:
    def spoil(tree: Tree) -> None:
        for each in spoils:
            each(tree)

    return spoil


def replace(path: Path, *words: str) -> None:
    """Write other words into a file, in pairs of old and new."""
    text = path.read_text()
    for old, new in zip(words[::2], words[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def rename_workload(tree: Tree, name: str) -> None:
    tree.workload.rename(tree.workload.parent / name)


def on_object(folder: str) -> Spoil:
    """The leaves used the object API, with this checkpoint folder."""
    asked = edit("metadata", {"/args/data_access_protocol": "object", "/args/checkpoint_folder": folder})
    return both(override("storage.storage_type", "s3"), asked)


def clients(hosts: int) -> Spoil:
    """Describe another number of client hosts."""

    def spoil(tree: Tree) -> None:
        tree.hosts = hosts
        tree.describe()

    return spoil


def four_a_host(tree: Tree) -> None:
    clients(2)(tree)
    for leaf in tree.leaves:
        leaf.edit("metadata", {"/args/hosts": ["host01:4", "host02:4"]})
        leaf.edit("summary", {"/num_hosts": 2})


def second_combined(tree: Tree) -> None:
    tree.add("20260701_110000", 10, 10, memory_gib=125.0)


LAST_KEYS = ("num_checkpoints_write", "num_checkpoints_read", "fsync")

PAIR: dict[str, tuple[Spoil, list[tuple[str, str]]]] = {
    "fsync off": (override("checkpoint.fsync", False), [("4.3.2", "error")]),
    "fsync off, as text": (override("checkpoint.fsync", "False"), [("4.3.2", "error")]),
    "fsync not set": (edit("config", {"/workload/checkpoint/fsync": DELETE}), [("4.3.2", "error")]),
    "fsync without effect": (edit("metadata", {"/fsync_effective": False}), [("4.3.2", "warning")]),
    "metadata of another model": (
        edit("metadata", {"/args/model": "llama3-70b", "/args/num_processes": 64}),
        [("X4.2", "error")],
    ),
    "unknown model": (edit("metadata", {"/args/model": "llama3-18b"}), [("X4.2", "error")]),
    "unknown model in its directory": (
        both(edit("metadata", {"/args/model": "llama3-18b"}), lambda tree: rename_workload(tree, "llama3-18b")),
        [("2.1.21", "error"), ("4.3.3", "error"), ("4.6.3", "warning")],
    ),
    "model spelt in another way": (edit("metadata", {"/args/model": "llama3_8b"}), [("X4.2", "error")]),
    "declared subset of 16": (
        edit("metadata", {"/args/checkpoint_subset": True, "/args/num_processes": 16}),
        [("4.3.5", "error"), ("4.6.1", "error"), ("4.6.1", "error")],
    ),
    "same paths": (edit("metadata", {"/args/results_dir": "/mnt//pfs/./ckpt/"}), [("4.4.1", "error")]),
    "no checkpoint folder": (edit("metadata", {"/args/checkpoint_folder": ""}), [("4.4.1", "error")]),
    "a scheme twice": (on_object("s3://s3://bucket/run"), [("4.4.1", "warning")]),
    "one filesystem": (edit("fs", {"/same_filesystem": True}), [("4.4.2", "error")]),
    "no filesystem evidence": (
        on_all(lambda leaf: (leaf.path / "fs_separation.json").unlink()),
        [("4.4.2", "warning")],
    ),
    "evidence of another run": (
        edit("fs", {"/version": 7, "/results_path": "/other", "/probed_at": "2020-07-01T10:00:00Z"}),
        [("4.4.2", "warning")],
    ),
    "evidence of other checkpoints": (edit("fs", {"/data_or_chkpt_path": "/elsewhere"}), [("4.4.2", "warning")]),
    "whole evidence of this run": (
        edit(
            "fs",
            {
                "/data_or_chkpt_path": "/mnt/pfs/ckpt/",
                "/results_path": "/home/bench/results",
                "/probed_at": "2026-07-01T16:00:02Z",
            },
        ),
        [],
    ),
    "filesystem gate skipped": (edit("metadata", {"/args/skip_fs_separation_gate": True}), [("4.4.2", "warning")]),
    "12 processes": (
        both(edit("metadata", {"/args/num_processes": 12}), edit("summary", {"/num_accelerators": 12})),
        [("4.6.1", "error")],
    ),
    "another world size": (edit("summary", {"/num_accelerators": 16}), [("4.6.1", "error")]),
    "4 ranks a host": (four_a_host, [("4.6.2", "warning")]),
    "1 rank on a host": (
        both(clients(2), edit("metadata", {"/args/hosts": ["a:7", "b:1"]}), edit("summary", {"/num_hosts": 2})),
        [("4.6.2", "error")],
    ),
    "other parameter": (override("checkpoint.time_between_checkpoints", 0), [("4.6.3", "error")]),
    "added parameter": (override("checkpoint.rank_sync", True), [("4.6.3", "error")]),
    "another mode": (override("checkpoint.mode", "bananas"), [("4.6.3", "error")]),
    "fewer instances": (override("model.parallelism.data", 4), [("4.6.3", "error")]),
    "other counts than asked for": (override("checkpoint.num_checkpoints_write", 5), [("4.6.3", "error")]),
    "fsync not set, object": (
        both(on_object("s3://bucket/run"), edit("config", {"/workload/checkpoint/fsync": DELETE})),
        [("4.6.3", "error")],
    ),
    "statistics of another rank alone": (
        on_all(lambda leaf: (leaf.path / "0_per_epoch_stats.json").rename(leaf.path / "3_per_epoch_stats.json")),
        [],
    ),
    "missing parameter": (edit("config", {"/workload/framework": DELETE}), [("4.6.3", "error")]),
    "configuration cut after its first section": (
        edit("config", {f"/workload/{name}": DELETE for name in ("framework", "workflow", "checkpoint")}),
        [("READ-01", "error")] * 2,
    ),
    "configuration cut in its last section": (
        edit("config", {f"/workload/checkpoint/{name}": DELETE for name in LAST_KEYS}),
        [("READ-01", "error")] * 2,
    ),
    "configuration without its head": (edit("config", {"/workload/model": DELETE}), [("READ-01", "error")] * 2),
    "no process": (edit("metadata", {"/args/num_processes": -8}), [("4.6.1", "error")] * 2),
    "files disagree": (
        edit("config", {"/workload/checkpoint/checkpoint_folder": "/mnt/other/llama3-8b"}),
        [("4.6.3", "warning")],
    ),
    "overrides of another model": (
        on_all(lambda leaf: replace(leaf.path / "dlio_config/overrides.yaml", "=llama3_8b", "=llama3_70b")),
        [("4.6.3", "warning")],
    ),
    "a command of another model and count": (
        on_all(lambda leaf: replace(leaf.metadata, "mpirun -n 8 ", "mpirun -n 64 ", "=llama3_8b", "=llama3_70b")),
        [("4.6.3", "warning")] * 2,
    ),
    "a command that starts two programs": (
        on_all(lambda leaf: replace(leaf.metadata, "mpirun -n 8 ", "mpirun -n 4 dlio_benchmark : -n 4 ")),
        [],
    ),
    "a command of another launcher": (
        on_all(lambda leaf: replace(leaf.metadata, "mpirun -n 8 ", "srun -n 2 -c 4 ")),
        [],
    ),
    "memory measured twice": (edit("summary", {"/host_memory_GB": [503.0]}), [("4.3.1", "warning")]),
    "memory of other hosts": (edit("summary", {"/host_memory_GB": [503.0, 0.0], "/num_hosts": 2}), []),
    "5 writes": (edit_one(0, "metadata", {"/args/num_checkpoints_write": 5}), [("4.7.1", "error")] * 2),
    "a write not carried out": (edit_one(0, "stats", {"/1/save_ckpt10": DELETE}), [("4.7.1", "error")]),
    "a write not finished": (edit_one(0, "stats", {"/1/save_ckpt10/end": DELETE}), [("4.7.1", "error")]),
    "gap of 31 s": (
        edit_one(1, "metadata", {"/invocation_start_time": "2026-07-01T10:05:31.600000"}),
        [("4.7.1", "error")],
    ),
    "a gap of 30.001 s": (
        edit_one(1, "metadata", {"/invocation_start_time": "2026-07-01T10:05:30.501000"}),
        [("4.7.1", "error")],
    ),
    "negative gap": (
        edit_one(1, "metadata", {"/invocation_start_time": "2026-07-01T10:04:59"}),
        [("4.7.1", "warning")],
    ),
    "overlap": (edit_one(1, "summary", {"/start": "2026-07-01T10:01:00"}), [("4.7.1", "error")]),
    "reads end before writes start": (
        both(
            edit_one(1, "stats", {f"/1/load_ckpt{n}/end": "2026-07-01T09:00:00" for n in range(1, 11)}),
        ),
        [("4.7.2", "error")],
    ),
    "remap time beside simultaneous access": (describe(remap_time_in_seconds=5), [("4.7.3", "error")]),
    "no remap time": (describe(remap_time_in_seconds=DELETE), [("4.7.3", "error")]),
    "remap time no number": (describe(remap_time_in_seconds="soon"), [("4.7.3", "error")]),
    "remap time not observed": (
        describe(remap_time_in_seconds=900, simultaneous_read=False),
        [("4.7.3", "error")],
    ),
    "capability missing": (describe(multi_host=DELETE), [("4.7.4", "error")]),
    "capability no truth value": (describe(multi_host="yes"), [("4.7.4", "error")]),
    "fewer hosts seen than named": (edit("summary", {"/num_hosts": 0}), [("X4.4", "warning")]),
    "other division recorded": (edit("metadata", {"/args/mode": "open"}), [("X4.1", "error")]),
    "other verdict recorded": (edit("metadata", {"/verification": "Close"}), [("X4.1", "error")]),
    "refused by its own gate": (
        edit("metadata", {"/verification": "INVALID", "/args/allow_invalid_params": True}),
        [("X4.1", "warning")],
    ),
    "invalid parameters let through": (edit("metadata", {"/args/allow_invalid_params": True}), [("X4.1", "warning")]),
    "other model's directory": (lambda tree: rename_workload(tree, "llama3-70b"), [("X4.2", "error")]),
    "a storage of the object API in a run of the file API": (
        override("storage.storage_type", "s3"),
        [("X4.3", "warning")],
    ),
    "a storage of the file API in a run of the object API": (
        both(on_object("s3://bucket/run"), override("storage.storage_type", "local_fs")),
        [("X4.3", "warning")],
    ),
    "no storage in a run of the object API": (
        both(on_object("s3://bucket/run"), edit("config", {"/workload/storage": DELETE})),
        [("4.6.3", "warning"), ("X4.3", "warning")],
    ),
    "no model's directory": (lambda tree: rename_workload(tree, "llama3-8b_b200"), [("2.1.21", "error")]),
}


COMBINED: dict[str, tuple[Spoil, list[tuple[str, str]]]] = {
    "much memory": (
        edit("metadata", {"/system_info/hosts/0/memory/total": 400 * GIB}),
        [("4.3.1", "warning")],
    ),
    "two combined": (second_combined, [("2.1.24", "warning"), ("4.7.1", "error")]),
    "remap time with one invocation": (
        describe(remap_time_in_seconds=20, simultaneous_read=False),
        [("4.7.3", "warning")],
    ),
    "other architecture in CLOSED": (override("model.num_layers", 2), [("4.6.3", "error")]),
    "too small accelerators": (
        edit("summary", {"/metric/checkpoint_size_GB": 700.0}),
        [("4.3.4", "warning")],
    ),
}


@pytest.mark.parametrize("name", PAIR)
def test_spoilt_pair(tmp_path: Path, name: str) -> None:
    spoil, expected = PAIR[name]
    tree = pair(tmp_path / "tree")
    assert findings(tree) == []
    spoil(tree)
    assert findings(tree) == expected


REAL_PAIR = "06-ckpt-8b-pair-simultaneous-false"
"""A published pair without any finding; statistics and logs were pruned, times and paths are its own."""


def applies_to_any_pair(name: str) -> bool:
    own_content = ("writ", "gap", "overlap", "remap", "reads end", "same paths", "evidence")
    return not any(word in name for word in own_content)


@pytest.mark.parametrize("name", [name for name in PAIR if applies_to_any_pair(name)])
def test_spoilt_real_pair(tmp_path: Path, name: str) -> None:
    source = cases_directory() / REAL_PAIR / "tree"
    if not source.is_dir():
        pytest.skip(f"no such case: {source}")
    shutil.copytree(source, tmp_path / "tree", copy_function=shutil.copyfile)
    for path in (tmp_path / "tree").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (tmp_path / "tree").chmod(0o755)
    tree = opened(tmp_path / "tree")
    assert findings(tree) == []
    tree.describe()  # its own denies what several hosts do
    spoil, expected = PAIR[name]
    spoil(tree)
    assert findings(tree) == expected


@pytest.mark.parametrize("name", COMBINED)
def test_spoilt_combined_run(tmp_path: Path, name: str) -> None:
    spoil, expected = COMBINED[name]
    tree = combined(tmp_path / "tree")
    assert findings(tree) == []
    spoil(tree)
    assert findings(tree) == expected


OPEN: dict[str, tuple[Spoil, list[tuple[str, str]]]] = {
    "no multiple of TP x PP": (
        both(edit("metadata", {"/args/num_processes": 60}), edit("summary", {"/num_accelerators": 60})),
        [("4.6.4", "error")],
    ),
    "other architecture": (override("model.num_layers", 2), [("4.3.3", "error")]),
    "reduced": (
        both(
            clients(1),
            edit("metadata", {"/args/num_processes": 8, "/args/hosts": ["host01:8"]}),
            edit("summary", {"/num_accelerators": 8, "/metric/checkpoint_size_GB": 113.9}),
        ),
        [("4.6.4", "warning")],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_spoilt_open_run(tmp_path: Path, name: str) -> None:
    spoil, expected = OPEN[name]
    tree = combined(tmp_path / "tree", "llama3-70b", division="open", hosts=4)
    assert findings(tree) == []
    spoil(tree)
    assert findings(tree) == expected


@pytest.mark.parametrize("legal", [combined, pair])
def test_metadata_of_another_run_are_one_finding(tmp_path: Path, legal: Callable[[Path], Tree]) -> None:
    tree, other = legal(tmp_path / "tree"), combined(tmp_path / "other", "llama3-70b", hosts=8, memory_gib=512.0)
    shutil.copy(other.leaves[0].metadata, tree.leaves[0].metadata)
    assert findings(tree) == [("X4.2", "error")]


def test_every_rule_of_the_edition_is_violated_by_some_spoilt_tree() -> None:
    fired = {rule for table in (PAIR, COMBINED, OPEN) for _, expected in table.values() for rule, _ in expected}
    fired.add("READ-01")  # test_hostile.py
    assert fired >= {
        rule.id for rule in rules.load_edition("3.0").rules if rule.id.startswith(("4.", "X4.", "READ-01"))
    }


@pytest.mark.parametrize("model", ["llama3-8b", "llama3-70b"])
@pytest.mark.parametrize("spelling", ["CLOSED", "closed", "Closed"])
def test_the_verdict_is_read_in_any_case(tmp_path: Path, model: str, spelling: str) -> None:
    tree = combined(tmp_path / "tree", model)
    edit("metadata", {"/verification": spelling, "/args/num_processes": 72, "/args/hosts": ["h:72"]})(tree)
    edit("summary", {"/num_accelerators": 72})(tree)
    assert ("4.6.1", "error") in findings(tree)


def test_the_missing_not_shows_between_editions(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree", "llama3-70b")
    for leaf in tree.leaves:
        leaf.override("checkpoint.mode", "subset")
        leaf.override("model.parallelism.data", 8)
    edit("metadata", {"/args/num_processes": 8, "/args/hosts": ["host01:8"]})(tree)
    edit("summary", {"/num_accelerators": 8, "/metric/checkpoint_size_GB": 113.9})(tree)
    assert [rule for rule, _ in findings(tree, "3.0-as-published")] == []
    assert [rule for rule, _ in findings(tree, "3.0")] == ["4.3.5", "4.6.1"]


def test_the_legal_subset_run_is_silent(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    edit("metadata", {"/args/checkpoint_subset": True})(tree)
    assert findings(tree) == []
    assert ("4.3.5", "error") in findings(tree, "3.0-as-published")
