"""``python -m submission_checker``, and what the start script calls: the command in a process of its own."""

from __future__ import annotations

import gc
import sys

_SELDOM = (50_000, 20, 100)
"""Thresholds of the garbage collector: what is imported and loaded is no garbage, and what a check makes goes with its
system, hardly any of it in cycles."""


def main() -> int:
    """Run the command. Gives the exit code."""
    gc.set_threshold(*_SELDOM)  # before the first import
    from .cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # or the interpreter looks for cycles in all that exists, twice, before it ends


if __name__ == "__main__":
    sys.exit(main())
