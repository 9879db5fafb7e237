"""Finding the results tree that a given directory is, or lies in, by the shape of its path and by what is in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.roots.address import Address, UnusableRootError, address_of, open_root
from mlpstorage.results.text import clean

from .discovery import NothingToCheckError, looks_like_run
from .leaf import family_of_files
from .listing import LEVELS, RESULTS, SYSTEMS

_MAX_WRAPPED = 5
"""Directories around the tree in an archive, each the only one in its place."""
_FOREIGN = "__MACOSX"
"""What one system's tool puts into archives, beside the files themselves."""


_PLAIN = ("file", "directory")


@dataclass(frozen=True, slots=True)
class Location:
    """The root of a tree and the part of it that was asked for, as names below the root (empty: all).

    ``kind``: 'leaf' and 'workload' are directories outside any tree, ``scope`` is then their own name, and ``family``
    that of the workload.
    """

    root: Address
    scope: tuple[str, ...] = ()
    kind: Literal["tree", "leaf", "workload"] = "tree"
    family: str = ""
    given: str = ""
    """What the user named."""
    shown: str = ""
    """The root as the user named it, where they did."""

    @property
    def own(self) -> Address:
        """What no report may be written into: the tree; of a directory outside any tree only that one."""
        return self.root if self.kind == "tree" else self.root.at(*self.root.parts, *self.scope)

    @property
    def is_leaf(self) -> bool:
        """The scope names one leaf of a tree."""
        return self.kind == "tree" and len(self.scope) == leaf_depth(self.scope)


def leaf_depth(parts: Sequence[str]) -> int:
    """Number of names from the division down to a leaf, for a path that reaches its family (else more than any)."""
    levels = layout.FAMILY_LEVELS.get(parts[len(LEVELS) - 1]) if len(parts) >= len(LEVELS) else None
    if levels is None:
        return 99
    depth = len(LEVELS) + len(levels) + 1
    engineless = len(levels) == 3 and len(parts) >= depth - 1 and parts[depth - 3].lower() in layout.COMMANDS
    return depth - 1 if engineless else depth


def _part(below: Sequence[str]) -> tuple[str, ...]:
    """What to look at where this was named: never less than a leaf, and the runs with what lies beside them."""
    depth = leaf_depth(below)
    commands = len(below) == depth - 1 and layout.COMMAND in layout.FAMILY_LEVELS[below[len(LEVELS) - 1]]
    return tuple(below[: depth - 2 if commands else depth])


def locate(path: str | os.PathLike[str]) -> Location:
    """The root of the tree that ``path`` is, or lies in; a leaf or workload directory may stand alone.

    In an archive the tree may lie below directories that hold nothing else, whether ``path`` names these or not.
    Raises NothingToCheckError, with the reason, for anything else.
    """
    given = os.fspath(path)
    shown = clean(given)
    try:
        named = address_of(path)
        for address in _unwrapped(within(named)):
            location = _located(address)
            if location is not None:
                break
    except UnusableRootError as error:
        raise NothingToCheckError(str(error)) from error
    except OSError as error:
        raise NothingToCheckError(f"{shown} cannot be read: {os.strerror(error.errno or 0)}") from error
    if location is None:
        raise NothingToCheckError(
            f"{shown} holds no submission: neither {' nor '.join(f'{d}/' for d in layout.DIVISIONS)}"
            f" is in it, it is no part of a results tree, and no run leaf{_refused(address)}"
        )
    return replace(location, given=given, shown=_shown(given, named, location.root))


def within(named: Address) -> Address:
    """Where the named directory lies: in an archive maybe below directories that hold nothing else.

    A report leaves these out of its paths. Raises UnusableRootError where the archive cannot be read.
    """
    if not (named.is_archive and named.parts):
        return named
    places = (top.at(*top.parts, *named.parts) for top in _unwrapped(named.at()))
    return next(filter(_exists, places), named)


def _exists(address: Address) -> bool:
    try:
        with open_root(address):
            return True
    except UnusableRootError:
        return False


def _unwrapped(address: Address) -> Iterator[Address]:
    """A directory; in an archive, also those below it as long as one holds nothing but the next."""
    yield address
    for _ in range(_MAX_WRAPPED if address.is_archive else 0):
        with open_root(address) as root:
            names = [name for name in root.list("")[0] if name != _FOREIGN and not name.startswith(".")]
        if len(names) != 1:
            return
        address = address.at(*address.parts, *names)
        yield address


def _refused(address: Address) -> str:
    """What lies at the top and is neither file nor directory: an archive may consist of nothing else."""
    try:
        with open_root(address) as root:
            odd = [f"{clean(entry.name)} ({entry.kind})" for entry in root.entries("") if entry.kind not in _PLAIN]
    except (OSError, UnusableRootError):
        return ""
    return f"; not read: {', '.join(odd[:3])}{f' and {len(odd) - 3} more' if len(odd) > 3 else ''}" if odd else ""


def _shown(given: str, named: Address, root: Address) -> str:
    below = root.parts[len(named.parts) :]
    return "/".join((given, *below)) if named.at(*named.parts, *below) == root else str(root)


def is_inside(file: str, root: Address) -> bool:
    """Whether a local file would lie in a tree, or in the place of its archive."""
    if not (root.is_local or root.is_archive):
        return False
    place, target = str(root) if root.is_local else root.base, os.path.realpath(file)
    return os.path.commonpath([place, target]) == place


def _located(address: Address) -> Location | None:
    with open_root(address) as root:
        children, files = root.list("")
        if any(name.lower() in layout.DIVISIONS for name in children):
            return Location(address)
        parts = address.parts
        for index in range(len(parts) - 1, -1, -1):
            if _has_shape(parts[index:], root):
                return Location(address.at(*parts[:index]), _part(parts[index:]))
        if not parts:  # a lone directory is known by its name
            return None
        if _is_leaf(parts[-1], files):
            return Location(address.parent, parts[-1:], "leaf")
        commands = filter(None, (layout.spelt(children, command) for command in layout.COMMANDS))
        held = (_family_of_leaves_in(root, command) for command in commands)
        family = next(filter(None, held), "")
        if not family:
            family = _family_of_leaves_in(root, "")
            if layout.COMMAND in layout.FAMILY_LEVELS.get(family, ()):
                raise NothingToCheckError(
                    f"{clean(parts[-1])} holds runs of {family}, which are judged with what lies beside them:"
                    f" name the directory above, which holds {layout.RUN}/, or one run"
                )
        if family:
            return Location(address.parent, parts[-1:], "workload", family)
        if layout.WHATIF in children:
            raise NothingToCheckError(
                f"{clean(parts[-1])} holds no submission, only {layout.WHATIF}/, whose runs are never submitted:"
                " name one of these, or its workload directory, to have it judged"
            )
    return None


def _is_leaf(name: str, files: Sequence[str]) -> bool:
    """Whether a directory outside any tree is a leaf, or the half of one that holds the log of the run."""
    logged = any(file.endswith(layout.LOG_SUFFIX) for file in files) and layout.leaf_time(name) is not None
    return looks_like_run(files) or logged


def _family_of_leaves_in(root: Root, directory: str) -> str:
    """The family of the first leaf in a directory; '' where it holds none."""
    try:
        names = root.list(directory)[0]
    except OSError:
        return ""
    for name in names:
        try:
            files = root.list(f"{directory}/{name}" if directory else name)[1]
        except OSError:
            continue
        if looks_like_run(files):
            return family_of_files(files)
    return ""


def _has_shape(parts: Sequence[str], root: Root) -> bool:
    """Whether path components look like ``closed/<org>/results/<system>/<family>/...``; short ones by content."""
    if parts[0].lower() not in layout.DIVISIONS:
        return False
    if len(parts) > 2:
        return parts[2].lower() in (RESULTS, SYSTEMS) and (len(parts) < 5 or parts[4] in layout.FAMILIES)
    submitters = [""] if len(parts) == 2 else root.list("")[0]
    return any(_holds_results(root, submitter) for submitter in submitters)


def _holds_results(root: Root, submitter: str) -> bool:
    try:
        directories, files = root.list(submitter)
    except OSError:
        return False
    return bool(layout.spelt((*directories, *files), RESULTS))  # the latter is a link, which the check tells of
