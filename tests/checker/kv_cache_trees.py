"""A legal KV-cache leaf, invented and written by literal values, and the means to spoil it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from trees import describe, point, set_pointer

OPTIONS: dict[int, dict[str, Any]] = {
    1: {
        "model": "llama3.1-8b",
        "num-users": 200,
        "duration": 300,
        "gpu-mem-gb": 0,
        "cpu-mem-gb": 0,
        "max-concurrent-allocs": 16,
        "generation-mode": "none",
    },
    2: {
        "model": "llama3.1-8b",
        "num-users": 100,
        "duration": 300,
        "gpu-mem-gb": 0,
        "cpu-mem-gb": 4,
        "max-concurrent-allocs": 16,
        "generation-mode": "none",
    },
    3: {
        "model": "llama3.1-70b-instruct",
        "num-users": 70,
        "duration": 300,
        "gpu-mem-gb": 0,
        "cpu-mem-gb": 0,
        "max-concurrent-allocs": 4,
        "generation-mode": "none",
    },
}
START = "20260720_120000"
MACHINE = "/home/bench/results/closed/acme/results/fast-1/kv_cache/llama3.1-8b/run"
"""Where the run's own machine had the leaf: other than here, as in real results."""
SOURCE = "/home/bench/storage/kv_cache_benchmark"


def stamp(time: datetime) -> str:
    return time.strftime("%Y%m%d_%H%M%S")


@dataclass
class KvLeaf:
    """One KV-cache leaf on disk."""

    path: Path
    ranks: int
    hosts: int
    trials: int

    @property
    def metadata(self) -> Path:
        return self.path / f"kv_cache_{self.path.name}_metadata.json"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    def result(self, option: int, trial: int, rank: int) -> Path:
        (found,) = self.rank(option, trial, rank).glob("kvcache_results_*.json")
        return found

    def rank(self, option: int, trial: int, rank: int) -> Path:
        return self.path / f"option_{option}" / f"trial_{trial}" / f"rank_{rank}"

    def log(self, option: int, trial: int, stream: str = "stdout") -> Path:
        return self.path / f"kvcache_opt{option}_trial{trial}_{self.path.name}.{stream}.log"

    def edit(self, file: Path, changes: dict[str, Any]) -> None:
        """Change values of a JSON file of the leaf by pointer."""
        data = json.loads(file.read_text())
        for pointer, value in changes.items():
            set_pointer(data, pointer, value)
        file.write_text(json.dumps(data))

    def args(self, **changes: Any) -> None:
        self.edit(self.metadata, {f"/args/{name}": value for name, value in changes.items()})

    def summarise(self, option: int, **changes: Any) -> None:
        self.edit(self.summary, {f"/options/{option}/{name}": value for name, value in changes.items()})

    def command(self, option: int, change: Callable[[str], str], trial: int | None = None) -> None:
        """Change the recorded commands of an Option (of one trial, or of all)."""
        data = json.loads(self.metadata.read_text())
        for entry in data["command_output_files"]:
            words = entry["command"]
            if any(f"/option_{option}/trial_{t} " in words for t in range(self.trials) if trial in (None, t)):
                entry["command"] = change(words)
        self.metadata.write_text(json.dumps(data))

    def parameter(self, option: int, name: str, value: Any, trial: int | None = None) -> None:
        """Change one parameter in the recorded commands and in the benchmark's log of an Option."""
        old = OPTIONS[option][name]
        self.command(option, lambda words: words.replace(f"--{name} {old} ", f"--{name} {value} "), trial)

    def every(self, change: Callable[[dict[str, Any]], None], option: int | None = None) -> None:
        """Change all rank results (of an Option)."""
        for file in sorted(self.path.glob(f"option_{option or '*'}/trial_*/rank_*/*.json")):
            data = json.loads(file.read_text())
            change(data)
            file.write_text(json.dumps(data))

    def aggregate(self) -> None:
        """Write the aggregates of the summary anew, over the rank results that are there."""
        data = json.loads(self.summary.read_text())
        for key, option in data["options"].items():
            rows = [self._rows(int(key), trial) for trial in range(self.trials)]

            def mean(name: str, rows: list[list[dict[str, Any]]] = rows, cache: bool = True) -> float:
                sums = [sum((r["cache_stats"] if cache else r).get(name, 0.0) for r in row) for row in rows]
                return sum(sums) / len(sums)

            def worst(name: str, rows: list[list[dict[str, Any]]] = rows) -> float:
                return max((r["cache_stats"].get(name, 0.0) for row in rows for r in row), default=0.0)

            option["aggregated_read_bandwidth_gbps"] = mean("tier_storage_read_bandwidth_gbps")
            option["aggregated_write_bandwidth_gbps"] = mean("tier_storage_write_bandwidth_gbps")
            option["aggregated_storage_throughput_tokens_per_sec"] = mean(
                "storage_throughput_tokens_per_sec", cache=False
            )
            option["aggregated_avg_throughput_tokens_per_sec"] = mean("avg_throughput_tokens_per_sec", cache=False)
            option["aggregated_device_read_p95_ms"] = worst("storage_read_device_p95_ms")
            option["aggregated_device_write_p95_ms"] = worst("storage_write_device_p95_ms")
            option["aggregated_p95_latency_ms"] = max(
                (r["storage_io_latency_ms"]["p95"] for row in rows for r in row), default=0.0
            )
        self.summary.write_text(json.dumps(data, indent=2))

    def _rows(self, option: int, trial: int) -> list[dict[str, Any]]:
        files = sorted(self.path.glob(f"option_{option}/trial_{trial}/rank_*/*.json"))
        found = [json.loads(file.read_text()) for file in files]
        return [data["summary"] for data in found if "summary" in data]

    def lose(self, *places: tuple[int, int, int], declared: bool) -> None:
        """Remove rank results; ``declared``: the run itself noticed, and aggregated the others."""
        data = json.loads(self.summary.read_text())
        for option, trial, rank in places:
            shutil.rmtree(self.rank(option, trial, rank))
            stated = data["options"][str(option)]
            stated["missing_files"].append(f"{MACHINE}/{START}/option_{option}/trial_{trial}/rank_{rank}")
            stated["partial_failure"] = data["partial_failure"] = True
        if declared:
            self.summary.write_text(json.dumps(data))
            self.aggregate()


@dataclass
class KvTree:
    """A tree with one system and one KV-cache workload."""

    root: Path
    division: str = "closed"
    model: str = "llama3.1-8b"
    hosts: int = 1
    """Clients that the description states."""

    @property
    def workload(self) -> Path:
        return self.root / self.division / "acme" / "results" / "fast-1" / "kv_cache" / self.model

    def describe(self, **architecture: Any) -> None:
        """Write the system description, with changed values of its architecture."""
        path = self.root / self.division / "acme" / "systems" / "fast-1.yaml"
        changes = {f"architecture/{name}": value for name, value in architecture.items()}
        describe(path, changes, hosts=self.hosts, memory_gib=512)

    def add(self, start: str = START, *, ranks: int = 1, hosts: int = 1, trials: int = 3, seed: int = 42) -> KvLeaf:
        """Add a legal leaf of a run that began at ``start`` (its name)."""
        leaf = KvLeaf(self.workload / "run" / start, ranks, hosts, trials)
        leaf.path.mkdir(parents=True)
        names = [f"host{number + 1:02}" for number in range(hosts)]
        slots = ",".join(f"{name}:{ranks // hosts}" for name in names)
        at = datetime.strptime(start, "%Y%m%d_%H%M%S") + timedelta(seconds=4)
        commands = []
        for option, parameters in OPTIONS.items():
            for trial in range(trials):
                base = f"{MACHINE}/{start}/option_{option}/trial_{trial}"
                stated = " ".join(f"--{name} {value}" for name, value in parameters.items())
                commands.append(
                    f"mpirun -n {ranks} -host {slots} --npernode {ranks // hosts} --bind-to none --map-by node "
                    "--mca orte_abort_on_non_zero_status 0 /home/bench/storage/.venv/bin/python3 "
                    f"{SOURCE}/mlperf_wrapper.py --rank-output-base {base} --rank-cache-base /mnt/bench/kvcache "
                    f"--seed-base {seed} --config {SOURCE}/config.yaml {stated}"
                )
                for rank in range(ranks):
                    file = leaf.rank(option, trial, rank) / f"kvcache_results_{stamp(at)}.json"
                    file.parent.mkdir(parents=True)
                    file.write_text(json.dumps(_result(option, trial, rank, ranks, seed)))
                _write_logs(leaf, option, trial, at)
                at += timedelta(seconds=530)
            at += timedelta(seconds=90)
        metadata = {
            "benchmark_type": "kv_cache",
            "model": self.model,
            "command": "run",
            "run_datetime": start,
            "num_processes": ranks,
            "result_dir": f"{MACHINE}/{start}",
            "override_parameters": {},
            "system_info": {"num_hosts": hosts, "hosts": [{"hostname": name} for name in names]},
            "verification": self.division.upper(),
            "executed_command": commands[-1],
            "command_output_files": [{"command": command} for command in commands],
            "args": {
                "mode": self.division,
                "benchmark": "kvcache",
                "command": "run",
                "cache_dir": "/mnt/bench/kvcache",
                "results_dir": "/home/bench/results",
                "config_file": None,
                "skip_validation": False,
                "skip_fs_separation_gate": False,
                "kvcache_bin_path": None,
                "num_processes": ranks,
                "hosts": slots.split(","),
                "mpi_params": None,
                "gpu_mem_gb": 16.0,
                "cpu_mem_gb": 32.0,
                "loops": 1,
                "duration": 60,
                "generation_mode": "realistic",
                "performance_profile": "throughput",
                "enable_rag": True,
                "enable_autoscaling": True,
                "seed": seed,
                "trials": trials,
                "inter_option_delay": 90,
                "allow_invalid_params": False,
                "params": "",
            },
        }
        options = {
            str(option): {
                "option": option,
                "rank_count": ranks,
                "trial_count": trials,
                "partial_failure": False,
                "missing_files": [],
                "cpu_tier_ranks": [],
            }
            for option in OPTIONS
        }
        summary = {
            "schema_version": "1.0",
            "run_datetime": start,
            "npernode": ranks // hosts,
            "host_count": hosts,
            "total_ranks": ranks,
            "trials_per_option": trials,
            "options": options,
            "partial_failure": False,
            "trial_failures": {},
        }
        leaf.metadata.write_text(json.dumps(metadata))
        leaf.summary.write_text(json.dumps(summary))
        leaf.aggregate()
        point(self.root, leaf.path)
        (leaf.path / "fs_separation.json").write_text(json.dumps({"version": 1, "same_filesystem": False}))
        if hosts > 1:
            (leaf.path / ".fs_probe").mkdir()
            for number, name in enumerate(names):
                (leaf.path / ".fs_probe" / f"0123456789ab__rank{number}__{name}.ok").write_text("ok")
        return leaf


def _result(option: int, trial: int, rank: int, ranks: int, seed: int) -> dict[str, Any]:
    """A rank result: numbers of its own, each consistent with the others."""
    own = 1000 * option + 100 * trial + rank
    seconds, read, written = 300.05 + rank / 100, 4000.5 + own, 880.25 + own
    tokens, storage_seconds = 240000 + own, 52000.5 + own
    return {
        "requests_completed": 1500,
        "total_tokens_generated": tokens,
        "total_storage_io_latency": storage_seconds,
        "end_to_end_latencies": [0.5 + own / 1000, 12.25 + own / 1000, 301.0],
        "seed": seed + rank,
        "summary": {
            "elapsed_time": seconds,
            "total_requests": 1500,
            "total_tokens": tokens,
            "storage_throughput_tokens_per_sec": tokens / storage_seconds,
            "avg_throughput_tokens_per_sec": tokens / seconds,
            "storage_io_latency_ms": {"p95": 120000.5 + own},
            "cache_stats": {
                "tier_storage_read_bandwidth_gbps": read / seconds,
                "tier_storage_write_bandwidth_gbps": written / seconds,
                "tier_storage_kv_bytes_read_gb": read,
                "tier_storage_kv_bytes_written_gb": written,
                "cpu_entries": 33,
                "storage_entries": 855,
                "storage_read_device_p95_ms": 13000.5 + own,
                "storage_write_device_p95_ms": 3000.5 + own,
            },
            "autoscaling_stats": [],
            "autoscaling_summary": None,
        },
    }


def _write_logs(leaf: KvLeaf, option: int, trial: int, at: datetime) -> None:
    users = OPTIONS[option]["num-users"]
    banner = [
        f"Users: {users}",
        "Duration: 300s",
        "GPU Memory: 0 GB",
        "Generation Mode: none (0.000s/token)",
        "  - RAG Workload: Disabled",
        "  - Autoscaling: Disabled",
        f"  - Max Concurrent Allocations: {OPTIONS[option]['max-concurrent-allocs']} (by option)",
    ]
    leaf.log(option, trial).write_text("\n".join(line for line in banner for _ in range(leaf.ranks)) + "\n")
    saved = at + timedelta(seconds=440)
    leaf.log(option, trial, "stderr").write_text(
        "".join(f"{saved.isoformat(sep=' ')} - kv_cache.cli - INFO - Results saved to x\n" for _ in range(leaf.ranks))
    )


def legal(root: Path, division: str = "closed", **leaf: Any) -> tuple[KvTree, KvLeaf]:
    """A tree with one legal leaf."""
    tree = KvTree(root, division, hosts=leaf.get("hosts", 1))
    tree.describe()
    return tree, tree.add(**leaf)
