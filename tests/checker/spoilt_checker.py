"""The checker with one thing gone wrong in one process. Run as a file: FAULT ARGUMENT, then the checker's own."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from mlpstorage.results.roots.local import LocalRoot
from submission_checker import cli, scan

WITNESS = "WITNESS"
"""Variable that names the file in which a process that dies says what it was at."""


def killed_at(path: str) -> None:
    """The process that is given a system of this name dies with it."""

    @wraps(scan.check_system)
    def check(address: Any, options: Any, system: Any, work: Callable[..., Any] = scan.check_system) -> Any:
        if system.path.endswith(path):
            die(system.path)
        return work(address, options, system)

    scan.check_system = check


def kept_waiting(_: str) -> None:
    """Each process says that it has begun, and takes for ever."""

    @wraps(scan.check_system)
    def check(*_: Any) -> Any:
        os.write(1, b"begun\n")
        time.sleep(3600)

    scan.check_system = check


def killed_worker(rank: str) -> None:
    """A rank dies with the first system that it is given."""
    if os.environ["OMPI_COMM_WORLD_RANK"] == rank:
        killed_at("")


def killed_first(_: str) -> None:
    """Rank 0 dies when the first system is done."""
    from submission_checker.mpi import Ranks

    def done(self: Any, path: str, future: Any, done: Callable[..., Any] = Ranks._done) -> None:
        done(self, path, future)
        die(path)

    Ranks._done = done  # type: ignore[method-assign]


def unnoticed(rank: str) -> None:
    """A rank dies, and the launcher does not care."""
    from submission_checker import heartbeat

    heartbeat.SILENCE = 5.0
    killed_worker(rank)


def unseen(rank: str) -> None:
    """A rank has nothing where the tree is for the others."""
    elsewhere(rank, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))


def other(rank: str) -> None:
    """A rank has another tree there."""
    elsewhere(rank, None)


def elsewhere(rank: str, error: OSError | None) -> None:
    @wraps(scan._first_names)
    def look(address: Any) -> object:
        if error is not None:
            raise error
        return ()

    if os.environ["OMPI_COMM_WORLD_RANK"] == rank:
        scan._first_names = look


def unlisted(name: str) -> None:
    """No process may list a directory."""

    def refusing(usual: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(self: Any, relative: str) -> Any:
            if relative == name:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return usual(self, relative)

        return refuse

    for listing in ("list", "survey"):
        setattr(LocalRoot, listing, refusing(getattr(LocalRoot, listing)))


def die(path: str) -> None:
    with open(os.environ[WITNESS], "w", encoding="utf-8") as file:
        file.write(path)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    fault, argument = sys.argv.pop(1), sys.argv.pop(1)
    globals()[fault](argument)
    sys.exit(cli.main())
