"""The launch adapter: what a plan, and later the probes, say about a run, as facts. It reads and never judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rules.derived import checkpointing as derived
from rules.derived import locations
from rules.derived.variables import storage_variables
from rules.facts import Absence, FactSheet, Known, Reason, Source
from rules.facts.checkpointing import CheckpointingRun, CheckpointingWorkload

from .plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFacts:
    """What the readiness probes found out. None: the probe could not tell.

    ``unasked`` names facts whose probe a readiness problem kept from being made: that problem is told, and they stay
    facts of a later stage.
    """

    client_memory_gib: float | None = None
    client_memory_source: str = "probe:hosts"
    fsync_effective: bool | None = None
    same_filesystem: bool | None = None
    unasked: frozenset[str] = frozenset()


_REMEDIES = {
    "--client-host-memory-in-gb": "Give --client-host-memory-in-gb: the probe read no memory on some host.",
    "probe:dlio": "Install the DLIO that the run needs, or name it with --dlio-bin-path.",
    "probe:filesystem": "See that the probe reaches --checkpoint-folder and --results-dir; name other ones if not.",
}


def remedy(place: str) -> str:
    """What the user can do about a fact that is absent at ``place`` (an absence's path here); empty if not known."""
    return _REMEDIES.get(place) or (f"Give {place}." if place.startswith("--") else "")


def launch_workload(plan: Plan, probes: ProbeFacts | None = None) -> CheckpointingWorkload:
    """Facts of the workload that the planned run begins, with that run as its only leaf.

    Facts that exist only after the probes (until ``probes`` is given) or after the run are absent with reason
    ``later``; what an unknown model leaves open is absent with reason ``no_row``.
    """
    run = _run_sheet(plan, probes)
    sheet = FactSheet()
    for name in (
        "division", "model", "api", "o_direct", "checkpoint_size_gib", "num_hosts", "client_memory_gib",
    ):  # fmt: skip
        sheet.put(name, run.get(name), run.sources.get(name))
    writes, reads = plan.num_checkpoints_write, plan.num_checkpoints_read
    named = dict.fromkeys(plan.source(name) for name in ("num_checkpoints_write", "num_checkpoints_read"))
    counts = Source(", ".join(named))
    sheet.put("invocations", [f"{writes}/{reads}"], counts)
    sheet.put("combined", writes > 0 and reads > 0, counts)
    sheet.put("checkpoints_written", writes, run.sources["num_checkpoints_write"])
    _rest_is_later(sheet, CheckpointingWorkload)
    return sheet.build(CheckpointingWorkload, "", [run.build(CheckpointingRun, "")])


def _run_sheet(plan: Plan, probes: ProbeFacts | None) -> FactSheet:
    sheet = FactSheet()

    def stated(name: str, value: Any, field: str = "") -> None:
        sheet.put(name, value, Source(plan.source(field or name)))

    no_row = Absence(
        f"row:model:{plan.model}",
        Reason.NO_ROW,
        path="--model",
        detail=f"the reference table has no model {plan.model!r}",
    )
    known = plan.architecture is not None
    stated("division", plan.division)
    stated("model", plan.model)
    stated("num_processes", no_row if plan.num_processes is None else plan.num_processes)
    stated("num_hosts", len(plan.hosts), "hosts")
    stated("min_ranks_per_host", no_row if plan.num_processes is None else min(plan.placement), "hosts")
    stated("subset_declared", plan.checkpoint_subset, "checkpoint_subset")
    stated("subset_labelled", no_row if plan.partial is None else plan.partial, "num_processes")
    stated("api", plan.api)
    stated("o_direct", plan.o_direct)
    stated("num_checkpoints_write", plan.num_checkpoints_write)
    stated("num_checkpoints_read", plan.num_checkpoints_read)
    size = plan.checkpoint_gib
    sheet.put("checkpoint_size_gib", no_row if size is None else size, Source("size formula"))
    whole = derived.whole_checkpoint_gib(plan.model)
    sheet.put("whole_checkpoint_gib", no_row if whole is None else whole, Source("size formula"))
    stated("accelerator", plan.accelerator or _not_given("--accelerator-type", Reason.NOT_RECORDED))
    folder = locations.location(plan.checkpoint_folder, plan.api)
    no_folder = _not_given("--checkpoint-folder", Reason.KEY_ABSENT)
    stated("checkpoint_folder", folder or no_folder)
    problem = locations.uri_problem(plan.checkpoint_folder, plan.api)
    stated("folder_problem", problem if folder else no_folder, "checkpoint_folder")
    stated("launch_environment", list(plan.environment), "environment")
    stated("declared_variables", storage_variables(plan.params), "params")
    stated("results_dir", locations.normal_path(plan.results_dir) or _not_given("--results-dir", Reason.KEY_ABSENT))
    workload = plan.workload()
    parameters = derived.compare_parameters(plan.model, workload)
    stated("parameters", parameters if known else no_row, "params")
    stated("architecture", derived.compare_architecture(parameters, plan.model) if known else no_row, "params")
    stated("fsync", _fsync(workload) if known else no_row, "params")
    if probes is not None:
        _put_probes(sheet, plan, probes)
    _rest_is_later(sheet, CheckpointingRun)
    return sheet


def _put_probes(sheet: FactSheet, plan: Plan, probes: ProbeFacts) -> None:
    def found(name: str, value: Any, source: str) -> None:
        if name in probes.unasked:
            return
        unknown = Absence(source, Reason.UNREADABLE, path=source, detail="the probe could not tell")
        sheet.put(name, unknown if value is None else value, Source(source))

    found("client_memory_gib", probes.client_memory_gib, probes.client_memory_source)
    found("fsync_effective", probes.fsync_effective, "probe:dlio")
    if plan.api == "file":
        found("same_filesystem", probes.same_filesystem, "probe:filesystem")
        found("filesystem_evidence", "none" if probes.same_filesystem is None else "sidecar", "probe:filesystem")
    else:
        none = Absence("api:object", Reason.NOT_APPLICABLE, path=plan.source("api"), detail="object API: no filesystem")
        sheet.put("same_filesystem", none)
        sheet.put("filesystem_evidence", "none", Source(plan.source("api")))


def _rest_is_later(sheet: FactSheet, model: type[CheckpointingRun] | type[CheckpointingWorkload]) -> None:
    for name, info in model.fact_infos().items():
        field = name.partition(".")[2]
        if field not in sheet.values:
            stage = "probe" if info.known is Known.PROBE else "run"
            sheet.put(field, Absence(f"later:{stage}", Reason.LATER, detail=f"known after the {stage}"))


def _not_given(option: str, reason: Reason) -> Absence:
    return Absence(f"option:{option}", reason, path=option, detail="not given")


def _fsync(workload: dict[str, str]) -> bool | Absence:
    value = workload.get("checkpoint.fsync", derived.NOT_SET)
    if value in ("true", "false"):
        return value == "true"
    detail = f"{value!r} is not true or false"
    return Absence("planned:checkpoint.fsync", Reason.INVALID, "--param", "checkpoint.fsync", detail)
