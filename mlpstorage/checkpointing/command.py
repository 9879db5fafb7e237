"""The argv that starts the benchmark. Always a list, never a shell; secrets travel by the name of their variable."""

from __future__ import annotations

import os.path
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rules.derived import checkpointing as derived

from ..results import dlio, layout
from .plan import Plan

ENTRY = Path(__file__).with_name("dlio_main.py")
"""What runs under DLIO's interpreter in place of its own start script; see there why."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+-]+")
_BINDING = ("--bind-to", "-bind-to", "--cpu-bind")


def find_mpirun(plan: Plan) -> str | None:
    """Path of the MPI launcher: as given or on PATH, else beside this interpreter or DLIO's (the wheel's place)."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which(plan.mpi_bin) or shutil.which(plan.mpi_bin, path=beside)
    if found is None and (python := find_dlio_python(plan)) is not None:
        found = shutil.which(plan.mpi_bin, path=os.path.dirname(python))
    return found


def find_dlio_python(plan: Plan) -> str | None:
    """The interpreter that DLIO is installed for: that of the start script named, of this environment, or on PATH."""
    places = [plan.dlio_bin_path] if plan.dlio_bin_path else [os.path.dirname(sys.executable)]
    script = None
    for place in places:
        candidate = os.path.join(place, "dlio_benchmark") if os.path.isdir(place) else place
        script = candidate if os.path.isfile(candidate) else script
    if script is None and not plan.dlio_bin_path:
        script = shutil.which("dlio_benchmark")
    return None if script is None else _interpreter(script)


def _interpreter(script: str) -> str | None:
    """The interpreter in a start script's first line; where that is a shell, the one beside the script."""
    try:
        with open(script, "rb") as file:
            first = file.readline(1024)
    except OSError:
        return None
    words = first.removeprefix(b"#!").decode("utf-8", "replace").split()
    if first.startswith(b"#!") and words and "python" in os.path.basename(words[0]):
        return words[0]
    sibling = os.path.join(os.path.dirname(os.path.abspath(script)), "python")
    return sibling if os.path.isfile(sibling) else None


def mpi_prefix(plan: Plan, launcher: str, ranks: int, per_host: Sequence[int]) -> list[str]:
    """Launcher and its arguments for ``ranks`` processes, ``per_host`` of them on each host of the plan."""
    names = [name for name, _ in plan.hosts]
    user = {word.split("=")[0] for word in plan.mpi_params}
    bound = not user.isdisjoint(_BINDING)
    mapped = dlio.maps_ranks(plan.mpi_params)
    if plan.block_placement:
        argv = [launcher, "-n", str(ranks)]
        if not mapped:
            argv += ["--ppn", str(-(-ranks // len(names)))]
        argv += ["--hosts", ",".join(names)]
        if not bound:
            argv += ["--cpu-bind", "none"]
        return [*argv, *plan.mpi_params]
    slots = [max(count, 1) for count in per_host]
    argv = [launcher, "-n", str(ranks), "-host", ",".join(f"{n}:{k}" for n, k in zip(names, slots, strict=True))]
    if not bound:
        argv += ["--bind-to", "none"]
    if not mapped:
        argv += ["--map-by", "node" if len(names) > 1 else "slot"]
    if plan.mpi_btl != "auto":
        argv += ["--mca", "btl", f"{plan.mpi_btl},self"]
    if plan.oversubscribe:
        argv.append("--oversubscribe")
    if plan.allow_run_as_root:
        argv.append("--allow-run-as-root")
    return [*argv, *plan.mpi_params]


def slots(plan: Plan) -> list[int]:
    """Slots to state for each host: those given, else the ranks placed there."""
    placed = plan.placement
    return [given if given is not None else placed[index] for index, (_, given) in enumerate(plan.hosts)]


def benchmark(plan: Plan, *, launcher: str, python: str, leaf: str, config_dir: str) -> list[str]:
    """The whole argv of the benchmark."""
    if plan.num_processes is None:
        raise ValueError("a run needs a process count")
    argv = mpi_prefix(plan, launcher, plan.num_processes, slots(plan))
    if plan.api == "object":
        for name in plan.environment:
            argv += ["-x", name]
    argv += [python, str(ENTRY), f"workload={workload_name(plan)}"]
    argv += [f"++hydra.run.dir={quoted(leaf)}", f"++hydra.output_subdir={layout.DLIO_CONFIG_DIR}"]
    argv += [f"++workload.{key}={quoted(value)}" for key, value in plan.overrides().items()]
    return [*argv, f"--config-dir={config_dir}"]


def leaf_path(plan: Plan, organisation: str, system: str, leaf: str) -> Path:
    """Where the leaf of that name is, under the results directory."""
    return Path(plan.results_dir) / layout.checkpointing_leaf(plan.division, organisation, system, plan.model, leaf)


def workload_name(plan: Plan) -> str:
    """Name of the workload file that hydra selects."""
    return plan.model.replace("-", "_")


def quoted(value: str) -> str:
    """A value in hydra's override grammar: plain where it can be, else a quoted string."""
    if _PLAIN.fullmatch(value):
        return value
    if value == "":
        return "''"
    # In hydra's quoted strings only a quote, and backslashes before one, need escaping.
    escaped = re.sub(r"(\\*)'", lambda match: match[1] * 2 + r"\'", value)
    trailing = len(escaped) - len(escaped.rstrip("\\"))
    return f"'{escaped}{chr(92) * trailing}'"


def write_workload(plan: Plan, config_dir: Path) -> Path:
    """Write the model's reference workload, generated from the reference tables, where hydra finds it."""
    path = config_dir / "workload" / f"{workload_name(plan)}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_yaml(nested(derived.reference_workload(plan.model))), encoding="utf-8")
    return path


def nested(flat: Mapping[str, str]) -> dict[str, object]:
    """Dotted keys and canonical values to the nested, typed form that DLIO's configuration files have."""
    tree: dict[str, object] = {}
    for key, value in flat.items():
        *parents, last = key.split(".")
        node = tree
        for parent in parents:
            child = node.get(parent)
            if not isinstance(child, dict):
                child = node[parent] = {}
            node = child
        node[last] = typed(value)
    return tree


def typed(value: str) -> object:
    """A canonical value as the YAML type that it stands for."""
    if value in ("true", "false"):
        return value == "true"
    if re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return value


def _yaml(tree: Mapping[str, object], indent: str = "") -> str:
    """Block YAML of nested mappings with plain scalars; text that YAML would guess at is quoted."""
    import json

    lines = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{key}:\n{_yaml(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {json.dumps(value)}\n")
    return "".join(lines)
