"""What a gzip file inflates to, for access by offset.

Inflating goes forward only, and the readers of a tree do not ask in the order of an archive. So the output is kept in a
temporary file that has no name and is gone with the process. (To keep states of the decompressor in its place was
tried: for the published round it took 150 MB more of memory, or three times the time.)
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator

from .positioned import DamagedError, File

MAX_BYTES = 16 * 2**30
"""Twenty times what the published round has."""
FREE_BYTES = 2**30
MAX_RATIO = 250
"""Output of more than ``FREE_BYTES`` must not be this many times as long as its input. JSON and logs reach 30."""
_INPUT = 2**14
"""Bytes that are inflated at once; they hold at most a thousand times as many."""
_GZIP = 31
"""Wants a gzip header, and checks length and checksum at the end."""


def inflate(file: File) -> File:
    """The output, in a file of its own. Raises DamagedError, and OSError where the input cannot be read."""
    try:
        with tempfile.TemporaryFile(buffering=0) as output:
            kept = os.dup(output.fileno())
    except OSError as error:
        raise _no_room(error) from None
    inflated = File(kept)
    for piece in _pieces(file):
        left = memoryview(piece)
        while left:
            try:
                left = left[os.write(kept, left) :]
            except OSError as error:
                raise _no_room(error) from None
    return inflated


def _no_room(error: OSError) -> DamagedError:
    return DamagedError(
        f"its content cannot be put into {tempfile.gettempdir()} ({os.strerror(error.errno or 0)}): "
        "set TMPDIR to a larger place, or pack it as .tar or .zip, which need none"
    )


def _pieces(file: File) -> Iterator[bytes]:
    """The output piece by piece; several streams may follow one another, with NUL characters between them."""
    position = made = 0
    state = None
    while data := file.read(position, _INPUT):
        if state is None:
            padding = len(data) - len(data.lstrip(b"\0")) if position else 0
            position, data = position + padding, data[padding:]
            if not data:
                continue
            state = zlib.decompressobj(_GZIP)
        try:
            piece = state.decompress(data)
        except zlib.error as error:
            raise DamagedError(f"it is damaged before byte {position + len(data)} ({error})") from None
        position += len(data) - len(state.unused_data)
        made += len(piece)
        if made > min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * position)):
            raise DamagedError(f"its first {position} bytes inflate to {made}: that is no archive of results")
        yield piece
        if state.eof:
            state = None
    if state is not None or not position:
        raise DamagedError(f"it ends at byte {position} in the middle of its content")
