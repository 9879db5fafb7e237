"""A results tree that a stranger wrote, wherever it lies: what a reader may ask of it, and what it is told.

Each kind of place has an implementation in ``roots``. For all of them: never out of the tree, never blocking, never
without bound, and nothing writes.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from .layout import PLACEHOLDER_TEXT

MAX_JSON_BYTES = 64 * 2**20
"""Ten times the largest metadata file seen (6 MB, 1,000 hosts)."""
MAX_YAML_BYTES = 4 * 2**20
"""System descriptions and DLIO configurations are a few kilobytes; YAML is slow to parse."""
MAX_LOG_BYTES = 2**20
"""Only the head of a log is read."""
APPLE_DOUBLE = "._"
"""Begins the name of a copy of a file's attributes, which macOS writes where a file system cannot hold them."""
PLACEHOLDER_MAX_BYTES = 32
LARGE_FILE_POINTER = "it is a Git LFS pointer, not the file itself"
"""What is told of a file that stands for its content as a placeholder does, though nobody pruned it on purpose."""
_POINTER_START = b"version https://git-lfs"
_POINTER_MAX_BYTES = 1024

State = Literal["ok", "missing", "empty", "damaged", "refused", "placeholder"]


@dataclass(slots=True)
class Content:
    """What opening a file gave: the bytes where ``state`` is 'ok', else why there are none."""

    state: State
    data: bytes = b""
    detail: str = ""


@dataclass(slots=True)
class Entry:
    """One name in a directory: 'file', 'directory', 'link', or the kind of special file. ``size`` is a file's."""

    name: str
    kind: str
    size: int = 0


class Root(ABC):
    """The directory that a scan must not leave.

    Paths are relative with forward slashes; file names that are no UTF-8 travel as surrogate escapes, as os gives them.
    """

    path: str
    """Where it lies, to be shown."""
    kept: dict[str, Any]
    """Parsed files that wait for their second reader, by path."""
    unlisted: dict[str, str]
    """Directories that a reader of leaves could not list, with the reason."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release what it holds open."""

    @abstractmethod
    def list(self, relative: str) -> tuple[list[str], list[str]]:
        """Names of the real directories and of everything else in a directory, each sorted; links are not followed.

        Copies of attributes (APPLE_DOUBLE) are left out: they are named like the files that they lie beside.
        Raises OSError where it cannot be listed.
        """

    @abstractmethod
    def survey(self, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        """As :meth:`list`, and which of the second names are no regular files, with their kind. Sizes are not read.

        Raises OSError where it cannot be listed.
        """

    @abstractmethod
    def entries(self, relative: str) -> tuple[Entry, ...]:
        """Everything in a directory with its kind, sorted by name; links are not followed.

        Raises OSError where it cannot be listed.
        """

    @abstractmethod
    def chunks(self, relative: str, limit: int) -> Iterator[bytes]:
        """The content of a regular file piece by piece, at most ``limit`` bytes. Raises OSError, with the file name."""

    @abstractmethod
    def read(self, relative: str, limit: int, *, head: bool = False) -> Content:
        """The content of a regular file of at most ``limit`` bytes (with ``head``: its first ``limit`` bytes)."""


def names_below(relative: str) -> list[str]:
    """The names that a relative path consists of. Raises ValueError where it does not lead below its root."""
    names = relative.split("/")
    if relative.startswith("/") or ".." in names:
        raise ValueError(f"not below the results directory: {relative}")
    return [name for name in names if name not in ("", ".")]


def content_of(data: bytes) -> Content:
    """Bytes that were read, unless they are none or a placeholder."""
    if not data:
        return Content("empty", detail="the file is empty")
    if len(data) <= PLACEHOLDER_MAX_BYTES and data.strip() == PLACEHOLDER_TEXT:
        return Content("placeholder", detail=f"its content was replaced by '{PLACEHOLDER_TEXT.decode()}'")
    if len(data) <= _POINTER_MAX_BYTES and data.startswith(_POINTER_START):
        return Content("placeholder", detail=LARGE_FILE_POINTER)
    return Content("ok", data)


def refusal(error: OSError) -> Content:
    """Why a file could not be opened."""
    if error.errno == errno.ENOENT:
        return Content("missing", detail="there is no such file")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Content("refused", detail="it is, or lies behind, a symbolic link or a file; links are not followed")
    return Content("refused", detail=f"it cannot be opened: {os.strerror(error.errno or 0)}")


def no_regular_file(kind: str) -> Content:
    """The answer where something else has the name of a file."""
    return Content("refused", detail=f"it is a {kind}, not a regular file")


def too_large(size: int, limit: int) -> Content:
    """The answer where a file is larger than its reader takes."""
    return Content("refused", detail=f"it has {size} bytes; at most {limit} are read")
