"""A results tree that is no more than Python objects, so that a million of them can be checked without a disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Union
from unittest.mock import patch

from mlpstorage.results.roots.address import Address
from mlpstorage.results.roots.index import DIRECTORY, FILE, LINK, BadContentError, IndexedRoot, Member
from submission_checker import location, scan, units

BASE = "memory://"
"""How the tree that is checked is named: anything that no other kind of root takes."""


@dataclass(frozen=True, slots=True)
class Special:
    """What is neither file nor directory: its kind, as entries have it."""

    kind: str


@dataclass(frozen=True, slots=True)
class Odd:
    """A regular file that says ``size`` bytes, gives ``data``, and then fails with ``error`` if there is one."""

    size: int
    data: bytes = b""
    error: int = 0


@dataclass(frozen=True, slots=True)
class Locked:
    """A directory that cannot be listed."""

    error: int = errno.EACCES


Node = Union[bytes, Special, Odd, Locked, "Directory"]
Directory = dict[str, Node]
"""Names and what they stand for; a name is whatever a file system might give."""


class MemoryRoot(IndexedRoot):
    """A directory of such a tree."""

    def __init__(self, tree: Directory, path: str = "") -> None:
        super().__init__(f"{BASE}{path}")
        self._tree = tree
        self._known: dict[str, Mapping[str, Member]] = {}
        self._last: tuple[str, Directory] = ("", tree)
        if path:
            self._tree = self._directory(path)
            self._last = ("", self._tree)

    def _directory(self, path: str) -> Directory:
        if self._last[0] == path:
            return self._last[1]
        node: Node = self._tree
        for name in path.split("/") if path else ():
            node = _entered(node, path)
            if name not in node:
                raise _error(errno.ENOENT, path)
            node = node[name]
        self._last = (path, _entered(node, path))
        return self._last[1]

    def _members(self, directory: str) -> Mapping[str, Member]:
        known = self._known.get(directory)
        if known is None:
            known = {name: _member(node) for name, node in self._directory(directory).items()}
            self._known[directory] = known
        return known

    def _refused(self) -> Iterable[tuple[str, str]]:
        return ()

    def _pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        above, _, name = path.rpartition("/")
        node = self._directory(above)[name]
        if isinstance(node, bytes):
            yield node[:limit]
        elif isinstance(node, Odd):
            yield node.data[:limit]
            if node.error == errno.EBADMSG:
                raise BadContentError("its checksum is wrong")
            if node.error:
                raise _error(node.error, path)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _entered(node: Node, path: str) -> Directory:
    if isinstance(node, Locked):
        raise _error(node.error, path)
    if not isinstance(node, dict):
        raise _error(errno.ENOTDIR, path)
    return node


def _member(node: Node) -> Member:
    if isinstance(node, bytes):
        return Member(FILE, len(node))
    if isinstance(node, Odd):
        return Member(FILE, node.size)
    if isinstance(node, Special):
        return Member(node.kind)
    return Member(DIRECTORY)


def load(directory: Path) -> Directory:
    """A tree of the file system; links stay what they are."""
    tree: Directory = {}
    for path in sorted(directory.iterdir()):
        if path.is_symlink():
            tree[path.name] = Special(LINK)
        else:
            tree[path.name] = load(path) if path.is_dir() else path.read_bytes()
    return tree


def copy(tree: Directory) -> Directory:
    """Another tree with the same content."""
    return {name: copy(node) if isinstance(node, dict) else node for name, node in tree.items()}


def opened(tree: Directory) -> AbstractContextManager[object]:
    """While entered, every address that the checker opens is one in this tree."""

    def address_of(text: str | os.PathLike[str]) -> Address:
        return Address(BASE, os.fspath(text).removeprefix(BASE).strip("/"))

    def open_root(address: Address) -> MemoryRoot:
        return MemoryRoot(tree, address.path)

    stack = ExitStack()
    stack.enter_context(patch.object(location, "address_of", address_of))
    for module in (location, scan, units):
        stack.enter_context(patch.object(module, "open_root", open_root))
    return stack
