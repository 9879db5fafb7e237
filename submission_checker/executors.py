"""Runs the independent pieces of a check: in this process, or in several on this machine.

What comes out is in the order of the tasks, whoever did them and whenever, so that no report depends on it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

IN_FLIGHT = 16
"""Tasks for each process that are handed out or done before their turn: enough to work on beside a large one."""


class WorkerLostError(Exception):
    """A process died with its work; ``unfinished`` are the numbers of the tasks that have no result."""

    def __init__(self, unfinished: Sequence[int]) -> None:
        super().__init__("a worker process was killed")
        self.unfinished = tuple(unfinished)


def run(work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Results in the order of the tasks, whatever the number of processes.

    Raises WorkerLostError, after all results that there are, where a process died.
    """
    processes = min(jobs, len(tasks))
    if processes <= 1:
        yield from map(work, tasks)
        return
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context(_start_method()), _dies_silently)
    try:
        yield from _in_order(pool, work, tasks, processes * IN_FLIGHT)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor, work: Callable[[Task], Result], tasks: Sequence[Task], window: int
) -> Iterator[Result]:
    """Hand out the tasks, at most ``window`` ahead of the one whose result is next."""
    lost: list[int] = []
    flying: deque[Future[Result]] = deque()
    handed = 0
    for number in range(len(tasks)):
        try:
            while handed < len(tasks) and handed - number < window:
                flying.append(pool.submit(work, tasks[handed]))
                handed += 1
        except BrokenProcessPool:
            pass
        if not flying:
            lost.extend(range(number, len(tasks)))
            break
        try:
            result = flying.popleft().result()
        except BrokenProcessPool:
            lost.append(number)
        else:
            yield result
    if lost:
        raise WorkerLostError(lost)


def _start_method() -> str:
    """A fork shares what is loaded already; beside a second thread it might copy a lock that nobody then releases."""
    try:
        alone = len(os.listdir("/proc/self/task")) == 1
    except OSError:  # no Linux
        alone = False
    return "fork" if alone else "spawn"


def _dies_silently() -> None:
    """Ctrl-C reaches all processes of a terminal; the first one says so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
