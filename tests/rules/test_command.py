"""``mlpstorage rules``: what it takes and what it refuses."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from mlpstorage.rules_cmd import app


@pytest.mark.parametrize("given", ["99999999999999999999", "2147483648", "0", "8,-1", "8,", "x", "9" * 5000])
def test_a_process_count_that_none_can_start_is_refused(given: str) -> None:
    result = CliRunner().invoke(app, ["matrix", "checkpointing", "--processes", given])
    assert result.exit_code == 2
    assert "from 1 to 2147483647" in " ".join(result.stderr.split())


def test_each_process_count_is_shown_once_in_the_order_given() -> None:
    result = CliRunner().invoke(app, ["matrix", "--processes", "2147483647,8,8", "--format", "json"])
    assert result.exit_code == 0
    cells = json.loads(result.stdout)["cells"]
    assert list(dict.fromkeys(cell["processes"] for cell in cells)) == [2147483647, 8]
    assert len({(c["model"], c["processes"], c["declared"]) for c in cells}) == len(cells)


@pytest.mark.parametrize("wanted", ["4.3.2", "checkpointSubsetRunValidation", "checkpointsubsetrunvalidation"])
def test_a_rule_is_shown_by_its_id_or_its_name(wanted: str) -> None:
    result = CliRunner().invoke(app, ["show", wanted])
    assert result.exit_code == 0
    assert "clause " in result.stdout


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("4.7.3", ["limit.remap_fraction = 0.5", "rules/book/tables/checkpointing-limits.yaml:"]),
        (
            "4.6.1",
            ["model.closed_processes = llama3-8b: 8; llama3-70b: 64; llama3-405b: 512; llama3-1t: 1024 processes"],
        ),
    ],
)
def test_a_rule_is_shown_with_the_values_of_the_limits_that_it_reads(rule: str, told: list[str]) -> None:
    shown = " ".join(CliRunner().invoke(app, ["show", rule]).stdout.split())
    for text in told:
        assert text in shown


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_a_limit_that_differs_between_editions_is_shown(format_: str) -> None:
    result = CliRunner().invoke(app, ["diff", "3.0-as-published", "3.0", "--format", format_])
    assert result.exit_code == 0
    if format_ == "json":
        (change,) = json.loads(result.stdout)["limits"]
        assert (change["limit"], change["old"], change["new"]) == ("kv_limit.inter_option_delays", [20, 90], [90])
        assert json.loads(result.stdout)["fixed"]["run.num_hosts"] == "1"
        return
    text = " ".join(result.stdout.replace("\\", "").split())
    assert "kv_limit.inter_option_delays" in text
    assert "20, 90" in text
    assert "Held fixed: run.num_hosts = 1" in text


def test_an_unknown_rule_is_refused_with_those_near_it() -> None:
    result = CliRunner().invoke(app, ["show", "4.3.9"])
    assert result.exit_code == 2
    assert "4.3.2" in result.stderr


def test_rules_are_listed_by_their_numbers_whatever_file_they_are_in() -> None:
    lines = CliRunner().invoke(app, ["list"]).stdout.splitlines()
    listed = [line.split()[0] for line in lines if line[:1].strip()]
    wanted = ["1.1", "1.2", "2.1.6", "2.1.9", "2.1.10", "2.1.27", "2.29", "4.3.5", "6.3.1.1", "LEAF-01", "X6.4"]
    assert [rule for rule in listed if rule in wanted] == wanted
