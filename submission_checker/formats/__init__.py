"""Output formats: one module each, registered here by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from ..report import CheckReport
from . import json, text


@dataclass(frozen=True, slots=True)
class Style:
    """How much a format shows; machine-readable formats show all and ignore it."""

    verbose: bool = False
    width: int = 80


Format = Callable[[CheckReport, TextIO, Style], None]
"""Writes a report to a stream."""

FORMATS: dict[str, Format] = {"text": text.write, "json": json.write}
