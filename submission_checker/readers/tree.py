"""What surrounds the runs as facts: the tree, its submitters, systems, workload directories and leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar

from mlpstorage.results import layout
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.images import IMAGE_PREFIX, LEGACY, POOL, POOL_MARKER
from mlpstorage.results.text import clean
from rules.derived.tree import LeafTimes, foreign_command, pauses
from rules.derived.zones import Instant, Moment, local
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts import tree as facts
from rules.tables import reference_rows

from ..discovery import family_named
from ..leaf import Leaf
from ..listing import (
    RESULTS,
    SYSTEMS,
    UNLISTED,
    CommandDirectory,
    Entries,
    Listing,
    Obstacle,
    Stray,
    SubmitterDirectory,
    SystemDirectory,
    WorkloadDirectory,
)
from .common import mapped, put, unlisted
from .credentials import credentials_of
from .leaf_json import read_leaf_json
from .zones import collected, directory_time, leaf_zone, moment, unusable_times

MAX_RECORDS = 500
"""Entries of one kind of one directory that rules are asked about; a last record says how many more there are."""
_MAX_NAMES = 8
"""Names that one text lists."""

T = TypeVar("T")


def tree_facts(root: Root, listing: Listing) -> facts.Tree:
    """The top of the tree."""
    sheet = _Sheet("")
    sheet.put("live", listing.live)
    sheet.put("divisions", sorted({name.lower() for name, _ in listing.divisions}))
    for division in layout.DIVISIONS:
        count = sum(count for name, count in listing.divisions if name.lower() == division)
        locked = [o for o in listing.obstacles if o.kind == UNLISTED and o.path.lower() == division]
        missing = unlisted(locked[0].path, locked[0].detail) if locked and not count else None
        sheet.put(f"{division}_submitters", missing or count)
    pools = {pool.path: pool for pool in listing.pools}
    sheet.put("directories", _capped([_top_directory(name, pools.get(name)) for name in listing.root.visible], "name"))
    sheet.put("misplaced", _misplaced(listing.misplaced))
    sheet.put("obstacles", _obstacles(listing.obstacles))
    return sheet.build(facts.Tree, ".")


def _top_directory(name: str, pool: Entries | None) -> facts.TopDirectory:
    images = pool is not None and any(_is_image(child) for child in pool.directories)
    marked = pool is not None and POOL_MARKER in pool.files
    return facts.TopDirectory(
        name=clean(name),
        path=clean(name),
        lower=clean(name.lower()),
        marked=marked,
        images=images,
        listed=pool is None or not pool.problem,
    )


def _is_image(name: str) -> bool:
    return name.startswith(IMAGE_PREFIX) and all(digit in "0123456789abcdef" for digit in name[len(IMAGE_PREFIX) :])


def submitter_facts(root: Root, listing: Listing, submitter: SubmitterDirectory) -> facts.Submitter:
    """One submitter's own directories."""
    path = clean(submitter.path)
    sheet = _Sheet(path)
    sheet.put("division", submitter.division)
    sheet.put("name", clean(submitter.name))
    sheet.put("layout", _layout(listing, submitter))
    entries = submitter.entries
    missing = unlisted(path, entries.problem) if entries.problem else None
    meant = {name: layout.spelt(entries.directories, name) for name in (RESULTS, SYSTEMS, LEGACY)}
    for name, there in meant.items():
        sheet.put(f"has_{name}", missing or bool(there))
    proposed = {there: name for name, there in meant.items() if there != name}
    records = [
        facts.SubmitterEntry(
            name=clean(name),
            path=clean(f"{submitter.path}/{name}"),
            stamped=layout.leaf_time(name) is not None,
            nested=name in submitter.nested,
            proposed=proposed.get(name, ""),
        )
        for name in entries.visible[: MAX_RECORDS + 1]
    ]
    sheet.put("directories", missing or _capped(records, "name", len(entries.visible)))
    sheet.put("misplaced", _misplaced(submitter.misplaced))
    sheet.put("obstacles", _obstacles(submitter.obstacles))
    return sheet.build(facts.Submitter, path)


def _layout(listing: Listing, submitter: SubmitterDirectory) -> str | Absence:
    """By evidence: the newest form of keeping code that the tree shows."""
    if POOL in listing.root.directories:
        return "3"
    own = next((pool for pool in listing.pools if pool.path == submitter.name), None)
    if own is not None and own.problem:
        return unlisted(own.path, own.problem)
    if own is not None and POOL_MARKER in own.files:
        return "2"
    return "1" if listing.code else "none"


def system_facts(system: SystemDirectory, workloads: Iterable[FactModel]) -> facts.SystemResults:
    """One system's results, over what its workload directories gave."""
    path = clean(system.path)
    sheet = _Sheet(path)
    sheet.put("division", system.division)
    sheet.put("name", clean(system.name))
    problem = next((o.detail for o in system.obstacles if o.kind == UNLISTED and o.path == system.path), "")
    missing = unlisted(path, problem) if problem else None
    stamped = sum(1 for leaf in system.misplaced if leaf.rpartition("/")[0] == system.path)
    sheet.put("num_categories", missing or len(system.families) + stamped)
    categories = [
        facts.Family(
            name=clean(family.name),
            path=clean(family.path),
            proposed=family.family,
            children=family.children,
            listed=not family.problem,
        )
        for family in system.families
    ]
    sheet.put("categories", missing or _capped(categories, "name"))
    names: dict[str, facts.WorkloadName] = {}
    for workload in system.workloads:
        family = workload.path.removeprefix(f"{system.path}/").split("/")
        below = f"{system.path}/{'/'.join(family[:2])}"
        names[below] = facts.WorkloadName(
            name=clean(family[1]), path=clean(below), family=workload.family, misplaced=len(workload.misplaced)
        )
    sheet.put("workloads", missing or _capped(list(names.values()), "name"))
    sheet.put("misplaced", _misplaced(system.misplaced))
    sheet.put("obstacles", _obstacles(system.obstacles))
    return sheet.build(facts.SystemResults, path, workloads)


def workload_facts(root: Root, workload: WorkloadDirectory, *, live: bool = False) -> facts.WorkloadResults:
    """One workload directory with its leaves. The documents that it reads are kept for the family's reader."""
    path = clean(workload.path)
    sheet = _Sheet(path)
    levels = {
        level.command: [_LeafReader(root, leaf, workload.family) for leaf in level.leaves] for level in workload.levels
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
    sheet.put("entries", missing or _capped(entries, "name"))
    strays = [_directory(stray, level.command) for level in workload.levels for stray in level.strays]
    sheet.put("strays", missing or _capped(strays, "name"))
    groups = [group for level in workload.levels for group in _groups(workload, level, levels[level.command])]
    sheet.put("groups", missing or groups)
    runs = [group for group in groups if group.command == layout.RUN]
    sheet.put("accelerators", [f"{group.accelerator} {group.count}" for group in runs if group.accelerator])
    sheet.put("results_files", missing or _results_files(workload))
    _put_pauses(sheet, workload, levels.get(layout.RUN, []))
    logs = [f"{level.path}/dlio.log" for level in workload.levels if "dlio.log" in level.files]
    sheet.put("stray_logs", [clean(log) for log in logs])
    return sheet.build(facts.WorkloadResults, path, [reader.facts() for reader in leaves])


def recorded_command(root: Root, leaf: Leaf, family: str) -> str:
    """What a leaf outside any tree was made by, as its metadata says; else a run."""
    found = _LeafReader(root, leaf, family).command
    levels = layout.FAMILY_LEVELS[family]
    if layout.COMMAND in levels and isinstance(found, Reading) and found.value in layout.COMMANDS:
        return found.value
    return leaf.command


def leaf_facts(root: Root, leaf: Leaf, family: str) -> facts.RunLeaf:
    """One leaf by itself."""
    return _LeafReader(root, leaf, family).facts()


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
    workload: WorkloadDirectory, level: CommandDirectory, readers: Sequence[_LeafReader]
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
            names=_listed(sorted(reader.leaf.name for reader in leaves)),
        )
        for accelerator, leaves in sorted((by_accelerator or {"": []}).items())
    ]


def _by_accelerator(readers: Sequence[_LeafReader]) -> dict[str, list[_LeafReader]]:
    """Training runs by accelerator; one whose metadata names none goes with the others if those name only one."""
    found: dict[str, list[_LeafReader]] = {}
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
            similar=_listed([name for name in level.files if name.lower() == layout.RESULTS_JSON != name]),
        )
        for level in workload.levels
        if level.command == layout.RUN
    ]


def _put_pauses(sheet: _Sheet, workload: WorkloadDirectory, readers: Sequence[_LeafReader]) -> None:
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
    sheet.put("pauses", _capped(found, "names"))
    unknown = [times.unknown for group in groups.values() for times in group if times.unknown is not None]
    sheet.put("times_known", unknown[0] if unknown else True)


class _LeafReader:
    """States the facts of one leaf."""

    def __init__(self, root: Root, leaf: Leaf, family: str) -> None:
        self.leaf = leaf
        self.family = family
        self.path = clean(leaf.path)
        self.expected = layout.metadata_name(leaf.name, family)
        moved = layout.metadata_name(leaf.rest.rpartition("/")[2], family)
        if leaf.rest and moved in leaf.files:  # of two halves only one has metadata
            self.expected = moved
        # What readers open is there, whatever it is: they tell by themselves that it is no file.
        self._names = {*leaf.files, *(name for name in leaf.directories if name.endswith(".json"))}
        names = (*leaf.files, *leaf.directories)
        self.metadata_files = sorted(name for name in names if name.endswith(layout.METADATA_SUFFIX))
        self.metadata = self._open(root, self._metadata_name())
        self.summary = self._open(root, layout.SUMMARY)

    def _metadata_name(self) -> str:
        only = len(self.metadata_files) == 1 and self.expected not in self.metadata_files
        return self.metadata_files[0] if only else self.expected

    def _open(self, root: Root, name: str) -> Document:
        path = self.leaf.at(name)
        if self.leaf.problem:
            return Document(clean(path), "refused", f"{UNLISTED}:{self.path}", self.leaf.problem)
        if name not in self.leaf.files and name not in self.leaf.directories:
            return Document(clean(path), "missing", f"file:{clean(path)}", "there is no such file")
        return read_leaf_json(root, self.leaf, name, self.family, keep=True)

    @cached_property
    def accelerator(self) -> str:
        """Accelerator type, lower case; '' where the metadata names none."""
        found = self.metadata.text("/accelerator", "/args/accelerator_type", "/args/accelerator")
        return found.value.lower() if isinstance(found, Reading) else ""

    @cached_property
    def is_sizing(self) -> bool:
        """A checkpointing leaf that holds a sizing: the family has no level of commands to keep them apart."""
        if self.family != layout.CHECKPOINTING:
            return False
        command = self.command
        return isinstance(command, Reading) and command.value == layout.COMMANDS[0]

    @cached_property
    def command(self) -> Found[str]:
        found = self.metadata.text("/command", "/args/command")
        return found.map(str.lower) if isinstance(found, Reading) else found

    def times(self, *, measured: bool) -> LeafTimes:
        """Start and end; with ``measured`` the duration is that of the measured section of the summary."""
        invoked, directory = moment(self.metadata.stated_time("/invocation_start_time")), directory_time(self.leaf)
        zone = leaf_zone(self.metadata, (invoked, directory), collected(self.metadata))
        summary_start = local(moment(self.summary.stated_time("/start", "/start_time")), zone)
        summary_end = local(moment(self.summary.stated_time("/end", "/end_time")), zone)
        starts = [
            ("invocation start", local(invoked, zone), True),
            ("leaf name", directory, True),
            ("summary start", summary_start, False),
        ]
        ends = [
            ("invocation end", local(moment(self.metadata.stated_time("/invocation_end_time")), zone), True),
            ("summary end", summary_end, False),
        ]
        start_name, start, start_exact = _first_known(starts)
        end_name, end, end_exact = _first_known(ends)
        begun, ended = (summary_start, summary_end) if measured else (start, end)
        name, exact = clean(self.leaf.name), start_exact and end_exact
        return LeafTimes(name, start, end, begun, ended, start_name, end_name, exact, zone)

    def facts(self) -> facts.RunLeaf:
        leaf, sheet = self.leaf, _Sheet(self.path)
        missing = unlisted(self.path, leaf.problem) if leaf.problem else None
        sheet.put("name", clean(leaf.name))
        sheet.put("directory", self.path.rpartition("/")[0])
        sheet.put("family", self.family)
        sheet.put("command", clean(leaf.command))
        kind = clean(f"{self.family}/{layout.COMMANDS[0] if self.is_sizing else leaf.command}")
        sheet.put("kind", kind)
        sheet.put("stamped", layout.leaf_time(leaf.name) is not None)
        sheet.put("stub", missing or leaf.stub)
        sheet.put("rest", clean(leaf.rest.rpartition("/")[2]))
        rows = reference_rows("tree-content")
        patterns: list[str] = rows[kind]["names"] if kind in rows else []
        found = [pattern for pattern in patterns if self._holds(pattern)]
        sheet.put("content", missing or found)
        sheet.put("content_causes", missing or [c for p in patterns if p not in found for c in self._causes(p)])
        outputs, statistics = ({n.removesuffix(s) for n in self._names if n.endswith(s)} for s in _OF_A_RANK)
        sheet.put("rank_files", missing or sum(name.isdecimal() for name in outputs & statistics))
        configuration = leaf.configuration
        sheet.put("has_configuration", missing or configuration is not None)
        sheet.put("configuration_path", f"{self.path}/{layout.DLIO_CONFIG_DIR}")
        names = [clean(name) for name in configuration or ()]
        sheet.put("configuration", missing or _first_names(names))
        expected = [name.removeprefix(f"{layout.DLIO_CONFIG_DIR}/") for name in _CONFIGURATION]
        sheet.put(
            "configuration_causes",
            missing or [self._cause(f"{layout.DLIO_CONFIG_DIR}/{name}") for name in expected if name not in names],
        )
        sheet.put("metadata_files", missing or [clean(name) for name in self.metadata_files[:_MAX_LISTED]])
        sheet.put("metadata_cause", self._cause(self.expected))
        sheet.put("expected_metadata", clean(self.expected))
        self._recorded(sheet, missing)
        return sheet.build(facts.RunLeaf, self.path)

    def _recorded(self, sheet: _Sheet, missing: Absence | None) -> None:
        """What the metadata says of itself; nothing where it is not clear which file that is."""
        if len(self.metadata_files) > 1:
            detail = f"there are {len(self.metadata_files)} metadata files"
            missing = Absence(f"metadata:{self.path}", Reason.INVALID, self.path, detail=detail)
        put(sheet, "run_datetime", missing or self.metadata.text("/run_datetime"))
        kind = self.metadata.text("/benchmark_type", "/args/benchmark")
        if isinstance(kind, Reading):
            kind = kind.map(lambda name: family_named(name) or name)
        put(sheet, "benchmark_type", missing or kind)
        put(sheet, "recorded_command", missing or self.command)
        sheet.put("command_cause", foreign_command(self.path))
        put(sheet, "processes", missing or _if_named(self.metadata.int(*_PROCESSES), "processes"))
        status = mapped(_if_named(self.metadata.text("/status"), "status"), lambda text: text.strip().lower())
        put(sheet, "recorded_status", missing or status)
        put(sheet, "exit_status", missing or _if_named(self.metadata.int("/exit_status"), "exit_status"))
        sheet.put("unusable_times", missing or unusable_times(self.metadata))
        names = mapped(missing or credentials_of(self.metadata), _first_names)
        put(sheet, "credentials", names)
        probes = _if_named(self.metadata.list("/skipped_probes"), "skipped_probes")
        put(sheet, "skipped_probes", missing or mapped(probes, _probe_names))

    def _holds(self, pattern: str) -> bool:
        if pattern.endswith("/"):
            return pattern[:-1] in self.leaf.directories or pattern[:-1] in self.leaf.files
        if "*" not in pattern:
            return pattern in self._names
        return any(fnmatchcase(name, pattern) for name in self._names)

    def _cause(self, name: str) -> str:
        return f"file:{clean(self.leaf.at(name))}"

    def _causes(self, pattern: str) -> list[str]:
        """Causes of what is not known without a file; of many alike the first rank's file counts."""
        if pattern == f"{layout.DLIO_CONFIG_DIR}/":
            return [self._cause(name) for name in _CONFIGURATION]
        if pattern.endswith(layout.METADATA_SUFFIX):
            return [self._cause(self.expected)]
        return [self._cause(pattern.replace("*", "0_"))]


_CONFIGURATION = (layout.CONFIG, f"{layout.DLIO_CONFIG_DIR}/hydra.yaml", layout.OVERRIDES)
_OF_A_RANK = ("_output.json", "_per_epoch_stats.json")
_MAX_LISTED = 50


class _Sheet(FactSheet):
    """A sheet whose facts come from where a directory was listed, unless said otherwise."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._here = Source(path or ".")

    def put(self, name: str, value: Any, source: Source | None = None) -> None:
        super().put(name, value, source or self._here)


_PROCESSES = ("/args/num_processes", "/num_processes", "/args/num_accelerators", "/num_accelerators")
"""Each simulated accelerator is a process."""


def _if_named(found: Found[T], name: str) -> Found[T]:
    """Not every tool records it: a key that is not there says nothing."""
    if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
        return Absence(f"not-recorded:{name}", Reason.NOT_RECORDED, found.path, detail="the metadata does not name it")
    return found


def _probe_names(probes: list[Any]) -> list[str]:
    return _first_names([clean(str(probe), 40) for probe in probes])


def _first_known(candidates: Sequence[tuple[str, Moment, bool]]) -> tuple[str, Moment, bool]:
    return next((item for item in candidates if isinstance(item[1], Instant)), candidates[-1])


def _misplaced(paths: Iterable[str]) -> list[facts.Misplaced]:
    found = [facts.Misplaced(path=clean(path), above=clean(path.rpartition("/")[0])) for path in sorted(paths)]
    return _capped(found, "path")


def _obstacles(obstacles: Iterable[Obstacle]) -> list[facts.Obstacle]:
    return _capped(
        [
            facts.Obstacle(
                path=clean(obstacle.path) or ".",
                kind=obstacle.kind,
                listed=obstacle.kind != UNLISTED,
                names=_listed(obstacle.names),
                count=len(obstacle.names),
                submission=any(
                    name.lower() in layout.DIVISIONS for name in ([obstacle.path] if obstacle.path else obstacle.names)
                ),
                in_leaf=obstacle.in_leaf,
                detail=clean(obstacle.detail),
                cause=f"{UNLISTED}:{clean(obstacle.path)}",
            )
            for obstacle in obstacles
        ],
        "path",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join([clean(name) for name in names[:_MAX_NAMES]] + _more(len(names) - _MAX_NAMES))


def _first_names(names: list[str]) -> list[str]:
    return [*names[:_MAX_LISTED], *_more(len(names) - _MAX_LISTED)]


def _more(count: int) -> list[str]:
    return [f"({count} more)"] if count > 0 else []


def _capped(records: list[T], field: str, total: int | None = None) -> list[T]:
    """At most MAX_RECORDS, of which the last one says how many were left out."""
    count = len(records) if total is None else total
    if count <= MAX_RECORDS:
        return records
    last: Any = records[MAX_RECORDS - 1]
    note = f"{getattr(last, field)} (and {count - MAX_RECORDS} more)"
    return [*records[: MAX_RECORDS - 1], last.model_copy(update={field: note})]
