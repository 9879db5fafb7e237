"""The command as a whole: what becomes of an answer that cannot be written, and of Ctrl-C at any moment."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from running import tool_command, tool_environment

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


def test_without_a_standard_output_there_is_no_verdict() -> None:
    command = " ".join(map(shlex.quote, tool_command(*DRY_RUN)))
    answer = subprocess.run(["sh", "-c", f"{command} >&-"], env=tool_environment(), stderr=subprocess.PIPE, text=True)
    assert (answer.returncode, answer.stderr) == (2, "mlpstorage: there is no standard output to answer on\n")


def test_a_reader_that_is_gone_is_no_error() -> None:
    command = subprocess.Popen(
        tool_command(*DRY_RUN), env=tool_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.close()
    with command.stderr:
        assert command.stderr.read() == b""
    assert command.wait() == 141


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
