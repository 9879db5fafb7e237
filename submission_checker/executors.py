"""Runs the independent pieces of a check: in this process, or in several on this machine.

What comes out is in the order of the tasks, whoever did them and whenever, so that no report depends on it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from .exits import NotCheckedError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.process import BaseProcess

IN_FLIGHT = 16
"""Tasks for each process that are handed out or done before their turn: enough to work on beside a large one."""
LARGE = 4
"""A task that is more than one LARGEth of what each process gets to do is begun first, lest all wait for it."""


class Task(Protocol):
    """A piece of work."""

    @property
    def path(self) -> str:
        """Its place in the tree."""

    @property
    def weight(self) -> int:
        """How much there is to do, in any unit."""


AnyTask = TypeVar("AnyTask", bound=Task)
Result = TypeVar("Result")


class ExecutorError(NotCheckedError):
    """The processes asked for are not to be had; the text says why and what to do."""


class WorkerLostError(Exception):
    """A process died with its work; ``unfinished`` are the paths of the tasks that have no result."""

    def __init__(self, unfinished: Sequence[str]) -> None:
        super().__init__("a worker process was killed")
        self.unfinished = tuple(unfinished)


@dataclass(frozen=True, slots=True)
class Look:
    """What every process must see alike before it works: ``names`` gives the same wherever the same tree is seen."""

    place: str
    names: Callable[[], object]
    """Raises an error that says what is wrong where nothing can be seen."""


class Executor(Protocol):
    """Does the tasks of a check."""

    def run(self, work: Callable[[AnyTask], Result], tasks: Sequence[AnyTask], look: Look) -> Iterator[Result]:
        """Begin with the tasks; gives the results in their order. ``look`` is for other hosts.

        The results end with WorkerLostError, after all that there are, where a process died.
        """


class Pool(Protocol):
    """What tasks are handed to."""

    def submit(self, work: Callable[[AnyTask], Result], task: AnyTask, /) -> Future[Result]:
        """Hand out a task."""


class Processes:
    """Does the tasks in ``jobs`` processes on this machine; one is this process itself."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def run(self, work: Callable[[AnyTask], Result], tasks: Sequence[AnyTask], look: Look) -> Iterator[Result]:
        """Begin with the tasks; gives the results in their order, with WorkerLostError at the end.

        Raises ExecutorError where the system does not let that many processes be.
        """
        processes = min(self._jobs, len(tasks))
        if processes <= 1:
            return map(work, tasks)
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        pool = ProcessPoolExecutor(processes, multiprocessing.get_context(_start_method()), _end_with_the_first)
        try:
            return _with(pool, in_order(pool, processes, work, tasks))
        except OSError as error:  # of descriptors, of processes
            for child in multiprocessing.active_children():
                child.terminate()  # or this process would wait for it at its end
            why = error.strerror or error
            raise ExecutorError(
                f"--jobs {self._jobs}: {processes} processes cannot be had here ({why}); give fewer"
            ) from error


def _with(pool: ProcessPoolExecutor, results: Iterator[Result]) -> Iterator[Result]:
    try:
        yield from results
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def in_order(pool: Pool, workers: int, work: Callable[[AnyTask], Result], tasks: Sequence[AnyTask]) -> Iterator[Result]:
    """Hand out the tasks, a bounded number of them ahead of the one whose result is next. The first are out at once.

    The results end with WorkerLostError, after all that there are, where the pool breaks.
    """
    from concurrent.futures import BrokenExecutor

    large = _large(tasks, workers)
    rest = (number for number in range(len(tasks)) if number not in large)
    order = chain(large, rest)
    ahead = len(large) + workers * IN_FLIGHT
    futures: dict[int, Future[Result]] = {}

    def hand_out() -> None:
        with suppress(BrokenExecutor):  # what cannot be handed out has no future
            for number in islice(order, ahead - len(futures)):
                futures[number] = pool.submit(work, tasks[number])

    def results() -> Iterator[Result]:
        unfinished = []
        try:
            for number, task in enumerate(tasks):
                try:
                    result = futures.pop(number).result()
                except (BrokenExecutor, KeyError):
                    unfinished.append(task.path)
                else:
                    hand_out()
                    yield result
        finally:
            for future in futures.values():
                future.cancel()
        if unfinished:
            raise WorkerLostError(unfinished)

    hand_out()
    return results()


def _large(tasks: Sequence[Task], workers: int) -> list[int]:
    """Numbers of the tasks that all would wait for if they were begun last: fewer than LARGE for each worker."""
    limit = sum(task.weight for task in tasks) / (workers * LARGE)
    return sorted((n for n, task in enumerate(tasks) if task.weight > limit), key=lambda n: -tasks[n].weight)


def _start_method() -> str:
    """A fork shares what is loaded already; beside a second thread it might copy a lock that nobody then releases."""
    try:
        alone = len(os.listdir("/proc/self/task")) == 1
    except OSError:  # no Linux
        alone = False
    return "fork" if alone else "spawn"


def _end_with_the_first() -> None:
    """Ctrl-C reaches all processes of a terminal, and the first one tells; where that is killed, none waits for it."""
    import multiprocessing

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    first = multiprocessing.parent_process()
    if first is not None:
        threading.Thread(target=_end_after, args=(first,), daemon=True).start()


def _end_after(first: BaseProcess) -> None:
    first.join()
    os._exit(1)
