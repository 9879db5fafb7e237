"""Starts the benchmark, keeps its two logs, follows it, and ends all of it on Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from .. import interrupts

GRACE_SECONDS = 10.0
"""How long the launcher may take to end its ranks, on all hosts, before everything here is killed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the benchmark ended: the launcher's exit status, and whether it was interrupted."""

    status: int
    interrupted: bool


def execute(
    argv: Sequence[str], stdout: Path, stderr: Path, *, first_line: str, on_line: Callable[[str], None]
) -> Ended:
    """Run ``argv`` in a session of its own, both outputs into files, each line of both to ``on_line``.

    ``first_line`` heads the stdout log. An interruption ends the launcher, which ends its ranks; a second Ctrl-C, or
    :data:`GRACE_SECONDS`, kills what is left. Raises OSError where ``argv[0]`` cannot be started.
    """
    with open(stdout, "wb") as out, open(stderr, "wb") as err:
        out.write(first_line.encode() + b"\n")
        out.flush()
        with _Stopper() as stopper:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
            stopper.follow(process)
            assert process.stdout is not None  # noqa: S101 - asked for above
            assert process.stderr is not None  # noqa: S101
            lock = threading.Lock()
            copies = [
                threading.Thread(target=_copy, args=(source, sink, on_line, lock), daemon=True)
                for source, sink in ((process.stdout, out), (process.stderr, err))
            ]
            for copy in copies:
                copy.start()
            status = process.wait()
            for copy in copies:
                # A rank that outlived the launcher would hold the pipe open for ever.
                copy.join(timeout=GRACE_SECONDS)
        return Ended(status, stopper.interrupted)


def _copy(source: BinaryIO, sink: BinaryIO, on_line: Callable[[str], None], lock: threading.Lock) -> None:
    logging = following = True
    for raw in source:
        # A full disk or a closed terminal ends the log or the display, never the reading: a full pipe would stop DLIO.
        if logging:
            try:
                sink.write(raw)
                sink.flush()
            except OSError:
                logging = False
        if following:
            try:
                with lock:
                    on_line(raw.decode("utf-8", "replace").rstrip("\r\n"))
            except OSError:
                following = False


class _Stopper:
    """While active, an interruption ends a process and everything below it instead of this program."""

    def __init__(self) -> None:
        self.interrupted = False
        self._process: subprocess.Popen[bytes] | None = None
        self._handled = interrupts.handled(self._on_signal)
        self._timer: threading.Timer | None = None
        self._below: dict[int, str] = {}

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """The process to end; at once where the interruption came while it was being started."""
        self._process = process
        if self.interrupted and self._timer is None:
            self._end(process)

    def __enter__(self) -> _Stopper:
        self._handled.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self.interrupted:
            interrupts.quiet()  # what else is sent with it must not keep the leaf from being written
        self._handled.__exit__(None, None, None)
        if self._timer is not None:
            self._timer.cancel()
        if self.interrupted and self._process is not None:
            self._kill(self._process)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if self._process is None:
            return
        if self._timer is None:
            self._end(self._process)
        elif number == signal.SIGINT:  # others are sent several at once
            self._kill(self._process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._timer = threading.Timer(GRACE_SECONDS, self._kill, [process])
        self._timer.daemon = True
        self._timer.start()
        # The ranks have process groups of their own: remember them while they can still be found below the launcher.
        self._below.update(descendants(process.pid))
        _signal(process.pid, signal.SIGTERM)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        for pid, started in {**self._below, **descendants(process.pid)}.items():
            # A number may have been given to another process since: the start time tells.
            if _stat(pid)[19:20] == [started]:
                _signal(pid, signal.SIGKILL)
        if process.poll() is None:
            _signal(process.pid, signal.SIGKILL)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def descendants(pid: int) -> dict[int, str]:
    """Processes below one with their start times (/proc, clock ticks since boot); none where there is no /proc."""
    stats = {int(entry): _stat(entry) for entry in _processes()}
    parents = {child: fields[1] for child, fields in stats.items() if fields}
    found: dict[int, str] = {}
    level = {str(pid)}
    while level:
        children = [child for child, parent in parents.items() if parent in level and child not in found]
        found.update({child: stats[child][19] for child in children})
        level = {str(child) for child in children}
    return found


def _processes() -> list[str]:
    try:
        return [entry for entry in os.listdir("/proc") if entry.isdigit()]
    except OSError:
        return []


def _stat(pid: int | str) -> list[str]:
    """Fields of /proc/PID/stat from the state on (parent: 1, start time: 19); empty where the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The command before them stands in parentheses and may itself hold some.
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
