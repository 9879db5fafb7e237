"""``mlpstorage rules``: what it takes and what it refuses."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import rules
from mlpstorage import rules_cmd
from mlpstorage.rules_cmd import app
from rules.check import CheckResult, check_edition
from rules.edition import Edition
from rules.loading import BOOK


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


def with_limit(value: int) -> Edition:
    """Edition 3.0 with another count for a subset run."""
    made = Edition("3.0", rules.load_edition("3.0").sections)
    made.cells = {**made.cells, "limit": {"": {**made.cells["limit"][""], "subset_processes": value}}}
    return made


def test_a_failing_example_is_told_last_with_file_and_line_and_hides_no_changed_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a changed limit the changed verdicts show, whether the examples follow or not."""
    changed = with_limit(16)
    rule = changed.rule("4.3.5")
    monkeypatch.setattr(Edition, "rules", property(lambda self: (rule,)))
    result = check_edition(changed)
    monkeypatch.undo()
    assert result.problems
    monkeypatch.setattr(
        rules_cmd, "check_editions", lambda: [result, CheckResult("4.0-draft", problems=result.problems)]
    )
    loaded = rules.load_edition
    monkeypatch.setattr(rules, "load_edition", lambda name: changed if name == "3.0" else loaded(name))
    before = {path: path.read_bytes() for path in (BOOK / "expected").iterdir()}
    done = CliRunner().invoke(app, ["check", "--update"])
    assert done.exit_code == 1
    assert {path: path.read_bytes() for path in (BOOK / "expected").iterdir()} == before
    shown, _, end = done.stdout.partition("\n\n")
    text = " ".join(shown.split())
    assert "- llama3-8b 16 subset | 3.0 4.0-draft" in text
    assert "+ llama3-8b 16 subset | 3.0 |" in text
    assert "Facts and table columns" not in text
    assert f"does not hold: {len(result.problems)} problem" in " ".join(end.split()[-12:])
    book = (BOOK / "section-4-checkpointing.yaml").read_text().splitlines()
    for problem in result.problems:
        name, line, said = problem.split(":", 2)
        assert (name, said.split(":")[0].strip()) == ("section-4-checkpointing.yaml", "4.3.5")
        assert book[int(line) - 1].lstrip().startswith(("- {base:", "- base:")), problem


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
