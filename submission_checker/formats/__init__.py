"""Output formats: one module each, registered here by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TextIO

from ..report import CheckReport
from . import jsonl


@dataclass(frozen=True, slots=True)
class Style:
    """How much a format shows; machine-readable formats show all and ignore it."""

    verbose: bool = False
    width: int = 80


Format = Callable[[CheckReport, TextIO, Style], None]
"""Writes a report to a stream."""

STREAMS: dict[str, type[jsonl.Stream]] = {"jsonl": jsonl.Stream}
"""Formats that can write findings before the report is complete."""


def _write(module: str, report: CheckReport, out: TextIO, style: Style) -> None:
    """Import the one module that is asked for, and write with it."""
    import_module(f".{module}", __package__).write(report, out, style)


FORMATS: dict[str, Format] = {
    name: partial(_write, name)
    for name in ("text", "json", "jsonl", "sarif", "junit", "github", "csv", "markdown", "html")
}
"""Each is the function ``write`` of the module of its name."""
