"""The checker against the floor: reading and parsing the same bytes, and nothing else.

    python benchmarks/tree.py --tools ../shared/bench [--rounds 5] [--no-large] [--keep DIR]

Makes a results tree of the size of the v3.0 round and one ten times as large, and prints ratios of wall-clock times
taken in turns in one run, and peak memory. Absolute times say more of the machine than of the checker.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ORGANISATIONS = 19
LARGER = 10


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds on the clock, seconds of processor time, peak memory in MB (of its largest process)."""

    wall: float
    cpu: float
    peak: float


def measure(argv: Sequence[str]) -> Run:
    """Run a command to its end; what it finds wrong with the tree is no failure of the benchmark."""
    start = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"benchmark: {' '.join(argv)}: exit {process.returncode}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def check(tree: Path, jobs: int) -> list[str]:
    """The command that is measured: the whole rule book, the report thrown away."""
    checker = [sys.executable, "-m", "submission_checker", str(tree)]
    return [*checker, "--format", "json", "--jobs", str(jobs), "--output", os.devnull]


def in_turns(commands: dict[str, list[str]], rounds: int) -> dict[str, Run]:
    """The median of each command, all taken in turns, so that a busy machine disturbs all alike."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            runs[name].append(measure(argv))
    return {
        name: Run(*(statistics.median(getattr(run, field) for run in found) for field in ("wall", "cpu", "peak")))
        for name, found in runs.items()
    }


def make_tree(tools: Path, place: Path, organisations: int) -> Path:
    """A generated tree, made anew where it is not there already."""
    tree = place / f"tree-{organisations}"
    if not tree.exists():
        maker = [sys.executable, str(tools / "make_tree.py"), "--out", str(tree), "--orgs", str(organisations)]
        subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    return tree


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True, help="directory with make_tree.py and floor.py")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-large", action="store_true", help="leave out the tree ten times as large (8 GB)")
    parser.add_argument("--keep", type=Path, help="make the trees there, and leave them")
    options = parser.parse_args()
    if not (options.tools / "make_tree.py").is_file():
        sys.exit(f"benchmark: no make_tree.py in {options.tools}: give the directory of the tree generator by --tools")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    with tempfile.TemporaryDirectory() as scratch:
        place = options.keep or Path(scratch)
        tree = make_tree(options.tools, place, ORGANISATIONS)
        floor = [sys.executable, str(options.tools / "floor.py"), str(tree), "parse"]
        measure(floor)  # fills the page cache
        measure(check(tree, 1))  # writes the byte code
        medians = in_turns({"floor": floor, "1 job": check(tree, 1), "2 jobs": check(tree, 2)}, options.rounds)
        base = medians["floor"]
        print(f"{'':8} {'wall':>8} {'cpu':>8} {'peak':>9} {'of floor':>9}")
        for name, run in medians.items():
            print(f"{name:8} {run.wall:7.2f}s {run.cpu:7.2f}s {run.peak:6.0f} MB {run.wall / base.wall:8.2f}x")
        if not options.no_large:
            large = make_tree(options.tools, place, ORGANISATIONS * LARGER)
            measure([*floor[:2], str(large), "parse"])  # fills the page cache
            once = measure(check(large, 1))
            small = medians["1 job"]
            print(f"{LARGER} trees: {once.wall:.1f} s, {once.wall / small.wall:.2f} times one; peak {once.peak:.0f} MB")


if __name__ == "__main__":
    main()
