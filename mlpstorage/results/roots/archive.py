"""A results tree in a .tar, .tar.gz or .zip file, read where it lies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from ..text import clean
from .address import Address, UnusableRootError
from .index import IndexedRoot, Member, TooManyEntriesError
from .inflated import inflate
from .positioned import DamagedError, File
from .tar import Tar
from .zipped import Zip

_OPEN = 4
"""Archives that a process keeps open."""
_KINDS = (
    (b"\x1f\x8b", 0, (".gz", ".tgz"), "a gzip file: end its name in .tar.gz"),
    (b"PK\3\4", 0, (".zip",), "a zip archive: end its name in .zip"),
    (b"ustar", 257, (".tar",), "a tar archive: end its name in .tar"),
    (b"\x28\xb5\x2f\xfd", 0, (), "packed by zstd: unpack it, or pack it as .tar.gz"),
    (b"\xfd7zXZ", 0, (), "packed by xz: unpack it, or pack it as .tar.gz"),
    (b"BZh", 0, (), "packed by bzip2: unpack it, or pack it as .tar.gz"),
)
"""Bytes, where they are in a file of some kind, how its name ends, and what to tell of it where that ends otherwise."""
_HEAD = 512


class ArchiveRoot(IndexedRoot):
    """A directory in an archive.

    Modes and owners are passed over. A hard link is the file that it names, where that is in the archive.
    """

    def __init__(self, address: Address) -> None:
        """Open it. Raises UnusableRootError where the archive cannot be used or has no such directory."""
        super().__init__(str(address))
        self._archive = _opened(address.base)
        self._top = address.path
        if self._top not in self._archive.index.directories:
            raise UnusableRootError(f"{clean(self.path)} does not exist: there is no such directory in the archive")

    def _members(self, directory: str) -> Mapping[str, Member]:
        return self._archive.index.members(f"{self._top}/{directory}".strip("/"))

    def _refused(self) -> Iterable[tuple[str, str]]:
        return self._archive.index.refused

    def _pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        return self._archive.pieces(path, member, limit)


def _opened(path: str) -> Tar | Zip:
    """The archive, which this process lists once as long as the file stays the same. Raises UnusableRootError."""
    try:
        info = os.stat(path)
        return _listed(path, (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns))
    except DamagedError as error:
        raise UnusableRootError(f"{clean(path)} cannot be read: {error}{_looks_like(path)}") from None
    except TooManyEntriesError as error:
        raise UnusableRootError(f"{clean(path)} cannot be read: {error}") from None
    except OSError as error:
        raise UnusableRootError(f"{clean(path)} cannot be read: {os.strerror(error.errno or 0)}") from None


@lru_cache(_OPEN)
def _listed(path: str, state: tuple[int, ...]) -> Tar | Zip:
    file = File(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    if path.lower().endswith(".zip"):
        return Zip(file)
    return Tar(file if path.lower().endswith(".tar") else inflate(file))


def _looks_like(path: str) -> str:
    """``; it looks like ...`` where a file begins as one of another kind than its name says; else empty."""
    try:
        head = File(os.open(path, os.O_RDONLY | os.O_NONBLOCK)).read(0, _HEAD)
    except OSError:
        return ""
    for mark, offset, endings, told in _KINDS:
        if head[offset:].startswith(mark) and not path.lower().endswith(endings):
            return f"; it looks like {told}"
    return ""
