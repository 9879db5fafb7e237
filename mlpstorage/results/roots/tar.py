"""The members of a tar archive: POSIX (ustar, pax), GNU and old ones, read header by header.

A damaged or shortened archive is never taken for one with fewer members: all of it is well-formed up to the mark at its
end, or nothing of it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from .index import DIRECTORY, FILE, LINK, BadContentError, Index, Member
from .positioned import DamagedError, File

_BLOCK = 512
_END = bytes(_BLOCK)
_MAX_HEADER_TEXT = 2**20
"""Bytes of a long name, or of all attributes of one member."""
_MAX_EXTENSIONS = 16
"""Headers that describe the next one; there are at most four."""
_TAIL = 2**20
"""Bytes behind the end mark that are looked at; writers pad with zeros to some 10,000."""
_SPARSE = -1
"""In place of the offset of a file whose content is stored with holes."""
_PIECE = 2**20
_KINDS = {b"2": LINK, b"3": "character device", b"4": "block device", b"5": DIRECTORY, b"6": "FIFO"}
_DANGLING = "hard link to nothing in the archive"


@dataclass(slots=True)
class _Attributes:
    """What extension headers say about the next member; a global one about all."""

    name: bytes | None = None
    link: bytes | None = None
    size: int | None = None
    real_size: int | None = None
    """Of a file with holes."""
    sparse: bool = False


@dataclass(slots=True)
class _Next:
    """What was gathered for the next member."""

    local: _Attributes = field(default_factory=_Attributes)
    extensions: int = 0


class Tar:
    """A tar archive. Raises DamagedError where it is none, or not a whole one, and TooManyEntriesError."""

    def __init__(self, file: File) -> None:
        self.index = Index()
        self._read = file.read
        self._globally = _Attributes()
        self._scan()

    def pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        """The first bytes of a member. Raises BadContentError."""
        if member.place == _SPARSE:
            raise BadContentError("the archive holds it as a sparse file, which is not read: pack it without holes")
        for offset in range(0, limit, _PIECE):
            piece = self._read(member.place + offset, min(_PIECE, limit - offset))
            if len(piece) < min(_PIECE, limit - offset):
                raise BadContentError("the archive changed while it was read: it is shorter now")
            yield piece

    def _scan(self) -> None:
        offset, following = 0, _Next()
        while True:
            header = self._read(offset, _BLOCK)
            if header == _END:
                break
            if len(header) < _BLOCK:
                raise DamagedError(
                    f"it ends at byte {offset + len(header)} without the mark of its end: it was cut short"
                    if offset
                    else "it is too short for a tar archive"
                )
            offset, following = self._member(header, offset, following)
        if following.extensions:
            raise DamagedError(f"it ends at byte {offset} in the middle of a member")
        if self._read(offset, _TAIL).strip(b"\0"):
            raise DamagedError(f"more follows behind the mark of its end at byte {offset}: it was joined of several")

    def _member(self, header: bytes, offset: int, following: _Next) -> tuple[int, _Next]:
        """Take one header in; gives the offset of the next, and what is known about its member."""
        if sum(header) - sum(header[148:156]) + 256 != _number(header[148:156], offset):
            raise DamagedError(f"no header of a tar archive is at byte {offset}")
        kind, size = header[156:157], _number(header[124:136], offset)
        data = offset + _BLOCK
        if kind in (b"x", b"g", b"X", b"L", b"K"):
            self._extend(kind, self._text(data, size), following, offset)
            return _padded(data + size), following
        if kind == b"M":
            raise DamagedError(f"it is a part of an archive of several volumes (byte {offset})")
        about, globally = following.local, self._globally
        if about.size is not None or globally.size is not None:
            size = about.size if about.size is not None else globally.size or 0
        if kind == b"S":
            about.sparse, about.real_size = True, _number(header[483:495], offset)
            more = header[482:483] != b"\0"
            while more:
                extension = self._read(data, _BLOCK)
                if len(extension) < _BLOCK:
                    raise DamagedError(f"it ends at byte {data} in the middle of a member")
                data, more = data + _BLOCK, extension[504:505] != b"\0"
        name = os.fsdecode(about.name or globally.name or _name(header))
        if kind in _KINDS or kind == b"1":
            link = os.fsdecode(about.link or globally.link or header[157:257].partition(b"\0")[0])
            self.index.add(name, self._linked(link) if kind == b"1" else Member(_KINDS[kind]))
            return data, _Next()
        if kind == b"D" or (kind in (b"0", b"\0") and name.endswith("/")):
            self.index.add(name, Member(DIRECTORY))
        elif kind not in (b"V", b"N"):  # a label of the volume, and names in the oldest GNU form
            real = about.real_size if about.sparse and about.real_size is not None else size
            self.index.add(name, Member(FILE, real, _SPARSE if about.sparse else data))
        return _padded(data + size), _Next()

    def _linked(self, target: str) -> Member:
        """What a hard link is: a second name of a file that came before it."""
        found = self.index.member(target)
        return found if found is not None and found.kind in (FILE, LINK) else Member(_DANGLING)

    def _text(self, offset: int, size: int) -> bytes:
        if size > _MAX_HEADER_TEXT:
            raise DamagedError(f"the attributes at byte {offset} are longer than {_MAX_HEADER_TEXT} bytes")
        text = self._read(offset, size)
        if len(text) < size:
            raise DamagedError(f"it ends at byte {offset + len(text)} in the middle of a member")
        return text

    def _extend(self, kind: bytes, text: bytes, following: _Next, offset: int) -> None:
        following.extensions += 1
        if following.extensions > _MAX_EXTENSIONS:
            raise DamagedError(f"there are too many attributes of one member at byte {offset}")
        if kind == b"L":
            following.local.name = text.partition(b"\0")[0]
        elif kind == b"K":
            following.local.link = text.partition(b"\0")[0]
        else:
            _take(_records(text, offset), self._globally if kind == b"g" else following.local, offset)
            following.extensions -= kind == b"g"


def _take(records: Iterator[tuple[bytes, bytes]], into: _Attributes, offset: int) -> None:
    for key, value in records:
        if key == b"path":
            into.name = into.name if into.sparse and into.name else value
        elif key == b"GNU.sparse.name":
            into.name, into.sparse = value, True
        elif key == b"linkpath":
            into.link = value
        elif key == b"size":
            into.size = _decimal(value, offset)
        elif key in (b"GNU.sparse.realsize", b"GNU.sparse.size"):
            into.sparse, into.real_size = True, _decimal(value, offset)
        elif key.startswith(b"GNU.sparse."):
            into.sparse = True


def _records(text: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values: each record is its own length, a blank, key=value, and a line end."""
    position = 0
    while position < len(text) and text[position]:
        blank = text.find(b" ", position, position + 20)
        length = _decimal(text[position:blank] if blank > 0 else b"", offset)
        key, separator, value = text[blank + 1 : position + length - 1].partition(b"=")
        if not separator or text[position + length - 1 : position + length] != b"\n":
            raise DamagedError(f"the attributes of the member at byte {offset} are malformed")
        yield key, value
        position += length


def _decimal(text: bytes, offset: int) -> int:
    if not text.isdigit() or len(text) > 18:
        raise DamagedError(f"the attributes of the member at byte {offset} are malformed")
    return int(text)


def _number(text: bytes, offset: int) -> int:
    """A number of a header: octal digits, or binary with a mark in front."""
    if text[:1] == b"\x80":
        number = int.from_bytes(text[1:])
        digits = number < 2**62
    else:
        plain = text.strip(b" \0")
        digits = all(48 <= digit < 56 for digit in plain)
        number = int(plain or b"0", 8) if digits else 0
    if not digits:
        raise DamagedError(f"no header of a tar archive is at byte {offset}")
    return number


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _padded(offset: int) -> int:
    return -(-offset // _BLOCK) * _BLOCK
