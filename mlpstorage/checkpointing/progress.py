"""Follows a run by what DLIO prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FINISHED = re.compile(
    r"Finished (saving|loading) checkpoint ([0-9]+) for epoch [0-9]+ in ([0-9.]+) s; Throughput: ([0-9.]+)"
)
_STARTING = re.compile(r"Starting (saving|loading) checkpoint ([0-9]+) ")


@dataclass(frozen=True, slots=True)
class Step:
    """One checkpoint begun or done. ``number`` counts from 1 in its phase; ``rate`` is GiB/s, None while running."""

    phase: str
    number: int
    of: int
    seconds: float | None = None
    rate: float | None = None

    def __str__(self) -> str:
        verb = {"write": "writing", "read": "reading"}[self.phase]
        text = f"{verb} checkpoint {self.number} of {self.of}"
        return text if self.rate is None else f"{text}: {self.rate:.3f} GiB/s ({self.seconds:.2f} s)"


def step(line: str, writes: int, reads: int) -> Step | None:
    """What a line of DLIO's output reports about the checkpoints, if it does. DLIO's "GB" are GiB."""
    done = _FINISHED.search(line)
    match = done or _STARTING.search(line)
    if match is None:
        return None
    phase, of = ("write", writes) if match[1] == "saving" else ("read", reads)
    if done is None:
        return Step(phase, int(match[2]), of)
    return Step(phase, int(match[2]), of, float(done[3]), float(done[4]))
