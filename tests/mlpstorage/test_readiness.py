"""A machine that is not ready: exit 3 (or 1 where a probed fact breaks a rule), what mends it, and no trace."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from running import Tool, listing

from mlpstorage.checkpointing import readiness
from mlpstorage.checkpointing.answer import Answer
from mlpstorage.checkpointing.exits import Exit
from mlpstorage.checkpointing.gate import decide, load_edition
from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.perform import perform
from mlpstorage.checkpointing.readiness import Problem
from mlpstorage.mpi.collect import Collection

RUN = ("checkpointing", "run")
NAMED = ("--orgname", "acme", "--systemname", "fast")
GIB = 2**30


def checked(
    *arguments: str, hosts: int = 1, memory: int = 4096, free: float = 10_000, same: bool = False, checkpoints: int = 0
) -> dict[str, Problem]:
    """Problems of a plan on hosts that answered so (GiB), by subject."""
    plan = parse([*arguments, "--checkpoint-folder", "/mnt/c"], {}).plan
    state = readiness.Readiness(collection=answered(hosts, memory * GIB, int(free * GIB), same, checkpoints))
    readiness.judge_answers(plan, state)
    return {problem.subject: problem for problem in state.problems}


def answered(hosts: int, memory: int, free: int, same: bool, checkpoints: int) -> Collection:
    facts = [
        {
            "hostname": f"host{index}",
            "memory": {"total": memory, "available": memory},
            "reads": {"folder": index != 1, "results": True},
        }
        for index in range(hosts)
    ]
    space = {"free": free, "reusable": 0, "checkpoints": checkpoints}
    return Collection("mpi", tuple(facts), {"same_filesystem": same, "problems": [], "space": space})


def test_a_machine_that_suffices_has_no_problem() -> None:
    assert checked("closed", "--model", "llama3-8b") == {}


def test_memory_is_what_the_ranks_of_a_host_hold() -> None:
    problem = checked("closed", "--model", "llama3-8b", memory=64)["memory"]
    assert problem.blocking
    assert "host0 has 64.0 GiB" in problem.text
    assert "104.7 GiB" in problem.text
    assert "--hosts" in problem.mend


def test_space_is_writes_times_size_and_not_the_full_models_size() -> None:
    assert "space" in checked("closed", "--model", "llama3-8b", free=1046)
    assert "space" not in checked("closed", "--model", "llama3-8b", free=1048)
    assert "space" not in checked("open", "--model", "llama3-70b", "-n", "8", free=1140)


@pytest.mark.parametrize(
    ("writes", "free", "says"),
    [
        ("10", 1046, "/mnt/c has room for 1046.0 GiB; 1047.0 GiB are needed for 10 checkpoints of 104.7 GiB"),
        ("10", 1046.99, "/mnt/c has room for 1046.99 GiB; 1047.05 GiB are needed for 10 checkpoints of 104.70 GiB"),
        ("1", 0.004, "/mnt/c has room for 0.004 GiB; 104.7 GiB are needed for 1 checkpoint of 104.7 GiB"),
    ],
)
def test_sizes_are_told_in_digits_that_tell_them_apart(writes: str, free: float, says: str) -> None:
    arguments = ("closed", "--model", "llama3-8b", "--num-checkpoints-write", writes)
    assert checked(*arguments, free=free)["space"].text == says


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (["folder"], {"paths": "make /proc writable, or name another directory with --checkpoint-folder"}),
        (["results"], {"paths": "make /proc writable, or name another directory with --results-dir", "space": "free"}),
        (
            ["folder", "results"],
            {"paths": "make /proc writable, or name another directory with --checkpoint-folder and --results-dir"},
        ),
    ],
)
def test_a_place_that_cannot_be_written_is_told_once_with_its_option(refused: list[str], told: dict[str, str]) -> None:
    plan = parse(["closed", "--model", "llama3-8b", "--checkpoint-folder", "/proc/c"], {}).plan
    collection = answered(1, 4096 * GIB, 0, same=False, checkpoints=0)
    assert collection.paths is not None
    collection.paths["problems"] = [[key, "/proc", "No such file or directory"] for key in refused]
    state = readiness.Readiness(collection=collection)
    readiness.judge_answers(plan, state)
    assert len(state.problems) == len(told)
    for problem in state.problems:
        assert problem.mend.startswith(told[problem.subject])


def test_a_leaf_that_cannot_be_made_is_told_with_what_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "whatif").touch()
    plan = parse(["whatif", "--model", "llama3-8b", "--results-dir", str(tmp_path)], {}).plan
    decision = decide(load_edition(""), launch_workload(plan), plan.division)
    answer = Answer("text")
    answer.document["readiness"] = []
    code = perform(plan, ("o", "s"), decision, readiness.Readiness(), answer, datetime(2026, 7, 1))
    assert code is Exit.NOT_READY
    (told,) = answer.document["readiness"]
    assert "the run leaf cannot be made: " in told["text"]
    assert "NOT READY" in (text := capsys.readouterr().out)
    assert told["mend"] in text
    assert "--results-dir" in told["mend"]


def test_reading_needs_checkpoints_to_be_there() -> None:
    arguments = ("closed", "--model", "llama3-8b", "--num-checkpoints-write", "0")
    assert "holds 9 checkpoints" in checked(*arguments, checkpoints=9)["checkpoints"].text
    assert "checkpoints" not in checked(*arguments, checkpoints=10)


def test_a_folder_that_a_host_does_not_see_is_named() -> None:
    hosts = ("--hosts", "host0:4", "host1:4")
    problem = checked("closed", "--model", "llama3-8b", *hosts, hosts=2)["sharing"]
    assert "/mnt/c on host1" in problem.text
    assert problem.blocking
    assert not checked("whatif", "--model", "llama3-8b", *hosts, hosts=2)["sharing"].blocking


@pytest.mark.parametrize(("division", "blocking"), [("closed", True), ("open", True), ("whatif", False)])
def test_one_machine_under_two_names_is_not_two_hosts(division: str, blocking: bool) -> None:
    plan = parse([division, "--model", "llama3-8b", "--hosts", "10.0.0.1", "node1", "node2"], {}).plan
    hosts = answered(3, 4096 * GIB, 10_000 * GIB, False, 0).hosts
    for host, machine in zip(hosts, ("a", "a", "b"), strict=True):
        host.update(machine=machine, hostname="same everywhere", reads={})
    state = readiness.Readiness(collection=Collection("mpi", hosts, None))
    readiness.judge_answers(plan, state)
    assert [(problem.text, problem.blocking) for problem in state.problems] == [
        ("10.0.0.1, node1 are one machine", blocking)
    ]


def test_hosts_that_do_not_tell_their_machine_are_not_compared() -> None:
    assert checked("closed", "--model", "llama3-8b", "--hosts", "host0:4", "node:4", hosts=2).keys() == {"sharing"}


def test_one_filesystem_is_the_rules_matter() -> None:
    assert checked("closed", "--model", "llama3-8b", same=True) == {}


def test_dlio_cannot_spread_every_count() -> None:
    plan = parse(["whatif", "--model", "llama3-405b", "-n", "600"], {}).plan
    state = readiness.Readiness()
    readiness.judge_answers(plan, state)
    assert [problem.mend for problem in state.problems] == ["--num-processes 512"]


def test_everything_that_is_missing_is_said_at_once(tool: Tool, work: Path, tmp_path: Path) -> None:
    options = ["--mpi-bin", "/no/such/mpirun", "--dlio-bin-path", str(tmp_path)]
    answer = tool(*RUN, "closed", "--model", "llama3-8b", *NAMED, *options)
    assert answer.returncode == 3
    assert "/no/such/mpirun was not found" in answer.stdout
    assert "dlio_benchmark was not found" in answer.stdout
    assert answer.stdout.count("mend:") == 2
    assert listing(work) == []


@pytest.mark.parametrize("answer", ['{"capable": true', "[]", "true"])
def test_a_damaged_answer_of_dlio_is_none(tool: Tool, tmp_path: Path, answer: str) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\necho 'MLPSTORAGE-DLIO-PROBE {answer}'\n")
    python.chmod(0o755)
    (python.parent / "dlio_benchmark").write_text(f"#!{python}\n")
    told = tool(
        "whatif", "checkpointing", "run", "--model", "llama3-8b", "--dlio-bin-path", str(python.parent)
    )  # fmt: skip
    assert told.returncode == 3
    assert "its probe under" in told.stdout
    assert "Traceback" not in told.stderr


def test_an_old_dlio_is_told_by_what_it_lacks(tool: Tool, work: Path, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho 'ModuleNotFoundError: nothing here' >&2\nexit 1\n")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "dlio_benchmark").write_text(f"#!{tmp_path}/python\n")
    options = ["--mpi-bin", "/no/such/mpirun", "--dlio-bin-path", str(tmp_path)]
    answer = tool(*RUN, "closed", "--model", "llama3-8b", *NAMED, *options)
    assert answer.returncode == 3
    assert "nothing here" in answer.stdout
    assert "pip install" in answer.stdout
    assert listing(work) == []


@pytest.mark.parametrize(
    ("place", "says"),
    [("file", "file is not a directory"), ("file/below", "file/below cannot be made there")],
)
@pytest.mark.parametrize("option", ["--results-dir", "--checkpoint-folder"])
def test_a_place_that_is_no_directory_is_told_once(
    tool: Tool, work: Path, tmp_path: Path, option: str, place: str, says: str
) -> None:
    (tmp_path / "file").touch()
    options = [option, str(tmp_path / place), "--dlio-bin-path", str(tmp_path)]
    answer = tool(*RUN, "closed", "--model", "llama3-8b", *NAMED, *options)
    assert answer.returncode == 3
    text = " ".join(answer.stdout.split())
    assert says in text
    assert f"mend: name a directory with {option}" in text
    assert "4.4.2 checkpointFilesystemCheck" not in text, "what could not be asked is no finding"
    assert listing(work) == []


def test_an_object_is_no_directory_and_need_not_be() -> None:
    plan = parse(["open", "--model", "llama3-8b", "--api", "object", "--checkpoint-folder", "s3://b/p"], {}).plan
    state = readiness.Readiness()
    assert readiness._directories(plan, state)
    assert state.problems == []


@pytest.mark.usefixtures("mpirun", "mpi_python")
def test_rule_4_4_2_is_judged_after_the_probe(tool: Tool, work: Path) -> None:
    """Checkpoints and results on one filesystem: no plan can tell, the probe does; exit 1 although DLIO is missing."""
    answer = tool(*RUN, "closed", "--model", "llama3-8b", *NAMED, "--dlio-bin-path", "/no/such/dlio")
    assert answer.returncode == 1
    assert "4.4.2 checkpointFilesystemCheck" in answer.stdout
    assert "NOT READY" not in answer.stdout, "one verdict"
    assert "The machine is not ready either:\n  DLIO: dlio_benchmark was not found" in answer.stdout
    assert listing(work) == []
