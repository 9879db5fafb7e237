"""One measured run of a vector database as facts: what it was, what it was asked for, and its ground truth."""

from __future__ import annotations

from collections.abc import Sequence

from mlpstorage.results import layout
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived import vector_database as derived
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.vector_database import VectorDatabaseRun

from ..leaf import Leaf
from .code_pointer import hash_of
from .common import leaf_files, mapped, put, recorded_verdict
from .division import division_of, recorded_division
from .vector_database_files import COLLECTION_REQUESTS, RunDocuments, best_of, claims, compared, with_requests
from .vector_database_parameters import configs, fixed_parameters, overrides
from .vector_database_results import ResultsReader
from .vector_database_sheet import RunSheet
from .vector_database_storage import StorageReader

NOT_RECOMPUTED = "the latencies were not recomputed from the logged batches (X5.2): the tables are too large"


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


class _RunReader(RunSheet):
    """States each fact of one run leaf, first present source first."""

    def __init__(self, files: RunDocuments, described_api: Found[str], declared: Found[int] | None) -> None:
        super().__init__(files, FactSheet())
        self.described_api = described_api
        self.declared = declared

    def run(self) -> VectorDatabaseRun:
        self._identity()
        self._collection()
        ResultsReader(self.files, self.sheet).read()
        self._command()
        StorageReader(self.files, self.sheet, self.described_api).read()
        self._ground_truth()
        put(self.sheet, "image", self.files.image)
        validated = self.metadata.text("/args/_validated_pool_hash")
        put(self.sheet, "validated_image", self._recorded("validated_image", mapped(validated, hash_of)))
        files = leaf_files(self.files.all(), self.path)
        self.sheet.put("files", files, Source(self.path))
        return self.sheet.build(VectorDatabaseRun, self.path)

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
