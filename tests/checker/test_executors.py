"""Who does the work must not show in the report: not in its order, and not by what is missing when a process dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

import pytest
import spoilt_checker
from pieces import Piece, die_at_bad, echo, fail_at_bad
from trees import combined

from submission_checker.executors import IN_FLIGHT, LARGE, Look, Processes, WorkerLostError, _start_method, in_order
from submission_checker.lookout import last_words

SCRIPT = Path(spoilt_checker.__file__)
ORGANISATIONS = 6
NO_LOOK = Look("", tuple)


class Recorder:
    """A pool that does each task at once, and notes which; from ``breaks_at`` on it is broken."""

    def __init__(self, breaks_at: int | None = None) -> None:
        self.begun: list[str] = []
        self._breaks_at = breaks_at

    def submit(self, work: Any, task: Piece) -> Future[Any]:
        if len(self.begun) == self._breaks_at:
            raise BrokenExecutor
        self.begun.append(task.path)
        future: Future[Any] = Future()
        future.set_result(work(task))
        return future


def pieces(*weights: int) -> list[Piece]:
    return [Piece(f"piece {number}", weight) for number, weight in enumerate(weights)]


def paths(tasks: list[Piece]) -> list[str]:
    return [task.path for task in tasks]


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("weights", [(), (1,), (1, 1, 9, 1, 5, 1, 1), (0, 0, 0)])
def test_results_come_in_the_order_of_the_tasks(jobs: int, weights: tuple[int, ...]) -> None:
    tasks = pieces(*weights)
    assert list(Processes(jobs).run(echo, tasks, NO_LOOK)) == paths(tasks)


def test_a_bounded_number_of_tasks_is_ahead() -> None:
    pool, workers = Recorder(), 3
    tasks = pieces(*([1] * 1000), *([500] * 5))
    for taken, _ in enumerate(in_order(pool, workers, echo, tasks), start=1):
        assert len(pool.begun) - taken < workers * (IN_FLIGHT + LARGE)
    assert sorted(pool.begun) == sorted(paths(tasks))


def test_a_task_that_all_would_wait_for_is_begun_first() -> None:
    pool = Recorder()
    tasks = pieces(1, 1, 1, 4, 1, 1, 9)
    assert list(in_order(pool, 2, echo, tasks)) == paths(tasks)
    assert pool.begun[:3] == ["piece 6", "piece 3", "piece 0"]


def collected(results: Iterator[str]) -> tuple[list[str], tuple[str, ...]]:
    """Results, and what was lost."""
    found = []
    try:
        for result in results:
            found.append(result)
    except WorkerLostError as lost:
        return found, lost.unfinished
    return found, ()


def test_what_a_broken_pool_did_before_counts() -> None:
    found, lost = collected(in_order(Recorder(breaks_at=3), 1, echo, pieces(1, 1, 1, 1, 1)))
    assert (found, lost) == (["piece 0", "piece 1", "piece 2"], ("piece 3", "piece 4"))


def test_a_killed_process_loses_its_task_and_none_is_forgotten() -> None:
    tasks = [*pieces(1, 1), Piece("bad"), *pieces(*[1] * 100)[2:]]
    found, lost = collected(Processes(2).run(die_at_bad, tasks, NO_LOOK))
    assert "bad" in lost
    assert sorted((*found, *lost)) == sorted(paths(tasks))


def test_a_defect_in_a_task_is_no_loss() -> None:
    with pytest.raises(ValueError, match="a defect"):
        list(Processes(2).run(fail_at_bad, [Piece("good"), Piece("bad")], NO_LOOK))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="only Linux tells how many threads there are")
def test_beside_another_thread_nothing_is_forked() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert _start_method() == "spawn"
    finally:
        end.set()
        thread.join()
    code = "from submission_checker.executors import _start_method; print(_start_method())"
    answer = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert answer.stdout == "fork\n"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["+a\n", "+b\n", "-a\n", "-b\n", "=\n"], None),
        (["+a\n", "+b\n", "=\n"], None),
        (["+a\n", "+b\n", "+c\n", "-b\n"], "not checked are 2 of 3 systems and code images:\n  a\n  c\n"),
        (["+a\n", "-a\n"], "all was checked, but what is written of the report may be cut off\n"),
        ([], "nothing was checked\n"),
    ],
)
def test_last_words(lines: list[str], told: str | None) -> None:
    assert last_words(lines).endswith(told) if told else last_words(lines) == ""


# The real thing: the checker in several processes


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six systems, one of them with a violation."""
    root = tmp_path_factory.mktemp("executors") / "tree"
    for number in range(ORGANISATIONS):
        leaf = combined(root, organisation=f"org{number}").leaves[0]
    leaf.override("checkpoint.fsync", False)
    return root


@pytest.fixture
def witness(tmp_path: Path) -> Path:
    return tmp_path / "witness"


def environment(witness: Path | None = None) -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, "PYTHONPATH": root, **allowed, spoilt_checker.WITNESS: str(witness or "")}


def run(*command: str | Path, witness: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command with all that it needs; that it ends is a part of what is tested."""
    return subprocess.run(
        list(map(str, command)), env=environment(witness), capture_output=True, text=True, timeout=300
    )


CHECKER = (sys.executable, "-m", "submission_checker")


@pytest.fixture(scope="module")
def report(tree: Path) -> str:
    """What one process says."""
    answer = run(*CHECKER, tree, "--format", "json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["summary"]["leaves"] == ORGANISATIONS
    return answer.stdout


def test_a_killed_process_is_a_fault_at_each_system_that_was_not_checked(tree: Path, witness: Path) -> None:
    answer = run(sys.executable, SCRIPT, "killed_at", "", tree, "--jobs", "2", "--format", "json", witness=witness)
    assert answer.returncode == 3
    faults = json.loads(answer.stdout)["faults"]
    lost = [fault["path"] for fault in faults]
    assert witness.read_text() in lost
    systems = [path for path in lost if "/results/" in path]
    assert len(systems) + json.loads(answer.stdout)["summary"]["leaves"] == ORGANISATIONS
    assert {fault["message"] for fault in faults} == {"not checked: a worker process was killed"}
    assert all(path in answer.stderr for path in lost)
    assert "Traceback" not in answer.stderr


def test_no_process_outlives_the_first(tree: Path) -> None:
    """Where that is killed, the others end, for nobody takes what they find."""
    command = [sys.executable, str(SCRIPT), "kept_waiting", "", str(tree), "--jobs", "3"]
    first = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert first.stdout is not None
    first.stdout.readline()  # a worker has begun
    first.kill()
    output, _ = first.communicate(timeout=100)  # which ends with the last process that holds it
    assert first.returncode == -signal.SIGKILL
    assert b"Traceback" not in output


def ranks(mpirun: str, number: int, *options: str) -> tuple[str, ...]:
    return (mpirun, "-n", str(number), "--oversubscribe", "--bind-to", "none", *options)


@pytest.mark.usefixtures("mpi_python")
@pytest.mark.parametrize("number", [1, 2, 4])
def test_ranks_do_not_change_a_byte(mpirun: str, tree: Path, report: str, number: int) -> None:
    answer = run(*ranks(mpirun, number), *CHECKER, tree, "--executor", "mpi", "--format", "json")
    assert (answer.returncode, answer.stdout) == (1, report)


@pytest.mark.usefixtures("mpi_python")
def test_a_clean_tree_is_clean_on_ranks(mpirun: str, tmp_path: Path) -> None:
    answer = run(*ranks(mpirun, 2), *CHECKER, combined(tmp_path).root, "--executor", "mpi")
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.usefixtures("mpi_python")
def test_the_pool_of_mpi4py_may_start_the_ranks(mpirun: str, tmp_path: Path) -> None:
    root = combined(tmp_path).root
    command = (sys.executable, "-m", "mpi4py.futures", *CHECKER[1:], root, "--executor", "mpi")
    assert run(*ranks(mpirun, 2), *command).stdout == run(*CHECKER, root).stdout


@pytest.mark.usefixtures("mpi_python")
def test_the_pool_of_mpi4py_needs_a_locale_of_utf_8(mpirun: str, tmp_path: Path) -> None:
    root = combined(tmp_path).root
    other = ("env", "LC_ALL=C", "PYTHONUTF8=0", "PYTHONCOERCECLOCALE=0")
    command = (sys.executable, "-m", "mpi4py.futures", *CHECKER[1:], root, "--executor", "mpi")
    answer = run(*other, *ranks(mpirun, 2), *command)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "set LC_ALL=C.UTF-8" in answer.stderr


@pytest.mark.usefixtures("mpi_python")
@pytest.mark.parametrize(
    ("fault", "rank", "options"),
    [
        ("killed_worker", "1", ()),
        ("killed_first", "0", ()),
        ("unnoticed", "1", ("--continuous",)),
        ("unnoticed", "2", ("--with-ft", "ulfm")),
    ],
)
def test_a_killed_rank_names_what_was_not_checked(
    mpirun: str, tree: Path, witness: Path, fault: str, rank: str, options: tuple[str, ...]
) -> None:
    command = (sys.executable, SCRIPT, fault, rank, tree, "--executor", "mpi", "--format", "json")
    answer = run(*ranks(mpirun, 3, *options), *command, witness=witness)
    assert answer.returncode not in (0, 1, 2)
    assert answer.stdout == ""
    assert "nothing was concluded; not checked are" in answer.stderr
    told = [line.strip() for line in answer.stderr.splitlines() if line.startswith("  closed/")]
    assert 0 < len(told) <= ORGANISATIONS
    assert (witness.read_text() in told) == (rank != "0"), "what rank 0 dies at is done"
    assert "Traceback" not in answer.stderr


@pytest.mark.usefixtures("mpi_python")
@pytest.mark.parametrize(
    ("fault", "said"),
    [("unseen", "cannot see {tree}: [Errno 2] No such file or directory"), ("other", "sees another tree at {tree}")],
)
def test_a_rank_that_does_not_see_the_tree_is_named(mpirun: str, tree: Path, fault: str, said: str) -> None:
    command = (sys.executable, SCRIPT, fault, "2", tree, "--executor", "mpi", "--format", "json")
    answer = run(*ranks(mpirun, 3), *command)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"submission-checker: rank 2 on host {os.uname().nodename} {said.format(tree=tree)}" in answer.stderr
    assert "put it on a filesystem that all hosts share" in answer.stderr


@pytest.mark.usefixtures("mpi_python")
def test_a_division_that_nobody_can_list_is_told_as_ever(mpirun: str, tmp_path: Path) -> None:
    root = combined(tmp_path).root
    combined(tmp_path, division="open")
    command = (sys.executable, SCRIPT, "unlisted", "open", root, "--format", "json")
    alone, ranked = run(*command), run(*ranks(mpirun, 2), *command, "--executor", "mpi")
    assert json.loads(alone.stdout)["unreadable"]
    assert (ranked.returncode, ranked.stdout) == (alone.returncode, alone.stdout)


@pytest.mark.usefixtures("mpi_python")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{tree}", "--edition", "9"], "no edition '9'"),
        (["{tree}", "--jobs", "2"], "--jobs is for processes on one machine"),
    ],
)
def test_what_cannot_be_done_ends_all_ranks(mpirun: str, tree: Path, arguments: list[str], said: str) -> None:
    given = [argument.format(tree=tree) for argument in arguments]
    answer = run(*ranks(mpirun, 2), *CHECKER, *given, "--executor", "mpi")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"submission-checker: {said}" in answer.stderr


def test_without_mpi4py_the_way_to_it_is_told(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()  # stands in the way of the real one
    (tmp_path / "mpi4py/__init__.py").write_text("raise ImportError('not here')\n")
    path = os.pathsep.join((str(tmp_path), environment()["PYTHONPATH"]))
    answer = subprocess.run(
        [*CHECKER, str(tree), "--executor", "mpi"],
        env={**environment(), "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "needs mpi4py and an MPI library" in answer.stderr
    assert "pip install 'mlpstorage-rules[mpi]'" in answer.stderr


def test_more_processes_than_the_system_lets_be_are_told_and_none_stays() -> None:
    script = (
        "import resource\n"
        "from pieces import Piece, echo\n"
        "from submission_checker.executors import ExecutorError, Look, Processes\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\n"
        "try:\n"
        "    list(Processes(64).run(echo, [Piece(str(n), 1) for n in range(64)], Look('', tuple)))\n"
        "except ExecutorError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "--jobs 64: 64 processes cannot be had here (Too many open files); give fewer" in done.stdout
