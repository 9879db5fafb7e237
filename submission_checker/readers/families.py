"""The readers of each workload family: directories become the facts of a workload and of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from mlpstorage.results import layout
from mlpstorage.results.document import Found
from mlpstorage.results.files import Root
from rules.facts import FactModel
from rules.facts.training import TrainingRun

from ..leaf import Leaf
from ..listing import WorkloadDirectory
from . import checkpointing, kv_cache, training, training_run, vector_database


@dataclass(frozen=True, slots=True)
class Family:
    """How the directories of one family are read. Both readers take the protocol that the description states.

    ``read_workload`` gives the workload's facts with its leaves below it (None: nothing to judge) and remarks on what
    was left out; ``read_leaf`` the facts of one leaf by itself (None: it holds nothing to judge).
    """

    read_workload: Callable[[Root, WorkloadDirectory, Found[str]], tuple[FactModel | None, list[str]]]
    read_leaf: Callable[[Root, Leaf, Found[str]], FactModel | None]
    left: Mapping[str, str] = field(default_factory=dict)
    """By subject: what this way of reading leaves undecided, for a remark."""


FAMILIES: Mapping[str, Family] = {
    layout.TRAINING: Family(
        training.read_workload, training.read_leaf, {TrainingRun.subject: training_run.LEFT_TO_DEEP}
    ),
    layout.CHECKPOINTING: Family(checkpointing.read_workload, checkpointing.read_run),
    layout.VECTOR_DATABASE: Family(vector_database.read_workload, vector_database.read_run),
    layout.KV_CACHE: Family(kv_cache.read_workload, kv_cache.read_run),
}
"""Families that this version reads."""
DEEP_FAMILIES: Mapping[str, Family] = {
    **FAMILIES,
    layout.TRAINING: Family(partial(training.read_workload, deep=True), partial(training.read_leaf, deep=True)),
}
"""The same, read with all that recomputations need (``--deep``)."""
