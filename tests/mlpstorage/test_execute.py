"""Following a running benchmark, and ending all of it: real processes, and real ranks where mpirun is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from running import tool_environment

from mlpstorage.checkpointing.execute import descendants, execute

RANK = "import os, time; print('rank', os.getpid(), flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + RANK
DRIVER = """
import sys
from pathlib import Path
from mlpstorage.checkpointing import execute
execute.GRACE_SECONDS = 1.0
ended = execute.execute(sys.argv[2:], Path(sys.argv[1]) / "out", Path(sys.argv[1]) / "err", first_line="head",
                        on_line=lambda line: None)
print("ended", ended.interrupted, flush=True)
"""


def test_both_outputs_are_kept_and_followed(tmp_path: Path) -> None:
    lines: list[str] = []
    script = "import sys; print('to out'); print('to err', file=sys.stderr); sys.exit(3)"
    ended = execute(
        [sys.executable, "-c", script], tmp_path / "out", tmp_path / "err", first_line="head", on_line=lines.append
    )
    assert (ended.status, ended.interrupted) == (3, False)
    assert (tmp_path / "out").read_text() == "head\nto out\n"
    assert (tmp_path / "err").read_text() == "to err\n"
    assert sorted(lines) == ["to err", "to out"]


def test_descendants_are_found_and_others_are_not() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        wait_for(lambda: len(descendants(process.pid)) == 1)
        (child,) = descendants(process.pid)
        process.kill()
        os.kill(child, signal.SIGKILL)
    assert os.getppid() not in descendants(os.getpid())


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupt(argv: list[str], ranks: int, directory: Path, number: signal.Signals) -> tuple[list[int], str]:
    """Start ``argv`` through execute() in another process, signal that once all ranks run; their ids and its words."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(directory), *argv], stdout=subprocess.PIPE, text=True, env=tool_environment()
    )
    log = directory / "out"
    wait_for(lambda: log.exists() and log.read_text().count("rank") == ranks)
    driver.send_signal(number)
    output, _ = driver.communicate(timeout=60)
    return [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("rank")], output


def test_ctrl_c_ends_all_ranks_of_a_real_mpirun(mpirun: str, tmp_path: Path) -> None:
    argv = [mpirun, "-n", "2", "-host", "127.0.0.1:2", "--bind-to", "none", sys.executable, "-c", RANK]
    pids, output = interrupt(argv, 2, tmp_path, signal.SIGINT)
    assert output == "ended True\n"
    wait_for(lambda: not any(running(pid) for pid in pids))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_another_signal_that_ends_programs_is_an_interruption_as_well(tmp_path: Path, number: signal.Signals) -> None:
    pids, output = interrupt([sys.executable, "-c", RANK], 1, tmp_path, number)
    assert output == "ended True\n"
    assert not any(running(pid) for pid in pids)


def test_a_rank_that_ignores_the_signal_is_killed(tmp_path: Path) -> None:
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}], start_new_session=True)"
    pids, output = interrupt([sys.executable, "-c", parent], 1, tmp_path, signal.SIGINT)
    assert output == "ended True\n"
    wait_for(lambda: not any(running(pid) for pid in pids))
