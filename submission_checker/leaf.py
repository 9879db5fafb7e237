"""One run leaf as it was listed, and the two directories that hold one run between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

from mlpstorage.results import layout

_LOGS = {
    layout.TRAINING: r"training_{command}",
    layout.CHECKPOINTING: r"checkpointing_{command}",
    layout.VECTOR_DATABASE: r"vector_database_{command}(_.*)?",
    layout.KV_CACHE: r"kvcache_opt[0-9]+_trial[0-9]+_.*",
}
"""The tool's own logs of a command, without their ending."""
_WRITTEN = re.compile(rf"{layout.DLIO_CONFIG_DIR}|vectordb|option_[0-9]+|(enhanced_)?statistics\.json")
"""What only the benchmark writes."""


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


def family_of_files(files: Sequence[str]) -> str:
    """The family of a leaf outside any tree, after which some of its files are named; else checkpointing."""
    named = (family for name in files for family in layout.FAMILIES if name.startswith(f"{family}_"))
    return next(named, layout.CHECKPOINTING)


def joined(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """The leaves of one directory; where two of them hold one run between them, they are one leaf.

    A tool reserved a directory, found its name taken and moved on by a second, so that the log of the run lies in one
    directory and what the benchmark wrote in another: neither has what the other one has. The nearest are taken first.
    """
    rests = [leaf for leaf in leaves if _is_rest(leaf)]
    if not rests:
        return tuple(leaves)
    by_second = {_second(leaf.name): leaf for leaf in leaves}
    pairs: list[tuple[int, str, Leaf, Leaf]] = []
    for rest in rests:
        if (moved := _second(rest.name)) is None:
            continue
        for apart in range(-layout.RESERVE_ATTEMPTS, layout.RESERVE_ATTEMPTS + 1):
            main = by_second.get(moved + apart)
            if main is not None and _complete_each_other(main, rest):
                pairs.append((abs(apart), main.path, main, rest))
    found: dict[str, Leaf | None] = {}
    for _, _, main, rest in sorted(pairs, key=lambda pair: (*pair[:2], pair[3].path)):
        if main.path not in found and rest.path not in found:
            found[main.path], found[rest.path] = _join(main, rest), None
    whole = (found.get(leaf.path, leaf) for leaf in leaves)
    return tuple(leaf for leaf in whole if leaf is not None)


@cache
def _log_of(command: str) -> re.Pattern[str]:
    stems = "|".join(stem.format(command=re.escape(command)) for stem in _LOGS.values())
    return re.compile(f"({stems}){re.escape(layout.LOG_SUFFIX)}")


def _has_log(leaf: Leaf) -> bool:
    """It has a log that the tool itself keeps of the command."""
    log = _log_of(leaf.command)
    return any(log.fullmatch(name) for name in leaf.files)


def _has_output(leaf: Leaf) -> bool:
    return any(_WRITTEN.fullmatch(name) for name in (*leaf.directories, *leaf.files))


def _is_rest(leaf: Leaf) -> bool:
    """It has the log of a run, and nothing that the benchmark wrote."""
    written = layout.SUMMARY in leaf.files or _has_output(leaf)
    return not written and not leaf.problem and _has_log(leaf)


def _complete_each_other(main: Leaf, rest: Leaf) -> bool:
    if not _has_output(main) or main.problem or _has_log(main):
        return False
    if _has_metadata(main) and _has_metadata(rest):
        return False
    return not {name for name in main.files if not name.startswith(".")} & set(rest.files)


def _has_metadata(leaf: Leaf) -> bool:
    return any(name.endswith(layout.METADATA_SUFFIX) for name in leaf.files)


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


def near(name: str, other: str, steps: int = 1) -> bool:
    """Whether directories of these names could hold one run between them by their time, or each with one between."""
    begun, moved = _second(name), _second(other)
    return begun is not None and moved is not None and abs(begun - moved) <= steps * layout.RESERVE_ATTEMPTS


def _second(name: str) -> int | None:
    """The second that a leaf is named after, counted from the first of all."""
    time = layout.leaf_time(name)
    return None if time is None else (time - datetime.min) // timedelta(seconds=1)
