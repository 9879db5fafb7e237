"""A results tree in a directory of this machine."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from ..files import APPLE_DOUBLE, Content, Entry, Root, content_of, names_below, no_regular_file, refusal, too_large

_MAX_KEPT = 32
"""Descriptors of directories that are held open; files of a leaf lie eleven levels deep at most."""
_TOO_DEEP = "/"
"""Stands for the name of a directory below so many, and for no other."""


class LocalRoot(Root):
    """A directory of this machine.

    Every path below it is opened component by component without following links, so that no link leads out of the
    tree, not even one that is put in place while the scan runs.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the directory; a link in ``path`` itself is followed, for the user named it. Raises OSError."""
        self.path = os.path.realpath(path)
        self._fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        self._way: list[tuple[str, int]] = []
        self._last: str | None = None
        self.kept = {}
        self.unlisted = {}

    def close(self) -> None:
        """Release the descriptors."""
        self._forget()
        os.close(self._fd)

    def _forget(self, kept: int = 0) -> None:
        """Close all descriptors on the way but the first ``kept``."""
        self._last = None
        while len(self._way) > kept:
            os.close(self._way.pop()[1])

    def _directory(self, relative: str) -> int:
        """Descriptor of a directory below the root. Those above it are kept too, for files are read leaf by leaf."""
        if relative in ("", "."):
            return self._fd
        if relative == self._last:
            return self._way[-1][1]
        names = names_below(relative)
        shared = 0
        for name, (before, _) in zip(names, self._way, strict=False):
            if name != before:
                break
            shared += 1
        self._forget(shared)
        for name in names[shared:]:
            above = self._way[-1][1] if self._way else self._fd
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            if len(self._way) == _MAX_KEPT:
                os.close(self._way.pop()[1])
                name = _TOO_DEEP
            self._way.append((name, fd))
        self._last = relative
        return self._way[-1][1] if self._way else self._fd

    def list(self, relative: str) -> tuple[list[str], list[str]]:
        """Real directories and all else, in one pass without a stat."""
        directories: list[str] = []
        others: list[str] = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                if entry.name.startswith(APPLE_DOUBLE):
                    continue
                (directories if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
        return sorted(directories), sorted(others)

    def survey(self, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        """As the list; only what is neither directory nor regular file costs a stat."""
        directories: list[str] = []
        others: list[str] = []
        special: list[tuple[str, str]] = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                if entry.name.startswith(APPLE_DOUBLE):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                    continue
                others.append(entry.name)
                if not entry.is_file(follow_symlinks=False):
                    special.append((entry.name, kind_of(entry.stat(follow_symlinks=False).st_mode)))
        return sorted(directories), sorted(others), sorted(special)

    def entries(self, relative: str) -> tuple[Entry, ...]:
        """Everything with its kind and size."""
        found = []
        with os.scandir(self._directory(relative)) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                found.append(
                    Entry(entry.name, kind_of(info.st_mode), info.st_size if stat.S_ISREG(info.st_mode) else 0)
                )
        return tuple(sorted(found, key=lambda entry: entry.name))

    def chunks(self, relative: str, limit: int) -> Iterator[bytes]:
        """The content of a regular file, in pieces of at most 1 MiB."""
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
        """The content of a regular file, opened so that neither a link is followed nor a FIFO waited for."""
        parent, _, name = relative.rpartition("/")
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._directory(parent))
        except OSError as error:
            return refusal(error)
        except ValueError as error:
            return Content("refused", detail=str(error))
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return no_regular_file(kind_of(info.st_mode))
            if info.st_size > limit and not head:
                return too_large(info.st_size, limit)
            return content_of(_read(fd, info.st_size, limit))
        except OSError as error:
            return refusal(error)
        finally:
            os.close(fd)


def _read(fd: int, size: int, limit: int) -> bytes:
    """At most ``limit`` bytes, ``size`` of which are expected: what was asked for counts, not how far a file grows."""
    chunk = os.read(fd, min(size + 1, limit))
    if len(chunk) == size:  # the byte more that was asked for is not there
        return chunk
    chunks, left = [chunk], limit - len(chunk)
    while chunk and left > 0:
        chunk = os.read(fd, min(left, 2**20))
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def kind_of(mode: int) -> str:
    """The kind of a file by its mode, as entries have it."""
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
