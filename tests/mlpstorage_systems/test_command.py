"""``mlpstorage systems``: what is printed, and the exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from descriptions import DELETE, changed, good
from jsonschema import Draft202012Validator

from mlpstorage import cli
from mlpstorage.systems.template import Shape, template

SHAPES = [(d, s) for d in ("onprem", "cloud") for s in ("remote", "local", "remote_and_local")]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    try:
        code = cli.main(["systems", *map(str, words)])
    except SystemExit as leave:
        code = int(leave.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(("deployment", "location"), SHAPES)
def test_a_template_is_a_complete_description(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], deployment: str, location: str
) -> None:
    options = ("--name", "fast-1", "--deployment", deployment, "--storage-location", location)
    code, text, _ = run(capsys, "template", *options)
    assert code == 0
    (tmp_path / "fast-1.yaml").write_text(text)
    for edition in ("3.0", "4.0-draft"):
        code, out, _ = run(capsys, "check", tmp_path / "fast-1.yaml", "--edition", edition)
        assert (code, out.splitlines()[0]) == (0, f"{tmp_path}/fast-1.yaml: no findings")


def test_a_template_says_what_may_stand_in_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "template")[1].splitlines()
    for number, line in enumerate(lines):
        if line.strip().startswith(("deployment:", "storage_location:", "#  product_switches:")):
            assert lines[number - 1].lstrip("# ")
    assert any("[available | preview | RDI]" in line for line in lines)
    assert max(map(len, lines)) <= 120


def test_optional_lines_of_a_template_can_be_taken_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = template(Shape("fast-1")).replace("total_rack_units: 4", "total_rack_units: 6").splitlines()
    (tmp_path / "fast-1.yaml").write_text("\n".join(line.removeprefix("#") for line in lines[4:]))
    code, out, _ = run(capsys, "check", tmp_path / "fast-1.yaml")
    assert code == 0
    assert "1 info" in out  # switches are listed: a reminder


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "schema")
    assert code == 0
    Draft202012Validator.check_schema(json.loads(out))
    assert Draft202012Validator(json.loads(out)).is_valid(good())


def test_errors_are_told_and_end_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s1.yaml"
    spoilt = changed(good(), {"total_rack_units": 7, "clients/0/quantity": 0, "solution/capabilities/multi_host": 1})
    path.write_text(yaml.safe_dump(spoilt))
    code, out, _ = run(capsys, "check", path)
    assert code == 1
    assert out.splitlines()[0] == f"{path}: 3 errors"
    assert "total_rack_units says 7 rack units" in out
    assert "clients[0]: quantity (line " in out
    assert "ERROR 4.7.4" in out
    code, out, _ = run(capsys, "check", path, "--format", "json")
    (report,) = json.loads(out)
    assert code == 1
    assert {finding["rule"] for finding in report["findings"]} == {"2.1.7", "4.7.4"}
    assert report["fields"][0]["fields"] == ["clients[0].quantity"]
    assert report["fields"][0]["legal"] == ["a whole number, 1 or more"]
    assert report["summary"]["rack units"] == 4


@pytest.mark.parametrize(
    ("place", "value", "line_of", "told"),
    [
        ("solution/capabilities/multi_host", "yes", "multi_host:", "'yes' is not true or false"),
        ("solution/capabilities/multi_host", None, "multi_host:", "the key is not set"),
        ("solution/capabilities/multi_host", DELETE, "capabilities:", "the key is not set"),
        (
            "solution/capabilities/remap_time_in_seconds",
            -1,
            "remap_time_in",
            "-1 is not a number of seconds, 0 or more",
        ),
        ("solution/capabilities/remap_time_in_seconds", 5, "remap_time_in", "5"),
        ("total_rack_units", 7, "total_rack_units:", "7"),
        ("solution/submission_name", "other", "submission_name:", "'other'"),
    ],
)
def test_what_was_found_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, value: object, line_of: str, told: str
) -> None:
    text = yaml.safe_dump(changed(good(), {place: value}))
    (tmp_path / "s1.yaml").write_text(text)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line_of in line)
    out = " ".join(run(capsys, "check", tmp_path / "s1.yaml")[1].split())
    assert f" found: {place.replace('/', '.')} (line {line}): {told} " in out


def test_lines_fit_a_terminal_and_none_is_a_command_for_a_runner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoilt = changed(good(), {"solution/availability": DELETE, f"solution/{'::error:: ' * 30}": 1})
    (tmp_path / "s1.yaml").write_text(yaml.safe_dump(spoilt))
    lines = run(capsys, "check", tmp_path / "s1.yaml")[1].splitlines()[1:]
    assert any(": :error:: ::error::" in line for line in lines)
    assert not any(line.lstrip().startswith("::") for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("name", "rule"), [("other.yaml", "2.1.8"), ("s1.yml", "2.1.7"), ("s1.YAML", "2.1.7")], ids=str
)
def test_the_name_of_the_file_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, rule: str) -> None:
    (tmp_path / name).write_text(yaml.safe_dump(good()))
    code, out, _ = run(capsys, "check", tmp_path / name)
    assert (code, f"ERROR {rule}" in out) == (1, True)


def test_what_cannot_be_read_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for path in (tmp_path / "none.yaml", tmp_path, tmp_path / "pipe.yaml"):
        code, _, err = run(capsys, "check", path)
        assert (code, "cannot be read" in err, "Traceback" in err) == (2, True, False)
    assert run(capsys, "check", tmp_path / "none.yaml", "--edition", "2.0")[0] == 2
    assert run(capsys, "check")[0] == 2


def test_damaged_content_is_one_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s1.yaml").write_text("a: [\n")
    code, out, _ = run(capsys, "check", tmp_path / "s1.yaml")
    assert code == 1
    assert out.splitlines()[0].endswith(": 1 error")


def test_a_link_that_the_user_names_is_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stored").write_text(yaml.safe_dump(good()))
    (tmp_path / "s1.yaml").symlink_to("stored")
    assert run(capsys, "check", tmp_path / "s1.yaml")[0] == 0
