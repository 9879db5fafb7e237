"""A report against an earlier one: what is new, what was cleared, what counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_rulings import check, of, waivers
from trees import Tree, combined

from submission_checker.cli import main


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """acme, whose run lacks fsync."""
    tree = combined(tmp_path / "tree")
    tree.leaves[0].override("checkpoint.fsync", False)
    return tree


def save(capsys: pytest.CaptureFixture[str], tree: Tree, tmp_path: Path, *arguments: object) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(check(capsys, tree.root, *arguments)[1]))
    return path


def rules_of(findings: list[dict[str, Any]]) -> list[str]:
    return sorted({finding["rule"] for finding in findings if finding["severity"] != "info"})


def test_nothing_is_new_on_the_same_tree(tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    earlier = save(capsys, tree, tmp_path)
    code, report = check(capsys, tree.root, "--since", earlier)
    assert (code, report["findings"], report["since"]["cleared"]) == (0, [], [])
    assert rules_of(report["since"]["known"]) == rules_of(json.loads(earlier.read_text())["findings"]) != []


def test_what_came_is_shown_and_what_went_is_listed(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = save(capsys, tree, tmp_path)
    tree.leaves[0].override("checkpoint.fsync", True)
    tree.leaves[0].edit("fs", {"/same_filesystem": True})
    code, report = check(capsys, tree.root, "--since", earlier)
    assert (code, rules_of(report["findings"])) == (1, ["4.4.2"])
    assert "4.3.2" in rules_of(report["since"]["cleared"])
    assert report["since"]["known"] == [] or rules_of(report["since"]["known"]) == []

    main([str(tree.root), "--since", str(earlier)])
    text = capsys.readouterr().out
    assert "Cleared since report.json: " in text
    assert "error 4.3.2 " in text
    assert text.splitlines()[-1].startswith("new: 1 error")


def test_a_finding_that_was_waived_and_is_not_now_is_new(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waived = save(capsys, tree, tmp_path, "--waivers", waivers(tmp_path, {"rule": "4.3.2"}))
    assert rules_of(check(capsys, tree.root, "--since", waived)[1]["findings"]) == ["4.3.2"]
    counted = save(capsys, tree, tmp_path)
    _, report = check(capsys, tree.root, "--since", counted, "--waivers", waivers(tmp_path, {"rule": "4.3.2"}))
    assert of(report, "4.3.2") == []


def test_a_finding_that_weighs_more_than_before_is_new(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = save(capsys, tree, tmp_path)
    data = json.loads(earlier.read_text())
    for finding in data["findings"]:
        finding["severity"] = "warning"
    data["edition"] = "3.0-as-published"
    earlier.write_text(json.dumps(data))
    _, report = check(capsys, tree.root, "--since", earlier)
    assert "4.3.2" in rules_of(report["findings"])
    assert any("made by edition 3.0-as-published" in remark for remark in report["remarks"])


def test_an_edition_that_was_changed_is_told(tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    earlier = save(capsys, tree, tmp_path)
    assert not any("rules" in remark for remark in check(capsys, tree.root, "--since", earlier)[1]["remarks"])
    earlier.write_text(json.dumps(json.loads(earlier.read_text()) | {"edition_digest": "0123456789abcdef"}))
    remarks = check(capsys, tree.root, "--since", earlier)[1]["remarks"]
    assert any("are not those that made report.json" in remark for remark in remarks)


def test_only_what_was_looked_at_can_have_been_cleared(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = save(capsys, tree, tmp_path)
    tree.leaves[0].override("checkpoint.fsync", True)
    assert check(capsys, tree.root, "--since", earlier, "--select", "4.6")[1]["since"]["cleared"] == []
    second = combined(tree.root, "llama3-70b", hosts=4, memory_gib=500.0)
    _, part = check(capsys, second.workload, "--since", earlier)
    assert part["since"]["cleared"] == []
    other = combined(tmp_path / "other", organisation="globex")
    (other.root / "closed" / "globex").rename(tree.root / "closed" / "globex")
    _, others = check(capsys, tree.root, "--since", earlier, "--submitter", "globex")
    assert others["since"]["cleared"] == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"schema": "other"}', '{"schema": "mlpstorage-check-report/1", "findings": [{"rule": "4.6.1"}]}'],
)
def test_a_file_that_is_no_report_stops_the_check(
    tree: Tree, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    assert main([str(tree.root), "--since", str(path)]) == 2
    assert "--since" in capsys.readouterr().err
    assert main([str(tree.root), "--since", str(tmp_path / "none.json")]) == 2
