"""What a change of the rules does to a tree: both editions on one reading, and how ``rules diff`` shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trees import Tree, combined
from typer.testing import CliRunner

from mlpstorage import rules_cmd
from mlpstorage.rules_cmd import app
from rules.diff import EditionDiff, EntryChange
from submission_checker.cli import main
from submission_checker.readers import checkpointing

OLD, NEW = "3.0-as-published", "3.0"


@pytest.fixture
def subset(tmp_path: Path) -> Tree:
    """The kind of run that the v3.0 round had to withdraw: 70B on 8 processes, labelled a subset; and a legal one."""
    tree = combined(tmp_path / "tree", "llama3-70b", processes=8, memory_gib=100.0)
    leaf = tree.leaves[0]
    leaf.override("checkpoint.mode", "subset")
    leaf.override("model.parallelism.data", 8)
    leaf.edit("summary", {"/metric/checkpoint_size_GB": 113.9})
    other = combined(tmp_path / "other", organisation="globex")
    (other.root / "closed" / "globex").rename(tree.root / "closed" / "globex")
    return tree


def effect(capsys: pytest.CaptureFixture[str], tree: Tree, old: str = OLD, new: str = NEW) -> dict[str, Any]:
    assert main(["effect", old, new, str(tree.root)]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def runs(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {run["path"]: run for run in document["runs"] if run["kind"] == "run"}


def test_the_incident_of_the_round_shows_as_pass_that_becomes_error(
    subset: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    document = effect(capsys, subset)
    assert (document["judged"], document["differ"]) == (2, 1)
    ((path, run),) = runs(document).items()
    assert path == "closed/acme/results/fast-1/checkpointing/llama3-70b"
    assert run["leaves"] == [f"{path}/20260701_100000"]
    assert run["verdict"] == {"old": "pass", "new": "error"}
    assert run["eligible"] == {"old": "closed", "new": "open"}
    assert {(f["rule"], f["clause"], f["old"] is None) for f in run["findings"]} == {
        ("4.3.5", "label", True),
        ("4.6.1", "asked", True),
    }
    statements = {item["rule"]: item for item in run["statements"]}
    assert "As printed" in statements["4.3.5"]["old"]
    assert "any other one is invalid" in statements["4.3.5"]["new"]


def test_what_was_refused_and_is_legal_shows_the_other_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].edit("metadata", {"/args/checkpoint_subset": True})
    ((_, run),) = runs(effect(capsys, tree)).items()
    assert run["verdict"] == {"old": "error", "new": "pass"}
    ((finding),) = run["findings"]
    assert (finding["old"]["severity"], finding["new"]) == ("error", None)
    back = runs(effect(capsys, tree, NEW, OLD))
    assert next(iter(back.values()))["verdict"] == {"old": "pass", "new": "error"}


def test_an_edition_does_not_differ_from_itself(subset: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    document = effect(capsys, subset, NEW, NEW)
    assert (document["runs"], document["judged"]) == ([], 2)


def test_the_tree_is_read_once(
    subset: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read: list[str] = []
    original = checkpointing.read_leaf

    def counting(root: Any, leaf: Any, *rest: Any) -> Any:
        read.append(leaf.path)
        return original(root, leaf, *rest)

    monkeypatch.setattr(checkpointing, "read_leaf", counting)
    effect(capsys, subset)
    assert len(read) == len(set(read)) == 2


def test_what_cannot_be_judged_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["effect", OLD, NEW, str(tmp_path)]) == 2
    assert main(["effect", OLD, "5.0", str(tmp_path)]) == 2
    assert capsys.readouterr().out == ""


def diff(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["diff", OLD, NEW, *map(str, arguments)])
    return result.exit_code, result.output


def test_rules_diff_shows_both_sides_in_each_format(subset: Tree) -> None:
    path = "closed/acme/results/fast-1/checkpointing/llama3-70b"
    code, text = diff("--against", subset.root)
    assert code == 0
    assert f"{path}\n  pass -> error (eligible: closed -> open)\n" in text
    assert all(len(line) <= 80 or line.split()[-1].startswith((path, "/")) for line in text.splitlines())
    assert f"    {OLD}: nothing\n    {NEW}: error: llama3-70b needs exactly 64 processes" in text
    assert "  statement of 4.3.5:\n" in text

    document = json.loads(diff("--against", subset.root, "--format", "json")[1])
    assert document["against"]["differ"] == 1
    assert len(document["cells"]) == 7

    code, markdown = diff("--against", subset.root, "--format", "markdown")
    assert code == 0
    assert "| 4.6.1 | asked | nothing | error: llama3-70b needs exactly 64" in markdown
    assert f"| rule | statement of {OLD} | statement of {NEW} |" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| 4.3.5 |")]
    assert {row.replace("\\|", "").count("|") for row in rows} <= {5, 4, 6}


def test_rules_diff_without_a_tree_starts_nothing_and_needs_none() -> None:
    code, markdown = diff("--format", "markdown")
    assert code == 0
    assert "| llama3-70b | 8 | yes | closed | invalid |" in markdown
    assert "Runs whose verdict" not in markdown


def test_names_of_a_tree_make_no_markup(subset: Tree) -> None:
    subset.workload.parents[1].rename(subset.workload.parents[1].with_name("a|b<img src=x>`*"))
    markdown = diff("--against", subset.root, "--format", "markdown")[1]
    assert "a\\|b&lt;img src=x&gt;\\`\\*" in markdown
    assert "<img" not in markdown


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
def test_no_text_of_rules_or_tree_is_a_command_to_a_runner(monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    hostile = f"##[error]gone \x1b[2J {'x' * 60} ::error::gone"
    finding = {"severity": "error", "message": hostile, "remedy": ""}
    run = {
        "kind": "run", "path": "closed/##[error]", "leaves": ["closed/##[error]/::x"],
        "verdict": {"old": "pass", "new": "error"}, "eligible": {"old": "closed", "new": "open"},
        "findings": [{"rule": "1.1", "name": hostile, "clause": "main", "old": None, "new": finding}],
        "statements": [{"rule": "1.1", "old": "", "new": hostile}],
    }  # fmt: skip
    told = {"old": OLD, "new": NEW, "results_dir": "::x", "verdicts": [], "judged": 1, "differ": 1, "runs": [run]}
    changed = EditionDiff(OLD, NEW, (EntryChange("1.1", "", "statement", "", hostile),))
    monkeypatch.setattr(rules_cmd, "effect_on", lambda *_: {**told, "unreadable": [hostile]})
    monkeypatch.setattr(rules_cmd, "diff_editions", lambda *_: changed)
    code, out = diff("--against", "x", "--format", format_)
    assert code == 2
    assert out.count("gone") >= 6
    assert [mark for mark in ("##[", "\x1b") if mark in out] == []
    assert [line for line in out.splitlines() if line.lstrip().startswith("::")] == []
    if format_ == "json":
        assert json.loads(out)["against"]["runs"] == [run]


def test_a_tree_that_is_none_is_an_error_with_the_checkers_words(tmp_path: Path) -> None:
    code, text = diff("--against", tmp_path)
    assert code == 2
    assert "holds no submission" in " ".join(text.split())


def test_nothing_of_the_working_directory_is_run(subset: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("submission_checker.py", "rules.py", "json.py"):
        (subset.root / name).write_text("import os; open('ran', 'w')\n")
    monkeypatch.chdir(subset.root)
    assert diff("--against", ".")[0] == 0
    assert not (subset.root / "ran").exists()


def test_the_run_time_tool_does_not_import_the_checker() -> None:
    code = "import mlpstorage.rules_cmd, sys; sys.exit('submission_checker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ('exec "$@" >&-', 2, "submission-checker: the standard output is closed: redirect it to a file\n"),
        ('exec "$@" >/dev/full', 2, "submission-checker: the standard output: No space left on device\n"),
        ('set -o pipefail; "$@" | true', 0, ""),
    ],
)
def test_a_standard_output_that_takes_nothing_is_no_fault_of_the_checker(
    subset: Tree, shell: str, code: int, said: str
) -> None:
    command = [sys.executable, "-m", "submission_checker", "effect", OLD, NEW, str(subset.root)]
    done = subprocess.run(["bash", "-c", shell, "bash", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)
