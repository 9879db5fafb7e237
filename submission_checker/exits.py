"""How the command ends: its exit codes, the errors that mean it could not check, and what it then says."""

from __future__ import annotations

import contextlib
import sys
from enum import IntEnum

from mlpstorage.results.text import harmless


class Exit(IntEnum):
    """Exit codes of the command."""

    CLEAN = 0
    """Nothing at or above ``--fail-on``."""
    VIOLATIONS = 1
    NOT_CHECKED = 2
    """Bad usage, no such directory, no submission in it, or a part of it that could not be listed."""
    FAULT = 3
    """A defect of the checker or of its rule data."""


class NotCheckedError(Exception):
    """What was asked for cannot be done; the text says why. Ends the command with ``Exit.NOT_CHECKED``."""


class UsageError(NotCheckedError):
    """The command line asks for something that cannot be done."""


def say(text: str) -> None:
    """Tell the user; a standard error that cannot be written to, or is closed, changes no exit code."""
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.write(f"submission-checker: {harmless(text)}\n")
