"""Finding what is in a results tree: one walk, nothing parsed, no link followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from sys import intern

from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.images import LEGACY, POOL
from mlpstorage.results.text import clean

from .exits import NotCheckedError
from .leaf import Leaf, joined, near
from .listing import (
    LEVELS,
    RESULTS,
    SYSTEMS,
    UNLISTED,
    CommandDirectory,
    Entries,
    FamilyDirectory,
    Listing,
    Obstacle,
    Stray,
    SubmitterDirectory,
    SystemDirectory,
    WorkloadDirectory,
)


class NothingToCheckError(NotCheckedError):
    """The directory holds no submission; the text says what was looked for."""


Keep = Callable[[SystemDirectory], SystemDirectory]
"""Given a system, gives what a listing keeps of it."""


def _whole(system: SystemDirectory) -> SystemDirectory:
    return system


def walk(root: Root, scope: Sequence[str] = (), keep: Keep = _whole) -> Listing:
    """All submitters, systems and workload directories below the root, in the order of their paths.

    Each directory is listed once. With a scope only what lies on the way to it and below it is gone into. ``keep`` is
    given each system, as soon as it is known, and gives what the listing keeps of it.
    """
    walker = _Walker(root, scope, keep)
    listing = walker.listing
    listing.root = walker.entries("", listing.obstacles)
    for name in listing.root.visible:
        if name.lower() in layout.DIVISIONS:
            if not walker.leaves_out(name, 0):
                walker.division(name)
        elif layout.leaf_time(name) is None:
            listing.pools.append(walker.entries(name, listing.obstacles))
    return listing


def lone_leaf(root: Root, name: str) -> Leaf:
    """A leaf by its path, judged by itself, or with the directory beside it that holds the rest. Raises OSError."""
    walker = _Walker(root)
    above, _, own = name.rpartition("/")
    command = above.rpartition("/")[2]
    known = command.lower() if command.lower() in layout.COMMANDS else layout.RUN
    leaf = walker.leaf(name, "", "", "", known, [])
    if leaf.problem:
        raise OSError(0, leaf.problem, clean(name))
    beside = [other for other in walker.entries(above, []).visible if other != own and near(own, other, 2)]
    others = (walker.leaf(f"{above}/{other}" if above else other, "", "", "", known, []) for other in beside)
    return next(whole for whole in joined([leaf, *others]) if name in (whole.path, whole.rest))


def description_path(root: Root, division: str, submitter: str, system: str) -> str:
    """Where a system's description lies, or should."""
    above = f"{division}/{submitter}"
    try:
        name = layout.spelt(root.list(above)[0], SYSTEMS)
    except OSError:
        name = ""
    return f"{above}/{name or SYSTEMS}/{system}.yaml"


def lone_workload(root: Root, name: str, family: str) -> WorkloadDirectory:
    """A workload directory of a family outside any tree."""
    return _Walker(root).workload(family, name, "", "", [], [], _LONE)


def family_named(name: str) -> str:
    """The family that a directory's name stands for, however it is spelt; '' where for none."""
    plain = name.lower().replace("_", "").replace("-", "")
    return next((family for family, spellings in _SPELLINGS.items() if plain in spellings), "")


_SPELLINGS = {family: {family.replace("_", "")} for family in layout.FAMILIES}
_SPELLINGS[layout.VECTOR_DATABASE].add("vectordb")
"""The command line's names as well, in which the tool says vectordb and kvcache."""
MAX_DIRECTORIES = 1000
"""Directories of one directory that are gone into; the published round had 19 submitters with 95 systems in all."""
_KNOWN = frozenset(
    {RESULTS, SYSTEMS, POOL, LEGACY, layout.DLIO_CONFIG_DIR, *layout.DIVISIONS, *layout.FAMILIES, *layout.COMMANDS}
)
_MAX_DEPTH = 6
_LONE = 0
"""Level of what lies outside any tree; there is no scope then that the level could lie in."""
_MAX_SEARCHED = 200
"""Directories that are searched for leaves where none should be, for each place."""


def _visible(name: str) -> bool:
    return not name.startswith(".")


def _none(name: str) -> bool:
    return False


def _unread_in_leaf(name: str) -> bool:
    """Whether no reader opens it; what readers open they tell of by themselves."""
    return _visible(name) and not name.endswith(".json") and name != layout.DLIO_CONFIG_DIR


class _Walker:
    """Lists directories, restricted to a scope, and keeps account of what it did not go into."""

    def __init__(self, root: Root, scope: Sequence[str] = (), keep: Keep = _whole) -> None:
        self._root = root
        self._scope = scope
        self._keep = keep
        self.listing = Listing()

    def entries(
        self, path: str, obstacles: list[Obstacle], *, in_leaf: bool = False, unread: Callable[[str], bool] = _visible
    ) -> Entries:
        """One directory; that it could not be listed, and special files that no reader opens, are obstacles."""
        try:
            directories, files, special = self._root.survey(path)
        except OSError as error:
            problem = os.strerror(error.errno or 0)
            obstacles.append(Obstacle(path, UNLISTED, detail=problem, in_leaf=in_leaf))
            return Entries(path, problem=problem)
        if not in_leaf:
            directories = self._bounded(path, directories, obstacles)
        told = [(name, kind) for name, kind in special if unread(name)]
        for kind in sorted({kind for _, kind in told}):
            names = tuple(name for name, its_kind in told if its_kind == kind)
            obstacles.append(Obstacle(path, kind, names, in_leaf=in_leaf))
        # Most names are the same in every leaf; kept once, the listing of a large tree stays small.
        return Entries(path, tuple(map(intern, directories)), tuple(map(intern, files)), tuple(special))

    @staticmethod
    def _bounded(path: str, directories: Sequence[str], obstacles: list[Obstacle]) -> Sequence[str]:
        """So many directories that no tree could be checked in time are gone into up to a bound, and that is told."""
        unknown = [name for name in directories if name.lower() not in _KNOWN and _visible(name)]
        if len(unknown) <= MAX_DIRECTORIES:
            return directories
        detail = f"it holds {len(unknown)} directories; the first {MAX_DIRECTORIES} of them were gone into"
        obstacles.append(Obstacle(path, UNLISTED, detail=detail))
        left_out = set(unknown[MAX_DIRECTORIES:])
        return [name for name in directories if name not in left_out]

    def leaves_out(self, name: str, level: int) -> bool:
        """Whether a directory at a level of the tree lies outside the scope."""
        return level < len(self._scope) and name != self._scope[level]

    def inside(self, entries: Entries, level: int) -> list[str]:
        """Directories of a level to go into: in scope, no dot names, no leaves."""
        return [name for name in entries.visible if not _stamped(name) and not self.leaves_out(name, level)]

    def division(self, name: str) -> None:
        """Add the submitters of one division directory."""
        entries = self.entries(name, self.listing.obstacles)
        self.listing.misplaced += _stamped_paths(entries)
        submitters = self.inside(entries, 1)
        for submitter in submitters:
            self.submitter(name, submitter)
        self.listing.divisions.append((name, len(submitters)))

    def submitter(self, division: str, name: str) -> None:
        """Add one submitter with its systems."""
        path = f"{division}/{name}"
        obstacles: list[Obstacle] = []
        entries = self.entries(path, obstacles)
        misplaced = _stamped_paths(entries)
        results_name, systems_name, code_name = (
            layout.spelt(entries.directories, wanted) for wanted in (RESULTS, SYSTEMS, LEGACY)
        )
        nested = []
        for other in entries.visible[:_MAX_SEARCHED]:
            if other not in (results_name, systems_name, code_name) and not _stamped(other):
                below = self.entries(f"{path}/{other}", obstacles)
                if layout.spelt(below.directories, RESULTS) or layout.spelt(below.directories, SYSTEMS):
                    nested.append(other)
        results, results_problem, systems = None, "", None
        if systems_name:
            systems = self.entries(f"{path}/{systems_name}", obstacles, unread=_none)
        code = bool(code_name)
        if results_name:
            listed = self.entries(f"{path}/{results_name}", obstacles)
            misplaced += _stamped_paths(listed)
            results = tuple(name for name in listed.visible if not _stamped(name))
            results_problem = listed.problem
            described = systems is not None and not systems.problem
            for system in self.inside(listed, 3) if not self.leaves_out(results_name, 2) else ():
                described_at = f"{path}/{systems_name or SYSTEMS}/{system}.yaml"
                code |= self.system(division, name, f"{listed.path}/{system}", described_at, described)
        self.listing.code |= code
        self.listing.submitters.append(
            SubmitterDirectory(
                division.lower(), name, path, entries, results, results_problem, systems, tuple(nested), code,
                tuple(misplaced), tuple(obstacles),
            )
        )  # fmt: skip

    def system(self, division: str, submitter: str, path: str, description: str, described: bool) -> bool:
        """Add one system with its workload directories; tells whether code lies among its results."""
        obstacles: list[Obstacle] = []
        entries = self.entries(path, obstacles)
        misplaced = _stamped_paths(entries)
        workloads: list[WorkloadDirectory] = []
        families = []
        code = False
        for directory in entries.visible:
            if _stamped(directory):
                continue
            family, below = family_named(directory), f"{path}/{directory}"
            if not family:
                families.append(FamilyDirectory(directory, below, family))
                continue
            outside = self.leaves_out(directory, 4)  # not gone into; yet that it holds something is known
            listed = self.entries(below, [] if outside else obstacles)
            if outside:
                families.append(FamilyDirectory(directory, below, family, len(listed.visible), listed.problem))
                continue
            others, known = len(misplaced), len(obstacles)
            misplaced += _stamped_paths(listed)
            code |= bool(layout.spelt(listed.directories, LEGACY))
            found = list(self.workloads(family, listed, division.lower(), path, misplaced, obstacles))
            problem = next((o.detail for o in obstacles[known:] if o.kind == UNLISTED), listed.problem)
            # In a part below the family only the part was gone into; that there is more is known.
            held = len(listed.visible) if len(self._scope) > len(LEVELS) else len(found) + len(misplaced) - others
            families.append(FamilyDirectory(directory, below, family, held, problem))
            code |= any(LEGACY in workload.commands for workload in found)
            workloads.extend(found)
        system = SystemDirectory(
            division.lower(), submitter, path.rpartition("/")[2], path, description,
            tuple(workloads), tuple(families), tuple(misplaced), tuple(obstacles), self.listing.live, described,
        )  # fmt: skip
        self.listing.systems.append(self._keep(system))
        return code

    def workloads(
        self,
        family: str,
        entries: Entries,
        division: str,
        system_path: str,
        misplaced: list[str],
        obstacles: list[Obstacle],
    ) -> Iterator[WorkloadDirectory]:
        """The workload directories of one family, at the depth that the family has."""
        levels = layout.FAMILY_LEVELS[family]
        above = len(levels) - (layout.COMMAND in levels)
        for below in self._below(entries, above, len(LEVELS), misplaced, obstacles):
            yield self.workload(family, below, division, system_path, misplaced, obstacles, below.count("/") + 1)

    def workload(
        self,
        family: str,
        path: str,
        division: str,
        system_path: str,
        misplaced: list[str],
        obstacles: list[Obstacle],
        level: int,
    ) -> WorkloadDirectory:
        """One workload directory; ``level`` is the number of names from the root to it in a tree."""
        name = path.rpartition("/")[2]
        if layout.COMMAND not in layout.FAMILY_LEVELS[family]:
            only = self.level(path, layout.RUN, division, system_path, name, misplaced, obstacles, level)
            return WorkloadDirectory(
                path, family, _judged([only]), (), (), (only,), (), only.files, division, system_path
            )  # fmt: skip
        listed = self.entries(path, obstacles)
        misplaced += _stamped_paths(listed)
        names = [each for each in listed.visible if not _stamped(each)]
        meant = {layout.spelt(names, known): known for known in (*layout.COMMANDS, LEGACY)}
        found = [
            self.level(
                f"{path}/{each}", meant.get(each, each), division, system_path, name, misplaced, obstacles, level + 1
            )
            for each in self.inside(listed, level)
            if meant.get(each) != LEGACY
        ]
        return WorkloadDirectory(
            path,
            family,
            _judged(found),
            tuple(meant.get(each, each) for each in names),
            tuple(names),
            tuple(found),
            tuple(each for each in listed.visible if _stamped(each)),
            listed.files,
            division,
            system_path,
            listed.problem,
        )

    def _below(
        self, entries: Entries, depth: int, level: int, misplaced: list[str], obstacles: list[Obstacle]
    ) -> Iterator[str]:
        """Paths of the directories ``depth`` levels below, or above that where runs lie there."""
        for name in self.inside(entries, level):
            path = f"{entries.path}/{name}"
            if depth == 1:
                yield path
                continue
            listed = self.entries(path, obstacles)
            if layout.spelt(listed.directories, layout.RUN):
                # The printed diagrams omit the engine of a vector database: judged, and reported as misplaced.
                for command in listed.visible:
                    misplaced += _stamped_paths(self.entries(f"{path}/{command}", []))
                yield path
                continue
            misplaced += _stamped_paths(listed)
            yield from self._below(listed, depth - 1, level + 1, misplaced, obstacles)

    def level(
        self,
        path: str,
        command: str,
        division: str,
        system_path: str,
        workload: str,
        misplaced: list[str],
        obstacles: list[Obstacle],
        depth: int,
    ) -> CommandDirectory:
        """The leaves of a directory, and what else lies in it."""
        entries = self.entries(path, obstacles)
        leaves, strays = [], []
        asked_for = self._scope[depth] if depth < len(self._scope) else ""
        for name in entries.visible:
            if self.leaves_out(name, depth) and not near(name, asked_for, 2):
                continue
            if layout.leaf_time(name) is not None:
                leaves.append(self.leaf(f"{path}/{name}", division, system_path, workload, command, obstacles))
                continue
            leaf = self.leaf(f"{path}/{name}", division, system_path, workload, command, obstacles)
            run_like = looks_like_run(leaf.files)
            below: tuple[str, ...] = ()
            if run_like:
                leaves.append(leaf)
            else:
                below = tuple(self._search(leaf, obstacles))
                misplaced += below
            strays.append(Stray(name, leaf.path, run_like, below))
        whole = joined(leaves)
        if asked_for:
            only = f"{path}/{asked_for}"
            whole = tuple(leaf for leaf in whole if only in (leaf.path, leaf.rest))
        return CommandDirectory(command, path, entries.files, whole, tuple(strays), entries.problem)

    def leaf(
        self, path: str, division: str, system_path: str, workload: str, command: str, obstacles: list[Obstacle]
    ) -> Leaf:
        """One leaf; of what lies below it only the configuration is listed."""
        entries = self.entries(path, obstacles, in_leaf=True, unread=_unread_in_leaf)
        configuration = None
        if layout.DLIO_CONFIG_DIR in entries.directories:
            listed = self.entries(f"{path}/{layout.DLIO_CONFIG_DIR}", obstacles, in_leaf=True, unread=_none)
            if not listed.problem:
                names = sorted((*listed.directories, *listed.files))
                configuration = tuple(name for name in names if not name.startswith("."))
        stub = not entries.problem and all(name.startswith(".") for name in (*entries.directories, *entries.files))
        return Leaf(
            path, entries.files, division, system_path, workload, command, entries.directories, configuration, stub,
            entries.problem,
        )  # fmt: skip

    def _search(self, leaf: Leaf, obstacles: list[Obstacle]) -> Iterator[str]:
        """Paths of leaves below a directory that is none itself; bounded in depth and number."""
        pending = [(f"{leaf.path}/{name}", 1) for name in leaf.directories if not name.startswith(".")]
        searched = 0
        while pending and searched < _MAX_SEARCHED:
            path, depth = pending.pop(0)
            if _stamped(path.rpartition("/")[2]):
                yield path
            elif depth < _MAX_DEPTH:
                searched += 1
                pending += [(f"{path}/{name}", depth + 1) for name in self.entries(path, obstacles).visible]


def _stamped(name: str) -> bool:
    """Whether a name is that of a leaf."""
    return layout.leaf_time(name) is not None


def _stamped_paths(entries: Entries) -> list[str]:
    """Paths of the leaves that lie in a directory that should hold none."""
    return [f"{entries.path}/{name}" for name in entries.visible if _stamped(name)]


def _judged(levels: Sequence[CommandDirectory]) -> tuple[Leaf, ...]:
    """The leaves that hold a result that can be read."""
    return tuple(leaf for level in levels for leaf in level.leaves if not leaf.stub and not leaf.problem)


def looks_like_run(files: Sequence[str]) -> bool:
    """Whether a directory with these files is a run leaf, whatever its name."""
    return layout.SUMMARY in files or any(name.endswith(layout.METADATA_SUFFIX) for name in files)
