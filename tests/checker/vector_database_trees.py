"""Small vector-database trees of invented leaves, in the shapes that tools of the round left; ways to spoil them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from trees import IMAGE, describe, point, set_pointer

QUERIES = 4800
SECONDS = 60.0
QPS = 80.0
LATENCY_MS = 100.0
FIRST_RUN = datetime(2026, 7, 21, 10, 22, 36)


def numbers(factor: float = 1.0) -> dict[str, Any]:
    """The benchmark's numbers: every query took the same time, two processes with batches of 80."""
    names = ("min", "max", "mean", "median", "p95", "p99", "p999", "p9999")
    return {
        "total_queries": round(QUERIES * factor),
        "total_time_seconds": SECONDS * factor,
        "throughput_qps": QPS,
        "batch_count": round(60 * factor),
        "successful_batches": round(60 * factor),
        "failed_batches": 0,
        **{f"{name}_latency_ms": LATENCY_MS for name in names},
        **{f"{name}_batch_time_ms": 80 * LATENCY_MS for name in names},
    }


RECALL = {
    "recall_at_k": 0.52, "mean_recall": 0.52, "min_recall": 0.1, "max_recall": 0.9, "median_recall": 0.5,
    "k": 10, "num_queries_evaluated": 1000, "per_query_recall": [0.1, 0.9],
}  # fmt: skip


@dataclass
class Leaf:
    """One leaf on disk."""

    path: Path

    @property
    def metadata(self) -> Path:
        return self.path / f"vector_database_{self.path.name}_metadata.json"

    def file(self, name: str) -> Path:
        return self.metadata if name == "metadata" else self.path / name

    def edit(self, name: str, changes: dict[str, Any]) -> None:
        """Change values of a JSON file by pointer; 'metadata' names the metadata."""
        data = json.loads(self.file(name).read_text())
        for pointer, value in changes.items():
            set_pointer(data, pointer, value)
        self.write(name, data)

    def write(self, name: str, data: Any) -> None:
        path = self.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data, indent=1))

    def replace(self, name: str, old: str, new: str) -> None:
        text = self.file(name).read_text()
        assert old in text
        self.file(name).write_text(text.replace(old, new))

    def remove(self, name: str) -> None:
        self.file(name).unlink()


@dataclass
class Tree:
    """One system with one index directory."""

    root: Path
    division: str = "closed"
    engine: str = "milvus"
    index: str = "DISKANN"
    vectors: int = 1_000_000
    dimension: int = 1536
    runtime: int = 60
    runs: list[Leaf] = field(default_factory=list)
    loads: list[Leaf] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return self.root / self.division / "acme" / "results" / "vec-1" / "vector_database" / self.engine / self.index

    def describe(self, api: str = "file") -> None:
        path = self.root / self.division / "acme" / "systems" / "vec-1.yaml"
        describe(path, {"architecture/benchmark_API": api}, hosts=1, memory_gib=512)

    def _metadata(self, command: str, start: datetime, seconds: int, extra: dict[str, Any]) -> dict[str, Any]:
        stamp = start.strftime("%Y%m%d_%H%M%S")
        return {
            "benchmark_type": "vector_database",
            "model": f"{self.engine}_{self.index}",
            "command": command,
            "run_datetime": stamp,
            "parameters": {},
            "override_parameters": {},
            "system_info": None,
            "runtime": self.runtime,
            "invocation_start_time": start.isoformat(),
            "invocation_end_time": (start + timedelta(seconds=seconds)).isoformat(),
            "verification": self.division.upper(),
            "executed_command": f"vdb {command}",
            "vdb_engine": self.engine,
            "vdb_index": self.index,
            "collection": "bench_1m",
            "args": {
                "mode": self.division,
                "benchmark": "vector_database",
                "command": command,
                "vdb_engine": self.engine,
                "vdb_index": self.index,
                "collection": "bench_1m",
                "results_dir": "/srv/results",
                "storage_root": "/mnt/bench/milvus",
                "storage_type": "local_fs",
                "data_access_protocol": "file",
                "skip_fs_separation_gate": False,
                "params": "",
                "allow_invalid_params": False,
                "loops": 1,
                "config": "default",
                "_validated_pool_hash": IMAGE,
            },
            **extra,
        }

    def add_load(self, start: datetime = FIRST_RUN - timedelta(hours=2)) -> Leaf:
        """A datagen leaf of one hour whose logs show a complete, compacted index."""
        leaf = Leaf(self.directory / "datagen" / start.strftime("%Y%m%d_%H%M%S"))
        extra = {
            "dimension": self.dimension, "num_vectors": self.vectors, "num_shards": 2, "vector_dtype": "FLOAT_VECTOR",
            "distribution": "uniform", "batch_size": 1000, "chunk_size": 10000, "index_type": self.index,
            "metric_type": None, "seed": 42,
        }  # fmt: skip
        leaf.write("metadata", self._metadata("datagen", start, 3600, extra))
        half, total = f"{self.vectors // 2:,}", f"{self.vectors:,}"
        parameters = {"index_type": self.index, "metric_type": "COSINE", "params": {"max_degree": 64}}
        leaf.write(
            "vector_database_datagen.stderr.log",
            f"INFO Created collection 'bench_1m' with {self.dimension} dimensions and 2 shards\n"
            f"INFO Creating index with parameters: {parameters}\n"
            "INFO Index creation command completed in 0.51 seconds\n"
            f"INFO Generating {self.vectors} vectors with {self.dimension} dimensions using uniform distribution\n"
            f"INFO Inserted batch 1/10: 1000 of {half} vectors\n"
            f"INFO Inserted {half} vectors in 30.00 seconds\n"
            f"INFO Inserted {half} vectors in 31.00 seconds\n"
            f"INFO Progress: 66.3% complete... ({half}/{total} rows) | Pending rows: {half}\n"
            f"INFO Progress: 100.00% complete... ({total}/{total} rows) | Pending rows: 0\n"
            "INFO Process fully complete!\n"
            "INFO Collection 'bench_1m' compacted successfully.\n"
            "INFO Benchmark completed successfully!\n",
        )
        leaf.write("vector_database_datagen.stdout.log", "")
        point(self.root, leaf.path)
        self.loads.append(leaf)
        return leaf

    def add_run(self, number: int) -> Leaf:
        """A single-node run leaf with everything that a current tool leaves, and no summary.json."""
        start = FIRST_RUN + timedelta(seconds=number * (self.runtime + 20))
        leaf = Leaf(self.directory / "run" / start.strftime("%Y%m%d_%H%M%S"))
        factor = self.runtime / SECONDS
        extra = {
            "num_query_processes": 2, "batch_size": 80, "queries": None, "benchmark_mode": "timed",
            "vector_dim": self.dimension, "search_limit": 10, "search_ef": 50, "recall_k": None,
        }  # fmt: skip
        leaf.write("metadata", self._metadata("run", start, self.runtime + 10, extra))
        leaf.edit("metadata", {"/args/runtime": self.runtime, "/args/queries": None})
        leaf.write("statistics.json", {**numbers(factor), "recall": RECALL, "disk_io": {"error": "none"}})
        leaf.write("recall_stats.json", RECALL)
        leaf.write("config.json", self._config(start))
        flat = {
            "ok": True, "coverage": 1.0, "total_vectors": self.vectors, "copied_vectors": self.vectors,
            "had_recoverable_error": False, "reason": "", "reused": False,
        }  # fmt: skip
        verdict = {"result": "ok", "valid": True, "num_queries_evaluated": 1000, "flat_setup": flat}
        leaf.write("result_verdict.json", verdict)
        batches = round(30 * factor)
        for process in range(2):
            rows = [f"{process},{n * 2.0},{n},80,8.0,0.1,True" for n in range(batches)]
            rows.insert(5, f"{process},warning: slow,x,80,n/a,,False")  # a stray row
            header = "process_id,timestamp,batch_id,batch_size,batch_time_seconds,avg_query_time_seconds,success"
            leaf.write(f"milvus_benchmark_p{process}.csv", "\n".join([header, *rows]) + "\n")
        leaf.write("vector_database_run.stdout.log", self.log())
        leaf.write("vector_database_run.stderr.log", "")
        leaf.write("fs_separation.json", {"version": 1, "same_filesystem": False})
        point(self.root, leaf.path)
        self.runs.append(leaf)
        return leaf

    def _config(self, start: datetime) -> dict[str, Any]:
        return {
            "timestamp": start.isoformat(), "processes": 2, "batch_size": 80, "report_count": 10,
            "vector_dim": self.dimension, "host": "127.0.0.1", "port": "19530", "collection_name": "bench_1m",
            "runtime_seconds": self.runtime, "total_queries": None, "search_limit": 10, "search_ef": 50,
            "gt_collection": None, "num_query_vectors": 1000, "no_create_flat": False, "seed": 42, "recall_k": 10,
            "metric_type": "COSINE", "index_type": self.index,
            "search_params": {"metric_type": "COSINE", "params": {"search_list": 200}},
        }  # fmt: skip

    def log(self, ranks: int = 1) -> str:
        """The standard output of a run."""
        information = {
            "name": "bench_1m",
            "row_count": self.vectors,
            "dimension": self.dimension,
            "index_info": [{"index_type": self.index, "metric_type": "COSINE", "params": {}}],
        }
        rank = (
            f"COLLECTION INFORMATION: {information}\n"
            f"Generating 1000 query vectors (dim={self.dimension}, seed=42, mode=independent)\n"
            f"FLAT collection 'bench_flat' already exists with {self.vectors} vectors and passed the content check\n"
            "RECALL SETUP (outside benchmark timing)\n"
        )
        return rank * ranks + f"Starting benchmark with 2 processes and runtime={self.runtime} seconds\n"

    def summary(self, leaf: Leaf) -> dict[str, Any]:
        """What a tool that writes summary.json makes of a run."""
        factor = self.runtime / SECONDS
        found = numbers(factor)
        names = ("throughput_qps", "total_time_seconds", *(f"{n}_latency_ms" for n in ("mean", "p95", "p99", "p999")))
        return {
            "num_vectors": self.vectors,
            "dimension": self.dimension,
            "index_type": self.index,
            "database": {"database": self.engine},
            "query_count": found["total_queries"],
            **{name: found[name] for name in names},
            "recall": RECALL["mean_recall"],
        }


def complete(root: Path, **options: Any) -> Tree:
    """A tree without any finding: five runs with summary.json, a sidecar and a verdict."""
    tree = native(root, **options)
    for leaf in tree.runs:
        leaf.write("summary.json", tree.summary(leaf))
    return tree


def native(root: Path, **options: Any) -> Tree:
    """The same without summary.json: what tools of the round wrote, with later evidence of paths."""
    tree = Tree(root, **options)
    tree.describe()
    tree.add_load()
    for number in range(5):
        tree.add_run(number)
    return tree


def mpi(root: Path, ranks: int = 4) -> Tree:
    """Runs on MPI ranks: a summary, collected statistics, no verdict; the ranks' own files were left behind."""
    tree = Tree(root)
    tree.describe()
    tree.add_load()
    for number in range(5):
        leaf = tree.add_run(number)
        for name in ("statistics.json", "recall_stats.json", "config.json", "result_verdict.json"):
            leaf.remove(name)
        for name in ("milvus_benchmark_p0.csv", "milvus_benchmark_p1.csv", "vector_database_run.stdout.log"):
            leaf.remove(name)
        begin = 1784000000.0
        collected = {
            **numbers(),
            "recall": {"aggregation": "mean over ranks", "mean_recall": 0.52, "max_recall": 0.9,
                       "num_queries_evaluated": 4000},
            "aggregation": "sum", "benchmark_phase": "run",
            "mpi": {"expected_ranks": ranks, "rank_count": ranks, "ranks_seen": list(range(ranks)), "missing_ranks": [],
                    "failed_ranks": [], "malformed_payload_count": 0, "partial_failure": False},
            "rank_summaries": [
                {"total_queries": QUERIES // ranks, "throughput_qps": QPS / ranks, "failed_batches": 0,
                 "start_time": begin + rank * 0.01, "end_time": begin + SECONDS - (ranks - 1 - rank) * 0.01}
                for rank in range(ranks)
            ],
        }  # fmt: skip
        leaf.write("vectordb/simple/statistics.json", collected)
        leaf.write("vectordb/simple/vdb_multi_node_summary.json", collected)
        leaf.write("vector_database_run_simple_mpi.stdout.log", tree.log(ranks))
        leaf.edit("metadata", {"/mpi_world_size": ranks})
        leaf.write("summary.json", tree.summary(leaf))
    return tree


Spoil = Callable[[Tree], None]


def each_run(change: Callable[[Leaf], None]) -> Spoil:
    """The change on every run."""

    def spoil(tree: Tree) -> None:
        for leaf in tree.runs:
            change(leaf)

    return spoil


def edit(name: str, changes: dict[str, Any]) -> Spoil:
    """Change a file of the first run."""
    return lambda tree: tree.runs[0].edit(name, changes)


def edit_load(name: str, changes: dict[str, Any]) -> Spoil:
    """Change a file of the load."""
    return lambda tree: tree.loads[0].edit(name, changes)


def both(*spoils: Spoil) -> Spoil:
    """One after the other."""

    def spoil(tree: Tree) -> None:
        for one in spoils:
            one(tree)

    return spoil
