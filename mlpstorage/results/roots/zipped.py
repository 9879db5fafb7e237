"""The members of a zip archive, by the directory at its end. Contents are stored or deflated; nothing else is read.

Sizes and checksums that the archive states are not believed but checked, for whatever is read in full.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from .index import DIRECTORY, FILE, BadContentError, Index, Member
from .local import kind_of
from .positioned import DamagedError, File

_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_MAX_COMMENT = 2**16
_END_64 = struct.Struct("<4sQ2H2L4Q")
_END_64_MARK = b"PK\x06\x06"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_MARK = b"PK\x06\x07"
_ENTRY = struct.Struct("<4s6H3L5H2L")
_ENTRY_MARK = b"PK\x01\x02"
_LOCAL = struct.Struct("<4s5H3L2H")
_LOCAL_MARK = b"PK\x03\x04"
_ZIP64 = 1
_FULL_32, _FULL_16 = 2**32 - 1, 2**16 - 1
_ENCRYPTED = 1
_STORED, _DEFLATED = 0, 8
_UNIX = (3, 19)
"""Systems whose attributes carry a mode; the second is macOS."""
_MAX_ENTRY = _ENTRY.size + 3 * _FULL_16
_MAX_DIRECTORY = 256 * 2**20
_PIECE = 2**20


class _Entry(NamedTuple):
    """One entry of the central directory."""

    name: bytes
    made_by: int
    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    mode: int
    offset: int
    length: int
    """Bytes of the entry itself."""


class Zip:
    """A zip archive. Raises DamagedError where it is none, or its directory cannot be used, and TooManyEntriesError."""

    def __init__(self, file: File) -> None:
        self.index = Index()
        self._file = file
        self._shift = 0
        """Bytes before the archive proper: what is prepended to make it start by itself."""
        start, size, count = self._directory()
        self._scan(start, size, count)

    def pieces(self, path: str, member: Member, limit: int) -> Iterator[bytes]:
        """The first bytes of a member; its checksum is checked where that is all of it. Raises BadContentError."""
        try:
            entry = _entry(self._file.read(member.place, _MAX_ENTRY), 0, member.place)
        except DamagedError:
            raise BadContentError("the archive changed while it was read") from None
        if entry.flags & _ENCRYPTED:
            raise BadContentError("it is encrypted: pack it without a password")
        start = self._content(entry)
        if entry.method == _STORED:
            pieces = self._packed(start, entry.size)
        elif entry.method == _DEFLATED:
            pieces = self._inflated(start, entry.packed)
        else:
            raise BadContentError(f"it is packed by method {entry.method}: only stored and deflated files are read")
        left, checksum = entry.size, 0
        for piece in pieces:
            if len(piece) > left:
                raise BadContentError(f"it is longer than the {entry.size} bytes that the archive states")
            checksum = zlib.crc32(piece, checksum)
            left -= len(piece)
            wanted = piece[:limit]
            limit -= len(wanted)
            if wanted:
                yield wanted
            if not limit and left:
                return
        if left:
            raise BadContentError(f"it ends {left} bytes before the {entry.size} that the archive states")
        if checksum != entry.checksum:
            raise BadContentError("it is damaged: its checksum is not the one that the archive states")

    def _content(self, entry: _Entry) -> int:
        """Where the content of an entry starts, behind a header of its own that must name the same file."""
        offset = entry.offset + self._shift
        header = self._file.read(offset, _LOCAL.size + len(entry.name))
        if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MARK):
            raise BadContentError(f"no header of a file is at byte {offset} of the archive, where it should lie")
        name_length, extra_length = _LOCAL.unpack_from(header)[-2:]
        if name_length != len(entry.name) or header[_LOCAL.size :] != entry.name:
            raise BadContentError("the archive's directory and the header of the file give it two names")
        if entry.method == _STORED and entry.packed != entry.size:
            raise BadContentError("the archive states two sizes of it")
        return int(offset + _LOCAL.size + name_length + extra_length)

    def _packed(self, start: int, size: int) -> Iterator[bytes]:
        for offset in range(0, size, _PIECE):
            yield self._file.read(start + offset, min(_PIECE, size - offset))

    def _inflated(self, start: int, size: int) -> Iterator[bytes]:
        state = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            for packed in self._packed(start, size):
                while packed and not state.eof:
                    yield state.decompress(packed, _PIECE)
                    packed = state.unconsumed_tail
            while not state.eof and (piece := state.decompress(b"", _PIECE)):
                yield piece
        except zlib.error as error:
            raise BadContentError(f"it is damaged ({error})") from None

    def _directory(self) -> tuple[int, int, int]:
        """Start, size and number of entries of the central directory."""
        end_of_file = self._file.size
        tail_start = max(0, end_of_file - _END.size - _MAX_COMMENT)
        tail = self._file.read(tail_start, end_of_file - tail_start)
        at = tail.rfind(_END_MARK)
        while at >= 0 and len(tail) - at < _END.size:
            at = tail.rfind(_END_MARK, 0, at)
        if at < 0:
            raise DamagedError("no directory of a zip archive is at its end: it is none, or was cut short")
        _, disk, first_disk, here, count, size, offset, comment = _END.unpack_from(tail, at)
        if tail_start + at + _END.size + comment != end_of_file:
            raise DamagedError("its end is not where it says: it was cut short, or something was appended to it")
        end = tail_start + at
        located = self._directory_64(end)  # some writers add it where it is not needed
        if located is not None:
            disk, first_disk, here, count, size, offset, end = located
        if disk or first_disk or here != count:
            raise DamagedError("it is a part of an archive of several files")
        self._shift = end - size - offset
        if self._shift < 0 or size > _MAX_DIRECTORY:
            raise DamagedError("its directory cannot lie where it says: it is damaged")
        return end - size, size, count

    def _directory_64(self, end: int) -> tuple[int, int, int, int, int, int, int] | None:
        """The same for large archives, with where that record starts; None where there is no such record."""
        locator = self._file.read(max(0, end - _LOCATOR.size), _LOCATOR.size)
        if len(locator) < _LOCATOR.size or not locator.startswith(_LOCATOR_MARK):
            return None
        at = end - _LOCATOR.size - _END_64.size  # a longer one holds what only its maker knows
        record = self._file.read(max(0, at), _END_64.size)
        if len(record) < _END_64.size or not record.startswith(_END_64_MARK):
            raise DamagedError("its directory cannot be found: it is damaged")
        _, _, _, _, disk, first_disk, here, count, size, offset = _END_64.unpack(record)
        return disk, first_disk, here, count, size, offset, at

    def _scan(self, start: int, size: int, count: int) -> None:
        directory = self._file.read(start, size)
        position = 0
        spans = [(start - self._shift, start)]
        for _ in range(count):
            entry = _entry(directory, position, start + position)
            spans.append((entry.offset, entry.offset + _LOCAL.size + len(entry.name) + entry.packed))
            kind = _kind(entry)
            place = Member(kind, entry.size if kind == FILE else 0, start + position)
            self.index.add(os.fsdecode(entry.name), place)
            position += entry.length
        if position != size:
            raise DamagedError(f"its directory ends at byte {start + position}, not where it says: it is damaged")
        spans.sort()
        for (_, end), (following, _) in pairwise(spans):
            if end > following:  # a few bytes could stand for any number of large files
                raise DamagedError(f"two of its files share bytes at byte {following + self._shift}")


def _entry(directory: bytes, position: int, at: int) -> _Entry:
    """The entry at a position of (a piece of) the directory, which is byte ``at`` of the archive."""
    if len(directory) - position < _ENTRY.size or not directory.startswith(_ENTRY_MARK, position):
        raise DamagedError(f"no entry of a zip archive's directory is at byte {at}: it is damaged")
    (
        _, made_by, _, flags, method, _, _, checksum, packed, size, name_length, extra_length, comment_length, _, _,
        attributes, offset,
    ) = _ENTRY.unpack_from(directory, position)  # fmt: skip
    length = _ENTRY.size + name_length + extra_length + comment_length
    if len(directory) - position < length:
        raise DamagedError(f"an entry of its directory at byte {at} is longer than the directory: it is damaged")
    name_end = position + _ENTRY.size + name_length
    if _FULL_32 in (packed, size, offset):
        extra = directory[name_end : name_end + extra_length]
        size, packed, offset = _large(extra, (size, packed, offset), at)
    name = directory[position + _ENTRY.size : name_end]
    return _Entry(name, made_by >> 8, flags, method, checksum, packed, size, attributes >> 16, offset, length)


def _large(extra: bytes, fields: tuple[int, int, int], at: int) -> tuple[int, int, int]:
    """Size, packed size and offset, those that do not fit into 32 bits from the extra field."""
    position = 0
    while position + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, position)
        if tag == _ZIP64:
            values = iter(struct.unpack_from(f"<{min(length, len(extra) - position - 4) // 8}Q", extra, position + 4))
            try:
                size, packed, offset = (next(values) if field == _FULL_32 else field for field in fields)
            except (ValueError, RuntimeError):
                break
            return size, packed, offset
        position += 4 + length
    raise DamagedError(f"an entry of its directory at byte {at} lacks its size: it is damaged")


def _kind(entry: _Entry) -> str:
    mode = entry.mode if entry.made_by in _UNIX else 0
    if entry.name.endswith(b"/"):
        return DIRECTORY
    return kind_of(mode) if stat.S_IFMT(mode) else FILE
