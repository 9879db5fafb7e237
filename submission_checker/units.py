"""Reads and judges one unit of a check: a system, a lone directory, or what lies above the systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from mlpstorage.results import layout
from mlpstorage.results.document import Found
from mlpstorage.results.files import Root
from mlpstorage.results.roots.address import Address, open_root
from mlpstorage.results.text import clean
from rules import Severity
from rules.facts import FactModel
from rules.facts.base import Absence
from rules.facts.code import CodeLeaf

from .discovery import description_path, lone_leaf, lone_workload, looks_like_run
from .judging import Options, Part, faults_kept, judge
from .leaf import Leaf, family_of_files
from .listing import UNLISTED, Listing, Obstacle, SubmitterDirectory, SystemDirectory, WorkloadDirectory
from .location import Location
from .readers import structure, tree, tree_leaf, tree_workload
from .readers.code_evidence import CodeEvidence, read_leaf_code
from .readers.common import unlisted
from .readers.families import Family
from .readers.system import NO_DESCRIPTION, described_api, read_description, system_facts
from .report import Place, Resting, place_of, shown_place


def check_tree(address: Address, options: Options, listing: Listing, evidence: CodeEvidence) -> Part:
    """Read and judge what lies above the systems: the whole tree, and each submitter."""
    part = Part()
    with open_root(address) as root:
        for read in structure.TREE:
            with faults_kept(part, ".", options):
                judge(part, [read(root, listing, evidence)], layout.DIVISIONS[0], options)
        # The rules on the whole tree are the same in both divisions; a finding has that of its place, if any.
        part.findings = [replace(f, division=place_of(f.path).division.lower()) for f in part.findings]
        told = _causes(o for o in listing.obstacles if o.kind == UNLISTED)
        blocked = {f.path for f in part.findings if f.severity is Severity.ERROR}
        for submitter in listing.submitters:
            with faults_kept(part, clean(submitter.path), options):
                facts = [read_submitter(root, listing, submitter, evidence) for read_submitter in structure.SUBMITTER]
                _note_resting(part.resting, blocked, submitter, facts)
                judge(part, facts, submitter.division, options, told)
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
    with faults_kept(part, clean(system.path), options), open_root(address) as root:
        description = read_description(root, system.description) if system.described else None
        api = NO_DESCRIPTION if description is None else described_api(description)
        places: list[FactModel] = []
        workloads: list[FactModel] = []
        for directory in system.workloads:
            places.append(tree_workload.workload_facts(root, directory, live=system.live))
            for leaf in directory.leaves:
                part.leaves[leaf.path] = read_leaf_code(root, directory.family, leaf)
            workloads.extend(_workloads(root, [directory], api, part, options))
            root.kept.clear()
        part.unlisted = _unlisted(root, {obstacle.path for obstacle in system.obstacles})
        system = replace(system, obstacles=(*system.obstacles, *part.unlisted))
        facts: list[FactModel] = [tree.system_facts(system, places), *(read(root, system) for read in structure.SYSTEM)]
        facts += workloads if description is None else [system_facts(description, tuple(workloads))]
        judge(part, facts, system.division, options)
    return part


def check_lone(location: Location, options: Options) -> Part:
    """Read and judge one leaf, or a workload directory outside any tree."""
    part, path = Part(), "/".join(location.scope)
    with faults_kept(part, clean(path), options), open_root(location.root) as root:
        if location.kind == "workload":
            directory = lone_workload(root, path, location.family)
            shape = tree_workload.workload_facts(root, directory)
            for workload in _workloads(root, [directory], NO_DESCRIPTION, part, options):
                part.unlisted = _unlisted(root)
                part.remarks.append(f"{clean(path)}: only this workload directory was looked at, not its system")
                part.remarks.extend(_never_submitted(clean(path), workload))
                judge(part, [shape, workload], _division(workload), options, _causes(part.unlisted))
            return part
        leaf, family, described = _leaf_in_tree(root, path)
        if leaf.stub or (layout.leaf_time(leaf.name) is None and not looks_like_run(leaf.files)):
            part.remarks.append(f"{clean(path)}: neither {layout.SUMMARY} nor metadata is in it")
            return part
        if family not in options.families:
            part.remarks.append(f"{clean(path)}: results of this family are not judged yet")
            part.unjudged.append(clean(path))
            return part
        shape_of_leaf = tree_leaf.leaf_facts(root, leaf, family)
        run = options.families[family].read_leaf(root, leaf, described)
        part.unlisted = _unlisted(root)
        if run is not None:
            part.runs = 1
            part.remarks.extend(_left(options.families[family], run.path, [run]))
            part.remarks.append(f"{clean(path)}: only this leaf was looked at, not its workload and its system")
            part.remarks.extend(_never_submitted(clean(path), run))
            judge(part, [shape_of_leaf, run], _division(run), options, _causes(part.unlisted))
    return part


def _unlisted(root: Root, known: Collection[str] = ()) -> tuple[Obstacle, ...]:
    """Directories inside leaves that a reader could not list, without those that the walk went into."""
    found = sorted((path, why) for path, why in root.unlisted.items() if path not in known)
    return tuple(Obstacle(path, UNLISTED, detail=why, in_leaf=True) for path, why in found)


def _causes(unseen: Iterable[Obstacle]) -> set[str]:
    """Causes of what directories that could not be listed leave open: a report names each of these as not checked."""
    return {unlisted(obstacle.path, obstacle.detail).cause for obstacle in unseen}


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
        return replace(leaf, command=tree_leaf.recorded_command(root, leaf, family)), family, NO_DESCRIPTION
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
