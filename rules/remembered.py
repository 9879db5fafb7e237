"""A cache for functions of texts that may come from any file: bounded in how many it holds and in how much."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, TypeVarTuple

Texts = TypeVarTuple("Texts")
Result = TypeVar("Result")

_LONGEST = 256
"""Characters of all arguments of a call that is remembered; the texts of real files are far shorter."""


def remembered(most: int) -> Callable[[Callable[[*Texts], Result]], Callable[[*Texts], Result]]:
    """Remember up to ``most`` results of a function whose arguments are all texts; those of long texts are not kept."""

    def decorate(function: Callable[[*Texts], Result]) -> Callable[[*Texts], Result]:
        kept: Any = lru_cache(most)(function)

        @wraps(function)
        def call(*texts: *Texts) -> Result:
            long = sum(map(len, texts)) > _LONGEST  # type: ignore[arg-type]
            result: Result = function(*texts) if long else kept(*texts)
            return result

        return call

    return decorate
