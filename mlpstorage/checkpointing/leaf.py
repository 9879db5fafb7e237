"""The run leaf: where it is, and what its metadata says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..mpi.collect import Collection
from ..results import layout, provenance
from . import command
from .gate import Decision
from .plan import Plan
from .readiness import Readiness

_UNRECORDED = ("reads", "machine")
"""What hosts answer for the readiness check alone."""


@dataclass(slots=True, kw_only=True)
class Record:
    """All that the metadata of one invocation is made from; filled while the run goes on."""

    plan: Plan
    organisation: str
    system: str
    decision: Decision
    readiness: Readiness
    leaf: Path
    argv: list[str]
    started: datetime
    ended: datetime | None = None
    end_collection: Collection | None = None
    runtime: float = 0.0
    status: str = "running"
    exit_status: int | None = None
    problems: list[str] = field(default_factory=list)

    def metadata(self) -> dict[str, Any]:
        """The metadata document (``checkpointing_<ts>_metadata.json``): no environment, no secrets."""
        plan, readiness = self.plan, self.readiness
        effective = readiness.facts.fsync_effective
        line = shlex.join(self.argv)
        verdict = None if plan.division == "whatif" else self.decision.verdict.upper()
        start, end = _snapshot(readiness.collection), _snapshot(self.end_collection)
        return {
            "benchmark_type": layout.CHECKPOINTING,
            "model": plan.model,
            "command": "run",
            "run_datetime": self.leaf.name,
            "num_processes": plan.num_processes,
            "accelerator": plan.accelerator,
            "result_dir": str(self.leaf),
            "parameters": command.nested(plan.workload()),
            "override_parameters": {key: command.typed(value) for key, value in plan.overrides().items()},
            "system_info": start,
            "cluster_snapshots": {
                "start": start,
                "end": end,
                "collection_method": readiness.collection.method if readiness.collection else None,
            },
            "runtime": self.runtime,
            "invocation_start_time": self.started.isoformat(timespec="microseconds"),
            "invocation_end_time": self.ended.isoformat(timespec="microseconds") if self.ended else None,
            "utc_offset": utc_offset(self.started),
            "verification": verdict,
            "checkpoint_subset": plan.checkpoint_subset,
            "rules_edition": self.decision.edition,
            "launch_findings": self._findings(),
            "fsync_effective": "unknown" if effective is None else effective,
            "provenance_file": provenance.FILE,
            "status": self.status,
            "exit_status": self.exit_status,
            "problems": self.problems,
            "tool": {"name": "mlpstorage", "version": __version__},
            "dlio": {"version": readiness.dlio.get("version"), "python": readiness.python},
            "executed_command": line,
            "command_output_files": [
                {
                    "command": line,
                    "stdout": str(self.leaf / layout.STDOUT_LOG),
                    "stderr": str(self.leaf / layout.STDERR_LOG),
                }
            ],
            "args": self._args(),
        }

    def _findings(self) -> list[dict[str, Any]]:
        document = self.decision.document()
        return [*document["violations"], *document["remarks"], *document["advice"]]

    def _args(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "mode": plan.division,
            "benchmark": layout.CHECKPOINTING,
            "command": "run",
            "hosts": [name if slots is None else f"{name}:{slots}" for name, slots in plan.hosts],
            "num_client_hosts": len(plan.hosts),
            "client_host_memory_in_gb": plan.client_memory_gib,
            "model": plan.model,
            "num_processes": plan.num_processes,
            "checkpoint_subset": plan.checkpoint_subset,
            "accelerator_type": plan.accelerator,
            "exec_type": "mpi",
            "mpi_bin": plan.mpi_bin,
            "mpi_btl": plan.mpi_btl,
            "mpi_params": list(plan.mpi_params) or None,
            "oversubscribe": plan.oversubscribe,
            "allow_run_as_root": plan.allow_run_as_root,
            "dlio_bin_path": plan.dlio_bin_path,
            "results_dir": plan.results_dir,
            "systemname": self.system,
            "orgname": self.organisation,
            "data_access_protocol": plan.api,
            "o_direct": plan.o_direct,
            "checkpoint_folder": plan.checkpoint_folder,
            "num_checkpoints_write": plan.num_checkpoints_write,
            "num_checkpoints_read": plan.num_checkpoints_read,
            "loops": 1,
            "params": [f"{key}={value}" for key, value in plan.params.items()],
            "edition": plan.edition or None,
            "dry_run": False,
        }


def fs_separation(plan: Plan, readiness: Readiness) -> dict[str, Any] | None:
    """Content of ``fs_separation.json``; None for the object API, or where the probe did not answer."""
    paths = readiness.collection.paths if readiness.collection else None
    if plan.api != "file" or paths is None:
        return None
    return {
        "version": 1,
        "method": "link_exdev",
        "data_or_chkpt_path": plan.checkpoint_folder,
        "results_path": plan.results_dir,
        "data_or_chkpt_realpath": paths["data_or_chkpt_realpath"],
        "results_realpath": paths["results_realpath"],
        "same_filesystem": paths["same_filesystem"],
        "st_dev": paths["st_dev"],
        "f_fsid": paths["f_fsid"],
        "probed_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "probed_by_rank": 0,
        "probed_by_host": paths["probed_by_host"],
    }


def utc_offset(moment: datetime) -> str:
    """Offset of a naive local time from UTC, as ``+HH:MM``."""
    text = moment.astimezone().strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


def _snapshot(collection: Collection | None) -> dict[str, Any] | None:
    if collection is None:
        return None
    hosts = [{key: value for key, value in host.items() if key not in _UNRECORDED} for host in collection.hosts]
    totals = [host["memory"]["total"] for host in hosts if host["memory"]["total"] is not None]
    return {
        "total_memory_bytes": sum(totals) if totals else None,
        "min_memory_bytes": min(totals, default=None),
        "max_memory_bytes": max(totals, default=None),
        "total_cores": sum(host["cpu"]["num_cores"] or 0 for host in hosts),
        "num_hosts": len(hosts),
        "collection_method": collection.method,
        "collection_timestamp": max((host["collection_timestamp"] for host in hosts), default=None),
        "host_consistency_issues": _differences(hosts),
        "hosts": hosts,
    }


def _differences(hosts: list[dict[str, Any]]) -> list[str]:
    issues = []
    values: Mapping[str, list[Any]] = {
        "memory": [host["memory"]["total"] for host in hosts],
        "cpu model": [host["cpu"]["model"] for host in hosts],
        "cores": [host["cpu"]["num_cores"] for host in hosts],
        "kernel": [host["system"]["kernel_version"] for host in hosts],
    }
    for name, found in values.items():
        if len(set(found)) > 1:
            issues.append(f"{name} differs between hosts: {', '.join(sorted(map(str, set(found))))}")
    return issues
