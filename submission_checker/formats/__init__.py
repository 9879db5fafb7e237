"""Output formats: one module each, registered here by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import TextIOBase
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ..report import CheckReport
    from .jsonl import Stream


@dataclass(frozen=True, slots=True)
class Style:
    """How much a format shows; machine-readable formats show all and ignore it."""

    verbose: bool = False
    width: int = 80


Format = Callable[["CheckReport", TextIO, Style], None]
"""Writes a report to a stream."""


def _write(module: str, report: CheckReport, out: TextIO, style: Style) -> None:
    """Import the one module that is asked for, and write with it."""
    import_module(f".{module}", __package__).write(report, out, style)


def _stream(module: str, out: TextIOBase) -> Stream:
    found: Stream = import_module(f".{module}", __package__).Stream(out)
    return found


FORMATS: dict[str, Format] = {
    name: partial(_write, name)
    for name in ("text", "json", "jsonl", "sarif", "junit", "github", "csv", "markdown", "html")
}
"""Each is the function ``write`` of the module of its name."""

STREAMS: dict[str, Callable[[TextIOBase], Stream]] = {"jsonl": partial(_stream, "jsonl")}
"""Formats that can write findings before the report is complete: the class ``Stream`` of the module."""
