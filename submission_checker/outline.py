"""What is kept of a listing for the rules on the tree and on submissions, which come last: places, not every name."""

from __future__ import annotations

from dataclasses import replace

from mlpstorage.results import provenance
from mlpstorage.results.layout import RESULTS_JSON

from .leaf import Leaf
from .listing import SystemDirectory, WorkloadDirectory

_ASKED_FOR = frozenset({provenance.FILE, RESULTS_JSON})
"""Names of files that those rules look for below systems."""


def outline(system: SystemDirectory) -> SystemDirectory:
    """The system without the names of files that nobody will ask for once it is checked."""
    return replace(system, workloads=tuple(map(_workload, system.workloads)))


def _workload(workload: WorkloadDirectory) -> WorkloadDirectory:
    levels = (replace(level, files=_asked_for(level.files), leaves=(), strays=()) for level in workload.levels)
    return replace(
        workload, leaves=tuple(map(_leaf, workload.leaves)), levels=tuple(levels), files=_asked_for(workload.files)
    )


def _leaf(leaf: Leaf) -> Leaf:
    return Leaf(
        leaf.path, _asked_for(leaf.files), workload=leaf.workload, command=leaf.command,
        rest=leaf.rest, in_rest=leaf.in_rest,
    )  # fmt: skip


def _asked_for(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in _ASKED_FOR)
