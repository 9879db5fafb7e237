"""Each case gives exactly its expected errors and warnings, among the rules that the edition has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

import rules
from submission_checker.discovery import NothingToCheckError
from submission_checker.scan import Options, check


def found_in(tree: Path, edition: str) -> list[tuple[str, str, str]]:
    try:
        report = check(tree, Options(edition=edition))
    except NothingToCheckError:  # no workload of a family that is read yet
        return []
    assert not report.faults
    return [(f.rule, f.severity.value, f.path) for f in report.findings if f.severity.value != "info"]


def test_expected_findings_and_no_others(case: Path) -> None:
    stated = yaml.safe_load((case / "case.yaml").read_text())
    edition = str(stated["edition"])
    cut = {rule for entry in stated.get("not_checked", ()) for rule in entry["rules"]}
    known = {rule.id for rule in rules.load_edition(edition).rules} - cut
    expected = [(e["rule"], e["severity"], e["path"]) for e in stated["expect"] if e["rule"] in known]
    found = [item for item in found_in(case / "tree", edition) if item[0] not in cut]
    assert Counter(found) == Counter(expected)


def test_silent_rules_are_silent(case: Path) -> None:
    stated = yaml.safe_load((case / "case.yaml").read_text())
    found = found_in(case / "tree", str(stated["edition"]))
    expected = {(entry["rule"], entry["path"]) for entry in stated["expect"]}
    for entry in stated["silent"]:
        fired = [
            item
            for item in found
            if item[0] == entry["rule"]
            and (item[0], item[2]) not in expected
            and ("path" not in entry or item[2] == entry["path"])
        ]
        assert fired == [], entry.get("why", "")


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_no_edition_fails_on_a_case(case: Path, edition: str) -> None:
    found_in(case / "tree", edition)
