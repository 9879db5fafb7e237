"""The tree hash of a code image, ``md5-tree-v1`` and ``md5-tree-v2``: one function for capture and for check.

    md5( for each file, in the order of its path's bytes:  path || content )

No separator, length, mode or directory goes into it. The two names tell what was hashed (v1 the captured copy, v2 the
live source), not how.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .files import Entry, Root
from .text import clean

ALGORITHM = "md5-tree-v2"
"""What this tool writes."""
DIGITS = 32
"""Lower-case hexadecimal digits of a hash."""
SHORT_DIGITS = 8
"""Digits that the name of an image's directory carries."""

EXCLUDED_DIRECTORIES = frozenset(
    {
        ".git", ".idea", ".vscode", ".claude", ".agent", ".agents", ".roo", ".planning", ".gsd-tmp", "__pycache__",
        ".pytest_cache", ".venv", "node_modules", "build", "dist", ".tox", "test", "tests",
    }
)  # fmt: skip
"""Directories that are not hashed, by name, at any depth. Other dot directories are."""
EXCLUDED_DIRECTORY_ENDING = ".egg-info"
EXCLUDED_FILES = frozenset({".code-hash.json", ".DS_Store", "Thumbs.db"})
EXCLUDED_FILE_ENDINGS = (".pyc", ".pyo")

MAX_FILES = 200_000
"""Five hundred times the files of the largest image seen."""
MAX_BYTES = 2**30
"""A sum of sizes beyond this is no source code; hashing it would only take time."""
MAX_DEPTH = 100

Chunks = Callable[[], Iterable[bytes]]
"""Opens a file and gives its content piece by piece."""
Files = Mapping[bytes, Chunks]
"""Path below the tree's top, as bytes with forward slashes, to its content."""


@dataclass(slots=True)
class CodeTree:
    """The files that a tree's hash goes over. ``problems``: why there is no hash, in words."""

    files: dict[bytes, Chunks] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TreeHash:
    """The hash of a tree, empty where ``problems`` say why there is none, and the number of files it goes over."""

    digest: str
    files: int
    problems: tuple[str, ...] = ()


def excluded(path: str) -> bool:
    """Whether the hash passes over the file of this path relative to the tree's top."""
    *directories, name = path.split("/")
    return any(map(_excluded_directory, directories)) or _excluded_file(name)


def _excluded_directory(name: str) -> bool:
    return name in EXCLUDED_DIRECTORIES or name.endswith(EXCLUDED_DIRECTORY_ENDING)


def _excluded_file(name: str) -> bool:
    return name in EXCLUDED_FILES or name.endswith(EXCLUDED_FILE_ENDINGS)


def walk(root: Root, top: str, below: str = "") -> CodeTree:
    """The files of the tree at ``top`` that are hashed; ``below`` starts their paths. Links are never followed.

    What cannot be listed, and what is neither file, directory nor link, is a problem, never passed over in silence.
    """
    tree = CodeTree()
    total = 0
    pending = [(top, below, 0)]
    while pending:
        directory, prefix, depth = pending.pop()
        try:
            entries = root.entries(directory)
        except OSError as error:
            tree.problems.append(f"{clean(prefix) or '.'}: cannot be listed: {os.strerror(error.errno or 0)}")
            continue
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.kind == "link":
                continue
            if entry.kind == "directory":
                if _excluded_directory(entry.name):
                    continue
                if depth >= MAX_DEPTH:
                    tree.problems.append(f"{clean(path, 200)}: lies deeper than {MAX_DEPTH} directories")
                    continue
                pending.append((f"{directory}/{entry.name}".removeprefix("/"), f"{path}/", depth + 1))
            elif not _excluded_file(entry.name):
                total += entry.size
                if entry.kind != "file":
                    tree.problems.append(f"{clean(path)}: it is a {entry.kind}, not a file")
                elif len(tree.files) >= MAX_FILES or total > MAX_BYTES:
                    tree.problems.append(f"it holds more than {MAX_FILES} files or {MAX_BYTES // 2**30} GiB")
                    return tree
                else:
                    tree.files[os.fsencode(path)] = _content(root, directory, entry)
    return tree


def _content(root: Root, directory: str, entry: Entry) -> Chunks:
    return lambda: root.chunks(f"{directory}/{entry.name}".removeprefix("/"), entry.size)


def tree_hash(tree: CodeTree) -> TreeHash:
    """The hash of a walked tree, read piece by piece."""
    if tree.problems:
        return TreeHash("", len(tree.files), tuple(sorted(tree.problems)))
    try:
        return TreeHash(digest(tree.files), len(tree.files))
    except OSError as error:
        return TreeHash("", len(tree.files), (f"{clean(str(error.filename or ''))}: {error.strerror}",))


def digest(files: Files) -> str:
    """The hash over these files. Raises OSError where one cannot be read."""
    whole = hashlib.md5(usedforsecurity=False)
    for path in sorted(files):
        whole.update(path)
        for chunk in files[path]():
            whole.update(chunk)
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tree differs from a reference: paths only it has, paths it lacks, paths of other content."""

    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of paths that differ."""
        return len(self.added) + len(self.missing) + len(self.changed)

    def __str__(self) -> str:
        parts = [
            f"{what} {_some(paths)}"
            for what, paths in (("added", self.added), ("missing", self.missing), ("changed", self.changed))
            if paths
        ]
        return "; ".join(parts) or "no difference"


SHOWN = 10
"""Paths of each kind that a difference prints."""


def _some(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


def difference(files: Files, reference: Files) -> Difference:
    """What the files have that the reference has not, and the other way round. Raises OSError."""
    return Difference(
        added=_shown(path for path in files if path not in reference),
        missing=_shown(path for path in reference if path not in files),
        changed=_shown(path for path in files if path in reference and _one(files[path]) != _one(reference[path])),
    )


def _shown(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(clean(os.fsdecode(path), 200) for path in sorted(paths))


def _one(chunks: Chunks) -> bytes:
    found = hashlib.md5(usedforsecurity=False)
    for chunk in chunks():
        found.update(chunk)
    return found.digest()


def in_memory(data: bytes) -> Chunks:
    """Content that is at hand."""

    def chunks() -> Iterator[bytes]:
        yield data

    return chunks
