"""Asks the client hosts for their facts: one process on each, under the launcher that the benchmark will use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .frame import FrameError, decode

COLLECTOR = Path(__file__).with_name("hosts_main.py")
TIMEOUT_SECONDS = 60.0
GRACE_SECONDS = 5.0
"""How long a command may take to end itself and what it has started elsewhere."""


class CollectionError(Exception):
    """The hosts could not be asked; the text says why, with the beginning of the launcher's own message."""


@dataclass(frozen=True, slots=True)
class Collection:
    """What :mod:`.hosts_main` answered: facts of each host, and of the paths as the first host sees them."""

    method: str
    hosts: tuple[dict[str, Any], ...]
    paths: dict[str, Any] | None


def collect(
    prefix: Sequence[str], python: str, request: dict[str, str], timeout: float = TIMEOUT_SECONDS
) -> Collection:
    """Run the collector under ``prefix`` (launcher and arguments for one process a host). Raises CollectionError."""
    output, errors, status = run_captured([*prefix, python, str(COLLECTOR), json.dumps(request)], timeout)
    if status is None:
        raise CollectionError(f"no answer within {timeout:.0f} s{_head(errors)}")
    try:
        document = decode(output)
    except FrameError as error:
        raise CollectionError(f"{error}; the launcher ended with status {status}{_head(errors + output)}") from error
    return Collection("mpi" if document["mpi"] else "local", tuple(document["hosts"]), document["paths"])


def run_captured(argv: Sequence[str], timeout: float) -> tuple[str, str, int | None]:
    """Output, errors and exit status of a command; status None where it was ended for taking too long.

    The command gets a session of its own, so that all of its processes can be ended with it. A command that cannot
    be started has status 127.
    """
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return "", f"{argv[0]}: {error.strerror}", 127
    try:
        output, errors = process.communicate(timeout=timeout)
        return output, errors, process.returncode
    except subprocess.TimeoutExpired:
        return *_end(process), None
    except BaseException:
        _end(process)
        raise


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a command and all of its session; what it had put out."""
    _signal_group(process, signal.SIGTERM)
    try:
        return process.communicate(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _signal_group(process, signal.SIGKILL)
        return process.communicate()


def _signal_group(process: subprocess.Popen[str], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _head(text: str, lines: int = 3) -> str:
    """The first lines that say something: the cause comes first, then the launcher's own words, framed with rules."""
    kept = [line.strip() for line in text.splitlines() if any(char.isalnum() for char in line)]
    return ": " + " / ".join(kept[:lines])[:400] if kept else ""
