"""Writing into a run leaf: whole files or none, names reserved so that two invocations never share one leaf."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from . import layout


def write_text(path: Path, text: str) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the whole new one. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """:func:`write_text` of indented JSON. NaN is refused (ValueError): other readers would choke on it."""
    write_text(path, json.dumps(document, indent=2, allow_nan=False) + "\n")


def reserve_leaf(workload: Path, start: datetime) -> Path:
    """Make the directory of one invocation, named by its local start time, under the workload directory.

    The directory is made exclusively; where the name is taken, the next seconds are tried. Raises FileExistsError
    after ``layout.RESERVE_ATTEMPTS`` more names, OSError where it cannot be made.
    """
    workload.mkdir(parents=True, exist_ok=True)
    for bump in range(layout.RESERVE_ATTEMPTS + 1):
        leaf = workload / (start + timedelta(seconds=bump)).strftime(layout.TIMESTAMP_FORMAT)
        try:
            leaf.mkdir()
        except FileExistsError:
            continue
        return leaf
    taken = f"the names of the {layout.RESERVE_ATTEMPTS} seconds from {start:%H:%M:%S} are taken"
    raise FileExistsError(f"{workload}: {taken}")
