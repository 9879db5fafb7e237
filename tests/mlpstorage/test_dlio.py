"""The whole path with the real DLIO on two ranks: leaf, metadata, fsync calls, secrets, interruption.

Skipped, with the reason, where no capable DLIO is installed; MLPSTORAGE_TEST_DLIO_PYTHON names a Python that has one.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from replay import plan_from_metadata
from running import ROOT, listing, tool_command, tool_environment
from test_execute import running, wait_for
from test_replay import different, runs_read

from mlpstorage.checkpointing import command
from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.results import manifest
from submission_checker.scan import Options, check

pytestmark = pytest.mark.usefixtures("mpirun")

TINY = (
    "--param", "model.num_layers=2", "model.transformer.hidden_size=64", "model.transformer.ffn_hidden_size=128",
    "model.transformer.vocab_size=1000", "checkpoint.time_between_checkpoints=0",
)  # fmt: skip
FILES_PER_RANK = 2
"""ZeRO 3: each rank writes its shard of the model and of the optimizer."""
SECRET = "do-not-record-me"


@pytest.fixture(scope="session")
def dlio_bin(dlio_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A start script of the DLIO under test, as pip would install one."""
    directory = tmp_path_factory.mktemp("dlio")
    (directory / "dlio_benchmark").write_text(f"#!{dlio_python}\n")
    return directory


def arguments(dlio: Path, folder: Path, *more: str) -> list[str]:
    return tool_command(
        "whatif", "checkpointing", "run", "--model", "llama3-8b", "--num-processes", "2", "--checkpoint-folder",
        str(folder), "--dlio-bin-path", str(dlio), *TINY, *more,
    )  # fmt: skip


def run(directory: Path, dlio: Path, *more: str, code: int = 0) -> tuple[Path, str]:
    """One run in ``directory``; its leaf and what it printed."""
    answer = subprocess.run(
        arguments(dlio, directory / "ckpt", *more),
        cwd=directory,
        env=tool_environment({"AWS_SECRET_ACCESS_KEY": SECRET, "HF_TOKEN": SECRET}),
        capture_output=True,
        text=True,
    )
    assert answer.returncode == code, answer.stdout + answer.stderr
    leaves = sorted((directory / "results").glob("whatif/*/results/*/checkpointing/llama3-8b/*"))
    return leaves[-1], answer.stdout


def metadata(leaf: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((leaf / f"checkpointing_{leaf.name}_metadata.json").read_text())
    return document


@pytest.fixture(scope="module")
def completed(dlio_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The leaf and the output of a run that wrote and read two checkpoints."""
    directory = tmp_path_factory.mktemp("run")
    counts = ("--num-checkpoints-write", "2", "--num-checkpoints-read", "2")
    return run(directory, dlio_bin, *counts, "--checkpoint-subset")


def test_the_leaf_holds_what_a_submission_needs(completed: tuple[Path, str]) -> None:
    leaf, _ = completed
    assert {
        "checkpointing_run.stdout.log", "checkpointing_run.stderr.log", "summary.json", "dlio.log", "0_output.json",
        "1_output.json", "0_per_epoch_stats.json", "1_per_epoch_stats.json", "fs_separation.json", "dlio_config",
        "dlio_config/config.yaml", "dlio_config/hydra.yaml", "dlio_config/overrides.yaml",
        f"checkpointing_{leaf.name}_metadata.json", ".mlps-code-image", "provenance.json",
    } == set(listing(leaf))  # fmt: skip


def test_the_metadata_says_what_ran(completed: tuple[Path, str]) -> None:
    leaf, _ = completed
    document = metadata(leaf)
    summary = json.loads((leaf / "summary.json").read_text())
    assert (document["status"], document["exit_status"], document["verification"]) == ("completed", 0, None)
    assert (document["fsync_effective"], document["rules_edition"]) == (True, "3.0")
    assert document["run_datetime"] == leaf.name
    assert document["num_processes"] == summary["num_accelerators"] == 2
    assert document["invocation_start_time"] < summary["start"] < summary["end"] < document["invocation_end_time"]
    assert re.fullmatch(r"[+-]\d\d:\d\d", document["utc_offset"])
    assert document["system_info"]["num_hosts"] == 1
    assert document["cluster_snapshots"]["end"]["hosts"][0]["memory"]["total"] > 0
    assert {finding["rule"] for finding in document["launch_findings"]} >= {"4.6.1", "4.6.3"}
    config = yaml.safe_load((leaf / "dlio_config/config.yaml").read_text())
    assert config["workload"] == document["parameters"]


def test_the_declaration_is_recorded_everywhere(completed: tuple[Path, str]) -> None:
    leaf, _ = completed
    document = metadata(leaf)
    assert document["checkpoint_subset"] is True
    assert document["args"]["checkpoint_subset"] is True
    assert (leaf / "checkpointing_run.stdout.log").read_text().splitlines()[0] == "checkpoint_subset=true"


def test_the_size_formula_is_what_dlio_wrote(completed: tuple[Path, str]) -> None:
    leaf, _ = completed
    measured = json.loads((leaf / "summary.json").read_text())["metric"]["checkpoint_size_GB"]
    assert plan_from_metadata(metadata(leaf)).checkpoint_gib == pytest.approx(measured, rel=1e-6)


def test_the_reader_finds_the_facts_that_the_gate_judged(completed: tuple[Path, str], tmp_path: Path) -> None:
    leaf, _ = completed
    place = tmp_path / "open/acme/results/fast/checkpointing/llama3-8b"
    shutil.copytree(leaf, place / leaf.name)
    (read,) = runs_read(tmp_path).values()
    differences = different(launch_workload(plan_from_metadata(metadata(leaf))).runs[0], read)
    assert differences == {"run.division": ("whatif", "open")}
    assert (read.fsync_effective, read.checkpoints_written, read.checkpoints_read) == (True, 2, 2)
    assert read.filesystem_evidence == "sidecar"
    assert isinstance(read.stated_parameters, list)
    for item in read.stated_parameters:
        assert item.config == item.overrides == item.command, item.name


def test_what_the_run_says_of_its_code_passes_the_checker(completed: tuple[Path, str], tmp_path: Path) -> None:
    """The results directory as the run left it, moved to where submitted results lie."""
    results = completed[0].parents[6]
    shutil.copytree(results / "code-images", tmp_path / "code-images")
    shutil.copytree(results / "whatif", tmp_path / "open")
    (organisation,) = (tmp_path / "open").iterdir()
    manifest.write(organisation, "open", "3.0", 3, "test")
    for edition in ("3.0", "4.0-draft"):
        report = check(tmp_path, Options(edition=edition))
        assert not report.faults
        own = [rule for rule in report.tally if rule.startswith(("CHECK", "PROV", "EDN"))]
        assert {"CHECK-01", "CHECK-02", "CHECK-03", "CHECK-04"} <= set(own)
        assert [f for f in report.findings if f.rule in own and f.severity.value != "info"] == []
        assert report.tally["CHECK-02"]["pass"] >= 1
    leaf = next(organisation.glob("results/*/checkpointing/*/*"))
    stamp = json.loads((leaf / "provenance.json").read_text())
    assert stamp["tool"]["code_image"] == (leaf / ".mlps-code-image").read_text()
    (leaf / ".mlps-code-image").write_text("md5-tree-v2:" + "0" * 32)
    (image,) = (tmp_path / "code-images").glob("code-*")
    (image / "mlpstorage/cli.py").write_text("changed")
    report = check(tmp_path, Options(edition="4.0-draft"))
    assert {"CHECK-01", "CHECK-02", "PROV-01"} <= {f.rule for f in report.findings if f.severity.value == "error"}


def test_probed_facts_are_judged_and_told(completed: tuple[Path, str]) -> None:
    leaf, output = completed
    assert "4.4.2" in {finding["rule"] for finding in metadata(leaf)["launch_findings"]}
    assert re.search(r"4\.4\.2 .*one filesystem", " ".join(output.split()))


def test_progress_is_shown(completed: tuple[Path, str]) -> None:
    _, output = completed
    assert re.search(r"writing checkpoint 2 of 2: [0-9.]+ GiB/s", output)
    assert re.search(r"reading checkpoint 1 of 2: [0-9.]+ GiB/s", output)


def test_no_secret_of_the_environment_is_recorded(completed: tuple[Path, str]) -> None:
    leaf, output = completed
    assert SECRET not in output
    for path in leaf.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_every_file_of_a_rank_is_synced(dlio_python: str, tmp_path: Path) -> None:
    """Counted from outside the process: the configured fsync is real (DLIO alone would make none)."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    if subprocess.run([strace, "-f", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here")
    trace = tmp_path / "trace"
    wrapper = tmp_path / "python"
    traced = f"{strace} -f -y -e trace=fsync,fdatasync -o {trace}.$OMPI_COMM_WORLD_RANK {dlio_python}"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *workload=*) exec {traced} "$@";; esac\nexec {dlio_python} "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "dlio_benchmark").write_text(f"#!{wrapper}\n")
    run(tmp_path, tmp_path, "--num-checkpoints-write", "3", "--num-checkpoints-read", "0")
    for rank in (0, 1):
        calls = Path(f"{trace}.{rank}").read_text().splitlines()
        assert sum(".pt>" in call and "= 0" in call for call in calls) == 3 * FILES_PER_RANK


def test_without_the_entry_module_dlio_does_not_sync(dlio_python: str) -> None:
    """Why it exists. If this fails, DLIO has learned it, and the module may go."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import dlio_main\n"
        "from dlio_benchmark import main\nfrom dlio_benchmark.utils import config\n"
        "from dlio_benchmark.utils.utility import DLIOMPI\nDLIOMPI.get_instance().set_parent_values(0, 1)\n"
        "print('effective:', dlio_main.fsync_effective(main, config))\n"
    )
    answer = subprocess.run(
        [dlio_python, "-c", script, str(command.ENTRY.parent)], capture_output=True, text=True, check=True
    )
    assert "effective: False" in answer.stdout


def test_a_pair_of_invocations_shares_one_workload_directory(dlio_bin: Path, tmp_path: Path) -> None:
    refused = ("--num-checkpoints-write", "0", "--num-checkpoints-read", "2", "--format", "json")
    before = subprocess.run(
        arguments(dlio_bin, tmp_path / "ckpt", *refused), cwd=tmp_path, env=tool_environment(), capture_output=True
    )
    assert before.returncode == 3
    assert "checkpoints" in {problem["subject"] for problem in json.loads(before.stdout)["readiness"]}
    assert listing(tmp_path) == []

    write, said = run(tmp_path, dlio_bin, "--num-checkpoints-write", "2", "--num-checkpoints-read", "0")
    assert "4.7.1" in said
    read, _ = run(tmp_path, dlio_bin, "--num-checkpoints-write", "0", "--num-checkpoints-read", "2")
    assert write.parent == read.parent
    assert write != read
    assert (metadata(write)["args"]["num_checkpoints_read"], metadata(read)["args"]["num_checkpoints_write"]) == (0, 0)


def test_paths_with_odd_characters_arrive(dlio_bin: Path, tmp_path: Path) -> None:
    odd = tmp_path / "it's {a=b}, [c]"
    odd.mkdir()
    leaf, _ = run(odd, dlio_bin, "--num-checkpoints-write", "1", "--num-checkpoints-read", "1")
    assert (odd / "ckpt/llama3-8b/global_epoch1_step1").is_dir()
    assert (leaf / "summary.json").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interruption_ends_all_ranks_and_leaves_a_leaf_that_says_so(
    dlio_bin: Path, tmp_path: Path, number: signal.Signals
) -> None:
    slow = [word.replace("time_between_checkpoints=0", "time_between_checkpoints=300") for word in TINY]
    argv = [*arguments(dlio_bin, tmp_path / "ckpt", *slow), "--format", "json"]
    process = subprocess.Popen(
        argv, cwd=tmp_path, env=tool_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    pattern = "results/whatif/*/results/*/checkpointing/llama3-8b/*/dlio.log"
    wait_for(lambda: any("Checkpointing write started" in log.read_text() for log in tmp_path.glob(pattern)), 120)
    ranks = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if str(tmp_path).encode() in readable(path) and b"workload=llama3_8b" in readable(path)
    ]
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(ranks) >= 3, "mpirun and two ranks were running"
    wait_for(lambda: not any(running(pid) for pid in ranks))
    leaf = Path(json.loads(output)["leaf"])
    document = metadata(leaf)
    assert (document["status"], document["num_processes"]) == ("interrupted", 2)
    assert document["invocation_end_time"] > document["invocation_start_time"]
    assert not [path for path in listing(leaf) if path.endswith(".tmp") or "workload" in path]


SILENT_AT_THE_END = """#!/bin/sh
case "$*" in *hosts_main.py*)
    if ls {work}/results/whatif/*/results/*/checkpointing/*/*/summary.json; then
        echo $$ > {work}/asked
        exec sleep 600
    fi
esac
exec {python} "$@"
"""
"""An interpreter under which the hosts give no answer after the run."""


def test_an_interruption_after_the_benchmark_leaves_a_whole_leaf(dlio_python: str, tmp_path: Path) -> None:
    bin_path, asked = tmp_path / "bin", tmp_path / "asked"
    bin_path.mkdir()
    (bin_path / "python").write_text(SILENT_AT_THE_END.format(work=tmp_path, python=dlio_python))
    (bin_path / "python").chmod(0o755)
    (bin_path / "dlio_benchmark").write_text(f"#!{bin_path}/python\n")
    counts = ("--num-checkpoints-write", "1", "--num-checkpoints-read", "1")
    process = subprocess.Popen(
        arguments(bin_path, tmp_path / "ckpt", *counts),
        cwd=tmp_path, env=tool_environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: asked.exists() and asked.read_text().endswith("\n"), 240)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, "Done" in output) == (130, True)
    wait_for(lambda: not running(int(asked.read_text())))
    (recorded,) = tmp_path.rglob("*_metadata.json")
    document = metadata(recorded.parent)
    assert (document["status"], document["exit_status"]) == ("completed", 0)
    assert document["problems"] == ["interrupted while the hosts were asked again after the run"]


def readable(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_benchmark_that_fails_exits_4_and_keeps_its_logs(dlio_bin: Path, tmp_path: Path) -> None:
    leaf, said = run(tmp_path, dlio_bin, "--param", "framework=nonsense", code=4)
    document = metadata(leaf)
    assert document["status"] == "failed"
    assert document["exit_status"] != 0
    assert "nonsense" in (leaf / "checkpointing_run.stderr.log").read_text()
    assert "FAILED" in said
    assert "It is no result: remove the leaf" in " ".join(said.split())


def test_the_entry_module_needs_nothing_of_this_project(dlio_python: str, tmp_path: Path) -> None:
    """DLIO's environment may lack this package, and it is never given its path."""
    if dlio_python == sys.executable or importlib.util.find_spec("mlpstorage") is None:
        pytest.skip("DLIO shares this environment")
    answer = subprocess.run(
        [dlio_python, "-I", str(command.ENTRY), "--probe"], cwd=tmp_path, capture_output=True, text=True
    )
    assert '"capable": true' in answer.stdout
    assert str(ROOT) not in answer.stderr
