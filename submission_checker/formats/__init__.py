"""Output formats: one module each, registered here by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from ..report import CheckReport
from . import csv, github, html, json, jsonl, junit, markdown, sarif, text


@dataclass(frozen=True, slots=True)
class Style:
    """How much a format shows; machine-readable formats show all and ignore it."""

    verbose: bool = False
    width: int = 80


Format = Callable[[CheckReport, TextIO, Style], None]
"""Writes a report to a stream."""

STREAMS: dict[str, type[jsonl.Stream]] = {"jsonl": jsonl.Stream}
"""Formats that can write findings before the report is complete."""

FORMATS: dict[str, Format] = {
    "text": text.write,
    "json": json.write,
    "jsonl": jsonl.write,
    "sarif": sarif.write,
    "junit": junit.write,
    "github": github.write,
    "csv": csv.write,
    "markdown": markdown.write,
    "html": html.write,
}
