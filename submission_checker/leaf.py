"""One run leaf as it was listed, and the two directories that hold one run between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from mlpstorage.results import layout

_NEAR = timedelta(seconds=layout.RESERVE_ATTEMPTS)
"""A tool that finds the name of its leaf taken moves on by no more."""


@dataclass(slots=True)
class Leaf:
    """One run leaf. ``path`` is relative to the root, as the file system names it; ``files`` are its non-directories.

    ``command`` is what was run (run, datagen, datasize). Outside any tree ``division`` and ``workload`` are empty.
    ``configuration`` are the names in ``dlio_config/``; None where there is no such directory. A ``stub`` holds no
    result at all: a directory that was reserved and never used. ``problem`` says why it could not be listed. ``rest``
    is the path of a second directory that holds a part of the same run, ``in_rest`` the names that lie there only.
    """

    path: str
    files: tuple[str, ...]
    division: str = ""
    system_path: str = ""
    workload: str = ""
    command: str = layout.RUN
    directories: tuple[str, ...] = ()
    configuration: tuple[str, ...] | None = None
    stub: bool = False
    problem: str = ""
    rest: str = ""
    in_rest: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The leaf's own name, its time stamp."""
        return self.path.rpartition("/")[2]

    def at(self, name: str) -> str:
        """Where a file of the leaf is, or should be; ``name`` may lead through directories of the leaf."""
        if self.in_rest and name.partition("/")[0] in self.in_rest:
            return f"{self.rest}/{name}"
        return f"{self.path}/{name}"


def joined(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """The leaves of one directory, by name; where two of them hold one run between them, they are one leaf.

    A tool reserved a directory, found its name taken and moved on by a second, so that the log of the run lies in one
    directory and what the benchmark wrote in another: neither has what the other one has.
    """
    if not any(_is_rest(leaf) for leaf in leaves):
        return tuple(leaves)
    found = list(leaves)
    for rest in filter(_is_rest, leaves):
        main = next((leaf for leaf in found if _complete_each_other(leaf, rest)), None)
        if main is not None:
            found[found.index(main)] = _join(main, rest)
            found.remove(rest)
    return tuple(found)


def _is_rest(leaf: Leaf) -> bool:
    """It has the log of a run, and nothing that the benchmark wrote."""
    written = layout.SUMMARY in leaf.files or layout.DLIO_CONFIG_DIR in leaf.directories
    return not written and not leaf.problem and any(name.endswith(layout.LOG_SUFFIX) for name in leaf.files)


def _complete_each_other(main: Leaf, rest: Leaf) -> bool:
    if layout.DLIO_CONFIG_DIR not in main.directories or main.problem or main.rest:
        return False
    begun, moved = layout.leaf_time(main.name), layout.leaf_time(rest.name)
    if begun is None or moved is None or abs(begun - moved) > _NEAR:
        return False
    return not {*_visible(main.files), *_visible(main.directories)} & {*rest.files, *rest.directories}


def _join(main: Leaf, rest: Leaf) -> Leaf:
    own = {*main.files, *main.directories}
    files = {name for name in rest.files if name not in own}
    directories = {name for name in rest.directories if name not in own}
    return replace(
        main,
        files=tuple(sorted({*main.files, *files})),
        directories=tuple(sorted({*main.directories, *directories})),
        rest=rest.path,
        in_rest=frozenset(files | directories),
    )


def _visible(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.startswith(".")]
