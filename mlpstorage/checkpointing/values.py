"""Values that options state, converted and checked one by one."""

from __future__ import annotations

import math
import os
import re

from .exits import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def integer(option: str, text: str, least: int, most: int) -> int:
    """A whole number that an option states, from ``least`` to ``most``. Raises UsageError."""
    number = re.fullmatch(r"\s*([+-]?)0*([0-9]+)\s*", text)
    if number is None:
        raise UsageError(f"{option}: {text!r} is not a whole number")
    sign, digits = number.groups()
    # No limit has that many digits, and Python converts no number of thousands of them.
    if len(digits) > len(str(most)) or not least <= int(sign + digits) <= most:
        raise UsageError(f"{option}: {sign.strip('+')}{digits} is out of range, {least} to {most}")
    return int(sign + digits)


def positive(option: str, text: str) -> float:
    """A finite number above zero. Raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"{option}: {text!r} is not a positive number")
    return value


def checked_name(option: str, text: str | None) -> str | None:
    """A name that becomes a directory of the results tree; None where it is empty. Raises UsageError."""
    if text is None or not text.strip():
        return None
    name = text.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{option}: {name!r} cannot name a directory of the results tree; use letters, digits, '.', '_' and '-'"
        )
    return name


def absolute(text: str) -> str:
    """An absolute path without looking at the disk; empty stays empty (rule 4.4.1 judges that)."""
    return os.path.abspath(os.path.expanduser(text.strip())) if text.strip() else ""


def uninterpreted(what: str, text: str) -> str:
    """The text, which reaches DLIO as it is. Raises UsageError for what its configuration language would act on."""
    if "${" in text or "\n" in text:
        raise UsageError(f"{what} holds '${{' or a line break, which DLIO would interpret")
    return text
