"""What a finding says: texts with expressions in braces, and how values and units print."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .compiler import CompileError, Environment, Expression, Resolver, Unknown

_OPTION = re.compile(r"--[a-z-]+ $")
NOT_KNOWN = "(not known)"


class Template:
    """A message with CEL placeholders in braces; ``{{`` and ``}}`` are braces.

    A placeholder that is a bare fact prints the fact's unit, unless the text already goes on with it, or the value is
    that of a command-line option.
    """

    __slots__ = ("_parts", "expressions", "text")

    def __init__(self, text: str, environment: Environment) -> None:
        self.text = text
        self._parts: list[str | tuple[Expression, str]] = []
        position = 0
        for piece in re.finditer(r"\{\{|\}\}|\{([^{}]*)\}|[{}]", text):
            self._parts.append(text[position : piece.start()])
            position = piece.end()
            if piece[0] in ("{{", "}}"):
                self._parts.append(piece[0][0])
            elif piece[1] is None:
                raise CompileError("unbalanced brace in the text", piece.start() + 1)
            else:
                try:
                    expression = environment.compile(piece[1].strip())
                except CompileError as error:
                    raise CompileError(f"placeholder {piece[0]}: {error.problem}", piece.start() + 1) from error
                variable = environment.variable(expression.text)
                unit = variable.unit if variable else ""
                bare = text[position:].lstrip().startswith(unit) or _OPTION.search(text[: piece.start()])
                self._parts.append((expression, "" if not unit or bare else f" {unit}"))
        self._parts.append(text[position:])
        self.expressions = tuple(part[0] for part in self._parts if not isinstance(part, str))

    @property
    def reads(self) -> tuple[str, ...]:
        """All names that the placeholders read."""
        return tuple(sorted({name for expression in self.expressions for name in expression.reads}))

    def render(self, resolve: Resolver) -> str:
        """The text with all values in. Numbers get enough digits to tell different ones apart."""
        values = [part if isinstance(part, str) else part[0].evaluate(resolve) for part in self._parts]
        numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        digits = telling_digits(numbers)
        rendered = []
        for part, value in zip(self._parts, values, strict=True):
            if isinstance(part, str):
                rendered.append(part)
            elif isinstance(value, Unknown):
                rendered.append(NOT_KNOWN)
            else:
                rendered.append(show(value, digits) + unit_of(value, part[1]))
        return "".join(rendered)


_SINGULARS = (("leaves", "leaf"), ("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("s", ""))
"""How units end, in the plural and for one."""


def unit_of(value: Any, unit: str) -> str:
    """``1 host``, ``1 process``, ``1 query``, ``2 hosts``; ``1 s`` and ``1 tokens/s`` stay."""
    if value == 1 and len(unit) > 3 and "/" not in unit:
        for plural, singular in _SINGULARS:
            if unit.endswith(plural):
                return unit.removesuffix(plural) + singular
    return unit


def telling_digits(numbers: Sequence[float]) -> int:
    """The fewest decimals, at least one, that print different numbers differently."""
    different = set(numbers)
    for digits in range(1, 17):
        if len({_shown(number, digits) for number in different}) == len(different):
            return digits
    return 17


def show(value: Any, digits: int = 1) -> str:
    """A value as a message prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _shown(value, digits)
    if isinstance(value, list):
        return ", ".join(show(item, digits) for item in value) if value else "(none)"
    return str(value)


def _shown(number: float, digits: int) -> str:
    """A number with so many decimals; with more where these would leave less than two digits of it."""
    text = f"{number:.{digits}f}"
    if abs(number) < 10 ** (1 - digits) and float(text) != number:
        return str(float(f"{number:.2g}"))
    return text
