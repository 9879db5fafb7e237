"""Checks a results tree system by system (the unit of parallel work): read into facts, evaluate, conclude."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import rules
from mlpstorage.results import layout
from mlpstorage.results.document import Found
from mlpstorage.results.files import Root
from mlpstorage.results.roots.address import Address, UnusableRootError, open_root
from mlpstorage.results.text import clean
from rules import Finding, Severity
from rules.evaluate import NOT_GIVEN, SUBMISSION
from rules.facts import FactModel
from rules.facts.base import Absence, Reason
from rules.facts.code import CodeLeaf
from rules.outcomes import Tally, add_tally

from .discovery import (
    UNLISTED,
    Listing,
    NothingToCheckError,
    Obstacle,
    SubmitterDirectory,
    SystemDirectory,
    WorkloadDirectory,
    description_path,
    lone_leaf,
    lone_workload,
    looks_like_run,
    walk,
)
from .executors import Executor, Look, Processes, WorkerLostError
from .leaf import Leaf, family_of_files
from .location import Location, locate
from .outline import outline
from .packed import Packed, give_back
from .readers import code_images, structure, tree
from .readers.code_evidence import Captured, CodeEvidence, LeafCode, capture, read_leaf_code
from .readers.common import unlisted
from .readers.families import DEEP_FAMILIES, FAMILIES, Family
from .readers.system import NO_DESCRIPTION, described_api, read_description, system_facts
from .report import (
    SUBMISSION_DEPTH,
    CheckReport,
    Fault,
    OpenRules,
    Place,
    Resting,
    States,
    add_states,
    note_outcomes,
    place_of,
    shown_place,
)
from .selection import Selection


@dataclass(frozen=True, slots=True)
class Options:
    """What to check and by which rules. ``debug``: faults carry their traceback."""

    edition: str = field(default_factory=lambda: rules.DEFAULT_EDITION)
    submitters: tuple[str, ...] = ()
    debug: bool = False
    source_repo: str = ""
    """A clone of the tool's repository to compare code images with; empty: none."""
    deep: bool = False
    """Whether to recompute what takes the files of every rank."""
    keep_undecided: bool = False
    """Whether to keep every clause that could not be decided: what a comparison with an earlier report asks for."""
    judge: Callable[[Part, Sequence[FactModel], str], None] | None = None
    """What to do with the facts of subjects that belong together, and their division, in place of judging them."""

    @property
    def families(self) -> Mapping[str, Family]:
        """How the results of each family are read."""
        return DEEP_FAMILIES if self.deep else FAMILIES


@dataclass(slots=True)
class Part:
    """What the check of one system (or lone directory) gave. Small, for it travels between processes."""

    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    runs: int = 0
    states: States = field(default_factory=dict)
    open_rules: OpenRules = field(default_factory=dict)
    resting: Resting = field(default_factory=dict)
    """Whose results an error in a pool of code images concerns."""
    unjudged: list[str] = field(default_factory=list)
    """Directories of results that no rules are there for yet."""
    unlisted: tuple[Obstacle, ...] = ()
    """Directories inside leaves that could not be listed when these were read."""
    unseen: list[str] = field(default_factory=list)
    """Workload directories that were not judged, for something in them could not be listed."""
    undecided: set[tuple[str, str, str]] = field(default_factory=set)
    """Rule, clause and subject's path of what could not be decided, where these are kept."""
    leaves: dict[str, LeafCode] = field(default_factory=dict)
    """What the leaves say of their code, by path; for the rules on the tree and on submissions."""
    images: dict[str, Captured] = field(default_factory=dict)
    """Code images that were hashed, by path."""


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
    with _faults_kept(part, clean(task.path), options), open_root(address) as root:
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


def check_tree(address: Address, options: Options, listing: Listing, evidence: CodeEvidence) -> Part:
    """Read and judge what lies above the systems: the whole tree, and each submitter."""
    part = Part()
    with open_root(address) as root:
        for read in structure.TREE:
            with _faults_kept(part, ".", options):
                _judge(part, [read(root, listing, evidence)], layout.DIVISIONS[0], options)
        # The rules on the whole tree are the same in both divisions; a finding has that of its place, if any.
        part.findings = [replace(f, division=place_of(f.path).division.lower()) for f in part.findings]
        told = {unlisted(o.path, o.detail).cause for o in listing.obstacles if o.kind == UNLISTED}
        blocked = {f.path for f in part.findings if f.severity is Severity.ERROR}
        for submitter in listing.submitters:
            with _faults_kept(part, clean(submitter.path), options):
                facts = [read_submitter(root, listing, submitter, evidence) for read_submitter in structure.SUBMITTER]
                _note_resting(part.resting, blocked, submitter, facts)
                _judge(part, facts, submitter.division, options, told)
    return part


def _note_resting(
    resting: Resting, blocked: Collection[str], submitter: SubmitterDirectory, subjects: Iterable[FactModel]
) -> None:
    """Note which of the code that has errors is this submitter's own, and which its leaves point to."""
    name, own = clean(submitter.name), place_of(clean(submitter.path))
    for path in blocked:
        if path == name or shown_place(path) == Place(submitter=name):
            resting.setdefault(path, set()).add(own)
    leaves = (leaf for facts in subjects for leaf in facts.below if isinstance(leaf, CodeLeaf)) if blocked else ()
    for leaf in leaves:
        image = "" if isinstance(leaf.image_path, Absence) else leaf.image_path
        for path in (image, image.rpartition("/")[0]):
            if path in blocked:
                resting.setdefault(path, set()).add(place_of(leaf.path))


def check_system(address: Address, options: Options, system: SystemDirectory) -> Part:
    """Read and judge one system: its place in the tree, and what was measured on it."""
    part = Part()
    with _faults_kept(part, clean(system.path), options), open_root(address) as root:
        description = read_description(root, system.description) if system.described else None
        api = NO_DESCRIPTION if description is None else described_api(description)
        places: list[FactModel] = []
        workloads: list[FactModel] = []
        for directory in system.workloads:
            places.append(tree.workload_facts(root, directory, live=system.live))
            for leaf in directory.leaves:
                part.leaves[leaf.path] = read_leaf_code(root, directory.family, leaf)
            workloads.extend(_workloads(root, [directory], api, part, options))
            root.kept.clear()
        part.unlisted = _unlisted(root, {obstacle.path for obstacle in system.obstacles})
        system = replace(system, obstacles=(*system.obstacles, *part.unlisted))
        facts: list[FactModel] = [tree.system_facts(system, places), *(read(root, system) for read in structure.SYSTEM)]
        facts += workloads if description is None else [system_facts(description, tuple(workloads))]
        _judge(part, facts, system.division, options)
    return part


def check_lone(location: Location, options: Options) -> Part:
    """Read and judge one leaf, or a workload directory outside any tree."""
    part, path = Part(), "/".join(location.scope)
    with _faults_kept(part, clean(path), options), open_root(location.root) as root:
        if location.kind == "workload":
            directory = lone_workload(root, path, location.family)
            shape = tree.workload_facts(root, directory)
            for workload in _workloads(root, [directory], NO_DESCRIPTION, part, options):
                part.unlisted = _unlisted(root)
                part.remarks.append(f"{clean(path)}: only this workload directory was looked at, not its system")
                part.remarks.extend(_never_submitted(clean(path), workload))
                _judge(part, [shape, workload], _division(workload), options)
            return part
        leaf, family, described = _leaf_in_tree(root, path)
        if leaf.stub or (layout.leaf_time(leaf.name) is None and not looks_like_run(leaf.files)):
            part.remarks.append(f"{clean(path)}: neither {layout.SUMMARY} nor metadata is in it")
            return part
        if family not in options.families:
            part.remarks.append(f"{clean(path)}: results of this family are not judged yet")
            part.unjudged.append(clean(path))
            return part
        shape_of_leaf = tree.leaf_facts(root, leaf, family)
        run = options.families[family].read_leaf(root, leaf, described)
        part.unlisted = _unlisted(root)
        if run is not None:
            part.runs = 1
            part.remarks.extend(_left(options.families[family], run.path, [run]))
            part.remarks.append(f"{clean(path)}: only this leaf was looked at, not its workload and its system")
            part.remarks.extend(_never_submitted(clean(path), run))
            _judge(part, [shape_of_leaf, run], _division(run), options)
    return part


def _unlisted(root: Root, known: Collection[str] = ()) -> tuple[Obstacle, ...]:
    """Directories inside leaves that a reader could not list, without those that the walk went into."""
    found = sorted((path, why) for path, why in root.unlisted.items() if path not in known)
    return tuple(Obstacle(path, UNLISTED, detail=why, in_leaf=True) for path, why in found)


def _division(facts: FactModel) -> str:
    """The division to judge in: the one that is claimed, else the stricter one."""
    known = [division for division in layout.DIVISIONS if division == getattr(facts, "division", None)]
    return known[0] if known else layout.DIVISIONS[0]


def _never_submitted(path: str, facts: FactModel) -> Iterator[str]:
    """A remark on results that were made for no division of a submission and are judged all the same."""
    if any(getattr(each, "division", None) == layout.WHATIF for each in (facts, *facts.below)):
        yield f"{path}: {layout.WHATIF} results, never to be submitted; judged as in {_division(facts)}"


def _leaf_in_tree(root: Root, path: str) -> tuple[Leaf, str, Found[str]]:
    """A leaf by its path, with its family; its place and description where the path has the shape of a tree's."""
    leaf = lone_leaf(root, path)
    parts = path.split("/")
    if len(parts) == 1:
        family = family_of_files(leaf.files)
        return replace(leaf, command=tree.recorded_command(root, leaf, family)), family, NO_DESCRIPTION
    division, submitter, _, system = parts[0].lower(), *parts[1:4]
    family, below = parts[4], parts[5:-1]
    command = below.pop() if layout.COMMAND in layout.FAMILY_LEVELS[family] else layout.RUN
    command = command.lower() if command.lower() in layout.COMMANDS else command
    system_path = "/".join(parts[:4])
    leaf = replace(leaf, division=division, system_path=system_path, workload=below[-1], command=command)
    description = read_description(root, description_path(root, parts[0], submitter, system))
    return leaf, family, described_api(description)


def _workloads(
    root: Root, directories: Iterable[WorkloadDirectory], api: Found[str], part: Part, options: Options
) -> Iterator[FactModel]:
    for directory in directories:
        if directory.unlisted:
            part.remarks.append(
                f"{clean(directory.path)}: not judged as a whole, for {clean(directory.lost)} cannot be listed"
            )
            part.unseen.append(clean(directory.path))
            continue
        if directory.family not in options.families:
            part.remarks.append(f"{clean(directory.path)}: results of this family are not judged yet")
            part.unjudged.append(clean(directory.path))
            continue
        family = options.families[directory.family]
        workload, remarks = family.read_workload(root, directory, api)
        part.remarks.extend(remarks)
        if workload is not None:
            part.runs += len(workload.below)
            part.remarks.extend(_left(family, workload.path, workload.below))
            yield workload


def _left(family: Family, path: str, subjects: Iterable[FactModel]) -> Iterator[str]:
    """Remarks on what the way of reading leaves undecided of these subjects."""
    for subject in sorted({facts.subject for facts in subjects}):
        if subject in family.left:
            yield f"{path}: {family.left[subject]}"


def _judge(
    part: Part, subjects: Iterable[FactModel], division: str, options: Options, told: Collection[str] = ()
) -> None:
    """Judge subjects that may explain each other's open questions; ``told`` are causes that another finding names."""
    if options.judge is not None:
        options.judge(part, tuple(subjects), division)
        return
    evaluations = []
    for facts in subjects:
        whole = rules.load_edition(options.edition).evaluate(facts, division=division, stage=SUBMISSION)
        if options.keep_undecided:
            part.undecided.update((q.rule, q.clause, q.path) for q in whole.open_questions)
        evaluation = _asked(whole)
        new = tuple(question for question in evaluation.open_questions if question.absence.cause not in told)
        evaluations.append(replace(evaluation, open_questions=new))
        note_outcomes(part.states, evaluation.outcomes)
        for question in evaluation.open_questions:
            if question.severity is Severity.ERROR and not _expected(question.absence):
                part.open_rules.setdefault(place_of(question.path), set()).add(question.rule)
        part.faults.extend(Fault(facts.path, clean(fault, 500)) for fault in evaluation.faults)
    concluded = rules.conclude(evaluations)
    part.findings.extend(concluded.findings)
    add_tally(part.tally, concluded.tally)


def _expected(absence: Absence) -> bool:
    """Whether a value lacks in a sound submission, too.

    A round prunes logs and the files of ranks, and an old tool could not record everything. What a run was is stated
    by its metadata and its summary: a placeholder in their place is no pruning but the end of every judgement.
    """
    if absence.reason is Reason.PLACEHOLDER:
        name = absence.path.rpartition("/")[2]
        return not (name == "summary.json" or name.endswith("metadata.json"))
    return absence.reason in (Reason.NOT_RECORDED, Reason.NOT_APPLICABLE)


def evaluate(edition: rules.Edition, facts: FactModel, division: str) -> rules.Evaluation:
    """Judge a subject, as a check does."""
    return _asked(edition.evaluate(facts, division=division, stage=SUBMISSION))


def _asked(evaluation: rules.Evaluation) -> rules.Evaluation:
    """What lies above a lone directory was not asked for and is no open question; a remark says so."""
    asked = tuple(question for question in evaluation.open_questions if question.absence.cause != NOT_GIVEN)
    return replace(evaluation, open_questions=asked)


@contextmanager
def _faults_kept(part: Part, path: str, options: Options) -> Iterator[None]:
    """Turns a defect met while one part is checked into that part's fault: the other parts are still checked."""
    try:
        yield
    except UnusableRootError:
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {clean(str(error), 500)}"
        if options.debug:
            message += "\n" + "".join(traceback.format_exception(error))
        part.faults.append(Fault(path, message))


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
        report.unreadable.append(f"{clean(obstacle.path)}: {obstacle.detail}")
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
