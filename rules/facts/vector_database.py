"""Facts of vector-database results: the run leaf and the index directory that holds it (section 5 of the rule book)."""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact
from .files import LeafFile

Division = Literal["closed", "open", "whatif"]
Api = Literal["file", "object"]
Stated = Literal["stated", "missing", "unusable", "no_file"]


class Claim(Record):
    """A value of a fact that several files state, beside that of the first source."""

    place: str = fact("Where it stands; several places are separated by commas.", known=Known.RUN)
    name: str = fact("What is stated.", known=Known.RUN)
    value: str = fact("Value there.", known=Known.RUN)
    chosen: str = fact("Value of the first source that states it.", known=Known.RUN)
    chosen_at: str = fact("Where that stands; several places are separated by commas.", known=Known.RUN)
    cause: str = fact("Cause id of the absence of a fact whose sources differ.", known=Known.RUN)


class Metric(Record):
    """One of the reported numbers, and how it is stated."""

    name: str = fact("Key of the number, e.g. p99_latency_ms.", known=Known.RUN)
    state: Stated = fact("How the files of the leaf together state it.", known=Known.RUN)
    in_summary: Stated = fact("How summary.json states it; 'no_file' where there is no readable one.", known=Known.RUN)
    cause: str = fact("Cause id of its absence; empty where it is stated.", known=Known.RUN)


class Recomputed(Record):
    """One reported number beside what other files of the leaf give for it: the one that differs most."""

    name: str = fact("Key of the number.", known=Known.RUN)
    claimed: float = fact("Value that is reported.", known=Known.RUN)
    claimed_at: str = fact("Where it is reported.", known=Known.RUN)
    found: float = fact("Value that the other files give.", known=Known.RUN)
    kind: Literal["results", "batches"] = fact(
        "Read from results (of the benchmark, of ranks), or computed from the logged batches.", known=Known.RUN
    )
    origin: str = fact("What it was computed from.", known=Known.RUN)
    deviation: float = fact("Difference of the two over the larger one.", known=Known.RUN)


class RunParameter(Record):
    """A recorded parameter of the benchmark beside its default. Values are text in one canonical spelling."""

    name: str = fact("Name of the parameter, e.g. search_limit.", known=Known.PLAN)
    value: str = fact("Value that was recorded.", known=Known.PLAN)
    reference: str = fact("Default of the benchmark.", known=Known.PLAN)
    place: str = fact("Where the value was recorded.", known=Known.PLAN)


class Override(Record):
    """One key of the recorded overrides."""

    name: str = fact("Dotted key, e.g. database.host.", known=Known.PLAN)
    value: str = fact("Its value.", known=Known.PLAN)


class VectorDatabaseRun(FactModel):
    """One measured run: a leaf below ``run/`` of an index directory."""

    subject: ClassVar[str] = "vector_database_run"
    namespace: ClassVar[str] = "vdb_run"
    parent: ClassVar[str] = "vector_database_workload"
    plural: ClassVar[str] = "vdb_runs"

    division: Fact[Division] = fact("Division claimed: path segment, or the metadata's.", known=Known.PLAN)
    recorded_division: Fact[str] = fact("Division that the metadata names (args.mode), lower case.", known=Known.RUN)
    recorded_verdict: Fact[str] = fact(
        "The gate's verdict as recorded, lower case; 'none' where it gave none.", known=Known.RUN
    )
    engine: Fact[str] = fact("Database engine, lower case.", known=Known.PLAN)
    engine_claims: Fact[list[Claim]] = fact("What each file says of the engine.", known=Known.RUN)
    index: Fact[str] = fact("Index type of the run, upper case.", known=Known.PLAN)
    index_claims: Fact[list[Claim]] = fact("What each file says of the index type.", known=Known.RUN)
    directory_index: Fact[str] = fact("Name of the index directory that holds the leaf.", known=Known.RUN)
    collection: Fact[str] = fact("Collection that was queried.", known=Known.PLAN)
    metric: Fact[str] = fact("Distance metric of the search, upper case.", known=Known.PLAN)
    search_claims: Fact[list[Claim]] = fact(
        "What each file says of the collection that was queried, and of the metric.", known=Known.RUN
    )
    rows: Fact[Int] = fact("Vectors in the collection.", known=Known.PLAN, unit="vectors")
    dimension: Fact[Int] = fact("Dimension of the collection's vectors.", known=Known.PLAN)
    scale: Fact[str] = fact("Vectors x dimension as one text, e.g. '1000000 x 1536'.", known=Known.PLAN)
    scale_claims: Fact[list[Claim]] = fact("What each file says of the vectors and their dimension.", known=Known.RUN)
    query_dimension: Fact[Int] = fact("Dimension of the generated query vectors.", known=Known.PLAN)
    query_dimension_claims: Fact[list[Claim]] = fact("What each file says of that dimension.", known=Known.RUN)
    results_from: Fact[Literal["summary", "native", "none"]] = fact(
        "Where the results stand: summary.json, only the benchmark's own statistics, or nowhere.", known=Known.RUN
    )
    metrics: Fact[list[Metric]] = fact("The numbers that a run reports.", known=Known.RUN)
    throughput_qps: Fact[Float] = fact("Queries per second.", known=Known.RUN, unit="queries/s")
    total_seconds: Fact[Float] = fact("Start of the first batch to end of the last.", known=Known.RUN, unit="s")
    query_count: Fact[Int] = fact("Queries that were issued.", known=Known.RUN, unit="queries")
    throughput_deviation: Fact[Float] = fact(
        "Difference of throughput x time and the queries issued.", known=Known.RUN, unit="queries"
    )
    mean_ms: Fact[Float] = fact("Mean latency of a query.", known=Known.RUN, unit="ms")
    p95_ms: Fact[Float] = fact("95th percentile of the latency.", known=Known.RUN, unit="ms")
    p99_ms: Fact[Float] = fact("99th percentile of the latency.", known=Known.RUN, unit="ms")
    p999_ms: Fact[Float] = fact("99.9th percentile of the latency.", known=Known.RUN, unit="ms")
    max_ms: Fact[Float] = fact("Largest latency.", known=Known.RUN, unit="ms")
    failed_batches: Fact[Int] = fact("Batches that failed, counted all the same.", known=Known.RUN, unit="batches")
    recall: Fact[Float] = fact("Mean recall over the queries evaluated.", known=Known.RUN)
    recall_max: Fact[Float] = fact("Largest recall of a query; the recall itself where only that is.", known=Known.RUN)
    recall_queries: Fact[Int] = fact("Queries that the recall was evaluated on.", known=Known.RUN, unit="queries")
    recomputed: Fact[list[Recomputed]] = fact("Reported numbers beside what other files give.", known=Known.RUN)
    mode: Fact[str] = fact("Benchmark mode, lower case: timed, query_count or sweep.", known=Known.PLAN)
    runtime_asked: Fact[Float] = fact("Duration asked for (--runtime).", known=Known.PLAN, unit="s")
    queries_asked: Fact[Int] = fact("Queries asked for (--queries).", known=Known.PLAN, unit="queries")
    both_bounds: Fact[bool] = fact("Both a duration and a number of queries were asked for.", known=Known.PLAN)
    configs: Fact[list[str]] = fact("Names of the configuration files that were chosen.", known=Known.PLAN)
    parameters: Fact[list[RunParameter]] = fact(
        "Recorded parameters that have a default which CLOSED keeps.", known=Known.PLAN
    )
    overrides: Fact[list[Override]] = fact("Keys of the recorded overrides.", known=Known.PLAN)
    api: Fact[Api] = fact("Access protocol of the database's storage.", known=Known.PLAN)
    storage_root: Fact[str] = fact(
        "Path of the database's storage as declared, normalised. Not recorded by tools that had no option for it.",
        known=Known.PLAN,
    )
    root_problem: Fact[str] = fact(
        "What is wrong with the object URI of the storage path, as the end of a sentence; empty: nothing.",
        known=Known.PLAN,
    )
    storage_option: Fact[bool] = fact("The tool that wrote the leaf had --storage-root.", known=Known.PLAN)
    results_dir: Fact[str] = fact("Results directory, normalised.", known=Known.PLAN)
    same_filesystem: Fact[bool] = fact(
        "Storage path and results directory lie on one filesystem, as recorded evidence says.", known=Known.PROBE
    )
    filesystem_evidence: Fact[Literal["sidecar", "df", "none"]] = fact(
        "What the evidence is: fs_separation.json, a df table in the log, or nothing.", known=Known.PROBE
    )
    sidecar_problem: Fact[str] = fact(
        "Why fs_separation.json was not written for this run; empty where nothing in it says so.", known=Known.RUN
    )
    gate_skipped: Fact[bool] = fact("The check of the filesystems was skipped by option.", known=Known.PLAN)
    storage_type: Fact[str] = fact("Declared kind of storage (--storage-type), lower case.", known=Known.PLAN)
    backend: Fact[str] = fact("Storage that the database stood on as recorded, lower case.", known=Known.PLAN)
    image: Fact[str] = fact("Hash that the leaf's pointer to its code image names.", known=Known.RUN)
    validated_image: Fact[str] = fact("Hash of the code image that the tool had validated.", known=Known.RUN)
    truth_evidence: Fact[Literal["verdict", "null", "none"]] = fact(
        "What is recorded on the ground truth: result_verdict.json with its set-up, one without, or none.",
        known=Known.RUN,
    )
    truth_detail: Fact[str] = fact("What is wrong with result_verdict.json; empty where nothing is.", known=Known.RUN)
    flat_ok: Fact[bool] = fact("The exact (FLAT) collection was set up.", known=Known.RUN)
    flat_coverage: Fact[Float] = fact("Part of the collection that the exact one covers.", known=Known.RUN)
    flat_total: Fact[Int] = fact("Vectors to copy into the exact collection.", known=Known.RUN, unit="vectors")
    flat_copied: Fact[Int] = fact("Vectors copied into the exact collection.", known=Known.RUN, unit="vectors")
    flat_reused: Fact[bool] = fact("An exact collection of an earlier run was used.", known=Known.RUN)
    content_checked: Fact[bool] = fact("The log says that its content was compared.", known=Known.RUN)
    flat_log_rows: Fact[list[Int]] = fact("Size of the exact collection as each rank logged it.", known=Known.RUN)
    mpi: Fact[bool] = fact("The run was started on several MPI ranks.", known=Known.RUN)
    expected_ranks: Fact[Int] = fact("MPI ranks that were started.", known=Known.RUN, unit="ranks")
    rank_count: Fact[Int] = fact("MPI ranks whose results were collected.", known=Known.RUN, unit="ranks")
    missing_ranks: Fact[list[Int]] = fact("MPI ranks without results.", known=Known.RUN)
    failed_ranks: Fact[list[Int]] = fact("MPI ranks that reported a failure.", known=Known.RUN)
    partial_failure: Fact[bool] = fact("The benchmark itself says that a part of it failed.", known=Known.RUN)
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)


class VectorDatabaseWorkload(FactModel):
    """One index directory (``vector_database/<engine>/<INDEX>``) with its measured runs and the record of the load."""

    subject: ClassVar[str] = "vector_database_workload"
    namespace: ClassVar[str] = "vdb_workload"
    parent: ClassVar[str] = "system"
    plural: ClassVar[str] = "vdb_workloads"

    division: Fact[Division] = fact("Division claimed.", known=Known.PLAN)
    run_directory: Fact[str] = fact("Path of the directory that holds the measured runs.", known=Known.RUN)
    run_directories: Fact[list[str]] = fact(
        "Directories of runs: named by a time stamp, and not empty.", known=Known.RUN
    )
    loads: Fact[Int] = fact("Leaves of datagen.", known=Known.RUN, unit="leaves")
    declared: Fact[Int] = fact("Vectors that were to be loaded.", known=Known.PLAN, unit="vectors")
    declared_claims: Fact[list[Claim]] = fact("What each file says of the vectors to be loaded.", known=Known.RUN)
    inserted: Fact[Int] = fact("Vectors that the load inserted.", known=Known.RUN, unit="vectors")
    inserted_claims: Fact[list[Claim]] = fact("What each file says of the vectors inserted.", known=Known.RUN)
    load_partial: Fact[bool] = fact("A rank of the load is missing or failed.", known=Known.RUN)
    rows: Fact[Int] = fact("Vectors in the queried collection (the fewest over the runs).", known=Known.RUN)
    load_dimension: Fact[Int] = fact("Dimension of the vectors loaded.", known=Known.PLAN)
    load_dimension_claims: Fact[list[Claim]] = fact("What each file says of that dimension.", known=Known.RUN)
    load_index: Fact[str] = fact("Index type that the load built, upper case.", known=Known.PLAN)
    load_metric: Fact[str] = fact("Distance metric of the index built, upper case.", known=Known.PLAN)
    load_collection: Fact[str] = fact("Collection that was loaded.", known=Known.PLAN)
    build_claims: Fact[list[Claim]] = fact(
        "What each file of the load says of the collection, its index type and metric.", known=Known.RUN
    )
    load_image: Fact[str] = fact("Hash of the load's code image.", known=Known.RUN)
    load_parameters: Fact[list[RunParameter]] = fact(
        "Recorded parameters of the load that have a default which CLOSED keeps.", known=Known.PLAN
    )
    load_configs: Fact[list[str]] = fact(
        "Names of the configuration files that were chosen for the load.", known=Known.PLAN
    )
    load_overrides: Fact[list[Override]] = fact("Keys of the overrides that the load recorded.", known=Known.PLAN)
    index_build: Fact[Literal["complete", "incomplete", "unrecorded"]] = fact(
        "What the record of the load says of the index build.", known=Known.RUN
    )
    compaction_wanted: Fact[bool] = fact("The collection was to be compacted after the load.", known=Known.PLAN)
    compacted: Fact[bool] = fact("The log says that the collection was compacted.", known=Known.RUN)
    lead_seconds: Fact[Float] = fact("End of the load to the start of the first run.", known=Known.RUN, unit="s")
    collections: Fact[list[str]] = fact("Different collections that the runs queried.", known=Known.RUN)
    other_collection: Fact[bool] = fact(
        "The load record is known to be of another collection than one that was queried.", known=Known.RUN
    )
    images: Fact[list[str]] = fact("Different code images that the runs point to.", known=Known.RUN)
    runtimes: Fact[list[Float]] = fact("Different durations that the runs were asked for.", known=Known.PLAN)
    recall_low: Fact[Float] = fact("Smallest recall of the runs.", known=Known.RUN)
    recall_high: Fact[Float] = fact("Largest recall of the runs.", known=Known.RUN)
    files: Fact[list[LeafFile]] = fact("Files of the load that facts are read from.", known=Known.RUN)

    @property
    def runs(self) -> "tuple[VectorDatabaseRun, ...]":
        """The workload's measured runs."""
        return tuple(child for child in self.below if isinstance(child, VectorDatabaseRun))
