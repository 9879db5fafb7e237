"""Derived facts of checkpointing: checkpoint size, placement of ranks, parameters beside their reference.

All of it is arithmetic on reference tables and on what an adapter observed; limits do not occur here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..facts.checkpointing import Parameter
from ..remembered import remembered
from ..tables import load_table, reference_rows

GIB = 2**30
NOT_SET = "(not set)"

_WEIGHT_BYTES = 2
"""fp16 weights."""
_OPTIMIZER_BYTES = 12
"""Three fp32 states a parameter."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """Dimensions of one model, from the reference table (or overridden in a whatif run)."""

    num_layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int
    tensor: int
    pipeline: int
    data: int
    zero_stage: int

    @property
    def unit(self) -> int:
        """Ranks of one data-parallel instance, TP x PP."""
        return self.tensor * self.pipeline


@cache
def model_names() -> tuple[str, ...]:
    """The checkpointing models of the rule book."""
    return tuple(reference_rows("checkpointing-models"))


def architecture(model: str) -> Architecture | None:
    """Reference architecture of a model; None where the table has no such row."""
    row = reference_rows("checkpointing-models").get(model)
    if row is None:
        return None
    return Architecture(
        num_layers=row["num_layers"],
        hidden=row["hidden_size"],
        ffn=row["ffn_hidden_size"],
        heads=row["num_attention_heads"],
        kv_heads=row["num_kv_heads"],
        vocab=row["vocab_size"],
        tensor=row["tensor_parallel"],
        pipeline=row["pipeline_parallel"],
        data=row["data_parallel"],
        zero_stage=row["zero_stage"],
    )


def closed_processes(model: str) -> int | None:
    """Process count of a CLOSED run of the model (Table 2); None for an unknown model."""
    row = reference_rows("checkpointing-models").get(model)
    return None if row is None else int(row["closed_processes"])


def data_parallel(model: str) -> int | None:
    """Data-parallel instances of the CLOSED run; None for an unknown model."""
    row = reference_rows("checkpointing-models").get(model)
    return None if row is None else int(row["data_parallel"])


def parameter_count(a: Architecture) -> int:
    """Parameters of the model: P = 2Vh + h + L(2h + h(h + 2d) + h^2 + 3hf), d = (h // heads) * kv."""
    h, d = a.hidden, (a.hidden // a.heads) * a.kv_heads
    return 2 * a.vocab * h + h + a.num_layers * (2 * h + h * (h + 2 * d) + h * h + 3 * h * a.ffn)


def rank_bytes(a: Architecture, rank: int) -> int:
    """Bytes that one rank writes for one checkpoint: its shard of the weights and of the optimizer.

    Ranks are numbered tensor first, then pipeline, then data. ZeRO 3 shards the weights over the data-parallel
    instances; with ZeRO 1 only the first instance writes them. All divisions floor.
    """
    h, f, tensor = a.hidden, a.ffn, a.tensor
    d = (h // a.heads) * a.kv_heads
    shards = a.data if a.zero_stage == 3 else 1
    stage, instance = (rank // tensor) % a.pipeline, rank // a.unit
    weights = 0
    if a.zero_stage == 3 or instance == 0:
        layer = (
            2 * (h // shards)
            + h * (h + 2 * d) // tensor // shards
            + h * h // tensor // shards
            + 2 * h * f // tensor // shards
            + h * f // tensor // shards
        )
        layers = a.num_layers // a.pipeline + (1 if stage < a.num_layers % a.pipeline else 0)
        embedding = h * a.vocab // tensor // shards
        weights = layers * layer
        if stage == 0:
            weights += embedding
        if stage == a.pipeline - 1:
            weights += embedding + h // shards
    optimizer = parameter_count(a) // (a.data * a.unit) + 5 * h
    return _WEIGHT_BYTES * weights + _OPTIMIZER_BYTES * optimizer


def checkpoint_bytes(a: Architecture, processes: int) -> int:
    """Bytes of one checkpoint written by ranks 0 to ``processes`` - 1, the data-parallel degree held."""
    whole, rest = divmod(max(processes, 0), a.unit)
    # Ranks of one data-parallel instance repeat, apart from ZeRO 1's first; so one instance's sum is enough.
    later = a.unit if whole > 1 else 0
    instance = [rank_bytes(a, rank) for rank in range(a.unit)]
    if whole == 0:
        return sum(instance[:rest])
    other = instance if a.zero_stage == 3 else [rank_bytes(a, a.unit + rank) for rank in range(max(later, rest))]
    return sum(instance) + (whole - 1) * sum(other[: a.unit]) + sum(other[:rest])


def checkpoint_gib(a: Architecture, processes: int) -> float:
    """:func:`checkpoint_bytes` in GiB (2^30 bytes)."""
    return checkpoint_bytes(a, processes) / GIB


@remembered(64)
def whole_checkpoint_gib(model: str) -> float | None:
    """Size of one checkpoint of a CLOSED run, in GiB; None for an unknown model."""
    found, processes = architecture(model), closed_processes(model)
    return None if found is None or processes is None else checkpoint_gib(found, processes)


def split_host(entry: str) -> tuple[str, int | None]:
    """``host``, ``host:slots`` or ``[v6]:slots`` as lower-case name and slots. Raises ValueError for bad slots."""
    entry = entry.strip()
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        slots = rest.removeprefix(":")
    elif entry.count(":") > 1:
        name, slots = entry, ""
    else:
        name, _, slots = entry.partition(":")
    if not name:
        raise ValueError(f"host entry {entry!r} has no name")
    if slots and (not slots.isascii() or not slots.isdigit() or int(slots) == 0):
        raise ValueError(f"host entry {entry!r}: slots must be a positive integer")
    return name.lower(), int(slots) if slots else None


def parse_hosts(entries: Iterable[str]) -> list[tuple[str, int | None]]:
    """Hosts of an option or a metadata list: space or comma separated, slots of a repeated host added up.

    Raises ValueError for a malformed entry.
    """
    hosts: dict[str, int | None] = {}
    for entry in entries:
        for part in entry.replace(",", " ").split():
            name, slots = split_host(part)
            if name in hosts and slots is not None:
                slots += hosts[name] or 0
            hosts[name] = slots if slots is not None else hosts.get(name)
    return list(hosts.items())


def ranks_per_host(hosts: Sequence[tuple[str, int | None]], processes: int) -> list[int]:
    """Ranks that each host gets: round robin over the hosts in order, skipping full ones.

    Hosts without slots share evenly: ``processes // hosts`` each, the first ``processes % hosts`` one more.
    One host takes all. If the slots do not hold all processes, the rest is spread round robin beyond them.
    """
    if not hosts or processes <= 0:
        return [0] * len(hosts)
    count = len(hosts)
    even = [processes // count + (1 if index < processes % count else 0) for index in range(count)]
    if count == 1:
        return [processes]
    limits = [max(0, slots) if slots is not None else even[index] for index, (_, slots) in enumerate(hosts)]
    level = _level(limits, processes)
    placed = [min(limit, level) for limit in limits]
    left = processes - sum(placed)
    for index, limit in enumerate(limits):
        if left and limit > level:
            placed[index] += 1
            left -= 1
    each, more = divmod(left, count)
    return [ranks + each + (1 if index < more else 0) for index, ranks in enumerate(placed)]


def _level(limits: Sequence[int], processes: int) -> int:
    """Whole rounds of round robin: the most ranks that each host can get, up to its limit, if all get as many."""
    placed = level = 0
    for full, limit in enumerate(sorted(limits)):
        still_open = len(limits) - full
        if placed + (limit - level) * still_open > processes:
            return level + (processes - placed) // still_open
        placed += (limit - level) * still_open
        level = limit
    return level


def flatten(tree: Mapping[str, Any]) -> dict[str, str]:
    """Nested configuration to dotted keys and canonical values. An empty mapping states nothing."""
    flat: dict[str, str] = {}
    _flatten(tree, "", flat)
    return flat


def _flatten(tree: Mapping[str, Any], prefix: str, flat: dict[str, str]) -> None:
    for key, value in tree.items():
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", flat)
        else:
            flat[f"{prefix}{key}"] = canonical(value)


def canonical(value: Any) -> str:
    """One spelling for a configuration value: ``true``/``false`` whatever the case, ``5`` for 5.0 and "5"."""
    if isinstance(value, str):
        return _canonical_text(value)
    if value is None:
        return NOT_SET
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(canonical(item) for item in value) + "]"
    return _canonical_text(str(value))


@remembered(4096)
def _canonical_text(text: str) -> str:
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    if number.is_integer() and abs(number) < 2**53 and len(text) < 30:
        return str(int(number))
    return text


@remembered(256)  # a name may come from any file
def reference_workload(model: str) -> Mapping[str, str]:
    """The model's reference DLIO workload by dotted key, canonical values; empty for an unknown model."""
    row = reference_rows("checkpointing-models").get(model)
    if row is None:
        return {}
    columns = load_table("checkpointing-models").columns
    flat = {column.parameter: canonical(row[name]) for name, column in columns.items() if column.parameter}
    flat.update({key: str(cells["value"]) for key, cells in reference_rows("checkpointing-workload").items()})
    return flat


def compare_parameters(model: str, effective: Mapping[str, str]) -> list[Parameter]:
    """Every key of the effective workload or the reference, sorted by name, beside each other."""
    reference = reference_workload(model)
    return [
        _parameter(name, effective.get(name, NOT_SET), reference.get(name, NOT_SET))
        for name in sorted({*effective, *reference})
    ]


@remembered(4096)
def _parameter(name: str, value: str, reference: str) -> Parameter:
    """The same record for all the runs of a workload, which agree in nearly all keys."""
    return Parameter(name=name, value=value, reference=reference)


def compare_architecture(parameters: Iterable[Parameter], model: str) -> list[Parameter]:
    """Those of :func:`compare_parameters` that the reference architecture states."""
    names = {column.parameter for column in load_table("checkpointing-models").columns.values() if column.parameter}
    return [item for item in parameters if item.name in names] if architecture(model) else []


def scaled(a: Architecture, closed: int, processes: int) -> Architecture:
    """The architecture as DLIO runs it on ``processes`` ranks: the data-parallel degree is held below the CLOSED
    count (a partial checkpoint) and grows with the ranks from there on.
    """
    if processes < closed:
        return a
    return replace(a, data=max(1, processes // a.unit))
