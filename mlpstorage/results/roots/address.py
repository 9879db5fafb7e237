"""The address of a results tree, and of any directory in one: a small value that travels between processes."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field, replace

from ..files import Root
from ..text import clean
from .local import LocalRoot

S3 = "s3://"
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
"""Endings of the names of archives."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class UnusableRootError(Exception):
    """Nothing can be read at an address; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Address:
    """A directory: the names that lead to it (``path``) from where they begin.

    ``base`` is empty for the file system of this machine, for an archive its real path, for a bucket s3://bucket.
    """

    base: str
    path: str
    asked: int = field(default=0, compare=False)
    """When a user named the bucket, in nanoseconds: what is there is listed once for each time."""
    only: str = field(default="", compare=False)
    """The one name in it that will be asked for; empty: any may be. It spares listing a bucket."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names that lead to it, outermost first."""
        return tuple(self.path.split("/")) if self.path else ()

    @property
    def is_local(self) -> bool:
        """It is a directory of this machine."""
        return not self.base

    @property
    def is_archive(self) -> bool:
        """It lies in an archive."""
        return bool(self.base) and not self.base.startswith(S3)

    def at(self, *parts: str) -> Address:
        """The address of other names from the same beginning."""
        return replace(self, path="/".join(parts), only="")

    @property
    def parent(self) -> Address:
        """The directory around it, to ask for this one only. That of the outermost one is itself."""
        return replace(self.at(*self.parts[:-1]), only=self.parts[-1] if self.parts else "")

    def __str__(self) -> str:
        return f"{self.base}/{self.path}" if self.path or not self.base else self.base


def address_of(location: str | os.PathLike[str]) -> Address:
    """The address that a user gave: a directory, an archive or a directory in it, or s3://bucket/prefix.

    Links in a local path are followed, for the user named them. Raises UnusableRootError where there is no directory.
    """
    text = os.fspath(location)
    if text.startswith(S3):
        return _in_bucket(text)
    if _SCHEME.match(text) and not os.path.lexists(text):
        raise UnusableRootError(f"{clean(text)}: of URLs only {S3}BUCKET/PREFIX can be read")
    real = os.path.realpath(text)
    if os.path.isdir(real):
        return Address("", real.strip("/"))
    file = real
    while not os.path.lexists(file):
        file = os.path.dirname(file)
    if os.path.isdir(file):
        raise UnusableRootError(f"{clean(text)} does not exist: give a results directory")
    if not os.path.isfile(file) or not file.lower().endswith(ARCHIVES):
        raise UnusableRootError(
            f"{clean(text)} is not a directory: give a results directory, or an archive of one ({', '.join(ARCHIVES)})"
        )
    below = real[len(file) :].strip("/")
    return Address(file, below)


def _in_bucket(text: str) -> Address:
    bucket, _, prefix = text.removeprefix(S3).partition("/")
    prefix = prefix.rstrip("/")
    if not bucket or (prefix and not {"", ".", ".."}.isdisjoint(prefix.split("/"))):
        raise UnusableRootError(f"{clean(text)}: give {S3}BUCKET/PREFIX, with no empty name, '.' or '..' in it")
    return Address(f"{S3}{bucket}", prefix, time.time_ns())


def open_root(address: Address) -> Root:
    """The directory at an address. Raises OSError where it cannot be opened, and UnusableRootError."""
    if address.is_local:
        return LocalRoot(str(address))
    if address.is_archive:
        from .archive import ArchiveRoot  # what is rarely needed is loaded when it is

        return ArchiveRoot(address)
    from .s3 import S3Root

    return S3Root(address)
