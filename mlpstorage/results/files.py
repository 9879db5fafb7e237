"""Reading files of a results tree that a stranger wrote: never out of the root, never blocking, never without bound.

Every path below the root is opened component by component without following links, so that no link leads out of the
tree, not even one that is put in place while the scan runs. Nothing here writes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import TracebackType
from typing import Any, Literal, Self

from .layout import PLACEHOLDER_TEXT

MAX_JSON_BYTES = 64 * 2**20
"""Ten times the largest metadata file seen (6 MB, 1,000 hosts)."""
MAX_YAML_BYTES = 4 * 2**20
"""System descriptions and DLIO configurations are a few kilobytes; YAML is slow to parse."""
MAX_LOG_BYTES = 2**20
"""Only the head of a log is read."""
PLACEHOLDER_MAX_BYTES = 32

State = Literal["ok", "missing", "empty", "damaged", "refused", "placeholder"]


@dataclass(frozen=True, slots=True)
class Content:
    """What opening a file gave: the bytes where ``state`` is 'ok', else why there are none."""

    state: State
    data: bytes = b""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory: 'file', 'directory', 'link', or the kind of special file. ``size`` is a file's."""

    name: str
    kind: str
    size: int = 0


class Root:
    """The directory that a scan must not leave.

    Paths are relative with forward slashes; file names that are no UTF-8 travel as surrogate escapes, as os gives them.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the directory; a link in ``path`` itself is followed, for the user named it. Raises OSError."""
        self.path = os.path.realpath(path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        self._last: tuple[str, int] | None = None
        self.kept: dict[str, Any] = {}
        """Parsed files that wait for their second reader, by path."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the descriptors."""
        self._forget()
        os.close(self._fd)

    def _forget(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None

    def _directory(self, relative: str) -> int:
        """Descriptor of a directory below the root; the last one is kept, for files are read leaf by leaf."""
        if relative in ("", "."):
            return self._fd
        if self._last is not None and self._last[0] == relative:
            return self._last[1]
        parts = PurePosixPath(relative).parts
        if PurePosixPath(relative).is_absolute() or ".." in parts:
            raise ValueError(f"not below the results directory: {relative}")
        fd = os.dup(self._fd)
        for part in parts:
            try:
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        self._forget()
        self._last = (relative, fd)
        return fd

    def list(self, relative: str) -> tuple[list[str], list[str]]:
        """Names of the real directories and of everything else in a directory, each sorted; links are not followed.

        Raises OSError where it cannot be listed.
        """
        directories: list[str] = []
        others: list[str] = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                (directories if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
        return sorted(directories), sorted(others)

    def survey(self, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        """As :meth:`list`, and which of the second names are no regular files, with their kind. Sizes are not read.

        Raises OSError where it cannot be listed.
        """
        directories: list[str] = []
        others: list[str] = []
        special: list[tuple[str, str]] = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                    continue
                others.append(entry.name)
                if not entry.is_file(follow_symlinks=False):
                    special.append((entry.name, _kind(entry.stat(follow_symlinks=False).st_mode)))
        return sorted(directories), sorted(others), sorted(special)

    def entries(self, relative: str) -> tuple[Entry, ...]:
        """Everything in a directory with its kind, sorted by name; links are not followed.

        Raises OSError where it cannot be listed.
        """
        found = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                found.append(Entry(entry.name, _kind(info.st_mode), info.st_size if stat.S_ISREG(info.st_mode) else 0))
        return tuple(sorted(found, key=lambda entry: entry.name))

    def chunks(self, relative: str, limit: int) -> Iterator[bytes]:
        """The content of a regular file piece by piece, at most ``limit`` bytes. Raises OSError, with the file name."""
        parent, _, name = relative.rpartition("/")
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._directory(parent))
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise OSError(errno.EINVAL, "it is not a regular file")
                left = limit
                while left > 0 and (chunk := os.read(fd, min(left, 2**20))):
                    yield chunk
                    left -= len(chunk)
            finally:
                os.close(fd)
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), relative) from error

    def read(self, relative: str, limit: int, *, head: bool = False) -> Content:
        """The content of a regular file of at most ``limit`` bytes (with ``head``: its first ``limit`` bytes)."""
        parent, _, name = relative.rpartition("/")
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._directory(parent))
        except OSError as error:
            return _refusal(error)
        except ValueError as error:
            return Content("refused", detail=str(error))
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return Content("refused", detail=f"it is a {_kind(info.st_mode)}, not a regular file")
            if info.st_size > limit and not head:
                return Content("refused", detail=f"it has {info.st_size} bytes; at most {limit} are read")
            return _content(_read(fd, limit))
        except OSError as error:
            return _refusal(error)
        finally:
            os.close(fd)


def _read(fd: int, limit: int) -> bytes:
    """At most ``limit`` bytes: the size that was asked for counts, not the one that a growing file reaches."""
    chunks, left = [], limit
    while left > 0 and (chunk := os.read(fd, min(left, 2**20))):
        chunks.append(chunk)
        left -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _content(data: bytes) -> Content:
    if not data:
        return Content("empty", detail="the file is empty")
    if len(data) <= PLACEHOLDER_MAX_BYTES and data.strip() == PLACEHOLDER_TEXT:
        return Content("placeholder", detail=f"its content was replaced by '{PLACEHOLDER_TEXT.decode()}'")
    return Content("ok", data)


def _refusal(error: OSError) -> Content:
    if error.errno == errno.ENOENT:
        return Content("missing", detail="there is no such file")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Content("refused", detail="it is, or lies behind, a symbolic link or a file; links are not followed")
    return Content("refused", detail=f"it cannot be opened: {os.strerror(error.errno or 0)}")


def _kind(mode: int) -> str:
    names = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "FIFO",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "character device",
        stat.S_IFBLK: "block device",
    }
    return names.get(stat.S_IFMT(mode), "special file")
