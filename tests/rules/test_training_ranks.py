"""Utilisation from the steps of ranks, to the digit on the worked example T2 (rank 0, epoch 1)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from rules.derived.training import exact
from rules.derived.training_ranks import (
    Block,
    EpochUtilisation,
    RunUtilisation,
    block_utilisation,
    epoch_steps,
    exact_sum,
    seconds_of_throughput,
)

STEPS = 519
MEAN_COMPUTE, FIRST, SECONDS, THROUGHPUT, STATED = 0.1620781, 2.0409651, Fraction("91.764744"), 40.413061, 93.5725
T2 = Block(
    compute=[MEAN_COMPUTE] * STEPS,
    proc=[FIRST] + [0.173] * (STEPS - 1),
    seconds=SECONDS,
    stated=STATED,
    throughput=THROUGHPUT,
)


def block(steps: int, au: float, *, compute: float = 0.5) -> Block:
    """A block of equal steps whose first one took 2 s, with this utilisation."""
    counted = exact(compute) * (steps - 1)
    return Block([compute] * steps, [2.0] + [0.5] * (steps - 1), 2 + counted * 100 / exact(au), au)


def epoch(*blocks: Block) -> EpochUtilisation:
    return EpochUtilisation({f"block{i}": block_utilisation(b, 10_000, 7) for i, b in enumerate(blocks, start=1)})


def test_steps_of_an_epoch():
    assert epoch_steps(1, 360000, 7, 99) == STEPS
    assert epoch_steps(2, 350, 7, 100) == 1
    assert epoch_steps(1, 699, 7, 100) == 0


@pytest.mark.parametrize("numbers", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (1, -5, 1, 1)])
def test_steps_of_no_epoch(numbers):
    with pytest.raises(ValueError, match="must be positive"):
        epoch_steps(*numbers)


def test_time_of_the_worked_example():
    found = block_utilisation(T2, STEPS, 7)
    assert (found.steps, found.counted) == (519, 518)
    assert f"{float(found.seconds - found.excluded):.5f}" == "89.72378"
    assert f"{float(seconds_of_throughput(518, 7, THROUGHPUT)):.5f}" == "89.72347"
    assert found.implied == seconds_of_throughput(518, 7, THROUGHPUT)


def test_utilisation_of_the_worked_example():
    """By the block's own stamps it is 93.5721; by the time that the benchmark measured between them, 93.5725."""
    found = block_utilisation(T2, STEPS, 7)
    assert f"{float(found.value):.4f}" == "93.5721"
    assert f"{float(found.difference):.4f}" == "0.0004"
    measured = block_utilisation(
        Block(T2.compute, T2.proc, seconds_of_throughput(518, 7, THROUGHPUT) + exact(FIRST), STATED), STEPS, 7
    )
    assert f"{float(measured.value):.4f}" == "93.5725"


def test_the_first_step_is_not_counted():
    """A formula that excludes nothing gives two points less."""
    assert f"{float(100 * exact_sum(T2.compute) / SECONDS):.2f}" == "91.67"
    counted = block_utilisation(T2, STEPS, 7)
    assert counted.compute == exact_sum(T2.compute[1:])
    assert counted.excluded == exact(FIRST)


def test_the_computation_shows_its_numbers():
    assert block_utilisation(T2, STEPS, 7).text == (
        "stated 93.5725, recomputed 100 x 83.956456 s / (91.764744 s - 2.040965 s) = 93.5721 from 518 of 519 steps; "
        "its throughput means 89.723468 s"
    )


def test_steps_beyond_the_epoch_are_not_counted():
    """Two more than there can be: their time is taken off, as that of the first."""
    longer = Block([*T2.compute, 9.0, 9.0], [*T2.proc, 9.0, 9.0], SECONDS + 18, STATED)
    assert block_utilisation(longer, STEPS, 7).value == block_utilisation(T2, STEPS, 7).value


@pytest.mark.parametrize(("steps", "counted"), [(0, 0), (1, 0), (2, 1)])
def test_blocks_of_few_steps(steps, counted):
    found = block_utilisation(Block([0.5] * steps, [2.0] * steps, Fraction(10), 0.0), steps, 7)
    assert found.counted == counted
    assert found.value == (Fraction(100, 16) if counted else 0)


def test_no_time_is_no_utilisation():
    with pytest.raises(ValueError, match=r"no time is left of 2\.000000 s for 1 steps"):
        block_utilisation(Block([0.5, 0.5], [2.0, 0.5], Fraction(2), 90.0), 2, 7)


@pytest.mark.parametrize("values", [["1"], [True], [None], [[1.0]]])
def test_what_is_no_number_is_no_time(values):
    with pytest.raises(ValueError, match="not all of the times are numbers"):
        exact_sum(values)


@pytest.mark.parametrize("values", [[math.nan], [math.inf], [math.inf, -math.inf], [1e308, 1e308], [10**400]])
def test_what_is_not_finite_is_no_time(values):
    with pytest.raises(ValueError, match="not all of the times are finite"):
        exact_sum(values)


def test_sums_are_rounded_once():
    assert exact_sum([0.1] * 10) == Fraction(1.0)
    assert exact_sum([1e16, 1.0, -1e16]) == 1


def test_blocks_are_weighted_by_their_steps():
    assert float(epoch(block(200, 90.0), block(300, 95.0)).value) == pytest.approx(93.0)


def test_the_largest_difference_of_a_rank_is_kept():
    run = RunUtilisation()
    assert run.of_ranks is None
    for rank, stated in enumerate((90.0, 90.3, 89.8, 90.3)):  # of equal ones the first is shown
        of = block(100, 90.0)
        run.add(rank, {1: epoch(Block(of.compute, of.proc, of.seconds, stated))})
    assert run.ranks == 4
    assert run.of_ranks is not None
    assert run.of_ranks.points == 0.3
    assert run.of_ranks.text.startswith("rank 1, epoch 1, block1: stated 90.3000, recomputed 100 x 49.500000 s / ")


def test_the_mean_over_the_ranks_stands_beside_the_stated_one():
    run = RunUtilisation()
    for rank, utilisations in enumerate(([90.0, 92.0], [91.0, 94.0])):
        run.add(rank, {number: epoch(block(100, au)) for number, au in enumerate(utilisations, start=1)})
    agreed, told = run.of_means([90.5, 93.0]), run.of_means([90.5, 93.25])
    assert agreed is not None
    assert agreed.points == 0
    assert told == (0.25, "epoch 2: stated 93.2500, mean over 2 ranks 93.0000 (lowest: rank 0 with 92.0000)")


def test_there_is_no_mean_where_an_epoch_or_a_rank_is_missing():
    run = RunUtilisation()
    assert run.of_means([90.0]) is None
    run.add(0, {1: epoch(block(100, 90.0)), 2: epoch(block(100, 90.0))})
    run.add(1, {1: epoch(block(100, 90.0))})
    assert run.of_means([]) is None
    assert run.of_means([90.0]) is not None
    assert run.of_means([90.0, 90.0]) is None
    assert run.of_means([90.0, 90.0, 90.0]) is None
