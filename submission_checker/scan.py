"""Checks a results tree: hands out its systems, the units of parallel work, and brings together what they gave."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import rules
from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.roots.address import Address, UnusableRootError, open_root
from mlpstorage.results.text import clean
from rules import Finding
from rules.outcomes import add_tally

from .discovery import NothingToCheckError, walk
from .executors import Executor, Look, Processes, WorkerLostError
from .judging import Options, Part, faults_kept
from .listing import Listing, SystemDirectory
from .location import Location, locate
from .outline import outline
from .packed import Packed, give_back
from .readers import code_images
from .readers.code_evidence import CodeEvidence, capture
from .report import (
    SUBMISSION_DEPTH,
    CheckReport,
    Fault,
    add_states,
)
from .selection import Selection
from .units import check_lone, check_system, check_tree

__all__ = ["Options", "check", "select"]


def check(
    path: str | os.PathLike[str] | Location,
    options: Options,
    found: Callable[[Sequence[Finding]], None] | None = None,
    executor: Executor | None = None,
) -> CheckReport:
    """Check the tree that ``path`` is or lies in; ``found`` is given the findings of each part once it is concluded.

    ``executor`` does the work; without one, this process does. Raises NothingToCheckError where there is nothing to
    check, and RuleBookError where the edition does not load.
    """
    edition = rules.load_edition(options.edition)
    location = path if isinstance(path, Location) else locate(path)
    try:
        return _checked(location, edition, options, found, executor)
    except UnusableRootError as error:  # it could be read when it was located
        raise NothingToCheckError(str(error)) from error


def _checked(
    location: Location,
    edition: rules.Edition,
    options: Options,
    found: Callable[[Sequence[Finding]], None] | None,
    executor: Executor | None,
) -> CheckReport:
    parts: Iterator[Part]
    report = CheckReport(edition.id, location.shown, edition.info.caution, deep=options.deep)
    report.partial = location.kind != "tree" or len(location.scope) > SUBMISSION_DEPTH
    report.part = clean("/".join(location.scope))
    if location.kind == "tree" and not location.is_leaf:
        listing, tasks = _list(location, options)
        report.unreadable.extend(listing.unreadable)
        report.unseen.extend(listing.unseen)
        report.systems = len(listing.systems)
        report.submitters = len(listing.submitters)
        if not (listing.submitters or listing.obstacles or listing.misplaced):
            raise NothingToCheckError(f"{clean(location.given)}: there is no submitter in it")
        work = partial(_check_task, location.root, options)
        look = Look(str(location.root), partial(_first_names, location.root))
        results = (executor or Processes(1)).run(work, tasks, look)
        parts = _with_tree(_lost_told(results), location.root, options, Packed.of(listing))
        del listing, tasks
    else:
        parts = iter([check_lone(location, options)])
    packed = []
    for part in parts:
        packed.append(Packed.of(part))
        if found is not None:
            found(part.findings)
    give_back()  # what the parsing of large files took
    for each in packed:
        _add(report, each.value())
    if not (report.submitters or report.leaves or report.faults or report.findings or report.unreadable):
        raise NothingToCheckError(f"{clean(location.given)}: it holds no run{_because(report.remarks)}")
    for rule in edition.rules:  # one that had no subject is listed with nothing but zeros
        report.tally.setdefault(rule.id, Counter())
    report.sort()
    return report


_IMAGE_WEIGHT = 1
"""An image is a few hundred files to hash: about as much as a leaf."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A system to check, or a code image to hash: its place in the tree, how much there is to do, and its listing."""

    path: str
    weight: int
    system: Packed[SystemDirectory] | None = None


def _list(location: Location, options: Options) -> tuple[Listing, list[_Task]]:
    """What there is, with systems in outline only, and what is to do: a system's names are packed until its turn."""
    systems: list[_Task] = []

    def keep(system: SystemDirectory) -> SystemDirectory:
        systems.append(_Task(system.path, system.weight, Packed.of(system)))
        return outline(system)

    with open_root(location.root) as root:
        listing = walk(root, location.scope, keep)
    listing.partial = bool(location.scope or options.submitters)
    listing.source_repo = options.source_repo
    _select_submitters(listing, options.submitters)
    # In a part of a tree only the images matter that its leaves name, and these are not known before.
    images = [] if listing.partial else code_images.image_paths(listing)
    selected = {system.path for system in listing.systems}
    chosen = [task for task in systems if task.path in selected]
    return listing, [*(_Task(path, _IMAGE_WEIGHT) for path in images), *chosen]


def _check_task(address: Address, options: Options, task: _Task) -> Part:
    if task.system is not None:
        return check_system(address, options, task.system.value())
    part = Part()
    with faults_kept(part, clean(task.path), options), open_root(address) as root:
        part.images[task.path] = capture(root, task.path)
    return part


def _with_tree(parts: Iterator[Part], address: Address, options: Options, listing: Packed[Listing]) -> Iterator[Part]:
    """The parts of the systems, then that of the tree, which rests on what these found out about code."""
    packed = []
    for part in parts:
        packed.append(Packed.of((part.images, part.leaves)))
        part.images, part.leaves = {}, {}
        yield part
    evidence = CodeEvidence()
    for each in packed:
        evidence.add(*each.value())
    yield check_tree(address, options, listing.value(), evidence)


def _lost_told(results: Iterator[Part]) -> Iterator[Part]:
    """What was lost with a process is a fault at each system."""
    try:
        yield from results
    except WorkerLostError as lost:
        yield Part(faults=[Fault(clean(path), f"not checked: {lost}") for path in lost.unfinished])


def _first_names(address: Address) -> object:
    """The names of a tree's directories and of its submitters. Raises OSError."""
    with open_root(address) as root:
        names = root.list("")[0]
        return names, [_names_below(root, name) for name in names if name.lower() in layout.DIVISIONS]


def _names_below(root: Root, directory: str) -> object:
    try:
        return root.list(directory)[0]
    except OSError as error:  # of which the walk tells
        return error.errno


def _add(report: CheckReport, part: Part) -> None:
    report.findings.extend(part.findings)
    report.remarks.extend(part.remarks)
    report.leaves += part.runs
    report.faults.extend(part.faults)
    report.unjudged.extend(part.unjudged)
    report.unseen.extend(part.unseen)
    for obstacle in part.unlisted:
        report.unreadable.append(obstacle.told)
        report.unseen.append(clean(obstacle.path))
    report.undecided |= part.undecided
    add_states(report.states, part.states)
    for path, places in part.resting.items():
        report.resting.setdefault(path, set()).update(places)
    for place, ids in part.open_rules.items():
        report.open_rules.setdefault(place, set()).update(ids)
    add_tally(report.tally, part.tally)


def select(report: CheckReport, selection: Selection) -> None:
    """Keep what was selected; totals follow."""
    report.findings = [finding for finding in report.findings if selection.keeps(finding)]
    report.tally = {rule: counts for rule, counts in report.tally.items() if rule in selection.rules}
    report.left_out = [rule.id for rule in rules.load_edition(report.edition).rules if rule.id not in selection.rules]
    report.states = {
        place: {rule: outcome for rule, outcome in states.items() if rule in selection.rules}
        for place, states in report.states.items()
    }
    kept = {place: ids & selection.rules for place, ids in report.open_rules.items()}
    report.open_rules = {place: ids for place, ids in kept.items() if ids}


def _select_submitters(listing: Listing, wanted: Sequence[str]) -> None:
    if not wanted:
        return
    available = sorted({submitter.name for submitter in listing.submitters})
    missing = [name for name in wanted if name not in available]
    if missing:
        there = ", ".join(map(clean, available)) or "none"
        raise NothingToCheckError(f"no submitter {', '.join(map(repr, missing))} here; there are: {there}")
    listing.submitters = [submitter for submitter in listing.submitters if submitter.name in wanted]
    listing.systems = [system for system in listing.systems if system.submitter in wanted]


def _because(remarks: Sequence[str]) -> str:
    return f" ({remarks[0]})" if remarks else ""
