"""Running the tool as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
Tool = Callable[..., subprocess.CompletedProcess[str]]


def tool_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without anything that would answer for the user; mpirun may run as root."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("MLPSTORAGE_", "AWS_"))}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**kept, "PYTHONPATH": str(ROOT), **root, **(extra or {})}


def tool_command(*arguments: str) -> list[str]:
    """The argv of ``mlpstorage`` with these arguments."""
    return [sys.executable, "-m", "mlpstorage", *arguments]


def alive(group: int) -> list[int]:
    """Processes of a process group that still run; a zombie has ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def listing(directory: Path) -> list[str]:
    """Everything below a directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))
