"""Keeps in few bytes what is not looked at for a while, so that what a check holds hardly grows with the tree."""

from __future__ import annotations

import pickle
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_FAST = 1
"""Level of the compression; the texts of a report are much alike, and more would gain little."""


@dataclass(frozen=True, slots=True)
class Packed(Generic[T]):
    """A value of this program's own making, written down; never anything that was read from a tree as it is."""

    data: bytes

    @classmethod
    def of(cls, value: T) -> Packed[T]:
        """Write it down."""
        return cls(zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), _FAST))

    def value(self) -> T:
        """An equal value."""
        found: T = pickle.loads(zlib.decompress(self.data))  # noqa: S301 - written by this program, in this run
        return found


def give_back() -> None:
    """Return freed memory to the system before more of another kind is asked for, where the C library can do so."""
    import ctypes

    with suppress(OSError, AttributeError):  # only the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)
