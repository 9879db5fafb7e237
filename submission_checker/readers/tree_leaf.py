"""One leaf as a part of the tree: its name, what it holds, and what its metadata say of it."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar

from mlpstorage.results import layout
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived.tree import LeafTimes, foreign_command
from rules.derived.zones import Instant, Moment, local
from rules.facts import Absence, Reason
from rules.facts import tree as facts
from rules.tables import reference_rows

from ..discovery import family_named
from ..leaf import Leaf
from .common import mapped, put, unlisted
from .credentials import credentials_of
from .leaf_json import read_leaf_json
from .tree_sheet import MAX_LISTED, Sheet, first_names
from .zones import collected, directory_time, leaf_zone, moment, unusable_times

_CONFIGURATION = (layout.CONFIG, f"{layout.DLIO_CONFIG_DIR}/hydra.yaml", layout.OVERRIDES)
_OF_A_RANK = ("_output.json", "_per_epoch_stats.json")
_PROCESSES = ("/args/num_processes", "/num_processes", "/args/num_accelerators", "/num_accelerators")
"""Each simulated accelerator is a process."""

T = TypeVar("T")


def recorded_command(root: Root, leaf: Leaf, family: str) -> str:
    """What a leaf outside any tree was made by, as its metadata says; else a run."""
    found = LeafReader(root, leaf, family).command
    levels = layout.FAMILY_LEVELS[family]
    if layout.COMMAND in levels and isinstance(found, Reading) and found.value in layout.COMMANDS:
        return found.value
    return leaf.command


def leaf_facts(root: Root, leaf: Leaf, family: str) -> facts.RunLeaf:
    """One leaf by itself."""
    return LeafReader(root, leaf, family).facts()


class LeafReader:
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
            cause = unlisted(self.leaf.path, self.leaf.problem).cause
            return Document(clean(path), "refused", cause, self.leaf.problem)
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
        """What the metadata say the leaf was made by, lower case."""
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
        """The leaf's facts."""
        leaf, sheet = self.leaf, Sheet(self.path)
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
        sheet.put("configuration", missing or first_names(names))
        expected = [name.removeprefix(f"{layout.DLIO_CONFIG_DIR}/") for name in _CONFIGURATION]
        sheet.put(
            "configuration_causes",
            missing or [self._cause(f"{layout.DLIO_CONFIG_DIR}/{name}") for name in expected if name not in names],
        )
        sheet.put("metadata_files", missing or [clean(name) for name in self.metadata_files[:MAX_LISTED]])
        sheet.put("metadata_cause", self._cause(self.expected))
        sheet.put("expected_metadata", clean(self.expected))
        self._recorded(sheet, missing)
        return sheet.build(facts.RunLeaf, self.path)

    def _recorded(self, sheet: Sheet, missing: Absence | None) -> None:
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
        names = mapped(missing or credentials_of(self.metadata), first_names)
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


def _if_named(found: Found[T], name: str) -> Found[T]:
    """Not every tool records it: a key that is not there says nothing."""
    if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
        return Absence(f"not-recorded:{name}", Reason.NOT_RECORDED, found.path, detail="the metadata does not name it")
    return found


def _probe_names(probes: list[Any]) -> list[str]:
    return first_names([clean(str(probe), 40) for probe in probes])


def _first_known(candidates: Sequence[tuple[str, Moment, bool]]) -> tuple[str, Moment, bool]:
    return next((item for item in candidates if isinstance(item[1], Instant)), candidates[-1])
