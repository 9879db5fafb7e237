"""The command ``submission-checker``."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import date
from enum import IntEnum
from typing import Any

import rules
from mlpstorage.results.text import clean

from . import __version__
from .compare import CompareUsageError
from .depth import deep_clauses
from .discovery import NothingToCheckError
from .executors import Executor, ExecutorError, Processes
from .formats import FORMATS, Style
from .formats.shown import harmless
from .location import Location, is_inside, locate
from .outputs import AddFile, AddFormat, Output, OutputError, Writers, outputs_of, refuse_unwritable
from .readers.source_repo import SourceRepository
from .report import CheckReport
from .rulings import NAMES, WaiversError, apply_rulings, draft, read_waivers
from .scan import Options, check, select
from .selection import Selection, UnknownRuleIdError, split_list
from .since import EarlierReportError, apply_since, read_report


class Exit(IntEnum):
    """Exit codes of the command."""

    CLEAN = 0
    """Nothing at or above ``--fail-on``."""
    VIOLATIONS = 1
    NOT_CHECKED = 2
    """Bad usage, no such directory, no submission in it, or a part of it that could not be listed."""
    FAULT = 3
    """A defect of the checker or of its rule data."""


class UsageError(Exception):
    """The command line asks for something that cannot be done."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Gives the exit code; argparse's own errors exit with 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        parser, run = _command(words)
    except rules.RuleBookError as error:  # the list of editions, which the help names
        print(f"submission-checker: fault of the checker: {clean(str(error))}", file=sys.stderr)
        return Exit.FAULT
    arguments = parser.parse_args(words)
    if run is _run and arguments.results_dir is None:
        arguments.results_dir = _directory_among(arguments) or parser.error("RESULTS_DIR is required")
    try:
        return run(arguments)
    except (
        UsageError, OutputError, NothingToCheckError, UnknownRuleIdError, WaiversError, EarlierReportError,
        CompareUsageError, rules.UnknownEditionError, ExecutorError,
    ) as error:  # fmt: skip
        _say(clean(str(error)))
        return Exit.NOT_CHECKED
    except KeyboardInterrupt:
        _say("interrupted; nothing was concluded")
        return Exit.NOT_CHECKED
    except Exception as error:  # a bug must never look like a verdict
        if arguments.debug:
            traceback.print_exc()
        where = "" if arguments.debug else " (--debug shows where)"
        _say(f"fault of the checker: {type(error).__name__}: {clean(str(error))}{where}")
        return Exit.FAULT


def _say(text: str) -> None:
    print(f"submission-checker: {harmless(text)}", file=sys.stderr)


def _command(words: list[str]) -> tuple[argparse.ArgumentParser, Callable[[argparse.Namespace], int]]:
    """The command that the first word names, which is taken off; without one, the check of a tree."""
    if words[:1] == ["compare"]:
        from .compare import command as compare

        del words[0]
        return compare.parser(), compare.run
    if words[:1] == ["effect"]:
        from . import effect

        del words[0]
        return effect.parser(), effect.run
    return _parser(), _run


def exit_code(report: CheckReport, fail_on: str) -> Exit:
    """What the report means for the caller; faults and unlisted directories never pass as a success."""
    counts = report.severities
    if report.faults:
        return Exit.FAULT
    failing = {"error": counts["error"], "warning": counts["error"] + counts["warning"], "never": 0}[fail_on]
    if failing:
        return Exit.VIOLATIONS
    return Exit.NOT_CHECKED if report.unreadable else Exit.CLEAN


def _run(arguments: argparse.Namespace) -> int:
    if arguments.executor != "mpi":
        return _check(arguments, Processes(arguments.jobs or 1))
    from .mpi import ranks  # here, for MPI starts with it

    if arguments.jobs is not None:
        raise UsageError("--jobs is for processes on one machine; with --executor mpi give mpirun the ranks (-n N)")
    with ranks(arguments.edition) as executor:
        return Exit.CLEAN if executor is None else _check(arguments, executor)


def _check(arguments: argparse.Namespace, executor: Executor) -> int:
    edition = rules.load_edition(arguments.edition)
    selection = Selection.parse([rule.id for rule in edition.rules], arguments.select, arguments.ignore)
    outputs = outputs_of(arguments.outputs, "text")
    location = locate(arguments.results_dir)
    _refuse_places(arguments, outputs, location)
    rulings = read_waivers(arguments.waivers, edition.id, date.today()) if arguments.waivers is not None else None
    earlier = read_report(arguments.since) if arguments.since is not None else None
    scope, submitters = location.scope, split_list(arguments.submitter)
    repository = _repository(arguments.source_repo)
    options = Options(
        edition.id, tuple(submitters), debug=arguments.debug, source_repo=repository, deep=arguments.deep,
        keep_undecided=earlier is not None,
    )  # fmt: skip
    # What a ruling waives and what is new is settled at the end only: then no finding can be told before.
    writers = Writers(outputs, selection.keeps if rulings is None and earlier is None else None)
    report = check(location, options, writers.found, executor)
    report.only = submitters
    select(report, selection)
    reported = selection.rules
    if rulings is not None:
        whole = not (scope or submitters or report.unreadable or report.faults)
        undecided = set() if report.deep else {rule for rule, _ in deep_clauses(edition.id)}
        apply_rulings(report, rulings, whole=whole, selected=selection.rules - undecided)
        reported |= frozenset(NAMES) if whole else frozenset()
    drafted = draft(report) if arguments.write_waivers is not None else ""
    if earlier is not None:
        apply_since(report, arguments.since, earlier, selected=reported, scope=scope, submitters=submitters)
    writers.write(report, Style(verbose=arguments.verbose))
    if arguments.write_waivers is not None:
        _write_draft(arguments.write_waivers, drafted)
    for fault in report.faults:
        _say(f"fault of the checker at {fault.path}: {fault.message}")
    return exit_code(report, arguments.fail_on)


def _repository(path: str | None) -> str:
    """The given clone; empty where none is."""
    if path is None:
        return ""
    if not os.path.isdir(path):
        raise UsageError(f"--source-repo {clean(path)}: there is no such directory")
    if problem := SourceRepository(path).problem():  # it would excuse every image as one whose commit is not known
        raise UsageError(f"--source-repo {clean(path)}: {problem}")
    return path


def _refuse_places(arguments: argparse.Namespace, outputs: Sequence[Output], location: Location) -> None:
    """Tell before the work where nothing may or can be written. Raises UsageError and OutputError."""
    rulings = [("--waivers", arguments.waivers), ("--write-waivers", arguments.write_waivers)]
    targets = [("--output", output.path) for output in outputs if output.path is not None]
    for option, path in targets:
        for other, file in rulings:
            if file is not None and os.path.realpath(file) == os.path.realpath(path):
                raise UsageError(f"{option} {clean(path)} is the file of {other}: choose another place")
    if arguments.write_waivers is not None:
        targets.append(rulings[1])
    for option, path in targets:
        if is_inside(path, location.own):
            raise UsageError(f"{option} {clean(path)} lies inside the tree that is checked: choose a place outside")
        refuse_unwritable(path, option)
    if arguments.write_waivers is not None and os.path.lexists(arguments.write_waivers):
        raise UsageError(f"--write-waivers {clean(arguments.write_waivers)}: {os.strerror(errno.EEXIST)}")


def _write_draft(path: str, text: str) -> None:
    """Write a draft of waivers; rulings that exist are never overwritten."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"--write-waivers {clean(path)}: {os.strerror(error.errno or 0)}") from error


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (1 to 1024)")
    return int(text)


class _AddAll(argparse.Action):
    """Adds the words that follow an option to its values, and remembers the last of several."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        added = list(values or [])
        collected = [*getattr(namespace, self.dest), *added]
        setattr(namespace, self.dest, collected)
        if len(added) > 1:
            namespace.last_of_several = (self.dest, len(collected) - 1)


def _directory_among(arguments: argparse.Namespace) -> str:
    """RESULTS_DIR where it follows the values of an option, which took it for one of them; '' where it does not."""
    if arguments.last_of_several is None:
        return ""
    option, index = arguments.last_of_several
    found: str = getattr(arguments, option).pop(index)
    return found


def _path(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty; a path is wanted")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="submission-checker",
        description="Check an MLPerf Storage results tree (or any part of one) by the rule book.",
        epilog="exit: 0 nothing at or above --fail-on; 1 violations; 2 could not check; 3 a fault of the checker. "
        "submission-checker compare BASE BASE FEATURE: is a difference between runs larger than their noise?",
        allow_abbrev=False,
    )
    parser.add_argument(
        "results_dir", metavar="RESULTS_DIR", nargs="?",
        help="the tree, a part of it, or a single run leaf: a directory, a .tar, .tar.gz or .zip of one, or "
        "s3://BUCKET/PREFIX",
    )  # fmt: skip
    parser.add_argument("--edition", default=rules.DEFAULT_EDITION, help="edition of the rules (default: %(default)s)")
    parser.add_argument(
        "--format", action=AddFormat, dest="outputs", choices=sorted(FORMATS),
        help="(default: text); repeatable, each with its own --output; html and markdown are the validation report",
    )  # fmt: skip
    parser.add_argument(
        "--output", action=AddFile, dest="outputs", metavar="FILE", type=_path,
        help="write the format before it there, outside the tree (default: stdout)",
    )  # fmt: skip
    parser.add_argument(
        "--submitter", "--submitters", action=_AddAll, nargs="+", default=[], metavar="NAME",
        help="only these submitters; several, repeated or comma separated",
    )  # fmt: skip
    parser.add_argument(
        "--select", action=_AddAll, nargs="+", default=[], metavar="IDS",
        help="report only these rules, by id or prefix: 4.3.5, 4.3 (comma separated)",
    )  # fmt: skip
    parser.add_argument("--ignore", action=_AddAll, nargs="+", default=[], metavar="IDS", help="leave these rules out")
    parser.add_argument(
        "--waivers", metavar="FILE", type=_path,
        help="YAML with rulings (rule, path, reason, until): what they waive is shown and does not count",
    )  # fmt: skip
    parser.add_argument(
        "--write-waivers", metavar="FILE", type=_path,
        help="draft a waivers file for what was found; reasons are yours",
    )  # fmt: skip
    parser.add_argument(
        "--since", metavar="REPORT.json", type=_path,
        help="show and count only what is new against this earlier --format json report, and list what was cleared",
    )  # fmt: skip
    parser.add_argument(
        "--source-repo", metavar="DIR", type=_path,
        help="a clone of the tool's repository, to compare code images with their commits",
    )  # fmt: skip
    parser.add_argument(
        "--deep", action="store_true",
        help="read the files of every training rank as well, and recompute utilisation from them (3.3.2 e)",
    )  # fmt: skip
    parser.add_argument("--jobs", type=_jobs, metavar="N", help="processes on this machine (default: 1)")
    parser.add_argument(
        "--executor", choices=("processes", "mpi"), default="processes",
        help="mpi: on all ranks of mpirun -n N submission-checker ... (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", choices=("error", "warning", "never"), default="error",
        help="what exit code 1 is for (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="show infos and remarks, not only their number")
    parser.add_argument("--debug", action="store_true", help="show where the checker itself failed")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(last_of_several=None)
    return parser
