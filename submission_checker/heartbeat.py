"""Notices that a rank is gone where the launcher does not end the others (mpirun --continuous, srun without -K).

Rank 0 and each other rank tell each other that they live. Who hears nothing for long ends the job: never does a rank
wait for one that is no more.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from mpi4py import MPI

from mlpstorage.results.text import clean

BEAT = 2.0
"""Seconds between two signs of life."""
SILENCE = 60.0
"""Seconds without one after which a rank counts as dead; a host that swaps or a reader in native code takes a while."""
FAULT = 3
"""The exit code of the checker for a fault."""
_TAG = 4365


class Heartbeat:
    """Signs of life between rank 0 and the others, sent and heard in a thread."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._peers = range(1, world.Get_size()) if world.Get_rank() == 0 else range(1)
        self._hosts: dict[int, str] = {}
        self._heard = dict.fromkeys(self._peers, time.monotonic())
        self._left: set[int] = set()
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        self._thread.join()

    def _live(self) -> None:
        while not self._leaving.is_set():
            self._say(leaving=False)
            self._hear()
            self._leaving.wait(BEAT)
        self._say(leaving=True)
        while len(self._left) < len(self._peers):  # no message may be under way when MPI ends
            self._hear()
            time.sleep(0.001)

    def _say(self, *, leaving: bool) -> None:
        for peer in self._peers:
            if peer not in self._left:
                self._world.send((socket.gethostname(), leaving), dest=peer, tag=_TAG)

    def _hear(self) -> None:
        now = time.monotonic()
        while self._world.iprobe(tag=_TAG):
            status = MPI.Status()
            host, leaving = self._world.recv(tag=_TAG, status=status)
            self._hosts[status.Get_source()] = host
            self._heard[status.Get_source()] = now
            if leaving:
                self._left.add(status.Get_source())
        for peer, heard in self._heard.items():
            if peer not in self._left and now - heard > SILENCE:
                host = self._hosts.get(peer, "?")
                end_job(self._world, f"rank {peer} on host {host} has not answered for {SILENCE:.0f} s")


def end_job(world: Any, why: str) -> None:
    """End all ranks at once, for one is lost. What was not checked is told by the lookout."""
    with suppress(OSError):  # or the job would not end
        os.write(2, f"submission-checker: fault: {clean(why)}: the job is ended\n".encode(errors="replace"))
    world.Abort(FAULT)
