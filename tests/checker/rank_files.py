"""Writes what the ranks of a training run record of their steps, in agreement with the run's summary."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

WAIT = 2.0
"""Seconds of the first step, which fills the pipeline."""
STEP = 0.162


def write_ranks(leaf: Path, ranks: int, steps: int, au: Sequence[float], batch: int = 7) -> None:
    """Output and statistics of every rank: each epoch has its utilisation of ``au`` at every rank."""
    for rank in range(ranks):
        write_rank(leaf, rank, steps, au, batch)


def write_rank(leaf: Path, rank: int, steps: int, au: Sequence[float], batch: int = 7) -> None:
    """Files of one rank, in one block an epoch."""
    output: dict[str, Any] = {"host_memory_GB": 503.5, "host_meminfo": {"MemTotal": "1 kB"}}
    stats: dict[str, Any] = {}
    start = datetime(2026, 7, 1, 10, 0, rank % 60, 250)
    for epoch, stated in enumerate(au, start=1):
        counted = STEP * (steps - 1) / (stated / 100)
        end = start + timedelta(seconds=WAIT + counted)
        output[str(epoch)] = {
            "load": {"block1": [0.003] * (steps + 1)},
            "proc": {"block1": [WAIT] + [counted / (steps - 1)] * (steps - 1)},
            "compute": {"block1": [STEP] * steps},
            "throughput": {"block1": (steps - 1) * batch / counted},
            "au": {"block1": stated},
            "end": end.isoformat(),
        }
        stats[str(epoch)] = {
            "start": start.isoformat(),
            "block1": {"start": start.isoformat(), "end": end.isoformat(), "duration": f"{WAIT + counted:.2f}"},
            "end": end.isoformat(),
            "duration": f"{WAIT + counted:.2f}",
        }
        start = end + timedelta(seconds=1)
    output["hostname"] = "host01"
    (leaf / f"{rank}_output.json").write_text(json.dumps(output))
    (leaf / f"{rank}_per_epoch_stats.json").write_text(json.dumps(stats))


def edit_rank(leaf: Path, name: str, changes: Mapping[tuple[str | int, ...], Any]) -> None:
    """Change values of a rank's file by their place; None removes the key."""
    data = json.loads((leaf / name).read_text())
    for (*above, last), value in changes.items():
        node = data
        for key in above:
            node = node[key]
        if value is None:
            del node[last]
        else:
            node[last] = value
    (leaf / name).write_text(json.dumps(data))
