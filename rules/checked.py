"""The record of the book that was checked in full: a digest of each file that says what the rules are.

``mlpstorage rules check`` compiles every text of the book and runs every example. Where the files are still those that
it passed, loading need not do so again: texts are compiled at first use, and examples are not read. A book that was
changed by hand is compiled in full when it loads.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from .tables import BOOK

RECORD = BOOK / "expected" / "checked.txt"
_FACTS = Path(__file__).parent / "facts"


def record_lines() -> list[str]:
    """Digest and name of each file: the book's editions, sections, tables and baselines, and the fact models."""
    files = [*BOOK.glob("*.yaml"), *BOOK.glob("tables/*.yaml"), *BOOK.glob("baselines/*.yaml"), *_FACTS.glob("*.py")]
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
