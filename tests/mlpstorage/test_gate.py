"""The gate as a user meets it: verdict, exit code, JSON, and that a refusal starts nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from running import Tool, listing, tool_environment

import rules
from mlpstorage.checkpointing import run
from mlpstorage.checkpointing.gate import Decision, decide, load_edition
from mlpstorage.checkpointing.launch import ProbeFacts, launch_workload
from mlpstorage.checkpointing.options import parse

RUN = ("checkpointing", "run")


def judged(tool: Tool, *arguments: str) -> tuple[int, dict[str, Any]]:
    answer = tool(*RUN, *arguments, "--dry-run", "--format", "json")
    assert answer.stderr == ""
    return answer.returncode, json.loads(answer.stdout)


def test_the_one_legal_subset_run(tool: Tool, work: Path) -> None:
    code, answer = judged(tool, "closed", "--model", "llama3-8b", "--checkpoint-subset")
    assert (code, answer["edition"], answer["division"], answer["verdict"]) == (0, "3.0", "closed", "closed")
    assert answer["violations"] == []
    assert "++workload.checkpoint.num_checkpoints_write=10" in answer["command"]
    assert {"rule", "clause", "facts", "known"} <= set(answer["deferred"][0])
    assert listing(work) == []


def test_the_published_edition_refuses_it(tool: Tool) -> None:
    code, answer = judged(
        tool, "closed", "--model", "llama3-8b", "--checkpoint-subset", "--edition", "3.0-as-published"
    )  # fmt: skip
    assert (code, answer["edition"]) == (1, "3.0-as-published")
    assert {finding["rule"] for finding in answer["violations"]} == {"4.3.5"}


@pytest.mark.parametrize(
    ("edition", "code", "verdict", "place"),
    [("3.0", 0, "closed", "remarks"), ("4.0-draft", 1, "invalid", "violations")],
)
def test_an_accelerator_that_no_table_has_is_told_once(
    tool: Tool, edition: str, code: int, verdict: str, place: str
) -> None:
    given, answer = judged(
        tool, "closed", "--model", "llama3-8b", "--accelerator-type", "v100", "--edition", edition
    )  # fmt: skip
    assert (given, answer["verdict"]) == (code, verdict)
    assert [(finding["rule"], finding["clause"]) for finding in answer[place]] == [("4.3.4", "known")]


@pytest.mark.parametrize(
    ("edition", "caution"), [("3.0-as-published", "never submit by it"), ("3.0", ""), ("4.0-draft", "A draft")]
)
@pytest.mark.parametrize("division", ["open", "whatif"])
def test_the_caution_of_an_edition_is_told(tool: Tool, edition: str, caution: str, division: str) -> None:
    arguments = (division, "--model", "llama3-70b", "-n", "8", "--edition", edition, "--accelerator-type", "b200")
    code, answer = judged(tool, *arguments)
    assert (code, caution in answer["caution"], bool(answer["caution"])) == (0, True, bool(caution))
    text = " ".join(tool(*RUN, *arguments, "--dry-run").stdout.split())
    assert (f"Caution: edition {edition}: {answer['caution']}" in text) == bool(caution)


@pytest.mark.parametrize(
    ("arguments", "code", "verdict", "broken"),
    [
        (["closed", "--model", "llama3-70b"], 0, "closed", set()),
        (["closed", "--model", "llama3-70b", "--checkpoint-subset", "-n", "8"], 1, "invalid", {"4.3.5", "4.6.1"}),
        (["closed", "--model", "llama3-70b", "-n", "8"], 1, "open", {"4.6.1"}),
        (["open", "--model", "llama3-70b", "-n", "8"], 0, "open", set()),
        (["open", "--model", "llama3-70b", "-n", "12"], 1, "invalid", {"4.6.4"}),
        (["open", "--model", "llama3-70b", "-n", "8", "--checkpoint-subset"], 1, "invalid", {"4.3.5"}),
        (["closed", "--model", "llama3-405b", "-n", "408"], 1, "invalid", {"4.6.1"}),
        (["closed", "--model", "llama3-18b"], 1, "invalid", {"4.3.3"}),
        (["closed", "--model", "llama3-8b", "--param", "checkpoint.fsync=false"], 1, "invalid", {"4.3.2"}),
        (["closed", "--model", "llama3-8b", "--checkpoint-folder", ""], 1, "invalid", {"4.4.1"}),
        (["closed", "--model", "llama3-8b", "--checkpoint-folder", "results/"], 1, "invalid", {"4.4.1"}),
        (["closed", "--model", "llama3-8b", "--num-checkpoints-read", "0"], 0, "closed", set()),
        (["closed", "--model", "llama3-8b", "--num-checkpoints-write", "0"], 0, "closed", set()),
        (["closed", "--model", "llama3-8b", "--num-checkpoints-write", "5"], 1, "open", {"4.7.1"}),
    ],
)  # fmt: skip
def test_verdicts(tool: Tool, arguments: list[str], code: int, verdict: str, broken: set[str]) -> None:
    got, answer = judged(tool, *arguments)
    assert (got, answer["verdict"]) == (code, verdict)
    assert broken <= {finding["rule"] for finding in answer["violations"]}
    assert bool(answer["violations"]) == bool(code)
    assert bool(answer["command"]) != bool(code), "a refused run shows no command that would run"


def test_whatif_forbids_nothing_and_advises(tool: Tool) -> None:
    code, answer = judged(tool, "whatif", "--model", "llama3-70b", "-n", "3", "--checkpoint-subset")
    assert (code, answer["violations"]) == (0, [])
    assert {"4.3.5", "4.6.1"} <= {finding["rule"] for finding in answer["advice"]}


def test_whatif_tells_the_warnings_too(tool: Tool) -> None:
    arguments = ("--model", "llama3-8b", "--hosts", "a:4,b:4")
    _, closed = judged(tool, "closed", *arguments)
    _, whatif = judged(tool, "whatif", *arguments)
    assert [(finding["rule"], finding["severity"]) for finding in closed["remarks"]] == [("4.6.2", "warning")]
    assert whatif["remarks"] == closed["remarks"]
    assert "4.6.2 checkpointClosedAcceleratorsPerHost (warning)" in tool(*RUN, "whatif", *arguments, "--dry-run").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["-n", "64"], "closed and open"), (["-n", "16"], "open"), (["-n", "9"], "in no division")],
)
def test_whatif_tells_where_the_run_could_be_submitted(tool: Tool, arguments: list[str], says: str) -> None:
    answer = tool(*RUN, "whatif", "--model", "llama3-70b", *arguments, "--dry-run")
    assert f"Legal in a submission: {says}\n" in answer.stdout


def test_modal_order_gives_the_same_answer(tool: Tool) -> None:
    arguments = ("--model", "llama3-8b", "--dry-run", "--format", "json")
    assert tool("closed", *RUN, *arguments).stdout == tool(*RUN, "closed", *arguments).stdout


def test_refusal_says_what_why_and_how(tool: Tool) -> None:
    answer = tool(*RUN, "closed", "--model", "llama3-405b", "--num-processes", "408")
    assert answer.returncode == 1
    text = " ".join(answer.stdout.split())
    assert "4.6.1 checkpointClosedMpiProcesses" in text
    assert "408 (--num-processes)" in text
    assert "512" in text
    assert "fix:" in text
    assert "Nothing was started." in text
    assert max(map(len, answer.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "found", "book"),
    [
        (
            ["closed", "--checkpoint-subset", "--edition", "3.0-as-published"],
            "model llama3-8b (--model), subset_declared true (--checkpoint-subset)",
            "subset_models llama3-8b",
        ),
        (
            ["open", "--param", "model.num_layers=2"],
            "name model.num_layers (--param), value 2 (--param), model llama3-8b (--model)",
            "reference 32",
        ),
        (["closed", "--param", "checkpoint.fsync=false"], "api file (default), fsync false (--param)", ""),
        (
            ["open", "--param", "checkpoint.fsync=0"],
            "api file (default), fsync (--param#checkpoint.fsync: '0' is not true or false)",
            "",
        ),
        (
            ["closed", "--edition", "4.0-draft"],
            "accelerator (--accelerator-type: not given)",
            "submittable_accelerators b200, mi355",
        ),
        (
            ["closed", "--num-checkpoints-write", "5"],
            "invocations 5/10 (--num-checkpoints-write, default)",
            "closed_invocations 10/10, 10/0, 0/10",
        ),
        (
            ["closed", "--num-checkpoints-write", "0", "--num-checkpoints-read", "0"],
            "invocations 0/0 (--num-checkpoints-write, --num-checkpoints-read)",
            "closed_invocations 10/10, 10/0, 0/10",
        ),
    ],
)
def test_a_refusal_tells_what_was_asked_apart_from_what_the_book_says(
    tool: Tool, arguments: list[str], found: str, book: str
) -> None:
    division, *others = arguments
    text = " ".join(tool(*RUN, division, "--model", "llama3-8b", *others).stdout.split())
    assert f"found: {found} {f'book: {book} ' if book else ''}fix: " in text


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (
            ["closed", "--model", "llama3-8b", "--param", "model.num_layers=2"],
            "model.num_layers is 2; the reference workload has 32, and CLOSED does not let it change",
            "Drop the override of model.num_layers.",
        ),
        (
            ["closed", "--model", "llama3-8b", "--param", "checkpoint.time_between_checkpoints=0"],
            "and CLOSED does not let it change",
            "Drop the override of checkpoint.time_between_checkpoints, or submit to open.",
        ),
        (
            ["open", "--model", "llama3-8b", "--param", "checkpoint.fsync=0"],
            "checkpoint.fsync is not stated as true or false",
            "Run the reference workload, which sets it to true, without an override of it.",
        ),
        (
            ["open", "--model", "llama3-1t", "-n", "8"],
            "8 processes is no positive multiple of 512 processes for llama3-1t; the smallest is 512",
            "Run with --num-processes 512.",
        ),
        (
            ["open", "--model", "llama3-70b", "-n", "12"],
            "12 processes is no positive multiple of 8 processes for llama3-70b; the nearest are 8 and 16",
            "Run with --num-processes 16.",
        ),
        (
            ["open", "--model", "llama3-8b", "--edition", "4.0-draft"],
            "no accelerator type is given; these can be submitted: b200, mi355",
            "Run with one of these as --accelerator-type.",
        ),
    ],
)
def test_a_refusal_tells_what_is_legal(tool: Tool, arguments: list[str], message: str, remedy: str) -> None:
    _, answer = judged(tool, *arguments)
    (finding,) = answer["violations"]
    assert message in finding["message"]
    assert finding["remedy"] == remedy


@pytest.mark.parametrize(("count", "asked"), [("1", "1 process "), ("2", "2 processes ")])
def test_one_process_is_no_processes(tool: Tool, count: str, asked: str) -> None:
    told = tool(*RUN, "closed", "--model", "llama3-8b", "-n", count).stdout
    assert told.startswith(f"FORBIDDEN in closed: llama3-8b on {asked}(edition")


def test_closed_refusal_names_open_where_open_accepts(tool: Tool) -> None:
    assert "The open division accepts" in tool(*RUN, "closed", "--model", "llama3-70b", "-n", "8").stdout
    assert "The open division accepts" not in tool(*RUN, "closed", "--model", "llama3-70b", "-n", "12").stdout
    nothing = ("--model", "llama3-8b", "--num-checkpoints-write", "0", "--num-checkpoints-read", "0")
    assert tool(*RUN, "open", *nothing).returncode == 2
    refused = tool(*RUN, "closed", *nothing)
    assert refused.returncode == 1
    assert "The open division accepts" not in refused.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a command is needed"),
        (["checkpointing", "datagen"], "unknown command 'checkpointing datagen'\n"),
        (["checkpoint", "run"], "unknown command 'checkpoint run'; did you mean checkpointing run?"),
        (["closed", "checkpoint", "run"], "; did you mean checkpointing run?"),
        (["rule", "list"], "unknown command 'rule list'; did you mean rules?"),
        (["checkpointing"], "checkpointing needs 'run'"),
        (["training"], "training needs 'datasize'"),
        (["training", "closed", "--model", "unet3d"], "training needs 'datasize'"),
        (["closed", "training"], "training needs 'datasize'"),
        ([*RUN, "whatif", "--model", "llama3-18b", "--dry-run"], "there is no reference workload for 'llama3-18b'"),
        (
            [*RUN, "whatif", "--model", "gpt", "-n", "4"],
            "there is no reference workload for 'gpt'; there is one for: llama3-8b, llama3-70b",
        ),
        (
            [*RUN, "closed", "--model", "llama3-8b", "--num-process", "8", "--dry-runs"],
            "unrecognized arguments: --num-process 8 --dry-runs; did you mean --num-processes and --dry-run?\n",
        ),
        ([*RUN, "closed", "--model", "llama3-8b", "--loops", "2"], "unrecognized arguments: --loops 2\n"),
        ([*RUN, "open", "--model", "llama3-8b", "--orgname", "acme"], "--systemname"),
        ([*RUN, "open", "--model", "llama3-8b", "--results-dir", "/dev/null"], "give --orgname (or"),
        ([*RUN, "closed"], "--model"),
        (
            [*RUN, "closed", "--modle", "llama3-8b"],
            "required: --model; unrecognized arguments: --modle; did you mean --model?\n",
        ),
        ([*RUN, "closed", "--model"], "expected one argument\n"),
        ([*RUN, "closed", "--model", "llama3-8b", "--num-checkpoints-write", "-1"], "out of range"),
        ([*RUN, "closed", "--model", "llama3-8b", "--edition", "9.9"], "4.0-draft"),
        ([*RUN, "closed", "--model", "llama3-8b"], "--orgname"),
    ],
)
def test_usage_errors_exit_2(tool: Tool, work: Path, arguments: list[str], says: str) -> None:
    answer = tool(*arguments)
    assert answer.returncode == 2
    assert says in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == "", "no verdict for a command that is wrong"
    assert listing(work) == []


def test_the_package_is_a_program(tool: Tool) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "mlpstorage", "--version"], env=tool_environment(), capture_output=True, text=True
    )
    assert (answer.returncode, answer.stdout) == (0, tool("--version").stdout)


ORG, SYSTEM = ("--orgname", "acme"), ("--systemname", "fast")
FIRST, SECOND = "20260708_070551/summary.json", "20260709_070551/summary.json"


@pytest.mark.parametrize(
    ("division", "names", "needs"),
    [
        ("closed", (), ["--orgname", "--systemname"]),
        ("open", ORG, ["--systemname"]),
        ("closed", SYSTEM, ["--orgname"]),
        ("closed", (*ORG, *SYSTEM), []),
        ("whatif", (), []),
    ],
)
def test_a_dry_run_tells_what_a_start_needs_besides(
    tool: Tool, division: str, names: tuple[str, ...], needs: list[str]
) -> None:
    arguments = (division, "--model", "llama3-8b", *names)
    code, answer = judged(tool, *arguments)
    assert code == 0, "the rules allow it"
    assert [option for option in ("--orgname", "--systemname") if f"{option} (or" in answer["needs"]] == needs
    told = tool(*RUN, *arguments, "--dry-run").stdout.partition("This would run")[0].partition("A start needs more:")[2]
    assert "".join(told.split()) == answer["needs"].replace(" ", "")


def test_a_dry_run_names_the_organisation_that_owns_the_directory(tool: Tool, work: Path) -> None:
    tool("init", "acme", "results")
    _, answer = judged(tool, "closed", "--model", "llama3-8b", *SYSTEM)
    assert answer["needs"] == ""
    assert any("/results/closed/acme/results/fast/" in word for word in answer["command"])
    (work / "results/mlperf-results.yaml").write_text("{")
    _, answer = judged(tool, "closed", "--model", "llama3-8b", *SYSTEM)
    assert "mlperf-results.yaml cannot be used" in answer["needs"]


def test_a_submitter_that_the_directory_is_not_for_is_told(tool: Tool) -> None:
    tool("init", "acme", "results")
    arguments = ("closed", "--model", "llama3-8b", *SYSTEM)
    for options, environment, told in (
        (ORG, {}, ""),
        (
            ("--orgname", "globex"),
            {},
            "results is acme's (mlperf-results.yaml); --orgname has this run recorded as glob",
        ),
        ((), {"MLPSTORAGE_ORGNAME": "globex"}, "; MLPSTORAGE_ORGNAME has this run recorded as globex's"),
        (("--orgname", "globex", "--results-dir", "other"), {}, ""),
    ):
        answer = tool(*RUN, *arguments, *options, "--dry-run", "--format", "json", env=environment)
        said = json.loads(answer.stdout)["notices"]
        assert (answer.returncode, len(said), told in "".join(said)) == (0, bool(told), True), options
    text = tool(*RUN, *arguments, "--orgname", "globex", "--dry-run").stdout
    assert "results is acme's" in " ".join(text.split())


@pytest.mark.parametrize(
    ("division", "files", "told"),
    [
        ("closed", [], ""),
        ("closed", [FIRST], ""),
        ("closed", [FIRST, SECOND], "3 time stamp directories (20260708_070551, 20260709_070551, this run)"),
        ("open", [FIRST, SECOND], "3 time stamp directories (20260708_070551, 20260709_070551, this run)"),
        ("whatif", [FIRST, SECOND], ""),
        ("closed", [FIRST, "notes/summary.json", "20260709_070551/.mlps-code-image"], ""),
    ],
)
def test_a_run_too_many_is_told_before_it_is_made(
    tool: Tool, work: Path, division: str, files: list[str], told: str
) -> None:
    for file in files:
        path = work / "results" / division / "acme/results/fast/checkpointing/llama3-8b" / file
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    arguments = (division, "--model", "llama3-8b", *ORG, *SYSTEM)
    code, answer = judged(tool, *arguments)
    assert (code, len(answer["notices"]), told in "".join(answer["notices"])) == (0, bool(told), True)
    text = " ".join(tool(*RUN, *arguments, "--dry-run").stdout.split())
    assert ("2.1.23 will not allow this run beside those that are there" in text) == bool(told)


@pytest.mark.parametrize(
    ("division", "key", "told"),
    [
        ("closed", "checkpoint.fsnc", "checkpoint.fsync"),
        ("open", "checkpoint.fsnc", "checkpoint.fsync"),
        ("whatif", "workload.model.num_layer", "model.num_layers"),
        ("closed", "checkpoint.num_checkpoint_write", "checkpoint.num_checkpoints_write"),
        ("open", "checkpoint.fsync", ""),
        ("open", "reader.extra", ""),
    ],
)
def test_a_parameter_that_is_written_almost_like_a_known_one_is_told(
    tool: Tool, division: str, key: str, told: str
) -> None:
    arguments = (division, "--model", "llama3-8b", "--param", f"{key}=true")
    wanted = f"--param: the reference workload has no {key.removeprefix('workload.')}; did you mean {told}?"
    assert judged(tool, *arguments)[1]["notices"] == [wanted] * bool(told)
    for dry in (("--dry-run",), ()) if division == "closed" else (("--dry-run",),):
        assert (wanted in " ".join(tool(*RUN, *arguments, *dry).stdout.split())) == bool(told)


REFUSED = "4.7.1 will not allow this run beside those that are there"
UNFINISHED = "of a run that did not complete"
BESIDE: dict[str, tuple[str, list[tuple[str, int, int]], tuple[int, int], list[str]]] = {
    "the read run of a pair": ("closed", [("completed", 10, 0)], (0, 10), []),
    "a second write run": ("closed", [("completed", 10, 0)], (10, 0), [REFUSED]),
    "a second combined run": ("closed", [("completed", 10, 10)], (10, 10), [REFUSED]),
    "a second combined run in open": ("open", [("completed", 10, 10)], (10, 10), []),
    "again after a failure": ("closed", [("failed", 10, 10)], (10, 10), [UNFINISHED]),
    "a pair after an interruption": (
        "closed", [("interrupted", 10, 0), ("completed", 10, 0)], (0, 10),
        [UNFINISHED, "2.1.23 will not allow this run"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_what_a_run_makes_of_those_that_are_there_is_told(tool: Tool, work: Path, name: str) -> None:
    division, there, (writes, reads), told = BESIDE[name]
    for day, (status, written, read) in enumerate(there, start=1):
        leaf = work / f"results/{division}/acme/results/fast/checkpointing/llama3-8b/2026070{day}_070551"
        leaf.mkdir(parents=True)
        args = {"num_checkpoints_write": written, "num_checkpoints_read": read}
        document = json.dumps({"status": status, "args": args})
        (leaf / f"checkpointing_{leaf.name}_metadata.json").write_text(document)
    counts = ("--num-checkpoints-write", str(writes), "--num-checkpoints-read", str(reads))
    _, answer = judged(tool, division, "--model", "llama3-8b", *ORG, *SYSTEM, *counts)
    assert len(answer["notices"]) == len(told)
    assert all(part in notice for part, notice in zip(told, answer["notices"], strict=True))


def test_the_shown_command_is_the_command(tool: Tool) -> None:
    arguments = (*RUN, "closed", "--model", "llama3-8b", "--checkpoint-folder", "/mnt/it's $HOME", "--dry-run")
    shown = tool(*arguments).stdout.partition("This would run")[2].partition("\n")
    assert "<...> is filled in at the start" in shown[0]
    command = json.loads(tool(*arguments, "--format", "json").stdout)["command"]
    assert shlex.split(shown[2].replace("\\\n", "")) == command
    lines = shown[2].strip().splitlines()
    assert len(lines) == len(command)
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert any(line.startswith("    \"++hydra.run.dir='/") for line in lines), "not '\"'\"' for each quote"


def decided(division: str, *arguments: str, probes: ProbeFacts) -> Decision:
    plan = parse([division, "--model", "llama3-8b", *arguments], {}).plan
    return decide(load_edition("3.0"), launch_workload(plan, probes), division)


def test_an_open_question_at_the_gate_says_what_cures_it() -> None:
    unknown = ProbeFacts(client_memory_source="--client-host-memory-in-gb")
    remedies = {finding.path: finding.remedy for finding in decided("closed", probes=unknown).remarks}
    assert "Give --client-host-memory-in-gb" in remedies["--client-host-memory-in-gb"]
    assert "--dlio-bin-path" in remedies["probe:dlio"]
    assert not any("as the run wrote it" in remedy for remedy in remedies.values())


def test_what_was_not_given_is_not_called_none(tool: Tool) -> None:
    assert "FORBIDDEN in closed: llama3-8B (edition" in tool(*RUN, "closed", "--model", "llama3-8B").stdout
    answer = tool(*RUN, "closed", "--model", "llama3-8b", "--checkpoint-folder", "")
    assert answer.returncode == 1
    assert "checkpoint_folder (--checkpoint-folder: not given)" in " ".join(answer.stdout.split())
    assert "None" not in answer.stdout


def leave_traces(directory: Path, trace: Path) -> str:
    """A PATH whose mpirun, mpiexec and dlio_benchmark are real scripts that would leave a trace."""
    directory.mkdir()
    for name in ("mpirun", "mpiexec", "dlio_benchmark", "python"):
        script = directory / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> {trace}\n')
        script.chmod(0o755)
    return f"{directory}:/usr/bin:/bin"


@pytest.mark.parametrize(
    "arguments",
    [
        ["closed", "--model", "llama3-70b", "--checkpoint-subset", "--num-processes", "8"],
        [
            "closed",
            "--model",
            "llama3-405b",
            "--num-processes",
            "408",
            "--hosts",
            *(f"host{i:02}:8" for i in range(51)),
        ],
        ["open", "--model", "llama3-70b", "--num-processes", "12"],
        ["closed", "--model", "llama3-8b", "--dry-run"],
        ["whatif", "--model", "llama3-8b", "-n", "2", "--dry-run"],
    ],
)
def test_a_violation_and_a_dry_run_start_nothing(tool: Tool, work: Path, tmp_path: Path, arguments: list[str]) -> None:
    trace = tmp_path / "trace"
    path = leave_traces(tmp_path / "bin", trace)
    identity = ["--orgname", "acme", "--systemname", "fast"]
    answer = tool(*RUN, *arguments, *identity, env={"PATH": path})
    assert answer.returncode == (0 if "--dry-run" in arguments else 1)
    assert not trace.exists()
    assert listing(work) == []


def test_those_scripts_do_leave_a_trace_when_a_legal_run_is_started(tool: Tool, work: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    path = leave_traces(tmp_path / "bin", trace)
    options = ["--dlio-bin-path", str(tmp_path / "bin"), "--checkpoint-folder", str(tmp_path / "ckpt")]
    answer = tool(*RUN, "whatif", "--model", "llama3-8b", "-n", "2", *options, env={"PATH": path})
    assert answer.returncode == 3
    assert "mpirun" in trace.read_text()
    assert listing(work) == []


def test_the_gates_json_answer_imports_no_user_interface_and_no_benchmark() -> None:
    script = (
        "import sys; from mlpstorage.cli import main\n"
        "main(['checkpointing', 'run', 'closed', '--model', 'llama3-8b', '--dry-run', '--format', 'json'])\n"
        "heavy = {'typer', 'rich', 'mpi4py', 'torch', 'numpy', 'mlpstorage.rules_cmd', 'submission_checker'}\n"
        "print('imported:', sorted(heavy & set(sys.modules)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], env=tool_environment(), capture_output=True, text=True, check=True
    )
    assert answer.stdout.endswith("imported: []\n")


@dataclass
class WithABrokenRule:
    """An edition of which one rule breaks; everything else is the real one."""

    real: rules.Edition
    id: str = "broken"

    @property
    def info(self) -> Any:
        return self.real.info

    def classify(self, workload: Any, stage: str) -> rules.Classification:
        verdict = self.real.classify(workload, stage=stage)
        return replace(verdict, closed=replace(verdict.closed, faults=("rule 9.9: boom",)))


def test_a_broken_rule_lets_nothing_pass_and_hides_no_other(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(run, "load_edition", lambda *_: WithABrokenRule(rules.load_edition("3.0")))
    arguments = ["--model", "llama3-70b", "-n", "8", "--dry-run", "--format", "json"]
    assert run.main(["closed", *arguments], {}, datetime.now()) == 5
    answer = json.loads(capsys.readouterr().out)
    assert (answer["faults"], answer["command"]) == (["rule 9.9: boom"], [])
    assert "4.6.1" in {finding["rule"] for finding in answer["violations"]}
    assert run.main(["open", *arguments], {}, datetime.now()) == 5
    assert run.main(["whatif", *arguments], {}, datetime.now()) == 0


def test_help_states_the_exit_codes(tool: Tool) -> None:
    answer = tool(*RUN, "--help")
    assert answer.returncode == 0
    assert all(f"  {code} " in answer.stdout for code in (0, 1, 2, 3, 4, 5, 130))
    assert tool("--help").returncode == tool("checkpointing", "--help").returncode == 0


def test_a_path_that_the_terminal_cannot_show_is_shown_in_ascii(tool: Tool) -> None:
    arguments = ("closed", "--model", "llama3-8b", "--checkpoint-folder", "/mnt/\u00e9", "--dry-run")
    answer = tool(*RUN, *arguments, env={"PYTHONIOENCODING": "ascii"})
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "/mnt/\\xe9/llama3-8b" in answer.stdout


def test_the_variable_that_names_no_edition_is_named(tool: Tool) -> None:
    answer = tool(*RUN, "closed", "--model", "llama3-8b", "--dry-run", env={"MLPSTORAGE_EDITION": "9"})
    assert answer.returncode == 2
    assert "MLPSTORAGE_EDITION: " in answer.stderr
