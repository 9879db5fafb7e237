"""Archives for tests, hostile ones included: written member by member, for no packer writes them."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")


class Entry(NamedTuple):
    """A member: what ``kind`` says, with content, or the target of a link."""

    name: str
    kind: str = "file"
    content: bytes = b""


TAR_TYPES = {
    "file": tarfile.REGTYPE, "directory": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE,
    "FIFO": tarfile.FIFOTYPE, "character device": tarfile.CHRTYPE, "block device": tarfile.BLKTYPE,
}  # fmt: skip
MODES = {
    "file": stat.S_IFREG, "directory": stat.S_IFDIR, "link": stat.S_IFLNK, "FIFO": stat.S_IFIFO,
    "character device": stat.S_IFCHR, "block device": stat.S_IFBLK, "socket": stat.S_IFSOCK,
}  # fmt: skip


def entries_of(root: Path) -> Iterator[Entry]:
    """What is in a directory; links as links."""
    for directory, names, files in os.walk(root):
        for name in sorted([*names, *files]):
            path = Path(directory, name)
            below = path.relative_to(root).as_posix()
            if path.is_symlink():
                yield Entry(below, "link", os.fsencode(os.readlink(path)))
            elif path.is_dir():
                yield Entry(f"{below}/", "directory")
            elif path.is_fifo():
                yield Entry(below, "FIFO")
            else:
                yield Entry(below, "file", path.read_bytes())


def pack(path: Path, entries: Iterable[Entry]) -> Path:
    """Write an archive of the kind that the name says."""
    (_zip if path.suffix == ".zip" else _tar)(path, entries)
    return path


class _RawName(zipfile.ZipInfo):
    """A member whose name need not be UTF-8."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 - the standard library asks for it
        return os.fsencode(self.filename), self.flag_bits


def _zip(path: Path, entries: Iterable[Entry]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = _RawName("x")
            info.filename = entry.name  # as it is, '..' and all
            info.create_system, info.external_attr = 3, (MODES[entry.kind] | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.content)


def _tar(path: Path, entries: Iterable[Entry]) -> None:
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            add(archive, entry)


def add(archive: tarfile.TarFile, entry: Entry) -> None:
    """Add a member to a tar archive."""
    info = tarfile.TarInfo(entry.name.rstrip("/") if entry.kind == "directory" else entry.name)
    info.type = TAR_TYPES[entry.kind]
    if entry.kind == "file":
        info.size = len(entry.content)
        archive.addfile(info, io.BytesIO(entry.content))
    else:
        info.linkname = os.fsdecode(entry.content)
        archive.addfile(info)
