"""The files of one vector-database leaf, each read once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from mlpstorage.results import layout
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived.vector_database import Batch
from rules.derived.zones import Moment, Zone
from rules.facts import Absence, Reason
from rules.facts.vector_database import Claim

from ..leaf import Leaf
from .code_pointer import read_pointer
from .common import Role
from .leaf_json import placeholder_of, read_leaf_json
from .vector_database_logs import LoadLog, RunLog, read_batches, read_load_log, read_run_log, statistics_in
from .zones import collected, directory_time, leaf_zone, moment

T = TypeVar("T")

MAX_LOG_BYTES = 16 * 2**20
"""A load logs a line for each batch and each poll of the index build."""
MAX_TABLE_BYTES = 2 * 2**20
"""Batch tables of one leaf together, about 30,000 batches; larger ones are not recomputed."""
MAX_POINTER_BYTES = 4096

_METADATA = re.compile(r"vector_database_.*_metadata\.json")
_RUN_LOG = re.compile(r"vector_database_run.*\.stdout\.log")
_LOAD_LOG = re.compile(r"vector_database_datagen.*\.std(?:err|out)\.log")
_TABLE = re.compile(r"[a-z]+_benchmark_p[0-9]+\.csv")
_MODES = ("simple", "enhanced")
_RESULTS = ("statistics.json", "enhanced_statistics.json", "vdb_multi_node_summary.json")
NATIVE = (
    "statistics.json",
    *(f"vectordb/{mode}/{name}" for name in _RESULTS for mode in _MODES),
    "enhanced_statistics.json",
)
"""Where the benchmark itself leaves its results, the preferred place first."""


class LeafDocuments:
    """Opens the files that run and load leaves have in common. Absences of pruned files carry one cause a leaf."""

    def __init__(self, root: Root, leaf: Leaf, logs: re.Pattern[str]) -> None:
        self._root = root
        self.leaf = leaf
        self.path = clean(leaf.path)
        self._placeholder = placeholder_of(leaf.path)
        self._logs = logs
        self.metadata = self.json(self._metadata_name())
        self.summary = self.json(layout.SUMMARY)

    def _metadata_name(self) -> str:
        """The name with the leaf's time stamp; in a renamed leaf the first other one."""
        wanted = layout.metadata_name(self.leaf.name, layout.VECTOR_DATABASE)
        others = [name for name in self.leaf.files if _METADATA.fullmatch(name)]
        return others[0] if wanted not in others and others else wanted

    def json(self, name: str) -> Document:
        """A JSON file of the leaf."""
        return read_leaf_json(self._root, self.leaf, name, layout.VECTOR_DATABASE)

    @cached_property
    def invocation_start(self) -> Moment:
        """When the command started, as written."""
        return moment(self.metadata.stated_time("/invocation_start_time"))

    @cached_property
    def invocation_end(self) -> Moment:
        """When the command ended, as written."""
        return moment(self.metadata.stated_time("/invocation_end_time"))

    @cached_property
    def zone(self) -> Zone | None:
        """The zone of the leaf's times."""
        return leaf_zone(self.metadata, (self.invocation_start, directory_time(self.leaf)), collected(self.metadata))

    @cached_property
    def log(self) -> Found[str]:
        """The text of the leaf's logs together. Absent where no log has text, or one is longer than is read."""
        texts, source, absent = [], None, None
        for document, text in self._read_logs:
            if document.ok:
                texts.append(text)
                source = source or document.source()
            else:
                absent = absent or document.absence()
        if absent is not None and (not texts or absent.reason is not Reason.MISSING_FILE):
            return absent
        if source is None:
            path = f"{self.path}/logs"
            return Absence(f"file:{path}", Reason.MISSING_FILE, path, detail="there is no log")
        return Reading("\n".join(texts), source)

    @cached_property
    def _read_logs(self) -> list[tuple[Document, str]]:
        return [self._read_log(name) for name in self.leaf.files if self._logs.fullmatch(name)]

    def _read_log(self, name: str) -> tuple[Document, str]:
        content = self._root.read(self.leaf.at(name), MAX_LOG_BYTES)
        path = clean(self.leaf.at(name))
        cause = self._placeholder if content.state == "placeholder" else f"file:{path}"
        state = "missing" if content.state == "empty" else content.state  # a command that prints nothing
        return Document(path, state, cause, content.detail), content.data.decode("utf-8", "replace")

    def logs_read(self) -> Iterator[tuple[Document, Role]]:
        """The logs, for the list of files."""
        for document, _ in self._read_logs:
            if document.state != "missing":
                yield document, "other"

    @cached_property
    def image(self) -> Found[str]:
        """The hash that the pointer names. That it is there is judged by the rules on the tree."""
        return read_pointer(self._root, self.leaf)

    def not_recorded(self, name: str, detail: str) -> Absence:
        """The absence of what no file states: no act on a single leaf would cure it."""
        cause = f"not-recorded:{clean(self.leaf.system_path)}:{layout.VECTOR_DATABASE}:{name}"
        return Absence(cause, Reason.NOT_RECORDED, self.path, "", detail)


class RunDocuments(LeafDocuments):
    """The files of a run leaf."""

    def __init__(self, root: Root, leaf: Leaf) -> None:
        super().__init__(root, leaf, _RUN_LOG)
        self.skipped_tables = False
        self.config = self.json("config.json")
        self.recall = self.json("recall_stats.json")
        self.verdict = self.json("result_verdict.json")
        self.fs_separation = self.json(layout.FS_SEPARATION)

    @cached_property
    def native(self) -> list[Document]:
        """The benchmark's own results, where they are there; what the log prints if no file has them."""
        found = [document for document in map(self.json, NATIVE) if document.state != "missing"]
        if not any(document.ok for document in found) and isinstance(self.log, Reading):
            printed = statistics_in(self.log.value)
            if printed is not None:
                path = self.log.source.path
                found.append(Document(path, "ok", f"file:{path}", data=printed))
        return [document for document in found if not _only_error(document)]

    @cached_property
    def run_log(self) -> RunLog:
        """What the log says; nothing where there is none."""
        return read_run_log(self.log.value) if isinstance(self.log, Reading) else RunLog()

    def batches(self) -> tuple[list[Batch], int]:
        """All logged batches and the number of tables; none where a table is missing or unreadable.

        ``skipped_tables`` tells afterwards whether they were too large to be read.
        """
        names = [name for name in self.leaf.files if _TABLE.fullmatch(name)]
        processes = self.config.int("/processes")
        if not names or (isinstance(processes, Reading) and processes.value != len(names)):
            return [], 0
        batches: list[Batch] = []
        left = MAX_TABLE_BYTES
        for name in names:
            content = self._root.read(self.leaf.at(name), max(left, 1))
            self.skipped_tables |= content.state == "refused"
            found = read_batches(content.data) if content.state == "ok" else []
            if not found:
                return [], 0
            batches += found
            left -= len(content.data)
        return batches, len(names)

    def all(self) -> Iterator[tuple[Document, Role]]:
        """The files that facts are read from; those that may rightly be absent only where they are there."""
        yield self.metadata, "metadata"
        yield self.summary, "summary"
        for document in self.native:
            if document.path.endswith(".json"):
                yield document, "summary"
        others: Iterable[tuple[Document, Role]] = (
            (self.config, "config"),
            (self.recall, "other"),
            (self.fs_separation, "other"),
        )
        for document, role in others:
            if document.state != "missing":
                yield document, role
        yield from self.logs_read()


class LoadDocuments(LeafDocuments):
    """The files of a datagen leaf."""

    def __init__(self, root: Root, leaf: Leaf) -> None:
        super().__init__(root, leaf, _LOAD_LOG)
        self.statistics = self.json("vectordb/load/load_statistics.json")

    @cached_property
    def load_log(self) -> LoadLog:
        """What the logs say; nothing where there are none."""
        return read_load_log(self.log.value) if isinstance(self.log, Reading) else LoadLog()

    def all(self) -> Iterator[tuple[Document, Role]]:
        """The files that facts are read from, where they are there."""
        documents: Iterable[tuple[Document, Role]] = (
            (self.metadata, "metadata"),
            (self.summary, "summary"),
            (self.statistics, "summary"),
        )
        for document, role in documents:
            if document.state != "missing":
                yield document, role
        yield from self.logs_read()


def _only_error(statistics: Document) -> bool:
    """Whether the benchmark had no results and wrote an error in their place."""
    return statistics.has("/error") and not statistics.has("/total_queries")


def best_of(*found: Found[T], strict: bool = False) -> Found[T]:
    """The first value. Where there is none: why the fact is not known, the reason that leaves most open first.

    ``strict``: a value that cannot be used hides those after it.
    """
    for candidate in found:
        if isinstance(candidate, Reading) or (strict and candidate.reason is Reason.INVALID):
            return candidate
    absences = [candidate for candidate in found if isinstance(candidate, Absence)]
    for reasons in (
        {Reason.INVALID},
        {Reason.PLACEHOLDER, Reason.POINTER, Reason.UNREADABLE},
        {Reason.KEY_ABSENT},
    ):
        for absence in absences:
            if absence.reason in reasons:
                return absence
    return absences[0]


def claims(path: str, name: str, stated: Sequence[tuple[str, str]]) -> list[Claim]:
    """The different values with the places that state them, those of the first source first."""
    places: dict[str, list[str]] = {}
    for place, value in stated:
        places.setdefault(value, []).append(place)
    at = {value: ", ".join(found) for value, found in places.items()}
    return [
        Claim(
            place=place,
            name=name,
            value=value,
            chosen=stated[0][1],
            chosen_at=at[stated[0][1]],
            cause=f"differs:{path}:{name}",
        )
        for value, place in at.items()
    ]


COLLECTION_REQUESTS = ("/collection", "/args/collection", "/override_parameters/dataset.collection_name")
"""Where the metadata says which collection was asked for."""


def with_requests(observed: list[Found[str]], requests: list[Found[str]]) -> list[Found[str]]:
    """The sources to compare. What was asked for in two ways is for the tool to resolve, and no evidence then."""
    said = {found.value for found in requests if isinstance(found, Reading) and found.value != ""}
    if len(said) <= 1:
        return [*observed, *requests]
    return observed if any(isinstance(found, Reading) for found in observed) else requests[:1]


def compared(path: str, name: str, *found: Found[T]) -> tuple[Found[T], list[Claim]]:
    """What the first source says, and what each of them does. Where they differ, nothing rests on it: it is absent."""
    stated = [item for item in found if isinstance(item, Reading) and item.value != ""]
    if not stated:
        return best_of(*found), []
    items = claims(path, name, [(str(item.source), str(item.value)) for item in stated])
    if len(items) == 1:
        return stated[0], items
    said = ", ".join(f"{item.place} says {item.value}" for item in items)
    return Absence(items[0].cause, Reason.UNREADABLE, path, detail=f"for the {name} {said}"), items
