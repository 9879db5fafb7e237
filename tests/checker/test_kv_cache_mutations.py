"""A legal KV-cache leaf has no error and no warning; each spoilt one has exactly the finding that it was spoilt for."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kv_cache_trees import MACHINE, START, KvLeaf, KvTree, legal
from trees import DELETE

import rules
from rules import Finding
from submission_checker.scan import Options, check

Spoil = Callable[[KvLeaf], None]
Expected = list[tuple[str, str, str]]
"""Rule, clause and severity."""
EDITIONS = rules.edition_ids()


def found(tree: KvTree, edition: str = "3.0") -> list[Finding]:
    report = check(tree.root, Options(edition=edition))
    assert not report.faults
    return [f for f in report.findings if f.rule.startswith(("6.", "X6."))]


def findings(tree: KvTree, edition: str = "3.0") -> Expected:
    return sorted((f.rule, f.clause, f.severity.value) for f in found(tree, edition) if f.severity.value != "info")


def args(**changes: Any) -> Spoil:
    return lambda leaf: leaf.args(**changes)


def parameter(option: int, name: str, value: Any, trial: int | None = None) -> Spoil:
    return lambda leaf: leaf.parameter(option, name, value, trial)


def added(option: int, words: str) -> Spoil:
    return lambda leaf: leaf.command(option, lambda command: f"{command} {words}")


def reworded(*changes: tuple[str, str]) -> Spoil:
    """Other words in all commands: pattern and replacement."""

    def change(command: str) -> str:
        for pattern, words in changes:
            command, count = re.subn(pattern, words, command)
            assert count
        return command

    def spoil(leaf: KvLeaf) -> None:
        for option in (1, 2, 3):
            leaf.command(option, change)

    return spoil


def launched(words: str) -> Spoil:
    """Words of the launcher in all commands."""

    def spoil(leaf: KvLeaf) -> None:
        for option in (1, 2, 3):
            leaf.command(option, lambda command: command.replace("mpirun ", f"mpirun {words} "))

    return spoil


def summary(changes: dict[str, Any]) -> Spoil:
    return lambda leaf: leaf.edit(leaf.summary, changes)


def verdict(word: Any) -> Spoil:
    return lambda leaf: leaf.edit(leaf.metadata, {"/verification": word})


def result(option: int, trial: int, rank: int, changes: dict[str, Any]) -> Spoil:
    return lambda leaf: leaf.edit(leaf.result(option, trial, rank), changes)


def measured(changes: dict[str, Any], *, option: int | None = None, ranks: int | None = None) -> Spoil:
    """Other measurements: of all rank results, or of the first ranks; the summary follows."""

    def spoil(leaf: KvLeaf) -> None:
        for file in sorted(leaf.path.glob(f"option_{option or '*'}/trial_*/rank_*/*.json")):
            if ranks is None or int(file.parent.name.removeprefix("rank_")) < ranks:
                leaf.edit(file, changes)
        leaf.aggregate()

    return spoil


def both(*spoils: Spoil) -> Spoil:
    def spoil(leaf: KvLeaf) -> None:
        for each in spoils:
            each(leaf)

    return spoil


def cpu_tier(option: int, ranks: int | None = None, *, listed: bool = True) -> Spoil:
    """Ranks (all, or the first ones) that the CPU tier served; the summary follows."""
    stats = "/summary/cache_stats"
    unread = {
        f"{stats}/storage_entries": 0,
        f"{stats}/tier_storage_read_bandwidth_gbps": 0.0,
        f"{stats}/tier_storage_kv_bytes_read_gb": 0.0,
        f"{stats}/storage_read_device_p95_ms": DELETE,
    }

    def spoil(leaf: KvLeaf) -> None:
        measured(unread, option=option, ranks=ranks)(leaf)
        count = leaf.ranks if ranks is None else ranks
        if listed:
            names = [
                f"{MACHINE}/{START}/option_{option}/trial_{trial}/rank_{rank}/kvcache_results_x.json"
                for trial in range(3)
                for rank in range(count)
            ]
            leaf.summarise(option, cpu_tier_ranks=names)

    return spoil


def second_file(leaf: KvLeaf) -> None:
    file = leaf.result(1, 0, 0)
    shutil.copy(file, file.with_name("kvcache_results_20260720_130000.json"))


def copied(leaf: KvLeaf) -> None:
    latencies = json.loads(leaf.result(2, 1, 2).read_text())["end_to_end_latencies"]
    leaf.edit(leaf.result(2, 1, 3), {"/end_to_end_latencies": latencies})


def extra_trial(leaf: KvLeaf) -> None:
    shutil.copytree(leaf.path / "option_1" / "trial_0", leaf.path / "option_1" / "trial_3")


def set_aside(place: str, name: str) -> Spoil:
    """A copy of a directory beside it."""
    return lambda leaf: shutil.copytree(leaf.path / place, (leaf.path / place).with_name(name))


def fourth_option(leaf: KvLeaf) -> None:
    shutil.copytree(leaf.path / "option_1", leaf.path / "option_4")


def option_not_run(leaf: KvLeaf) -> None:
    shutil.rmtree(leaf.path / "option_3")
    leaf.edit(leaf.summary, {"/options/3": DELETE})
    data = json.loads(leaf.metadata.read_text())
    data["command_output_files"] = [e for e in data["command_output_files"] if "/option_3/" not in e["command"]]
    leaf.metadata.write_text(json.dumps(data))


def one_command_less(leaf: KvLeaf) -> None:
    data = json.loads(leaf.metadata.read_text())
    del data["command_output_files"][4]
    leaf.metadata.write_text(json.dumps(data))


def divided(leaf: KvLeaf) -> None:
    log = leaf.log(2, 0)
    log.write_text(log.read_text().replace("Users: 100", "Users: 25"))


def lines_cut(leaf: KvLeaf) -> None:
    log = leaf.log(2, 0)
    log.write_text(log.read_text().replace("Users: 100\n", "", 1))


def autoscaling_logged(leaf: KvLeaf) -> None:
    log = leaf.log(1, 1)
    log.write_text(log.read_text().replace("Autoscaling: Disabled", "Autoscaling: Enabled", 1))


def commands_lost_and_logged(leaf: KvLeaf) -> None:
    leaf.edit(leaf.metadata, {"/command_output_files": DELETE})
    for trial in range(3):
        log = leaf.log(1, trial)
        log.write_text(log.read_text().replace("Duration: 300s", "Duration: 60s"))


def late_second_option(leaf: KvLeaf) -> None:
    """Option 2 starts 25 s after Option 1 has ended, as with a delay of 20 s."""
    file = leaf.result(2, 0, 0)
    file.rename(file.with_name("kvcache_results_20260720_122639.json"))


def moved(leaf: KvLeaf, name: str) -> None:
    leaf.path.rename(leaf.path.parent / name)


def of_model(leaf: KvLeaf, name: str) -> None:
    """Another name for the workload directory."""
    leaf.path.parents[1].rename(leaf.path.parents[1].with_name(name))


ONE_RANK: dict[str, tuple[Spoil, Expected]] = {
    "users of Option 1": (parameter(1, "num-users", 100), [("6.3.1.1", "values", "error")]),
    "users of Option 2": (parameter(2, "num-users", 200), [("6.3.1.1", "values", "error")]),
    "duration": (parameter(3, "duration", 60), [("6.3.1.1", "values", "error")]),
    "CPU memory of Option 2": (parameter(2, "cpu-mem-gb", 32), [("6.3.1.1", "values", "error")]),
    "GPU memory": (parameter(1, "gpu-mem-gb", 16.0), [("6.3.1.1", "values", "error")]),
    "model of Option 3": (parameter(3, "model", "llama3.1-8b"), [("6.3.1.1", "values", "error")]),
    "allocations of Option 3": (parameter(3, "max-concurrent-allocs", 16), [("6.3.1.1", "values", "error")]),
    "generation": (
        lambda leaf: leaf.command(1, lambda words: words.replace("--generation-mode none", "--generation-mode fast")),
        [("6.3.1.1", "values", "error")],
    ),
    "one trial": (parameter(1, "num-users", 100, trial=1), [("6.3.1.1", "values", "error")]),
    "two parameters": (
        both(parameter(1, "num-users", 100), parameter(1, "duration", 60)),
        [("6.3.1.1", "values", "error")] * 2,
    ),
    "Option 3 not run": (option_not_run, [("6.3.1.1", "executed", "error")]),
    "a directory of a fourth Option": (fourth_option, [("6.3.1.1", "known", "error")]),
    "a fourth Option in the summary": (summary({"/options/4": {"option": 4}}), [("6.3.1.1", "known", "error")]),
    "an Option that is no number": (summary({"/options/x": {}}), [("6.3.1.1", "known", "error")]),
    "a command not recorded": (one_command_less, [("6.3.1.1", "commands", "error")]),
    "a short window": (
        result(3, 2, 0, {"/summary/elapsed_time": 60.2}),
        # the window is also what the bandwidth is measured over
        [
            ("6.3.1.1", "window", "error"),
            ("6.3.4.1", "read_ranks", "error"),
            ("6.3.4.1", "write_ranks", "error"),
        ],
    ),
    "log instead of commands": (commands_lost_and_logged, [("6.3.1.1", "banner", "error")]),
    "seed": (args(seed=7), [("6.3.2.1", "seed", "error")]),
    "seed base": (
        lambda leaf: leaf.command(2, lambda words: words.replace("--seed-base 42", "--seed-base 7")),
        [("6.3.2.1", "seed_base", "error")],
    ),
    "seed of a rank": (result(1, 1, 0, {"/seed": 43}), [("6.3.2.1", "rank_seeds", "error")]),
    "trials": (args(trials=1), [("6.3.2.1", "trials", "error")]),
    "summary of more trials": (summary({"/trials_per_option": 4}), [("6.3.2.1", "recorded_trials", "error")]),
    "summary of fewer trials": (summary({"/trials_per_option": 2}), [("6.3.2.1", "recorded_trials", "error")]),
    "own configuration": (args(config="/mnt/bench/own.yaml"), [("6.3.2.1", "config", "error")]),
    "configuration elsewhere": (
        lambda leaf: leaf.command(1, lambda words: words.replace("--config /home", "--config /mnt")),
        [("6.3.2.1", "foreign_config", "error")],
    ),
    "delay": (args(inter_option_delay=20), [("6.3.2.1", "delay_by_day", "error")]),
    "delay cut short": (late_second_option, [("6.3.2.1", "observed_delay", "warning")]),
    "autoscaling": (added(1, "--enable-autoscaling"), [("6.3.2.2", "command", "error")]),
    "autoscaling in the log": (autoscaling_logged, [("6.3.2.2", "banner", "error")]),
    "autoscaling in a result": (
        result(1, 0, 0, {"/summary/autoscaling_summary": {"initial_users": 200}}),
        [("6.3.2.2", "results", "error")],
    ),
    "two result files": (second_file, [("6.3.3.3", "one_file", "error")]),
    "a fourth trial": (extra_trial, [("6.3.3.3", "expected", "error")]),
    "a trial under a second spelling": (set_aside("option_1/trial_0", "trial_00"), [("6.3.3.3", "misnamed", "error")]),
    "a trial set aside": (set_aside("option_1/trial_0", "trial_0_first"), [("6.3.3.3", "misnamed", "error")]),
    "a rank under a second spelling": (
        set_aside("option_1/trial_0/rank_0", "rank_00"),
        [("6.3.3.3", "misnamed", "error")],
    ),
    "a rank set aside": (set_aside("option_1/trial_0/rank_0", "rank_0.bak"), [("6.3.3.3", "misnamed", "error")]),
    "a rank without a number": (set_aside("option_1/trial_0/rank_0", "rank_"), [("6.3.3.3", "misnamed", "error")]),
    "an Option under a second spelling": (set_aside("option_1", "option_01"), [("6.3.1.1", "known", "error")]),
    "an Option set aside": (set_aside("option_1", "option_1_old"), [("6.3.1.1", "known", "error")]),
    "an Option without a number": (set_aside("option_1", "option_"), [("6.3.1.1", "known", "error")]),
    "read bandwidth of trial 0": (
        lambda leaf: leaf.summarise(1, aggregated_read_bandwidth_gbps=4100.5 / 300.05),
        [("6.3.4.1", "read", "error")],
    ),
    "read bandwidth not stated": (
        lambda leaf: leaf.summarise(1, aggregated_read_bandwidth_gbps=DELETE),
        [("6.3.4.1", "read_recorded", "error")],
    ),
    "write bandwidth": (
        lambda leaf: leaf.summarise(2, aggregated_write_bandwidth_gbps=9.0),
        [("6.3.4.1", "write", "error")],
    ),
    "a rank's read bandwidth": (
        measured({"/summary/cache_stats/tier_storage_read_bandwidth_gbps": 14.0}, option=1),
        [("6.3.4.1", "read_ranks", "error")],
    ),
    "write bandwidth not stated": (
        lambda leaf: leaf.summarise(1, aggregated_write_bandwidth_gbps=DELETE),
        [("6.3.4.1", "write_recorded", "error")],
    ),
    "a rank's write bandwidth": (
        measured({"/summary/cache_stats/tier_storage_write_bandwidth_gbps": 5.0}, option=3),
        [("6.3.4.1", "write_ranks", "error")],
    ),
    "storage throughput not stated": (
        lambda leaf: leaf.summarise(1, aggregated_storage_throughput_tokens_per_sec=DELETE),
        [("6.3.4.2", "recorded", "error")],
    ),
    "no token served": (
        measured({"/summary/storage_throughput_tokens_per_sec": 0.0, "/summary/total_tokens": 0}, option=1),
        [("6.3.4.5", "throughput", "error")],
    ),
    "a latency below 0": (
        both(
            measured({"/summary/cache_stats/storage_write_device_p95_ms": -5.0}, option=1),
            lambda leaf: leaf.summarise(1, aggregated_device_write_p95_ms=-5.0),
        ),
        [("6.3.4.5", "latency", "error")],
    ),
    "no results directory": (args(results_dir=None), [("6.4.1", "results", "error")]),
    "wall-clock throughput as the scored one": (
        lambda leaf: leaf.summarise(1, aggregated_storage_throughput_tokens_per_sec=813.2),
        [("6.3.4.2", "storage", "error")],
    ),
    "wall-clock throughput": (
        lambda leaf: leaf.summarise(1, aggregated_avg_throughput_tokens_per_sec=4.6),
        [("6.3.4.2", "average", "warning")],
    ),
    "a rank's throughput": (
        measured({"/summary/storage_throughput_tokens_per_sec": 5.5}, option=2),
        [("6.3.4.2", "ranks", "error")],
    ),
    "mean of the device P95s": (
        lambda leaf: leaf.summarise(1, aggregated_device_read_p95_ms=13110.5),
        [("6.3.4.3", "read", "error")],
    ),
    "device write P95": (
        lambda leaf: leaf.summarise(1, aggregated_device_write_p95_ms=1.0),
        [("6.3.4.3", "write", "error")],
    ),
    "storage P95": (
        lambda leaf: leaf.summarise(1, aggregated_p95_latency_ms=1.0),
        [("6.3.4.3", "storage", "error")],
    ),
    "Option 1 from the CPU tier": (cpu_tier(1), [("6.3.4.4", "whole_closed", "error")]),
    "no device sample": (
        measured({"/summary/cache_stats/storage_read_device_p95_ms": DELETE}, option=1),
        [("6.3.4.4", "unsampled", "warning")],
    ),
    "Option 2 not in the summary": (summary({"/options/2": DELETE}), [("6.3.4.5", "in_summary", "error")]),
    "nothing read": (
        measured(
            {
                "/summary/cache_stats/tier_storage_read_bandwidth_gbps": 0.0,
                "/summary/cache_stats/tier_storage_kv_bytes_read_gb": 0.0,
            },
            option=1,
        ),
        [("6.3.4.5", "bandwidth", "error")],
    ),
    "no cache directory": (args(cache_dir=None), [("6.4.1", "cache", "error")]),
    "one directory": (args(cache_dir="/home/bench//results/"), [("6.4.1", "different", "error")]),
    "cache in the results": (args(cache_dir="/home/bench/results/kv"), [("6.4.1", "inside", "error")]),
    "cache of the commands in the results": (
        reworded(("--rank-cache-base [^ ]+", "--rank-cache-base /home/bench/results/kv")),
        [("6.4.1", "inside", "error")],
    ),
    "cache of the commands is the results": (
        reworded(("--rank-cache-base [^ ]+", "--rank-cache-base /home/bench/results/")),
        [("6.4.1", "inside", "error")],
    ),
    "two caches": (added(1, "--rank-cache-base /mnt/bench/kv2"), [("6.3.3.3", "bases", "error")]),
    "no cache in the commands": (reworded(("--rank-cache-base [^ ]+ ", "")), [("6.3.3.3", "bases", "error")]),
    "two output directories": (added(2, "--rank-output-base /mnt/x"), [("6.3.3.3", "bases", "error")]),
    "results below the cache": (args(cache_dir="/home"), [("6.4.1", "below", "warning")]),
    "one filesystem": (
        lambda leaf: leaf.edit(leaf.path / "fs_separation.json", {"/same_filesystem": True}),
        [("6.4.1", "same", "warning")],
    ),
    "page cache kept": (launched("-x LD_PRELOAD=/opt/nofadvise.so"), [("6.4.2", "cache_closed", "error")]),
    "page cache kept by one of two": (
        launched("-x LD_PRELOAD=/usr/lib/liballoc.so:/opt/nofadvise.so"),
        [("6.4.2", "cache_closed", "error")],
    ),
    "page cache kept, in capitals": (launched("-x LD_PRELOAD=/a/NoFADVise.so"), [("6.4.2", "cache_closed", "error")]),
    "modules in a list of variables": (
        launched("--mca mca_base_env_list 'A=b;PYTHONPATH=/opt/patched'"),
        [("6.4.2", "modules_closed", "error")],
    ),
    "RAG in the log": (
        lambda leaf: leaf.log(1, 1).write_text(
            leaf.log(1, 1).read_text().replace("RAG Workload: Disabled", "RAG Workload: Enabled")
        ),
        [("6.6.1", "features", "warning")],
    ),
    "allocator of a directory whose name says nothing": (
        launched("-x LD_PRELOAD=/home/fadvisors/lib/liballoc.so"),
        [("6.4.2", "preload", "warning")],
    ),
    "allocator": (launched("-x LD_PRELOAD=/usr/lib/liballoc.so"), [("6.4.2", "preload", "warning")]),
    "modules": (launched("-x PYTHONPATH=/opt/patched"), [("6.4.2", "modules_closed", "error")]),
    "modules by MPI options": (args(mpi_params=["-x", "LD_AUDIT=/a.so"]), [("6.4.2", "modules_closed", "error")]),
    "I/O trace": (added(1, "--io-trace-log t.csv"), [("6.4.2", "trace", "error")]),
    "bucket": (args(cache_dir="s3://bucket/kv"), [("6.5.1", "path", "error")]),
    "another option": (added(1, "--disable-prefix-caching"), [("6.6.1", "options", "error")]),
    "no start delay": (added(1, "--start-delay 0"), [("6.6.1", "options", "error")]),
    "another wrapper": (
        lambda leaf: [
            leaf.command(option, lambda words: words.replace("/kv_cache_benchmark/", "/own/")) for option in (1, 2, 3)
        ],
        [("6.6.1", "wrapper", "error")],
    ),
    "another benchmark": (args(kvcache_bin_path="/opt/own"), [("6.6.1", "own_benchmark", "warning")]),
    "recorded for open": (args(mode="open"), [("6.6.1", "division", "error")]),
    "invalid parameters": (args(allow_invalid_params=True), [("6.6.1", "invalid", "error")]),
    "free parameters": (args(params="--x 1"), [("6.6.1", "params", "error")]),
    "loops": (args(loops=2), [("6.6.1", "loops", "error")]),
    "an argument without effect": (args(duration=600), [("6.6.1", "arguments", "warning")]),
    "file of arguments": (args(config_file="/home/bench/args.yaml"), [("6.6.1", "config_file", "warning")]),
    "the tool objected": (verdict("INVALID"), [("6.6.1", "verdict", "warning")]),
    "the tool objected, and why": (
        both(verdict("INVALID"), args(allow_invalid_params=True)),
        [("6.6.1", "invalid", "error")],
    ),
    "no verdict of the tool": (verdict(None), []),
    "no verdict recorded": (verdict(DELETE), []),
    "an unknown verdict of the tool": (verdict("Close"), [("X6.6", "main", "warning")]),
    "no metadata": (lambda leaf: leaf.metadata.unlink(), [("X6.1", "metadata", "error")]),
    "two metadata files": (
        lambda leaf: shutil.copy(leaf.metadata, leaf.path / "kv_cache_old_metadata.json"),
        [("X6.1", "one_metadata", "error")],
    ),
    "older name": (
        lambda leaf: leaf.summary.rename(leaf.path / f"kvcache_run_summary_{START}.json"),
        [("X6.1", "older_name", "warning")],
    ),
    "two summaries": (
        lambda leaf: (leaf.path / "kvcache_run_summary.json").write_text('{"run_datetime": "x"}'),
        [("X6.1", "agree", "error")],
    ),
    "summary of another run": (summary({"/run_datetime": "20260101_000000"}), [("X6.1", "time", "error")]),
    "failed trial": (
        summary({"/trial_failures": {"3": [{"trial": 1, "exit_code": 137, "stderr_log": "x"}]}}),
        [("X6.2", "failed", "error")],
    ),
    "wrapper without a seed base": (reworded((" --seed-base 42", "")), [("6.3.2.1", "seed_base", "error")] * 3),
    "partial failure without one": (
        lambda leaf: leaf.summarise(2, partial_failure=True),
        [("X6.2", "record", "error")],
    ),
    "partial failure of the run alone": (summary({"/partial_failure": True}), [("X6.2", "whole", "error")]),
    "listed as missing and there": (
        lambda leaf: leaf.summarise(2, missing_files=[f"{MACHINE}/{START}/option_2/trial_0/rank_0"]),
        [("X6.2", "list", "error")],
    ),
    "unknown model directory": (lambda leaf: of_model(leaf, "llama3-8b"), [("X6.4", "model", "warning")]),
    "renamed leaf": (lambda leaf: moved(leaf, "backup_1"), [("X6.4", "leaf", "error")]),
    "damaged summary": (lambda leaf: leaf.summary.write_text("{"), [("X6.5", "main", "error")]),
    "damaged metadata": (lambda leaf: leaf.metadata.write_text("{"), [("X6.5", "main", "error")]),
}


@pytest.mark.parametrize("name", ONE_RANK)
def test_spoilt_run_of_one_client(tmp_path: Path, name: str) -> None:
    spoil, expected = ONE_RANK[name]
    tree, leaf = legal(tmp_path / "tree")
    spoil(leaf)
    assert findings(tree) == expected


SEVERAL_RANKS: dict[str, tuple[Spoil, Expected]] = {
    "summary of more ranks": (
        summary({"/total_ranks": 4, "/npernode": 4}),
        [("6.3.3.1", "product", "error")],
    ),
    "summary of more ranks than commands and results": (
        summary({"/total_ranks": 16, "/npernode": 8}),
        [("6.3.3.1", "commands", "error")],
    ),
    "summary of fewer ranks than commands and results": (
        summary({"/total_ranks": 2, "/npernode": 1}),
        [("6.3.3.1", "commands", "error")],
    ),
    "a total that nothing else states": (summary({"/total_ranks": 16}), [("6.3.3.1", "commands", "error")]),
    "a total that nothing else states, and no number of ranks": (
        both(reworded(("-n 4 ", "")), summary({"/total_ranks": 16})),
        [("6.3.3.1", "slots", "error")],
    ),
    "a total below all else, and no number of ranks": (
        both(reworded(("-n 4 ", "")), summary({"/total_ranks": 3})),
        [("6.3.3.1", "slots", "error")],
    ),
    "a total that nothing else states, and no layout in the commands": (
        both(reworded(("-n 4 -host [^ ]+ ", "")), summary({"/total_ranks": 16})),
        [("6.3.3.1", "asked", "error")],
    ),
    "summary of more hosts": (summary({"/host_count": 3}), [("6.3.3.1", "hosts", "error")]),
    "summary of one host": (summary({"/host_count": 1}), [("6.3.3.1", "hosts", "error")]),
    "summary of more hosts with fewer ranks each": (
        summary({"/host_count": 4, "/npernode": 1}),
        [("6.3.3.1", "hosts", "error")],
    ),
    "hosts that cannot share the processes": (
        args(hosts=["host01", "host02", "host03"]),
        [("6.3.3.1", "hosts", "error")],
    ),
    "ranks of the command": (
        launched("-n 2"),
        [("6.3.3.1", "commands", "error")],
    ),
    "slots": (
        lambda leaf: [
            leaf.command(option, lambda words: words.replace("host02:2", "host02:1")) for option in (1, 2, 3)
        ],
        [("6.3.3.1", "slots", "error")],
    ),
    "no slots": (reworded(("host01:2,host02:2", "host01,host02")), []),
    "no hosts": (reworded(("-host [^ ]+ ", "")), []),
    "no number of ranks": (reworded(("-n 4 ", "")), []),
    "ranks as one word": (reworded(("-n 4 ", "-n4 ")), []),
    "other ranks as one word": (reworded(("-n 4 ", "-n2 ")), [("6.3.3.1", "commands", "error")]),
    "other ranks after =": (reworded(("-n 4 ", "--np=2 ")), [("6.3.3.1", "commands", "error")]),
    "other slots after =": (
        reworded(("-host host01:2,host02:2", "--host=host01:2,host02:1")),
        [("6.3.3.1", "slots", "error")],
    ),
    "uneven processes": (args(num_processes=5), [("6.3.3.1", "resolved", "error")]),
    "other processes": (args(num_processes=6), [("6.3.3.1", "asked", "error")]),
    "other hosts": (args(hosts=["host01"]), [("6.3.3.1", "hosts", "error")]),
    "one host twice": (
        lambda leaf: leaf.edit(leaf.metadata, {"/system_info/num_hosts": 1}),
        [("6.3.3.1", "collected", "warning")],
    ),
    "ranks of an Option": (lambda leaf: leaf.summarise(2, rank_count=3), [("6.3.3.1", "options", "error")]),
    "divided users": (divided, [("6.3.3.2", "divided", "error")]),
    "cut log": (lines_cut, [("6.3.3.2", "lines", "warning")]),
    "one seed for two": (
        result(1, 0, 3, {"/seed": 44}),
        [("6.3.2.1", "rank_seeds", "error"), ("6.3.3.3", "shared", "error")],
    ),
    "copied result": (copied, [("6.3.3.3", "copied", "error")]),
    "one seed handed on": (added(1, "--seed 42"), [("6.3.3.3", "forwarded", "error")]),
    "a rank too many": (
        lambda leaf: shutil.copytree(leaf.rank(1, 0, 0), leaf.rank(1, 0, 4)),
        [("6.3.3.3", "expected", "error")],
    ),
    "a result lost": (
        lambda leaf: leaf.lose((2, 1, 3), declared=False),
        [("6.3.3.3", "results", "error")],
    ),
    "a result unreadable": (
        lambda leaf: leaf.result(2, 1, 3).write_text("{"),
        [("6.3.3.3", "results", "error")],
    ),
    "a result without requests": (
        result(2, 1, 3, {"/summary": DELETE}),
        [("6.3.3.3", "results", "error")],
    ),
    "a result that is a link": (
        lambda leaf: (leaf.result(2, 1, 3).unlink(), (leaf.rank(2, 1, 3) / "kvcache_results_x.json").symlink_to("y")),
        [("6.3.3.3", "results", "error")],
    ),
    "three results of a trial lost": (
        lambda leaf: leaf.lose((2, 1, 0), (2, 1, 1), (2, 1, 3), declared=False),
        [("6.3.3.3", "results", "error")],
    ),
    "no output directory in a command": (
        lambda leaf: leaf.command(2, lambda words: re.sub("--rank-output-base [^ ]+ ", "", words), trial=1),
        [("6.3.3.3", "bases", "error")],
    ),
    "a trial lost": (
        lambda leaf: shutil.rmtree(leaf.path / "option_2" / "trial_1"),
        [("6.3.3.3", "results", "error")],
    ),
    "an Option lost": (
        lambda leaf: shutil.rmtree(leaf.path / "option_2"),
        [("6.3.3.3", "results", "error")],
    ),
    "results of the other host": (
        lambda leaf: leaf.lose(*((o, t, r) for o in (1, 2, 3) for t in range(3) for r in (1, 3)), declared=False),
        [("6.3.3.4", "others", "error")],
    ),
    "results of the other host, which the summary denies": (
        both(
            lambda leaf: leaf.lose(*((o, t, r) for o in (1, 2, 3) for t in range(3) for r in (1, 3)), declared=True),
            summary({"/host_count": 1, "/npernode": 4}),
        ),
        [("6.3.3.1", "hosts", "error"), ("6.3.3.4", "others", "error")],
    ),
    "results of the other host, noticed": (
        lambda leaf: leaf.lose(*((o, t, r) for o in (1, 2, 3) for t in range(3) for r in (1, 3)), declared=True),
        [("6.3.3.4", "others", "error")],
    ),
    "probe of one host": (
        lambda leaf: next((leaf.path / ".fs_probe").iterdir()).unlink(),
        [("6.3.3.4", "probe", "warning")],
    ),
    "mean over the ranks": (
        lambda leaf: leaf.summarise(1, aggregated_read_bandwidth_gbps=13.6),
        [("6.3.4.1", "read", "error")],
    ),
    "some ranks of Option 1 from the CPU tier": (cpu_tier(1, 1), [("6.3.4.4", "some", "error")]),
    "some ranks of Option 2 from the CPU tier": (cpu_tier(2, 1), []),
    "Option 2 from the CPU tier": (cpu_tier(2), [("6.3.4.4", "whole_closed", "error")]),
    "CPU tier not listed": (cpu_tier(2, 1, listed=False), [("6.3.4.4", "listed", "error")]),
    "a failed rank": (
        lambda leaf: leaf.lose((3, 1, 2), declared=True),
        [("X6.2", "missing", "error")],
    ),
    "a failed Option": (
        both(
            lambda leaf: leaf.lose(*((3, t, r) for t in range(3) for r in range(4)), declared=True),
            summary({"/trial_failures": {"3": [{"trial": 0, "exit_code": 137}]}}),
        ),
        [("X6.2", "missing", "error")],
    ),
    "no summary": (lambda leaf: leaf.summary.unlink(), [("X6.1", "summary", "error")]),
}


@pytest.mark.parametrize("name", SEVERAL_RANKS)
def test_spoilt_run_of_several_clients(tmp_path: Path, name: str) -> None:
    spoil, expected = SEVERAL_RANKS[name]
    tree, leaf = legal(tmp_path / "tree", ranks=4, hosts=2)
    spoil(leaf)
    assert findings(tree) == expected


def open_trials(leaf: KvLeaf) -> None:
    leaf.args(trials=0)


def no_commands(leaf: KvLeaf) -> None:
    leaf.edit(leaf.metadata, {"/command_output_files": []})


def rag_logged(leaf: KvLeaf) -> None:
    log = leaf.log(1, 1)
    log.write_text(log.read_text().replace("RAG Workload: Disabled", "RAG Workload: Enabled"))


OPEN: dict[str, tuple[Spoil, Expected]] = {
    "other users, duration and tiers": (
        both(
            parameter(1, "num-users", 50),
            parameter(1, "duration", 60),
            parameter(1, "gpu-mem-gb", 1.0),
            result(1, 0, 0, {}),
        ),
        [],
    ),
    "users that differ": (parameter(1, "num-users", 50, trial=0), [("6.3.3.2", "uniform", "error")]),
    "no trials": (open_trials, [("6.6.2", "trials", "error")]),
    "summary of more trials": (summary({"/trials_per_option": 4}), [("6.6.2", "recorded_trials", "warning")]),
    "summary of fewer trials": (summary({"/trials_per_option": 2}), [("6.6.2", "recorded_trials", "warning")]),
    "no duration": (parameter(1, "duration", 0), [("6.6.2", "duration", "error")]),
    "no users": (parameter(1, "num-users", 0), [("6.6.2", "users", "error")]),
    "seed of a rank": (result(1, 1, 0, {"/seed": 50}), [("6.6.2", "seeds", "error")]),
    "Option 3 not run": (option_not_run, [("6.6.2", "executed", "warning")]),
    "a fourth Option": (fourth_option, []),
    "unknown model": (parameter(1, "model", "own-3b"), [("6.6.2", "model", "error")]),
    "unknown model with a configuration": (
        both(parameter(1, "model", "own-3b"), args(config="/mnt/bench/own.yaml")),
        [],
    ),
    "unknown model with a configuration in the commands": (
        reworded(("--model [^ ]+", "--model own-3b"), ("--config [^ ]+", "--config /mnt/bench/own.yaml")),
        [],
    ),
    "the default model": (reworded((" --model [^ ]+", "")), []),
    "Option 1 from the CPU tier": (cpu_tier(1), [("6.3.4.4", "whole_open", "warning")]),
    "nothing read from storage": (
        measured({"/summary/cache_stats/tier_storage_kv_bytes_read_gb": 0.0}, option=1),
        [("6.3.4.1", "read_ranks", "error"), ("6.6.2", "reads", "warning")],
    ),
    "page cache kept": (launched("-x LD_PRELOAD=/opt/nofadvise.so"), [("6.4.2", "cache_open", "warning")]),
    "modules": (launched("-x PYTHONPATH=/opt/patched"), [("6.4.2", "modules_open", "warning")]),
    "autoscaling": (added(1, "--enable-autoscaling --autoscaler-mode qos"), []),
    "no commands": (no_commands, [("6.6.3", "recorded", "warning")]),
    "a command not recorded": (one_command_less, [("6.6.3", "each_trial", "warning")]),
    "without mpirun and wrapper": (
        reworded(
            (r"^mpirun .*?(/home\S*/python3)", r"\1"),
            ("mlperf_wrapper.py --rank-output-base", "kv-cache.py --output"),
            (" --rank-cache-base [^ ]+ --seed-base 42", ""),
        ),
        [],
    ),
    "a failed Option beyond the three": (
        summary(
            {
                "/options/4": {"partial_failure": True, "missing_files": ["option_4/trial_0/rank_0"]},
                "/partial_failure": True,
            }
        ),
        [],
    ),
    "RAG in the log": (rag_logged, [("6.6.3", "features", "warning")]),
    "RAG in log and command": (both(rag_logged, added(1, "--enable-rag")), []),
    "failed rank": (lambda leaf: leaf.lose((1, 0, 0), declared=True), [("X6.2", "partial", "warning")]),
    "an Option set aside": (set_aside("option_1", "option_1_old"), []),
    "failed Option": (
        lambda leaf: leaf.lose(*((1, t, 0) for t in range(3)), declared=True),
        [("X6.2", "empty", "error")],
    ),
    "failed trial": (
        summary({"/trial_failures": {"3": [{"trial": 1, "exit_code": 137}]}}),
        [("X6.2", "failed_open", "warning")],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_spoilt_open_run(tmp_path: Path, name: str) -> None:
    spoil, expected = OPEN[name]
    tree, leaf = legal(tmp_path / "tree", "open")
    spoil(leaf)
    assert findings(tree) == expected


@pytest.mark.parametrize("division", ["closed", "open"])
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(("ranks", "hosts"), [(1, 1), (4, 1), (4, 2), (20, 4)])
def test_a_legal_leaf_is_silent(tmp_path: Path, edition: str, division: str, ranks: int, hosts: int) -> None:
    tree, _ = legal(tmp_path / "tree", division, ranks=ranks, hosts=hosts)
    assert findings(tree, edition) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [("--enable-rag", "--enable-rag stands in commands"), ("--rag-num-docs 7", "--rag-num-docs 7 stands in commands")],
)
def test_an_option_is_told_with_its_value_where_it_has_one(tmp_path: Path, words: str, named: str) -> None:
    tree, leaf = legal(tmp_path / "tree")
    added(1, words)(leaf)
    report = check(tree.root, Options())
    assert [finding.message for finding in report.findings if finding.clause == "options" and named in finding.message]


def test_every_clause_of_the_section_is_violated_by_some_spoilt_tree() -> None:
    fired = {
        (rule, clause)
        for table in (ONE_RANK, SEVERAL_RANKS, OPEN)
        for _, expected in table.values()
        for rule, clause, _ in expected
    }
    elsewhere = {
        ("6.3.2.1", "former_delay"),
        ("6.5.1", "described"),
        ("6.5.2", "main"),
        ("X6.3", "several"),
        ("X6.3", "none_complete"),
        ("X6.4", "command"),
    }  # test_kv_cache_workload.py
    clauses = {
        (rule.id, clause.key)
        for rule in rules.load_edition("3.0").rules
        if rule.id.startswith(("6.", "X6."))
        for clause in rule.clauses
        if clause.severity.value != "info"
    }
    assert clauses - fired <= elsewhere
