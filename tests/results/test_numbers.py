"""What counts as a number in a file."""

from __future__ import annotations

import math
from itertools import product

import pytest

from mlpstorage.results.convert import InvalidValueError, as_float

USABLE = [0, -0.0, 1, "2.5", " 3 ", -4e12, 1e100, 1e-100]


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, 1e101, 1e-101, -5e-324, 10**400, "1e999", True, "1_0", "", None]
)
def test_what_nobody_measures_is_no_number(value: object) -> None:
    with pytest.raises(InvalidValueError):
        as_float(value)


def test_arithmetic_with_numbers_stays_finite() -> None:
    numbers = [as_float(value) for value in USABLE]
    for one, other in product(numbers, repeat=2):
        assert math.isfinite(one * other + one + other)
        assert not other or math.isfinite(one / other)
