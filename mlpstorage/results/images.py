"""Code images: the pool that keeps each state of the tool once, and the pointer by which a leaf names its own.

<root>/code-images/.mlps-image-pool                 marks the pool of a tree (layout 3)
<root>/<organisation>/.mlps-image-pool              marks the pool of an organisation (layout 2)
<pool>/code-<first 8 digits>/.code-hash.json        what the image is
<leaf>/.mlps-code-image                             md5-tree-v2:<32 digits>
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import code_hash, layout
from .document import read_json
from .roots.local import LocalRoot
from .text import shorten
from .write import write_json, write_text

POOL = "code-images"
"""The pool of a whole tree."""
POOL_MARKER = ".mlps-image-pool"
IMAGE_PREFIX = "code-"
RECORD = ".code-hash.json"
LEGACY = "code"
"""Directory of the one image that layout 1 had in each place."""
LAYOUT_VERSION = 3
"""The layout that this tool writes."""

_POINTER = re.compile(r"(md5-tree-v2):([0-9a-f]{32})")
_HASH = re.compile(r"[0-9a-f]{32}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


@dataclass(frozen=True, slots=True)
class Image:
    """A captured image: its directory and its hash."""

    path: Path
    digest: str

    @property
    def pointer(self) -> str:
        """The text by which a leaf names the image."""
        return f"{code_hash.ALGORITHM}:{self.digest}"


def image_name(digest: str) -> str:
    """Directory name of an image."""
    return f"{IMAGE_PREFIX}{digest[: code_hash.SHORT_DIGITS]}"


def pointed_digest(text: str) -> str | None:
    """The hash that a pointer names; None where the text is no pointer."""
    match = _POINTER.fullmatch(text.strip())
    return match[2] if match else None


def recorded_digest(data: Mapping[str, Any]) -> str | None:
    """The hash in a ``.code-hash.json``; None where it is not there or not 32 lower-case hexadecimal digits."""
    value = data.get("hash")
    return value if isinstance(value, str) and _HASH.fullmatch(value) else None


def recorded_commit(data: Mapping[str, Any]) -> str | None:
    """The commit in a ``.code-hash.json``; None where there is none."""
    value = data.get("git_sha")
    return value if isinstance(value, str) and _COMMIT.fullmatch(value) else None


def record_problems(data: Mapping[str, Any]) -> list[str]:
    """What is wrong with the keys of a ``.code-hash.json`` beside hash and algorithm."""
    problems = []
    captured, version = data.get("captured_at"), data.get("mlpstorage_version")
    if not isinstance(captured, str) or not _is_time(captured):
        problems.append(f"captured_at is {shorten(captured)}, not a time like 2026-07-01T10:00:00Z")
    if not isinstance(version, str) or not version:
        problems.append(f"mlpstorage_version is {shorten(version)}, not a version")
    if "git_sha" not in data:
        problems.append("git_sha is missing (null where there is no commit)")
    elif data["git_sha"] is not None and recorded_commit(data) is None:
        problems.append(f"git_sha is {shorten(data['git_sha'])}, neither a commit nor null")
    return problems


def _is_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.strptime(text, _TIME_FORMAT)
    except ValueError:
        return False
    return True


def capture(results: Path, sources: Mapping[str, Path], version: str, git_sha: str | None) -> Image:
    """The image of the code in ``sources`` (name in the image to directory), in the pool of the results directory.

    An image of the same hash is used again; a changed source becomes an image of its own beside it. Raises OSError
    where code cannot be read, or the pool cannot be written.
    """
    with ExitStack() as stack:
        source = code_hash.CodeTree()
        for name, directory in sources.items():
            found = code_hash.walk(stack.enter_context(LocalRoot(directory)), "", f"{name}/")
            source.files.update(found.files)
            source.problems.extend(found.problems)
        hashed = code_hash.tree_hash(source)
        if hashed.problems:
            raise OSError(f"the tool's own code cannot be captured: {'; '.join(hashed.problems)}")
        pool = results / POOL
        image = Image(pool / image_name(hashed.digest), hashed.digest)
        pool.mkdir(parents=True, exist_ok=True)
        if not (pool / POOL_MARKER).exists():
            write_text(pool / POOL_MARKER, f"mlpstorage_version={version}\nmigration_completed_at={_now()}\n")
        if not _is_there(pool, image):
            _copy(source.files, pool, image, version, git_sha)
    return image


def _is_there(pool: Path, image: Image) -> bool:
    """Whether the pool holds the image. Raises OSError where something else has its name."""
    if not os.path.lexists(image.path):
        return False
    with LocalRoot(pool) as root:
        record = read_json(root, f"{image.path.name}/{RECORD}")
    found = recorded_digest(record.data)
    if found == image.digest:
        return True
    raise FileExistsError(
        f"{image.path} is not the image {image.digest}: its {RECORD} "
        + (f"names {found}" if found else f"cannot be used ({record.detail or 'no hash in it'})")
        + "; move the directory out of the pool"
    )


def _copy(files: code_hash.Files, pool: Path, image: Image, version: str, git_sha: str | None) -> None:
    """Copy under a temporary name, hash the copy, and rename it: the pool never shows half an image."""
    temporary = pool / f".{image.path.name}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir()
        for path, chunks in files.items():
            target = temporary / os.fsdecode(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "wb") as file:
                file.writelines(chunks())
        with LocalRoot(temporary) as root:
            copied = code_hash.tree_hash(code_hash.walk(root, ""))
        if copied.digest != image.digest:
            raise OSError(f"the tool's own code changed while it was captured into {pool}: start again")
        record = {
            "hash": image.digest,
            "algorithm": code_hash.ALGORITHM,
            "captured_at": _now(),
            "mlpstorage_version": version,
            "git_sha": git_sha,
        }
        write_json(temporary / RECORD, record)
        try:
            os.rename(temporary, image.path)
        except OSError:
            if not _is_there(pool, image):  # another run may have captured the same code meanwhile
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def point(leaf: Path, image: Image) -> None:
    """Write the leaf's pointer: one line without a line end. Raises OSError."""
    write_text(leaf / layout.CODE_IMAGE_POINTER, image.pointer)


def _now() -> str:
    return datetime.now(UTC).strftime(_TIME_FORMAT)
