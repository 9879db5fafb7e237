"""One fact, two adapters: a recorded run, replayed through the launch adapter, has the facts that the reader finds."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from replay import plan_from_metadata

from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.results import layout
from mlpstorage.results.roots.local import LocalRoot
from rules.facts import Absence, Reason
from rules.facts.checkpointing import CheckpointingRun
from submission_checker.discovery import walk
from submission_checker.readers.checkpointing import read_workload

CASES = Path(os.environ.get("MLPSTORAGE_CASES") or Path(__file__).parents[3] / "shared" / "cases")
NOT_DESCRIBED = Absence("test", Reason.KEY_ABSENT)

LEAVES = sorted(CASES.glob(f"*/tree/*/*/results/*/{layout.CHECKPOINTING}/*/*/*_metadata.json"))


def runs_read(tree: Path) -> dict[str, CheckpointingRun]:
    """Every run of a results tree by its path."""
    with LocalRoot(tree) as root:
        directories = [directory for system in walk(root).systems for directory in system.workloads]
        workloads = [read_workload(root, directory, NOT_DESCRIBED)[0] for directory in directories]
    return {run.path: run for workload in workloads if workload for run in workload.runs}


def different(planned: CheckpointingRun, read: CheckpointingRun) -> dict[str, tuple[object, object]]:
    """Facts that both adapters state and that are not equal (floats to 1e-6)."""
    stated = dict(read.stated())
    pairs = {name: (value, stated[name]) for name, value in planned.stated() if name in stated}
    assert len(pairs) >= 16, "hardly anything was compared"
    return {
        name: (one, other)
        for name, (one, other) in pairs.items()
        if one != other
        and not (isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-6))
    }


@pytest.mark.skipif(not LEAVES, reason=f"no cases in {CASES} (see MLPSTORAGE_CASES)")
@pytest.mark.parametrize("metadata", LEAVES, ids=lambda path: f"{path.parents[1].name}/{path.parent.name}")
def test_recorded_arguments_give_the_facts_of_the_leaf(metadata: Path) -> None:
    tree = next(parent for parent in metadata.parents if parent.name == "tree")
    read = runs_read(tree)[metadata.parent.relative_to(tree).as_posix()]
    planned = launch_workload(plan_from_metadata(json.loads(metadata.read_text()))).runs[0]
    assert different(planned, read) == {}


def test_a_difference_would_be_seen() -> None:
    """The comparison itself: another process count shows in every fact that hangs on it."""
    if not LEAVES:
        pytest.skip(f"no cases in {CASES}")
    document = json.loads(LEAVES[0].read_text())
    planned = launch_workload(plan_from_metadata(document)).runs[0]
    document["args"]["num_processes"] = 4
    other = launch_workload(plan_from_metadata(document)).runs[0]
    assert {"run.num_processes", "run.checkpoint_size_gib", "run.subset_labelled"} <= set(different(planned, other))
