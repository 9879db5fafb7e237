"""KV-cache workloads, editions, and what is read from leaves that are odd, old or hostile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from kv_cache_trees import MACHINE, KvLeaf, KvTree, legal
from test_kv_cache_mutations import findings, found
from trees import DELETE, cases_directory

from mlpstorage.results.roots.local import LocalRoot
from rules.facts import Absence, Reason
from rules.facts.kv_cache import KvCacheRun
from submission_checker.discovery import lone_leaf
from submission_checker.leaf import Leaf
from submission_checker.readers.kv_cache import read_run
from submission_checker.scan import Options, check

NO_API = Absence("test", Reason.NOT_APPLICABLE)
FIRST, SECOND = "20260716_165917", "20260721_223359"


def facts(leaf: KvLeaf) -> KvCacheRun:
    with LocalRoot(leaf.path.parent) as root:
        found = lone_leaf(root, leaf.path.name)
        assert isinstance(found, Leaf)
        return read_run(root, found, NO_API)


def test_of_two_complete_runs_the_later_one_is_published(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree", start=FIRST)
    tree.add(SECOND)
    (finding,) = [f for f in found(tree) if f.rule == "X6.3"]
    assert (finding.clause, finding.severity.value) == ("several", "warning")
    assert finding.path == str(tree.workload.relative_to(tree.root))
    assert finding.message == f"the workload holds 2 runs: {SECOND} is published, and {FIRST} not"


def test_a_later_partial_run_does_not_displace_a_complete_one(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree", start=FIRST, ranks=2)
    tree.add(SECOND, ranks=2).lose((1, 0, 1), declared=True)
    (finding,) = [f for f in found(tree) if f.rule == "X6.3"]
    assert f"{FIRST} is published" in finding.message


def test_of_two_partial_runs_none_is_published(tmp_path: Path) -> None:
    tree, first = legal(tmp_path / "tree", start=FIRST)
    second = tree.add(SECOND)
    for leaf in (first, second):
        leaf.edit(leaf.summary, {"/trial_failures": {"1": [{"trial": 0, "exit_code": 1}]}})
    assert ("X6.3", "none_complete", "error") in findings(tree)


def test_a_leaf_without_its_level_is_named(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    (tree.workload / "8nodes").mkdir()
    leaf.path.rename(tree.workload / "8nodes" / leaf.path.name)
    (finding,) = [f for f in found(tree) if f.rule == "X6.4"]
    assert finding.path.endswith("kv_cache/llama3.1-8b/8nodes")


def test_an_object_product_needs_a_named_gateway(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree")
    tree.describe(product_API="object")
    assert findings(tree) == [("6.5.2", "main", "warning")]
    tree.describe(product_API="object", notes="rclone 1.68, vfs-cache off")
    assert findings(tree) == []


def test_the_object_api_does_not_go_with_kv_cache(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree")
    tree.describe(benchmark_API="object")
    assert findings(tree) == [("6.5.1", "described", "warning")]


@pytest.mark.parametrize(
    ("edition", "start", "expected"),
    [
        ("3.0-as-published", "20260720_120000", []),
        ("3.0", "20260703_120000", [("6.3.2.1", "former_delay", "warning")]),
        ("3.0", "20260704_120000", [("6.3.2.1", "delay_by_day", "error")]),
        ("4.0-draft", "20260703_120000", [("6.3.2.1", "delay", "error")]),
    ],
)
def test_a_delay_of_20_s(tmp_path: Path, edition: str, start: str, expected: list[tuple[str, str, str]]) -> None:
    tree, leaf = legal(tmp_path / "tree", start=start)
    leaf.args(inter_option_delay=20)
    assert findings(tree, edition) == expected


def without_device_latency(leaf: KvLeaf) -> None:
    for option in (1, 2, 3):
        leaf.summarise(option, aggregated_device_read_p95_ms=DELETE, aggregated_device_write_p95_ms=DELETE)


@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0"])
def test_device_latency_that_no_build_recorded_is_left_open(tmp_path: Path, edition: str) -> None:
    tree, leaf = legal(tmp_path / "tree")
    without_device_latency(leaf)
    assert findings(tree, edition) == []
    (open_,) = [f for f in found(tree, edition) if f.rule == "6.3.4.3"]
    assert (open_.severity.value, open_.outcome) == ("info", "undetermined")


def test_the_draft_wants_device_latency_of_each_option(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    without_device_latency(leaf)
    assert findings(tree, "4.0-draft") == [("6.3.4.3", "read_recorded", "error")] * 3


def test_a_rate_of_one_keeps_its_unit(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.summarise(1, aggregated_read_bandwidth_gbps=1.0, aggregated_storage_throughput_tokens_per_sec=1.0)
    said = [f.message for f in found(tree) if f.severity.value == "error"]
    assert "states a read bandwidth of 1.0 GiB/s;" in said[0]
    assert "states a storage throughput of 1.0 tokens/s;" in said[1]


def test_a_rate_that_does_not_follow_is_named_with_its_numbers(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    file = leaf.result(1, 2, 1)
    leaf.edit(file, {"/summary/cache_stats/tier_storage_read_bandwidth_gbps": 17.35})
    leaf.aggregate()
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.message == (
        "option_1/trial_2/rank_1 states a read bandwidth of 17.4 GiB/s; its bytes over its window are 17.3 GiB/s. "
        "They may differ by 1e-06 of the larger one"
    )
    assert finding.path == str(file.relative_to(tree.root))


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"fast"'])
def test_an_aggregate_that_is_no_number_is_told_as_such(tmp_path: Path, value: str) -> None:
    tree, leaf = legal(tmp_path / "tree")
    text = json.dumps(json.loads(leaf.summary.read_text()))
    key = '"aggregated_read_bandwidth_gbps": '
    leaf.summary.write_text(text.replace(key, f'{key}{value}, "x": ', 1))
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert "states no finite number as aggregated_read_bandwidth_gbps" in finding.message


def test_the_headline_is_recomputed(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    without_device_latency(leaf)
    headlines = [f.message for f in found(tree) if (f.rule, f.clause) == ("6.3.4.5", "headline")]
    assert len(headlines) == 3
    assert headlines[0].startswith("Option 1: 34.0 GiB/s read, device P95 14201.5 ms (read) and 4201.5 ms (write)")
    assert "with 2 ranks that offer 400.0 users" in headlines[0]


def unsampled(leaf: KvLeaf, *keys: str, option: int | str = "*") -> None:
    """No rank result has the device P95 of these, and the summary does not have any."""
    for file in leaf.path.glob(f"option_{option}/trial_*/rank_*/*.json"):
        leaf.edit(file, {f"/summary/cache_stats/storage_{key}_device_p95_ms": DELETE for key in keys})
    without_device_latency(leaf)


@pytest.mark.parametrize(
    ("keys", "option", "shown"),
    [
        (("read", "write"), "*", "device P95 (not known) (read) and (not known) (write)"),
        (("write",), "*", "device P95 14200.5 ms (read) and (not known) (write)"),
        (("write",), 1, "device P95 14200.5 ms (read) and 0.0 ms (write)"),
    ],
)
def test_a_device_latency_that_no_rank_of_the_leaf_states_is_not_0(
    tmp_path: Path, keys: tuple[str, ...], option: int | str, shown: str
) -> None:
    tree, leaf = legal(tmp_path / "tree")
    unsampled(leaf, *keys, option=option)
    assert findings(tree) == []
    headlines = [f.message for f in found(tree) if (f.rule, f.clause) == ("6.3.4.5", "headline")]
    assert len(headlines) == 3
    assert shown in headlines[0]
    told = [f.message for f in found(tree, "4.0-draft") if f.rule == "6.3.4.3" and f.severity.value == "error"]
    assert any("0.0 ms" in message for message in told) == ("0.0 ms" in shown)


@pytest.mark.parametrize(("stated", "expected"), [(0.0, []), (13100.5, [("6.3.4.3", "read", "error")])])
def test_a_device_latency_of_the_summary_alone_is_compared_with_0(
    tmp_path: Path, stated: float, expected: list[tuple[str, str, str]]
) -> None:
    tree, leaf = legal(tmp_path / "tree")
    unsampled(leaf, "read", "write")
    leaf.summarise(1, aggregated_device_read_p95_ms=stated)
    assert findings(tree) == expected


def test_two_older_summaries_that_differ_are_both_named(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.summary.rename(leaf.path / "kvcache_run_summary_20260627_194318.json")
    (leaf.path / "kvcache_run_summary.json").write_text('{"run_datetime": "x"}')
    (finding,) = [f for f in found(tree) if (f.rule, f.clause) == ("X6.1", "agree")]
    assert "kvcache_run_summary_20260627_194318.json, kvcache_run_summary.json" in finding.message
    assert "summary.json" not in finding.message.replace("_summary", "")


def test_a_missing_sidecar_is_no_finding_before_the_draft(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    (leaf.path / "fs_separation.json").unlink()
    assert findings(tree) == []
    assert findings(tree, "4.0-draft") == [("6.4.1", "evidence", "warning")]


def test_the_message_names_option_parameter_and_both_values(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.parameter(1, "num-users", 100)
    (finding,) = [f for f in found(tree) if f.rule == "6.3.1.1"]
    assert finding.message == "Option 1: --num-users is 100 in trials 0, 1, 2; Table KVCache-1 requires 200"
    assert finding.path == str(leaf.path.relative_to(tree.root))
    assert any("command_output_files" in evidence.source for evidence in finding.evidence)


def test_a_failed_option_is_counted_and_its_exit_code_named(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=20, hosts=4)
    leaf.lose(*((3, trial, rank) for trial in range(3) for rank in range(20)), declared=True)
    leaf.edit(leaf.summary, {"/trial_failures": {"3": [{"trial": 0, "exit_code": 137}]}})
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.rule == "X6.2"
    assert "Option 3: 60 of 60 rank results are missing" in finding.message
    assert "exit code 137" in finding.message


def test_a_lost_result_is_named_by_its_place(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=4)
    leaf.lose((2, 1, 3), declared=False)
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.path == str(leaf.rank(2, 1, 3).relative_to(tree.root))
    assert {"6.3.4.1", "6.3.4.2"} <= set(finding.opens)


def test_lost_results_of_a_trial_are_one_finding(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=4)
    leaf.lose((2, 1, 1), (2, 1, 2), declared=False)
    leaf.result(2, 1, 3).write_text("{")
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.path == str(leaf.rank(2, 1, 3).parent.relative_to(tree.root))
    assert finding.message.startswith(
        "no usable result of option_2/trial_1/rank_1, option_2/trial_1/rank_2, option_2/trial_1/rank_3 "
        "(there is no result file, "
    )
    assert "3 of 12 rank results" in finding.message


@pytest.mark.parametrize("stated", [16, 2, 20_000, 10**9])
def test_a_wrong_total_is_one_finding_that_says_both(tmp_path: Path, stated: int) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=4, hosts=2)
    leaf.edit(leaf.summary, {"/total_ranks": stated, "/npernode": stated // 2})
    (finding,) = [f for f in found(tree) if f.severity.value != "info"]
    if stated <= 20_000:
        assert finding.message == f"commands start 4 ranks; the summary states {stated} ranks"
    else:
        assert (finding.outcome, finding.path) == ("undetermined", str(leaf.summary.relative_to(tree.root)))


def test_a_great_total_that_nothing_contradicts_has_few_findings(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.edit(leaf.summary, {"/total_ranks": 20_000, "/npernode": 20_000, "/trials_per_option": 100})
    leaf.edit(leaf.metadata, {"/command_output_files": [], "/args/num_processes": DELETE, "/args/trials": DELETE})
    lost = [f.message for f in found(tree) if (f.rule, f.clause) == ("6.3.3.3", "results")]
    assert len(lost) == 3 * (3 + 1)  # each trial that is there, and all others of the Option
    assert all(len(message) < 500 for message in lost)


def test_a_lost_option_is_one_finding(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=4)
    shutil.rmtree(leaf.path / "option_2")
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.path.endswith("/option_2")
    assert "12 of 12" in finding.message


def test_the_remedy_of_an_older_name_is_the_command(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", start="20260627_194318")
    leaf.summary.rename(leaf.path / "kvcache_run_summary_20260627_194318.json")
    (finding,) = [f for f in found(tree) if f.rule == "X6.1"]
    assert "mv kvcache_run_summary_20260627_194318.json summary.json" in finding.remedy


def test_an_older_summary_lacks_the_failures_of_its_trials(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.edit(leaf.summary, {"/trial_failures": DELETE})
    assert findings(tree) == []


def test_trials_that_only_the_summary_states(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.args(trials=DELETE)
    for option in (1, 2, 3):
        shutil.rmtree(leaf.path / f"option_{option}" / "trial_2")
    leaf.trials = 2
    leaf.edit(leaf.summary, {"/trials_per_option": 2})
    leaf.aggregate()
    assert findings(tree) == [("6.3.2.1", "recorded_trials", "error")]


def test_numbers_that_are_none_leave_the_result_undecided(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    file = leaf.result(1, 0, 0)
    text = json.dumps(json.loads(file.read_text()))
    file.write_text(
        text.replace('"tier_storage_read_bandwidth_gbps": 1', '"tier_storage_read_bandwidth_gbps": NaN, "x": 1')
    )
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert finding.outcome == "undetermined"
    assert "not a finite number" in finding.message


def test_an_infinite_latency_is_told_once(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    file = leaf.result(1, 0, 0)
    file.write_text(
        file.read_text().replace('"storage_read_device_p95_ms": 1', '"storage_read_device_p95_ms": Infinity, "x": 1')
    )
    (finding,) = [f for f in found(tree) if f.severity.value != "info"]
    assert (finding.outcome, finding.path) == ("undetermined", str(file.relative_to(tree.root)))


@pytest.mark.parametrize("names", [["a"], []], ids=["two", "none"])
def test_how_many_metadata_files_there_are_is_told_once(tmp_path: Path, names: list[str]) -> None:
    tree, leaf = legal(tmp_path / "tree")
    for name in names:
        shutil.copy(leaf.metadata, leaf.path / f"{name}_metadata.json")
    if not names:
        leaf.metadata.unlink()
    said = [f for f in check(tree.root, Options()).findings if f.path == str(leaf.path.relative_to(tree.root))]
    assert [f.rule for f in said if "metadata" in f.message] == ["X6.1"]


def test_many_unknown_options_are_one_finding(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.edit(leaf.summary, {f"/options/{number}": {"option": number} for number in range(4, 2000)})
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert (finding.rule, finding.clause) == ("6.3.1.1", "known")
    assert finding.message.endswith("does not have: 10, 100, 1000, 1001, 1002 and 1991 more")


def test_a_pruned_result_is_there_and_unknown(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.result(1, 0, 1).write_text("PRUNED BY STAFF\n")
    assert findings(tree) == []
    assert ("6.3.4.1", "undetermined") in {(f.rule, f.outcome) for f in found(tree)} or any(
        "6.3.4.1" in f.opens for f in found(tree)
    )


def test_pruned_logs_are_no_finding(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    for log in leaf.path.glob("*.log"):
        log.write_text("PRUNED BY STAFF\n")
    assert findings(tree) == []


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.parameter(1, "gpu-mem-gb", "0.0")
    leaf.parameter(2, "cpu-mem-gb", "4.00")
    assert findings(tree) == []


def test_recorded_arguments_are_not_what_ran(tmp_path: Path) -> None:
    """A CLOSED leaf states 60 s, 16 and 32 GiB, RAG and autoscaling among its arguments, and ran none of them."""
    tree, leaf = legal(tmp_path / "tree")
    recorded = json.loads(leaf.metadata.read_text())["args"]
    assert (recorded["duration"], recorded["enable_autoscaling"], recorded["enable_rag"]) == (60, True, True)
    assert findings(tree) == []


def test_commands_without_npernode_and_with_quotes_are_read(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=4, hosts=2)
    for option in (1, 2, 3):
        leaf.command(option, lambda words: words.replace("--npernode 2 ", "").replace("/mnt/bench", "'/mnt/bench'"))
    assert findings(tree) == []


def test_a_process_count_of_null_is_one_rank_a_host(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.args(num_processes=None, hosts=["127.0.0.1"])
    assert findings(tree) == []


def test_the_default_of_ranks_a_host_in_open_is_no_choice(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", "open", ranks=48, hosts=8, trials=1)
    leaf.args(npernode=1)
    assert findings(tree) == []


@pytest.mark.parametrize(
    ("cache", "inside"),
    [("/home/bench", True), ("/home/bench/results", False), ("/home/bench/res", False), ("/mnt/kvcache", False)],
)
def test_results_lie_below_another_directory_than_their_own(tmp_path: Path, cache: str, inside: bool) -> None:
    _, leaf = legal(tmp_path / "tree")
    leaf.args(cache_dir=cache, results_dir="/home/bench/results")
    assert facts(leaf).results_inside_cache is inside


def test_names_of_the_runs_own_machine_are_not_compared(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.edit(leaf.metadata, {"/result_dir": "/elsewhere/closed/other/results/other/kv_cache/x/run/20260101_000000"})
    assert findings(tree) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("/total_ranks", 10**15),
        ("/total_ranks", -1),
        ("/total_ranks", "many"),
        ("/trials_per_option", 10**9),
        ("/trials_per_option", 0),
        ("/options", []),
        ("/options/1", "x"),
        ("/options/1/missing_files", {"a": 1}),
        ("/options/1/missing_files", [None, 7, "x"]),
        ("/options/1/cpu_tier_ranks", [None, [1], 7]),
        ("/trial_failures", [1]),
        ("/trial_failures", {"1": [None, "x"]}),
        ("/run_datetime", {}),
    ],
)
def test_a_forged_summary_is_a_finding_and_no_fault(tmp_path: Path, key: str, value: object) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.edit(leaf.summary, {key: value})
    assert any(severity == "error" for _, _, severity in findings(tree))


@pytest.mark.parametrize(
    "entries",
    ["x", [None, 1, {"command": 5}, {"command": "unbalanced ' quote mlperf_wrapper.py"}], [{}] * 3],
)
def test_forged_commands_are_no_fault(tmp_path: Path, entries: object) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.edit(leaf.metadata, {"/command_output_files": entries})
    found(tree)


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"summary": 7}', '{"summary": {"cache_stats": [1]}}', "\x00", '{"summary": {}, "seed": "x"}'],
)
def test_a_forged_result_is_no_fault(tmp_path: Path, content: str) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.result(1, 0, 0).write_text(content)
    found(tree)


def test_sentinels_are_never_counted_as_results(tmp_path: Path) -> None:
    _, leaf = legal(tmp_path / "tree", ranks=2, hosts=2)
    run = facts(leaf)
    assert run.probe_hosts == 2
    assert run.missing_count == 0


def test_a_lone_leaf_is_read_by_its_metadata(tmp_path: Path) -> None:
    _, leaf = legal(tmp_path / "tree")
    shutil.copytree(leaf.path, tmp_path / "alone" / leaf.path.name)
    report = check(tmp_path / "alone" / leaf.path.name, Options())
    assert not report.faults
    assert [f for f in report.findings if f.severity.value == "error" and f.rule.startswith(("6.", "X6."))] == []


def test_a_key_of_the_description_that_is_no_text_is_no_fault(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree")
    with (tree.root / "closed" / "acme" / "systems" / "fast-1.yaml").open("a") as file:
        file.write("2026-07-01: 1\n1: 2\n")
    assert not check(tree.root, Options()).faults


def test_an_argument_is_shown_harmlessly(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree")
    leaf.edit(leaf.metadata, {"/args/generation_mode": "\u202e\u200bfast"})
    said = [f.message for f in check(tree.root, Options()).findings if "generation_mode" in f.message]
    assert said == ["the argument generation_mode was given as \ufffd\ufffdfast; it has no effect in CLOSED"]


def test_an_open_tree_alone_is_judged(tmp_path: Path) -> None:
    tree, _ = legal(tmp_path / "tree", "open")
    report = check(tree.root, Options())
    assert report.tally["6.6.2"]["pass"] > 0
    assert set(report.tally["6.3.2.2"]) == {"not_applicable"}


def test_the_published_leaf_is_read(tmp_path: Path) -> None:
    tree = cases_directory() / "11-kvcache-complete" / "tree"
    if not tree.is_dir():
        pytest.skip(f"no such case: {tree}")
    found = next(tree.rglob("summary.json")).parent
    run = facts(KvLeaf(found, 1, 1, 3))
    assert (run.total_ranks, run.resolved_ranks, run.command_ranks) == (1, 1, [1])
    assert run.observed_delay == 97.0
    assert [option.name for option in run.options] == ["1", "2", "3"]
    option = run.options[2]
    assert isinstance(option.parameters, list)
    assert {item.name: item.value for item in option.parameters}["model"] == "llama3.1-70b-instruct"
    assert isinstance(option.read_bandwidth, Absence)
    assert option.read_bandwidth.reason is Reason.PLACEHOLDER


def test_paths_of_the_runs_machine_are_reduced_to_their_places(tmp_path: Path) -> None:
    _, leaf = legal(tmp_path / "tree", ranks=2)
    leaf.lose((2, 1, 1), declared=True)
    (option,) = [option for option in facts(leaf).options if option.name == "2"]
    assert isinstance(option.missing, list)
    assert [(item.name, item.declared) for item in option.missing] == [("option_2/trial_1/rank_1", True)]
    assert MACHINE not in str(option.missing)
    assert KvTree(tmp_path / "tree").workload.is_dir()


@pytest.mark.parametrize("place", ["option_2", "option_2/trial_1", "option_2/trial_1/rank_0"])
def test_results_in_a_directory_that_cannot_be_listed_are_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    tree, leaf = legal(tmp_path / "tree")
    (locked,) = (path for path in leaf.path.rglob(place.rpartition("/")[2]) if path.as_posix().endswith(place))
    real = LocalRoot.list
    wanted = locked.relative_to(tree.root).as_posix()

    def listing(root: LocalRoot, path: str) -> object:
        if path == wanted:
            raise PermissionError(13, "Permission denied", path)
        return real(root, path)

    monkeypatch.setattr(LocalRoot, "list", listing)
    report = check(leaf.path, Options())
    assert [f for f in report.findings if f.severity.value != "info"] == []
    assert report.unreadable == [f"{wanted}: Permission denied"]
    assert [f for f in check(tree.root, Options()).findings if "observed_delay" in f.message] == []
