"""Index directories of the vector-database benchmark as facts: the measured runs, and the record of the load."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from mlpstorage.results import layout
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived import vector_database as derived
from rules.derived.zones import Instant, Moment, end_shift, local, moved, shifts
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.vector_database import Claim, VectorDatabaseRun, VectorDatabaseWorkload

from ..leaf import Leaf
from ..listing import WorkloadDirectory
from .common import leaf_files, mapped, put
from .vector_database_files import (
    COLLECTION_REQUESTS,
    LoadDocuments,
    RunDocuments,
    best_of,
    claims,
    compared,
    with_requests,
)
from .vector_database_parameters import configs, fixed_parameters, overrides
from .vector_database_run import read_run as read_run_leaf
from .zones import directory_time

LOAD = "datagen"
"""The command whose leaves record how the collection was loaded and indexed."""

_LOAD_FACTS = (
    "declared", "declared_claims", "inserted", "inserted_claims", "load_partial", "load_dimension",
    "load_dimension_claims", "load_index", "load_metric", "load_collection", "build_claims", "load_image",
    "load_parameters", "load_configs", "load_overrides", "index_build", "compaction_wanted", "compacted",
    "lead_seconds",
)  # fmt: skip


def read_workload(
    root: Root, directory: WorkloadDirectory, described_api: Found[str]
) -> tuple[VectorDatabaseWorkload | None, list[str]]:
    """The workload with its runs; None where the directory holds neither runs nor loads."""
    runs = [leaf for leaf in directory.leaves if leaf.command == layout.RUN]
    loads = [LoadDocuments(root, leaf) for leaf in directory.leaves if leaf.command == LOAD]
    if not runs and not loads and layout.RUN not in directory.commands:
        return None, []
    reader = _WorkloadReader(root, directory, described_api, runs, loads)
    return reader.workload(), reader.remarks


def read_run(root: Root, leaf: Leaf, described_api: Found[str]) -> VectorDatabaseRun | None:
    """One leaf as a run by itself; None for a leaf of another command."""
    return read_run_leaf(root, leaf, described_api)[0] if leaf.command == layout.RUN else None


class _WorkloadReader:
    """States the facts of one index directory."""

    def __init__(
        self,
        root: Root,
        directory: WorkloadDirectory,
        described_api: Found[str],
        runs: list[Leaf],
        loads: list[LoadDocuments],
    ) -> None:
        self.directory = directory
        self.path = clean(directory.path)
        self.sheet = FactSheet()
        self.run_leaves = runs
        self.loads = loads
        first = min((leaf for leaf in runs if layout.leaf_time(leaf.name)), key=lambda leaf: leaf.name, default=None)
        self.first_run = layout.leaf_time(first.name) if first else None
        shown = first is not None and any(load.zone is not None for load in loads)
        self.run_zone = RunDocuments(root, first).zone if first and shown else None
        self.load = self._chosen_load()
        declared = _declared(self.load)[0] if self.load else None
        self.runs: list[VectorDatabaseRun] = []
        self.remarks: list[str] = []
        for leaf in runs:
            run, remarks = read_run_leaf(root, leaf, described_api, declared)
            self.runs.append(run)
            self.remarks += remarks

    def workload(self) -> VectorDatabaseWorkload:
        here = Source(self.path)
        divisions = [run.division for run in self.runs if not isinstance(run.division, Absence)]
        if divisions:
            self.sheet.put("division", divisions[0], here)
        else:
            division = self.path.split("/")[0]
            detail = "no run tells the division"
            absent = Absence(f"division:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            self.sheet.put("division", division if division in layout.DIVISIONS else absent, here)
        self._directories()
        self.sheet.put("loads", len(self.loads), here)
        if self.load is None:
            detail = "there is no datagen leaf"
            place = f"{self.path}/{LOAD}"
            absent = Absence(f"load:{self.path}", Reason.MISSING_FILE, place, detail=detail)
            for name in _LOAD_FACTS:
                self.sheet.put(name, absent)
            self.sheet.put("files", [], here)
        else:
            self._load(self.load)
        self._over_runs()
        return self.sheet.build(VectorDatabaseWorkload, self.path, self.runs)

    # The load

    def _chosen_load(self) -> LoadDocuments | None:
        if not self.loads:
            return None
        times = [
            derived.LoadTimes(
                _time(self._moved(load, load.invocation_start)) or _time(self._moved(load, directory_time(load.leaf))),
                _time(self._end(load)),
            )
            for load in self.loads
        ]
        return self.loads[derived.load_of_runs(times, self.first_run)]

    def _load(self, load: LoadDocuments) -> None:
        metadata, summary, log = load.metadata, load.summary, load.load_log

        def logged(value: Any, what: str) -> Found[Any]:
            if isinstance(load.log, Absence):
                return load.log
            if value in ("", 0, None):
                path = load.log.source.path
                return Absence(f"key:{path}#{what}", Reason.KEY_ABSENT, path, detail=f"it does not tell the {what}")
            return Reading(clean(value) if isinstance(value, str) else value, load.log.source)

        here = Source(load.path)
        declared, declared_claims = _declared(load)
        put(self.sheet, "declared", declared)
        self.sheet.put("declared_claims", declared_claims, here)
        sources = [
            ("inserted vectors", summary.int("/inserted_vectors")),
            ("inserted vectors", load.statistics.int("/inserted_vectors")),
            ("inserted vectors", logged(log.inserted, "vectors inserted")),
        ]
        inserted = best_of(*(found for _, found in sources), logged(log.indexed, "rows indexed"))
        put(self.sheet, "inserted", _recorded(load, "inserted", inserted))
        stated = [(str(found.source), str(found.value)) for _, found in sources if isinstance(found, Reading)]
        self.sheet.put("inserted_claims", claims(load.path, "inserted vectors", stated), here)
        self.sheet.put("load_partial", any(map(_is_partial, (load.statistics, summary))), here)
        dimension, dimension_claims = compared(
            load.path,
            "dimension",
            summary.int("/dimension"),
            best_of(metadata.int("/dimension"), metadata.int("/args/dimension")),
            *(logged(value, "dimension") for value in log.dimensions or (0,)),
        )
        put(self.sheet, "load_dimension", _recorded(load, "load_dimension", dimension))
        self.sheet.put("load_dimension_claims", dimension_claims, here)
        indexes = (
            logged(log.index, "index type"),
            best_of(metadata.text("/index_type"), metadata.text("/args/index_type")),
            summary.text("/index_type"),
            metadata.text("/vdb_index"),
        )
        index, index_claims = compared(load.path, "index", *(mapped(found, str.upper) for found in indexes))
        put(self.sheet, "load_index", _recorded(load, "load_index", index))
        metrics = (
            logged(log.metric, "metric"),
            best_of(metadata.text("/metric_type"), metadata.text("/args/metric_type")),
        )
        metric, metric_claims = compared(load.path, "metric", *(mapped(found, str.upper) for found in metrics))
        if not metric_claims:  # of the configuration, which the command line may have changed
            metric = best_of(metric, mapped(metadata.text("/parameters/index/metric_type"), str.upper))
        put(self.sheet, "load_metric", _recorded(load, "load_metric", metric))
        collection, collection_claims = compared(
            load.path,
            "collection",
            *with_requests(
                [logged(log.collection, "collection")], [metadata.text(pointer) for pointer in COLLECTION_REQUESTS]
            ),
        )
        put(self.sheet, "load_collection", _recorded(load, "load_collection", collection))
        self.sheet.put("build_claims", index_claims + metric_claims + collection_claims, here)
        put(self.sheet, "load_image", load.image)
        parameters = fixed_parameters([(metadata, ""), (metadata, "/args")])
        for name, value in (("load_parameters", parameters), ("load_configs", configs(metadata))):
            if metadata.ok:
                self.sheet.put(name, value, metadata.source())
            else:
                self.sheet.put(name, metadata.absence())
        put(self.sheet, "load_overrides", _recorded(load, "load_overrides", overrides(metadata)))
        self._build(load)
        self._lead(load)
        files = leaf_files(load.all(), load.path)
        self.sheet.put("files", files, here)

    def _build(self, load: LoadDocuments) -> None:
        """What is recorded of the index build: that it was requested, of which index, and that it ended.

        A build time in the summary shows all of that.

        Where the vectors inserted are not recorded for want of the logs either, that is the one cause.
        """
        log, text = load.load_log, load.log
        inserted = self.sheet.get("inserted")
        seconds = load.summary.float("/index_build_seconds")
        timed = isinstance(seconds, Reading) and seconds.value > 0
        silent = not log.started and not log.finished
        if isinstance(text, Absence) and text.reason is Reason.PLACEHOLDER and not timed:
            for name in ("index_build", "compacted"):
                self.sheet.put(name, text)
        elif isinstance(text, Absence) and not timed and isinstance(inserted, Absence):
            for name in ("index_build", "compacted"):
                self.sheet.put(name, inserted)
        elif silent or isinstance(text, Absence):
            state = "complete" if timed else "unrecorded"
            source = seconds.source if isinstance(seconds, Reading) and timed else Source(load.path)
            self.sheet.put("index_build", state, source)
            self.sheet.put("compacted", load.not_recorded("compacted", "no log line on the index build is there"))
        else:
            shown = "complete" if log.index or timed else "unrecorded"
            self.sheet.put("index_build", shown if log.finished else "incomplete", text.source)
            self.sheet.put("compacted", log.compacted, text.source)
        self.sheet.put("compaction_wanted", *_compaction(load.metadata))

    def _lead(self, load: LoadDocuments) -> None:
        end = self._end(load)
        if isinstance(end, Absence):
            put(self.sheet, "lead_seconds", _recorded(load, "lead_seconds", end))
        elif self.first_run is None:
            detail = "no run tells when it started"
            self.sheet.put(
                "lead_seconds", Absence(f"runs:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            )
        else:
            ended = end.at.replace(microsecond=0)  # the name of the run's leaf, its start, holds whole seconds
            self.sheet.put("lead_seconds", (self.first_run - ended).total_seconds(), end.source)

    def _moved(self, load: LoadDocuments, time: Moment) -> Moment:
        """A time of a load in the zone of the first run."""
        return moved(local(time, load.zone), shifts([self.run_zone, load.zone])[1])

    def _end(self, load: LoadDocuments) -> Moment:
        """The end of a load in the zone of the first run, before which it should lie."""
        end, own = local(load.invocation_end, load.zone), shifts([self.run_zone, load.zone])[1]
        if self.first_run is None:
            return moved(end, own)
        return moved(end, end_shift(end, own, Instant(self.first_run, Source(self.path)), timedelta()))

    # The runs

    def _directories(self) -> None:
        source = Source(clean(self.directory.place(layout.RUN)))
        names = [leaf.name for leaf in self.run_leaves if layout.TIMESTAMP.fullmatch(leaf.name)]
        self.sheet.put("run_directory", source.path, source)
        self.sheet.put("run_directories", names, source)

    def _over_runs(self) -> None:
        def known(name: str) -> list[Any]:
            values = [getattr(run, name) for run in self.runs]
            return [value for value in values if not isinstance(value, Absence)]

        detail = "there is no run"
        nothing = Absence(f"runs:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)

        def unknown(name: str) -> Absence:
            values = [getattr(run, name) for run in self.runs]
            return next((value for value in values if isinstance(value, Absence)), nothing)

        here = Source(self.path)
        for name, of, combine in (("rows", "rows", min), ("recall_low", "recall", min), ("recall_high", "recall", max)):
            values = known(of)
            self.sheet.put(name, combine(values) if values else unknown(of), here)
        collections = derived.distinct(known("collection"))
        self.sheet.put("collections", collections, here)
        loaded = self.sheet.get("load_collection")
        other = not isinstance(loaded, Absence) and any(name != loaded for name in collections)
        named = (loaded, *(run.collection for run in self.runs))
        disputed = (name for name in named if isinstance(name, Absence) and name.reason is Reason.UNREADABLE)
        self.sheet.put("other_collection", other or next(disputed, False), here)
        images = derived.distinct(known("image"))
        self.sheet.put("images", images if images else unknown("image"), here)
        self.sheet.put("runtimes", sorted(set(known("runtime_asked"))), here)


def _time(moment: Moment) -> datetime | None:
    return moment.at if isinstance(moment, Instant) else None


def _declared(load: LoadDocuments) -> tuple[Found[int], list[Claim]]:
    """How many vectors were to be loaded."""
    metadata = load.metadata
    return compared(
        load.path,
        "declared vectors",
        load.summary.int("/num_vectors"),
        best_of(metadata.int("/num_vectors"), metadata.int("/args/num_vectors")),
    )


def _recorded(load: LoadDocuments, name: str, found: Found[Any]) -> Found[Any]:
    if isinstance(found, Absence) and found.reason in (Reason.KEY_ABSENT, Reason.MISSING_FILE):
        return load.not_recorded(name, f"no file of the load states it ({found.place})")
    return found


def _is_partial(document: Document) -> bool:
    failed = document.bool("/mpi/partial_failure")
    ranks = [document.list(f"/mpi/{name}") for name in ("missing_ranks", "failed_ranks")]
    return (isinstance(failed, Reading) and failed.value) or any(isinstance(r, Reading) and r.value for r in ranks)


def _compaction(metadata: Document) -> tuple[Any, Source | None]:
    """Whether the collection was to be compacted: as the command says, else the shipped configurations' default."""
    if not metadata.ok:
        return metadata.absence("/executed_command"), None
    command = metadata.text("/executed_command")
    if isinstance(command, Reading) and "--no-compact" in command.value.split():
        return False, command.source
    argument = metadata.bool("/args/compact")
    if isinstance(argument, Reading):
        return argument.value, argument.source
    return True, metadata.source("/args")
