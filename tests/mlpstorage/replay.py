"""The plan that a recorded leaf was run with, rebuilt from its metadata, so that the launch adapter can be replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlpstorage.checkpointing.plan import Plan
from rules.derived.checkpointing import parse_hosts


def plan_from_metadata(metadata: Mapping[str, Any]) -> Plan:
    """What was asked for, by ``args``; what the environment added then shows only in ``override_parameters``."""
    args, overrides = metadata["args"], metadata["override_parameters"]
    params = args.get("params") or []
    return Plan(
        division=args["mode"],
        model=args["model"],
        num_processes=args["num_processes"],
        checkpoint_folder=args["checkpoint_folder"],
        results_dir=args["results_dir"],
        num_checkpoints_write=args["num_checkpoints_write"],
        num_checkpoints_read=args["num_checkpoints_read"],
        checkpoint_subset=bool(args.get("checkpoint_subset", False)),
        hosts=tuple(parse_hosts(args["hosts"])),
        accelerator=args.get("accelerator_type"),
        params=dict(entry.split("=", 1) for entry in params),
        api=args["data_access_protocol"],
        o_direct=args["o_direct"],
        storage_library=overrides.get("storage.storage_options.storage_library", "s3dlio"),
        endpoint_set="storage.s3_force_path_style" in overrides,
        client_memory_gib=args.get("client_host_memory_in_gb"),
        mpi_bin=args["mpi_bin"],
        mpi_params=tuple(args.get("mpi_params") or ()),
    )
