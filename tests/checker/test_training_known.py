"""Workloads shaped like published ones give the findings that the v3.0 review had, and not its false ones."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

from training_trees import TrainingTree

from rules import Finding
from submission_checker.scan import Options, check


def judged(tree: TrainingTree, edition: str = "3.0") -> list[Finding]:
    report = check(tree.root, Options(edition=edition))
    assert not report.faults
    return [f for f in report.findings if f.rule.startswith("3.")]


def counted(found: list[Finding], *severities: str) -> Counter[tuple[str, str]]:
    return Counter((f.rule, f.clause) for f in found if f.severity.value in severities)


def test_more_files_than_prescribed_are_legal(tmp_path: Path) -> None:
    """Sized for 210000, 448000 generated and used: the memory of single entries must not be multiplied."""
    tree = TrainingTree(tmp_path, hosts=15, accelerators=60, memory_gib=376.88655522664385, files=448000, au=97.7576)
    tree.build()
    shutil.rmtree(tree.workload / "datasize")
    tree.files = 210000
    record = tree.add_datasize("20260701_080000")
    record.edit("metadata", {"/args/client_host_memory_in_gb": 376.0})
    entries = [1507.5462209056073, 1507.5462209056073, 1507.5462209056073, 1130.6596656799316, *[0.0] * 11]
    for leaf in tree.runs:
        leaf.edit("summary", {"/host_memory_GB": entries})
    found = judged(tree)
    assert counted(found, "error", "warning") == Counter()
    (larger,) = [f for f in found if f.clause == "larger"]
    assert (larger.severity.value, larger.path) == ("info", "closed/acme/results/fast-1/training/unet3d")
    assert "448000 files, 210000 prescribed (6 runs)" in larger.message
    shutil.rmtree(tree.workload / "datasize")
    tree.files = 448000
    tree.add_datasize("20260701_080000")
    assert not [f for f in judged(tree) if f.clause == "larger"]


def test_a_record_for_more_accelerators_is_an_underrun_of_each_run(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, hosts=9, accelerators=99, memory_gib=503.4874, files=360000, au=93.7391).build()
    shutil.rmtree(tree.workload / "datasize")
    tree.accelerators = 104
    record = tree.add_datasize("20260701_080000", 364000)
    record.edit("metadata", {"/args/client_host_memory_in_gb": 504.0})
    tree.leaves("datagen")[0].override("dataset.num_files_train", 420000)
    for leaf in tree.runs[1:3]:
        leaf.override("reader.prefetch_size", 4)
    found = judged(tree)
    assert counted(found, "error", "warning") == Counter({("3.3.1", "underrun"): 6, ("3.6.2", "prefetch"): 1})
    underruns = [f for f in found if f.clause == "underrun"]
    assert sorted(f.path.rpartition("/")[2] for f in underruns) == [leaf.path.name for leaf in tree.runs]
    assert all("360000 files" in f.message and "364000 files" in f.message for f in underruns)
    assert [len(f.paths) for f in found if f.clause == "prefetch"] == [2]
    assert counted(judged(tree, "4.0-draft"), "error") == Counter({("3.3.1", "underrun"): 6, ("3.6.2", "prefetch"): 1})


def test_a_leaf_of_june_has_no_evidence_and_one_file_too_few(tmp_path: Path) -> None:
    tree = TrainingTree(
        tmp_path, model="retinanet", accelerators=72, memory_gib=283.3343963623047, files=4710038, au=86.7427
    ).build()
    shutil.rmtree(tree.workload / "datasize")
    for leaf in tree.runs:
        leaf.file("fs").unlink()
        leaf.edit("metadata", {"/args/skip_fs_separation_gate": None, "/args/allow_invalid_params": None})
    found = judged(tree)
    assert counted(found, "error", "warning") == Counter({("3.4.2", "evidence"): 6})
    (rounding,) = [f for f in found if f.clause == "rounding"]
    assert (rounding.severity.value, len(rounding.paths)) == ("info", 6)
    assert "4710038 files are short of 4710039 files" in rounding.message
    draft = counted(judged(tree, "4.0-draft"), "error")
    assert draft == Counter({("3.1.2", "rounding"): 1, ("3.4.2", "evidence"): 6})


def test_exactly_the_required_files_are_enough_and_two_less_are_not(tmp_path: Path) -> None:
    for number, (files, expected) in enumerate(((105000, 0), (104998, 1), (52500, 1))):
        root = tmp_path / str(number)
        tree = TrainingTree(root, hosts=15, accelerators=30, memory_gib=188.0764780044556, files=files, au=94.4099)
        tree.build()
        shutil.rmtree(tree.workload / "datasize")
        found = judged(tree)
        assert counted(found, "error")["3.1.2", "short"] == expected
        assert counted(found, "warning")["3.2.1", "fallback"] == expected


def test_one_accelerator_on_one_host_is_one_warning_and_later_phases_are_noted(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, accelerators=1, memory_gib=184.8589506149292, files=7412, au=97.5852).build()
    for phase in ("datasize", "datagen"):
        shutil.rmtree(tree.workload / phase)
    tree.files = 6770
    tree.add_datasize("20260709_080000")
    tree.files = 7412
    tree.add_datagen("20260709_090000")
    found = judged(tree)
    assert counted(found, "error", "warning") == Counter({("3.3.3", "main"): 1})
    assert counted(found, "info")["3.3.1", "backdated"] == 1


def test_the_warm_up_is_the_first_of_six_and_not_averaged(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    for leaf, au in zip(tree.runs, (80.0, 92.0, 93.0, 94.0, 95.0, 96.0), strict=True):
        leaf.edit(
            "summary",
            {
                "/metric/train_au_mean_percentage": au,
                "/metric/train_au_percentage": [au] * 5,
                "/metric/train_throughput_samples_per_second": [au / 100 * 112 / 0.162] * 5,
                "/metric/train_au_meet_expectation": "success" if au >= 90 else "fail",
                "/metric/train_io_mean_MB_per_second": 1024 * au,
            },
        )
    found = judged(tree)
    assert [(f.clause, f.path.rpartition("/")[2]) for f in found if f.severity.value == "warning"] == [
        ("warmup", tree.runs[0].path.name)
    ]
    (bandwidth,) = [f for f in judged(tree, "4.0-draft") if f.clause == "bandwidth"]
    assert "94.0 GiB/s, mean of 5 runs" in bandwidth.message
    shutil.rmtree(tree.runs[5].path)
    assert not [f for f in judged(tree, "4.0-draft") if f.clause == "bandwidth"]
