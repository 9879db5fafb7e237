"""``mlpstorage init``: one file, written once, that runs take their organisation from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from running import listing

from mlpstorage import init_cmd
from mlpstorage.checkpointing.names import identified
from mlpstorage.checkpointing.options import parse
from mlpstorage.cli import main

SENTINEL = "mlperf-results.yaml"


def test_init_writes_the_four_keys_and_nothing_else(tmp_path: Path) -> None:
    assert main(["init", "acme", str(tmp_path / "a/results")]) == 0
    assert listing(tmp_path / "a/results") == [SENTINEL]
    document = yaml.safe_load((tmp_path / "a/results" / SENTINEL).read_text())
    assert list(document) == ["mlperf_results_version", "orgname", "initialized_at", "initialized_by"]
    assert (document["mlperf_results_version"], document["orgname"]) == (1, "acme")
    assert isinstance(document["initialized_at"], str)
    assert document["initialized_at"].endswith("Z")
    assert init_cmd.content_problems(document) == []


def test_runs_take_the_organisation_from_it(tmp_path: Path) -> None:
    main(["init", "Globex_2.0", str(tmp_path)])
    plan = parse(["closed", "--model", "llama3-8b", "--results-dir", str(tmp_path), "--systemname", "s"], {}).plan
    assert identified(plan) == ("Globex_2.0", "s")


def test_a_second_init_of_the_same_organisation_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", "acme", str(tmp_path)])
    before = (tmp_path / SENTINEL).read_bytes()
    assert main(["init", "acme", str(tmp_path)]) == 0
    assert (tmp_path / SENTINEL).read_bytes() == before
    assert "already there" in capsys.readouterr().out


def test_another_organisations_directory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", "acme", str(tmp_path)])
    before = (tmp_path / SENTINEL).read_bytes()
    assert main(["init", "globex", str(tmp_path)]) == 1
    assert (tmp_path / SENTINEL).read_bytes() == before
    assert "belongs to acme" in capsys.readouterr().err


def test_an_empty_directory_is_not_this_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "acme", ""]) == 2
    assert "RESULTS_DIR is empty" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Acme Corp", "..", ".", "", "a/b", "é", "a\nb"])
def test_names_that_make_no_directory_are_refused_before_anything_is_made(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", name, str(tmp_path / "results")]) == 2
    assert listing(tmp_path) == []
    assert capsys.readouterr().err.startswith("mlpstorage init: ORG")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("orgname: acme\n", "mlperf_results_version is missing"),
        (
            "mlperf_results_version: 1\norgname: acme\ninitialized_at: x\ninitialized_by: y\nmore: 1\n",
            "'more' is unknown",
        ),
        ("mlperf_results_version: 2\norgname: acme\ninitialized_at: x\ninitialized_by: y\n", "this tool writes 1"),
        ("mlperf_results_version: true\norgname: acme\ninitialized_at: x\ninitialized_by: y\n", "not a number"),
        ("mlperf_results_version: 1\norgname: [a]\ninitialized_at: x\ninitialized_by: y\n", "not a text"),
        ("a: &a [1]\nb: *a\n", "aliases"),
        ("{", "not YAML"),
        ("", "empty"),
    ],
)
def test_a_file_that_is_none_of_ours_is_left_alone(
    tmp_path: Path, content: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / SENTINEL).write_text(content)
    assert main(["init", "acme", str(tmp_path)]) == 1
    assert (tmp_path / SENTINEL).read_text() == content
    assert problem in capsys.readouterr().err


def test_a_pipe_or_a_link_in_its_place_neither_hangs_nor_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / SENTINEL)
    assert main(["init", "acme", str(tmp_path / "a")]) == 1
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / SENTINEL).symlink_to(tmp_path / "elsewhere")
    assert main(["init", "acme", str(tmp_path / "b")]) == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", "acme", str(tmp_path / "file/results")]) == 2
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["init"], ["init", "acme"], ["init", "a", "b", "c"], ["init", "--force", "a", "b"]])
def test_the_command_line_is_checked(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("mlpstorage init: ")


def test_init_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["init", "--help"])
    assert ended.value.code == 0
    assert "exit status" in capsys.readouterr().out
