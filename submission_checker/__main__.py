"""``python -m submission_checker``, and what the start script calls: the command in a process of its own."""

from __future__ import annotations

import gc
import sys

_SELDOM = (50_000, 20, 100)
"""Thresholds of the garbage collector: what a check makes goes with its system, and hardly any of it in cycles."""


def main() -> int:
    """Run the command. Gives the exit code."""
    gc.disable()  # what is imported is no garbage
    from .cli import main as run

    gc.freeze()
    gc.set_threshold(*_SELDOM)
    gc.enable()
    try:
        return run()
    finally:
        gc.freeze()  # or the interpreter looks for cycles in all that exists, twice, before it ends


if __name__ == "__main__":
    sys.exit(main())
