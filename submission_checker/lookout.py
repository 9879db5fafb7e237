"""Tells what a check leaves undone if its process is killed: a small process of its own, which outlives that one.

A launcher of MPI that ends all ranks because one died gives them no time to say so, and a process that ran out of
memory has none. Run as a file. Lines on the standard input: ``+PATH`` (to be checked), ``-PATH`` (checked), ``=`` (all
is said). When the input ends without that last line, what is left is told on the standard error.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable


def last_words(lines: Iterable[str]) -> str:
    """What to tell once there are no more lines; empty where all is well."""
    left: dict[str, None] = {}
    total = 0
    for line in lines:
        mark, path = line[:1], line[1:].rstrip("\n")
        if mark == "=":
            return ""
        if mark == "+":
            left[path] = None
            total += 1
        else:
            left.pop(path, None)
    if left:
        what = f"not checked are {len(left)} of {total} systems and code images:\n" + "".join(
            f"  {path}\n" for path in left
        )
    elif total:
        what = "all was checked, but what is written of the report may be cut off\n"
    else:
        what = "nothing was checked\n"
    return (
        "submission-checker: fault: rank 0 was ended before it was done, as a launcher does where a rank dies: "
        f"nothing was concluded; {what}"
    )


def main() -> None:
    """Wait for the end of the input, whoever is told to stop before."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with open(0, encoding="utf-8", errors="replace", newline="\n") as lines:
        text = last_words(lines).encode("utf-8", "replace")
    while text:
        text = text[os.write(2, text) :]


if __name__ == "__main__":
    main()
