"""What the tests of the run-time tool share: running it as a user does, and the real MPI and DLIO where they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlpstorage.checkpointing import command
from mlpstorage.checkpointing.dlio_main import PROBE_MARK

sys.path.insert(0, str(Path(__file__).parent))

from running import Tool, tool_command, tool_environment


@pytest.fixture(autouse=True, scope="session")
def a_lost_terminal_is_not_ignored() -> None:
    """Programs that tests start inherit it where the tests themselves run under nohup, and then rightly stay."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """Runs ``mlpstorage ...`` in an empty directory."""
    here = tmp_path / "work"
    here.mkdir()

    def run(
        *arguments: str, env: Mapping[str, str] | None = None, cwd: Path = here
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            tool_command(*arguments), cwd=cwd, env=tool_environment(env), capture_output=True, text=True, timeout=300
        )

    return run


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The directory that :func:`tool` runs in."""
    return tmp_path / "work"


@pytest.fixture(scope="session")
def dlio_python() -> str:
    """A Python with a DLIO that has the LLM checkpoint workload: MLPSTORAGE_TEST_DLIO_PYTHON, or this one."""
    python = os.environ.get("MLPSTORAGE_TEST_DLIO_PYTHON", sys.executable)
    answer = subprocess.run([python, str(command.ENTRY), "--probe"], capture_output=True, text=True)
    lines = [line.partition(PROBE_MARK)[2] for line in answer.stdout.splitlines() if PROBE_MARK in line]
    probed = json.loads(lines[-1]) if lines else {"capable": False, "problem": answer.stderr.strip()[-200:]}
    if not probed["capable"]:
        pytest.skip(f"no capable DLIO in {python}: {probed['problem']} (see MLPSTORAGE_TEST_DLIO_PYTHON)")
    return python
