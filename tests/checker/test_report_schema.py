"""Reports in JSON are as ``docs/report.schema.json`` says, in all their shapes.

Those of ``--waivers`` and ``--since`` are held against it in test_rulings and test_since, at every check made there;
comparisons in test_compare, against ``docs/compare.schema.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from reports import finding, hostile, mixed, report_of, written
from schemas import schema_problems
from trees import combined

from submission_checker.discovery import NothingToCheckError
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check


def json_of(report: CheckReport) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(written(report, "json"))
    return found


def test_the_report_of_a_case(case: Path) -> None:
    edition = str(yaml.safe_load((case / "case.yaml").read_text())["edition"])
    try:
        report = check(case / "tree", Options(edition=edition))
    except NothingToCheckError:
        pytest.skip("nothing in it is checked yet")
    assert schema_problems(json_of(report)) == []


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(mixed, id="every kind of finding"),
        pytest.param(hostile, id="hostile names, and a fault"),
        pytest.param(lambda: CheckReport("3.0", "tree"), id="nothing found"),
        pytest.param(lambda: report_of(finding(path="")), id="a finding of the tree itself"),
    ],
)
def test_a_report_made_by_hand(make: Callable[[], CheckReport]) -> None:
    assert schema_problems(json_of(make())) == []


@pytest.mark.parametrize("edition", ["3.0-as-published", "4.0-draft"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_report_of_a_part_of_a_tree(tmp_path: Path, edition: str, deep: bool) -> None:
    tree = combined(tmp_path / "tree")
    found = json_of(check(tree.workload, Options(edition=edition, deep=deep)))
    assert schema_problems(found) == []
    assert (found["filters"]["part"] != "", found["filters"].get("deep", False)) == (True, deep)


def test_a_line_of_jsonl_is_a_finding_with_its_type() -> None:
    *lines, last = map(json.loads, written(mixed(), "jsonl").splitlines())
    assert {line.pop("type") for line in lines} == {"finding"}
    assert last.pop("type") == "summary"
    assert schema_problems({**last, "findings": lines}) == []


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda report: report.pop("status"), "$: 'status' is a required property"),
        (lambda report: report.update(status="FINE"), "$.status: 'FINE' is not one of"),
        (lambda report: report.update(schema="mlpstorage-check-report/2"), "$.schema: "),
        (lambda report: report["summary"].update(errors="2"), "$.summary.errors: '2' is not of type 'integer'"),
        (lambda report: report["findings"][0].update(more=1), "$.findings[0]: Additional properties are not allowed"),
        (lambda report: report["findings"][0].pop("waived"), "$.findings[0]: 'waived' is a required property"),
        (lambda report: report["findings"][0].update(waived={}), "$.findings[0].waived: "),
        (lambda report: report["rules"].update(x={"pass": 1}), "$.rules.x: 'violation' is a required property"),
    ],
)
def test_the_schema_refuses_what_is_wrong(spoil: Callable[[dict[str, Any]], object], problem: str) -> None:
    report = json_of(mixed())
    spoil(report)
    assert any(found.startswith(problem) for found in schema_problems(report))
