"""Standard output that cannot be written to: a full disk, a reader that is gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def failed(error: OSError) -> bool:
    """Whether an error is about standard output: one about a file names it."""
    return error.filename is None


def abandon() -> None:
    """Write nothing more to standard output; the interpreter would try once more when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def last_words(text: str) -> None:
    """Say on standard error why the program ends; that a terminal which is gone cannot show it changes nothing."""
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
