"""The command as a whole: what becomes of an answer that cannot be written, and of Ctrl-C at any moment."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import listing, tool_command, tool_environment
from test_execute import running, wait_for

from mlpstorage import output

DRY_RUN = ("checkpointing", "run", "closed", "--model", "llama3-8b", "--dry-run")
COMMANDS = [
    DRY_RUN,
    (*DRY_RUN, "--format", "json"),
    ("checkpointing", "run", "closed", "--model", "llama3-70b", "-n", "8"),
    ("--help",),
    ("rules", "show", "4.3.5"),
    ("systems", "schema"),
    ("--version",),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_an_answer_that_cannot_be_written_is_neither_a_verdict_nor_a_traceback(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        answer = subprocess.run(
            tool_command(*arguments), env=tool_environment(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert answer.returncode == 2
    assert answer.stderr == "mlpstorage: the standard output cannot be written: [Errno 28] No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("closed", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nosuch",), 2),
        (("checkpointing", "run", "closed"), 2),
        (("training", "datasize", "closed"), 2),
        (("init",), 2),
        (("rules", "show", "nosuch"), 2),
        (DRY_RUN, 0),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_standard_error_that_cannot_be_written_changes_no_exit_code(
    arguments: tuple[str, ...], code: int, closed: str
) -> None:
    command = " ".join(map(shlex.quote, tool_command(*arguments)))
    answer = subprocess.run(["sh", "-c", f"{command} {closed}"], env=tool_environment(), stdout=subprocess.DEVNULL)
    assert answer.returncode == code


def test_without_a_standard_output_there_is_no_verdict() -> None:
    command = " ".join(map(shlex.quote, tool_command(*DRY_RUN)))
    answer = subprocess.run(["sh", "-c", f"{command} >&-"], env=tool_environment(), stderr=subprocess.PIPE, text=True)
    assert (answer.returncode, answer.stderr) == (2, "mlpstorage: there is no standard output to answer on\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (DRY_RUN, 141),
        (("rules", "list"), 0),
        (("rules", "matrix", "--format", "json"), 0),
        (("rules", "--help"), 0),
        (("systems", "schema"), 0),
        (("systems", "check", __file__), 1),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_a_reader_that_is_gone_is_no_error(arguments: tuple[str, ...], code: int) -> None:
    command = subprocess.Popen(
        tool_command(*arguments), env=tool_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.close()
    with command.stderr:
        assert command.stderr.read() == b""
    assert command.wait() == code


def test_only_what_is_about_the_output_is_passed_over() -> None:
    with pytest.raises(FileNotFoundError), output.optional():
        Path("/nowhere/at all").read_text()


INTERRUPTED_IMPORT = """
import sys
from importlib import import_module
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "pydantic":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
program, *sys.argv[1:] = sys.argv[1:]
sys.exit(import_module(program).main())
"""


@pytest.mark.parametrize(
    ("program", "arguments", "code", "says"),
    [
        ("mlpstorage.cli", DRY_RUN, 130, "mlpstorage: interrupted"),
        ("mlpstorage.cli", ("rules", "list"), 130, "mlpstorage: interrupted"),
        ("submission_checker.__main__", (".",), 2, "submission-checker: interrupted; nothing was concluded"),
    ],
)
def test_ctrl_c_while_the_program_is_still_being_read(
    program: str, arguments: tuple[str, ...], code: int, says: str
) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, program, *arguments],
        env=tool_environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert (answer.returncode, answer.stdout, answer.stderr) == (code, "", f"{says}\n")


SLOW_DLIO = "#!/bin/sh\necho $$ > {pid}\nexec sleep 600\n"
"""An interpreter that the readiness check waits for."""


def started_on(terminal: int, directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A real start, in a session of its own on a terminal, and the process of its first probe."""
    dlio, pid = directory / "dlio", directory / "pid"
    dlio.mkdir()
    for name in ("python", "dlio_benchmark"):
        (dlio / name).write_text(SLOW_DLIO.format(pid=pid) if name == "python" else f"#!{dlio}/python\n")
        (dlio / name).chmod(0o755)
    (directory / "work").mkdir()
    process = subprocess.Popen(
        tool_command("whatif", "checkpointing", "run", "--model", "llama3-8b", "--dlio-bin-path", str(dlio)),
        cwd=directory / "work", env=tool_environment(), start_new_session=True,
        stdin=terminal, stdout=terminal, stderr=terminal,
    )  # fmt: skip
    wait_for(lambda: pid.exists() and pid.read_text().endswith("\n"))
    return process, int(pid.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("gone", [False, True], ids=["", "the terminal is gone"])
def test_an_interruption_of_the_probes_ends_them(tmp_path: Path, number: signal.Signals, gone: bool) -> None:
    ours, terminal = pty.openpty()
    process, probe = started_on(terminal, tmp_path)
    os.close(terminal)
    if gone:
        os.close(ours)
    process.send_signal(number)
    assert process.wait(timeout=60) == 130
    assert not running(probe)
    assert listing(tmp_path / "work") == []
    if not gone:
        os.close(ours)


INTERRUPTED_TWICE = """
import os, signal
from mlpstorage import interrupts
try:
    with interrupts.interruptible():
        interrupts.defer()
        for number in (signal.SIGHUP, signal.SIGTERM):
            os.kill(os.getpid(), number)
        print("kept back", flush=True)
        try:
            interrupts.resume()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            print("and once only", flush=True)
except KeyboardInterrupt:
    print("raised")
"""
UNDER_NOHUP = """
import os, signal
from mlpstorage import interrupts
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with interrupts.interruptible():
    os.kill(os.getpid(), signal.SIGHUP)
print("runs on")
"""


@pytest.mark.parametrize(
    ("script", "says"), [(INTERRUPTED_TWICE, "kept back\nand once only\nraised\n"), (UNDER_NOHUP, "runs on\n")]
)
def test_signals_that_come_together_are_one_interruption_and_nohup_is_none(script: str, says: str) -> None:
    answer = subprocess.run([sys.executable, "-c", script], env=tool_environment(), capture_output=True, text=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, says, "")
