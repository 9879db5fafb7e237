"""What the logs, the batch tables and the files of a vector-database leaf are read as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trees import DELETE
from vector_database_trees import FIRST_RUN, Tree, complete, mpi, native

from mlpstorage.results.document import Reading
from mlpstorage.results.roots.local import LocalRoot
from rules.derived.vector_database import Batch
from rules.facts import Absence, Reason, Source
from rules.facts.vector_database import VectorDatabaseWorkload
from submission_checker.discovery import walk
from submission_checker.readers.vector_database import read_workload
from submission_checker.readers.vector_database_logs import (
    read_batches,
    read_load_log,
    read_run_log,
    statistics_in,
)


def workload_of(tree: Tree) -> VectorDatabaseWorkload:
    with LocalRoot(tree.root) as root:
        (system,) = walk(root).systems
        (directory,) = system.workloads
        workload, _ = read_workload(root, directory, Reading("file", Source("description")))
    assert workload is not None
    return workload


def test_a_run_log_is_read_once_for_all_ranks() -> None:
    log = read_run_log(Tree(Path()).log(ranks=4))
    assert log.rows == (1_000_000,)
    assert (log.collection, log.index, log.metric, log.query_dimension) == ("bench_1m", "DISKANN", "COSINE", 1536)
    assert log.flat_rows == (1_000_000,) * 4
    assert log.content_checked


def test_a_reused_ground_truth_without_check_is_seen() -> None:
    log = read_run_log("Using existing FLAT collection 'x' with 1,000 vectors\n")
    assert log.flat_rows == (1000,)
    assert not log.content_checked


@pytest.mark.parametrize(
    ("text", "inserted", "indexed", "finished"),
    [
        ("Inserted 10,000 vectors in 1.5 seconds\n" * 100, 1_000_000, None, False),
        ("Inserted batch 3/10: 1000 vectors\n", None, None, False),
        ("Progress: 66.3% complete... (663,340/1,000,000 rows) | Pending rows: 336,660\n", None, 663_340, False),
        ("Progress: (5/5 rows) | Pending rows: 0\n", None, 5, True),
        ("Process fully complete!\n", None, None, True),
        ("Index creation command completed in 0.51 seconds\n", None, None, False),
    ],
)
def test_load_logs(text: str, inserted: int | None, indexed: int | None, finished: bool) -> None:
    log = read_load_log(text)
    assert (log.inserted, log.indexed, log.finished) == (inserted, indexed, finished)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x\nBenchmark statistics as JSON:\n{"total_queries": 7}\nbye', {"total_queries": 7}),
        ('VDB_MULTI_NODE_SUMMARY_JSON={"total_queries": 8}', {"total_queries": 8}),
        ("Benchmark statistics as JSON:\n{broken", None),
        ("Benchmark statistics as JSON:\n" + '{"a":' * 5000, None),
        ("nothing", None),
    ],
)
def test_statistics_that_a_log_prints(text: str, expected: dict[str, Any] | None) -> None:
    assert statistics_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("batch_size,batch_time_seconds\n8,0.8\n", [Batch(8, 100.0)]),
        ("batch_size,batch_time_seconds\nwarning,0.8\n8,slow\n8\n8,nan\n0,1\n8,0.8\n", [Batch(8, 100.0)]),
        ("query,latency_ms\n0,1.5\n", []),
        ("", []),
        ('batch_size,batch_time_seconds\n8,0.8\n8,"' + "x" * 200_000, []),
    ],
)
def test_batch_tables(text: str, expected: list[Batch]) -> None:
    assert read_batches(text.encode()) == expected


def test_the_first_source_that_has_a_number_is_named(tmp_path: Path) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].edit("summary.json", {"/p95_latency_ms": DELETE})
    first, second = workload_of(tree).runs[:2]
    assert str(first.source("vdb_run.p95_ms")).endswith("statistics.json#/p95_latency_ms")
    assert str(second.source("vdb_run.p95_ms")).endswith("summary.json#/p95_latency_ms")


def test_numbers_that_only_the_log_holds(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    leaf = tree.runs[0]
    printed = leaf.file("statistics.json").read_text()
    leaf.remove("statistics.json")
    leaf.write("vector_database_run.stdout.log", tree.log() + "Benchmark statistics as JSON:\n" + printed)
    run = workload_of(tree).runs[0]
    assert (run.results_from, run.query_count, run.throughput_qps) == ("native", 4800, 80.0)
    assert str(run.source("vdb_run.throughput_qps")).endswith("stdout.log#/throughput_qps")


@pytest.mark.parametrize(
    ("recall", "expected"),
    [
        (0.25, 0.25),
        ({"mean_recall": 0.5, "recall_at_k": 0.4, "max_recall": 1.0}, 0.5),
        ({"recall_at_k": 0.4}, 0.4),
        (None, 0.52),
        (True, Reason.INVALID),
        ("high", Reason.INVALID),
        (float("nan"), Reason.INVALID),
    ],
)
def test_recall_is_a_number_or_a_map(tmp_path: Path, recall: Any, expected: float | Reason) -> None:
    tree = complete(tmp_path / "t")
    tree.runs[0].edit("summary.json", {"/recall": recall})
    value = workload_of(tree).runs[0].recall
    assert (value.reason if isinstance(value, Absence) else value) == expected


def test_every_stated_fact_has_a_source_and_every_other_a_cause(tmp_path: Path) -> None:
    for tree in (complete(tmp_path / "a"), native(tmp_path / "b"), mpi(tmp_path / "c")):
        workload = workload_of(tree)
        for subject in (workload, *workload.runs):
            for name in subject.fact_infos():
                value = subject.lookup(name)
                if isinstance(value, Absence):
                    assert value.cause, name
                else:
                    assert subject.source(name) is not None, name


def test_the_load_that_had_ended_before_the_first_run_counts(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    later = tree.add_load(FIRST_RUN.replace(hour=12))
    later.edit("metadata", {"/dimension": 768})
    workload = workload_of(tree)
    assert workload.loads == 2
    assert workload.load_dimension == 1536
    assert workload.lead_seconds == 3600.0


@pytest.mark.parametrize("data", [b"md5-tree-v2:" + b"a" * 32, b"a" * 32 + b"\n", b"none", b"", b"\xff"])
def test_code_image_pointers(tmp_path: Path, data: bytes) -> None:
    tree = native(tmp_path / "t")
    tree.runs[0].file(".mlps-code-image").write_bytes(data)
    image = workload_of(tree).runs[0].image
    assert image == "a" * 32 if b"a" in data else isinstance(image, Absence)


def test_a_lost_table_of_batches_is_not_recomputed_from(tmp_path: Path) -> None:
    tree = native(tmp_path / "t")
    tree.runs[0].remove("milvus_benchmark_p1.csv")
    lost, whole = (
        {item.name for item in run.recomputed if item.kind == "batches"}  # type: ignore[union-attr]
        for run in workload_of(tree).runs[:2]
    )
    assert lost == set()
    assert whole == {"total_queries", "mean_latency_ms", "p95_latency_ms", "p99_latency_ms"}
