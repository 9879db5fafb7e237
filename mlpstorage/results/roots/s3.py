"""A results tree in a bucket of S3, or of what speaks its protocol, through fsspec.

Keys are listed a thousand at once, below one prefix and all of its depth; each file that a reader asks for is one
request. Credentials, region and endpoint are those of the environment, as for all tools of that protocol. There are no
links and, but for those that a key ending in '/' stands for, no empty directories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from ..text import clean
from .address import S3, Address, UnusableRootError
from .index import DIRECTORY, FILE, BadContentError, Index, IndexedRoot, Member, TooManyEntriesError

PAGE = 1000
"""Keys of one listing; the protocol allows no more."""
_PIECE = 8 * 2**20
"""Bytes of one request: a round trip costs more than the bytes."""
_TIMEOUTS = {"connect_timeout": 10, "read_timeout": 60}
"""Seconds."""
_ODD = "object whose key holds an empty name, '.' or the mark of a version"
_VERSION = "?versionId="
"""What fsspec cuts off a key."""
_REASON = 300


class S3Root(IndexedRoot):
    """A prefix of a bucket, as a directory. All that lies below it is listed at the first question."""

    def __init__(self, address: Address) -> None:
        """Nothing is asked yet. Raises UnusableRootError where fsspec or s3fs is not installed."""
        super().__init__(str(address))
        self._address = address
        self._bucket = _bucket(address.base.removeprefix(S3), address.asked)

    def _members(self, directory: str) -> Mapping[str, Member]:
        members = self._index().members(directory)
        if not members and not directory:
            raise UnusableRootError(f"{clean(self.path)}: there is no object below it")
        return members

    def _refused(self) -> Iterable[tuple[str, str]]:
        return self._index().refused

    def _index(self) -> Index:
        return self._bucket.index(self._address.path, self._address.only)

    def _pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        key = f"{self._address.path}/{path}".strip("/")
        for offset in range(0, limit, _PIECE):
            size = min(_PIECE, limit - offset)
            piece = self._bucket.read(key, offset, size)
            if len(piece) != size:
                raise BadContentError("it changed while the bucket was read")
            yield piece


class _Bucket:
    """A bucket as it was when it was asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._indexes: dict[tuple[str, str], Index] = {}

    def index(self, path: str, only: str) -> Index:
        """What lies below a directory, or of that what lies below one name. Raises UnusableRootError."""
        if (path, only) not in self._indexes:
            self._indexes[path, only] = self._listed(f"{path}/" if path else "", f"{only}/" if only else "")
        return self._indexes[path, only]

    def read(self, key: str, offset: int, size: int) -> bytes:
        """Bytes of an object. Raises BadContentError."""
        files, errors = _filesystem()
        try:
            data: bytes = files.cat_file(f"{self._name}/{key}", start=offset, end=offset + size)
        except errors as error:
            raise BadContentError(f"it cannot be read: {_reason(error)}") from None
        return data

    def _listed(self, prefix: str, start: str) -> Index:
        files, errors = _filesystem()
        index = Index()
        token: dict[str, str] = {}
        try:
            while True:
                page = files.call_s3("list_objects_v2", Bucket=self._name, Prefix=prefix + start, MaxKeys=PAGE, **token)
                for found in page.get("Contents", ()):
                    _add(index, found["Key"][len(prefix) :], found["Size"])
                if not page.get("IsTruncated"):
                    return index
                token = {"ContinuationToken": page["NextContinuationToken"]}
        except TooManyEntriesError as error:
            problem = str(error)
        except errors as error:
            problem = _reason(error)
        raise UnusableRootError(f"{clean(f'{S3}{self._name}/{prefix}')} cannot be listed: {problem}")


def _add(index: Index, name: str, size: int) -> None:
    if name.endswith("/") or not name:
        index.add(name, Member(DIRECTORY))
    elif _VERSION in name or not {"", "."}.isdisjoint(name.split("/")):
        index.add(name, Member(_ODD))
    else:
        index.add(name, Member(FILE, size))


def _reason(error: Exception) -> str:
    return clean(" ".join(str(error).split()), _REASON) or type(error).__name__


@lru_cache(1)
def _bucket(name: str, asked: int) -> _Bucket:
    """The bucket, listed once for each time that a user asks."""
    _filesystem()
    return _Bucket(name)


@lru_cache(1)
def _filesystem() -> tuple[Any, tuple[type[Exception], ...]]:
    """The connection of this process, and what its calls raise."""
    try:
        import fsspec
        from aiohttp import ClientError as HttpError
        from botocore.exceptions import BotoCoreError, ClientError

        files = fsspec.filesystem("s3", use_listings_cache=False, skip_instance_cache=True, config_kwargs=_TIMEOUTS)
    except ImportError as error:
        raise UnusableRootError(
            f"{S3} needs fsspec and s3fs: pip install 'mlpstorage-rules[s3]' ({clean(str(error), _REASON)})"
        ) from None
    return files, (OSError, BotoCoreError, ClientError, HttpError)
