"""Utilisation recomputed from what every rank recorded of its own steps (3.3.2 (e)).

The benchmark's own computation, for one block of an epoch of one rank (its statistics of training; section 3 of the
rules calls the quotient utilisation):

    utilisation = 100 * C / T
    C = sum of the compute times of the counted steps
    T = (end of the block - start of the block) - sum of the processing times of the steps that are not counted

The first step of a block is not counted, for it waits until the pipeline is filled: a formula without that exclusion
gives two points less for the worked example T2 (93.57). An epoch's utilisation is the mean of its blocks', weighted by
their steps; that of a run's epoch the mean over its ranks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from ..tables import reference_rows
from .training import exact

_NOISE = 9
"""Decimals that are kept: recorded seconds are rounded binary numbers, what lies below is their noise."""


def exact_sum(values: Sequence[float]) -> Fraction:
    """The sum of recorded seconds, rounded once to a double. Raises ValueError where one is no finite number."""
    if not set(map(type, values)) <= {int, float}:
        raise ValueError("not all of the times are numbers")
    try:
        total = math.fsum(values)
    except (OverflowError, ValueError):
        total = math.nan
    if not math.isfinite(total):
        raise ValueError("not all of the times are finite")
    return exact(total)


def _text(value: Fraction, digits: int) -> str:
    return f"{float(value):.{digits}f}"


@dataclass(frozen=True, slots=True)
class Block:
    """What one rank recorded of one block of an epoch. Times are seconds."""

    compute: Sequence[float]
    """Of each step."""
    proc: Sequence[float]
    """Of each step: from the arrival of a batch to the end of its computation."""
    seconds: Fraction
    """From the block's start to its end."""
    stated: float
    """The utilisation that the rank itself computed, in percent."""
    throughput: float | None = None
    """Samples per second that the rank itself computed."""


class BlockUtilisation(NamedTuple):
    """The utilisation of one block, and the numbers that it comes from."""

    steps: int
    """Steps that were recorded."""
    counted: int
    compute: Fraction
    """C: seconds of compute in the counted steps."""
    seconds: Fraction
    """Of the whole block."""
    excluded: Fraction
    """Seconds of processing in the steps that are not counted."""
    stated: float
    implied: Fraction | None = None
    """T as the rank's throughput implies it."""

    @property
    def value(self) -> Fraction:
        """Utilisation in percent; 0 where no step counts."""
        return 100 * self.compute / (self.seconds - self.excluded) if self.counted else Fraction(0)

    @property
    def difference(self) -> Fraction:
        """How far the stated utilisation lies from it, in points."""
        return abs(exact(self.stated) - self.value)

    @property
    def text(self) -> str:
        """The computation with its numbers."""
        compute, value = _text(self.compute, 6), _text(self.value, 4)
        time = f"({_text(self.seconds, 6)} s - {_text(self.excluded, 6)} s)"
        implied = "" if self.implied is None else f"; its throughput means {_text(self.implied, 6)} s"
        return (
            f"stated {_text(exact(self.stated), 4)}, recomputed 100 x {compute} s / {time} = {value} "
            f"from {self.counted} of {self.steps} steps{implied}"
        )


def block_utilisation(block: Block, steps: int, batch_size: int) -> BlockUtilisation:
    """The utilisation of a block; a whole epoch has ``steps``, each of ``batch_size`` samples.

    Raises ValueError where a time is no finite number, or where no time is left for the counted steps.
    """
    window = reference_rows("training-window")[""]
    first, end = int(window["excluded_first"]), steps - int(window["excluded_last"])
    counted = block.compute[first:end]
    outside = exact_sum(block.proc[:first]) + exact_sum(block.proc[max(first, end) :])
    implied = seconds_of_throughput(len(counted), batch_size, block.throughput) if block.throughput else None
    found = BlockUtilisation(
        len(block.compute), len(counted), exact_sum(counted), block.seconds, outside, block.stated, implied
    )
    if counted and found.seconds <= outside:
        raise ValueError(f"no time is left of {_text(block.seconds, 6)} s for {len(counted)} steps")
    return found


def epoch_steps(samples_per_file: int, files: int, batch_size: int, accelerators: int) -> int:
    """Steps of every rank in an epoch: whole batches only. Raises ValueError where a number is not positive."""
    if min(samples_per_file, files, batch_size, accelerators) <= 0:
        raise ValueError("files, samples per file, batch size and accelerators must be positive")
    return samples_per_file * files // (batch_size * accelerators)


def seconds_of_throughput(counted: int, batch_size: int, samples_per_second: float) -> Fraction:
    """T as a rank's recorded throughput implies it: counted steps * batch / throughput.

    It is shown beside the block's own times and replaces them nowhere: an older benchmark counted a step less there.
    """
    return counted * batch_size / exact(samples_per_second)


class EpochUtilisation(NamedTuple):
    """The utilisation of one epoch of one rank: its blocks in order, by name."""

    blocks: Mapping[str, BlockUtilisation]

    @property
    def value(self) -> Fraction:
        """The mean of the blocks, weighted by their steps. 0 where there are none."""
        total = sum((block.steps * block.value for block in self.blocks.values()), Fraction(0))
        return total / self.steps if self.steps else Fraction(0)

    @property
    def steps(self) -> int:
        """Steps that were recorded of all blocks."""
        return sum(block.steps for block in self.blocks.values())


class Recorded(NamedTuple):
    """How many steps ranks recorded of their epochs, and where; the highest number of an epoch."""

    fewest: int
    most: int
    text: str
    last_epoch: int


class Difference(NamedTuple):
    """The largest difference that was met, in points, and the computation that shows it."""

    points: float
    text: str


@dataclass(slots=True)
class RunUtilisation:
    """Gathers the ranks of a run one after the other and keeps sums, not ranks."""

    ranks: int = 0
    """Ranks that were added."""
    _largest: tuple[Fraction, str] = (Fraction(-1), "")
    _sums: dict[int, Fraction] = field(default_factory=dict)
    _counts: Counter[int] = field(default_factory=Counter)
    _lowest: dict[int, tuple[Fraction, int]] = field(default_factory=dict)
    _fewest: tuple[int, int, int] | None = None
    """Steps of an epoch, rank and epoch; so for the next one."""
    _most: tuple[int, int, int] | None = None

    def add(self, rank: int, epochs: Mapping[int, EpochUtilisation]) -> None:
        """Add what a rank recorded of its epochs."""
        self.ranks += 1
        for epoch, found in epochs.items():
            value = round(found.value, _NOISE)
            self._sums[epoch] = self._sums.get(epoch, Fraction(0)) + value
            self._counts[epoch] += 1
            steps = (found.steps, rank, epoch)
            if self._fewest is None or steps[0] < self._fewest[0]:
                self._fewest = steps
            if self._most is None or steps[0] > self._most[0]:
                self._most = steps
            self._lowest[epoch] = min(self._lowest.get(epoch, (value, rank)), (value, rank))
            for name, block in found.blocks.items():
                if block.difference > self._largest[0]:
                    self._largest = (block.difference, f"rank {rank}, epoch {epoch}, {name}: {block.text}")

    @property
    def recorded(self) -> Recorded | None:
        """The steps that were recorded; None where no epoch was added."""
        if self._fewest is None or self._most is None:
            return None
        named = {"fewest": self._fewest, "most": self._most}
        text = "; ".join(f"{key} {steps} (rank {rank}, epoch {epoch})" for key, (steps, rank, epoch) in named.items())
        return Recorded(self._fewest[0], self._most[0], text, max(self._counts))

    @property
    def of_ranks(self) -> Difference | None:
        """Where a rank's stated utilisation lies farthest from that of its own steps; None where none was added."""
        points, text = self._largest
        return Difference(float(round(points, _NOISE)), text) if text else None

    def of_means(self, stated: Sequence[float]) -> Difference | None:
        """Where the stated utilisations of the epochs lie farthest from the mean over the ranks.

        None unless every rank that was added has every one of these epochs, and there is one of each.
        """
        epochs = range(1, len(stated) + 1)
        if not self.ranks or not stated or any(self._counts[epoch] != self.ranks for epoch in epochs):
            return None
        means = {epoch: round(self._sums[epoch] / self.ranks, _NOISE) for epoch in epochs}
        differences = {epoch: abs(exact(stated[epoch - 1]) - means[epoch]) for epoch in epochs}
        epoch = max(epochs, key=differences.__getitem__)
        lowest, rank = self._lowest[epoch]
        text = (
            f"epoch {epoch}: stated {_text(exact(stated[epoch - 1]), 4)}, mean over {self.ranks} ranks "
            f"{_text(means[epoch], 4)} (lowest: rank {rank} with {_text(lowest, 4)})"
        )
        return Difference(float(round(differences[epoch], _NOISE)), text)
