"""A results tree that is only a list of names with contents: an archive, or the objects of a bucket.

Whoever wrote the names may have had anything in mind. What no directory of a file system could hold, and what leads
out of one, is kept as a special file: a check tells of it where it would tell of a link or a FIFO, and never reads it.
"""

from __future__ import annotations

import errno
import os
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..files import APPLE_DOUBLE, Content, Entry, Root, content_of, names_below, no_regular_file, refusal, too_large
from ..text import shorten

FILE, DIRECTORY, LINK = "file", "directory", "link"
TWICE = "name that stands there twice"
BOTH = "name of both a file and a directory"
MAX_ENTRIES = 1_000_000
"""Forty times the files and directories of the published round."""
MAX_NAME = 4096
"""Characters of a path; no file system of this kind takes a longer one."""
MAX_NAMES = 256 * 2**20
"""Characters of all paths together, those of the directories on the way included: what a list may take of memory."""
_MAX_REFUSED = 1000
"""Refused names that are kept to be shown."""
_DRIVE = re.compile(r"[A-Za-z]:")
_PIECE = 2**20


class TooManyEntriesError(Exception):
    """There are more names than any tree of results has."""


class BadContentError(Exception):
    """The content of a file cannot be had; the text says why."""


class Member(NamedTuple):
    """What a name stands for: its kind (see :class:`~..files.Entry`), a file's size, and where its content is."""

    kind: str
    size: int = 0
    place: int = 0


_A_DIRECTORY = Member(DIRECTORY)


class Index:
    """Names as the directories that they make up, each with its members by their last name."""

    def __init__(self) -> None:
        self.directories: dict[str, dict[str, Member]] = {"": {}}
        self.refused: list[tuple[str, str]] = []
        """Names that lead to no place in the tree, as they are shown, with what they are."""
        self._entries = self._length = 0

    def add(self, name: str, member: Member) -> None:
        """Add a member by its full name; directories around it come into being. Raises TooManyEntriesError."""
        parts = name.split("/")
        problem = _problem(name, parts)
        parts = [part for part in parts if part not in ("", ".")]
        if not problem and not parts and member.kind != DIRECTORY:
            problem = "name without text"
        if problem:
            self._refuse(name, problem)
        elif member.kind == DIRECTORY:
            self._enter(parts)
        else:
            *above, last = parts
            children = self.directories.get("/".join(above))
            if children is None:
                children = self._enter(above)
            if children is None:
                return  # below a name that was refused itself
            known = children.get(last)
            if known is None:
                self._count(name)
                children[last] = member
            elif known.kind == DIRECTORY:
                self._remove("/".join(parts))
                children[last] = Member(BOTH)
            elif known.kind != BOTH:
                children[last] = Member(TWICE)

    def member(self, name: str) -> Member | None:
        """The member of a full name, if there is one."""
        above, _, last = "/".join(part for part in name.split("/") if part not in ("", ".")).rpartition("/")
        return self.directories.get(above, {}).get(last)

    def members(self, directory: str) -> Mapping[str, Member]:
        """What is in a directory. Raises OSError where there is none."""
        found = self.directories.get(directory)
        if found is not None:
            return found
        around = directory
        while around not in self.directories:
            member = self.member(around)
            if member is not None and member.kind != DIRECTORY:
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
            around = around.rpartition("/")[0]
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), directory)

    def _enter(self, parts: Sequence[str]) -> dict[str, Member] | None:
        """The members of a directory, which is made where it is not there; None where it is no directory."""
        path, children = "", self.directories[""]
        for part in parts:
            known = children.get(part)
            path = f"{path}/{part}" if path else part
            if known is None:
                self._count(path)
                children[part] = _A_DIRECTORY
                self.directories[path] = {}
            elif known.kind != DIRECTORY:
                children[part] = Member(BOTH)
                return None
            children = self.directories[path]
        return children

    def _remove(self, path: str) -> None:
        pending = [path]
        while pending:
            path = pending.pop()
            children = self.directories.pop(path)
            pending += [f"{path}/{name}" for name, member in children.items() if member.kind == DIRECTORY]

    def _refuse(self, name: str, problem: str) -> None:
        self._count(name)
        if len(self.refused) < _MAX_REFUSED:
            self.refused.append((shorten(name), problem))

    def _count(self, path: str) -> None:
        self._entries += 1
        self._length += len(path)
        if self._entries > MAX_ENTRIES:
            raise TooManyEntriesError(f"it holds more than {MAX_ENTRIES} files and directories")
        if self._length > MAX_NAMES:
            raise TooManyEntriesError(f"the paths in it have more than {MAX_NAMES} characters together")


def _problem(name: str, parts: Sequence[str]) -> str:
    """Why a name leads nowhere in a tree; empty if it does."""
    if name.startswith("/"):
        return "absolute name"
    if ".." in parts:
        return "name with '..'"
    if "\\" in name:
        return "name with a backslash"
    if _DRIVE.match(name):
        return "name with a drive letter"
    if "\0" in name:
        return "name with a NUL character"
    if len(name) > MAX_NAME:
        return f"name longer than {MAX_NAME} characters"
    return ""


class IndexedRoot(Root):
    """A tree of named members. Subclasses know them, and how to get the content of one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.kept = {}
        self.unlisted = {}

    @abstractmethod
    def _members(self, directory: str) -> Mapping[str, Member]:
        """What is in a directory (a path without empty names). Raises OSError."""

    @abstractmethod
    def _refused(self) -> Iterable[tuple[str, str]]:
        """Names that have no place in the tree, with what they are: they are shown at its top."""

    @abstractmethod
    def _pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        """The first ``limit`` bytes of a regular file, at least one, in pieces of at most a megabyte.

        Raises BadContentError.
        """

    def close(self) -> None:
        """Nothing is held open for this tree alone."""

    def list(self, relative: str) -> tuple[list[str], list[str]]:
        """Directories and all else."""
        directories, others, _ = self.survey(relative)
        return list(directories), list(others)

    def survey(self, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        """Directories, all else, and what of that is no regular file."""
        found = [(name, member) for name, member in self._all(relative) if not name.startswith(APPLE_DOUBLE)]
        return (
            sorted(name for name, member in found if member.kind == DIRECTORY),
            sorted(name for name, member in found if member.kind != DIRECTORY),
            sorted((name, member.kind) for name, member in found if member.kind not in (DIRECTORY, FILE)),
        )

    def entries(self, relative: str) -> tuple[Entry, ...]:
        """Everything with its kind and size."""
        return tuple(Entry(name, member.kind, member.size) for name, member in sorted(self._all(relative)))

    def _all(self, relative: str) -> Iterator[tuple[str, Member]]:
        directory = "/".join(names_below(relative))
        yield from self._members(directory).items()
        if not directory:
            yield from ((name, Member(kind)) for name, kind in self._refused())

    def _file(self, relative: str) -> Member | Content:
        """A regular file, or the answer to who asks for its content."""
        *above, name = names_below(relative) or [""]
        try:
            member = self._members("/".join(above)).get(name)
        except OSError as error:
            return refusal(error)
        if member is None:
            return refusal(OSError(errno.ENOENT, ""))
        if member.kind == LINK:
            return refusal(OSError(errno.ELOOP, ""))
        return member if member.kind == FILE else no_regular_file(member.kind)

    def chunks(self, relative: str, limit: int) -> Iterator[bytes]:
        """The content of a regular file, in pieces of at most 1 MiB."""
        file = self._file(relative)
        if isinstance(file, Content):
            raise OSError(errno.EINVAL, file.detail, relative)
        try:
            if min(file.size, limit) > 0:
                yield from self._pieces(relative, file, min(file.size, limit))
        except BadContentError as error:
            raise OSError(errno.EIO, str(error), relative) from error
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), relative) from error

    def read(self, relative: str, limit: int, *, head: bool = False) -> Content:
        """The content of a regular file."""
        try:
            file = self._file(relative)
        except ValueError as error:
            return Content("refused", detail=str(error))
        if isinstance(file, Content):
            return file
        if file.size > limit and not head:
            return too_large(file.size, limit)
        wanted = min(file.size, limit)
        try:
            return content_of(b"".join(self._pieces(relative, file, wanted)) if wanted > 0 else b"")
        except BadContentError as error:
            return Content("refused", detail=str(error))
        except OSError as error:
            return refusal(error)
