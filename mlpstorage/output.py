"""Standard output that cannot be written to: a full disk, a reader that is gone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _Patient(io.TextIOWrapper):
    """Standard output whose reader may be gone: then nothing more is written."""

    def write(self, text: str) -> int:
        """Write all of the text."""
        try:
            return super().write(text)
        except BrokenPipeError:
            abandon()
            return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        try:
            super().flush()
        except BrokenPipeError:
            abandon()


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """For commands that start nothing: they end with the same exit code, however much is read of what they print."""
    usual = sys.stdout
    if not isinstance(usual, io.TextIOWrapper):
        yield
        return
    sys.stdout = patient = _Patient(
        usual.buffer, usual.encoding, usual.errors,
        line_buffering=usual.line_buffering, write_through=usual.write_through,
    )  # fmt: skip
    try:
        yield
    finally:
        sys.stdout = usual
        patient.detach()  # which flushes, too


def failed(error: OSError) -> bool:
    """Whether an error is about standard output: one about a file names it."""
    return error.filename is None


def abandon() -> None:
    """Write nothing more to standard output; the interpreter would try once more when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def last_words(text: str) -> None:
    """Say on standard error why the program ends; that it cannot be written to, or is closed, changes no exit code."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


@contextmanager
def optional() -> Iterator[None]:
    """For what may go unsaid: that it cannot be printed is passed over."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not failed(error):
            raise
        abandon()
