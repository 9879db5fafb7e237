"""What the logs and the batch tables of a vector-database leaf say. Text in, plain values out."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rules.derived.vector_database import Batch

STATISTICS_MARK = "Benchmark statistics as JSON:"
MULTI_NODE_MARK = "VDB_MULTI_NODE_SUMMARY_JSON="

_COLLECTION = re.compile(r"COLLECTION INFORMATION:(.*)")
_NAME = re.compile(r"'name': '([^']*)'")
_ROW_COUNT = re.compile(r"'row_count': ([0-9]{1,18})\b")
_DIMENSION = re.compile(r"'dimension': ([0-9]{1,18})\b")
_INDEX = re.compile(r"'index_type': '([^']*)'")
_METRIC = re.compile(r"'metric_type': '([^']*)'")
_QUERIES = re.compile(r"Generating [0-9,]+ query vectors \(dim=([0-9]{1,9})\b")
_FLAT = re.compile(r"FLAT collection '[^']*' (?:already exists )?with ([0-9,]{1,24}) vectors")
_CONTENT = "passed the content check"

_CREATED = re.compile(r"Created collection '([^']*)'")
_DIMENSIONS = re.compile(r" with ([0-9]{1,9}) dimensions\b")
_INDEX_STARTED = re.compile(r"Creating index with parameters:(.*)")
_INSERTED = re.compile(r"Inserted ([0-9,]{1,24}) vectors in")
_PROGRESS = re.compile(r"\(([0-9,]{1,24})/[0-9,]{1,24} rows\)")
_FINISHED = re.compile(r"Process fully complete!|Pending rows: 0\b(?!,)|Benchmark completed successfully!")
_PENDING = re.compile(r"Pending rows: [0-9]")
_COMPACTED = "compacted successfully"

_BATCH_COLUMNS = {"batch_size", "batch_time_seconds"}


@dataclass(frozen=True, slots=True)
class RunLog:
    """What the standard output of a run says; empty lists and texts where it does not."""

    rows: tuple[int, ...] = ()
    """Different sizes of the queried collection, one line a rank."""
    dimensions: tuple[int, ...] = ()
    collection: str = ""
    index: str = ""
    metric: str = ""
    query_dimension: int = 0
    flat_rows: tuple[int, ...] = ()
    content_checked: bool = False


def read_run_log(text: str) -> RunLog:
    """The facts of a run's log."""
    lines = [match[1] for match in _COLLECTION.finditer(text)]
    joined = "\n".join(lines)
    queries = _QUERIES.search(text)
    return RunLog(
        rows=tuple(dict.fromkeys(int(match[1]) for match in _ROW_COUNT.finditer(joined))),
        dimensions=tuple(dict.fromkeys(int(match[1]) for match in _DIMENSION.finditer(joined))),
        collection=_first(_NAME, joined),
        index=_first(_INDEX, joined),
        metric=_first(_METRIC, joined),
        query_dimension=int(queries[1]) if queries else 0,
        flat_rows=tuple(_number(match[1]) for match in _FLAT.finditer(text)),
        content_checked=_CONTENT in text,
    )


@dataclass(frozen=True, slots=True)
class LoadLog:
    """What the logs of a load say."""

    collection: str = ""
    dimensions: tuple[int, ...] = ()
    """Different dimensions, of the collection created and of the vectors generated."""
    index: str = ""
    metric: str = ""
    inserted: int | None = None
    """Sum over all chunks."""
    indexed: int | None = None
    """Rows of the last line of progress."""
    started: bool = False
    """The index build was requested, or rows were waiting for it."""
    finished: bool = False
    compacted: bool = False


def read_load_log(text: str) -> LoadLog:
    """The facts of a load's logs. ``Inserted batch k/n`` lines are progress and are not counted."""
    parameters = "\n".join(match[1] for match in _INDEX_STARTED.finditer(text))
    inserted = [_number(match[1]) for match in _INSERTED.finditer(text)]
    progress = [_number(match[1]) for match in _PROGRESS.finditer(text)]
    return LoadLog(
        collection=_first(_CREATED, text),
        dimensions=tuple(dict.fromkeys(int(match[1]) for match in _DIMENSIONS.finditer(text))),
        index=_first(_INDEX, parameters),
        metric=_first(_METRIC, parameters),
        inserted=sum(inserted) if inserted and sum(inserted) < 10**18 else None,
        indexed=progress[-1] if progress else None,
        started=bool(parameters) or _PENDING.search(text) is not None,
        finished=_FINISHED.search(text) is not None,
        compacted=_COMPACTED in text,
    )


def statistics_in(text: str) -> dict[str, Any] | None:
    """The statistics that a run prints as JSON; None where it prints none that can be read."""
    for mark in (STATISTICS_MARK, MULTI_NODE_MARK):
        _, found, rest = text.partition(mark)
        start = rest.find("{")
        if not found or start < 0:
            continue
        try:
            value, _ = json.JSONDecoder().raw_decode(rest, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def read_batches(data: bytes) -> list[Batch]:
    """The batches of one process. Rows with text in a column of numbers are strays and are passed over.

    Empty where the table has other columns.
    """
    rows = csv.reader(io.StringIO(data.decode("utf-8", "replace")))
    try:
        return list(_batches(rows))
    except csv.Error:  # an endless field, say: what was read so far is no complete table
        return []


def _batches(rows: Iterator[list[str]]) -> Iterator[Batch]:
    names = next(rows, [])
    if not _BATCH_COLUMNS.issubset(names):
        return
    at_size, at_seconds = names.index("batch_size"), names.index("batch_time_seconds")
    for row in rows:
        if len(row) == len(names):
            size, seconds = _positive(row[at_size]), _positive(row[at_seconds])
            if size is not None and seconds is not None and size.is_integer():
                yield Batch(int(size), seconds / size * 1000)


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 < value < 1e15 else None


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _number(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits) if digits and len(digits) <= 18 else 0
