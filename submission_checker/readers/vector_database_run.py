"""One measured run of a vector database as facts: the benchmark's numbers from summary.json or from its own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from mlpstorage.results import dlio, layout
from mlpstorage.results.document import Document, Found, InvalidValueError, Reading, as_float, as_int, first_of
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived import vector_database as derived
from rules.derived.checkpointing import canonical, flatten
from rules.derived.locations import normal_path
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.vector_database import Metric, Override, Recomputed, RunParameter, Stated, VectorDatabaseRun

from ..leaf import Leaf
from .checkpointing import division_of, recorded_division
from .code_pointer import hash_of
from .common import as_api, leaf_file, mapped, put, put_location, recorded_verdict, stated_path
from .separation import sidecar_problem
from .vector_database_files import COLLECTION_REQUESTS, RunDocuments, best_of, claims, compared, with_requests

METRICS = ("throughput_qps", "mean_latency_ms", "p95_latency_ms", "p99_latency_ms", "p999_latency_ms")
"""Numbers that a run reports (5.3.4), by their key in summary.json and in the benchmark's statistics."""
MAX_OVERRIDES = 2000
NOT_RECOMPUTED = "the latencies were not recomputed from the logged batches (X5.2): the tables are too large"
_ROOTS = ("/args/storage_root", "/args/data_dir", "/args/vdb_data_path", "/override_parameters/storage.storage_root")
_CONFIGS = ("/args/config", "/vectordb_config", "/args/config_file", "/vectordb_config_file")
_OPTIONS = ("storage_root", "storage_type")
"""Arguments that came with the option to name the storage path."""


def read_run(
    root: Root, leaf: Leaf, described_api: Found[str], declared: Found[int] | None = None
) -> tuple[VectorDatabaseRun, list[str]]:
    """The facts of a run leaf, and remarks on what was left out.

    ``declared`` is the size that the load recorded, the last source for the rows.
    """
    files = RunDocuments(root, leaf)
    run = _RunReader(files, described_api, declared).run()
    return run, [f"{files.path}: {NOT_RECOMPUTED}"] if files.skipped_tables else []


def engine_directory(path: str) -> str:
    """The engine level of a path below ``vector_database/``; empty where it has none."""
    parts = path.split("/")
    below = parts[parts.index(layout.VECTOR_DATABASE) + 1 :] if layout.VECTOR_DATABASE in parts else []
    return below[0] if len(below) == len(layout.FAMILY_LEVELS[layout.VECTOR_DATABASE]) + 1 else ""


def fixed_parameters(documents: Sequence[tuple[Document, str]]) -> list[RunParameter]:
    """The recorded parameters that CLOSED keeps: of each the first place that differs, else the first one."""
    found = []
    for name in derived.fixed_parameters():
        recorded = [
            derived.parameter(name, _written(value.value), clean(str(value.source)))
            for document, prefix in documents
            if isinstance(value := document.raw(f"{prefix}/{name}"), Reading)
        ]
        if recorded:
            found.append(next((item for item in recorded if item.value != item.reference), recorded[0]))
    return found


def _written(value: Any) -> str:
    """A recorded value as one text that may be shown; what stands for no value stays nothing."""
    return "" if value in ("", [], {}) else clean(canonical(value))


def configs(metadata: Document) -> list[str]:
    """The configuration files that a leaf names, by their names without directory and suffix, in lower case."""
    stated = [metadata.text(pointer) for pointer in _CONFIGS]
    names = [found.value.lower().rpartition("/")[2] for found in stated if isinstance(found, Reading) and found.value]
    return derived.distinct(name.removesuffix(".yaml") for name in names)


def overrides(metadata: Document) -> Found[list[Override]]:
    """The recorded overrides, as dotted keys."""
    found = metadata.mapping("/override_parameters")
    if isinstance(found, Absence):
        return found
    flat = flatten(found.value)
    if len(flat) > MAX_OVERRIDES:
        return metadata.invalid("/override_parameters", f"it has {len(flat)} keys")
    return found.map(lambda _: [Override(name=clean(k), value=clean(canonical(v))) for k, v in flat.items()])


class _RunReader:
    """States each fact of one run leaf, first present source first."""

    def __init__(self, files: RunDocuments, described_api: Found[str], declared: Found[int] | None) -> None:
        self.files = files
        self.leaf = files.leaf
        self.path = files.path
        self.metadata = files.metadata
        self.summary = files.summary
        self.results = [files.summary, *files.native]
        self.described_api = described_api
        self.declared = declared
        self.sheet = FactSheet()

    def run(self) -> VectorDatabaseRun:
        self._identity()
        self._collection()
        self._results()
        self._recall()
        self._ranks()
        self._recomputed()
        self._command()
        self._storage()
        self._ground_truth()
        put(self.sheet, "image", self.files.image)
        validated = self.metadata.text("/args/_validated_pool_hash")
        put(self.sheet, "validated_image", self._recorded("validated_image", mapped(validated, hash_of)))
        files = [leaf_file(document, role, self.path) for document, role in self.files.all()]
        self.sheet.put("files", files, Source(self.path))
        return self.sheet.build(VectorDatabaseRun, self.path)

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _recorded(self, name: str, found: Found[Any]) -> Found[Any]:
        """A fact that not every tool records: a key or a file that is not there means that it was not recorded."""
        if isinstance(found, Absence) and found.reason in (Reason.KEY_ABSENT, Reason.MISSING_FILE):
            if not self.metadata.ok and found.cause == self.metadata.cause:
                return found  # supplying the metadata would cure it
            return self.files.not_recorded(name, f"no file of the leaf states it ({found.place})")
        return found

    def _of_log(self, value: Any, found_in: str) -> Found[Any]:
        """A value that the log may state; empty texts and zeros mean that it does not."""
        log = self.files.log
        if isinstance(log, Absence):
            return log
        if value:
            return Reading(clean(value) if isinstance(value, str) else value, log.source)
        return Absence(f"key:{log.source.path}#{found_in}", Reason.KEY_ABSENT, log.source.path, "", f"no {found_in}")

    # Who and what

    def _identity(self) -> None:
        self._put("division", division_of(self.leaf, self.metadata))
        for name, stated in (
            ("recorded_division", recorded_division(self.metadata)),
            ("recorded_verdict", recorded_verdict(self.metadata)),
        ):
            self._put(name, self._recorded(name, stated))
        directory = engine_directory(self.path)
        engines = self._stated(
            self.summary.text("/database/database"),
            self.metadata.text("/vdb_engine"),
            self.metadata.text("/args/vdb_engine"),
        )
        found = [(place, value.lower(), source) for place, value, source in engines]
        if directory:
            found.append((f"{self.path} (directory)", directory.lower(), Source(self.path)))
        self._claimed("engine", found, self.metadata.key_absent("/vdb_engine"))
        log = self.files.run_log
        indexes = self._stated(
            self.summary.text("/index_type"),
            self.files.config.text("/index_type"),
            self._of_log(log.index, "COLLECTION INFORMATION"),
            self.metadata.text("/vdb_index"),
            self.metadata.text("/args/vdb_index"),
            self.metadata.text("/args/index_type"),
        )
        self._claimed(
            "index",
            [(place, value.upper(), source) for place, value, source in indexes],
            self.metadata.key_absent("/vdb_index"),
        )
        if self.leaf.workload:
            self.sheet.put("directory_index", clean(self.leaf.workload), Source(self.path))
        else:
            detail = "the leaf lies in no index directory"
            alone = Absence(f"alone:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            self.sheet.put("directory_index", alone)

    @staticmethod
    def _stated(*found: Found[str]) -> list[tuple[str, str, Source]]:
        return [(str(item.source), item.value, item.source) for item in found if isinstance(item, Reading)]

    def _claimed(self, name: str, stated: Sequence[tuple[str, str, Source]], absent: Absence) -> None:
        """A fact with the list of all places that state it."""
        if not stated:
            self.sheet.put(name, absent)
            self.sheet.put(f"{name}_claims", absent)
            return
        self.sheet.put(name, stated[0][1], stated[0][2])
        items = claims(self.path, name, [(place, value) for place, value, _ in stated])
        self.sheet.put(f"{name}_claims", items, stated[0][2])

    def _collection(self) -> None:
        log, config, metadata = self.files.run_log, self.files.config, self.metadata
        collection, collection_claims = compared(
            self.path,
            "collection",
            *with_requests(
                [self._of_log(log.collection, "COLLECTION INFORMATION"), config.text("/collection_name")],
                [metadata.text(pointer) for pointer in COLLECTION_REQUESTS],
            ),
        )
        self._put("collection", self._recorded("collection", collection))
        metrics = (
            config.text("/metric_type"),
            config.text("/search_params/metric_type"),
            self._of_log(log.metric, "COLLECTION INFORMATION"),
            metadata.text("/metric_type"),
        )
        metric, metric_claims = compared(self.path, "metric", *(mapped(found, str.upper) for found in metrics))
        if not metric_claims:  # of the configuration, which the command line may have changed
            metric = best_of(metric, mapped(metadata.text("/parameters/index/metric_type"), str.upper))
        self._put("metric", self._recorded("metric", metric))
        self.sheet.put("search_claims", collection_claims + metric_claims, Source(self.path))
        logged = [self._of_log(value, "row_count") for value in log.rows or (0,)]
        vectors = self.summary.int("/num_vectors")
        fallbacks = [self.files.verdict.int("/flat_setup/total_vectors"), *([self.declared] if self.declared else [])]
        rows = self._recorded("rows", best_of(*logged, vectors, *fallbacks))
        logged_dimensions = [self._of_log(value, "dimension") for value in log.dimensions or (0,)]
        stated = self.summary.int("/dimension")
        query, query_claims = compared(
            self.path,
            "dimension of the queries",
            self._of_log(log.query_dimension, "line 'Generating ... query vectors'"),
            config.int("/vector_dim"),
            best_of(metadata.int("/vector_dim"), metadata.int("/args/vector_dim")),
        )
        dimension, dimension_claims = compared(self.path, "dimension", stated, *logged_dimensions)
        if not dimension_claims:
            dimension = best_of(dimension, query)
        dimension = self._recorded("dimension", dimension)
        self._put("rows", rows)
        self._put("dimension", dimension)
        self._put("query_dimension", self._recorded("query_dimension", query))
        self.sheet.put("query_dimension_claims", query_claims, Source(self.path))
        if isinstance(rows, Absence) or isinstance(dimension, Absence):
            self.sheet.put("scale", rows if isinstance(rows, Absence) else dimension)
        else:
            self.sheet.put("scale", derived.scale(rows.value, dimension.value), rows.source)
        _, vectors_claims = compared(self.path, "vectors", *logged, vectors)
        self.sheet.put("scale_claims", vectors_claims + dimension_claims, Source(self.path))

    # Numbers

    def _number(self, key: str) -> Found[float]:
        return best_of(*(self._float_in(document, key) for document in self.results))

    @staticmethod
    def _float_in(document: Document, key: str) -> Found[float]:
        raw = document.raw(f"/{key}")
        if isinstance(raw, Reading) and isinstance(raw.value, str):
            return document.invalid(f"/{key}", "it is a text, not a number")
        return document.float(f"/{key}")

    def _results(self) -> None:
        self._results_from()
        for name, key in (("throughput_qps", "throughput_qps"), ("total_seconds", "total_time_seconds")):
            self._put(name, self._number(key))
        for name in ("mean", "p95", "p99", "p999"):
            self._put(f"{name}_ms", self._number(f"{name}_latency_ms"))
        self._put("max_ms", self._recorded("max_ms", self._number("max_latency_ms")))
        failed = best_of(*(document.int("/failed_batches") for document in self.results))
        self._put("failed_batches", self._recorded("failed_batches", failed))
        self._metrics()
        self._query_count()

    def _results_from(self) -> None:
        native = self.files.native
        readable = [document for document in native if document.ok]
        if self.summary.ok:
            self.sheet.put("results_from", "summary", self.summary.source())
        elif self.summary.state != "missing":
            self.sheet.put("results_from", self.summary.absence())
        elif readable:
            self.sheet.put("results_from", "native", readable[0].source())
        elif native:
            self.sheet.put("results_from", native[0].absence())
        else:
            self.sheet.put("results_from", "none", Source(self.path))

    def _metrics(self) -> None:
        readable = [document for document in self.results if document.ok]
        if not readable:
            self.sheet.put("metrics", best_of(*(document.absence() for document in self.results)))
            return
        items = []
        for name in METRICS:
            found = self._number(name)
            if isinstance(found, Absence) and found.reason in (Reason.PLACEHOLDER, Reason.UNREADABLE):
                self.sheet.put("metrics", found)
                return
            cause = found.cause if isinstance(found, Absence) else ""
            items.append(Metric(name=name, state=_state(found), in_summary=self._in_summary(name), cause=cause))
        self.sheet.put("metrics", items, readable[0].source())

    def _in_summary(self, name: str) -> Stated:
        if not self.summary.ok:
            return "no_file"
        if name in self.summary.data and self.summary.data[name] is None:
            return "unusable"
        return _state(self._float_in(self.summary, name))

    def _query_count(self) -> None:
        qps, seconds = self.sheet.get("throughput_qps"), self.sheet.get("total_seconds")
        known = not isinstance(qps, Absence) and not isinstance(seconds, Absence)
        stated = [document.int(f"/{key}") for document in self.results for key in ("query_count", "total_queries")]
        count = best_of(*stated)
        if isinstance(count, Reading):
            self._put("query_count", count)
            if known:
                deviation = derived.throughput_deviation(qps, seconds, count.value)
                self.sheet.put("throughput_deviation", deviation, count.source)
            else:
                self.sheet.put("throughput_deviation", qps if isinstance(qps, Absence) else seconds)
            return
        detail = "no number of queries is recorded to compare with"
        alone = Absence(f"count:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        if known and count.reason is Reason.KEY_ABSENT and abs(qps * seconds) < 2**53:
            self.sheet.put("query_count", round(qps * seconds), self.sheet.sources["throughput_qps"])
            self.sheet.put("throughput_deviation", alone)
        else:
            self.sheet.put("query_count", count)
            self.sheet.put("throughput_deviation", count)

    def _recall(self) -> None:
        """5.3.2: a number, or a map whose mean it is; from the summary or any file of the benchmark."""
        maps = [*((document, "/recall") for document in self.results), *self._recall_files]
        found = best_of(*(_recall_in(document, at) for document, at in maps), strict=True)
        self._put("recall", found)
        largest = best_of(*(document.float(f"{at}/max_recall") for document, at in maps))
        self._put("recall_max", largest if isinstance(largest, Reading) else found)
        queries = best_of(*(document.int(f"{at}/num_queries_evaluated") for document, at in maps))
        evaluated = best_of(queries, self.files.verdict.int("/num_queries_evaluated"))
        self._put("recall_queries", self._recorded("recall_queries", evaluated))

    @property
    def _recall_files(self) -> list[tuple[Document, str]]:
        """The files that are about the recall alone, and where they state it."""
        return [(self.files.recall, ""), (self.files.verdict, "/recall_summary")]

    def _recomputed(self) -> None:
        """X5.2: each reported number beside the reading that differs most from it."""
        claimed: dict[str, tuple[float, Source]] = {
            key: (found.value, found.source)
            for key in (*METRICS, "total_time_seconds")
            if isinstance(found := self._number(key), Reading)
        }
        for key, name in (("total_queries", "query_count"), ("recall", "recall")):
            value = self.sheet.get(name)
            if not isinstance(value, Absence):
                claimed[key] = (float(value), self.sheet.sources[name])
        worst: dict[tuple[str, str], Recomputed] = {}

        def compare(kind: Literal["results", "batches"], found: Mapping[str, float], origin: str) -> None:
            for key, value in found.items():
                if key not in claimed:
                    continue
                number, source = claimed[key]
                deviation = derived.deviation(number, value)
                if (key, kind) not in worst or deviation > worst[key, kind].deviation:
                    worst[key, kind] = Recomputed(
                        name=key,
                        claimed=number,
                        claimed_at=str(source),
                        found=value,
                        kind=kind,
                        origin=origin,
                        deviation=deviation,
                    )

        others = [document for document in self.files.native if document.ok]
        if self.summary.ok and others:
            compare("results", dict(self._numbers_of(others[0], claimed)), others[0].path)
        if self.sheet.get("mpi") is False:  # else they are one rank's, and what is reported is that of all
            for document, at in self._recall_files:
                found = _recall_in(document, at)
                if isinstance(found, Reading):
                    compare("results", {"recall": found.value}, document.path)
        parts = self._rank_parts()
        compare("results", derived.rank_totals(parts), f"the sum over {len(parts)} ranks")
        batches, tables = self.files.batches()
        compare("batches", derived.batch_totals(batches), f"the {len(batches)} batches of {tables} processes")
        self.sheet.put("recomputed", list(worst.values()), Source(self.path))

    @staticmethod
    def _numbers_of(document: Document, keys: Iterable[str]) -> Iterator[tuple[str, float]]:
        for key in keys:
            found = _recall_in(document, "/recall") if key == "recall" else document.float(f"/{key}")
            if isinstance(found, Reading):
                yield key, found.value

    def _rank_parts(self) -> list[derived.RankPart]:
        """The parts of all ranks; none where one of them is incomplete."""
        for document in self.files.native:
            parts = document.list("/rank_summaries")
            if isinstance(parts, Reading):
                try:
                    return [_part(item) for item in parts.value]
                except (InvalidValueError, KeyError, TypeError):
                    return []
        return []

    # What was asked for

    def _command(self) -> None:
        metadata, config = self.metadata, self.files.config
        runtime = best_of(metadata.float("/args/runtime"), config.float("/runtime_seconds"))
        queries = best_of(metadata.int("/args/queries"), metadata.int("/queries"), config.int("/total_queries"))
        self._put("runtime_asked", self._recorded("runtime_asked", runtime))
        self._put("queries_asked", self._recorded("queries_asked", queries))
        both = isinstance(runtime, Reading) and isinstance(queries, Reading) and queries.value > 0
        self._of_metadata("both_bounds", both)
        mode = best_of(metadata.text("/args/benchmark_mode"), metadata.text("/benchmark_mode"))
        if isinstance(mode, Reading):
            self._put("mode", mode.map(str.lower))
        else:
            counted = isinstance(queries, Reading) and not isinstance(runtime, Reading)
            self._of_metadata("mode", "query_count" if counted else "timed")
        self._of_metadata("configs", configs(metadata))
        places = [(config, ""), (metadata, ""), (metadata, "/args")]
        if metadata.ok or config.ok:
            self.sheet.put("parameters", fixed_parameters(places), Source(self.path))
        else:
            self.sheet.put("parameters", metadata.absence())
        self._put("overrides", self._recorded("overrides", overrides(metadata)))

    def _of_metadata(self, name: str, value: Any) -> None:
        """A fact that the metadata would state otherwise; unknown without them."""
        if self.metadata.ok:
            self.sheet.put(name, value, self.metadata.source("/args"))
        else:
            self.sheet.put(name, self.metadata.absence("/args"))

    # Storage

    def _storage(self) -> None:
        metadata = self.metadata
        argument = metadata.read("/args/data_access_protocol", as_api)
        api = first_of(argument, self.described_api)
        if isinstance(api, Absence) and api.reason is not Reason.INVALID and metadata.ok:
            api = Reading("file", metadata.source("/args"))  # the tool's default
        self._put("api", api)
        kind = mapped(metadata.text("/args/storage_type"), str.lower)
        backend = mapped(self.summary.text("/database/storage_backend"), str.lower)
        self._put("storage_type", self._recorded("storage_type", kind))
        self._put("backend", self._recorded("backend", best_of(backend, kind)))
        arguments = metadata.mapping("/args")
        if isinstance(arguments, Absence):
            self.sheet.put("storage_option", arguments)
        else:
            option = any(name in arguments.value for name in _OPTIONS) or metadata.has("/rules_edition")
            self.sheet.put("storage_option", option, arguments.source)
        put_location(self.sheet, "storage_root", "root_problem", self._storage_root())
        self._put("results_dir", mapped(stated_path(self.metadata, "/args/results_dir"), normal_path))
        self._of_metadata("gate_skipped", self._skipped())
        self._filesystems()

    def _storage_root(self) -> Found[str]:
        """Not recorded where the tool had no option for it, or where the object API needs none."""
        root = stated_path(self.metadata, *_ROOTS)
        if self._value("storage_option") is True and self._value("api") != "object":
            return root
        return self._recorded("storage_root", root)

    def _skipped(self) -> bool:
        found = self.metadata.bool("/args/skip_fs_separation_gate")
        return isinstance(found, Reading) and found.value

    def _value(self, name: str) -> Any:
        return self.sheet.get(name)

    def _filesystems(self) -> None:
        """5.4.2: recorded evidence that storage and results lie on different filesystems."""
        root, results = self._value("storage_root"), self._value("results_dir")
        sidecar = self.files.fs_separation
        evidence: Found[str]
        same: Found[bool]
        if self._value("api") == "object":
            detail = "object API: there is no filesystem to compare"
            same = evidence = Absence(f"api:object:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        elif isinstance(root, Absence):
            same = evidence = root
        elif sidecar.state != "missing":
            same = sidecar.bool("/same_filesystem")
            evidence = Reading("sidecar", sidecar.source()) if sidecar.ok else sidecar.absence()
        else:
            same, evidence = self._by_df(root, results)
        self._put("same_filesystem", same)
        self._put("filesystem_evidence", evidence)
        paths = {"data_or_chkpt_path": ("storage_root", root), "results_path": ("results_dir", results)}
        self._put("sidecar_problem", sidecar_problem(sidecar, self.leaf.name, self._value("api"), paths, whole=False))

    def _by_df(self, root: Any, results: Any) -> tuple[Found[bool], Found[str]]:
        log = self.files.log
        if isinstance(log, Absence) and log.reason is not Reason.MISSING_FILE:
            return log, log
        mounts = dlio.df_table(log.value) if isinstance(log, Reading) else []
        if isinstance(log, Reading) and mounts and not isinstance(results, Absence):
            found = [dlio.mount_of(path, mounts) for path in (root, results)]
            if found[0] is not None and found[1] is not None:
                return Reading(dlio.same_mount(found[0], found[1]), log.source), Reading("df", log.source)
        absent = self.files.not_recorded("same_filesystem", "neither fs_separation.json nor a df table tells")
        return absent, Reading("none", Source(self.path))

    # Ground truth and ranks

    def _ground_truth(self) -> None:
        verdict, log = self.files.verdict, self.files.run_log
        flat = verdict.mapping("/flat_setup")
        if verdict.state == "placeholder":
            self.sheet.put("truth_evidence", verdict.absence())
        else:
            evidence = "none" if not verdict.ok else "verdict" if isinstance(flat, Reading) else "null"
            self.sheet.put("truth_evidence", evidence, verdict.source("/flat_setup"))
        self.sheet.put("truth_detail", verdict.detail, verdict.source())
        at = "/flat_setup"
        self._put("flat_ok", verdict.bool(f"{at}/ok"))
        self._put("flat_coverage", verdict.float(f"{at}/coverage"))
        self._put("flat_total", verdict.int(f"{at}/total_vectors"))
        self._put("flat_copied", verdict.int(f"{at}/copied_vectors"))
        reused = verdict.bool(f"{at}/reused")
        if isinstance(flat, Reading) and isinstance(reused, Absence) and reused.reason is Reason.KEY_ABSENT:
            reused = Reading(False, flat.source)
        self._put("flat_reused", reused)
        known_log = isinstance(self.files.log, Reading)
        source = self.files.log.source if isinstance(self.files.log, Reading) else Source(self.path)
        self.sheet.put("content_checked", known_log and log.content_checked, source)
        self.sheet.put("flat_log_rows", list(log.flat_rows), source)

    def _ranks(self) -> None:
        documents = [document for document in self.files.native if document.has("/mpi")]
        world = self.metadata.int("/mpi_world_size")
        several = isinstance(world, Reading) and world.value > 1
        logged = any("_mpi." in name for name in self.leaf.files)
        if not documents and not several and not logged:
            self.sheet.put("mpi", False, Source(self.path))
            detail = "the run was not started on several ranks"
            alone = Absence(f"mpi:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            for name in ("expected_ranks", "rank_count", "missing_ranks", "failed_ranks", "partial_failure"):
                self.sheet.put(name, alone)
            return
        document = documents[0] if documents else self.results[-1]
        self.sheet.put("mpi", True, document.source("/mpi"))
        expected = best_of(document.int("/mpi/expected_ranks"), world)
        self._put("expected_ranks", self._recorded("expected_ranks", expected))
        seen = document.list("/mpi/ranks_seen")
        count = best_of(document.int("/mpi/rank_count"), mapped(seen, len))
        self._put("rank_count", self._recorded("rank_count", count))
        for name in ("missing_ranks", "failed_ranks"):
            self._put(name, self._recorded(name, document.read(f"/mpi/{name}", _ranks)))
        self._put("partial_failure", self._recorded("partial_failure", document.bool("/mpi/partial_failure")))


def _state(found: Found[Any]) -> Stated:
    if isinstance(found, Reading):
        return "stated"
    return "unusable" if found.reason is Reason.INVALID else "missing"


def _recall_in(document: Document, at: str) -> Found[float]:
    """The recall that a document states at this place: a number, or the mean of a map."""
    raw = document.raw(at) if at else None
    if raw is None or (isinstance(raw, Reading) and isinstance(raw.value, dict)):
        return document.float(f"{at}/mean_recall", f"{at}/recall_at_k")
    return document.float(at)


def _ranks(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise InvalidValueError("a list of ranks")
    return [as_int(item) for item in value]


def _part(item: Any) -> derived.RankPart:
    return derived.RankPart(as_int(item["total_queries"]), as_float(item["start_time"]), as_float(item["end_time"]))
