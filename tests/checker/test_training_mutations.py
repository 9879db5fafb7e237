"""A legal training tree gives no error and no warning of section 3; a spoilt one what it was spoilt for, no more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from training_trees import DELETE, RESULTS, RUNS, TrainingLeaf, TrainingTree

from rules import Finding
from submission_checker.scan import Options, check

Spoil = Callable[[TrainingTree], None]
MINE = ("3.", "X3", "READ-03")


def judged(tree: TrainingTree, edition: str = "3.0") -> list[Finding]:
    report = check(tree.root, Options(edition=edition))
    assert not report.faults
    return [finding for finding in report.findings if finding.rule.startswith(MINE)]


def findings(tree: TrainingTree, edition: str = "3.0") -> list[tuple[str, str, str]]:
    return sorted(
        (f.rule, f.severity.value, "?" if f.outcome == "undetermined" else f.clause)
        for f in judged(tree, edition)
        if f.severity.value != "info"
    )


def on_runs(change: Callable[[TrainingLeaf], None]) -> Spoil:
    def spoil(tree: TrainingTree) -> None:
        for leaf in tree.runs:
            change(leaf)

    return spoil


def edit(file: str, changes: dict[str, object]) -> Spoil:
    return on_runs(lambda leaf: leaf.edit(file, changes))


def edit_first(phase: str, file: str, changes: dict[str, object]) -> Spoil:
    return lambda tree: tree.leaves(phase)[0].edit(file, changes)


def override(key: str, value: object, *, typed: bool = True) -> Spoil:
    return on_runs(lambda leaf: leaf.override(key, value, typed=typed))


def both(*spoils: Spoil) -> Spoil:
    def spoil(tree: TrainingTree) -> None:
        for each in spoils:
            each(tree)

    return spoil


def files(count: int, generated: int | None = None) -> Spoil:
    """All phases and the summary with this number of files."""

    def spoil(tree: TrainingTree) -> None:
        for leaf in tree.runs:
            leaf.override("dataset.num_files_train", count)
            leaf.edit("summary", {"/num_files_train": count})
        for leaf in tree.leaves("datagen"):
            leaf.override("dataset.num_files_train", count if generated is None else generated)

    return spoil


def prune(tree: TrainingTree, phase: str) -> None:
    shutil.rmtree(tree.workload / phase)


def write_runs(file: str, text: str) -> Spoil:
    return on_runs(lambda leaf: leaf.file(file).write_text(text) and None)


def second_record(tree: TrainingTree, files: int, data_dir: str | None) -> None:
    record = tree.add_datasize("20260701_081000", files)
    record.edit("metadata", {"/args/data_dir": data_dir})


def rename_record_model(tree: TrainingTree) -> None:
    tree.leaves("datasize")[0].edit("metadata", {"/args/model": "retinanet", "/model": "retinanet"})


DF = """\
Filesystem     1K-blocks  Used Available Use% Mounted on
/dev/sda1      1000       10   990       1% /
/dev/sdb1      1000       10   990       1% /mnt/pfs

"""

SPOILT: dict[str, tuple[Spoil, list[tuple[str, str, str]]]] = {
    "record of another model": (rename_record_model, [("3.1.1", "warning", "main")]),
    "datasize without a record": (
        lambda tree: shutil.rmtree(tree.leaves("datasize")[0].path),
        [("3.1.1", "warning", "main")],
    ),
    "sized for another division": (
        edit_first("datasize", "metadata", {"/args/mode": "whatif"}),
        [("X3.1", "error", "sized")],
    ),
    "data of another division": (
        edit_first("datagen", "metadata", {"/args/mode": "open"}),
        [("X3.1", "error", "generated")],
    ),
    "overrides of datagen disagree": (
        edit_first("datagen", "metadata", {"/override_parameters/dataset.num_files_train": "57000"}),
        [("3.6.2", "warning", "generated_agreed")],
    ),
    "data of another model": (
        edit_first("datagen", "metadata", {"/args/model": "retinanet"}),
        [("3.6.2", "warning", "generated_agreed"), ("X3.2", "error", "generated")],
    ),
    "record cut short": (
        lambda tree: tree.leaves("datasize")[0].file("metadata").write_text("{") and None,
        [("3.3.1", "warning", "readable")],
    ),
    "record of another accelerator": (
        edit_first("datasize", "metadata", {"/args/accelerator_type": "h100"}),
        [("3.1.1", "warning", "main"), ("X3.3", "error", "sized")],
    ),
    "two thirds of the files": (
        both(files(36000), edit_first("datasize", "metadata", {"/parameters/dataset/num_files_train": 36000})),
        [("3.1.2", "error", "short"), ("3.1.2", "warning", "reproducible")],
    ),
    "twice the memory of 8 accelerators' data": (
        both(
            files(7380),
            edit("summary", {"/num_accelerators": 8, "/metric/train_au_mean_percentage": 99.2}),
            edit("metadata", {"/args/num_accelerators": 8, "/num_processes": 8}),
            edit("metadata", {"/executed_command": "mpirun -n 8 -host host01:8 dlio_benchmark"}),
            edit("summary", {"/metric/train_au_percentage": [99.2] * 5}),
            edit("summary", {"/metric/train_throughput_samples_per_second": [0.992 * 56 / 0.162] * 5}),
        ),
        [("3.1.2", "error", "short"), ("3.2.1", "error", "generated"), *[("3.3.1", "warning", "underrun")] * 6],
    ),
    "contradictory counts": (
        edit("config", {"/workload/dataset/num_files_train": 57000}),
        [("3.1.2", "error", "counts")],
    ),
    "another count in the metadata": (
        edit("metadata", {"/parameters/dataset/num_files_train": "44000"}),
        [("3.1.2", "error", "recorded")],
    ),
    "memory of half the clients": (edit("summary", {"/host_memory_GB": [251.7]}), [("3.1.2", "warning", "memory")]),
    "record that the formula does not give": (
        edit_first("datasize", "metadata", {"/parameters/dataset/num_files_train": 50000}),
        [("3.1.2", "warning", "reproducible")],
    ),
    "too few generated": (
        files(55999, 55999),
        [("3.1.2", "error", "short"), ("3.2.1", "error", "generated"), *[("3.3.1", "warning", "underrun")] * 6],
    ),
    "shorter samples generated": (
        lambda tree: tree.leaves("datagen")[0].override("dataset.record_length_bytes", 2097152),
        [("3.2.1", "error", "length"), ("3.6.2", "error", "generated")],
    ),
    "more used than generated": (
        lambda tree: tree.leaves("datagen")[0].override("dataset.num_files_train", 56000 - 1),
        [("3.2.1", "error", "generated"), *[("3.3.1", "warning", "overrun")] * 6],
    ),
    "other subfolders": (
        override("dataset.num_subfolders_train", 8),
        [("3.3.1", "warning", "subfolders")] * 6,
    ),
    "no evaluation count": (edit("summary", {"/num_files_eval": DELETE}), [("3.3.1", "warning", "eval")] * 6),
    "record without arguments": (
        edit_first("datasize", "metadata", {"/args/max_accelerators": DELETE, "/num_processes": DELETE}),
        [("3.1.2", "warning", "?"), ("3.3.1", "warning", "complete")],
    ),
    "two records of one directory": (
        lambda tree: second_record(tree, 60000, None),
        [
            ("3.1.2", "warning", "reproducible"),
            ("3.2.1", "error", "generated"),
            ("3.3.1", "warning", "reused"),
            *[("3.3.1", "warning", "underrun")] * 6,
        ],
    ),
    "records of other directories": (
        both(
            lambda tree: second_record(tree, 56000, "/mnt/other"),
            edit_first("datasize", "metadata", {"/args/data_dir": "/mnt/third"}),
        ),
        [("3.3.1", "warning", "pairs")] * 6,
    ),
    "below the minimum": (
        edit(
            "summary",
            {
                "/metric/train_au_mean_percentage": 89.9999,
                "/metric/train_au_percentage": [89.9999] * 5,
                "/metric/train_throughput_samples_per_second": [0.899999 * 112 / 0.162] * 5,
                "/metric/train_au_meet_expectation": "fail",
            },
        ),
        [*[("3.3.2", "error", "minimum")] * 5, ("3.3.2", "warning", "warmup")],
    ),
    "verdict without reason": (
        edit("summary", {"/metric/train_au_meet_expectation": "fail"}),
        [("3.3.2", "error", "verdict")] * 6,
    ),
    "mean of another list": (
        edit("summary", {"/metric/train_au_mean_percentage": 95.5}),
        [("3.3.2", "error", "mean")] * 6,
    ),
    "an epoch short": (edit("summary", {"/epochs": 4}), [("3.3.2", "error", "epochs")] * 6),
    "rank lost": (
        edit("metadata", {"/args/num_accelerators": 17}),
        [("3.3.2", "error", "accelerators")] * 6,
    ),
    "inflated utilisation": (
        edit("summary", {"/metric/train_throughput_samples_per_second": [600.0] * 5}),
        [("3.3.2", "warning", "throughput")] * 6,
    ),
    "two clients for one host": (
        edit("metadata", {"/args/hosts": ["host01", "host02"]}),
        [("3.3.4", "error", "named")],
    ),
    "two hosts commanded": (
        edit("metadata", {"/executed_command": "mpirun -n 16 -host host01:8,host02:8 dlio_benchmark"}),
        [("3.3.4", "error", "commanded")],
    ),
    "no data directory": (edit("metadata", {"/args/data_dir": None}), [("3.4.1", "error", "data")]),
    "an object URI with one slash": (
        edit("metadata", {"/args/data_access_protocol": "object", "/args/data_dir": "s3:/bucket/unet3d"}),
        [("3.4.1", "warning", "uri")],
    ),
    "one directory in two spellings": (
        both(
            edit("metadata", {"/args/data_dir": f"{RESULTS}//"}),
            edit("fs", {"/data_or_chkpt_path": RESULTS}),
        ),
        [("3.4.1", "error", "different")],
    ),
    "one filesystem": (edit("fs", {"/same_filesystem": True}), [("3.4.2", "warning", "same")] * 6),
    "sidecar of another run": (
        edit("fs", {"/probed_at": "2026-06-01T10:00:00Z"}),
        [("3.4.2", "warning", "sidecar")] * 6,
    ),
    "sidecar with its version as text": (edit("fs", {"/version": "1"}), [("3.4.2", "warning", "sidecar")] * 6),
    "sidecar with its answer as text": (
        edit("fs", {"/same_filesystem": "false"}),
        [("3.4.2", "warning", "sidecar")] * 6,
    ),
    "sidecar without a path": (
        edit("fs", {"/data_or_chkpt_path": DELETE}),
        [("3.4.2", "warning", "sidecar")] * 6,
    ),
    "sidecar without a time": (edit("fs", {"/probed_at": DELETE}), [("3.4.2", "warning", "sidecar")] * 6),
    "no evidence": (
        on_runs(lambda leaf: leaf.file("fs").unlink()),
        [("3.4.2", "warning", "evidence")] * 6,
    ),
    "df table of one mount": (
        both(
            on_runs(lambda leaf: leaf.file("fs").unlink()),
            edit("metadata", {"/args/results_dir": "/mnt/pfs/results"}),
            write_runs("log", DF),
        ),
        [("3.4.2", "warning", "same")] * 6,
    ),
    "a summary without its metrics": (
        lambda tree: tree.runs[2].edit("summary", {"/metric": DELETE}),
        [("3.3.2", "error", "?")],
    ),
    "gate skipped": (
        edit("metadata", {"/args/skip_fs_separation_gate": True}),
        [("3.4.2", "warning", "skipped")] * 6,
    ),
    "epochs changed": (
        both(
            override("train.epochs", 1),
            edit("summary", {"/epochs": 1}),
            edit(
                "summary",
                {"/metric/train_au_percentage": [95.0], "/metric/train_throughput_samples_per_second": [656.79]},
            ),
        ),
        [("3.6.2", "error", "changed")],
    ),
    "target lowered": (override("metric.au", 0.5), [("3.6.2", "error", "changed")]),
    "target of an edited template": (
        edit("config", {"/workload/metric/au": 0.8}),
        [("3.6.2", "error", "target")],
    ),
    "a higher target, and the verdict by it": (
        both(
            edit("config", {"/workload/metric/au": 0.96}),
            edit("summary", {"/metric/train_au_meet_expectation": "fail"}),
        ),
        [("3.6.2", "error", "target")],
    ),
    "prefetch of 4": (override("reader.prefetch_size", 4), [("3.6.2", "warning", "prefetch")]),
    "direct I/O in words": (override("reader.odirect", "yes"), [("3.6.2", "error", "odirect")]),
    "started in spite of the gate": (
        edit("metadata", {"/args/allow_invalid_params": True}),
        [("3.6.2", "warning", "forced")],
    ),
    "template edited": (
        edit("config", {"/workload/reader/sample_shuffle": "off"}),
        [("3.6.2", "error", "template")],
    ),
    "overrides disagree": (
        edit("metadata", {"/override_parameters/reader.read_threads": "16"}),
        [("3.6.2", "warning", "agreed")],
    ),
    "template of another accelerator": (
        on_runs(
            lambda leaf: (
                leaf.file("overrides").write_text(
                    leaf.file("overrides").read_text().replace("unet3d_b200", "unet3d_h100")
                )
                and None
            )
        ),
        [("3.6.2", "warning", "agreed")],
    ),
    "invalid by the tool": (
        edit("metadata", {"/verification": "INVALID"}),
        [("3.6.2", "warning", "verdict")],
    ),
    "another division recorded": (edit("metadata", {"/args/mode": "open"}), [("X3.1", "error", "division")]),
    "another model recorded": (
        edit("metadata", {"/args/model": "retinanet"}),
        [*[("3.6.2", "error", "template")] * 5, ("3.6.2", "warning", "agreed"), ("X3.2", "error", "run")],
    ),
    "summary damaged": (write_runs("summary", "{"), [("READ-03", "error", "run")] * 6),
}


@pytest.fixture
def tree(tmp_path: Path) -> TrainingTree:
    return TrainingTree(tmp_path).build()


@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0", "4.0-draft"])
def test_a_legal_tree_is_silent(tree: TrainingTree, edition: str) -> None:
    assert findings(tree, edition) == []


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_trees(tree: TrainingTree, name: str) -> None:
    spoil, expected = SPOILT[name]
    spoil(tree)
    assert findings(tree) == sorted(expected)


def test_other_legal_trees_are_silent(tmp_path: Path) -> None:
    for number, legal in enumerate(
        (
            TrainingTree(tmp_path, model="retinanet", files=8369985, au=85.0),
            TrainingTree(tmp_path, hosts=8, accelerators=8, memory_gib=100.0, files=29297),
            TrainingTree(tmp_path, division="open"),
        )
    ):
        legal.root = tmp_path / str(number)
        assert findings(legal.build()) == [], number


LOW = {
    "/metric/train_au_mean_percentage": 84.9,
    "/metric/train_au_percentage": [84.9] * 8,
    "/metric/train_au_meet_expectation": "fail",
    "/metric/train_throughput_samples_per_second": [0.849 * 16 * 24 / 0.04755] * 8,
}


def backup(tree: TrainingTree) -> None:
    shutil.copytree(tree.runs[3].path, tree.workload / "run" / "20260701_160000.bak")


def other_accelerator(tree: TrainingTree) -> None:
    for leaf in [tree.add_run(f"20260702_{hour}0000") for hour in range(10, 16)]:
        leaf.edit("metadata", {"/accelerator": "mi355", "/args/accelerator_type": "mi355"})
        batch, time = "/workload/reader/batch_size", "/workload/train/computation_time"
        leaf.edit("config", {batch: 36, time: 0.071325})


@pytest.mark.parametrize(
    ("more", "low", "expected"),
    [
        (None, 0, ["warmup"]),
        (None, 1, ["minimum"]),
        (backup, 0, ["warmup"]),
        (backup, 1, ["minimum"]),
        (lambda tree: tree.add_run("20260701_160000"), 0, ["warmup"]),
        (lambda tree: tree.add_run("20260701_160000"), 1, ["warmup"]),
        (lambda tree: tree.add_run("20260701_160000"), 2, ["minimum"]),
        (lambda tree: tree.add_run("20260701_160000"), 6, ["minimum"]),
        (lambda tree: shutil.rmtree(tree.runs[5].path), 0, ["warmup"]),
        (lambda tree: shutil.rmtree(tree.runs[5].path), 1, ["minimum"]),
        (other_accelerator, 0, ["warmup"]),
        (other_accelerator, 6, ["warmup"]),
        (other_accelerator, 7, ["minimum"]),
    ],
)
def test_only_a_run_that_is_surely_measured_fails(
    tmp_path: Path, more: Spoil | None, low: int, expected: list[str]
) -> None:
    tree = TrainingTree(tmp_path, model="retinanet", files=8369985).build()
    if more is not None:
        more(tree)
    tree.runs[low].edit("summary", LOW)
    severity = {"warmup": "warning", "minimum": "error"}
    found = [f for f in findings(tree) if f[0] == "3.3.2" and f[2] in severity]
    assert found == [("3.3.2", severity[clause], clause) for clause in expected]


@pytest.mark.parametrize(
    ("more", "expected"), [(None, ["b200"]), (backup, ["b200"]), (other_accelerator, ["b200", "mi355"])]
)
def test_each_accelerator_type_has_its_bandwidth(tmp_path: Path, more: Spoil | None, expected: list[str]) -> None:
    tree = TrainingTree(tmp_path, model="retinanet", files=8369985).build()
    if more is not None:
        more(tree)
    assert [f.item for f in judged(tree, "4.0-draft") if f.clause == "bandwidth"] == expected


def test_a_missing_datasize_phase_is_one_finding_that_leaves_two_rules_open(tree: TrainingTree) -> None:
    prune(tree, "datasize")
    report = check(tree.root, Options())
    about = [f for f in report.findings if f.severity.value != "info" and "datasize" in f.message]
    assert [(f.rule, f.severity.value) for f in about] == [("2.1.12", "warning")]
    assert {"3.1.1", "3.3.1"} <= set(about[0].opens)
    assert findings(tree) == []  # 3.2.1 falls back on the runs' own minimum


def no_record_of_the_runs(tree: TrainingTree) -> None:
    second_record(tree, 60000, "/mnt/other")
    tree.leaves("datasize")[0].edit("metadata", {"/args/data_dir": "/mnt/third"})


@pytest.mark.parametrize(
    "without", [lambda tree: prune(tree, "datasize"), no_record_of_the_runs], ids=["no phase", "none pairs"]
)
@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("dataset.num_files_train", 56000, []),
        ("dataset.num_files_train", 55999, ["fallback"]),
        ("dataset.record_length_bytes", 2097152, ["fallback_length"]),
    ],
)
def test_without_a_record_datagen_is_held_against_the_runs(
    tree: TrainingTree, without: Spoil, key: str, value: int, expected: list[str]
) -> None:
    without(tree)
    tree.leaves("datagen")[0].override(key, value)
    found = [f for f in findings(tree) if f[0] == "3.2.1"]
    assert found == [("3.2.1", "warning", clause) for clause in expected]


def test_no_record_of_several_counts_without_a_run(tree: TrainingTree) -> None:
    prune(tree, "run")
    tree.leaves("datagen")[0].override("dataset.num_files_train", 55999)
    assert ("3.2.1", "error", "generated") in findings(tree)
    second_record(tree, 60000, "/mnt/other")
    assert [f for f in findings(tree) if f[0] == "3.2.1" and f[2] != "?"] == []


def test_pruned_rank_files_leave_everything_decidable(tree: TrainingTree) -> None:
    assert all(f.outcome != "undetermined" for f in judged(tree))


def test_a_pruned_summary_is_undetermined_once_a_leaf_and_never_missing(tree: TrainingTree) -> None:
    tree.runs[1].file("summary").write_text("PRUNED BY STAFF\n")
    found = [
        f for f in check(tree.root, Options()).findings if f.path == "/".join(tree.runs[1].file("summary").parts[-9:])
    ]
    assert [(f.severity.value, f.outcome) for f in found] == [("info", "undetermined")]
    assert {"3.1.2", "3.3.2"} <= {found[0].rule, *found[0].opens}
    assert findings(tree) == []


@pytest.mark.parametrize("content", ["PRUNED BY STAFF\n", "{", None], ids=["pruned", "cut short", "missing"])
def test_a_run_without_its_metadata_leaves_no_hole_among_its_neighbours(
    tree: TrainingTree, content: str | None
) -> None:
    for leaf, end in zip(tree.runs, [*RUNS[1:], "20260701_160000"], strict=True):
        leaf.edit("summary", {"/end": datetime.strptime(end, "%Y%m%d_%H%M%S").isoformat()})
    metadata = tree.runs[2].file("metadata")
    metadata.unlink() if content is None else metadata.write_text(content)
    assert not [f for f in check(tree.root, Options()).findings if f.rule == "2.1.18"]


def once(tree: TrainingTree) -> list[tuple[str, str, str]]:
    """Errors and warnings of all rules on directories and training."""
    rules = ("1.1", "2.1.1", "3.", "X3")
    found = [f for f in check(tree.root, Options()).findings if f.rule.startswith(rules) and f.rule != "2.1.18"]
    return sorted((f.rule, f.severity.value, f.clause) for f in found if f.severity.value != "info")


@pytest.mark.parametrize("name", ["UNet3D", "unet3d_b200", "resnet50"])
def test_a_directory_of_no_workload_is_told_once(tree: TrainingTree, name: str) -> None:
    tree.workload.rename(tree.workload.with_name(name))
    assert once(tree) == [("2.1.11", "error", "names")]


def test_a_leaf_of_another_command_among_the_records_is_told_once(tree: TrainingTree) -> None:
    edit_first("datasize", "metadata", {"/command": "datagen", "/args/command": "datagen"})(tree)
    assert once(tree) == [("1.1", "error", "command")]
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "1.1"]
    assert "3.1.1" in finding.opens
    tree.add_datasize("20260701_081000")
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "1.1"]
    assert "3.1.1" not in finding.opens


@pytest.mark.parametrize("name", ["old", "20261399_999999"])
def test_a_directory_among_the_records_that_is_no_time_stamp(tree: TrainingTree, name: str) -> None:
    (tree.workload / "datasize" / name).mkdir()
    assert once(tree) == [("2.1.13", "error", "names")]


def run_times(tree: TrainingTree) -> None:
    """Runs of fifty minutes, ten minutes apart."""
    for leaf, name in zip(tree.runs, RUNS, strict=True):
        begin = datetime.strptime(name, "%Y%m%d_%H%M%S")
        end = begin.replace(minute=50)
        leaf.edit("summary", {"/start": begin.isoformat(), "/end": end.isoformat()})


def pauses_told(tree: TrainingTree) -> list[str]:
    return [f.clause for f in check(tree.root, Options()).findings if f.rule == "2.1.18"]


@pytest.mark.parametrize("copied", [0, 2, 5])
def test_the_copy_of_a_run_under_another_name_has_no_pauses(tree: TrainingTree, copied: int) -> None:
    run_times(tree)
    assert pauses_told(tree) == []
    run = tree.runs[copied].path
    shutil.copytree(run, run.with_name(f"{run.name}.bak"))
    assert pauses_told(tree) == []


def test_a_run_under_another_name_leaves_no_hole(tree: TrainingTree) -> None:
    run_times(tree)
    run = tree.runs[2].path
    run.rename(run.with_name(f"{run.name}.bak"))
    assert pauses_told(tree) == []
    shutil.rmtree(run.with_name(f"{run.name}.bak"))
    assert pauses_told(tree) == ["pause"]


def test_a_pruned_record_is_no_error(tree: TrainingTree) -> None:
    tree.leaves("datasize")[0].file("metadata").write_text("PRUNED BY STAFF\n")
    assert findings(tree) == []


@pytest.mark.parametrize("spelling", ["closed", "Closed", "CLOSED"])
def test_the_division_comes_from_the_path_whatever_the_verdicts_spelling(tree: TrainingTree, spelling: str) -> None:
    on_runs(lambda leaf: leaf.edit("metadata", {"/verification": spelling}))(tree)
    override("train.computation_time", 0.1)(tree)
    assert ("3.6.2", "error", "changed") in findings(tree)


def test_a_misspelt_verdict_is_an_error(tree: TrainingTree) -> None:
    edit("metadata", {"/verification": "Close"})(tree)
    assert findings(tree) == [("X3.1", "error", "verdict")]


def test_open_allows_the_keys_of_its_list_only(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, division="open").build()
    override("reader.data_loader", "dali")(tree)
    assert findings(tree) == []
    override("reader.batch_size", 8)(tree)
    assert ("3.6.3", "error", "changed") in findings(tree)


CHANGED = {"run": "changed", "datagen": "generated", "datasize": "sized"}
"""Phase to the clause that judges its keys."""


def in_phase(tree: TrainingTree, phase: str, key: str, value: object) -> None:
    for leaf in tree.leaves(phase):
        leaf.override(key, value)


@pytest.mark.parametrize("phase", CHANGED)
@pytest.mark.parametrize("key", ["workflow.checkpoint", "checkpoint.checkpoint_folder"])
def test_a_checkpoint_after_the_last_epoch_is_noted_in_3_0(tree: TrainingTree, phase: str, key: str) -> None:
    in_phase(tree, phase, key, "True")
    assert findings(tree) == []
    assert [f.item for f in judged(tree) if f.clause.endswith("tolerated")] == [key]
    assert findings(tree, "4.0-draft") == [("3.6.2", "error", CHANGED[phase])]


@pytest.mark.parametrize("phase", CHANGED)
@pytest.mark.parametrize(
    ("key", "value", "clause", "severity"),
    [
        ("reader.prefetch_size", 4, "prefetch", "warning"),
        ("reader.prefetch_size", 2, "", ""),
        ("reader.odirect", "yes", "odirect", "error"),
        ("reader.odirect", "True", "", ""),
    ],
)
def test_values_are_judged_in_every_phase(
    tree: TrainingTree, phase: str, key: str, value: object, clause: str, severity: str
) -> None:
    in_phase(tree, phase, key, value)
    name = clause if phase == "run" else f"{CHANGED[phase]}_{clause}"
    assert findings(tree) == ([("3.6.2", severity, name)] if clause else [])


@pytest.mark.parametrize(("api", "expected"), [("file", [("3.6.2", "error", "object_only")]), ("object", [])])
def test_the_draft_lets_the_prefetch_window_change_with_an_object_store(
    tree: TrainingTree, api: str, expected: list[tuple[str, str, str]]
) -> None:
    edit("metadata", {"/args/data_access_protocol": api})(tree)
    override("storage.storage_options.prefetch_window", 8)(tree)
    assert [f for f in findings(tree, "4.0-draft") if f[0] == "3.6.2"] == expected


def test_what_the_tool_passes_is_not_held_against_the_submitter(tree: TrainingTree) -> None:
    for key, value in (
        ("dataset.total_disk_bytes", 8209635168000),
        ("storage.storage_options.storage_library", "s3dlio"),
        ("storage.storage_options.uri_scheme", "s3"),
        ("storage.s3_force_path_style", True),
        ("storage.storage_type", "direct_fs"),
    ):
        override(key, value, typed=False)(tree)
    assert findings(tree) == []
    override("train.epochs", 5)(tree)
    assert findings(tree) == [("3.6.2", "error", "changed")]


def test_what_the_tool_passes_is_noted_where_it_was_typed(tree: TrainingTree) -> None:
    override("dataset.skip_listing", True)(tree)
    assert findings(tree) == []
    assert [(f.severity.value, f.item) for f in judged(tree) if f.clause == "by_hand"] == [
        ("info", "dataset.skip_listing")
    ]


def test_direct_io_is_a_parameter_of_one_model(tmp_path: Path) -> None:
    for model, files, expected in (("unet3d", 56000, []), ("retinanet", 8369985, [("3.6.2", "error", "changed")])):
        tree = TrainingTree(tmp_path / model, model=model, files=files).build()
        override("reader.odirect", True)(tree)
        assert findings(tree) == expected


@pytest.mark.parametrize("clause", ["prefetch", "odirect", "changed"])
def test_each_parameter_is_one_finding_with_value_default_and_division(tree: TrainingTree, clause: str) -> None:
    key, value = {
        "prefetch": ("reader.prefetch_size", "4"),
        "odirect": ("reader.odirect", "yes"),
        "changed": ("dataset.num_samples_per_file", "2"),
    }[clause]
    override(key, value)(tree)
    (finding,) = [f for f in judged(tree) if f.severity.value != "info"]
    assert (finding.clause, finding.item) == (clause, key)
    default = "1" if clause == "changed" else "(not set)"
    for text in (f"{key} is {value} (reference workload: {default}; origin: user)", "CLOSED", "OPEN allow"):
        assert text in finding.message


def test_a_rejected_parameter_says_what_where_from_and_what_is_allowed(tree: TrainingTree) -> None:
    override("checkpoint.model_size", 500)(tree)
    (finding,) = [f for f in judged(tree) if f.clause == "changed"]
    assert finding.path.endswith("training/unet3d")
    assert len(finding.paths) == 6
    for text in ("checkpoint.model_size", "500", "origin: user", "(not set)", "CLOSED", "reader.read_threads"):
        assert text in finding.message
    assert "OPEN does not allow it either" in finding.message
    override("reader.data_loader", "dali")(tree)
    messages = [f.message for f in judged(tree) if f.item == "reader.data_loader"]
    assert len(messages) == 1
    assert "OPEN allows it" in messages[0]


def test_a_key_from_a_file_is_not_called_the_tools(tree: TrainingTree) -> None:
    override("train.epochs", 5, typed=False)(tree)
    edit("metadata", {"/args/config_file": "my.yaml"})(tree)
    (finding,) = [f for f in judged(tree) if f.clause == "changed"]
    assert "origin: not recorded" in finding.message


def test_credentials_are_not_repeated(tree: TrainingTree) -> None:
    override("storage.storage_options.secret_access_key", "abc123")(tree)
    assert findings(tree) == [("3.6.2", "error", "changed")]
    assert not [f for f in judged(tree) if "abc123" in str(f.as_json())]


def test_host_facts_of_some_hosts_only_are_no_measurement(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=125.0).build()
    edit("metadata", {"/system_info/num_hosts": 1, "/system_info/total_memory_bytes": 125 * 2**30})(tree)
    assert findings(tree) == []


@pytest.mark.parametrize(
    ("memory", "told"),
    [("540629008384", set()), (0, {("3.1.2", "warning", "?")}), (-540629008384, {("3.1.2", "warning", "?")})],
)
def test_a_memory_below_one_byte_is_no_measurement(tree: TrainingTree, memory: object, told: set[object]) -> None:
    """The other measurement counts, and that the two agree cannot be told."""
    edit("metadata", {"/system_info/total_memory_bytes": memory})(tree)
    assert set(findings(tree)) == told


def test_what_was_typed_and_not_passed_on_shows_its_value(tree: TrainingTree) -> None:
    edit("metadata", {"/args/params": ["dataset.num_files_train=56000", "reader.read_threads=8", "train.epochs=03"]})(
        tree
    )
    (finding,) = [f for f in judged(tree) if f.severity.value != "info"]
    assert (finding.clause, finding.item) == ("changed", "train.epochs")
    assert "train.epochs is 3 (reference workload: 5; origin: user, not passed on)" in finding.message


def test_a_credential_that_was_typed_and_not_passed_on_is_not_repeated(tree: TrainingTree) -> None:
    edit("metadata", {"/args/params": ["storage.storage_options.secret_access_key=abc123"]})(tree)
    assert ("3.6.2", "error", "changed") in findings(tree)
    assert not [f for f in judged(tree) if "abc123" in str(f.as_json())]


@pytest.mark.parametrize(
    "params",
    [["train.epochs=5"], [["train.epochs=5"]], "train.epochs=5", ["train.epochs=a=b=c"]],
    ids=["list", "nested", "text", "several equals signs"],
)
def test_params_in_every_spelling(tree: TrainingTree, params: object) -> None:
    edit("metadata", {"/args/params": params})(tree)
    assert findings(tree) == [("3.6.2", "error", "changed")]


def test_the_finding_on_the_size_shows_the_numbers_that_went_in(tree: TrainingTree) -> None:
    files(55999)(tree)
    (finding,) = [f for f in judged(tree) if f.clause == "short"]
    for text in ("55999", "56000", "500 steps x 7 x 16", "540629008384", "503.5000 GiB", "146600628", "18438.84"):
        assert text in finding.message, text


@pytest.mark.parametrize(
    ("count", "old", "draft"),
    [(4710039, [], []), (4710038, [], ["rounding"]), (4710037, ["short"], ["short"])],
)
def test_a_dataset_that_is_short_by_rounding_alone(
    tmp_path: Path, count: int, old: list[str], draft: list[str]
) -> None:
    tree = TrainingTree(
        tmp_path, model="retinanet", accelerators=8, files=count, memory_gib=283.33438030421735, au=86.0
    ).build()
    for edition, expected in (("3.0", old), ("4.0-draft", draft)):
        assert [f[2] for f in findings(tree, edition) if f[0] == "3.1.2" and f[1] == "error"] == expected
    assert any(f.clause == "rounding" for f in judged(tree)) == (count == 4710038)


def test_host_memory_counts_by_its_sum_wherever_it_stands(tmp_path: Path) -> None:
    entries = [376.18] * 7 + [187.90] + [0.0] * 7
    for number, (count, order) in enumerate(((105000, 1), (105000, -1), (104999, 1))):
        tree = TrainingTree(tmp_path / str(number), accelerators=30, hosts=15, memory_gib=188.07, files=count).build()
        edit("summary", {"/host_memory_GB": entries[::order]})(tree)
        found = [f for f in findings(tree) if f[0] == "3.1.2" and f[2] == "short"]
        assert bool(found) == (count < 105000), number


@pytest.mark.parametrize(
    ("declared", "count", "expected"), [(1, 56000, []), (10000, 56000, []), (1, 55999, [("3.1.2", "error", "steps")])]
)
def test_declared_memory_is_no_measurement(tree: TrainingTree, declared: int, count: int, expected: list[str]) -> None:
    """What only the memory decides is left open; the number of steps is not."""
    files(count, 56000)(tree)
    edit("summary", {"/host_memory_GB": DELETE})(tree)
    edit("metadata", {"/system_info": None, "/args/client_host_memory_in_gb": declared})(tree)
    found = [f for f in findings(tree) if f[0] == "3.1.2"]
    assert [f for f in found if f[2] != "?"] == expected
    assert ("3.1.2", "error", "?") in found


@pytest.mark.parametrize("entries", [[], [-1.0, 5000.0], [0.0], "503.5"])
def test_a_memory_list_that_cannot_be_is_no_measurement(tree: TrainingTree, entries: object) -> None:
    edit("summary", {"/host_memory_GB": entries})(tree)
    edit("metadata", {"/system_info": None})(tree)
    assert "short" not in [f[2] for f in findings(tree)]


@pytest.mark.parametrize(("accelerators", "hosts", "fires"), [(1, 1, True), (2, 1, True), (4, 1, False), (8, 8, False)])
def test_few_accelerators_on_one_host(tmp_path: Path, accelerators: int, hosts: int, fires: bool) -> None:
    tree = TrainingTree(tmp_path, accelerators=accelerators, hosts=hosts, memory_gib=63.0, files=28000).build()
    found = [f for f in judged(tree) if f.rule == "3.3.3"]
    assert len(found) == fires
    assert all(len(f.paths) == 6 for f in found)


@pytest.mark.parametrize(
    ("slots", "fires"),
    [("h1:4,h2:4,h3:4,h4:4", False), ("h1:4,h2:4,h3:6,h4:2", True), ("h1:5,h2:5,h3:5,h4:5", True)],
)
def test_ranks_on_several_hosts(tmp_path: Path, slots: str, fires: bool) -> None:
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=125.0).build()
    edit("metadata", {"/executed_command": f"mpirun -n 16 -host {slots} dlio_benchmark"})(tree)
    assert [f[0] for f in findings(tree)] == (["3.3.6"] if fires else [])


def test_one_client_named_twice_is_one_client(tree: TrainingTree) -> None:
    edit("metadata", {"/args/hosts": ["host01", "HOST01:8", "host01:8"]})(tree)
    assert findings(tree) == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("/memory/total", 251 * 2**30, "251.0 GiB to 503.5 GiB of memory, 64 cores to 64 cores"),
        ("/cpu/num_cores", 32, "503.5 GiB to 503.5 GiB of memory, 32 cores to 64 cores"),
    ],
)
def test_unequal_clients_are_one_warning(tmp_path: Path, key: str, value: int, told: str) -> None:
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=503.5, accelerators=16, files=73756).build()
    edit("metadata", {f"/system_info/hosts/0{key}": value})(tree)
    (finding,) = [f for f in judged(tree) if f.rule == "3.3.7"]
    assert (finding.severity.value, finding.clause) == ("warning", "main")
    assert told in finding.message


def test_a_tool_that_remarks_on_no_host_has_no_remark(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=503.5, accelerators=16, files=73756).build()
    assert [f for f in judged(tree) if f.rule == "3.3.7"] == []


def test_the_measured_memory_of_a_record_is_that_of_each_client(tmp_path: Path) -> None:
    """Sized by what was measured, although less was declared."""
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=503.5, accelerators=16, files=73756).build()
    edit_first("datasize", "metadata", {"/args/client_host_memory_in_gb": 100})(tree)
    assert findings(tree) == []
    edit_first("datasize", "metadata", {"/parameters/dataset/num_files_train": 73000})(tree)
    assert ("3.1.2", "warning", "reproducible") in findings(tree)


@pytest.mark.parametrize("held", [[], [".hidden"]])
def test_a_directory_without_any_result_is_no_run_of_the_series(tree: TrainingTree, held: list[str]) -> None:
    """Else the first of the six runs would no longer be the warm-up."""
    stub = tree.workload / "run" / "20260701_095000"
    stub.mkdir()
    for name in held:
        (stub / name).write_text("x")
    tree.runs[1].edit("summary", {"/metric/train_au_mean_percentage": 80.0, "/metric/train_au_percentage": [80.0] * 5})
    assert [f.clause for f in judged(tree, "4.0-draft") if f.clause in ("bandwidth", "warmup")] == [
        "warmup",
        "bandwidth",
    ]


@pytest.mark.parametrize(("least", "severity"), [(503.5, "info"), (251.0, "warning")])
def test_what_the_tool_remarked_on_its_hosts_is_passed_on(tmp_path: Path, least: float, severity: str) -> None:
    tree = TrainingTree(tmp_path, hosts=4, memory_gib=503.5, accelerators=16, files=73756).build()
    edit(
        "metadata",
        {
            "/system_info/host_consistency_issues": ["the kernels differ"],
            "/system_info/hosts/0/memory/total": int(least * 2**30),
        },
    )(tree)
    (finding,) = [f for f in judged(tree) if f.rule == "3.3.7"]
    assert finding.severity.value == severity
    assert "the kernels differ" in finding.message


def test_an_old_builds_target_is_noted_only(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, model="retinanet", files=8369985, au=86.0).build()
    edit("config", {"/workload/metric/au": 0.9})(tree)
    edit("summary", {"/metric/train_au_meet_expectation": "fail"})(tree)
    assert findings(tree) == []
    assert [f.severity.value for f in judged(tree) if f.clause == "target"] == ["info"] * 6


@pytest.mark.parametrize(
    ("verdict", "expected"), [("success", []), ("fail", [("3.3.2", "error", "verdict_alone")] * 6)]
)
def test_without_a_target_the_verdict_is_held_against_the_minimum(
    tree: TrainingTree, verdict: str, expected: list[tuple[str, str, str]]
) -> None:
    edit("config", {"/workload/metric": DELETE})(tree)
    edit("metadata", {"/parameters/metric": DELETE})(tree)
    edit("summary", {"/metric/train_au_meet_expectation": verdict})(tree)
    assert findings(tree) == expected
    assert all(f.clause != "target" for f in judged(tree))


@pytest.mark.parametrize(
    ("share", "shown"), [(0.939999, "1.0001 to 1.0001 points above"), (0.9506, "-0.06 to -0.06 points above")]
)
def test_a_utilisation_beside_its_bounds_is_told_from_them(tree: TrainingTree, share: float, shown: str) -> None:
    edit("summary", {"/metric/train_throughput_samples_per_second": [share * 16 * 7 / 0.162] * 5})(tree)
    messages = [f.message for f in judged(tree) if f.clause == "throughput"]
    assert len(messages) == 6
    assert all(shown in message for message in messages), messages[0]


@pytest.mark.parametrize("phase", ["run", "datagen"])
def test_a_pointer_is_told_of_even_where_nothing_rests_on_the_file(tree: TrainingTree, phase: str) -> None:
    leaf = tree.runs[0] if phase == "run" else tree.leaves(phase)[0]
    leaf.file("config").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n")
    assert findings(tree) == [("READ-03", "warning", f"{phase}_pointer")]


def test_a_verdict_without_a_target_may_be_that_of_an_early_template(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, model="retinanet", files=8369985, au=87.0).build()
    edit("config", {"/workload/metric": DELETE})(tree)
    edit("metadata", {"/parameters/metric": DELETE})(tree)
    edit("summary", {"/metric/train_au_meet_expectation": "fail"})(tree)
    assert findings(tree) == []


def test_a_record_of_an_unknown_model_leaves_open_what_one_finding_lists(tree: TrainingTree) -> None:
    spoilt = {"/args/model": "resnet99", "/model": "resnet99", "/override_parameters": {"reader.read_threads": 8}}
    tree.leaves("datasize")[0].edit("metadata", spoilt)
    found = judged(tree)
    assert [f.opens for f in found if f.rule == "X3.3"] == [("3.6.2",)]
    assert not [f for f in found if f.outcome == "undetermined"]


def test_a_model_that_no_table_has_opens_the_rules_that_ask_for_its_limits(tree: TrainingTree) -> None:
    for leaf in tree.leaves("run"):
        leaf.edit("metadata", {"/args/model": "resnet99", "/model": "resnet99"})
    found = judged(tree)
    assert [f.opens for f in found if f.rule == "X3.3"] == [("3.3.2", "3.6.2")]
    assert not [f for f in found if f.outcome == "undetermined"]


def test_phases_that_were_made_after_the_runs_are_noted(tree: TrainingTree) -> None:
    for phase in ("datasize", "datagen"):
        leaf = tree.leaves(phase)[0]
        target = leaf.path.with_name("20260702_100000")
        leaf.file("metadata").rename(leaf.path / "training_20260702_100000_metadata.json")
        leaf.path.rename(target)
    assert findings(tree) == []
    (finding,) = [f for f in judged(tree) if f.clause == "backdated"]
    assert "datasize/20260702_100000, datagen/20260702_100000" in finding.message


def test_an_object_store_needs_no_evidence_and_no_shared_mount(tree: TrainingTree) -> None:
    edit("metadata", {"/args/data_access_protocol": "object", "/args/data_dir": "data/unet3d"})(tree)
    on_runs(lambda leaf: leaf.file("fs").unlink())(tree)
    assert findings(tree) == []


def test_what_is_left_to_deep_is_said(tree: TrainingTree) -> None:
    remarks = check(tree.root, Options()).remarks
    assert [remark for remark in remarks if remark.endswith("is left to --deep")] == [
        "closed/acme/results/fast-1/training/unet3d: 3.3.2 (e), utilisation recomputed from every rank's "
        "*_output.json, is left to --deep"
    ]


def test_configuration_stands_in_for_a_missing_metadata_file(tree: TrainingTree) -> None:
    for leaf in tree.runs:
        leaf.file("metadata").unlink()
    found = {f[0] for f in findings(tree) if f[2] != "?"}
    assert found == set()
    files = [yaml.safe_load(leaf.file("overrides").read_text())[0] for leaf in tree.runs]
    assert files[0] == "workload=unet3d_b200"


@pytest.mark.parametrize("phase", ["datasize", "datagen", "run"])
def test_a_leaf_outside_any_tree_is_read_as_what_its_metadata_says(tree: TrainingTree, phase: str) -> None:
    leaf = tree.leaves(phase)[0]
    alone = leaf.path.rename(tree.root / leaf.path.name)
    report = check(alone, Options())
    assert not report.faults
    assert [f for f in report.findings if f.rule.startswith(MINE) and f.severity.value != "info"] == []


def test_metadata_that_is_no_object_breaks_nothing(tree: TrainingTree) -> None:
    for leaf, text in zip(
        tree.runs, ("null", "[]", '"x"', "{}", '{"args": []}', json.dumps({"parameters": 3})), strict=True
    ):
        leaf.file("metadata").write_text(text)
    report = check(tree.root, Options())
    assert not report.faults


@pytest.mark.parametrize(
    ("file", "pointer"),
    [
        ("summary", "/num_accelerators"),
        ("summary", "/num_hosts"),
        ("summary", "/num_files_train"),
        ("summary", "/host_memory_GB"),
        ("summary", "/epochs"),
        ("summary", "/metric/train_au_percentage"),
        ("summary", "/metric/train_throughput_samples_per_second"),
        ("config", "/workload/reader/batch_size"),
        ("config", "/workload/dataset/record_length_bytes"),
        ("config", "/workload/dataset/num_samples_per_file"),
        ("config", "/workload/train/computation_time"),
        ("metadata", "/args/client_host_memory_in_gb"),
        ("metadata", "/system_info/hosts"),
        ("metadata", "/args/hosts"),
        ("metadata", "/args/params"),
        ("metadata", "/override_parameters"),
        ("fs", "/probed_at"),
    ],
)
def test_hostile_values_break_nothing(tree: TrainingTree, file: str, pointer: str) -> None:
    for leaf, value in zip(tree.runs, (None, "x", -1, 0, 2**70, [1e300]), strict=True):
        leaf.edit(file, {pointer: value})
    assert not check(tree.root, Options()).faults


@pytest.mark.parametrize("sizes", [(5e-324, 2.0**40), (1.0, 1e308), (1e-99, 1e99)])
def test_memories_that_no_host_has_break_nothing(tree: TrainingTree, sizes: tuple[float, float]) -> None:
    """Their ratio is larger than any number of the machine."""
    edit(
        "metadata", {f"/system_info/{end}_memory_bytes": size for end, size in zip(("min", "max"), sizes, strict=True)}
    )(tree)
    assert not check(tree.root, Options()).faults


@pytest.mark.parametrize("command", ["run", "datagen", "datasize"])
def test_a_lone_leaf_of_no_division_is_no_fault(tree: TrainingTree, tmp_path: Path, command: str) -> None:
    leaf = tree.leaves(command)[0] if command != "run" else tree.runs[0]
    leaf.edit("metadata", {"/args/mode": "closedclosed"})
    alone = tmp_path / "alone" / leaf.path.name
    shutil.copytree(leaf.path, alone)
    assert not check(alone, Options()).faults


def test_a_run_used_the_code_that_the_tool_had_validated(tree: TrainingTree) -> None:
    used, other = "0f" * 16, "1e" * 16
    for leaf in tree.root.glob("*/*/results/*/training/*/run/*"):
        (leaf / ".mlps-code-image").write_text(f"md5-tree-v2:{used}\n")
    edit("metadata", {"/args/_validated_pool_hash": used})(tree)
    assert findings(tree) == []
    edit("metadata", {"/args/_validated_pool_hash": other})(tree)
    assert findings(tree) == [("3.6.1", "error", "main")]
