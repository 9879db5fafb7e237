"""What the reader makes of a leaf: one line for each way that a fact can be stated, or fail to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from trees import DELETE, GIB, Tree, combined, pair

from mlpstorage.results.roots.local import LocalRoot
from rules.facts import Absence, Reason
from rules.facts.checkpointing import CheckpointingRun, CheckpointingWorkload
from submission_checker.discovery import walk
from submission_checker.readers.checkpointing import read_workload
from submission_checker.readers.system import described_api, read_description

Changes = Mapping[str, Mapping[str, Any]]


def workload_of(tree: Tree) -> CheckpointingWorkload:
    with LocalRoot(tree.root) as root:
        (system,) = walk(root).systems
        api = described_api(read_description(root, system.description))
        workload, _ = read_workload(root, system.workloads[0], api)
    assert workload is not None
    return workload


def run_with(tmp_path: Path, changes: Changes, **leaf: Any) -> CheckpointingRun:
    tree = combined(tmp_path / "tree", **leaf)
    for file, values in changes.items():
        tree.leaves[0].edit(file, dict(values))
    return workload_of(tree).runs[0]


@pytest.mark.parametrize("raw", [64, 64.0, "64", "64 ", " 64"])
def test_spellings_of_an_integer(tmp_path: Path, raw: object) -> None:
    run = run_with(tmp_path, {"metadata": {"/args/num_processes": raw}})
    assert run.num_processes == 64
    assert str(run.source("run.num_processes")).endswith("_metadata.json#/args/num_processes")


@pytest.mark.parametrize(
    "raw",
    [True, "sixty-four", 64.5, [64], {"n": 64}, "64.5", "0x40", "6 4", "\u0666", 2**63, float("inf"), float("nan"), ""],
)
def test_what_is_no_integer_is_invalid_and_quoted(tmp_path: Path, raw: object) -> None:
    absence = run_with(tmp_path, {"metadata": {"/args/num_processes": raw}}).num_processes
    assert isinstance(absence, Absence)
    assert absence.reason is Reason.INVALID
    assert absence.detail.endswith("is not an integer")
    assert absence.pointer == "/args/num_processes"


@pytest.mark.parametrize("raw", [0, -64, "-8"])
def test_no_run_has_less_than_one_process(tmp_path: Path, raw: object) -> None:
    absence = run_with(tmp_path, {"metadata": {"/args/num_processes": raw}}).num_processes
    assert isinstance(absence, Absence)
    assert (absence.reason, absence.pointer) == (Reason.INVALID, "/args/num_processes")
    assert absence.detail.endswith("is not a number of processes")


FACTS: list[tuple[str, Changes, str, Any]] = [
    # generations of metadata
    ("top level", {"metadata": {"/args/num_processes": DELETE}}, "num_processes", 8),
    (
        "command line",
        {"metadata": {"/args/num_processes": DELETE, "/num_processes": DELETE}},
        "num_processes",
        8,
    ),
    ("override parameters", {"metadata": {"/args/num_checkpoints_write": DELETE}}, "num_checkpoints_write", 10),
    ("model at the top", {"metadata": {"/args/model": DELETE}}, "model", "llama3-8b"),
    ("mode", {}, "recorded_division", "closed"),
    ("older truth values", {"metadata": {"/args/mode": DELETE, "/args/open": True}}, "recorded_division", "open"),
    ("upper case", {"metadata": {"/args/mode": "CLOSED"}}, "recorded_division", "closed"),
    ("null verdict", {"metadata": {"/verification": None}}, "recorded_verdict", "none"),
    ("no verdict", {"metadata": {"/verification": DELETE}}, "recorded_verdict", Reason.KEY_ABSENT),
    # hosts
    ("one text", {"metadata": {"/args/hosts": "a:4,b:4"}}, "num_hosts", 2),
    ("one text in a list", {"metadata": {"/args/hosts": ["a,b"]}}, "num_hosts", 2),
    ("a host twice", {"metadata": {"/args/hosts": ["a:4", "A:4"]}}, "num_hosts", 1),
    ("IPv6", {"metadata": {"/args/hosts": ["[2001:db8::1]:8"]}}, "num_hosts", 1),
    ("empty text", {"metadata": {"/args/hosts": ""}}, "num_hosts", 1),
    ("collector", {"metadata": {"/args/hosts": DELETE, "/executed_command": "x", "/system_info/num_hosts": 3}},
     "num_hosts", 3),
    ("loopback yields", {"metadata": {"/args/hosts": ["127.0.0.1"], "/system_info/num_hosts": 4}}, "num_hosts", 4),
    ("loopback alone", {"metadata": {"/args/hosts": ["127.0.0.1:8"], "/system_info": None}}, "num_hosts", 1),
    ("summary last", {"metadata": {"/args/hosts": DELETE, "/executed_command": "x", "/system_info": None},
                      "summary": {"/num_hosts": 2}}, "num_hosts", 2),
    ("no host", {"metadata": {"/args/hosts": [5]}}, "num_hosts", Reason.INVALID),
    # placement
    ("slots", {"metadata": {"/args/hosts": ["a:6", "b:2"]}}, "min_ranks_per_host", 2),
    ("even", {"metadata": {"/args/hosts": ["a", "b", "c"]}}, "min_ranks_per_host", 2),
    ("60 and 4 is not the mean", {"metadata": {"/args/num_processes": 64, "/args/hosts": ["a:60", "b:4"]}},
     "min_ranks_per_host", 4),
    ("placed by the user: the mean, rounded down",
     {"metadata": {"/args/hosts": ["a:6", "b:2"], "/args/mpi_params": ["--map-by ppr:6:node"]}},
     "min_ranks_per_host", 4),
    ("PALS blocks",
     {"metadata": {"/args/hosts": ["a", "b"], "/executed_command": "mpiexec -n 8 --ppn 6 --hosts a,b x"}},
     "min_ranks_per_host", 2),
    # memory
    ("smallest host", {"metadata": {"/system_info/hosts/0/memory/total": 100 * GIB}}, "client_memory_gib", 100.0),
    ("list cut short: the recorded minimum",
     {"metadata": {"/args/hosts": ["a", "b"], "/system_info/num_hosts": 2, "/system_info/min_memory_bytes": 7 * GIB}},
     "client_memory_gib", 7.0),
    ("sum over hosts, never the first entry",
     {"metadata": {"/system_info": None, "/args/hosts": ["a", "b", "c", "d"]},
      "summary": {"/host_memory_GB": [2000.0, 0.0, 0.0, 0.0]}}, "client_memory_gib", 500.0),
    ("whatever the order",
     {"metadata": {"/system_info": None, "/args/hosts": ["a", "b", "c", "d"]},
      "summary": {"/host_memory_GB": [0.0, 0.0, 2000.0, 0.0]}}, "client_memory_gib", 500.0),
    ("claimed last",
     {"metadata": {"/system_info": None}, "summary": {"/host_memory_GB": []}}, "client_memory_gib", 256.0),
    # subset
    ("older tool", {}, "subset_declared", Reason.NOT_RECORDED),
    ("own tool, key lost", {"metadata": {"/rules_edition": "3.0"}}, "subset_declared", Reason.KEY_ABSENT),
    ("declared", {"metadata": {"/args/checkpoint_subset": "true"}}, "subset_declared", True),
    ("declared at the top", {"metadata": {"/checkpoint_subset": False}}, "subset_declared", False),
    ("not labelled", {}, "subset_labelled", False),
    ("labelled", {"config": {"/workload/checkpoint/mode": "subset"}}, "subset_labelled", True),
    ("other mode", {"config": {"/workload/checkpoint/mode": "default"}}, "subset_labelled", False),
    # protocol
    ("argument", {"metadata": {"/args/data_access_protocol": "Object"}}, "api", "object"),
    ("description", {"metadata": {"/args/data_access_protocol": DELETE}}, "api", "file"),
    ("nonsense", {"metadata": {"/args/data_access_protocol": "tape"}}, "api", Reason.INVALID),
    ("direct storage",
     {"metadata": {"/args/o_direct": DELETE}, "config": {"/workload/storage/storage_type": "direct_fs"}},
     "o_direct", True),
    ("no storage", {"metadata": {"/args/o_direct": DELETE}}, "o_direct", False),
    # others
    ("null accelerator", {}, "accelerator", Reason.NOT_RECORDED),
    ("accelerator", {"metadata": {"/accelerator": "B200"}}, "accelerator", "b200"),
    ("unknown fsync", {"metadata": {"/fsync_effective": "unknown"}}, "fsync_effective", Reason.NOT_RECORDED),
    ("effective fsync", {"metadata": {"/fsync_effective": True}}, "fsync_effective", True),
    ("NaN size", {"summary": {"/metric/checkpoint_size_GB": float("nan")}}, "checkpoint_size_gib", Reason.INVALID),
    ("folder", {"metadata": {"/args/checkpoint_folder": "/mnt//pfs/./ckpt/"}}, "checkpoint_folder", "/mnt/pfs/ckpt"),
    ("URI", {"metadata": {"/args/checkpoint_folder": "S3://b//p/"}}, "checkpoint_folder", "s3://b/p"),
    ("empty folder", {"metadata": {"/args/checkpoint_folder": ""}}, "checkpoint_folder", Reason.KEY_ABSENT),
    ("sidecar", {}, "filesystem_evidence", "sidecar"),
    ("done", {}, "checkpoints_written", 10),
]  # fmt: skip


@pytest.mark.parametrize(("title", "changes", "name", "expected"), FACTS, ids=[f"{f[2]}: {f[0]}" for f in FACTS])
def test_fact(tmp_path: Path, title: str, changes: Changes, name: str, expected: object) -> None:
    value = getattr(run_with(tmp_path, changes), name)
    if isinstance(expected, Reason):
        assert isinstance(value, Absence)
        assert value.reason is expected
    else:
        assert value == expected
        assert type(value) is type(expected)


def test_every_stated_fact_has_a_source_and_every_other_a_cause(tmp_path: Path) -> None:
    workload = workload_of(pair(tmp_path / "tree"))
    for subject in (workload, *workload.runs):
        for name in subject.fact_infos():
            value = subject.lookup(name)
            if isinstance(value, Absence):
                assert value.cause, name
            else:
                assert subject.source(name) is not None, name


def test_all_facts_of_a_missing_file_have_one_cause(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].summary.unlink()
    run = workload_of(tree).runs[0]
    causes = {value.cause for value in (run.num_accelerators, run.checkpoint_size_gib) if isinstance(value, Absence)}
    (file,) = [file for file in run.files if file.name == "summary.json"]
    assert causes == {file.cause} == {f"file:{file.path}"}
    assert file.state == "missing"


def test_without_metadata_the_configuration_tells_what_it_can(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].metadata.unlink()
    run = workload_of(tree).runs[0]
    assert (run.model, run.num_checkpoints_write, run.fsync) == ("llama3-8b", 10, True)
    assert run.checkpoint_folder == "/mnt/pfs/ckpt"
    assert isinstance(run.num_processes, Absence)
    assert run.num_processes.reason is Reason.MISSING_FILE


def test_a_renamed_leaf_keeps_its_metadata(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0].path
    leaf.rename(leaf.parent / "20260701_100003")
    assert workload_of(tree).runs[0].num_processes == 8


DF = """Filesystem     1K-blocks  Used Available Use% Mounted on
/dev/nvme9n1p2 959786032 10 803591000  12% /
fs01:/a-very-long-export-name-that-df-breaks
               99999999999 5 94444444444   6% {mount}

ready
"""


@pytest.mark.parametrize(
    ("mount", "same"),
    [("/mnt/pfs", False), ("/mnt/pfs/ckpt", False), ("/mnt/pf", True), ("/mnt/pfs/ckpt/x", True), ("/home", False)],
)
def test_a_df_table_in_the_log(tmp_path: Path, mount: str, same: bool) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / "fs_separation.json").unlink()
    (tree.leaves[0].path / "checkpointing_run.stdout.log").write_text("start\n" + DF.format(mount=mount))
    run = workload_of(tree).runs[0]
    assert run.filesystem_evidence == "df"
    assert run.same_filesystem is same


def test_no_evidence_of_filesystems(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / "fs_separation.json").unlink()
    run = workload_of(tree).runs[0]
    assert run.filesystem_evidence == "none"
    assert isinstance(run.same_filesystem, Absence)


def test_a_sizing_is_not_a_run(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.add("20260701_090000", 10, 10).edit("metadata", {"/command": "datasize"})
    workload = workload_of(tree)
    assert workload.structure == "10/0 0/10"
    assert workload.checkpoints_written == 10


def test_overrides_are_kept_as_each_file_states_them(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0]
    leaf.edit("config", {"/workload/checkpoint/num_checkpoints_write": 5})
    metadata = json.loads(leaf.metadata.read_text())
    metadata["executed_command"] += " '++workload.checkpoint.note=a b'"
    leaf.metadata.write_text(json.dumps(metadata))
    stated = {item.name: item for item in workload_of(tree).runs[0].stated_parameters}
    writes = stated["checkpoint.num_checkpoints_write"]
    assert (writes.config, writes.overrides, writes.command) == ("5", "10", "10")
    note = stated["checkpoint.note"]
    assert (note.config, note.overrides, note.command) == ("(not stated)", "(not stated)", "a b")
