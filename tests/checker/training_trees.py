"""A small legal results tree with one training workload, written by literal values, and the means to spoil it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from trees import DELETE, GIB, describe, point, set_pointer

UNET3D: dict[str, Any] = {
    "model": {"name": "unet3d", "type": "cnn"},
    "framework": "pytorch",
    "workflow": {"generate_data": False, "train": True, "checkpoint": False},
    "dataset": {
        "data_folder": "data/unet3d/",
        "format": "npz",
        "num_files_train": 168,
        "num_samples_per_file": 1,
        "record_length_bytes": 146600628,
        "record_length_bytes_stdev": 68341808,
        "record_length_bytes_resize": 2097152,
    },
    "reader": {
        "data_loader": "pytorch",
        "batch_size": 7,
        "read_threads": 4,
        "file_shuffle": "seed",
        "sample_shuffle": "seed",
    },
    "train": {"epochs": 5, "computation_time": 0.162},
    "metric": {"au": 0.9},
}
RETINANET: dict[str, Any] = {
    "model": {"name": "retinanet", "type": "cnn"},
    "framework": "pytorch",
    "workflow": {"generate_data": False, "train": True, "checkpoint": False},
    "dataset": {
        "data_folder": "data/retinanet/",
        "format": "jpeg",
        "num_files_train": 1170301,
        "num_samples_per_file": 1,
        "record_length_bytes": 322957,
    },
    "reader": {"data_loader": "pytorch", "batch_size": 24, "read_threads": 8},
    "train": {"epochs": 8, "computation_time": 0.04755},
    "metric": {"au": 0.85},
}
TEMPLATES = {"unet3d": UNET3D, "retinanet": RETINANET}
RUNS = tuple(f"20260701_{hour}0000" for hour in range(10, 16))
DATA, RESULTS = "/mnt/pfs/data", "/home/bench/results"


def merged(template: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """The template with overrides by dotted key."""
    data = json.loads(json.dumps(template))
    for key, value in overrides.items():
        set_pointer(data, "/" + key.replace(".", "/"), value)
    return data


@dataclass
class TrainingLeaf:
    """One leaf on disk."""

    path: Path

    def file(self, name: str) -> Path:
        """A file by a short name."""
        return {
            "metadata": self.path / f"training_{self.path.name}_metadata.json",
            "summary": self.path / "summary.json",
            "config": self.path / "dlio_config" / "config.yaml",
            "overrides": self.path / "dlio_config" / "overrides.yaml",
            "fs": self.path / "fs_separation.json",
            "log": self.path / "training_run.stdout.log",
        }[name]

    def edit(self, name: str, changes: dict[str, Any]) -> None:
        """Change values of a JSON or YAML file by pointer."""
        path = self.file(name)
        load, dump = (yaml.safe_load, yaml.safe_dump) if path.suffix == ".yaml" else (json.loads, json.dumps)
        data = load(path.read_text())
        for pointer, value in changes.items():
            set_pointer(data, pointer, value)
        path.write_text(dump(data))

    def override(self, key: str, value: Any, *, typed: bool = True) -> None:
        """Set a DLIO key as an override: it reaches config.yaml, overrides.yaml and the metadata, as text there."""
        text = str(value)
        if self.file("config").exists():
            self.edit("config", {"/workload/" + key.replace(".", "/"): value})
            items = [item for item in yaml.safe_load(self.file("overrides").read_text()) if f".{key}=" not in item]
            self.file("overrides").write_text(yaml.safe_dump([*items, f"++workload.{key}={text}"]))
        data = json.loads(self.file("metadata").read_text())
        data["override_parameters"][key] = text
        set_pointer(data["parameters"], "/" + key.replace(".", "/"), text)
        if typed:
            others = [item for item in data["args"]["params"] or [] if not item.startswith(f"{key}=")]
            data["args"]["params"] = [*others, f"{key}={text}"]
        self.file("metadata").write_text(json.dumps(data))


@dataclass
class TrainingTree:
    """A tree with one system and one training workload."""

    root: Path
    division: str = "closed"
    model: str = "unet3d"
    accelerator: str = "b200"
    files: int = 56000
    accelerators: int = 16
    hosts: int = 1
    memory_gib: float = 503.5
    """Of one host."""
    au: float = 95.0

    @property
    def workload(self) -> Path:
        return self.root / self.division / "acme" / "results" / "fast-1" / "training" / self.model

    @property
    def runs(self) -> list[TrainingLeaf]:
        return self.leaves("run")

    def leaves(self, phase: str) -> list[TrainingLeaf]:
        """Leaves of a phase that are there."""
        directory = self.workload / phase
        return [TrainingLeaf(path) for path in sorted(directory.iterdir())] if directory.is_dir() else []

    @property
    def names(self) -> list[str]:
        return [f"host{number + 1:02}" for number in range(self.hosts)]

    def build(self) -> TrainingTree:
        """Write everything."""
        description = self.root / self.division / "acme" / "systems" / "fast-1.yaml"
        describe(description, {}, hosts=self.hosts, memory_gib=self.memory_gib)
        self.add_datasize("20260701_080000")
        self.add_datagen("20260701_090000")
        for name in RUNS:
            self.add_run(name)
        return self

    def _metadata(self, name: str, command: str, overrides: dict[str, Any], params: list[str] | None) -> dict[str, Any]:
        memory = int(self.memory_gib * GIB)
        hosts = [
            {"hostname": host, "memory": {"total": memory}, "cpu": {"num_cores": 64, "num_logical_cores": 128}}
            for host in self.names
        ]
        counts = "max_accelerators" if command == "datasize" else "num_accelerators"
        slots = ",".join(f"{host}:{self.accelerators // self.hosts}" for host in self.names)
        return {
            "benchmark_type": "training",
            "model": self.model,
            "command": command,
            "run_datetime": name,
            "num_processes": self.accelerators,
            "accelerator": None if command == "datagen" else self.accelerator,
            "result_dir": f"{RESULTS}/{name}",
            "parameters": merged(TEMPLATES[self.model], overrides),
            "override_parameters": overrides,
            "system_info": {
                "total_memory_bytes": memory * self.hosts,
                "num_hosts": self.hosts,
                "min_memory_bytes": memory,
                "max_memory_bytes": memory,
                "hosts": hosts,
            },
            "verification": None if command == "datasize" else self.division.upper(),
            "executed_command": None
            if command == "datasize"
            else f"mpirun -n {self.accelerators} -host {slots} dlio_benchmark workload={self.model}_{self.accelerator}",
            "args": {
                "mode": self.division,
                "model": self.model,
                "command": command,
                "hosts": self.names,
                "client_host_memory_in_gb": self.memory_gib,
                counts: self.accelerators,
                "accelerator_type": None if command == "datagen" else self.accelerator,
                "num_client_hosts": self.hosts,
                "data_dir": None if command == "datasize" else DATA,
                "params": params,
                "results_dir": RESULTS,
                "data_access_protocol": "file",
                "skip_fs_separation_gate": False,
                "allow_invalid_params": False,
            },
        }

    def add_datasize(self, name: str, files: int | None = None) -> TrainingLeaf:
        """A sizing record; what it prescribes are numbers."""
        leaf = TrainingLeaf(self.workload / "datasize" / name)
        leaf.path.mkdir(parents=True)
        count = self.files if files is None else files
        overrides = {
            "dataset.num_files_train": count,
            "dataset.num_subfolders_train": 0,
            "dataset.total_disk_bytes": count * 146600628,
        }
        leaf.file("metadata").write_text(json.dumps(self._metadata(name, "datasize", overrides, None)))
        point(self.root, leaf.path)
        return leaf

    def add_datagen(self, name: str) -> TrainingLeaf:
        """A generation; overridden values are texts."""
        leaf = TrainingLeaf(self.workload / "datagen" / name)
        params = [f"dataset.num_files_train={self.files}"]
        self._write(leaf, "datagen", params)
        return leaf

    def add_run(self, name: str) -> TrainingLeaf:
        """A run of nearly an hour, up to the next one, with the tree's utilisation in every epoch."""
        leaf = TrainingLeaf(self.workload / "run" / name)
        self._write(leaf, "run", [f"dataset.num_files_train={self.files}", "reader.read_threads=8"])
        template = TEMPLATES[self.model]
        epochs, time = template["train"]["epochs"], template["train"]["computation_time"]
        rate = self.au / 100 * self.accelerators * template["reader"]["batch_size"] / time
        begin = datetime.strptime(name, "%Y%m%d_%H%M%S")
        summary = {
            "start": (begin + timedelta(seconds=10)).isoformat(),
            "end": (begin + timedelta(seconds=3580)).isoformat(),
            "num_accelerators": self.accelerators,
            "num_hosts": self.hosts,
            "num_files_train": self.files,
            "num_files_eval": 0,
            "num_samples_per_file": 1,
            "epochs": epochs,
            "host_memory_GB": [self.memory_gib * self.hosts, *[0.0] * (self.hosts - 1)],
            "metric": {
                "train_au_percentage": [self.au] * epochs,
                "train_au_mean_percentage": self.au,
                "train_au_meet_expectation": "success" if self.au >= 100 * template["metric"]["au"] else "fail",
                "train_throughput_samples_per_second": [rate] * epochs,
                "train_io_mean_MB_per_second": rate * template["dataset"]["record_length_bytes"] / 2**20,
            },
        }
        leaf.file("summary").write_text(json.dumps(summary))
        for rank_file in ("0_output.json", "0_per_epoch_stats.json"):
            (leaf.path / rank_file).write_text("PRUNED BY STAFF\n")
        return leaf

    def _write(self, leaf: TrainingLeaf, command: str, params: list[str]) -> None:
        (leaf.path / "dlio_config").mkdir(parents=True)
        typed = dict(item.split("=", 1) for item in params)
        tool = {
            "dataset.skip_listing": "True",
            "dataset.listing_validation_interval": "1000",
            "dataset.data_folder": f"{DATA}/{self.model}",
        }
        overrides = {**typed, **tool}
        numbers = {key: int(value) if value.isdigit() else value for key, value in overrides.items()}
        config = merged(TEMPLATES[self.model], {**numbers, "dataset.skip_listing": True})
        template = "datagen" if command == "datagen" else self.accelerator
        items = [f"workload={self.model}_{template}", *(f"++workload.{k}={v}" for k, v in overrides.items())]
        leaf.file("metadata").write_text(json.dumps(self._metadata(leaf.path.name, command, overrides, params)))
        leaf.file("config").write_text(yaml.safe_dump({"workload": config}))
        leaf.file("overrides").write_text(yaml.safe_dump(items))
        (leaf.path / "dlio_config" / "hydra.yaml").write_text("hydra: {}\n")
        for stream in ("stdout", "stderr"):
            (leaf.path / f"training_{command}.{stream}.log").write_text("Running DLIO\n")
        (leaf.path / "dlio.log").write_text("[INFO] done\n")
        sidecar = {
            "version": 1,
            "data_or_chkpt_path": f"{DATA}/",
            "results_path": RESULTS,
            "same_filesystem": False,
            "probed_at": datetime.strptime(leaf.path.name, "%Y%m%d_%H%M%S").isoformat() + "Z",
        }
        leaf.file("fs").write_text(json.dumps(sidecar))
        point(self.root, leaf.path)


__all__ = ["DATA", "DELETE", "RESULTS", "RUNS", "TrainingLeaf", "TrainingTree"]
