"""A part of a tree: judged as in the whole, and the report says that it is a part."""

from __future__ import annotations

import shutil
from pathlib import Path

import kv_cache_trees
import pytest
import training_trees
import vector_database_trees
from trees import combined

from submission_checker.cli import main
from submission_checker.scan import Options, check

EDITIONS = ("3.0-as-published", "3.0", "4.0-draft")


@pytest.fixture
def every_family(tmp_path: Path) -> Path:
    """One system with results of all four families."""
    root = combined(tmp_path / "tree").root
    results = root / "closed/acme/results/fast-1"
    shutil.move(training_trees.TrainingTree(tmp_path / "t").build().workload.parent, results)
    shutil.move(kv_cache_trees.legal(tmp_path / "k")[0].workload.parent, results)
    shutil.move(vector_database_trees.complete(tmp_path / "v").directory.parents[1], results)
    return root


def told(path: Path, edition: str) -> set[tuple[str, str, str]]:
    """What is found; equal findings of several leaves stand at the first that was seen."""
    return {(f.rule, f.clause, f.severity.value) for f in check(path, Options(edition=edition)).findings}


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_part_has_a_finding_that_the_whole_has_not(every_family: Path, edition: str) -> None:
    whole = told(every_family, edition)
    results = every_family / "closed/acme/results"
    systems, families, models = results.glob("*"), results.glob("*/*"), results.glob("*/*/*")
    commands = [path for name in ("run", "data*") for path in results.rglob(name)]
    parts = [results, *systems, *families, *(path for path in models if path.is_dir()), *commands]
    assert len(parts) > 12
    for part in parts:
        assert told(part, edition) <= whole, part


def test_the_runs_are_judged_with_what_lies_beside_them(every_family: Path) -> None:
    workload = every_family / "closed/acme/results/fast-1/training/unet3d"
    shutil.rmtree(workload / "datasize")
    assert "2.1.12" in {rule for rule, *_ in told(workload / "run", "3.0")}
    assert told(workload / "run", "3.0") == told(workload, "3.0")


def test_an_empty_engine_beside_a_full_one_empties_no_family(every_family: Path) -> None:
    engine = every_family / "closed/acme/results/fast-1/vector_database/pg"
    engine.mkdir()
    assert told(engine, "3.0") <= told(every_family, "3.0")


def test_the_text_says_what_was_not_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = combined(tmp_path)
    main([str(tmp_path)])
    assert "Not checked" not in capsys.readouterr().out
    main([str(tree.workload)])
    assert "Not checked: only a part of a submission was looked at\n" in capsys.readouterr().out
    main([str(tmp_path), "--ignore", "4.3,4.6"])
    assert "rules of the edition that were not selected: " in capsys.readouterr().out
