"""Bytes by their offset: what archives are read from. No position is shared, so that a forked process may read too."""

from __future__ import annotations

import os

_MAX_OFFSET = 2**62


class DamagedError(Exception):
    """What should be an archive cannot be read as one; the text says why."""


class File:
    """An open file, which is closed when nobody uses it any more."""

    def __init__(self, descriptor: int) -> None:
        """Take over a descriptor."""
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end. Raises OSError."""
        if offset > _MAX_OFFSET:  # whoever wrote the archive may point anywhere
            return b""
        return os.pread(self._descriptor, size, offset)
