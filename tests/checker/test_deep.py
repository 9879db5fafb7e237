"""``--deep``: utilisation recomputed from what every rank recorded, 3.3.2 (e)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rank_files import STEP, WAIT, edit_rank, write_rank, write_ranks
from training_trees import TrainingTree
from trees import cases_directory

from rules import Finding
from submission_checker.cli import main
from submission_checker.depth import deep_clauses
from submission_checker.readers.training_run import LEFT_TO_DEEP
from submission_checker.scan import Options, check

RANKS, STEPS = 16, 500
AU = [95.0] * 5


@pytest.fixture
def leaf(tmp_path: Path) -> Path:
    """A run leaf whose ranks recorded what its summary says."""
    path = TrainingTree(tmp_path).build().runs[1].path
    write_ranks(path, RANKS, STEPS, AU)
    return path


def found(leaf: Path, *, deep: bool = True) -> list[Finding]:
    """What 3.3.2 says of a leaf."""
    report = check(leaf, Options(deep=deep))
    assert not report.faults
    return [finding for finding in report.findings if finding.rule == "3.3.2" or "3.3.2" in finding.opens]


def told(leaf: Path) -> list[tuple[str, str]]:
    return [(f.severity.value, "?" if f.outcome == "undetermined" else f.clause) for f in found(leaf)]


def test_ranks_that_recorded_what_the_summary_says_pass(leaf: Path) -> None:
    report = check(leaf, Options(deep=True))
    assert found(leaf) == []
    assert report.tally["3.3.2"] == {"pass": 1}
    assert not any(LEFT_TO_DEEP in remark for remark in report.remarks)


def test_without_it_no_rank_is_read_and_the_report_says_so(leaf: Path) -> None:
    for path in leaf.glob("*_output.json"):
        path.write_text("{")
    assert found(leaf, deep=False) == []
    assert [remark for remark in check(leaf, Options()).remarks if LEFT_TO_DEEP in remark]
    assert told(leaf) == [("warning", "?")]


def test_a_datasize_leaf_has_no_ranks_to_speak_of(tmp_path: Path) -> None:
    datasize = TrainingTree(tmp_path).build().leaves("datasize")[0].path
    assert not any(LEFT_TO_DEEP in remark for remark in check(datasize, Options()).remarks)


@pytest.mark.parametrize("by", [0.0499, 0.0501])
def test_a_stated_utilisation_may_differ_by_a_twentieth_of_a_point(leaf: Path, by: float) -> None:
    edit_rank(leaf, "7_output.json", {("3", "au", "block1"): 95.0 + by})
    assert told(leaf) == ([("warning", "ranks")] if by > 0.05 else [])


def test_a_finding_shows_rank_epoch_and_all_numbers(leaf: Path) -> None:
    edit_rank(leaf, "7_output.json", {("3", "au", "block1"): 96.0})
    (finding,) = found(leaf)
    assert finding.message == (
        "run 20260701_110000: a rank's utilisation lies 1.0 points from that of its own steps, 0.05 are plausible; "
        "rank 7, epoch 3, block1: stated 96.0000, recomputed 100 x 80.838000 s / (87.092632 s - 2.000000 s) = 95.0000 "
        "from 499 of 500 steps; its throughput means 85.092632 s; 16 ranks were recomputed"
    )
    assert {item.fact for item in finding.evidence} >= {"train.rank_difference", "train.rank_computation"}


def test_slower_storage_than_the_utilisation_says_shows_in_the_times_of_a_block(leaf: Path) -> None:
    stats = json.loads((leaf / "7_per_epoch_stats.json").read_text())
    end = stats["3"]["block1"]["end"]
    later = end.replace(end[14:16], f"{int(end[14:16]) + 1:02}", 1)
    edit_rank(leaf, "7_per_epoch_stats.json", {("3", "block1", "end"): later})
    assert told(leaf) == [("warning", "rank_means"), ("warning", "ranks")]


def test_a_summary_that_says_more_than_its_ranks_is_found_though_it_agrees_with_itself(leaf: Path) -> None:
    write_ranks(leaf, RANKS, STEPS, [95.0, 95.0, 94.9, 95.0, 95.0])
    (finding,) = found(leaf)
    assert (finding.clause, finding.severity.value) == ("rank_means", "warning")
    assert finding.message == (
        "run 20260701_110000: the summary's utilisation of an epoch lies 0.1 points from that of the ranks' own steps, "
        "0.05 are plausible; epoch 3: stated 95.0000, mean over 16 ranks 94.9000 (lowest: rank 0 with 94.9000)"
    )


def test_files_of_ranks_that_the_run_did_not_have_change_nothing(leaf: Path) -> None:
    (leaf / "16_output.json").write_text("[]")
    (leaf / "07_output.json").write_text("[]")
    assert found(leaf) == []


def test_two_blocks_are_weighted_by_their_steps(leaf: Path) -> None:
    """200 steps at 90 and 300 at 95 are 93 in the mean."""
    write_ranks(leaf, RANKS, STEPS, AU)
    for rank in range(RANKS):
        changes: dict[tuple[str | int, ...], Any] = {}
        times: dict[tuple[str | int, ...], Any] = {}
        for name, steps, au, minute in (("block1", 200, 90.0, 10), ("block2", 300, 95.0, 20)):
            seconds = STEP * (steps - 1) / (au / 100)
            changes |= {
                ("1", "compute", name): [STEP] * steps,
                ("1", "proc", name): [WAIT] + [0.0] * (steps - 1),
                ("1", "au", name): au,
                ("1", "throughput", name): (steps - 1) * 7 / seconds,
            }
            times["1", name] = {
                "start": f"2026-07-01T10:{minute}:00",
                "end": f"2026-07-01T10:{minute}:{WAIT + seconds:09.6f}",
            }
        edit_rank(leaf, f"{rank}_output.json", changes)
        edit_rank(leaf, f"{rank}_per_epoch_stats.json", times)
    (finding,) = found(leaf)
    assert "epoch 1: stated 95.0000, mean over 16 ranks 93.0000 " in finding.message


GONE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "an output is missing": (
        lambda leaf: (leaf / "3_output.json").unlink(),
        "warning",
        "the files of 1 of 16 ranks cannot be used: there is no 3_output.json)",
    ),
    "all outputs are missing": (
        lambda leaf: [path.unlink() for path in leaf.glob("*_output.json")] and None,
        "warning",
        "16 of 16 ranks cannot be used: there is no 0_output.json; there is no 1_output.json; there is no "
        "2_output.json; ...)",
    ),
    "statistics are missing": (
        lambda leaf: (leaf / "3_per_epoch_stats.json").unlink(),
        "warning",
        "1 of 16 ranks cannot be used: 3_per_epoch_stats.json: there is no such file)",
    ),
    "an output was pruned": (
        lambda leaf: (leaf / "3_output.json").write_text("PRUNED BY STAFF\n") and None,
        "info",
        "1 of 16 ranks cannot be used: 3_output.json: its content was replaced by 'PRUNED BY STAFF')",
    ),
    "one was pruned, another is missing": (
        lambda leaf: (leaf / "3_output.json").write_text("PRUNED BY STAFF\n") and (leaf / "4_output.json").unlink(),
        "warning",
        "2 of 16 ranks cannot be used: there is no 4_output.json; ...)",
    ),
    "an epoch is missing": (
        lambda leaf: edit_rank(leaf, "3_output.json", {("5",): None}),
        "warning",
        "not every rank states each of the 5 epochs that the summary lists)",
    ),
}


@pytest.mark.parametrize("gone", GONE)
def test_what_is_taken_away_leaves_the_mean_open_and_is_told(leaf: Path, gone: str) -> None:
    spoil, severity, text = GONE[gone]
    spoil(leaf)
    (finding,) = [f for f in found(leaf) if f.outcome == "undetermined"]
    assert finding.severity.value == severity
    assert text in finding.message


def test_a_missing_rank_does_not_hide_what_another_recorded(leaf: Path) -> None:
    edit_rank(leaf, "7_output.json", {("3", "au", "block1"): 96.0})
    (leaf / "3_output.json").unlink()
    assert told(leaf) == [("warning", "?"), ("warning", "ranks")]


HOSTILE: dict[str, object] = {
    "no JSON": "{",
    "an empty file": "",
    "a list": "[]",
    "no epoch": "{}",
    "an epoch that is a list": json.dumps({"1": []}),
    "no blocks": json.dumps({"1": {"compute": {}}}),
    "times that are texts": {("1", "compute", "block1"): ["0.1"] * 500},
    "truth values for times": {("1", "compute", "block1"): [True] * 500},
    "times in lists": {("1", "proc", "block1"): [[]] * 500},
    "an object for a list": {("1", "proc", "block1"): {"0": 1}},
    "times without end": {("1", "compute", "block1"): [1e308] * 500},
    "not a number": {("1", "compute", "block1"): [float("nan")] * 500},
    "an integer that no float holds": {("1", "compute", "block1"): [10**400] * 500},
    "no processing times": {("1", "proc"): None},
    "no utilisation": {("1", "au"): None},
    "a utilisation in words": {("1", "au", "block1"): "high"},
    "no throughput": {("1", "throughput"): None},
    "an endless first step": {("1", "proc", "block1"): [1e9] * 500},
    "a name with an escape": {("1", "compute"): {"\x1b[31m/~": [1.0]}},
    "deep nesting": '{"1":' * 100_000,
    "a key that stands twice": '{"1": {}, "1": {}}',
}


@pytest.mark.parametrize("damage", HOSTILE)
def test_damaged_files_are_an_absence_and_never_a_fault(leaf: Path, damage: str) -> None:
    content = HOSTILE[damage]
    if isinstance(content, str):
        (leaf / "3_output.json").write_text(content)
    else:
        edit_rank(leaf, "3_output.json", content)  # type: ignore[arg-type]
    (finding,) = found(leaf)
    assert (finding.outcome, finding.severity.value) == ("undetermined", "warning")
    assert "1 of 16 ranks cannot be used: " in finding.message
    assert "\x1b" not in finding.message


@pytest.mark.parametrize("value", [None, 7, "soon", "2026-07-01T10:00:00", "9999-12-31T00:00:00", {"a": 1}])
def test_a_block_without_its_times_is_an_absence(leaf: Path, value: object) -> None:
    edit_rank(leaf, "3_per_epoch_stats.json", {("1", "block1", "end"): value})
    (finding,) = found(leaf)
    assert "rank 3, epoch 1: " in finding.message


def test_no_steps_at_all_are_no_utilisation(leaf: Path) -> None:
    edit_rank(leaf, "3_output.json", {("1", "compute", "block1"): [], ("1", "proc", "block1"): []})
    assert told(leaf) == [("warning", "rank_means"), ("warning", "rank_steps"), ("warning", "ranks")]


COUNTED: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "all ranks left out the same": (
        lambda leaf: write_ranks(leaf, RANKS, 100, AU),
        "rank_steps",
        "every rank makes 500 steps in an epoch; recorded: fewest 100 (rank 0, epoch 1); most 100 (rank 0, epoch 1)",
    ),
    "one rank recorded two steps": (
        lambda leaf: write_rank(leaf, 7, 2, AU),
        "rank_steps",
        "every rank makes 500 steps in an epoch; recorded: fewest 2 (rank 7, epoch 1); most 500 (rank 0, epoch 1)",
    ),
    "one rank recorded more": (
        lambda leaf: write_rank(leaf, 7, 502, AU),
        "rank_steps",
        "every rank makes 500 steps in an epoch; recorded: fewest 500 (rank 0, epoch 1); most 502 (rank 7, epoch 1)",
    ),
    "an epoch more than were run": (
        lambda leaf: write_rank(leaf, 7, STEPS, [*AU, 95.0]),
        "rank_epochs",
        "a rank recorded epoch 6, and 5 epochs were run",
    ),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0", "4.0-draft"])
def test_steps_and_epochs_are_counted_though_utilisation_agrees(leaf: Path, edition: str, name: str) -> None:
    spoil, clause, words = COUNTED[name]
    spoil(leaf)
    told = [f for f in check(leaf, Options(edition, deep=True)).findings if f.rule == "3.3.2"]
    assert [(f.clause, f.severity) for f in told] == [(clause, "warning")]
    assert words in told[0].message


@pytest.mark.parametrize("ranks", [0, -1, 10**15, 2**63 - 1, "sixteen"])
def test_a_summary_that_counts_no_such_ranks_costs_nothing(leaf: Path, ranks: object) -> None:
    summary = json.loads((leaf / "summary.json").read_text())
    summary["num_accelerators"] = ranks
    (leaf / "summary.json").write_text(json.dumps(summary))
    assert [f for f in found(leaf) if f.outcome == "undetermined"]


def test_a_link_is_not_followed(leaf: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    (leaf / "3_output.json").rename(target)
    (leaf / "3_output.json").symlink_to(target)
    (finding,) = found(leaf)
    assert finding.outcome == "undetermined"


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A published run (its figures and its first rank's times are real) with steps of every rank that agree with it."""
    source = cases_directory() / "08-train-unet3d-complete" / "tree"
    if not source.is_dir():
        pytest.skip(f"no cases in {cases_directory()}")
    shutil.copytree(source, tmp_path / "tree")
    (leaf,) = (tmp_path / "tree").glob("closed/*/results/*/training/unet3d/run/20260721_183322")
    for path in (leaf, *leaf.iterdir()):
        path.chmod(0o755)
    summary = json.loads((leaf / "summary.json").read_text())
    for rank in range(summary["num_accelerators"]):
        write_rank(leaf, rank, 800, summary["metric"]["train_au_percentage"])
    return leaf


def test_a_real_leaf_passes(real: Path) -> None:
    assert found(real) == []


def test_a_real_leaf_fails_where_a_rank_computed_for_longer_than_it_says(real: Path) -> None:
    edit_rank(real, "41_output.json", {("2", "compute", "block1", 400): STEP + 1})
    assert told(real) == [("warning", "ranks")]
    (finding,) = found(real)
    assert "rank 41, epoch 2, block1: stated 91.0950, recomputed 100 x 130.438000 s / " in finding.message


def test_the_default_check_of_a_real_leaf_says_nothing_of_it(real: Path) -> None:
    edit_rank(real, "41_output.json", {("2", "compute", "block1", 400): STEP + 1})
    assert found(real, deep=False) == []


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    main([*map(str, arguments), "--format", "json", "--select", "3.3.2"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two systems; one rank of the second one's first run overstates itself."""
    root = tmp_path / "tree"
    built = TrainingTree(root).build()
    for training in built.runs:
        write_ranks(training.path, RANKS, STEPS, AU)
    results = root / "closed" / "acme" / "results"
    shutil.copytree(results / "fast-1", results / "fast-2")
    edit_rank(next((results / "fast-2").glob("training/*/run/*")), "7_output.json", {("3", "au", "block1"): 96.0})
    return root


def test_every_process_reads_as_deep(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(capsys, tree, "--deep")
    assert [(f["clause"], f["system"]) for f in report["findings"]] == [("ranks", "fast-2")]
    assert report["filters"]["deep"] is True
    assert run(capsys, tree, "--deep", "--jobs", 2) == report
    assert "deep" not in run(capsys, tree)["filters"]


def test_what_only_deep_finds_is_not_cleared_by_a_check_without_it(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = tmp_path / "earlier.json"
    earlier.write_text(json.dumps(run(capsys, tree, "--deep")))
    report = run(capsys, tree, "--since", earlier)
    assert report["since"]["cleared"] == []
    assert any("--deep" in remark and "earlier.json" in remark for remark in report["remarks"])
    write_ranks(next(tree.glob("closed/acme/results/fast-2/training/*/run/*")), RANKS, STEPS, AU)
    cleared = run(capsys, tree, "--deep", "--since", earlier)["since"]["cleared"]
    assert [finding["clause"] for finding in cleared] == ["ranks"]


def test_a_waiver_for_what_only_deep_finds_is_not_called_unused_without_it(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waivers = tmp_path / "waivers.yaml"
    path = "closed/acme/results/fast-2/training/**"
    waivers.write_text(
        f'waivers:\n  - {{rule: "3.3.2", path: "{path}", reason: clock of one host, until: "2999-12-31"}}\n'
    )
    assert [f["rule"] for f in run(capsys, tree, "--waivers", waivers)["findings"]] == []
    (finding,) = run(capsys, tree, "--deep", "--waivers", waivers)["findings"]
    assert finding["waived"]
    edit_rank(
        next(tree.glob("closed/acme/results/fast-2/training/*/run/*")), "7_output.json", {("3", "au", "block1"): 95}
    )
    unused = run(capsys, tree, "--deep", "--waivers", waivers)["findings"]
    assert [f["rule"] for f in unused] == ["WAIVER-02"]


def test_the_clauses_that_are_left_to_deep_are_those_of_the_remark() -> None:
    for edition in ("3.0-as-published", "3.0", "4.0-draft"):
        assert deep_clauses(edition) == {
            ("3.3.2", clause) for clause in ("ranks", "rank_means", "rank_steps", "rank_epochs")
        }


NAMES = (
    "summary.json", "dlio_config/config.yaml", "dlio_config/overrides.yaml", "training_20260701_110000_metadata.json",
    "dlio.log", "3_output.json", "7_output.json", "3_per_epoch_stats.json", "7_per_epoch_stats.json",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_file_can_be_deleted_to_silence_it(leaf: Path, name: str) -> None:
    edit_rank(leaf, "7_output.json", {("3", "au", "block1"): 96.0})
    assert told(leaf) == [("warning", "ranks")]
    (leaf / name).unlink()
    report = check(leaf, Options(deep=True))
    assert report.tally["3.3.2"]["pass"] == 0
    severities = {f.severity.value for f in found(leaf)}
    assert severities
    assert "info" not in severities
