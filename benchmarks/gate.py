"""What a start costs: the launch gate and the checker against a process that imports pydantic and defines a model.

    python benchmarks/gate.py [--rounds 15]

Each command runs in fresh processes, all in turns, and the medians are compared: processor time first, for it depends
least on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import sys

from tree import in_turns

FLOOR = """
import pydantic
class Model(pydantic.BaseModel):
    a: int
"""
STARTS = {
    "floor": ["-c", FLOOR],
    "gate": ["-m", "mlpstorage", "checkpointing", "run", "closed", "--model", "llama3-8b", "--dry-run"],
    "library": ["-c", "import rules; rules.load_edition()"],
    "checker": ["-c", "import submission_checker.checking, rules; rules.load_edition()"],
}
"""``library`` and ``checker`` load the whole rule book, and judge nothing."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    commands = {name: [sys.executable, *words] for name, words in STARTS.items()}
    in_turns(commands, 1)  # writes it
    medians = in_turns(commands, rounds)
    base = medians["floor"]
    print(f"{'':8} {'cpu':>8} {'of floor':>9} {'wall':>8} {'of floor':>9} {'peak':>9}")
    for name, run in medians.items():
        of_cpu, of_wall = run.cpu / base.cpu, run.wall / base.wall
        print(f"{name:8} {run.cpu:7.3f}s {of_cpu:8.2f}x {run.wall:7.3f}s {of_wall:8.2f}x {run.peak:6.0f} MB")


if __name__ == "__main__":
    main()
