"""Arithmetic on system descriptions: rack units, provisioned power, what the clients are (rules 2.1.7 and 2.1.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rules.facts import Absence, FactModel, Reason
from rules.messages import unit_of

T = TypeVar("T", int, float)


@dataclass(frozen=True, slots=True)
class Group:
    """Equal nodes or switches of a description. A quantity is an Absence where the description does not state it."""

    name: str
    """E.g. ``product_nodes[0]``."""
    count: int | Absence
    rack_units: int | Absence
    """Of one."""
    watts: int | Absence
    """Sum of the name plates of one, W, whatever is active."""


def itemized_rack_units(groups: Iterable[Group]) -> int | Absence:
    """Sum of count x rack units over product nodes and product switches. Clients do not count."""
    return _total([(group.count, group.rack_units) for group in groups])


def rack_unit_terms(groups: Iterable[Group]) -> str:
    """The sum in words: ``3 x 2 (product_nodes[0])``; ``nothing`` where there is no group."""
    terms = [f"{_shown(group.count)} x {_shown(group.rack_units)} ({group.name})" for group in groups]
    return ", ".join(_short(terms, 20)) or "nothing"


def provisioned_watts(groups: Iterable[Group]) -> int | Absence:
    """Sum of count x name-plate power of all configured supplies over product nodes and product switches, W.

    Clients and the supplies of the rack itself do not count.
    """
    return _total([(group.count, group.watts) for group in groups])


def client_hosts(counts: Sequence[int | Absence]) -> int | Absence:
    """Number of client hosts: the sum of the groups' quantities."""
    return _total([(count, 1) for count in counts])


def mean_memory_gib(groups: Sequence[tuple[int | Absence, int | Absence]]) -> float | Absence:
    """Mean memory of a client host, weighted by the groups' quantities; ``groups`` are quantity and GiB of one host."""
    memory, hosts = _total(list(groups)), client_hosts([count for count, _ in groups])
    if isinstance(memory, Absence) or isinstance(hosts, Absence):
        return memory if isinstance(memory, Absence) else hosts
    if hosts == 0:
        return Absence("no clients", Reason.NOT_APPLICABLE, detail="no client is described")
    return memory / hosts


def _total(terms: Iterable[tuple[int | Absence, int | Absence]]) -> int | Absence:
    total = 0
    for factors in terms:
        count, each = factors
        if isinstance(count, Absence):
            return count
        if isinstance(each, Absence):
            return each
        total += count * each
    if total >= 2**63:
        return Absence("sum", Reason.INVALID, detail="the sum is beyond 64 bits: some quantity cannot be right")
    return total


def _shown(value: int | Absence) -> str:
    return "?" if isinstance(value, Absence) else str(value)


# What the runs on a system saw of its clients (rule 2.1.9).

GIB = 2**30


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run leaf of training or checkpointing: its path, and what it says of the client hosts."""

    path: str
    training: bool
    hosts: int | Absence
    memory_gib: float | Absence
    """Mean over the hosts."""


def measured_runs(workloads: Iterable[FactModel]) -> list[MeasuredRun]:
    """The run leaves below these workloads. Data generation is left out: it may use another fleet."""
    found = []
    for workload in workloads:
        for leaf in workload.below:
            if leaf.subject == "checkpointing_run":
                found.append(MeasuredRun(leaf.path, False, _fact(leaf, "num_hosts"), _fact(leaf, "host_memory_gib")))
            elif leaf.subject == "training_run":
                found.append(MeasuredRun(leaf.path, True, _fact(leaf, "num_hosts"), _training_memory(leaf)))
    return found


def _fact(leaf: FactModel, name: str) -> Any:
    return getattr(leaf, name)


def _training_memory(leaf: FactModel) -> float | Absence:
    """As collected, else the summary's sum (its single entries stand at the wrong hosts), over the hosts."""
    hosts: int | Absence = _fact(leaf, "num_hosts")
    total: int | Absence = _fact(leaf, "collected_memory_bytes")
    if isinstance(total, Absence):
        total = _fact(leaf, "summary_memory_bytes")
    if isinstance(hosts, Absence) or isinstance(total, Absence):
        return hosts if isinstance(hosts, Absence) else total
    if hosts < 1:
        return Absence(f"hosts:{leaf.path}", Reason.INVALID, leaf.path, detail="the run states no host")
    return float(total) / hosts / GIB


def known(values: Iterable[T | Absence]) -> list[T]:
    """The different values in order; what is absent is passed over."""
    return sorted({value for value in values if not isinstance(value, Absence)})


def all_known(values: Iterable[T | Absence]) -> bool | Absence:
    """True, or the first absence: so that a missing value leaves a rule open that every other value obeys."""
    return next((value for value in values if isinstance(value, Absence)), True)


def by_value(runs: Iterable[tuple[str, int | float | Absence]], unit: str) -> str:
    """``1 host: c; 8 hosts: a, b`` with the leaves' paths, each value once."""
    found: dict[float, list[str]] = {}
    for path, value in runs:
        if not isinstance(value, Absence):
            found.setdefault(round(value, 2), []).append(path)
    return "; ".join(
        f"{value} {unit_of(value, unit)}: {', '.join(_short(paths))}" for value, paths in sorted(found.items())
    )


def _short(paths: list[str], most: int = 5) -> list[str]:
    return paths if len(paths) <= most else [*paths[:most], f"and {len(paths) - most} more"]
