"""Exit codes of ``mlpstorage checkpointing run``."""

from __future__ import annotations

from enum import IntEnum


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
    """Ctrl-C (or SIGTERM) ended the run; its leaf says so."""


class UsageError(Exception):
    """The command line asks for something that makes no sense; the text is one line for the user."""
