"""Finding the root of a results tree and what is in it: one walk, nothing parsed, no link followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean

RESULTS = "results"
SYSTEMS = "systems"
LEVELS = ("division", "submitter", RESULTS, "system", "family")
"""What the directories of a path below the root are, outermost first, down to the levels of the family."""


class NothingToCheckError(Exception):
    """The directory holds no submission; the text says what was looked for."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One run leaf. ``path`` is relative to the root, as the file system names it; ``files`` are its non-directories.

    ``command`` is what was run (run, datagen, datasize). Outside any tree ``division`` and ``workload`` are empty.
    """

    path: str
    files: tuple[str, ...]
    division: str = ""
    system_path: str = ""
    workload: str = ""
    command: str = layout.RUN

    @property
    def name(self) -> str:
        """The leaf's own name, its time stamp."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class WorkloadDirectory:
    """One workload directory of a family with its leaves, by command and then in the order of their names.

    ``commands`` are the directories of its command level; empty for a family that has none.
    """

    path: str
    family: str
    leaves: tuple[Leaf, ...]
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemDirectory:
    """One system of a submitter: its description's path and its workload directories."""

    division: str
    submitter: str
    name: str
    path: str
    description: str
    workloads: tuple[WorkloadDirectory, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """The root of a tree and the part of it that was asked for, as names below the root (empty: all).

    ``kind``: 'leaf' and 'workload' are directories outside any tree, ``scope`` is then their own name.
    """

    root: str
    scope: tuple[str, ...] = ()
    kind: Literal["tree", "leaf", "workload"] = "tree"

    @property
    def is_leaf(self) -> bool:
        """The scope names one leaf of a tree."""
        return self.kind == "tree" and len(self.scope) == leaf_depth(self.scope)


@dataclass(slots=True)
class Listing:
    """What the walk found. ``remarks``: what was passed over and why; ``unreadable``: what could not be listed."""

    systems: list[SystemDirectory] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    @property
    def leaves(self) -> int:
        """Number of leaves found."""
        return sum(len(workload.leaves) for system in self.systems for workload in system.workloads)


def leaf_depth(parts: Sequence[str]) -> int:
    """Number of names from the division down to a leaf, for a path that reaches its family (else more than any)."""
    levels = layout.FAMILY_LEVELS.get(parts[len(LEVELS) - 1]) if len(parts) >= len(LEVELS) else None
    return 99 if levels is None else len(LEVELS) + len(levels) + 1


def locate(path: str | os.PathLike[str]) -> Location:
    """The root of the tree that ``path`` is, or lies in; a leaf or workload directory may stand alone.

    Raises NothingToCheckError, with the reason, for anything else.
    """
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        what = "is not a directory" if os.path.exists(real) else "does not exist"
        raise NothingToCheckError(f"{clean(os.fspath(path))} {what}: give a results directory")
    try:
        location = _located(real)
    except OSError as error:
        raise NothingToCheckError(f"{clean(real)} cannot be read: {os.strerror(error.errno or 0)}") from error
    if location is None:
        raise NothingToCheckError(
            f"{clean(os.fspath(path))} holds no submission: neither {' nor '.join(f'{d}/' for d in layout.DIVISIONS)}"
            " is in it, it is no part of a results tree, and no run leaf"
        )
    return location


def _located(real: str) -> Location | None:
    with Root(real) as root:
        children = root.list("")[0]
    if any(name in layout.DIVISIONS for name in children):
        return Location(real)
    parts = [part for part in real.split(os.sep) if part]
    for index in range(len(parts) - 1, -1, -1):
        if _has_shape(parts[index:], real):
            below = parts[index:]
            below = below[: min(len(below), leaf_depth(below))]
            return Location(os.sep + os.sep.join(parts[:index]), tuple(below))
    parent, name = os.path.split(real)
    if _looks_like_leaf(real):
        return Location(parent, (name,), "leaf")
    if any(_looks_like_leaf(os.path.join(real, child)) for child in children):
        return Location(parent, (name,), "workload")
    return None


def _has_shape(parts: Sequence[str], real: str) -> bool:
    """Whether path components look like ``closed/<org>/results/<system>/<family>/...``; short ones by content."""
    if parts[0] not in layout.DIVISIONS:
        return False
    if len(parts) > 2:
        return parts[2] in (RESULTS, SYSTEMS) and (len(parts) < 5 or parts[4] in layout.FAMILIES)
    submitters = [real] if len(parts) == 2 else [entry.path for entry in os.scandir(real) if entry.is_dir()]
    return any(os.path.isdir(os.path.join(submitter, RESULTS)) for submitter in submitters)


def _looks_like_leaf(directory: str) -> bool:
    try:
        return _looks_like_run(os.listdir(directory))
    except OSError:
        return False


def walk(root: Root, scope: Sequence[str] = ()) -> Listing:
    """All systems and their workload directories below the root, in the order of their paths."""
    walker = _Walker(root, scope)
    for division in walker.names("", 0):
        if division not in layout.DIVISIONS:
            continue
        for submitter in walker.names(division, 1):
            results = f"{division}/{submitter}/{RESULTS}"
            if RESULTS not in walker.names(f"{division}/{submitter}", 2):
                continue
            for system in walker.names(results, 3):
                walker.system(division, submitter, system)
    return walker.listing


def lone_leaf(root: Root, name: str) -> Leaf:
    """A leaf outside any tree. Raises OSError."""
    return Leaf(name, tuple(root.list(name)[1]))


def lone_workload(root: Root, name: str) -> WorkloadDirectory:
    """A workload directory outside any tree. Raises OSError."""
    walker = _Walker(root, ())
    return WorkloadDirectory(name, layout.CHECKPOINTING, tuple(walker.leaves(name, "", "", name)))


class _Walker:
    """Lists directories, restricted to a scope, and keeps account of what was passed over."""

    def __init__(self, root: Root, scope: Sequence[str]) -> None:
        self._root = root
        self._scope = scope
        self.listing = Listing()

    def _list(self, path: str) -> tuple[list[str], list[str]]:
        try:
            return self._root.list(path)
        except OSError as error:
            self.listing.unreadable.append(f"{clean(path)}: {os.strerror(error.errno or 0)}")
            return [], []

    def names(self, path: str, level: int) -> list[str]:
        """Directories below ``path`` at a level of the tree, without dot names and what is out of scope."""
        names = [name for name in self._list(path)[0] if not name.startswith(".")]
        if level < len(self._scope):
            return [name for name in names if name == self._scope[level]]
        return names

    def system(self, division: str, submitter: str, name: str) -> None:
        """Add one system with what its families' discoverers find."""
        path = f"{division}/{submitter}/{RESULTS}/{name}"
        workloads: list[WorkloadDirectory] = []
        for family in self.names(path, 4):
            if family in layout.FAMILY_LEVELS:
                workloads.extend(self.family(family, f"{path}/{family}", division, path))
        description = str(layout.system_description(division, submitter, name))
        self.listing.systems.append(SystemDirectory(division, submitter, name, path, description, tuple(workloads)))

    def family(self, family: str, path: str, division: str, system_path: str) -> Iterator[WorkloadDirectory]:
        """The workload directories of one family, at the depth that the family has."""
        levels = layout.FAMILY_LEVELS[family]
        above = len(levels) - (layout.COMMAND in levels)
        for below in self._below(path, above, len(LEVELS)):
            workload = below.rpartition("/")[2]
            level = len(LEVELS) + above
            if layout.COMMAND not in levels:
                leaves = tuple(self.leaves(below, division, system_path, workload, level=level))
                yield WorkloadDirectory(below, family, leaves)
                continue
            commands = self.names(below, level)
            found = (
                leaf
                for command in commands
                for leaf in self.leaves(f"{below}/{command}", division, system_path, workload, command, level + 1)
            )
            yield WorkloadDirectory(below, family, tuple(found), tuple(commands))

    def _below(self, path: str, depth: int, level: int) -> Iterator[str]:
        """Paths of the directories ``depth`` levels below."""
        if not depth:
            yield path
            return
        for name in self.names(path, level):
            yield from self._below(f"{path}/{name}", depth - 1, level + 1)

    def leaves(
        self, path: str, division: str, system_path: str, workload: str, command: str = layout.RUN, level: int = 6
    ) -> Iterator[Leaf]:
        """The leaves of a directory: every directory that a run could have left."""
        for name in self.names(path, level):
            directories, files = self._list(f"{path}/{name}")
            visible = [entry for entry in (*directories, *files) if not entry.startswith(".")]
            if not visible:
                self.listing.remarks.append(f"{clean(path)}/{clean(name)}: holds no result files; not judged")
            elif layout.leaf_time(name) is None and not _looks_like_run(files):
                self.listing.remarks.append(f"{clean(path)}/{clean(name)}: is not a run leaf; not judged")
            else:
                yield Leaf(f"{path}/{name}", tuple(files), division, system_path, workload, command)


def _looks_like_run(files: Sequence[str]) -> bool:
    return layout.SUMMARY in files or any(name.endswith("_metadata.json") for name in files)
