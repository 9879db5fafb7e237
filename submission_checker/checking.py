"""What the command does with a tree: from its options to the reports and the exit code."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Sequence
from datetime import date

import rules
from mlpstorage.results.text import clean

from .depth import deep_clauses
from .executors import Executor, Processes
from .exits import Exit, UsageError, say
from .formats import Style
from .location import Location, is_inside, locate
from .outputs import Output, Writers, outputs_of, refuse_unwritable
from .readers.source_repo import SourceRepository
from .report import CheckReport
from .rulings import NAMES, apply_rulings, draft, read_waivers
from .scan import Options, check, select
from .selection import Selection, split_list
from .since import apply_since, read_report


def run(arguments: argparse.Namespace) -> int:
    """Check the tree and report. Gives the exit code. Raises NotCheckedError."""
    if arguments.edition is None:
        arguments.edition = rules.DEFAULT_EDITION
    if arguments.executor != "mpi":
        return _check(arguments, Processes(arguments.jobs or 1))
    from .mpi import ranks  # here, for MPI starts with it

    if arguments.jobs is not None:
        raise UsageError("--jobs is for processes on one machine; with --executor mpi give mpirun the ranks (-n N)")
    with ranks(arguments.edition) as executor:
        return Exit.CLEAN if executor is None else _check(arguments, executor)


def _check(arguments: argparse.Namespace, executor: Executor) -> int:
    try:
        edition = rules.load_edition(arguments.edition)
    except rules.UnknownEditionError as error:
        raise UsageError(str(error)) from None
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
        say(f"fault of the checker at {fault.path}: {fault.message}")
    return exit_code(report, arguments.fail_on)


def exit_code(report: CheckReport, fail_on: str) -> Exit:
    """What the report means for the caller; faults and unlisted directories never pass as a success."""
    counts = report.severities
    if report.faults:
        return Exit.FAULT
    failing = {"error": counts["error"], "warning": counts["error"] + counts["warning"], "never": 0}[fail_on]
    if failing:
        return Exit.VIOLATIONS
    return Exit.NOT_CHECKED if report.unreadable else Exit.CLEAN


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
