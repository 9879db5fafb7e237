"""What a walk through a results tree found: directories and names, level by level; nothing of their content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mlpstorage.results import layout
from mlpstorage.results.text import clean

from .leaf import Leaf

RESULTS = "results"
SYSTEMS = "systems"
LEVELS = ("division", "submitter", RESULTS, "system", "family")
"""What the directories of a path below the root are, outermost first, down to the levels of the family."""


UNLISTED = "unlisted"
"""Kind of an obstacle that is a directory which could not be listed."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something of a directory that was not gone into: ``kind`` is 'unlisted', or what the names are (link, FIFO)."""

    path: str
    kind: str
    names: tuple[str, ...] = ()
    detail: str = ""
    in_leaf: bool = False

    @property
    def told(self) -> str:
        """The place, and why it was not gone into."""
        return f"{clean(self.path)}: {self.detail}"


@dataclass(slots=True)
class Entries:
    """What one directory holds, each sorted, dot names included. ``files`` is everything that is no directory.

    ``special`` are the files that are no regular ones, with their kind; ``problem`` says why it could not be listed.
    """

    path: str
    directories: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    special: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    @property
    def visible(self) -> tuple[str, ...]:
        """Directories whose names begin with no dot."""
        return tuple(name for name in self.directories if not name.startswith("."))


@dataclass(slots=True)
class Stray:
    """A directory where leaves are expected that is none: ``run_like`` holds a run's files, ``below`` leaves in it."""

    name: str
    path: str
    run_like: bool = False
    below: tuple[str, ...] = ()


@dataclass(slots=True)
class CommandDirectory:
    """The directory that holds the leaves of one command; for a family without commands the workload's own.

    ``leaves`` are all directories with a leaf's name, stubs and unlisted ones included; ``strays`` the other ones.
    """

    command: str
    path: str
    files: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    strays: tuple[Stray, ...]
    problem: str = ""


@dataclass(slots=True)
class WorkloadDirectory:
    """One workload directory of a family with the leaves to judge, by command and then in the order of their names.

    ``commands`` are the directories of its command level, in the spelling of the layout, ``names`` the same as they are
    spelt; empty for a family that has none. ``misplaced`` are names of leaves that lie at the command level. ``files``
    are the files beside the commands or leaves.
    """

    path: str
    family: str
    leaves: tuple[Leaf, ...]
    commands: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    levels: tuple[CommandDirectory, ...] = ()
    misplaced: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    division: str = ""
    system_path: str = ""
    own_problem: str = ""

    @property
    def name(self) -> str:
        """The last level of its path: the model, or the index type."""
        return self.path.rpartition("/")[2]

    @property
    def spellings(self) -> list[tuple[str, str]]:
        """Each directory of its command level, and the name of the layout that it differs from in case only, or ''."""
        pairs = zip(self.names, self.commands, strict=True)
        return [(name, "" if command == name else command) for name, command in pairs]

    def place(self, command: str) -> str:
        """The directory of a command, or where it should be."""
        return next((level.path for level in self.levels if level.command == command), f"{self.path}/{command}")

    @property
    def unlisted(self) -> bool:
        """It or some leaf of it could not be listed, so that nothing can be said of the whole."""
        return bool(self.problem) or any(leaf.problem for level in self.levels for leaf in level.leaves)

    @property
    def problem(self) -> str:
        """Why it, or the directory of a command, could not be listed."""
        return self.own_problem or next((level.problem for level in self.levels if level.problem), "")

    @property
    def lost(self) -> str:
        """The directory that could not be listed: that of a command, a leaf's, or its own."""
        levels = [level.path for level in self.levels if level.problem]
        leaves = [leaf.path for level in self.levels for leaf in level.leaves if leaf.problem]
        return next(iter(levels + leaves), self.path)


@dataclass(slots=True)
class FamilyDirectory:
    """One directory below a system. ``family`` is what it is read as, '' if nothing.

    ``children`` are its workload directories and the leaves that lie in their place.
    """

    name: str
    path: str
    family: str = ""
    children: int = 0
    problem: str = ""


@dataclass(slots=True)
class SystemDirectory:
    """One system of a submitter: its description's path, what lies in its results and its workload directories.

    ``misplaced`` are paths of leaves at a wrong depth.
    """

    division: str
    submitter: str
    name: str
    path: str
    description: str
    workloads: tuple[WorkloadDirectory, ...]
    families: tuple[FamilyDirectory, ...] = ()
    misplaced: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    live: bool = False
    described: bool = True
    """The submitter's systems/ is there and could be listed; if not, that is told once for the submitter."""

    @property
    def weight(self) -> int:
        """How much there is to do: its leaves, for of many files in one only a few are read."""
        return sum(len(workload.leaves) for workload in self.workloads)


@dataclass(slots=True)
class SubmitterDirectory:
    """One submitter of a division. ``results`` are the names of its systems, ``systems`` the descriptions' directory.

    Both are None where there is no such directory; ``results_problem`` says why the systems could not be listed.
    ``nested`` are other directories that themselves hold results or descriptions; ``code`` is whether code lies here or
    below in the form of the oldest layout.
    """

    division: str
    name: str
    path: str
    entries: Entries
    results: tuple[str, ...] | None = None
    results_problem: str = ""
    systems: Entries | None = None
    nested: tuple[str, ...] = ()
    code: bool = False
    misplaced: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    def place(self, name: str) -> str:
        """Its directory of this name, whatever the case that it is spelt in, or where it should be."""
        return f"{self.path}/{layout.spelt(self.entries.directories, name) or name}"


@dataclass(slots=True)
class Listing:
    """What the walk found. ``root`` is the top directory, ``pools`` its directories that are no divisions."""

    root: Entries = field(default_factory=lambda: Entries(""))
    pools: list[Entries] = field(default_factory=list)
    divisions: list[tuple[str, int]] = field(default_factory=list)
    """Division directories as they are named, with the number of their submitters."""
    submitters: list[SubmitterDirectory] = field(default_factory=list)
    systems: list[SystemDirectory] = field(default_factory=list)
    code: bool = False
    """Some submitter has code in the form of the oldest layout."""
    misplaced: list[str] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)
    """Of the root and the divisions; those below are with their submitters and systems."""
    partial: bool = False
    """Only a part of the tree was asked for."""
    source_repo: str = ""
    """A clone of the tool's repository to compare code images with; empty: none."""

    @property
    def live(self) -> bool:
        """It is a results directory that is still worked with, not a package."""
        return layout.SENTINEL in self.root.files

    @property
    def unreadable(self) -> list[str]:
        """Directories that could not be listed, and why."""
        return [found.told for found in self._every_obstacle() if found.kind == UNLISTED]

    @property
    def unseen(self) -> list[str]:
        """Paths of all that was not gone into: those directories, links and special files."""
        found = []
        for obstacle in self._every_obstacle():
            path = clean(obstacle.path)
            found += [f"{path}/{clean(name)}".lstrip("/") for name in obstacle.names] or [path]
        return found

    def _every_obstacle(self) -> Iterator[Obstacle]:
        units: list[Listing | SubmitterDirectory | SystemDirectory] = [self, *self.submitters, *self.systems]
        return (obstacle for unit in units for obstacle in unit.obstacles)

    @property
    def incomplete(self) -> bool:
        """Not every leaf of the tree is known."""
        return self.partial or bool(self.unreadable)

    @property
    def leaves(self) -> int:
        """Number of leaves to judge."""
        return sum(len(workload.leaves) for system in self.systems for workload in system.workloads)
