"""``python -m submission_checker``, and what the start script calls: the command in a process of its own."""

from __future__ import annotations

import gc
import os
import sys

from .exits import Exit, say

_SELDOM = (50_000, 20, 100)
"""Thresholds of the garbage collector: what a check makes goes with its system, and hardly any of it in cycles."""


def main() -> int:
    """Run the command. Gives the exit code."""
    if sys.getfilesystemencoding() != "utf-8":  # names in the report would hang on the locale
        if "mpi4py.MPI" in sys.modules:  # what has joined a job of MPI cannot begin again
            say("the locale is not UTF-8, by which names are read: set LC_ALL=C.UTF-8 for all ranks")
            return Exit.NOT_CHECKED
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    gc.disable()  # what is imported is no garbage
    # Nothing here is for plugins of pydantic, and to find some it reads the metadata of all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        from .cli import main as run

        return run(imported=_collect)
    except KeyboardInterrupt:  # while the command is still being imported; later it answers this itself
        say("interrupted; nothing was concluded")
        return Exit.NOT_CHECKED
    finally:
        gc.freeze()  # or the interpreter looks for cycles in all that exists, twice, before it ends


def _collect() -> None:
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    gc.enable()


if __name__ == "__main__":
    sys.exit(main())
