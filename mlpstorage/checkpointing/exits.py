"""Exit codes of ``mlpstorage checkpointing run``, and how a command line that is wrong is told."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NoReturn


class Exit(IntEnum):
    """What the caller's shell sees. Codes 0 to 4 are the design's contract."""

    OK = 0
    """Legal; without ``--dry-run`` the benchmark ran and succeeded as well."""
    FORBIDDEN = 1
    """A rule forbids the run: nothing was started."""
    USAGE = 2
    """The command line is wrong, or the answer cannot be written."""
    NOT_READY = 3
    """The machine cannot do it yet: nothing was started, no run leaf exists."""
    FAILED = 4
    """The benchmark failed; its leaf says so."""
    DEFECT = 5
    """A rule or this program is broken: neither legal nor illegal."""
    INTERRUPTED = 130
    """Ctrl-C, SIGTERM or the loss of the terminal ended the command; a run leaf that exists says how far it came."""


class UsageError(Exception):
    """The command line asks for something that makes no sense; the text is one line for the user."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError, and offers for an unknown option the ones that are written alike."""

    _words: Sequence[str] = ()

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options that the words state. Raises UsageError."""
        self._words = words
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        """Raises UsageError, always. An option that is missing may be there, misspelt."""
        known = self._option_string_actions
        named = (word.partition("=")[0] for word in self._words if word.startswith("-"))
        unknown = [name for name in named if name not in known]
        if unknown and "required" in message:
            message += f"; unrecognized arguments: {' '.join(unknown)}"
        raise UsageError(f"{message}{meant(unknown, known) if 'unrecognized' in message else ''}")


def meant(words: Iterable[str], known: Iterable[str]) -> str:
    """``; did you mean ...?`` with the known words that are written almost alike; empty where none is."""
    from difflib import get_close_matches  # here, for it is needed only where something is wrong

    names = list(known)
    close = dict.fromkeys(name for word in words for name in get_close_matches(word, names, n=1, cutoff=0.8))
    return f"; did you mean {' and '.join(close)}?" if close else ""
