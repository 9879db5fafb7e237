"""A clone of the tool's repository, as the reference that code images are compared with. Nothing in it is changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from mlpstorage.results import code_hash

_REGULAR = (b"100644", b"100755")
_SECONDS = 120.0


class SourceRepository:
    """Reads the files of commits. ``path`` was named by the user and is trusted as far as git itself."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._commits: dict[str, code_hash.Files | None] = {}

    def problem(self) -> str:
        """Why git finds no repository there, in its own words; empty where it does."""
        try:
            answer = self._run(["rev-parse", "--git-dir"])
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        told = " ".join(answer.stderr.decode("utf-8", "replace").split())
        wanted = "the top of a work tree, or a git directory, is wanted"
        return "" if answer.returncode == 0 else f"{told or 'git finds no repository there'} ({wanted})"

    def files(self, commit: str) -> code_hash.Files | None:
        """The tracked files of a commit that a tree hash goes over; None where the repository does not have it."""
        if commit not in self._commits:
            self._commits[commit] = self._read(commit)
        return self._commits[commit]

    def _read(self, commit: str) -> code_hash.Files | None:
        listed = self._git(["ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{commit}}"])
        if listed is None:
            return None
        wanted = []
        for line in filter(None, listed.split(b"\0")):
            description, _, path = line.partition(b"\t")
            mode, _, blob = description.split(b" ")
            if mode in _REGULAR and not code_hash.excluded(os.fsdecode(path)):
                wanted.append((path, blob))
        batch = self._git(["cat-file", "--batch"], b"".join(blob + b"\n" for _, blob in wanted))
        return None if batch is None else _contents(batch, [path for path, _ in wanted])

    def _git(self, arguments: list[str], data: bytes = b"") -> bytes | None:
        try:
            answer = self._run(arguments, data)
        except (OSError, subprocess.SubprocessError):
            return None
        return answer.stdout if answer.returncode == 0 else None

    def _run(self, arguments: list[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", str(self.path), "--no-replace-objects", *arguments]
        # Or git would take the repository that some directory above belongs to.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(self.path))}
        return subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS, env=environment)


def _contents(batch: bytes, paths: list[bytes]) -> code_hash.Files | None:
    """Header line (blob, type, size), content and a line end for each path; None where git has lost one of them."""
    files: dict[bytes, code_hash.Chunks] = {}
    position = 0
    for path in paths:
        end = batch.find(b"\n", position)
        header = batch[position:end].split(b" ")
        if end < 0 or len(header) != 3:
            return None
        size = int(header[2])
        files[path] = code_hash.in_memory(batch[end + 1 : end + 1 + size])
        position = end + 1 + size + 1
    return files
