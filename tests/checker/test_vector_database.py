"""A complete tree has no error and no warning; each spoilt one has exactly the findings that it was spoilt for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from trees import DELETE, cases_directory
from vector_database_trees import FIRST_RUN, Leaf, Spoil, Tree, both, complete, each_run, edit, edit_load, mpi, native

import rules
from rules import Finding
from submission_checker.scan import Options, check

STATISTICS = "vectordb/simple/statistics.json"
RUN_LOG = "vector_database_run.stdout.log"
LOAD_LOG = "vector_database_datagen.stderr.log"
SECTION = {rule.id for rule in rules.load_edition("3.0", ["5"]).rules}


def found(tree: Tree, edition: str = "3.0") -> list[Finding]:
    """Findings of this section's rules."""
    report = check(tree.root, Options(edition=edition))
    assert not report.faults
    return [finding for finding in report.findings if finding.rule in SECTION]


def brief(tree: Tree, edition: str = "3.0") -> dict[str, int]:
    """Rule and severity of errors and warnings, with their number."""
    return dict(Counter(f"{f.rule} {f.severity.value}" for f in found(tree, edition) if f.severity.value != "info"))


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_a_complete_tree_has_no_finding(tmp_path: Path, edition: str) -> None:
    assert brief(complete(tmp_path / "t"), edition) == {}


def without(name: str) -> Spoil:
    return each_run(lambda leaf: leaf.remove(name))


def old_tool(leaf: Leaf) -> None:
    leaf.edit("metadata", {"/args/storage_root": DELETE, "/args/storage_type": DELETE})
    leaf.remove("fs_separation.json")


def no_root(leaf: Leaf) -> None:
    leaf.edit("metadata", {"/args/storage_root": None})
    leaf.remove("fs_separation.json")


def other_collection(tree: Tree) -> None:
    tree.loads[0].replace(LOAD_LOG, "'bench_1m'", "'bench_s1'")
    tree.loads[0].edit(
        "metadata", {"/collection": "bench_s1", "/args/collection": "bench_s1", "/invocation_end_time": DELETE}
    )


def edit_ranks(changes: dict[str, object]) -> Spoil:
    return lambda tree: tree.runs[0].edit(STATISTICS, {f"/mpi/{name}": value for name, value in changes.items()})


# The four submissions of the v3.0 round, by their shapes.


def test_single_node_without_summary_and_storage_path(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    each_run(old_tool)(tree)
    tree.add_load(FIRST_RUN - timedelta(days=3))
    assert brief(tree) == {"5.3.1 warning": 5, "5.4.1 warning": 5}
    assert brief(tree, "3.0-as-published") == {"5.3.1 warning": 5, "5.4.1 warning": 5}
    assert brief(tree, "4.0-draft") == {"5.3.1 warning": 5, "5.4.1 error": 5}


@pytest.mark.parametrize(("vectors", "runtime"), [(10_000_000, 300), (1_000_000, 60)])
def test_single_node_without_summary_and_filesystem_evidence(tmp_path: Path, vectors: int, runtime: int) -> None:
    tree = native(tmp_path / "t", vectors=vectors, runtime=runtime)
    without("fs_separation.json")(tree)
    each_run(lambda leaf: leaf.edit("metadata", {"/collection": None, "/args/collection": None}))(tree)
    assert brief(tree) == {"5.3.1 warning": 5, "5.4.2 warning": 5}
    assert brief(tree, "4.0-draft") == {"5.3.1 warning": 5, "5.4.2 error": 5}


def test_mpi_ranks_with_the_load_of_another_collection(tmp_path: Path) -> None:
    tree = mpi(tmp_path / "t")
    other_collection(tree)
    without("fs_separation.json")(tree)
    assert brief(tree) == {"5.2.2 warning": 1, "5.3.5 warning": 5, "5.4.2 warning": 5}
    assert brief(tree, "4.0-draft") == {"5.2.2 error": 1, "5.4.2 error": 5}
    logged = [f for f in found(tree, "4.0-draft") if f.rule == "5.3.5"]
    assert {(f.clause, f.severity.value) for f in logged} == {("logged", "info")}


OWN = {
    "/data_or_chkpt_path": "/mnt/bench/milvus/", "/results_path": "/srv/results", "/probed_at": "2026-07-21T08:22:40Z",
}  # fmt: skip
FOREIGN = {
    "/version": 7, "/data_or_chkpt_path": "/elsewhere", "/results_path": "/other", "/probed_at": "2020-01-01T00:00:00Z",
}  # fmt: skip
"""What fs_separation.json states of itself."""

COMPLETE: dict[str, tuple[Spoil, dict[str, int]]] = {
    "unknown scale": (
        each_run(lambda leaf: (leaf.edit("summary.json", {"/num_vectors": 5000}),
                               leaf.replace(RUN_LOG, "1000000", "5000"),
                               leaf.edit("result_verdict.json", {"/flat_setup/total_vectors": 5000}))[0]),
        {"5.1.1 warning": 5, "5.2.1 error": 1},
    ),
    "the log shows fewer rows": (
        lambda tree: tree.runs[0].replace(RUN_LOG, "'row_count': 1000000", "'row_count': 999000"),
        {"5.1.1 error": 1, "5.2.1 error": 1, "5.3.5 error": 1},
    ),
    "queries of another dimension": (
        lambda tree: tree.runs[0].replace(RUN_LOG, "dim=1536", "dim=768"),
        {"5.1.2 error": 1},
    ),
    "loaded with another dimension": (
        both(edit_load("metadata", {"/dimension": 768}),
             lambda tree: tree.loads[0].replace(LOAD_LOG, "with 1536 dimensions", "with 768 dimensions")),
        {"5.1.2 error": 5},
    ),
    "one vector short": (
        lambda tree: tree.loads[0].replace(
            LOAD_LOG, "500,000 vectors in 31", "499,999 vectors in 31"),
        {"5.2.1 error": 1},
    ),
    "loaded twice": (
        lambda tree: tree.loads[0].replace(
            LOAD_LOG, "500,000 vectors in 31", "1,500,000 vectors in 31"),
        {"5.2.1 warning": 1},
    ),
    "the load's summary says less": (
        lambda tree: tree.loads[0].write("summary.json", {"num_vectors": 1000000, "inserted_vectors": 900000}),
        {"5.2.1 error": 1},
    ),
    "a rank of the load failed": (
        lambda tree: tree.loads[0].write(
            "vectordb/load/load_statistics.json", {"inserted_vectors": 1000000, "mpi": {"failed_ranks": [1]}}),
        {"5.2.1 error": 1},
    ),
    "no load": (lambda tree: shutil.rmtree(tree.directory / "datagen"), {"5.2.1 warning": 1}),
    "no log of the load": (lambda tree: tree.loads[0].remove(LOAD_LOG),
                           {"5.2.1 warning": 1}),
    "no log of the load, but a summary": (
        both(lambda tree: tree.loads[0].remove(LOAD_LOG),
             lambda tree: tree.loads[0].write("summary.json", {"num_vectors": 1000000, "inserted_vectors": 1000000})),
        {"5.2.2 warning": 1}),
    "the index is not finished": (
        lambda tree: tree.loads[0].write(
            LOAD_LOG,
            "Creating index with parameters: {'index_type': 'DISKANN', 'metric_type': 'COSINE'}\n"
            "Inserted 1,000,000 vectors in 60.00 seconds\n"
            "Progress: (663,340/1,000,000 rows) | Pending rows: 336,660\n"),
        {"5.2.2 error": 1},
    ),
    "the log does not tell of which index": (
        lambda tree: tree.loads[0].replace(LOAD_LOG, "Creating index with parameters", "Index"), {"5.2.2 warning": 1}),
    "the log does not tell of which index, the summary for how long it was built": (
        lambda tree: (
            tree.loads[0].replace(LOAD_LOG, "Creating index with parameters", "Index"),
            tree.loads[0].write("summary.json", {"num_vectors": 1000000, "index_build_seconds": 1200.5}))[0],
        {}),
    "not compacted": (
        lambda tree: tree.loads[0].replace(
            LOAD_LOG, "compacted successfully", "compaction started"),
        {"5.2.2 error": 1},
    ),
    "compaction switched off": (
        both(
            lambda tree: tree.loads[0].replace(LOAD_LOG, "compacted successfully", "x"),
            edit_load("metadata", {"/executed_command": "vdb datagen --no-compact"}),
        ),
        {},
    ),
    "the load overlaps the first run": (
        edit_load("metadata", {"/invocation_end_time": "2026-07-21T10:22:40"}), {"5.2.2 error": 1}),
    "the load was started two zones to the east": (
        both(edit_load("metadata", {"/invocation_end_time": "2026-07-21T12:20:00", "/utc_offset": "-04:00"}),
             lambda tree: tree.runs[0].edit("metadata", {"/utc_offset": "-06:00"})),
        {},
    ),
    "a load that only the zones show to overlap the first run": (
        both(edit_load("metadata", {"/invocation_end_time": "2026-07-21T10:20:00", "/utc_offset": "-08:00"}),
             lambda tree: tree.runs[0].edit("metadata", {"/utc_offset": "-06:00"})),
        {"5.2.2 error": 1},
    ),
    "another index loaded": (
        both(lambda tree: tree.loads[0].replace(LOAD_LOG, "DISKANN", "HNSW"),
             edit_load("metadata", {"/index_type": "HNSW", "/vdb_index": "HNSW"})),
        {"5.2.2 error": 1},
    ),
    "another metric loaded": (
        lambda tree: tree.loads[0].replace(LOAD_LOG, "COSINE", "L2"),
        {"5.2.2 error": 1},
    ),
    "another collection loaded": (other_collection, {"5.2.2 warning": 1}),
    "four runs": (lambda tree: shutil.rmtree(tree.runs[4].path), {"5.3.1 error": 1}),
    "six runs": (lambda tree: tree.add_run(5).write("summary.json", tree.summary(tree.runs[5])), {"5.3.1 error": 1}),
    "five directories, one empty": (
        lambda tree: (shutil.rmtree(tree.runs[4].path), tree.runs[4].path.mkdir())[0], {"5.3.1 error": 1}),
    "six directories, one empty": (
        lambda tree: (tree.directory / "run" / "20260721_120000").mkdir(), {}),  # LEAF-01 reports it
    "no recall": (
        both(edit("summary.json", {"/recall": DELETE}), edit("statistics.json", {"/recall": None}),
             lambda tree: tree.runs[0].remove("recall_stats.json")),
        {"5.3.2 error": 1},
    ),
    "recall true": (edit("summary.json", {"/recall": True}), {"5.3.2 error": 1}),
    "recall of zero": (
        both(edit("summary.json", {"/recall": 0.0}),
             edit("statistics.json", {"/recall/mean_recall": 0.0, "/recall/max_recall": 0.0}),
             edit("recall_stats.json", {"/mean_recall": 0.0, "/max_recall": 0.0})),
        {"5.3.2 error": 1},
    ),
    "recall of no query": (edit("statistics.json", {"/recall/num_queries_evaluated": 0}), {"5.3.2 error": 1}),
    "recall above one": (
        both(edit("summary.json", {"/recall": 52.0}), edit("statistics.json", {"/recall/mean_recall": 52.0}),
             edit("recall_stats.json", {"/mean_recall": 52.0})),
        {"5.3.2 error": 1}),
    "no queries": (
        both(edit("summary.json", {"/query_count": 0, "/throughput_qps": 0.0}),
             lambda tree: tree.runs[0].remove("milvus_benchmark_p0.csv"),  # a lost table is not recomputed
             edit("statistics.json", {"/total_queries": 0, "/throughput_qps": 0.0})),
        {"5.3.3 error": 1, "5.3.4 error": 1},
    ),
    "ended early": (
        both(edit("summary.json", {"/total_time_seconds": 31.0, "/throughput_qps": 4800 / 31}),
             edit("statistics.json", {"/total_time_seconds": 31.0, "/throughput_qps": 4800 / 31})),
        {"5.3.3 error": 1}),
    "a short run": (edit("metadata", {"/args/runtime": 20}), {"5.3.3 error": 1, "5.3.3 warning": 1}),
    "a failed batch": (edit("statistics.json", {"/failed_batches": 2}), {"5.3.3 warning": 1}),
    "another duration": (edit("metadata", {"/args/runtime": 45}), {"5.3.3 warning": 2}),
    "both bounds": (edit("metadata", {"/args/queries": 1000}), {"5.3.3 warning": 1}),
    "too few of the queries asked for": (
        edit("metadata", {"/benchmark_mode": "query_count", "/args/queries": 5000, "/args/runtime": None}),
        {"5.3.3 error": 1, "5.3.3 warning": 1}),  # config.json names a duration as well
    "the summary lacks a percentile": (edit("summary.json", {"/p999_latency_ms": DELETE}), {"5.3.4 warning": 1}),
    "the summary has a null": (edit("summary.json", {"/p999_latency_ms": None}), {"5.3.4 error": 1}),
    "the summary has NaN": (edit("summary.json", {"/p99_latency_ms": float("nan")}), {"5.3.4 error": 1}),
    "the summary has a text": (edit("summary.json", {"/p99_latency_ms": "100.0"}), {"5.3.4 error": 1}),
    "a percentile is nowhere": (
        both(edit("summary.json", {"/p999_latency_ms": DELETE}), edit("statistics.json", {"/p999_latency_ms": DELETE})),
        {"5.3.4 error": 1},
    ),
    "percentiles fall": (
        both(edit("summary.json", {"/p999_latency_ms": 99.5}), edit("statistics.json", {"/p999_latency_ms": 99.5})),
        {"5.3.4 error": 1}),
    "a summary by hand": (
        edit("summary.json", {"/throughput_qps": 160.0, "/query_count": 9600}),
        {"X5.2 error": 2},  # the throughput and the number of queries
    ),
    "a latency by hand": (
        edit("summary.json", {"/p95_latency_ms": 50.0}), {"X5.2 error": 1}),
    "a latency by hand, in both files": (
        both(edit("summary.json", {"/p95_latency_ms": 50.0}), edit("statistics.json", {"/p95_latency_ms": 50.0})),
        {"X5.2 warning": 1}),
    "an incomplete ground truth": (
        edit("result_verdict.json", {"/flat_setup/coverage": 0.98, "/flat_setup/copied_vectors": 980000}),
        {"5.3.5 error": 1}),
    "a ground truth that failed": (
        edit("result_verdict.json", {"/flat_setup/ok": False, "/flat_setup/reason": "could not connect"}),
        {"5.3.5 error": 1}),
    "a ground truth of one percent": (
        edit("result_verdict.json", {"/flat_setup/total_vectors": 10000, "/flat_setup/copied_vectors": 10000}),
        {"5.3.5 error": 1}),
    "a coverage of 1": (edit("result_verdict.json", {"/flat_setup/coverage": 1}), {}),
    "no set-up in the verdict": (edit("result_verdict.json", {"/flat_setup": None}), {"5.3.5 warning": 1}),
    "no verdict": (without("result_verdict.json"), {"5.3.5 warning": 5}),
    "same paths": (edit("metadata", {"/args/storage_root": "/srv//results/./"}), {"5.4.1 error": 1}),
    "no results directory": (edit("metadata", {"/args/results_dir": None}), {"5.4.1 error": 1}),
    "no storage path though the tool has the option": (each_run(no_root), {"5.4.1 error": 5}),
    "results inside the storage": (
        both(edit("metadata", {"/args/results_dir": "/mnt/bench/milvus/results"}),
             edit("fs_separation.json", {"/same_filesystem": True})),
        {"5.4.1 warning": 1, "5.4.2 warning": 1}),
    "sidecar of another run": (edit("fs_separation.json", FOREIGN), {"5.4.2 warning": 1}),
    "sidecar of this run": (edit("fs_separation.json", OWN), {}),
    "sidecar of an unknown version": (edit("fs_separation.json", {**OWN, "/version": 7}), {"5.4.2 warning": 1}),
    "sidecar of another storage": (
        edit("fs_separation.json", {**OWN, "/data_or_chkpt_path": "/elsewhere"}), {"5.4.2 warning": 1}),
    "sidecar of another day": (
        edit("fs_separation.json", {**OWN, "/probed_at": "2020-07-21T08:22:36Z"}), {"5.4.2 warning": 1}),
    "one filesystem": (edit("fs_separation.json", {"/same_filesystem": True}), {"5.4.2 warning": 1}),
    "object API on a local disk": (
        both(lambda tree: tree.describe("object"),
             each_run(lambda leaf: leaf.edit("metadata", {"/args/data_access_protocol": "object"}))),
        {"5.5.1 error": 1}),
    "object API whose summary and arguments name different storage": (
        both(lambda tree: tree.describe("object"),
             each_run(lambda leaf: (leaf.edit("metadata", {"/args/data_access_protocol": "object"}),
                                    leaf.edit("summary.json", {"/database/storage_backend": "s3"}))[0])),
        {"5.5.1 error": 1}),
    "file API on a disk of a database with its own object store": (
        edit("summary.json", {"/database/storage_backend": "minio"}), {}),
    "object API without a storage path": (
        both(lambda tree: tree.describe("object"), each_run(no_root),
             each_run(lambda leaf: leaf.edit(
                 "metadata", {"/args/data_access_protocol": "object", "/args/storage_type": "s3"}))),
        {}),
    "object API with a scheme twice": (
        both(lambda tree: tree.describe("object"),
             each_run(lambda leaf: leaf.edit("metadata", {
                 "/args/data_access_protocol": "object", "/args/storage_type": "s3",
                 "/args/storage_root": "s3://s3://bucket/milvus"}))),
        {"5.5.1 warning": 1}),
    "file API on s3": (edit("metadata", {"/args/storage_type": "S3"}), {"5.5.1 error": 1}),
    "the description says object": (lambda tree: tree.describe("object"), {"5.5.1 error": 1}),
    "two code images": (
        lambda tree: tree.runs[0].write(".mlps-code-image", "md5-tree-v2:" + "f" * 32),
        {"5.6.1 error": 2}),  # runs differ, and the tool had validated another one
    "another engine": (
        both(edit("summary.json", {"/database/database": "pgvector"}), edit("metadata", {"/vdb_engine": "pgvector"})),
        {"5.6.2 error": 1},
    ),
    "lower-case directory": (
        lambda tree: tree.directory.rename(tree.directory.parent / "diskann"), {"5.6.3 error": 1}),
    "directory of another index": (
        lambda tree: tree.directory.rename(tree.directory.parent / "HNSW"), {"5.6.3 error": 1}),
    "the summary names another index": (
        edit("summary.json", {"/index_type": "HNSW"}), {"5.6.3 error": 1}),
    "search limit of 100": (edit("config.json", {"/search_limit": 100}), {"5.6.4 error": 1}),
    "planted queries": (edit("config.json", {"/query_mode": "planted"}), {"5.6.4 error": 1}),
    "defaults written out": (
        edit("config.json", {"/query_mode": "independent", "/query_noise": 0.05, "/recall_epsilon": 0.0}), {}),
    "another distribution": (edit_load("metadata", {"/distribution": "normal"}), {"5.6.4 error": 1}),
    "database host overridden": (
        edit("metadata", {"/override_parameters": {"database.host": "10.0.0.1"}}), {"5.6.4 error": 1}),
    "free parameters overridden": (
        edit("metadata", {"/override_parameters": {"index.index_type": "DISKANN", "index.max_degree": 32}}), {}),
    "collection overridden": (
        edit("metadata", {
            "/override_parameters": {"dataset.collection_name": "bench_1m"}, "/args/collection": "default_c",
            "/collection": "default_c"}), {}),
    "argument beside what it became": (edit("metadata", {"/args/vector_dim": 512, "/vector_dim": 1536}), {}),
    "sweep": (edit("metadata", {"/benchmark_mode": "sweep"}), {"5.6.4 error": 1}),
    "overrides of the load": (
        edit_load("metadata", {"/override_parameters": {"database.host": "10.0.0.1", "dataset.seed": 7}}),
        {"5.6.4 error": 2}),
    "free parameters of the load overridden": (
        edit_load("metadata", {"/override_parameters": {"dataset": {"chunk_size": 5000, "num_shards": 4}}}), {}),
    "run in another division": (
        each_run(lambda leaf: leaf.edit("metadata", {"/args/mode": "open"})), {"X5.4 error": 1}),
    "one run that was none for a submission": (edit("metadata", {"/args/mode": "whatif"}), {"X5.4 error": 1}),
    "the division in capitals": (edit("metadata", {"/args/mode": "Closed"}), {}),
    "no division recorded": (edit("metadata", {"/args/mode": DELETE}), {}),  # told as what is left open
    "the tool objected": (edit("metadata", {"/verification": "INVALID"}), {"5.6.4 warning": 1}),
    "the tool objected, and why": (
        edit("metadata", {"/verification": "INVALID", "/args/allow_invalid_params": True}), {"5.6.4 error": 1}),
    "no verdict of the tool": (edit("metadata", {"/verification": None}), {}),
    "an unknown verdict of the tool": (edit("metadata", {"/verification": "Close"}), {"X5.4 warning": 1}),
    "own configuration": (edit("metadata", {"/args/config": "mine.yaml"}), {"5.6.4 warning": 1}),
    "own configuration file": (
        edit("metadata", {"/args/config_file": "/home/user/mine.yaml"}), {"5.6.4 warning": 1}),
    "own configuration file beside the default": (
        edit("metadata", {"/vectordb_config": "default", "/vectordb_config_file": "conf/mine.yaml"}),
        {"5.6.4 warning": 1}),
    "the shipped configuration by its path": (
        edit("metadata", {"/args/config_file": None, "/vectordb_config_file": "/opt/tool/configs/10M.yaml"}), {}),
    "own configuration of the load": (edit_load("metadata", {"/args/config": "mine"}), {"5.6.4 warning": 1}),
    "no metadata": (lambda tree: tree.runs[0].remove("metadata"), {}),  # LEAF-01 reports it
    "a damaged summary": (lambda tree: tree.runs[0].write("summary.json", "{"), {"X5.3 error": 1}),
    "damaged recall": (lambda tree: tree.runs[0].write("recall_stats.json", "{"), {"X5.3 warning": 1}),
}  # fmt: skip


@pytest.mark.parametrize("division", ["closed", "open"])
def test_a_run_for_whatif_is_never_submittable(tmp_path: Path, division: str) -> None:
    tree = complete(tmp_path / "t", division=division)
    each_run(lambda leaf: leaf.edit("metadata", {"/args/mode": "whatif"}))(tree)
    (finding,) = [f for f in found(tree) if f.severity.value == "error"]
    assert (finding.rule, finding.clause, len(finding.paths)) == ("X5.4", "division", 5)
    assert f"lies in {division}; its metadata says whatif" in finding.message


def test_a_division_that_is_not_recorded_is_told(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    edit("metadata", {"/args/mode": DELETE})(tree)
    (finding,) = [f for f in found(tree) if f.rule == "X5.4"]
    assert (finding.severity.value, finding.outcome) == ("info", "undetermined")


def test_a_sidecar_of_another_run_is_told_with_what_differs(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    edit("fs_separation.json", {**FOREIGN, "/same_filesystem": "false"})(tree)
    (finding,) = [f for f in found(tree, "4.0-draft") if f.rule == "5.4.2"]
    assert (finding.clause, finding.severity.value) == ("sidecar", "warning")
    for said in ("version is not 1", "neither true nor false", "/elsewhere", "/other", "probed at 2020-01-01"):
        assert said in finding.message


def tell_load(changes: dict[str, object]) -> Spoil:
    """A summary of the load that says something else."""
    said = {"num_vectors": 1000000, "inserted_vectors": 1000000, "dimension": 1536, "index_type": "DISKANN"}
    return lambda tree: tree.loads[0].write("summary.json", {**said, **changes})


def one_dimension_less(tree: Tree) -> None:
    """No summary and no log names the dimension of the collection, so that it is the queries' one."""
    tree.runs[0].edit("summary.json", {"/dimension": DELETE})
    tree.runs[0].edit("config.json", {"/vector_dim": 768})
    tree.runs[0].remove(RUN_LOG)


DIFFERING: dict[str, tuple[Spoil, tuple[str, str], tuple[str, str]]] = {
    "dimension of the load: log and metadata": (
        lambda tree: tree.loads[0].replace(LOAD_LOG, "with 1536 dimensions", "with 768 dimensions"),
        ("5.1.2", "load_agreed"), ("metadata.json#/dimension says 1536", LOAD_LOG + " says 768")),
    "dimension of the load: two lines of the log": (
        lambda tree: tree.loads[0].replace(LOAD_LOG, "with 1536 dimensions and", "with 768 dimensions and"),
        ("5.1.2", "load_agreed"), ("metadata.json#/dimension", LOAD_LOG + " says 768")),
    "dimension of the load: summary and metadata": (
        tell_load({"dimension": 768}),
        ("5.1.2", "load_agreed"), ("summary.json#/dimension says 768", "metadata.json#/dimension")),
    "dimension of the queries: config.json and log": (
        edit("config.json", {"/vector_dim": 768}),
        ("5.1.2", "agreed"), (RUN_LOG, "config.json#/vector_dim says 768")),
    "dimension of the queries: metadata and log": (
        edit("metadata", {"/vector_dim": 768}),
        ("5.1.2", "agreed"), (RUN_LOG, "metadata.json#/vector_dim says 768")),
    "dimension of the queries, the only one": (
        one_dimension_less,
        ("5.1.2", "agreed"), ("config.json#/vector_dim says 768", "metadata.json#/vector_dim says 1536")),
    "dimension of the collection: summary and log": (
        edit("summary.json", {"/dimension": 768}),
        ("5.1.1", "agreed"), ("summary.json#/dimension says 768", RUN_LOG + " says 1536")),
    "vectors declared": (
        both(tell_load({}), edit_load("metadata", {"/num_vectors": 10000000})),
        ("5.2.1", "declared"), ("summary.json#/num_vectors says 1000000", "metadata.json#/num_vectors says 10000000")),
    "index of the load": (
        edit_load("metadata", {"/index_type": "HNSW"}),
        ("5.2.2", "load_agreed"), (LOAD_LOG, "metadata.json#/index_type says HNSW")),
    "metric of the load": (
        edit_load("metadata", {"/metric_type": "L2"}),
        ("5.2.2", "load_agreed"), (LOAD_LOG + " says COSINE", "metadata.json#/metric_type says L2")),
    "collection of the load": (
        edit_load("metadata", {"/collection": "bench_s1", "/args/collection": "bench_s1"}),
        ("5.2.2", "load_agreed"), (LOAD_LOG, "collection says bench_s1")),
    "collection of a run": (
        edit("config.json", {"/collection_name": "bench_s1"}),
        ("5.2.2", "agreed"), (RUN_LOG, "config.json#/collection_name says bench_s1")),
    "metric of a run": (
        edit("config.json", {"/metric_type": "L2"}),
        ("5.2.2", "agreed"), ("config.json#/metric_type says L2", RUN_LOG)),
    "recall: a file of its own": (
        edit("recall_stats.json", {"/mean_recall": 0.9}),
        ("X5.2", "results"), ("summary.json#/recall says 0.52 ", "recall_stats.json gives 0.9")),
    "recall: the verdict": (
        edit("result_verdict.json", {"/recall_summary": {"mean_recall": 0.9}}),
        ("X5.2", "results"), ("summary.json#/recall says 0.52 ", "result_verdict.json gives 0.9")),
}  # fmt: skip


@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
@pytest.mark.parametrize("name", DIFFERING)
def test_sources_that_differ_are_one_error_that_names_both(tmp_path: Path, name: str, edition: str) -> None:
    spoil, rule, places = DIFFERING[name]
    tree = complete(tmp_path / "t")
    spoil(tree)
    (finding,) = [f for f in found(tree, edition) if (f.rule, f.clause) != ("5.3.2", "bound")]
    assert (finding.rule, finding.clause, finding.severity.value) == (*rule, "error")
    assert all(place in finding.message for place in places)


def test_a_pointer_in_place_of_the_loads_metadata_is_a_warning(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    (metadata,) = tree.directory.glob("datagen/*/*_metadata.json")
    metadata.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n")
    told = [f for f in check(tree.root, Options()).findings if f.path.startswith("closed") and "datagen" in f.path]
    assert {f.severity.value for f in told} == {"warning"}


def test_the_recall_of_one_rank_is_not_that_of_all(tmp_path: Path) -> None:
    tree = mpi(tmp_path / "t")
    tree.runs[0].write("recall_stats.json", {"mean_recall": 0.3})
    assert brief(tree) == {"5.3.5 warning": 5}


def test_configured_metric_is_none_that_was_used(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    edit_load("metadata", {"/parameters": {"index": {"metric_type": "L2"}}})(tree)
    edit("metadata", {"/parameters": {"index": {"metric_type": "L2"}}})(tree)
    assert brief(tree) == {}


@pytest.mark.parametrize("name", COMPLETE)
def test_spoilt_complete_tree(tmp_path: Path, name: str) -> None:
    spoil, expected = COMPLETE[name]
    tree = complete(tmp_path / "t")
    spoil(tree)
    assert brief(tree) == expected


MPI: dict[str, tuple[Spoil, dict[str, int]]] = {
    "nothing": (lambda tree: None, {}),
    "a missing rank": (edit_ranks({"missing_ranks": [2], "rank_count": 3}), {"X5.1 error": 1}),
    "a failed rank": (edit_ranks({"failed_ranks": [2]}), {"X5.1 error": 1}),
    "a partial failure": (edit_ranks({"partial_failure": True}), {"X5.1 error": 1}),
    "more ranks than started": (edit_ranks({"rank_count": 5}), {"X5.1 error": 1}),
    "a rank's part is not in the sum": (
        lambda tree: tree.runs[0].edit(STATISTICS, {"/rank_summaries/0/total_queries": 600}),
        {"X5.2 error": 2}),  # the number of queries, and the throughput
}  # fmt: skip


@pytest.mark.parametrize("name", MPI)
def test_spoilt_mpi_tree(tmp_path: Path, name: str) -> None:
    spoil, expected = MPI[name]
    tree = mpi(tmp_path / "t")
    spoil(tree)
    assert brief(tree) == {"5.3.5 warning": 5, **expected}


def test_a_rank_without_ground_truth_line_is_no_exemption(tmp_path: Path) -> None:
    tree = mpi(tmp_path / "t")
    tree.runs[0].write("vector_database_run_simple_mpi.stdout.log", tree.log(3))
    assert brief(tree, "4.0-draft") == {"5.3.5 error": 1}


OPEN: dict[str, tuple[Spoil, dict[str, int]]] = {
    "nothing": (lambda tree: None, {}),
    "fixed parameters changed": (edit("config.json", {"/search_limit": 100}), {}),
    "sweep": (edit("metadata", {"/benchmark_mode": "sweep"}), {}),
    "database port": (edit("metadata", {"/override_parameters": {"database": {"port": 19531}}}), {}),
    "unknown key": (edit("metadata", {"/override_parameters": {"index.unknown_param": 1}}), {"5.6.5 error": 1}),
    "four runs": (lambda tree: shutil.rmtree(tree.runs[4].path), {"5.3.1 error": 1}),
    "no recall": (
        both(edit("summary.json", {"/recall": DELETE}), edit("statistics.json", {"/recall": None}),
             lambda tree: tree.runs[0].remove("recall_stats.json")),
        {"5.3.2 error": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_spoilt_open_tree(tmp_path: Path, name: str) -> None:
    spoil, expected = OPEN[name]
    tree = complete(tmp_path / "t", division="open")
    spoil(tree)
    assert brief(tree) == expected


@pytest.mark.parametrize(
    ("engine", "index", "expected"),
    [
        ("milvus", "IVF_SQ8", {}),
        ("milvus", "SCANN", {"5.6.5 error": 5}),
        ("pgvector", "IVFFlat", {}),
        ("faiss", "FLAT", {"5.6.5 error": 5}),
    ],
)
def test_engines_and_indexes_of_open(tmp_path: Path, engine: str, index: str, expected: dict[str, int]) -> None:
    assert brief(complete(tmp_path / "t", division="open", engine=engine, index=index)) == expected


def test_open_with_a_missing_rank_is_a_warning(tmp_path: Path) -> None:
    tree = mpi(tmp_path / "t")
    edit_ranks({"missing_ranks": [2]})(tree)
    report = [f for f in found(tree) if f.rule == "X5.1"]
    assert [f.clause for f in report] == ["missing"]
    (tree.root / "closed").rename(tree.root / "open")
    assert [(f.clause, f.severity.value) for f in found(tree) if f.rule == "X5.1"] == [("open_ranks", "warning")]


# One root cause is reported once.


def test_a_run_without_any_results_is_one_error_that_lists_what_it_leaves_open(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    for name in ("summary.json", "statistics.json", "recall_stats.json", "result_verdict.json", "config.json"):
        tree.runs[0].remove(name)
    errors = [f for f in found(tree) if f.severity.value == "error"]
    assert [(f.rule, f.clause) for f in errors] == [("5.3.1", "results")]
    assert {"5.3.2", "5.3.3", "5.3.4"} <= set(errors[0].opens)


def test_statistics_that_hold_but_an_error_are_no_results(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    tree.runs[0].write("statistics.json", {"error": "no data"})
    assert brief(tree) == {"5.3.1 error": 1, "5.3.1 warning": 4}
    tree.runs[0].write(RUN_LOG, tree.log() + 'Benchmark statistics as JSON:\n{"error": "no data"}')
    assert brief(tree) == {"5.3.1 error": 1, "5.3.1 warning": 4}
    tree.runs[0].write("summary.json", tree.summary(tree.runs[0]))
    assert brief(tree) == {"5.3.1 warning": 4}


def test_numbers_are_recovered_and_the_missing_file_is_still_reported_once(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    tree.runs[0].edit("statistics.json", {"/recall/max_recall": 0.0, "/recall/mean_recall": 0.0})
    tree.runs[0].edit("recall_stats.json", {"/max_recall": 0.0, "/mean_recall": 0.0})
    assert brief(tree) == {"5.3.1 warning": 5, "5.3.2 error": 1}


def test_pruned_files_leave_rules_open_and_violate_none(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    for leaf in tree.runs:
        for name in ("summary.json", "statistics.json", "recall_stats.json", "result_verdict.json", RUN_LOG):
            leaf.write(name, "PRUNED BY STAFF\n")
    for name in (LOAD_LOG, "vector_database_datagen.stdout.log"):
        tree.loads[0].write(name, "PRUNED BY STAFF\n")
    assert brief(tree) == {}


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_a_pruned_verdict_is_one_remark(tmp_path: Path, edition: str) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].write("result_verdict.json", "PRUNED BY STAFF\n")
    remarks = [f.message for f in found(tree, edition) if f.outcome == "undetermined"]
    assert len(remarks) == 1


def test_a_run_of_a_number_of_queries_needs_no_duration(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    changes = {"/benchmark_mode": "query_count", "/args/queries": 4800, "/args/runtime": DELETE}
    each_run(lambda leaf: leaf.edit("metadata", changes))(tree)
    each_run(lambda leaf: leaf.edit("config.json", {"/runtime_seconds": None}))(tree)
    assert [f.rule for f in found(tree)] == ["5.3.2"]  # the note on the recall


def test_the_recall_is_reported_once_as_not_enforced(tmp_path: Path) -> None:
    notes = [f for f in found(complete(tmp_path / "t")) if f.rule == "5.3.2"]
    assert [(f.clause, f.severity.value) for f in notes] == [("bound", "info")]
    assert "not enforced" in notes[0].message


def recalls(tree: Tree, *values: float) -> list[str]:
    """The notes on the recall where the runs have these."""
    for leaf, value in zip(tree.runs, values, strict=True):
        leaf.edit("summary.json", {"/recall": value})
        leaf.edit("statistics.json", {"/recall/mean_recall": value})
        leaf.edit("recall_stats.json", {"/mean_recall": value})
    notes = [f for f in found(tree) if f.rule == "5.3.2"]
    assert {f.severity.value for f in notes} == {"info"}
    return sorted(f.message for f in notes)


def test_recall_is_shown_as_it_was_recorded(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    (bound,) = recalls(tree, *[0.209675] * 5)
    assert bound.startswith("recall of the runs: 0.209675 to 0.209675.")
    bound, spread = recalls(tree, 0.58, 0.52, 0.52, 0.52, 0.52)
    assert bound.startswith("recall of the runs: 0.52 to 0.58.")
    assert spread == "the recall of the runs differs by 0.06, more than 0.05: 0.52 to 0.58"


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_the_published_edition_asks_only_that_there_is_a_recall(tmp_path: Path, edition: str) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].edit("statistics.json", {"/recall/num_queries_evaluated": 0})
    tree.runs[1].edit("summary.json", {"/recall": 52.0})
    tree.runs[1].edit("statistics.json", {"/recall/mean_recall": 52.0})
    tree.runs[1].edit("recall_stats.json", {"/mean_recall": 52.0})
    assert brief(tree, edition) == ({} if edition == "3.0-as-published" else {"5.3.2 error": 2})


@pytest.mark.parametrize("name", ["metadata", "statistics.json", "config.json", "result_verdict.json", RUN_LOG])
@pytest.mark.parametrize("content", ["", "[]", "{", "\0\0", '{"recall": [], "mpi": 3, "args": 7, "flat_setup": []}'])
def test_whatever_stands_in_a_file_gives_findings_and_no_fault(tmp_path: Path, name: str, content: str) -> None:
    tree = native(tmp_path / "t")
    tree.runs[0].write(name, content)
    tree.loads[0].write("metadata", content)
    found(tree)


@pytest.mark.parametrize("number", [1e308, -1e308, 2**63, 2**62, -1, 0, 5e-324, float("inf"), "1e308", [], {}, True])
def test_no_number_is_too_large(tmp_path: Path, number: object) -> None:
    tree = mpi(tmp_path / "t")
    keys = ("total_queries", "throughput_qps", "total_time_seconds", "p95_latency_ms", "recall", "failed_batches")
    tree.runs[0].edit(STATISTICS, {f"/{key}": number for key in keys})
    tree.runs[0].edit(STATISTICS, {"/rank_summaries/0/end_time": number, "/mpi/expected_ranks": number})
    tree.runs[1].edit(STATISTICS, {"/rank_summaries/0/start_time": number, "/mpi/missing_ranks": number})
    for leaf in (tree.runs[0], tree.runs[2]):
        leaf.edit("summary.json", {"/throughput_qps": number, "/total_time_seconds": number, "/query_count": number})
    tree.runs[0].edit("summary.json", {"/num_vectors": number, "/dimension": number})
    tree.loads[0].write("summary.json", {"num_vectors": number, "inserted_vectors": number, "dimension": number})
    found(tree)


def test_what_is_too_large_to_recompute_is_said(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    with tree.runs[0].file("milvus_benchmark_p1.csv").open("a") as table:
        table.write("1,2.0,3,80,8.0,0.1,True\n" * 100_000)
    assert brief(tree) == {}
    assert any("not recomputed" in remark for remark in check(tree.root, Options()).remarks)


def test_a_lone_run_is_judged(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].edit("summary.json", {"/recall": True})
    report = check(tree.runs[0].path, Options())
    assert [f.rule for f in report.findings if f.severity.value == "error"] == ["5.3.2"]


@pytest.mark.parametrize("index", ["DISKANN", "HNSW"])
def test_the_engine_level_may_be_omitted(tmp_path: Path, index: str) -> None:
    tree = complete(tmp_path / "t", index=index)
    family = tree.directory.parents[1]
    tree.directory.rename(family / index)
    tree.directory.parent.rmdir()
    assert brief(tree) == {}
    report = check(tree.root, Options())
    assert report.leaves == 5
    assert {f.rule for f in report.findings if "/DISKANN/" in f.path or "/HNSW/" in f.path} == {"2.1.27"}
    lone = check(family / index / "run" / tree.runs[0].path.name, Options())
    assert [f.rule for f in lone.findings if f.severity.value != "info" and f.rule in SECTION] == []


def test_a_synthetic_tree_has_its_faults_and_no_other_error(tmp_path: Path) -> None:
    """The generator beside the cases; its sidecar tells what must be found."""
    generator = cases_directory().parent / "bench" / "make_tree.py"
    if not generator.is_file():
        pytest.skip(f"no such generator: {generator}")
    faults = ["--faults", "vdb_four_runs,vdb_underfilled"]
    options = ["--out", str(tmp_path / "t"), "--workloads", "vector_database", "--code-files", "6", *faults]
    subprocess.run([sys.executable, str(generator), *options], check=True, capture_output=True)
    expected = json.loads((tmp_path / "t.expected.json").read_text())["expected"]
    report = check(tmp_path / "t", Options())
    errors = [(f.rule, f.path) for f in report.findings if f.rule in SECTION and f.severity.value == "error"]
    assert sorted(errors) == sorted((entry["rule"], entry["path"]) for entry in expected)


@pytest.mark.parametrize("value", ["\0", "\x1b[2J", ["\u202e", "a"], {"\u202e": 1}, ["x" * 300] * 300])
def test_a_recorded_parameter_is_shown_harmlessly(tmp_path: Path, value: object) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].edit("metadata", {"/args/params": value})
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "5.6.4"]
    assert finding.message.isprintable()
    assert len(finding.message) < 6000
