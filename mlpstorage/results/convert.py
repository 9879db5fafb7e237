"""What counts as a value of a type: one table for all files of a results tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .text import clean

_SMALLEST, _LARGEST = 1e-100, 1e100
"""Sizes of numbers from a file: sums, ratios and products of them stay finite."""
_DIGITS = re.compile(r"[+-]?[0-9]{1,19}")


class InvalidValueError(ValueError):
    """A value is not of the wanted type; the text says what was wanted."""


def as_int(value: Any) -> int:
    """64, 64.0, "64" and " 64 " are 64; true, 64.5, texts, lists and what 64 bits cannot hold are refused."""
    if type(value) is int and -(2**63) <= value < 2**63:  # as nearly all are
        return value
    digits = isinstance(value, str) and _DIGITS.fullmatch(value.strip()) is not None
    if digits or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise InvalidValueError("an integer")
    return value


def as_float(value: Any) -> float:
    """Numbers and texts of one; NaN, infinities, sizes that nobody measures, and truth values are refused."""
    if type(value) is float and _SMALLEST <= value <= _LARGEST:  # as nearly all are
        return value
    if isinstance(value, str) and len(value) <= 40 and "_" not in value:
        try:
            value = float(value)
        except ValueError:
            raise InvalidValueError("a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError("a number")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidValueError("a finite number") from None
    if not math.isfinite(number):
        raise InvalidValueError("a finite number")
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise InvalidValueError(f"a number of a size that is measured, {_SMALLEST:g} to {_LARGEST:g}")
    return number


def as_bool(value: Any) -> bool:
    """true, "true", "True" and their opposites; numbers and "yes" are refused."""
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise InvalidValueError("true or false")
    return value


def as_strict_bool(value: Any) -> bool:
    """Only true and false themselves."""
    if not isinstance(value, bool):
        raise InvalidValueError("true or false")
    return value


def as_text(value: Any) -> str:
    """A text without blanks around it, control characters replaced; numbers are refused."""
    if not isinstance(value, str):
        raise InvalidValueError("text")
    return clean(value.strip())


def as_choice(*choices: str) -> Callable[[Any], str]:
    """A converter to one of these lower-case words, whatever the case in the file."""

    def convert(value: Any) -> str:
        text = as_text(value).lower()
        if text not in choices:
            raise InvalidValueError(" or ".join(choices))
        return text

    return convert


def as_mapping(value: Any) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise InvalidValueError("an object")
    return value


def as_list(value: Any) -> list[Any]:
    """A list, or the empty text."""
    if value == "":
        return []
    if not isinstance(value, list):
        raise InvalidValueError("a list")
    return value


def as_time(value: Any) -> datetime:
    """A time with a zone or without."""
    try:
        time = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        time = None
    if time is None or not 1970 <= time.year < 2200:  # keeps all arithmetic inside datetime's range
        raise InvalidValueError("an ISO 8601 time")
    return time


def as_local_time(value: Any) -> datetime:
    """A naive time. A zone that is written out is dropped: it is the leaf's, and so are all its other times."""
    time = as_time(value)
    return time if time.tzinfo is None else time.replace(tzinfo=None)


def as_utc_time(value: Any) -> datetime:
    """A time with a zone as naive UTC."""
    time = as_time(value)
    if time.tzinfo is None:
        raise InvalidValueError("a time with a zone (Z)")
    return time.astimezone(UTC).replace(tzinfo=None)
