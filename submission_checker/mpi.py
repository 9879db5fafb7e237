"""Does the tasks of a check on the ranks of an MPI job: ``mpirun -n N submission-checker --executor mpi RESULTS_DIR``.

Rank 0 finds the tasks, hands them out through ``mpi4py.futures`` and reports; the others read and judge. Every rank
opens the tree itself.
"""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import rules
from mlpstorage.results.text import clean

from . import lookout
from .discovery import NothingToCheckError
from .executors import AnyTask, Executor, ExecutorError, Look, Pool, Processes, Result, in_order


class TreeNotSeenError(NothingToCheckError):
    """A rank does not see the tree that rank 0 sees."""


@contextmanager
def ranks(edition: str) -> Iterator[Executor | None]:
    """The executor at rank 0; None at the other ranks, which have then done their part. Raises ExecutorError."""
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor, _core
    except (ImportError, RuntimeError) as error:  # the latter where there is no MPI library
        raise ExecutorError(
            f"--executor mpi needs mpi4py and an MPI library on host {socket.gethostname()} ({error}): "
            "pip install 'mlpstorage-rules[mpi]'"
        ) from error
    world = MPI.COMM_WORLD
    if world.Get_size() == 1:
        yield Processes(1)
        return
    from .heartbeat import Heartbeat, end_job

    # Some libraries of MPI tell a thread here that a rank is gone; all would wait for that thread.
    threading.excepthook = lambda failed: end_job(world, f"a thread failed: {failed.exc_value}")
    with ExitStack() as stack:
        told = None
        if MPI.Query_thread() == MPI.THREAD_MULTIPLE and _core.SharedPool is None:  # else the others do not get here
            stack.enter_context(Heartbeat(world))
        if world.Get_rank() == 0:
            try:
                told = stack.enter_context(_Lookout())
            except OSError as error:
                end_job(world, f"no process can be started: {error}")
        else:
            with suppress(Exception):  # rank 0 meets the same and says so
                rules.load_edition(edition)
        pool: Any = stack.enter_context(MPICommExecutor(world, root=0))
        yield None if pool is None or told is None else Ranks(pool, world.Get_size() - 1, told)


class Ranks:
    """Does the tasks on the other ranks, and keeps account of them in case that this one is ended."""

    def __init__(self, pool: Pool, workers: int, told: _Lookout) -> None:
        self._pool = pool
        self._workers = workers
        self._told = told

    def run(self, work: Callable[[AnyTask], Result], tasks: Sequence[AnyTask], look: Look) -> Iterator[Result]:
        """Begin with the tasks; gives the results in their order.

        They end with TreeNotSeenError where a rank sees another tree than this one.
        """
        self._told.expect([task.path for task in tasks])
        return in_order(self, self._workers, partial(_on_this_rank, look, _digest(look.names()), work), tasks)

    def submit(self, work: Callable[[AnyTask], Result], task: AnyTask) -> Future[Result]:
        """Hand out a task."""
        future = self._pool.submit(work, task)
        future.add_done_callback(partial(self._done, task.path))
        return future

    def _done(self, path: str, future: Future[Any]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._told.done(path)


_seen: set[str] = set()
"""What this rank has seen as rank 0 does."""


def _on_this_rank(look: Look, expected: str, work: Callable[[AnyTask], Result], task: AnyTask) -> Result:
    if expected not in _seen:
        _require(look, expected)
        _seen.add(expected)
    return work(task)


def _require(look: Look, expected: str) -> None:
    from mpi4py import MPI

    who = f"rank {MPI.COMM_WORLD.Get_rank()} on host {socket.gethostname()}"
    cure = "every rank reads the tree by itself: put it on a filesystem that all hosts share"
    try:
        same = _digest(look.names()) == expected
    except Exception as error:
        raise TreeNotSeenError(f"{who} cannot see {clean(look.place)}: {clean(str(error))}; {cure}") from None
    if not same:
        raise TreeNotSeenError(f"{who} sees another tree at {clean(look.place)} than rank 0 does; {cure}")


def _digest(names: object) -> str:
    return hashlib.sha256(repr(names).encode("utf-8", "surrogateescape")).hexdigest()


class _Lookout:
    """The process that speaks if this one cannot any more."""

    def __init__(self) -> None:
        # In a session of its own: what ends this process, or its group, does not end that one.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", lookout.__file__],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0, start_new_session=True,
        )  # fmt: skip
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell("=\n")
        self._process.communicate()

    def expect(self, paths: Sequence[str]) -> None:
        """These are to be checked."""
        self._tell("".join(f"+{clean(path)}\n" for path in paths))

    def done(self, path: str) -> None:
        """This was checked."""
        self._tell(f"-{clean(path)}\n")

    def _tell(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "replace"))
        pipe = self._process.stdin
        with self._lock, suppress(OSError):  # whoever ended the lookout does not end the check
            while pipe is not None and data:
                data = data[pipe.write(data) :]
