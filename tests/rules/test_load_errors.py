"""Anything wrong in the rule data is one clear error when it loads: file, line, rule and clause."""

import re

import pytest

from rules.edition import compile_section, read_section
from rules.errors import RuleLoadError
from rules.examples import build_examples
from rules.loading import BOOK

HEAD = """\
section: "9"
title: Test
workload: checkpointing
facts: [system, checkpointing]
tables: [checkpointing-models, checkpointing-limits, accelerators]
baselines: checkpointing
headings: {"9": Test}
rules:
"""
RULE = """\
  - id: "9.1"
    name: testRule
    subject: checkpointing_run
    statement: A run has eight processes.
    require: run.num_processes == 8
    message: it has {run.num_processes}
    examples:
      - {base: run-8b, pass: true}
      - {base: run-70b, fail: [main]}
"""


def load(tmp_path, text):
    path = tmp_path / "section-9.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    section = read_section(path)
    for rule in compile_section(section, "3.0"):
        build_examples(section, rule)


def test_the_rule_itself_loads(tmp_path):
    load(tmp_path, RULE)


REQUIRE = "require: run.num_processes == 8"
CASES = {
    "a misspelt fact": (
        REQUIRE,
        "require: run.num_proceses == 8",
        13,
        "undeclared reference to 'run.num_proceses'; did you mean 'run.num_processes'?",
    ),
    "an int compared with a text": (REQUIRE, "require: run.num_processes == '8'", 13, "no matching overload"),
    "an int compared with a float": (REQUIRE, "require: run.num_processes == 8.0", 13, "no matching overload"),
    "not a bool": (REQUIRE, "require: run.num_processes + 8", 13, "must be BOOL, is INT"),
    "a syntax error": (REQUIRE, "require: run.num_processes == ", 13, "unexpected end"),
    "has() on a fact": (REQUIRE, "require: has(run.num_processes)", 13, r"has\(\) is not allowed: on a fact"),
    "dyn()": (REQUIRE, "require: dyn(run.num_processes) == '8'", 13, r"dyn\(\) is not allowed: it takes the type away"),
    "a misspelt limit": (
        REQUIRE,
        "require: run.num_processes == limit.subset_proceses",
        13,
        "undeclared reference to 'limit.subset_proceses'; did you mean 'limit.subset_processes'?",
    ),
    "a misspelt fact that must be present": (
        REQUIRE,
        "present: run.num_host",
        13,
        "present: not a declared fact: run.num_host; did you mean 'run.num_hosts'?",
    ),
    "a misspelt subject": (
        "subject: checkpointing_run",
        "subject: checkpoint_run",
        11,
        "no such subject: checkpoint_run; did you mean 'checkpointing_run'?",
    ),
    "a value the fact never has": (
        REQUIRE,
        "require: run.api == 'flie'",
        13,
        "run.api is never 'flie'; it is one of: file, object",
    ),
    "a broken regular expression": (
        REQUIRE,
        "require: run.num_hosts == 1 || run.model.matches('[a-z')",
        13,
        "section-9.yaml:13:54: rule 9.1 clause main: require: invalid regular expression: missing ]: [a-z",
    ),
    "a regular expression of another language": (
        REQUIRE,
        "require: matches(run.model, '(?=llama)')",
        13,
        "invalid regular expression: invalid perl operator: (?=",
    ),
    "a broken regular expression in a message": (
        "{run.num_processes}",
        "{run.model.matches('+')}",
        14,
        "placeholder {run.model.matches('+')}: invalid regular expression: no argument for repetition operator: +",
    ),
    "a macro variable that hides a subject": (
        REQUIRE,
        "require: limit.closed_invocations.all(run, run == '')",
        13,
        "already the name",
    ),
    "an unknown key": (
        "    statement:",
        "    severty: error\n    statement:",
        12,
        "rule 9.1: severty: unknown key; did you mean 'severity'?",
    ),
    "an unknown key that is near no other": (
        "    statement:",
        "    zzz: error\n    statement:",
        12,
        "rule 9.1: zzz: unknown key",
    ),
    "a misspelt key of the clause": ("    message:", "    mesage:", 14, "mesage: unknown key; did you mean 'message'?"),
    "a misspelt judgement": ("    require:", "    requires:", 13, "requires: unknown key; did you mean 'require'?"),
    "a misspelt key that is needed": ("    name:", "    nmae:", 10, "nmae: unknown key; did you mean 'name'?"),
    "a misspelt key of an example": ("fail: [main]", "fial: [main]", 17, "fial: unknown key; did you mean 'fail'?"),
    "a misspelt key of an equivalent": (
        "    examples:",
        "    equivalent:\n      - {mutant: x, raeson: y}\n    examples:",
        16,
        "equivalent.0.raeson: unknown key; did you mean 'reason'?",
    ),
    "an empty judgement": (REQUIRE, "require:", 13, "require: must not be empty"),
    "a fold that names nothing": (
        "    statement:",
        '    fold: ""\n    statement:',
        12,
        "rule 9.1: fold: must not be empty",
    ),
    "no name": ("    name: testRule\n", "", 9, "rule 9.1: 'name' is missing"),
    "an unknown severity": (
        "    statement:",
        "    severity: fatal\n    statement:",
        12,
        "rule 9.1: severity: must be 'error', 'warning' or 'info', not 'fatal'",
    ),
    "an unknown severity in one edition": (
        "    statement:",
        '    severity: {"3.0": fatal}\n    statement:',
        12,
        "rule 9.1: severity.3.0: must be 'error', 'warning' or 'info', not 'fatal'",
    ),
    "a text in the place of a list": ("    statement:", "    notes: x\n    statement:", 12, "notes: must be a list"),
    "an unknown subject": ("subject: checkpointing_run", "subject: run", 11, "no such subject: run"),
    "a misspelt fact in a message": ("{run.num_processes}", "{run.processes}", 14, "placeholder"),
    "an unbalanced brace": ("it has {run.num_processes}", '"it has {run.num_processes"', 14, "unbalanced"),
    "a clause that does not exist": (
        "fail: [main]",
        "fail: [mian]",
        17,
        "examples.1.fail: no such clause: mian; did you mean 'main'?",
    ),
    "a baseline that does not exist": (
        "base: run-70b",
        "base: run-70",
        17,
        "no such baseline: run-70; did you mean 'run-70b'?",
    ),
    "a fact in an example that does not exist": (
        "{base: run-70b,",
        "{base: run-8b, given: {run.processes: 8},",
        17,
        "not a declared fact",
    ),
    "a value in an example that does not fit": (
        "{base: run-70b,",
        "{base: run-8b, given: {run.num_processes: many},",
        17,
        "num_processes",
    ),
    "an example that states nothing": ("{base: run-70b, fail: [main]}", "{base: run-70b}", 17, "states nothing"),
    "no illegal example": ("      - {base: run-70b, fail: [main]}\n", "", 9, "no illegal example"),
    "no legal example": ("      - {base: run-8b, pass: true}\n", "", 9, "no legal example"),
    "no statement": ("A run has eight processes.", "TODO", 12, "statement"),
    "an edition that does not exist": (
        "    statement:",
        '    editions: ["3.1"]\n    statement:',
        12,
        "no such edition: 3.1",
    ),
    "a variant of an edition that does not exist": (
        "    examples:",
        '    variants: {"3.1": {}}\n    examples:',
        15,
        "no such edition: 3.1",
    ),
    "a severity for one edition only": (
        "    statement:",
        '    severity: {"4.0-draft": error}\n    statement:',
        None,
        "no severity for edition 3.0",
    ),
    "a duplicate id": (RULE, RULE + RULE, 18, "duplicate id"),
    "a duplicate key": (REQUIRE, REQUIRE + "\n    require: 'true'", 14, "duplicate key 'require'"),
    "a leading exclamation mark": (REQUIRE, "require: ! run.fsync || run.o_direct", 13, "tag"),
    "a folded predicate": (REQUIRE, "require: >-\n      run.fsync ||\n      run.o_direct", 13, "folded"),
    "a predicate over two plain lines": (REQUIRE, "require: run.fsync ||\n      run.o_direct", 13, "folded"),
    "an anchor": (REQUIRE, "require: &a run.fsync", 13, "anchor"),
    "an alias": ("fail: [main]", "fail: *a", 17, "alias"),
    "require and present together": (REQUIRE, REQUIRE + "\n    present: run.fsync", 9, "exactly one"),
    "a list that has no records": (REQUIRE, "each: run.num_hosts\n    " + REQUIRE, 13, "not a list of records"),
}


@pytest.mark.parametrize("case", CASES)
def test_is_refused(tmp_path, case):
    old, new, line, problem = CASES[case]
    assert old in RULE
    with pytest.raises(RuleLoadError, match=problem if "\\" in problem else re.escape(problem)) as caught:
        load(tmp_path, RULE.replace(old, new))
    message = str(caught.value)
    assert message.startswith("section-9.yaml:")
    if line is not None:
        assert caught.value.line == line, message


def test_an_error_in_a_named_clause_names_it(tmp_path):
    text = (
        RULE.replace(f"    {REQUIRE}\n    message: it has {{run.num_processes}}\n", "")
        .replace(
            "    examples:",
            "    clauses:\n      count:\n        require: run.nope\n        message: x\n    examples:",
        )
        .replace("[main]", "[count]")
    )
    with pytest.raises(RuleLoadError, match=r"rule 9\.1 clause count: require: undeclared reference to 'run\.nope'"):
        load(tmp_path, text)


def test_a_predicate_in_a_flow_mapping_is_refused(tmp_path):
    text = RULE.replace(f"    {REQUIRE}\n    message: it has {{run.num_processes}}\n", "").replace(
        "    examples:", "    clauses: {main: {require: run.fsync, message: x}}\n    examples:"
    )
    with pytest.raises(RuleLoadError, match="flow mapping"):
        load(tmp_path, text)


def test_a_variant_of_a_clause_that_does_not_exist_is_refused(tmp_path):
    text = RULE.replace("    examples:", '    variants: {"3.0": {clauses: {mian: {severity: info}}}}\n    examples:')
    with pytest.raises(RuleLoadError, match="no such clause: mian"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "tables: [checkpointing-models,",
            "tables: [checkpointing-model,",
            "section-9.yaml:5: tables: no such table: checkpointing-model; did you mean 'checkpointing-models'?",
        ),
        (
            "baselines: checkpointing",
            "baselines: checkpoints",
            "section-9.yaml:6: baselines: no such file of baselines: checkpoints; did you mean 'checkpointing'?",
        ),
    ],
)
def test_a_misspelt_file_is_told_at_the_line_that_names_it(tmp_path, old, new, problem):
    path = tmp_path / "section-9.yaml"
    assert old in HEAD
    path.write_text(HEAD.replace(old, new) + RULE, encoding="utf-8")
    with pytest.raises(RuleLoadError, match=re.escape(problem)):
        read_section(path)


TWO_CLAUSES = """\
  - id: "9.2"
    name: testRule
    subject: checkpointing_run
    statement: A run has eight processes on one host.
    clauses:
      count:
        require: run.num_processes == 8
        message: x
      hosts:
        unless: [count]
        require: run.num_hosts == 1
        message: x
    variants:
      "4.0-draft":
        clauses:
          hosts: {severity: info}
    examples:
      - {base: run-8b, pass: true}
      - {base: run-70b, fail: [count], skip: [hosts]}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        (
            "unless: [count]",
            "unless: [coutn]",
            18,
            "rule 9.2 clause hosts: clauses.hosts.unless.0: no earlier clause on the same subject: coutn;"
            " did you mean 'count'?",
        ),
        (
            "          hosts: {",
            "          host: {",
            24,
            "rule 9.2: variants.4.0-draft.clauses.host: no such clause: host; did you mean 'hosts'?",
        ),
        ("skip: [hosts]", "skip: [host]", 27, "examples.1.skip: no such clause: host; did you mean 'hosts'?"),
        (
            "        unless:",
            "        division: [closed]\n        unless:",
            18,
            "clauses.hosts.division: unknown key; did you mean 'divisions'?",
        ),
        (
            '"4.0-draft":\n        clauses:\n          hosts: {severity: info}',
            '"3.0":\n        clauses:\n          hosts:\n            require: run.nope == 1',
            25,
            "section-9.yaml:25:22: rule 9.2 clause hosts: require: undeclared reference to 'run.nope'",
        ),
        ('"4.0-draft":', '"4.0-drafts":', 22, "no such edition: 4.0-drafts; did you mean '4.0-draft'?"),
    ],
)
def test_a_clause_is_misspelt(tmp_path, old, new, line, problem):
    load(tmp_path, TWO_CLAUSES)
    with pytest.raises(RuleLoadError, match=re.escape(problem)) as caught:
        load(tmp_path, TWO_CLAUSES.replace(old, new))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("require", "position"),
    [
        ("require: run.fsync && run.nope", "13:27"),
        ("require: 'run.fsync && run.nope'", "13:28"),
        ("require: |\n      run.fsync &&\n      run.nope", "15:7"),
        ("require: 'run.api == ''file'' && run.nope'", "13"),
    ],
    ids=["plain", "quoted", "block", "not as it is written"],
)
def test_the_column_is_that_of_the_file(tmp_path, require, position):
    with pytest.raises(RuleLoadError, match=re.escape(f"section-9.yaml:{position}: rule 9.1 clause main: require:")):
        load(tmp_path, RULE.replace(REQUIRE, require))


def test_a_clause_yields_only_to_an_earlier_one(tmp_path):
    text = RULE.replace(f"    {REQUIRE}\n", f"    {REQUIRE}\n    unless: [main]\n")
    with pytest.raises(RuleLoadError, match="no earlier clause"):
        load(tmp_path, text)


def test_the_book_is_not_written_by_loading_it():
    before = {path: path.stat().st_mtime_ns for path in BOOK.rglob("*")}
    read_section(BOOK / "section-4-checkpointing.yaml")
    assert before == {path: path.stat().st_mtime_ns for path in BOOK.rglob("*")}
