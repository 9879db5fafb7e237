"""One workload directory as a part of the tree: its commands, leaves and strays, and the pauses between runs."""

from __future__ import annotations

from collections.abc import Sequence

from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived.tree import pauses
from rules.facts import tree as facts

from ..listing import CommandDirectory, Stray, WorkloadDirectory
from .common import unlisted
from .tree_leaf import LeafReader
from .tree_sheet import Sheet, capped, listed


def workload_facts(root: Root, workload: WorkloadDirectory, *, live: bool = False) -> facts.WorkloadResults:
    """One workload directory with its leaves. The documents that it reads are kept for the family's reader."""
    path = clean(workload.path)
    sheet = Sheet(path)
    levels = {
        level.command: [LeafReader(root, leaf, workload.family) for leaf in level.leaves] for level in workload.levels
    }
    sheet.put("division", workload.division)
    sheet.put("family", workload.family)
    sheet.put("name", clean(workload.name))
    sheet.put("live", live)
    sheet.put("misplaced", len(workload.misplaced))
    missing = unlisted(workload.lost, workload.problem) if workload.problem else None
    leaves = [reader for readers in levels.values() for reader in readers]
    others = len(workload.misplaced) + sum(len(level.strays) for level in workload.levels)
    sheet.put("held", missing or sum(not reader.leaf.stub for reader in leaves) + others)
    training = workload.family == layout.TRAINING
    phases = [
        facts.Phase(name=command, there=command in workload.commands, cause=f"file:{path}/{command}")
        for command in (layout.COMMANDS if training else ())
    ]
    sheet.put("phases", missing or phases)
    entries = [_directory(Stray(name, f"{workload.path}/{name}"), "", known) for name, known in workload.spellings]
    sheet.put("entries", missing or capped(entries, "name"))
    strays = [_directory(stray, level.command) for level in workload.levels for stray in level.strays]
    sheet.put("strays", missing or capped(strays, "name"))
    groups = [group for level in workload.levels for group in _groups(workload, level, levels[level.command])]
    sheet.put("groups", missing or groups)
    runs = [group for group in groups if group.command == layout.RUN]
    sheet.put("accelerators", [f"{group.accelerator} {group.count}" for group in runs if group.accelerator])
    sheet.put("results_files", missing or _results_files(workload))
    _put_pauses(sheet, workload, levels.get(layout.RUN, []))
    logs = [f"{level.path}/dlio.log" for level in workload.levels if "dlio.log" in level.files]
    sheet.put("stray_logs", [clean(log) for log in logs])
    return sheet.build(facts.WorkloadResults, path, [reader.facts() for reader in leaves])


def _directory(stray: Stray, command: str, proposed: str = "") -> facts.Directory:
    return facts.Directory(
        name=clean(stray.name),
        path=clean(stray.path),
        command=clean(command),
        run_like=stray.run_like,
        leaves_below=len(stray.below),
        digits=layout.TIMESTAMP.fullmatch(stray.name) is not None,
        proposed=proposed,
    )


def _groups(
    workload: WorkloadDirectory, level: CommandDirectory, readers: Sequence[LeafReader]
) -> list[facts.LeafGroup]:
    """The leaves of one level; training runs by accelerator."""
    strays = {stray.name for stray in level.strays}
    counted = [r for r in readers if not r.leaf.stub and not r.is_sizing and r.leaf.name not in strays]
    if workload.family == layout.TRAINING and level.command == layout.RUN:
        by_accelerator = _by_accelerator(counted)
    else:
        by_accelerator = {"": counted}
    misnamed = sum(1 for stray in level.strays if stray.run_like or stray.below)
    return [
        facts.LeafGroup(
            command=clean(level.command),
            path=clean(level.path),
            accelerator=accelerator,
            count=len(leaves),
            misnamed=misnamed,
            names=listed(sorted(reader.leaf.name for reader in leaves)),
        )
        for accelerator, leaves in sorted((by_accelerator or {"": []}).items())
    ]


def _by_accelerator(readers: Sequence[LeafReader]) -> dict[str, list[LeafReader]]:
    """Training runs by accelerator; one whose metadata names none goes with the others if those name only one."""
    found: dict[str, list[LeafReader]] = {}
    for reader in readers:
        found.setdefault(reader.accelerator, []).append(reader)
    if len(found) == 2 and "" in found:
        unnamed = found.pop("")
        next(iter(found.values())).extend(unnamed)
    return found


def _results_files(workload: WorkloadDirectory) -> list[facts.ResultsFile]:
    """Where the report generator puts results.json: beside the runs."""
    if workload.family not in (layout.TRAINING, layout.CHECKPOINTING):
        return []
    return [
        facts.ResultsFile(
            path=clean(level.path),
            there=layout.RESULTS_JSON in level.files,
            similar=listed([name for name in level.files if name.lower() == layout.RESULTS_JSON != name]),
        )
        for level in workload.levels
        if level.command == layout.RUN
    ]


def _put_pauses(sheet: Sheet, workload: WorkloadDirectory, readers: Sequence[LeafReader]) -> None:
    """Pauses between runs: of training by accelerator, of checkpointing between the invocations."""
    training = workload.family == layout.TRAINING
    runs = [reader for reader in readers if not reader.leaf.stub and not reader.leaf.problem and not reader.is_sizing]
    if workload.family not in (layout.TRAINING, layout.CHECKPOINTING) or len(runs) < 2:
        sheet.put("pauses", [])
        sheet.put("times_known", True)
        return
    named = [reader for reader in runs if not training or layout.leaf_time(reader.leaf.name) is not None]
    strays = [reader.times(measured=True) for reader in runs if reader not in named]
    groups = {
        accelerator: [reader.times(measured=training) for reader in leaves]
        for accelerator, leaves in (_by_accelerator(named) if training else {"": named}).items()
    }
    path = clean(runs[0].leaf.path.rpartition("/")[0])
    found = [pause for _, group in sorted(groups.items()) for pause in pauses(path, group, strays)]
    sheet.put("pauses", capped(found, "names"))
    unknown = [times.unknown for group in groups.values() for times in group if times.unknown is not None]
    sheet.put("times_known", unknown[0] if unknown else True)
