"""The record of the book that was checked in full: a digest of each file that says what the rules are.

``mlpstorage rules check`` compiles every text of the book and runs every example. Where the files are still those that
it passed, loading need not do so again: texts are compiled at first use, and examples are not read. A book that was
changed by hand is compiled in full when it loads.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from .loading import BOOK

RECORD = BOOK / "expected" / "checked.txt"
_FACTS = Path(__file__).parent / "facts"
_MACHINERY = ("__init__.py", "base.py")


def record_lines() -> list[str]:
    """Name and digest of each file: the book's editions, sections, tables and baselines, and the fact models.

    What compiles the rules is not listed, nor is what fact models have in common: the tests check the book anew.
    """
    book = (path for pattern in ("*.yaml", "tables/*.yaml", "baselines/*.yaml") for path in BOOK.glob(pattern))
    files = [*book, *(path for path in _FACTS.glob("*.py") if path.name not in _MACHINERY)]
    return sorted(
        f"{path.relative_to(_FACTS.parent).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
    )


@cache
def is_checked() -> bool:
    """The files are those of the record."""
    try:
        return RECORD.read_text(encoding="ascii").splitlines() == record_lines()
    except (OSError, UnicodeDecodeError):
        return False
