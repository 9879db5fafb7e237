"""Arithmetic on vector-database results, and the benchmark's documented defaults. No limits: predicates hold those."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..facts.vector_database import RunParameter
from ..tables import reference_rows
from .checkpointing import NOT_SET, canonical

_LEAST = 1e-12
"""Keeps a deviation from dividing by zero where both numbers are zero."""


def fixed_parameters() -> Mapping[str, str]:
    """The parameters that a CLOSED run keeps, with their defaults in canonical spelling (5.6.4)."""
    return {name: row["value"] for name, row in reference_rows("vdb-parameters").items()}


def parameter(name: str, value: object, place: str) -> RunParameter:
    """A recorded parameter beside its default. The empty text and the empty list are no value."""
    text = NOT_SET if value in ("", [], {}) else canonical(value)
    default = fixed_parameters()[name]
    if _number(text) is not None and _number(text) == _number(default):
        text = default
    return RunParameter(name=name, value=text, reference=default, place=place)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def scale(rows: int, dimension: int) -> str:
    """The scale of a collection as the table of scales writes it (5.1.1)."""
    return f"{rows} x {dimension}"


def throughput_deviation(qps: float, seconds: float, queries: int) -> float:
    """How many queries lie between throughput x time and the queries issued (5.3.3)."""
    return min(abs(qps * seconds - queries), sys.float_info.max)


def deviation(claimed: float, found: float) -> float:
    """The difference of a reported number and another reading of it, over the larger one (X5.2)."""
    larger = max(abs(claimed), abs(found), _LEAST)
    return abs(claimed / larger - found / larger)


@dataclass(frozen=True, slots=True)
class RankPart:
    """What one MPI rank contributed. Times in seconds since any one epoch."""

    queries: int
    start: float
    end: float


def rank_totals(parts: Sequence[RankPart]) -> Mapping[str, float]:
    """Queries, time and throughput over all ranks: from the first start to the last end. Empty where no time passed."""
    seconds = max(part.end for part in parts) - min(part.start for part in parts) if parts else 0.0
    if seconds <= 0 or not math.isfinite(seconds):
        return {}
    queries = sum(part.queries for part in parts)
    return {"total_queries": float(queries), "total_time_seconds": seconds, "throughput_qps": queries / seconds}


@dataclass(frozen=True, slots=True)
class Batch:
    """One logged batch of queries."""

    queries: int
    latency_ms: float
    """Of one query: the batch's time over its size."""


def batch_totals(batches: Sequence[Batch]) -> Mapping[str, float]:
    """Queries, and mean and percentiles of the latency over all batches. Empty where there are none."""
    if not batches:
        return {}
    latencies = sorted(batch.latency_ms for batch in batches)
    return {
        "total_queries": float(sum(batch.queries for batch in batches)),
        "mean_latency_ms": math.fsum(latencies) / len(latencies),
        "p95_latency_ms": percentile(latencies, 0.95),
        "p99_latency_ms": percentile(latencies, 0.99),
    }


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """The percentile of sorted values (at least one), linear between the two nearest."""
    place = (len(ordered) - 1) * fraction
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """When a load ran, as far as it is recorded."""

    start: datetime | None
    end: datetime | None


def load_of_runs(loads: Sequence[LoadTimes], first_run: datetime | None) -> int:
    """Number of the load that the runs rest on: the last one that had ended when the first run started.

    Where an end is not recorded, the start counts; where no load precedes the runs, the last one is taken.
    """
    order = sorted(range(len(loads)), key=lambda number: (loads[number].start or datetime.min, number))
    if first_run is not None:
        before = [number for number in order if (loads[number].end or loads[number].start or first_run) <= first_run]
        order = before or order
    return order[-1]


def distinct(values: Iterable[str]) -> list[str]:
    """The different values, in the order of their first appearance."""
    return list(dict.fromkeys(values))
