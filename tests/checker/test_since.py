"""A report against an earlier one: what is new, what was cleared, what counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_rulings import check, of, waivers
from trees import Tree, combined, pair

from mlpstorage.results.roots.local import LocalRoot
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


def test_what_was_wrong_with_a_waiver_is_cleared_by_waivers_alone(
    tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = save(capsys, tree, tmp_path, "--waivers", waivers(tmp_path, {"rule": "4.6.2"}))
    assert rules_of(check(capsys, tree.root, "--since", earlier)[1]["since"]["unsettled"]) == ["WAIVER-02"]
    _, report = check(capsys, tree.root, "--since", earlier, "--waivers", waivers(tmp_path))
    assert rules_of(report["since"]["cleared"]) == ["WAIVER-02"]


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


PROCESSES = {"/args/num_processes": 16}


def pruned(tree: Tree) -> None:
    for leaf in tree.leaves:
        leaf.metadata.write_text("PRUNED BY STAFF\n")


def linked_elsewhere(tree: Tree) -> None:
    elsewhere = tree.root.parent / "elsewhere"
    tree.workload.rename(elsewhere)
    tree.workload.symlink_to(elsewhere)


@pytest.mark.parametrize("lose", [pruned, linked_elsewhere])
def test_what_cannot_be_decided_any_more_is_not_cleared_and_not_forgotten(
    lose: Callable[[Tree], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", PROCESSES)
    earlier = save(capsys, tree, tmp_path)
    before = rules_of(json.loads(earlier.read_text())["findings"])
    lose(tree)
    _, report = check(capsys, tree.root, "--since", earlier)
    assert rules_of(report["since"]["cleared"]) == []
    assert rules_of(report["since"]["unsettled"]) == before == ["4.6.1"]

    main([str(tree.root), "--since", str(earlier), "--verbose"])
    text = capsys.readouterr().out
    assert "Cleared since report.json: 0\n" in text
    assert "\n  error 4.6.1 " in text.split("Neither found again nor cleared, ")[1]
    for style in ("markdown", "html"):
        main([str(tree.root), "--since", str(earlier), "--format", style])
        assert "neither found again nor cleared" in capsys.readouterr().out.replace("could neither be", "neither")


@pytest.mark.parametrize("level", ["", "/20260701_100000", "/20260701_100510"])
def test_what_cannot_be_listed_any_more_is_not_cleared(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", PROCESSES)
    earlier = save(capsys, tree, tmp_path)
    path, survey = tree.workload.relative_to(tree.root).as_posix() + level, LocalRoot.survey

    def locked(self: LocalRoot, relative: str) -> object:
        if relative == path:
            raise PermissionError(13, "Permission denied")
        return survey(self, relative)

    monkeypatch.setattr(LocalRoot, "survey", locked)  # root may read everything, so a mode alone locks nothing
    _, report = check(capsys, tree.root, "--since", earlier)
    assert rules_of(report["since"]["cleared"]) == []
    assert rules_of(report["since"]["unsettled"]) == ["4.6.1"]


def test_where_the_checker_failed_nothing_is_cleared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", PROCESSES)
    earlier = save(capsys, tree, tmp_path)

    def broken(*arguments: object) -> object:
        raise RuntimeError("spoilt")

    monkeypatch.setattr("submission_checker.units.read_description", broken)
    code, report = check(capsys, tree.root, "--since", earlier)
    assert (code, rules_of(report["since"]["cleared"])) == (3, [])
    assert rules_of(report["since"]["unsettled"]) == ["4.6.1"]


def test_a_finding_that_holds_for_one_more_leaf_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", PROCESSES)
    earlier = save(capsys, tree, tmp_path)
    tree.leaves[1].edit("metadata", PROCESSES)
    both = tmp_path / "both.json"
    both.write_text(json.dumps(check(capsys, tree.root)[1]))
    code, report = check(capsys, tree.root, "--since", earlier)
    assert (code, rules_of(report["findings"]), report["since"]["cleared"]) == (1, ["4.6.1"], [])

    tree.leaves[0].edit("metadata", {"/args/num_processes": 8})  # one leaf less is neither new nor cleared
    code, report = check(capsys, tree.root, "--since", both)
    assert (code, rules_of(report["findings"]), report["since"]["cleared"]) == (0, [], [])
    assert rules_of(report["since"]["known"]) == ["4.6.1"]


def test_findings_of_one_place_that_differ_in_their_wording_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    for leaf, number in zip(tree.leaves, (16, 24), strict=True):
        leaf.edit("metadata", {"/args/num_processes": number})
    earlier = save(capsys, tree, tmp_path)
    tree.leaves[0].edit("metadata", {"/args/num_processes": 8})
    code, report = check(capsys, tree.root, "--since", earlier)
    assert (code, rules_of(report["findings"])) == (0, [])
    assert {"16" in finding["message"] for finding in report["since"]["cleared"]} == {True}
    assert {"24" in finding["message"] for finding in report["since"]["known"] if finding["rule"] == "4.6.1"} == {True}


def test_a_report_that_is_itself_against_an_earlier_one_forgets_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", PROCESSES)
    monday = save(capsys, tree, tmp_path)
    metadata = tree.leaves[0].metadata.read_text()
    tuesday, wednesday = tmp_path / "tuesday.json", tmp_path / "wednesday.json"
    tuesday.write_text(json.dumps(check(capsys, tree.root, "--since", monday)[1]))
    tree.leaves[0].metadata.write_text("PRUNED BY STAFF\n")
    wednesday.write_text(json.dumps(check(capsys, tree.root, "--since", tuesday)[1]))
    tree.leaves[0].metadata.write_text(metadata)
    for earlier in (tuesday, wednesday):
        code, report = check(capsys, tree.root, "--since", earlier)
        assert (code, rules_of(report["findings"]), rules_of(report["since"]["known"])) == (0, [], ["4.6.1"])
    tree.leaves[0].edit("metadata", {"/args/num_processes": 8})
    for earlier in (tuesday, wednesday):
        assert rules_of(check(capsys, tree.root, "--since", earlier)[1]["since"]["cleared"]) == ["4.6.1"]


@pytest.mark.parametrize(
    ("earlier", "now", "less"),
    [
        (["--select", "2"], [], "of the rules that are reported now"),
        (["--select", "2"], ["--select", "2.1"], ""),
        (["--submitter", "acme"], [], "of some submitters only"),
        (["--submitter", "acme"], ["--submitter", "acme"], ""),
        ([], ["--submitter", "acme"], ""),
    ],
)
def test_an_earlier_report_of_less_is_told(
    tree: Tree, tmp_path: Path, earlier: list[str], now: list[str], less: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(capsys, tree, tmp_path, *earlier)
    remarks = check(capsys, tree.root, *now, "--since", path)[1]["remarks"]
    assert any("is a report of less" in remark and less in remark for remark in remarks) == bool(less)


def test_an_earlier_report_of_a_part_is_told(tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.json"
    path.write_text(json.dumps(check(capsys, tree.workload)[1]))
    assert json.loads(path.read_text())["filters"]["part"] == tree.workload.relative_to(tree.root).as_posix()
    for place, told in ((tree.root, True), (tree.workload, False), (tree.leaves[0].path, False)):
        remarks = check(capsys, place, "--since", path)[1]["remarks"]
        assert any("of a part of the tree only" in remark for remark in remarks) == told


FINDING = '{"rule": "4.6.1", "severity": "error", "path": "closed/acme", "message": "m", "fingerprint": "f"%s}'
REPORT = '{"schema": "mlpstorage-check-report/1", "findings": [%s]%s}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": "other"}',
        REPORT % ('{"rule": "4.6.1"}', ""),
        REPORT % (FINDING % ', "clause": []', ""),
        REPORT % (FINDING % ', "submitter": {}', ""),
        REPORT % (FINDING % ', "paths": [1]', ""),
        REPORT % (FINDING % ', "paths": "closed"', ""),
        REPORT % (FINDING % ', "evidence": [NaN]', ""),
        REPORT % (FINDING % ', "evidence": [1e999]', ""),
        REPORT % (FINDING % "", ', "since": []'),
        REPORT % (FINDING % "", ', "since": {"known": [{}]}'),
        REPORT % (FINDING % "", ', "since": {"unsettled": {}}'),
    ],
)
def test_a_file_that_is_no_report_stops_the_check(
    tree: Tree, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    assert main([str(tree.root), "--since", str(path)]) == 2
    assert "--since" in capsys.readouterr().err
    assert main([str(tree.root), "--since", str(tmp_path / "none.json")]) == 2


def test_filters_of_another_shape_are_no_fault(tree: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    for filters in (
        "[]",
        '{"rules_left_out": 1, "submitters": "x", "part": [], "deep": 2}',
        '{"rules_left_out": [[]]}',
    ):
        path.write_text(REPORT % (FINDING % "", f', "filters": {filters}'))
        assert rules_of(check(capsys, tree.root, "--since", path)[1]["since"]["cleared"]) == ["4.6.1"]
