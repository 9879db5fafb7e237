"""Rulings: what a waiver does, and what is said of waivers that do too little or too much."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from schemas import schema_problems
from trees import Tree, combined, pair

from submission_checker.cli import main
from submission_checker.rulings import NAMES, WaiversError, read_waivers

WORKLOAD = "closed/acme/results/fast-1/checkpointing/llama3-8b"
TODAY = date(2026, 8, 1)


@pytest.fixture
def spoilt(tmp_path: Path) -> Tree:
    """One 4.6.1 error and one 4.3.2 error of acme."""
    tree = combined(tmp_path / "tree", hosts=1, processes=16)
    tree.leaves[0].override("checkpoint.fsync", False)
    return tree


def waivers(tmp_path: Path, *entries: dict[str, str]) -> Path:
    path = tmp_path / "waivers.yaml"
    lines = ["waivers:" if entries else "waivers: []"]
    for entry in entries:
        whole = {"rule": "4.6.1", "path": WORKLOAD, "reason": "ruled on 2026-07-30", "until": "2999-12-31"} | entry
        lines += [f"  {'-' if i == 0 else ' '} {key}: '{value}'" for i, (key, value) in enumerate(whole.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main([*map(str, arguments), "--format", "json", "--ignore", "4.7.2"])
    report = json.loads(capsys.readouterr().out)
    assert schema_problems(report) == []
    return code, report


def of(report: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["rule"] == rule]


def test_a_waived_finding_stays_with_its_reason_and_does_not_count(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, without = check(capsys, spoilt.root)
    assert code == 1
    file = waivers(tmp_path, {"owner": "results chair"}, {"rule": "4.3.2"})
    code, report = check(capsys, spoilt.root, "--waivers", file)
    assert code == 0
    assert len(report["findings"]) == len(without["findings"])
    assert (report["summary"]["errors"], report["summary"]["waived"]) == (0, without["summary"]["errors"])
    assert of(report, "4.6.1")[0]["waived"] == {
        "reason": "ruled on 2026-07-30",
        "until": "2999-12-31",
        "owner": "results chair",
    }
    assert of(report, "4.3.2")[0]["waived"] == {"reason": "ruled on 2026-07-30", "until": "2999-12-31"}

    main([str(spoilt.root), "--waivers", str(file)])
    text = capsys.readouterr().out
    assert "waived error 4.6.1" in text
    assert "waived until 2999-12-31 (results chair): ruled on 2026-07-30" in text
    assert "0 errors" in text.splitlines()[-1]


@pytest.mark.parametrize(
    ("entry", "waived"),
    [
        ({}, True),
        ({"path": "closed/acme/results/*/checkpointing/*"}, True),
        ({"path": "closed/acme/**"}, True),
        ({"path": "closed/acme/**/llama3-8b"}, True),
        ({"path": "closed/acme/results/fast-?/checkpointing/llama3-8b"}, True),
        ({"text": "needs exactly 8"}, True),
        ({"text": "needs exactly 64"}, False),
        ({"path": "closed/acme/*"}, False),
        ({"path": "closed/acme"}, False),
        ({"path": WORKLOAD[:-1]}, False),
        ({"path": WORKLOAD.replace("fast-1", r"fast-\*")}, False),
        ({"path": WORKLOAD.upper()}, False),
        ({"rule": "4.6.2"}, False),
        ({"until": "2020-01-01"}, False),
    ],
)
def test_what_a_waiver_speaks_of(
    spoilt: Tree, tmp_path: Path, entry: dict[str, str], waived: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report = check(capsys, spoilt.root, "--waivers", waivers(tmp_path, entry))
    assert (of(report, "4.6.1")[0]["waived"] is not None) == waived


def test_an_expired_waiver_is_reported_and_waives_nothing(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = check(capsys, spoilt.root, "--waivers", waivers(tmp_path, {"until": "2026-01-31"}))
    (finding,) = of(report, "WAIVER-01")
    assert (code, finding["severity"], finding["path"]) == (1, "warning", WORKLOAD)
    assert "it ended with 2026-01-31; 1 finding counts again" in finding["message"]
    assert of(report, "WAIVER-02") == []


def test_an_unused_waiver_is_reported_where_the_whole_tree_was_checked(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = waivers(tmp_path, {"rule": "4.4.1"})
    assert len(of(check(capsys, spoilt.root, "--waivers", file)[1], "WAIVER-02")) == 1
    _, part = check(capsys, spoilt.root / "closed" / "acme", "--waivers", file)
    assert of(part, "WAIVER-02") == []
    assert any("only a part of the tree" in remark for remark in part["remarks"])
    assert of(check(capsys, spoilt.root, "--waivers", file, "--select", "4.6")[1], "WAIVER-02") == []


@pytest.mark.parametrize("path", ["**", "**/llama3-8b", "*/acme/**", "closed/*/results/**", "closed/**"])
def test_a_waiver_that_names_no_submitter_is_reported_though_it_waives(
    spoilt: Tree, tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report = check(capsys, spoilt.root, "--waivers", waivers(tmp_path, {"path": path}))
    (finding,) = of(report, "WAIVER-03")
    assert "closed/acme" in finding["message"]
    assert of(report, "4.6.1")[0]["waived"] is not None


def test_waivers_of_their_own_submitter_are_not_too_broad(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report = check(capsys, spoilt.root, "--waivers", waivers(tmp_path, {"path": "closed/acme/**"}))
    assert of(report, "WAIVER-03") == []


@pytest.mark.parametrize(
    ("until", "edition", "expired"),
    [
        ("2026-08-01", "3.0", False),
        ("2026-07-31", "3.0", True),
        ("3.0", "3.0-as-published", False),
        ("3.0", "3.0", False),
        ("3.0", "4.0-draft", True),
        ("4.0-draft", "4.0-draft", False),
        ("", "4.0-draft", False),
    ],
)
def test_until_names_the_last_day_or_the_last_edition(tmp_path: Path, until: str, edition: str, expired: bool) -> None:
    (waiver,) = read_waivers(str(waivers(tmp_path, {"until": until})), edition, TODAY).waivers
    assert waiver.expired is expired


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("waivers:\n  - {rule: 4.6.1, path: a, until: 3.0}\n", ":2: 'reason' is missing"),
        ("waivers:\n  - {rule: 4.6.1, path: a, until: 3.0, reason: ' '}\n", ":2: reason: must not be empty"),
        ("waivers:\n  - {rule: 4.6.1, path: a, until: 3.0, reason: todo}\n", ":2: reason: it is still to be written"),
        ("waivers:\n  - {rule: 4.6.1, path: a, until: soon, reason: x}\n", "'soon' is not a date (YYYY-MM-DD) or one"),
        (
            "waivers:\n  - {rule: 4.6.1, path: a, until: 3.0, reason: x, pth: b}\n",
            ":2: pth: unknown key; did you mean 'p",
        ),
        ("waivers:\n  - rule: 4.6.1\n    raeson: x\n", ":3: raeson: unknown key; did you mean 'reason'?"),
        ("waivers:\n  - x\n", ":2: entry: must be a mapping, not 'x'"),
        ("waivers:\n  - {rule: a, rule: b}\n", "duplicate key 'rule'"),
        ("waivers: {}\n", "one key, 'waivers', with a list"),
        ("[]\n", "one key, 'waivers', with a list"),
        ("waivers: [\n", "not YAML"),
        ("", "empty"),
    ],
)
def test_a_waivers_file_that_is_wrong_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)
    with pytest.raises(WaiversError) as error:
        read_waivers(str(path), "3.0", TODAY)
    assert problem in str(error.value)


def test_a_waivers_file_that_is_wrong_stops_the_check(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(spoilt.root), "--waivers", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_a_draft_waives_what_was_found_once_its_reasons_are_written(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "draft.yaml"
    code, report = check(capsys, spoilt.root, "--write-waivers", path)
    assert code == 1
    assert main([str(spoilt.root), "--waivers", str(path)]) == 2
    assert "still to be written" in capsys.readouterr().err
    path.write_text(path.read_text().replace("TODO: why this is accepted", "the chairs: yes #1"))
    code, waived = check(capsys, spoilt.root, "--waivers", path)
    assert code == 0
    assert waived["summary"]["waived"] == report["summary"]["errors"] + report["summary"]["warnings"] > 0
    assert not any(finding["rule"].startswith("WAIVER") for finding in waived["findings"])


def test_a_draft_never_overwrites_and_never_lands_in_the_tree(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "draft.yaml"
    path.write_text("mine")
    assert main([str(spoilt.root), "--write-waivers", str(path)]) == 2
    assert path.read_text() == "mine"
    assert main([str(spoilt.root), "--write-waivers", str(spoilt.root / "w.yaml")]) == 2
    assert not (spoilt.root / "w.yaml").exists()


def test_the_waivers_of_the_guide_can_be_used(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "reviewing.md").read_text()
    path = tmp_path / "w.yaml"
    path.write_text(guide.split("```yaml\n")[1].split("```")[0])
    (waiver,) = read_waivers(str(path), "3.0", TODAY).waivers
    assert (waiver.expired, waiver.names_submitter) == (False, True)
    for rule in NAMES:
        assert f"| {rule} |" in guide


@pytest.mark.parametrize(("rule", "near"), [("4.6", "4.6.2"), ("4.6.11", "4.6.1"), ("CHECK-09", "CHECK-0")])
def test_a_waiver_of_a_rule_that_does_not_exist_is_refused(
    spoilt: Tree, tmp_path: Path, rule: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = waivers(tmp_path, {}, {"rule": rule})
    assert main([str(spoilt.root), "--waivers", str(file)]) == 2
    err = capsys.readouterr().err
    assert f"{file}:6: rule: no rule {rule!r} in this edition; near: " in err
    assert near in err


@pytest.mark.parametrize("rule", sorted(NAMES))
def test_what_is_said_of_waivers_cannot_be_waived(tmp_path: Path, rule: str) -> None:
    with pytest.raises(WaiversError, match="no rule"):
        read_waivers(str(waivers(tmp_path, {"rule": rule})), "3.0", TODAY)


def test_only_what_counts_again_is_said_to(spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expired = {"until": "2026-01-31", "path": "closed/acme/**"}
    code, report = check(capsys, spoilt.root, "--waivers", waivers(tmp_path, expired, {}, {"rule": "4.3.2"}))
    (finding,) = of(report, "WAIVER-01")
    assert code == 0
    assert "it ended with 2026-01-31; another waiver holds for what it waived" in finding["message"]
    assert finding["remedy"] == "Remove it."


LEAVES = tuple(f"{WORKLOAD}/{leaf}" for leaf in ("20260701_100000", "20260701_100510"))


@pytest.mark.parametrize(
    ("paths", "wrong", "waived"),
    [
        ([], 1, True),
        ([], 2, True),
        (LEAVES[:1], 1, True),
        (LEAVES[:1], 2, False),
        (LEAVES, 2, True),
        ([f"{WORKLOAD}/*"], 2, True),
        (LEAVES[1:], 1, False),
    ],
)
def test_a_waiver_made_for_some_leaves_waives_nothing_that_holds_for_more(
    tmp_path: Path, paths: list[str], wrong: int, waived: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves[:wrong]:
        leaf.edit("metadata", {"/args/num_processes": 16})
    file = waivers(tmp_path, {})
    file.write_text(
        file.read_text() + "".join(["    paths:\n", *(f"      - {path}\n" for path in paths)] if paths else [])
    )
    code, report = check(capsys, tree.root, "--waivers", file)
    assert code == (0 if waived else 1)
    assert {finding["waived"] is not None for finding in of(report, "4.6.1")} == {waived}
    said = [finding["message"] for finding in of(report, "WAIVER-02")]
    assert len(said) == (not waived)
    assert all("holds for" in message and "not among its paths, and counts" in message for message in said)


def test_a_draft_is_for_what_was_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, path = pair(tmp_path / "tree"), tmp_path / "draft.yaml"
    tree.leaves[0].edit("metadata", {"/args/num_processes": 16})
    check(capsys, tree.root, "--write-waivers", path)
    path.write_text(path.read_text().replace("TODO: why this is accepted", "the chairs: yes"))
    assert check(capsys, tree.root, "--waivers", path)[0] == 0
    tree.leaves[1].edit("metadata", {"/args/num_processes": 16})
    code, report = check(capsys, tree.root, "--waivers", path)
    assert (code, len(of(report, "WAIVER-02"))) == (1, 2)


def test_a_draft_waives_findings_at_names_that_end_in_a_blank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, path = combined(tmp_path / "tree"), tmp_path / "draft.yaml"
    results = tree.root / "closed" / "acme" / "results"
    (results / "fast-1").rename(results / "fast 1 ")
    assert check(capsys, tree.root, "--write-waivers", path)[0] == 1
    path.write_text(path.read_text().replace("TODO: why this is accepted", "the chairs: yes"))
    code, report = check(capsys, tree.root, "--waivers", path)
    assert (code, report["summary"]["errors"], of(report, "WAIVER-02")) == (0, 0, [])


def test_a_file_that_cannot_be_read_is_named_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = combined(tmp_path / "tree")
    missing, latin, broken = (tmp_path / name for name in ("none.yaml", "latin.yaml", "broken.yaml"))
    latin.write_bytes(b"waivers: [\xe9]")
    broken.write_text("waivers: [\n\n")
    said = []
    for path in (missing, latin, broken):
        assert main([str(tree.root), "--waivers", str(path)]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == f"submission-checker: --waivers {missing}: it cannot be read: no such file or directory\n"
    assert said[1] == f"submission-checker: --waivers {latin}: it cannot be read: it is not UTF-8 text\n"
    assert said[2].startswith(f"submission-checker: --waivers {broken}:3: not YAML: ")


@pytest.mark.parametrize("style", ["text", "junit", "json", "html", "markdown", "sarif", "csv", "jsonl"])
def test_a_ruling_without_an_end_holds(
    spoilt: Tree, tmp_path: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(f"waivers:\n  - {{rule: 4.6.1, path: {WORKLOAD}, reason: ruled on}}\n")
    main([str(spoilt.root), "--waivers", str(path), "--format", style])
    out = capsys.readouterr().out
    assert "ruled on" in out
    assert "until :" not in out
    if style == "json":
        assert of(json.loads(out), "4.6.1")[0]["waived"] == {"reason": "ruled on", "until": ""}
