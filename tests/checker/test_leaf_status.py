"""LEAF-04: a leaf whose own metadata says that the run failed or was interrupted is no result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kv_cache_trees import legal
from training_trees import TrainingTree
from trees import combined
from vector_database_trees import complete

from submission_checker.scan import Options, check

BUILDERS: dict[str, Callable[[Path], object]] = {
    "checkpointing": combined,
    "training": lambda root: TrainingTree(root).build(),
    "vector_database": complete,
    "kv_cache": legal,
}

RECORDED: dict[str, tuple[dict[str, object], list[tuple[str, str]]]] = {
    "nothing, as tools of v3.0": ({}, []),
    "completed": ({"status": "completed", "exit_status": 0}, []),
    "completed, in capitals": ({"status": " Completed ", "exit_status": "0"}, []),
    "not started": ({"status": "failed", "exit_status": None}, [("status", "error")]),
    "failed": ({"status": "failed", "exit_status": 137, "problems": ["killed"]}, [("status", "error")]),
    "interrupted": ({"status": "Interrupted", "exit_status": 143}, [("status", "error")]),
    "still running": ({"status": "running"}, [("status", "error")]),
    "an exit status alone": ({"exit_status": 137}, [("exit", "warning")]),
    "a word of another tool": ({"status": "success"}, [("known", "info")]),
}


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("family", BUILDERS)
def test_how_the_run_ended(tmp_path: Path, family: str, recorded: str) -> None:
    BUILDERS[family](tmp_path / "tree")
    fields, expected = RECORDED[recorded]
    metadata = max((tmp_path / "tree").rglob("*_metadata.json"))
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), **fields}))
    report = check(tmp_path / "tree", Options(edition="3.0"))
    found = [finding for finding in report.findings if finding.rule == "LEAF-04"]
    assert [(finding.clause, finding.severity.value) for finding in found] == expected
    assert {finding.path for finding in found} <= {metadata.parent.relative_to(tmp_path / "tree").as_posix()}
