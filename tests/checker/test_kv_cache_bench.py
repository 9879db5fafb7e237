"""The generated measuring tree: each of its KV-cache faults is found, where it is, and nothing else is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from trees import cases_directory

from submission_checker.scan import Options, check

GENERATOR = cases_directory().parent / "bench" / "make_tree.py"
DELAY = ("6.3.2.1", "delay_by_day")
"""The generator writes a delay of 20 s into runs of days on which 90 s were required."""


def test_the_faults_of_the_measuring_tree(tmp_path: Path) -> None:
    if not GENERATOR.is_file():
        pytest.skip(f"no such generator: {GENERATOR}")
    words = [
        "--orgs",
        "1",
        "--systems-per-org",
        "2",
        "--workloads",
        "kv_cache",
        "--faults",
        "kv_missing_rank,kv_cpu_tier",
    ]
    subprocess.run([sys.executable, str(GENERATOR), "--out", str(tmp_path / "tree"), *words], check=True)
    stated = json.loads((tmp_path / "tree.expected.json").read_text())["expected"]
    report = check(tmp_path / "tree", Options())
    assert not report.faults
    errors = [f for f in report.findings if f.rule.startswith(("6.", "X6.")) and f.severity.value != "info"]
    found = {(f.rule, f.severity.value, f.path) for f in errors if (f.rule, f.clause) != DELAY}
    assert len(stated) == 2
    assert found == {(entry["rule"], entry["severity"], entry["path"]) for entry in stated}
