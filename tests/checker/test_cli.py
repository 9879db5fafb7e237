"""The command: what may be given, exit codes, the report formats, repeatability."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from trees import Tree, combined, pair

import rules
from mlpstorage.results.roots.local import LocalRoot
from rules import loading
from submission_checker import checking, units
from submission_checker.cli import main
from submission_checker.outputs import Sink
from submission_checker.report import place_of, rule_key


@pytest.fixture
def clean(tmp_path: Path) -> Tree:
    return pair(tmp_path / "clean")


@pytest.fixture
def spoilt(tmp_path: Path) -> Tree:
    """Two organisations: an error of one, a warning of the other."""
    tree = combined(tmp_path / "spoilt")
    tree.leaves[0].override("checkpoint.fsync", False)
    other = combined(tmp_path / "other", organisation="globex")
    other.leaves[0].edit("metadata", {"/args/hosts": ["a:4", "b:4"]})
    other.leaves[0].edit("summary", {"/num_hosts": 2})
    other.hosts = 2
    other.describe()
    (other.root / "closed" / "globex").rename(tree.root / "closed" / "globex")
    return tree


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def json_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(capsys, *arguments, "--format", "json")
    return code, json.loads(out)


def test_exit_codes(clean: Tree, spoilt: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, clean.root)[0] == 0
    assert run(capsys, spoilt.root)[0] == 1
    assert run(capsys, spoilt.root, "--fail-on", "never")[0] == 0
    assert run(capsys, spoilt.root, "--submitter", "globex")[0] == 0
    assert run(capsys, spoilt.root, "--submitter", "globex", "--fail-on", "warning")[0] == 1


@pytest.mark.parametrize("make", ["nothing", "empty", "file", "no submitter"])
def test_nothing_found_is_never_a_success(tmp_path: Path, make: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "tree"
    if make == "file":
        target.write_text("x")
    elif make != "nothing":
        target.mkdir()
    if make == "no submitter":
        (target / "closed").mkdir()
        (target / "closed" / "README.md").write_text("x")
    code, out, err = run(capsys, target)
    assert (code, out) == (2, "")
    assert err.startswith("submission-checker: ")


def test_an_unlisted_directory_is_no_success(
    clean: Tree, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = LocalRoot.survey

    def locked(self: LocalRoot, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        if relative.endswith("/locked"):
            raise PermissionError(13, "Permission denied")
        return survey(self, relative)

    (clean.root / "closed" / "locked").mkdir()
    monkeypatch.setattr(LocalRoot, "survey", locked)  # root may read everything, so a mode alone locks nothing
    code, out, _ = run(capsys, clean.root)
    assert code == 2
    assert "WARNING TREE-01 readableDirectories" in out
    assert "Not checked: closed/locked: Permission denied" in out
    assert out.splitlines()[-1].startswith("INCOMPLETE: ")


def test_a_bug_is_exit_3_with_a_name_and_no_traceback(
    spoilt: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    real = units.system_facts
    calls = iter([broken, real])
    monkeypatch.setattr(units, "system_facts", lambda *arguments: next(calls)(*arguments))
    code, out, err = run(capsys, spoilt.root)
    assert code == 3
    assert "closed/acme/results/fast-1: KeyError: 'oops'" in err
    assert "Traceback" not in out + err
    assert "globex" in out  # the other system was checked all the same

    monkeypatch.setattr(checking, "check", broken)
    code, _, err = run(capsys, spoilt.root)
    assert (code, "KeyError" in err, "Traceback" in err) == (3, True, False)
    assert "Traceback" in run(capsys, spoilt.root, "--debug")[2]


def test_any_part_of_a_tree_can_be_given(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    _, whole = json_of(capsys, clean.root)
    link = clean.root.parent / "link"
    link.symlink_to(clean.root)
    workload = clean.workload
    spellings = [f"{clean.root}/", clean.root / "closed" / "..", link, *workload.parents[:6], workload]
    for path in spellings:
        code, report = json_of(capsys, path)
        assert code == 0
        assert report["findings"] == whole["findings"], path
        assert report["summary"] == whole["summary"]


def test_the_current_directory_can_be_given(
    clean: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clean.workload)
    code, report = json_of(capsys, ".")
    assert code == 0
    assert report["summary"]["leaves"] == 2


def test_a_lone_leaf_is_checked_and_what_was_not_is_said(spoilt: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    leaf = spoilt.leaves[0].path
    code, out, _ = run(capsys, leaf)
    assert code == 1
    assert "4.3.2" in out
    assert "only this leaf was looked at" in " ".join(out.split())
    away = spoilt.root.parent / leaf.name
    leaf.rename(away)
    code, report = json_of(capsys, away)
    assert code == 1
    assert [f["path"] for f in report["findings"] if f["rule"] == "4.3.2"] == [away.name]


def test_a_lone_workload_directory_is_checked(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    away = clean.root.parent / "llama3-8b"
    clean.workload.rename(away)
    code, report = json_of(capsys, away)
    assert code == 0
    assert report["summary"]["leaves"] == 2
    assert report["remarks"] == ["llama3-8b: only this workload directory was looked at, not its system"]


@pytest.mark.parametrize(
    ("names", "submitters"),
    [(["acme"], 1), (["acme, globex"], 2), (["acme", " globex "], 2), ([""], 2), ([], 2)],
)
def test_submitters_are_filtered(
    spoilt: Tree, names: list[str], submitters: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for name in names for word in ("--submitter", name)]
    assert json_of(capsys, spoilt.root, *options)[1]["summary"]["submitters"] == submitters


@pytest.mark.parametrize(
    ("line", "submitters", "rules_found"),
    [
        ("TREE --submitter acme globex", 2, {"4.3.2", "4.6.2"}),
        ("TREE --submitter acme globex --jobs 1", 2, {"4.3.2", "4.6.2"}),
        ("--submitter acme TREE", 1, {"4.3.2"}),
        ("--submitter acme --jobs 1 TREE", 1, {"4.3.2"}),
        ("--submitter acme globex TREE", 2, {"4.3.2", "4.6.2"}),
        ("--submitter acme TREE --submitter globex", 2, {"4.3.2", "4.6.2"}),
        ("--submitter=acme TREE --submitter=globex", 2, {"4.3.2", "4.6.2"}),
        ("--submitter acme -- TREE", 1, {"4.3.2"}),
        ("--select 4.3.2 TREE", 2, {"4.3.2"}),
        ("TREE --select 4.3.2 4.6.2", 2, {"4.3.2", "4.6.2"}),
        ("TREE --select 4.3 4.6 --ignore 4.3.2 4.6.1", 2, {"4.6.2"}),
    ],
)
def test_options_take_several_values_and_leave_the_tree_its_own(
    spoilt: Tree, line: str, submitters: int, rules_found: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [spoilt.root if word == "TREE" else word for word in ("--format json " + line).split()]
    report = json.loads(run(capsys, *words)[1])
    assert report["summary"]["submitters"] == submitters
    assert {f["rule"] for f in report["findings"] if f["rule"] in ("4.3.2", "4.6.2")} == rules_found


@pytest.mark.parametrize("line", ["", "--submitter acme", "--deep"])
def test_a_tree_must_be_named(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(line.split())
    assert exit_.value.code == 2
    assert "RESULTS_DIR is required" in capsys.readouterr().err


def test_an_unknown_submitter_is_answered_with_the_known_ones(spoilt: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, spoilt.root, "--submitter", "nosuch")
    assert code == 2
    assert "acme, globex" in err


@pytest.mark.parametrize(
    ("options", "code", "rules"),
    [
        (["--select", "4.3"], 1, {"4.3.1", "4.3.2", "4.3.3", "4.3.4", "4.3.5"}),
        (["--select", "4.3.2"], 1, {"4.3.2"}),
        (["--select", "4.3.5,4.6.1"], 0, {"4.3.5", "4.6.1"}),
        (["--select", "4.3", "--ignore", "4.3.2,4.3.1"], 0, {"4.3.3", "4.3.4", "4.3.5"}),
    ],
)
def test_rules_are_selected(
    spoilt: Tree, options: list[str], code: int, rules: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found, report = json_of(capsys, spoilt.root, *options)
    assert found == code
    assert set(report["rules"]) == rules


def test_a_selected_rule_that_a_missing_file_leaves_open_is_not_silent(
    clean: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    clean.leaves[0].summary.unlink()
    code, report = json_of(capsys, clean.root, "--select", "4.3.4")
    assert code == 1
    assert [finding["rule"] for finding in report["findings"]] == ["2.1.25"]


@pytest.mark.parametrize(
    "options", [["--select", "4.9"], ["--ignore", "nope"], ["--edition", "2.0"], ["--select", "4.3.55"]]
)
def test_what_does_not_exist_cannot_be_asked_for(
    clean: Tree, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, clean.root, *options)[0] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--select", "4.3.2", "--ignore", "4.3"], "no rule is left"),
        (["--select", "4.3", "--ignore", "4.3.1,4.3.2,4.3.3", "--ignore", "4.3.4,4.3.5"], "no rule is left"),
        (["--select", ""], "--select names no rule"),
        (["--select", " , "], "--select names no rule"),
    ],
)
def test_a_selection_of_nothing_is_no_clean_report(
    spoilt: Tree, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, spoilt.root, *options)
    assert (code, out) == (2, "")
    assert words in err


def test_an_unknown_rule_is_answered_with_near_ones(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert "near: 4.3.5" in run(capsys, clean.root, "--select", "4.3.55")[2]


def test_a_closed_standard_output_is_an_error_of_the_caller(clean: Tree) -> None:
    command = [sys.executable, "-m", "submission_checker", str(clean.root)]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "submission-checker: the standard output is closed: redirect it to a file\n",
    )


class Full(io.StringIO):
    """What lies on a disk without space."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("stderr", [Full(), None], ids=["full", "closed"])
def test_a_standard_error_that_cannot_be_written_to_changes_no_exit_code(
    clean: Tree, stderr: io.StringIO | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(sys, "stderr", stderr)
    assert main([str(clean.root / "nosuch")]) == 2
    monkeypatch.setattr(checking, "check", broken)
    assert main([str(clean.root)]) == 3
    assert main([str(clean.root), "--debug"]) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_standard_error_is_no_verdict() -> None:
    command = [sys.executable, "-m", "submission_checker", "nosuch"]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stderr=full, check=False).returncode == 2


@pytest.mark.parametrize(
    ("words", "code"), [(["--version"], 0), (["--nosuch"], 2), ([], 2), (["x", "--format", "y"], 2)]
)
def test_what_needs_no_rule_does_not_wait_for_them(words: list[str], code: int) -> None:
    program = (
        "import atexit, sys; from submission_checker.__main__ import main;"
        "atexit.register(lambda: print({'rules', 'pydantic'} & set(sys.modules))); main()"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, "set()")


def test_help_names_the_default_edition(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--help"])
    assert exit_.value.code == 0
    assert f"edition of the rules (default: {rules.DEFAULT_EDITION})" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", [["--help"], ["TREE"]])
def test_a_rule_book_that_does_not_load_is_a_fault(
    clean: Tree, tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "editions.yaml").write_text("editions: {}\n")
    monkeypatch.setattr(loading, "BOOK", tmp_path)
    loading.book.cache_clear()
    try:
        code, out, err = run(capsys, *(clean.root if word == "TREE" else word for word in words))
    finally:
        loading.book.cache_clear()
    assert (code, out) == (3, "")
    assert err.startswith("submission-checker: fault of the checker: RuleLoadError: editions.yaml:1: ")


@pytest.mark.parametrize("option", ["--waivers", "--write-waivers", "--since", "--source-repo", "--output"])
def test_an_empty_path_is_not_passed_over(capsys: pytest.CaptureFixture[str], clean: Tree, option: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([str(clean.root), option, ""])
    assert exit_.value.code == 2
    assert f"argument {option}: it is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--source-repo", "no/such"], "there is no such directory"),
        (["--source-repo", "."], "not a git repository"),
    ],
)
def test_a_source_repository_that_is_none_is_no_reference(
    clean: Tree, options: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clean.root)
    monkeypatch.setenv("LC_ALL", "C")
    code, out, err = run(capsys, clean.root, *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"submission-checker: {' '.join(options)}: ")
    assert words in err


@pytest.mark.parametrize(
    ("place", "code"),
    [("top", 0), ("top/.git", 0), ("bare", 0), ("linked", 0), ("link", 0), ("top/below", 2), ("bare/refs", 2)],
)
def test_a_source_repository_is_named_by_its_own_directory(
    clean: Tree, tmp_path: Path, place: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (
        ("init", "-q", "top"),
        ("-C", "top", *identity, "commit", "-q", "--allow-empty", "-m", "x"),
        ("clone", "-q", "--bare", "top", "bare"),
        ("-C", "top", "worktree", "add", "-q", "--detach", "../linked"),
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "top" / "below").mkdir()
    (tmp_path / "link").symlink_to("top")
    found, _, err = run(capsys, clean.root, "--source-repo", tmp_path / place)
    assert (found, "the top of a work tree, or a git directory, is wanted" in err) == (code, code == 2), err


def test_a_source_repository_without_git_is_no_reference(
    clean: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(capsys, clean.root, "--source-repo", tmp_path)[0] == 2


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_usage_errors(clean: Tree, jobs: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([str(clean.root), "--jobs", jobs])
    assert exit_.value.code == 2


def test_the_report_goes_to_a_file_outside_the_tree_only(
    spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, spoilt.root, "--output", tmp_path / "report.txt")
    assert (code, out) == (1, "")
    assert "4.3.2" in (tmp_path / "report.txt").read_text()
    inside = spoilt.root / "closed" / "report.txt"
    code, _, err = run(capsys, spoilt.root / "closed" / "acme", "--output", inside)
    assert code == 2
    assert "inside the tree" in err
    assert not inside.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output", "{tmp}/no/such/place"], "there is no directory"),
        (["--output", "{tmp}/mine/place"], "there is no directory"),
        (["--output", "{tmp}"], "Is a directory"),
        (["--write-waivers", "{tmp}/no/such/place"], "there is no directory"),
        (["--write-waivers", "{tmp}/mine"], "File exists"),
        (["--write-waivers", "{tmp}/link"], "File exists"),
        (["--write-waivers", "{tree}/closed/w.yaml"], "inside the tree"),
        (["--waivers", "{tmp}/mine", "--output", "{tmp}/link"], "is the file of --waivers"),
        (["--write-waivers", "{tmp}/draft", "--output", "{tmp}/x/../draft"], "is the file of --write-waivers"),
        (["--waivers", "{tmp}/mine", "--write-waivers", "{tmp}/mine"], "File exists"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_told_before_the_work(
    spoilt: Tree, tmp_path: Path, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "mine").write_text("waivers: []\n")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "x").mkdir()

    def worked(*arguments: object) -> None:
        pytest.fail("the tree was checked")

    monkeypatch.setattr("submission_checker.checking.check", worked)
    words = [option.format(tmp=tmp_path, tree=spoilt.root) for option in options]
    code, _, err = run(capsys, spoilt.root, *words)
    assert (code, said in err) == (2, True), err
    assert (tmp_path / "mine").read_text() == "waivers: []\n"
    assert not (tmp_path / "draft").exists()


@pytest.mark.parametrize("below", [".", "20260701_100000"])
def test_a_report_may_lie_beside_a_lone_directory_and_not_in_it(
    spoilt: Tree, tmp_path: Path, below: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lone = (tmp_path / "alone" / "llama3-8b" / below).resolve()
    lone.parent.mkdir(parents=True)
    (spoilt.workload / below).rename(lone)
    assert run(capsys, lone, "--output", lone.parent / "report.txt")[0] == 1
    code, _, err = run(capsys, lone, "--output", lone / "report.txt")
    assert (code, "lies inside" in err) == (2, True)


def test_json_keeps_the_contract(spoilt: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = json_of(capsys, spoilt.root)
    assert code == 1
    assert report["schema"] == "mlpstorage-check-report/1"
    assert report["tool"]["name"] == "submission-checker"
    assert report["edition"] == "3.0"
    assert report["results_dir"] == str(spoilt.root)
    summary = report["summary"]
    severities = [finding["severity"] for finding in report["findings"]]
    assert [summary[key] for key in ("errors", "warnings", "infos")] == [
        severities.count(name) for name in ("error", "warning", "info")
    ]
    assert summary["waived"] == 0
    totals = dict.fromkeys(("pass", "violation", "not_applicable", "undetermined"), 0)
    for counts in report["rules"].values():
        for outcome, count in counts.items():
            totals[outcome] += count
    assert summary["checks"] == totals
    (fsync,) = [finding for finding in report["findings"] if finding["rule"] == "4.3.2"]
    assert fsync["name"] == "checkpointFsyncVerification"
    assert (fsync["submitter"], fsync["system"], fsync["workload"]) == ("acme", "fast-1", "checkpointing/llama3-8b")
    assert fsync["path"] == "closed/acme/results/fast-1/checkpointing/llama3-8b"
    assert fsync["division"] == "closed"
    assert fsync["waived"] is None
    assert fsync["message"]
    assert fsync["remedy"]
    assert {"fact", "value", "source"} == set(fsync["evidence"][0])
    assert any(item["source"].endswith("config.yaml#/workload/checkpoint/fsync") for item in fsync["evidence"])
    assert len({finding["fingerprint"] for finding in report["findings"]}) == len(report["findings"])


def test_every_rule_of_the_edition_is_accounted_for(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(json_of(capsys, clean.root)[1]["rules"]) == {rule.id for rule in rules.load_edition("3.0").rules}


def test_text_names_what_a_reviewer_needs(spoilt: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, spoilt.root)
    lines = out.splitlines()
    assert lines[0] == "closed > acme > fast-1 > checkpointing/llama3-8b"  # the worst comes first
    assert lines[1] == "  ERROR 4.3.2 checkpointFsyncVerification"
    assert "closed > globex > fast-1 > checkpointing/llama3-8b" in lines
    assert any(line.strip().startswith("remedy: ") for line in lines)
    assert any("config.yaml#/workload/checkpoint/fsync" in line for line in lines)
    assert lines[-1].startswith("1 error, 1 warning, ")
    assert all(len(line) <= 80 or "/" in line for line in lines[:-1])


def test_infos_are_counted_and_shown_on_demand(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert "info 4.7.2" not in run(capsys, clean.root)[1]
    assert "info 4.7.2" in run(capsys, clean.root, "--verbose")[1]


def test_the_edition_with_the_typo_says_that_it_is_wrong(clean: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, clean.root, "--edition", "3.0-as-published")[1].startswith("Caution: edition 3.0-as-published")


@pytest.mark.parametrize("format_", ["text", "json"])
def test_hostile_names_stay_text(spoilt: Tree, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    acme = spoilt.root / "closed" / "acme"
    os.rename(acme, os.fsdecode(os.fsencode(spoilt.root / "closed") + b"/\n::error::\x1b[2J\xe2\x80\xae\xff"))
    leaf = next(iter(spoilt.root.glob("closed/*error*/results/*/checkpointing/*/*/*_metadata.json")))
    leaf.write_text(leaf.read_text().replace('"mode": "closed"', '"mode": "\\u001b[31mopen"'))
    code, out, _ = run(capsys, spoilt.root, "--format", format_)
    assert code == 1
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())


def test_the_locale_does_not_change_a_byte(spoilt: Tree) -> None:
    acme = spoilt.root / "closed" / "acme"
    os.rename(acme, os.fsencode(acme) + b"-\xc3\xa9-\xff")
    command = [sys.executable, "-m", "submission_checker", str(spoilt.root), "--format", "json"]
    plain = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    root = Path(__file__).parents[2]
    answers = [subprocess.run(command, cwd=root, env=env, capture_output=True) for env in (os.environ, plain)]
    assert [answer.returncode for answer in answers] == [1, 1]
    assert answers[0].stdout == answers[1].stdout
    assert json.loads(answers[0].stdout)["findings"][0]["submitter"] == "acme-\u00e9-\ufffd"


def test_jobs_do_not_change_a_byte(spoilt: Tree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        extra = combined(tmp_path / f"extra{number}", organisation=f"org{number}", division="open")
        target = spoilt.root / "open" / f"org{number}"
        target.parent.mkdir(exist_ok=True)
        (extra.root / "open" / f"org{number}").rename(target)
    outputs = {run(capsys, spoilt.root, "--format", "json", "--jobs", jobs)[1] for jobs in ("1", "2", "5")}
    assert len(outputs) == 1


def test_the_module_can_be_run(clean: Tree) -> None:
    command = [sys.executable, "-m", "submission_checker", str(clean.root)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("0 errors, 0 warnings, ")


def test_a_reader_that_stops_early_is_no_fault(spoilt: Tree) -> None:
    command = f"{sys.executable} -m submission_checker {spoilt.root} --verbose | true; exit ${{PIPESTATUS[0]}}"
    root = Path(__file__).parents[2]
    done = subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system does not name descriptors")
def test_a_reader_of_one_report_that_stops_leaves_the_other_whole(capfd: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing), Sink(f"/dev/fd/{writing}") as piped, Sink(None) as shown:
        piped.open()
        os.close(reading)
        for _ in range(3):
            piped.write("x" * 100_000)
        shown.write("the other report")
    assert capfd.readouterr() == ("the other report", "")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("closed/acme/results/s/checkpointing/llama3-8b/20260701_100000", ("acme", "s", "checkpointing/llama3-8b")),
        ("closed/acme/systems/s.1.yaml", ("acme", "s.1", "")),
        ("open/acme", ("acme", "", "")),
        ("open/acme/results", ("acme", "", "")),
        ("20260701_100000", ("", "", "")),
    ],
)
def test_place_of_a_path(path: str, place: tuple[str, str, str]) -> None:
    found = place_of(path)
    assert (found.submitter, found.system, found.workload) == place


def test_rules_are_sorted_as_the_book_numbers_them() -> None:
    assert sorted(["X4.1", "4.3.10", "4.3.2", "READ-01"], key=rule_key) == ["4.3.2", "4.3.10", "READ-01", "X4.1"]
