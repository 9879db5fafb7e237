"""The command line of ``submission-checker compare``."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence

from mlpstorage.results.roots.address import UnusableRootError, address_of
from mlpstorage.results.text import clean

from ..discovery import NothingToCheckError
from ..exits import UsageError
from ..location import is_inside, locate
from ..outputs import AddFile, AddFormat, Sink, outputs_of, refuse_unwritable
from ..selection import split_list
from .judge import Comparison, Verdict, compare
from .output import as_html, as_json, as_text
from .subjects import read_subject

_FORMATS = {"text": as_text, "json": as_json, "html": as_html}
INSIDE, OUTSIDE, NOT_COMPARED = 0, 1, 2


def parser() -> argparse.ArgumentParser:
    """Options of the command."""
    made = argparse.ArgumentParser(
        prog="submission-checker compare",
        description="Is the difference of a run larger than the difference between equal runs?",
        epilog="exit: 0 all decided metrics are inside the noise; 1 some are outside; 2 the runs are not comparable, "
        "or nothing could be decided; 3 a fault of the program",
        allow_abbrev=False,
    )
    made.add_argument(
        "runs", nargs="+", metavar="RUN",
        help="run leaves or workload directories: repeats of one run (the bases), then the feature",
    )  # fmt: skip
    made.add_argument(
        "--features", type=int, default=1, metavar="N", help="the last N of them are features (default: %(default)s)"
    )
    made.add_argument(
        "--differs", action="append", default=[], metavar="KEYS",
        help="keys of the configuration that are meant to differ in the features, or prefixes (host.); comma separated",
    )  # fmt: skip
    made.add_argument(
        "--format", action=AddFormat, dest="outputs", choices=sorted(_FORMATS),
        help="(default: text); repeatable, each with its own --output",
    )  # fmt: skip
    made.add_argument(
        "--output", action=AddFile, dest="outputs", metavar="FILE",
        help="write the format before it there (default: stdout)",
    )  # fmt: skip
    made.add_argument("--debug", action="store_true", help="show where the program itself failed")
    return made


def run(arguments: argparse.Namespace) -> int:
    """Read, compare, print. Gives the exit code. Raises UsageError, NotARunError and OutputError."""
    bases = len(arguments.runs) - arguments.features
    if len(arguments.runs) == 1:
        raise UsageError(
            "one run is nothing to compare: give repeats of one run (two or more, for they show the noise), then the "
            "run to compare with them"
        )
    if arguments.features < 1 or bases < 1:
        raise UsageError(f"{len(arguments.runs)} runs with {arguments.features} features leave no base to compare")
    outputs = outputs_of(arguments.outputs, "text")
    for output in outputs:
        if output.path is not None:
            _refuse_place(output.path, arguments.runs)
    names = [f"base{i}" for i in range(bases)]
    names += ["feature"] if arguments.features == 1 else [f"feature{i}" for i in range(arguments.features)]
    subjects = [read_subject(path, name) for path, name in zip(arguments.runs, names, strict=True)]
    comparison = compare(subjects[:bases], subjects[bases:], split_list(arguments.differs))
    for output in outputs:
        with contextlib.closing(Sink(output.path)) as sink:
            sink.write(_FORMATS[output.format](comparison))
    return exit_code(comparison)


def exit_code(comparison: Comparison) -> int:
    """What the comparison means for the caller: nothing decided is no success."""
    if not comparison.comparable:
        return NOT_COMPARED
    if comparison.count(Verdict.OUTSIDE):
        return OUTSIDE
    return INSIDE if comparison.count(Verdict.INSIDE) else NOT_COMPARED


def _refuse_place(target: str, runs: Sequence[str]) -> None:
    """Nothing is written into a run or the tree that it lies in. Raises UsageError and OutputError."""
    for path in runs:
        with contextlib.suppress(NothingToCheckError, UnusableRootError):  # which is told when the run is read
            if is_inside(target, address_of(path)) or is_inside(target, locate(path).own):
                raise UsageError(f"--output {clean(target)} lies inside a run that is compared, or its tree")
    refuse_unwritable(target, "--output")
