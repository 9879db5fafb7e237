"""Small legal results trees, written by literal values, and the means to spoil them."""

from __future__ import annotations

import copy
import json
import os
import socket
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

GIB = 2**30

MODELS: dict[str, dict[str, Any]] = {
    "llama3-8b": {
        "size": 104.70452117919922,
        "processes": 8,
        "model": {
            "name": "llama_8b",
            "type": "transformer",
            "num_layers": 32,
            "model_datatype": "fp16",
            "optimizer_datatype": "fp32",
            "parallelism": {"tensor": 1, "pipeline": 1, "zero_stage": 3},
            "transformer": {
                "vocab_size": 128256,
                "hidden_size": 4096,
                "ffn_hidden_size": 14336,
                "num_attention_heads": 32,
                "num_kv_heads": 8,
            },
        },
    },
    "llama3-70b": {
        "size": 911.2121276855469,
        "processes": 64,
        "model": {
            "name": "llama_70b",
            "type": "transformer",
            "num_layers": 80,
            "model_datatype": "fp16",
            "optimizer_datatype": "fp32",
            "parallelism": {"tensor": 8, "pipeline": 1, "zero_stage": 3},
            "transformer": {
                "vocab_size": 128256,
                "hidden_size": 8192,
                "ffn_hidden_size": 28672,
                "num_attention_heads": 128,
                "num_kv_heads": 8,
            },
        },
    },
}

_CHASSIS = {
    "model_name": "2U server",
    "cpu_model": "Vendor 9999",
    "cpu_qty": 2,
    "cpu_cores": 64,
    "memory_capacity": 512,
    "rack_units": 2,
    "power": {
        "min_psus_active": 1,
        "psus_configured": [
            {"unit_count": 2, "inlet_voltage": 230, "nameplate_power_watts": 1600, "efficiency": "Platinum"}
        ],
    },
}
_NETWORKING = [{"unit_count": 2, "type": "ethernet", "state": "up", "speed": 100, "traffic": ["data"]}]
_SYSTEM = {"name": "Linux", "version": "6.8"}

DESCRIPTION: dict[str, Any] = {
    "system_under_test": {
        "solution": {
            "submission_name": "fast-1",
            "friendly_description": "Two storage nodes",
            "usable_capacity_tib": 100.5,
            "availability": "available",
            "architecture": {
                "storage_location": "remote",
                "benchmark_API": "file",
                "product_API": "file",
                "client_footprint": "open_source",
                "client_installation": "in_box",
            },
            "capabilities": {
                "multi_host": True,
                "simultaneous_write": True,
                "simultaneous_read": True,
                "remap_time_in_seconds": 0,
            },
        },
        "deployment": "onprem",
        "total_rack_units": 4,
        "product_nodes": [
            {
                "friendly_description": "Storage node",
                "quantity": 2,
                "chassis": _CHASSIS,
                "networking": _NETWORKING,
                "operating_system": _SYSTEM,
            }
        ],
        "clients": [
            {
                "friendly_description": "Client",
                "quantity": 1,
                "chassis": _CHASSIS,
                "networking": _NETWORKING,
                "operating_system": _SYSTEM,
            }
        ],
    }
}

PDF = b"%PDF-1.4\n%%EOF\n"


def cases_directory() -> Path:
    """Where the cases lie: MLPSTORAGE_CASES, else shared/cases beside the repository."""
    configured = os.environ.get("MLPSTORAGE_CASES")
    return Path(configured) if configured else Path(__file__).parents[3] / "shared" / "cases"


def dump_yaml(data: Any) -> str:
    """YAML without anchors, which descriptions must not have."""
    return yaml.safe_dump(json.loads(json.dumps(data)), sort_keys=False)


def describe(path: Path, changes: dict[str, Any], *, hosts: int, memory_gib: float) -> None:
    """Write a description of the system that is called as the file, and a PDF beside it.

    ``changes``: values (or DELETE) by pointer below ``solution``; ``hosts``: clients of ``memory_gib`` each.
    """
    description = copy.deepcopy(DESCRIPTION)
    for pointer, value in {"submission_name": path.stem, **changes}.items():
        set_pointer(description, f"/system_under_test/solution/{pointer}", value)
    (client,) = description["system_under_test"]["clients"]
    client["quantity"] = hosts
    client["chassis"]["memory_capacity"] = int(memory_gib)
    write_description(path, description)


def write_description(path: Path, description: dict[str, Any]) -> None:
    """Write a description, and a PDF beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_yaml(description))
    path.with_suffix(".pdf").write_bytes(PDF)


IMAGE = "3db5838b720b8828eef40fd19b8bc3c8"
"""Hash of the code image that :func:`point` makes: one file, its path and its content."""


def point(root: Path, leaf: Path, content: str = "print('hello')\n", digest: str = IMAGE) -> Path:
    """Let a leaf point to an image of the tree's pool, and make that image. Gives the image's directory."""
    image = root / "code-images" / f"code-{digest[:8]}"
    (image / "mlpstorage").mkdir(parents=True, exist_ok=True)
    (image / "mlpstorage/main.py").write_text(content)
    record = {
        "hash": digest,
        "algorithm": "md5-tree-v2",
        "captured_at": "2026-07-01T09:00:00Z",
        "mlpstorage_version": "3.0.46",
        "git_sha": None,
    }
    (image / ".code-hash.json").write_text(json.dumps(record, indent=2))
    (root / "code-images/.mlps-image-pool").write_text("mlpstorage_version=3.0.46\n")
    (leaf / ".mlps-code-image").write_text(f"md5-tree-v2:{digest}")
    return image


DELETE = object()
"""As a new value: remove the key."""


def set_pointer(data: Any, pointer: str, value: Any) -> None:
    """Set (or with DELETE remove) the value at a JSON pointer, making objects on the way."""
    *parents, last = pointer.split("/")[1:]
    for key in parents:
        data = data[int(key)] if isinstance(data, list) else data.setdefault(key, {})
    if value is DELETE:
        data.pop(last, None)
    else:
        data[last] = value


@dataclass
class LeafDir:
    """One leaf on disk."""

    path: Path

    @property
    def metadata(self) -> Path:
        return self.path / f"checkpointing_{self.path.name}_metadata.json"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    def edit(self, file: str, changes: dict[str, Any]) -> None:
        """Change values of a file of the leaf by JSON pointer: metadata, summary, stats, config, overrides, fs."""
        path = {
            "metadata": self.metadata,
            "summary": self.summary,
            "stats": self.path / "0_per_epoch_stats.json",
            "config": self.path / "dlio_config" / "config.yaml",
            "fs": self.path / "fs_separation.json",
        }[file]
        is_yaml = path.suffix == ".yaml"
        data = yaml.safe_load(path.read_text()) if is_yaml else json.loads(path.read_text())
        for pointer, value in changes.items():
            set_pointer(data, pointer, value)
        path.write_text(yaml.safe_dump(data) if is_yaml else json.dumps(data))

    def override(self, key: str, value: Any) -> None:
        """Set a DLIO key as a user's override: it reaches config.yaml, overrides.yaml, command and metadata."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        pointer = "/workload/" + key.replace(".", "/")
        self.edit("config", {pointer: value})
        overrides = self.path / "dlio_config" / "overrides.yaml"
        items = [item for item in yaml.safe_load(overrides.read_text()) if not item.startswith(f"++workload.{key}=")]
        overrides.write_text(yaml.safe_dump([*items, f"++workload.{key}={text}"]))
        data = json.loads(self.metadata.read_text())
        words = [word for word in data["executed_command"].split() if not word.startswith(f"++workload.{key}=")]
        data["executed_command"] = " ".join([*words, f"++workload.{key}={text}"])
        data["override_parameters"][key] = value
        set_pointer(data["parameters"], "/" + key.replace(".", "/"), value)
        self.metadata.write_text(json.dumps(data))


@dataclass
class Tree:
    """A tree with one system and one checkpointing workload of one organisation."""

    root: Path
    division: str = "closed"
    organisation: str = "acme"
    system: str = "fast-1"
    model: str = "llama3-8b"
    leaves: list[LeafDir] = field(default_factory=list)
    hosts: int = 1
    """Clients that the description states, and their memory."""
    memory_gib: float = 251.5

    @property
    def description(self) -> Path:
        return self.root / self.division / self.organisation / "systems" / f"{self.system}.yaml"

    @property
    def workload(self) -> Path:
        base = self.root / self.division / self.organisation / "results" / self.system
        return base / "checkpointing" / self.model

    def describe(self, **changes: Any) -> None:
        """Write the system description, with changed (or DELETEd) capabilities."""
        capabilities = {f"capabilities/{name}": value for name, value in changes.items()}
        describe(self.description, capabilities, hosts=self.hosts, memory_gib=self.memory_gib)

    def write_description(self, description: dict[str, Any]) -> None:
        """Write a description, and a PDF beside it."""
        write_description(self.description, description)

    def add(
        self,
        start: str,
        writes: int,
        reads: int,
        *,
        processes: int | None = None,
        hosts: int = 1,
        memory_gib: float = 251.5,
        utc_offset: int = -6,
    ) -> LeafDir:
        """Add a leaf of a run that began at ``start`` (its name) and took five minutes."""
        facts = MODELS[self.model]
        count = facts["processes"] if processes is None else processes
        begin = datetime.strptime(start, "%Y%m%d_%H%M%S")
        leaf = LeafDir(self.workload / start)
        (leaf.path / "dlio_config").mkdir(parents=True)
        point(self.root, leaf.path)
        names = [f"host{number + 1:02}" for number in range(hosts)]
        checkpoint = {
            "checkpoint_folder": f"/mnt/pfs/ckpt/{self.model}",
            "time_between_checkpoints": 5,
            "num_checkpoints_write": writes,
            "num_checkpoints_read": reads,
            "fsync": True,
        }
        workload = {
            "model": facts["model"],
            "framework": "pytorch",
            "workflow": {"generate_data": False, "train": False, "checkpoint": True},
            "checkpoint": checkpoint,
        }
        overrides = {
            "checkpoint.num_checkpoints_read": reads,
            "checkpoint.num_checkpoints_write": writes,
            "checkpoint.checkpoint_folder": f"/mnt/pfs/ckpt/{self.model}",
        }
        items = [f"workload={self.model.replace('-', '_')}", *(f"++workload.{k}={v}" for k, v in overrides.items())]
        slots = ",".join(f"{name}:{count // hosts}" for name in names)

        def local(seconds: float) -> str:
            return (begin + timedelta(seconds=seconds)).isoformat(timespec="microseconds")

        def collection(seconds: int) -> dict[str, Any]:
            stamp = (begin + timedelta(seconds=seconds, hours=-utc_offset)).isoformat() + "Z"
            memory = int(memory_gib * GIB)
            return {
                "total_memory_bytes": memory * hosts,
                "num_hosts": hosts,
                "min_memory_bytes": memory,
                "collection_timestamp": stamp,
                "hosts": [
                    {"hostname": name, "memory": {"total": memory}, "collection_timestamp": stamp} for name in names
                ],
            }

        metadata = {
            "benchmark_type": "checkpointing",
            "model": self.model,
            "command": "run",
            "run_datetime": start,
            "num_processes": count,
            "accelerator": None,
            "result_dir": f"/home/bench/results/{start}",
            "parameters": workload,
            "override_parameters": overrides,
            "system_info": collection(2),
            "cluster_snapshots": {"start": collection(2), "end": collection(299), "collection_method": "mpi"},
            "invocation_start_time": local(0.25),
            "invocation_end_time": local(300.5),
            "verification": "CLOSED" if self.division == "closed" else "OPEN",
            "executed_command": f"mpirun -n {count} -host {slots} --bind-to none dlio_benchmark {' '.join(items)}",
            "args": {
                "mode": self.division,
                "benchmark": "checkpointing",
                "command": "run",
                "model": self.model,
                "num_processes": count,
                "hosts": slots.split(","),
                "client_host_memory_in_gb": 256.0,
                "mpi_bin": "mpirun",
                "mpi_params": None,
                "checkpoint_folder": "/mnt/pfs/ckpt",
                "results_dir": "/home/bench/results",
                "data_access_protocol": "file",
                "o_direct": False,
                "num_checkpoints_write": writes,
                "num_checkpoints_read": reads,
                "params": "",
            },
        }
        steps = {
            f"{phase}_ckpt{number + 1}": {"start": local(offset + 10 * number), "end": local(offset + 10 * number + 9)}
            for phase, total, offset in (("save", writes, 20), ("load", reads, 130))
            for number in range(total)
        }
        summary = {
            "start": local(10),
            "end": local(290),
            "num_accelerators": count,
            "num_hosts": hosts,
            "host_memory_GB": [memory_gib * hosts, *[0.0] * (hosts - 1)],
            "metric": {"checkpoint_size_GB": facts["size"]},
        }
        write = leaf.path.joinpath
        leaf.metadata.write_text(json.dumps(metadata, indent=1))
        leaf.summary.write_text(json.dumps(summary))
        write("0_per_epoch_stats.json").write_text(json.dumps({"1": {"start": local(10), **steps, "end": local(289)}}))
        write("fs_separation.json").write_text(json.dumps({"version": 1, "same_filesystem": False}))
        write("dlio_config", "config.yaml").write_text(yaml.safe_dump({"workload": workload}))
        write("dlio_config", "overrides.yaml").write_text(yaml.safe_dump(items))
        write("dlio_config", "hydra.yaml").write_text("hydra: {}\n")
        write("checkpointing_run.stdout.log").write_text("Running DLIO\n")
        write("checkpointing_run.stderr.log").write_text("")
        write("dlio.log").write_text("Running DLIO\n")
        write("0_output.json").write_text("{}")
        write("..", "results.json").write_text("[]")
        self.leaves.append(leaf)
        return leaf


def pair(root: Path, **leaf: Any) -> Tree:
    """A legal CLOSED 8B write/read pair: the read run starts 9.75 s after the write run ended."""
    tree = Tree(root, hosts=leaf.get("hosts", 1), memory_gib=leaf.get("memory_gib", 251.5))
    tree.describe()
    tree.add("20260701_100000", 10, 0, **leaf)
    tree.add("20260701_100510", 0, 10, **leaf)
    return tree


def combined(root: Path, model: str = "llama3-8b", **options: Any) -> Tree:
    """A legal CLOSED run that writes and reads in one invocation, on clients of little memory."""
    tree = Tree(root, model=model, **{k: options.pop(k) for k in ("division", "organisation") if k in options})
    options = {"memory_gib": 125.0, **options}
    tree.hosts, tree.memory_gib = options.get("hosts", 1), options["memory_gib"]
    tree.describe()
    tree.add("20260701_100000", 10, 10, **options)
    return tree


def opened(root: Path) -> Tree:
    """A tree that exists: its first checkpointing workload."""
    workload = sorted(root.glob("*/*/results/*/checkpointing/*"))[0]
    division, organisation, _, system, _, model = workload.relative_to(root).parts
    leaves = [LeafDir(path) for path in sorted(workload.iterdir()) if path.is_dir()]
    for leaf in leaves:  # the cases lack the pool of their code images
        point(root, leaf.path)
    seen = json.loads(leaves[0].metadata.read_text())["system_info"]
    memory_gib = seen["total_memory_bytes"] / seen["num_hosts"] / GIB
    return Tree(root, division, organisation, system, model, leaves, seen["num_hosts"], memory_gib)


def unix_socket(path: Path) -> None:
    """Put a socket there, in the place of a file if there is one."""
    path.unlink(missing_ok=True)
    here = os.getcwd()
    os.chdir(path.parent)  # socket paths are short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)
