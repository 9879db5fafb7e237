"""A book that is known to be checked loads with less work; one that was changed by hand is refused as ever."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rules
from rules import strict_yaml
from rules.checked import RECORD, record_lines
from rules.edition import compile_section, load_section, read_section
from rules.entries import EXAMPLES
from rules.loading import BOOK, book
from rules.tables import check_cells, load_table

PACKAGE = Path(rules.__file__).parent
SECTIONS = sorted(BOOK.glob("section-*.yaml"))
LOAD = """
import rules
from rules.checked import is_checked
try:
    edition = rules.load_edition("3.0")
except rules.RuleLoadError as error:
    print(error)
else:
    print("loads, checked" if is_checked() else "loads")
"""


def test_the_record_is_current():
    assert RECORD.read_text().splitlines() == record_lines(), "run: mlpstorage rules check --update"


@pytest.fixture
def started(tmp_path):
    """Gives a function that changes a text in a copy of the package, and starts Python on that copy."""
    shutil.copytree(PACKAGE, tmp_path / "rules", ignore=shutil.ignore_patterns("__pycache__"))

    def start(arguments, file="", old="", new=""):
        if file:
            path = tmp_path / "rules" / file
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new, 1))
        environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE.parent}"}
        command = [sys.executable, "-B", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)

    return start


@pytest.fixture
def copy(started):
    """Gives a function that changes a text in a copy of the package, and says how that copy loads."""

    def load(file="", old="", new=""):
        ended = started(["-c", LOAD], file, old, new)
        assert not ended.returncode, ended.stderr
        return ended.stdout.strip()

    return load


SECTION_4 = "book/section-4-checkpointing.yaml"
LIMITS, MODELS = "book/tables/checkpointing-limits.yaml", "book/tables/checkpointing-models.yaml"
BASELINES = "book/baselines/checkpointing.yaml"


def test_an_unchanged_copy_is_known(copy):
    assert copy() == "loads, checked"


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (SECTION_4, "{run.num_processes}", "{run.num_proceses}", "message: placeholder {run.num_proceses}"),
        (SECTION_4, "require: run.fsync", "require: run.fsnyc", "require: undeclared reference to 'run.fsnyc'"),
        (SECTION_4, "{base: run-8b", "{base: run-9b", "no such baseline: run-9b"),
        ("book/tables/checkpointing-limits.yaml", "closed_invocations:", "closed_runs:", "closed_invocations"),
    ],
)
def test_a_book_that_was_changed_by_hand_is_refused_when_it_loads(copy, file, old, new, problem):
    said = copy(file, old, new)
    assert said.startswith("section-4-checkpointing.yaml:"), said
    assert problem in said


SECTION_2 = "book/section-2-tree.yaml"


def line_of(file, text):
    return next(number for number, line in enumerate((PACKAGE / file).open(), 1) if text in line)


DEFECTS = {
    "a limit of the wrong type": (
        LIMITS,
        "value: 3.0",
        "value: three",
        "value: three",
        "columns.flush_ratio.value: must be a number, not 'three'",
    ),
    "an item of a limit": (
        LIMITS,
        "value: [llama3-8b]",
        "value: [llama3-8b, {}]",
        "value: [llama3-8b, {}]",
        "columns.subset_models.value.1: must be text, not {}",
    ),
    "a limit that one edition lacks": (
        LIMITS,
        "value: 3.0",
        'value: {"3.0": 3.0, "4.0-draft": 3.0}',
        'value: {"3.0"',
        "columns.flush_ratio.value: no value for edition '3.0-as-published'",
    ),
    "a limit of the wrong type in another edition": (
        LIMITS,
        "value: 3.0",
        'value:\n      "3.0-as-published": 3.0\n      "3.0": 3.0\n      "4.0-draft": three',
        '"4.0-draft": three',
        "columns.flush_ratio.value.4.0-draft: must be a number, not 'three'",
    ),
    "a limit of an edition that does not exist": (
        LIMITS,
        "value: 3.0",
        'value: {"3.0-as-publised": 3.0}',
        'value: {"3.0-as-publised"',
        "columns.flush_ratio.value.3.0-as-publised: no such edition; did you mean '3.0-as-published'?",
    ),
    "a limit without a value": (
        LIMITS,
        "    value: 3.0\n",
        "",
        "flush_ratio:",
        "columns.flush_ratio: 'value' is missing",
    ),
    "a reference cell of the wrong type": (
        MODELS,
        "closed_processes: 8\n",
        "closed_processes: eight\n",
        "closed_processes: eight",
        "rows.llama3-8b.closed_processes: must be a whole number, not 'eight'",
    ),
    "a reference cell that is no whole number": (
        MODELS,
        "closed_processes: 8\n",
        "closed_processes: 8.5\n",
        "closed_processes: 8.5",
        "rows.llama3-8b.closed_processes: must be a whole number, not '8.5'",
    ),
    "a reference cell that differs by edition": (
        MODELS,
        "closed_processes: 8\n",
        'closed_processes: {"3.0": 8}\n',
        "closed_processes: {",
        "rows.llama3-8b.closed_processes: a reference table does not differ by edition",
    ),
    "an empty reference cell": (
        MODELS,
        "model_datatype: fp16\n",
        "model_datatype:\n",
        "model_datatype:\n    opt",
        "rows.llama3-8b.model_datatype: must not be empty",
    ),
    "a data type that the size formula does not know": (
        MODELS,
        "model_datatype: fp16\n",
        "model_datatype: fp32\n",
        "model_datatype: fp32",
        "rows.llama3-8b.model_datatype: must be one of fp16, not 'fp32'",
    ),
    "a misspelt column of a row": (
        MODELS,
        "closed_processes: 8\n",
        "closed_proceses: 8\n",
        "closed_proceses: 8",
        "rows.llama3-8b.closed_proceses: no such column; did you mean 'closed_processes'?",
    ),
    "a column that a row lacks": (
        MODELS,
        "    closed_processes: 8\n",
        "",
        "llama3-8b:",
        "rows.llama3-8b: columns are missing: closed_processes",
    ),
    "a misspelt fold": (
        SECTION_4,
        "    name: checkpointClosedMpiProcesses\n",
        "    name: checkpointClosedMpiProcesses\n    fold: workloads\n",
        "    fold: workloads",
        "rule 4.6.1: fold: neither 'parent' nor the namespace of a subject above the rule's: workloads",
    ),
    "a misspelt fold of a section": (
        SECTION_4,
        "  fold: workload\n",
        "  fold: workloads\n",
        "  fold: workloads",
        "defaults.fold: neither 'parent' nor the namespace of a subject above the rule's: workloads",
    ),
    "a rule without a heading": (
        SECTION_4,
        'id: "4.7.1"',
        'id: "Z9.1"',
        'id: "Z9.1"',
        "rule Z9.1: the id begins with no heading of the section: 4.3, 4.4, 4.6, 4.7, READ, X4",
    ),
    "a misspelt fact of a baseline": (
        BASELINES,
        "run.num_hosts: 1\n",
        "run.num_hots: 1\n",
        "run.num_hots: 1",
        "baseline run-8b: not a declared fact of checkpointing_run: run.num_hots; did you mean 'run.num_hosts'?",
    ),
    "a value of a baseline that does not fit": (
        BASELINES,
        "run.num_hosts: 1\n",
        "run.num_hosts: one\n",
        "run.num_hosts: one",
        "baseline run-8b: run.num_hosts: must be a whole number, not 'one'",
    ),
    "a misspelt subject of a baseline": (
        BASELINES,
        "subject: checkpointing_run\n",
        "subject: checkpoint_run\n",
        "subject: checkpoint_run",
        "baseline run-8b: no such subject: checkpoint_run; did you mean 'checkpointing_run'?",
    ),
    "a baseline like one that does not exist": (
        BASELINES,
        "like: run-8b\n",
        "like: run-8bb\n",
        "like: run-8bb",
        "baseline run-70b: no such baseline: run-8bb; did you mean 'run-8b'?",
    ),
    "a baseline like itself": (
        BASELINES,
        "like: run-8b\n",
        "like: run-70b\n",
        "like: run-70b",
        "baseline run-70b: it starts from itself: run-70b from run-70b",
    ),
    "an id that another section has": (
        "book/section-2-code.yaml",
        'id: "2.1.6"',
        'id: "2.1.10"',
        'id: "2.1.10"',
        f"rule 2.1.10: duplicate id; section-2-tree.yaml:{line_of(SECTION_2, '2.1.10')} has it too",
    ),
    "a default edition that does not exist": (
        "book/editions.yaml",
        'default: "3.0"',
        'default: "3.0-corrected"',
        'default: "3.0-corrected"',
        "default: no such edition: 3.0-corrected",
    ),
    "a misspelt key of a table": (
        MODELS,
        "- run.model\n",
        "- run.modle\n",
        "- run.modle",
        "key: not a declared fact: run.modle; did you mean 'run.model'?",
    ),
}
"""File, text, what it is changed to, the text at whose line the problem is told, and the problem."""


def wanted(file, old, new, at, problem):
    """What is said of a defect, from the file's name on."""
    changed = (PACKAGE / file).read_text().replace(old, new, 1)
    return f"{Path(file).name}:{changed[: changed.index(at)].count(chr(10)) + 1}: {problem}"


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_data_is_told_with_file_and_line_when_it_loads(copy, defect):
    file, old, new, *_ = DEFECTS[defect]
    assert copy(file, old, new).startswith(wanted(*DEFECTS[defect]))


@pytest.mark.parametrize(
    "defect",
    [
        "a limit of the wrong type",
        "a reference cell of the wrong type",
        "a misspelt fold",
        "a rule without a heading",
        "a misspelt fact of a baseline",
        "a misspelt key of a table",
    ],
)
def test_the_gate_neither_allows_nor_forbids_by_a_book_with_a_defect(started, defect):
    file, old, new, *_ = DEFECTS[defect]
    arguments = ["-m", "mlpstorage", "checkpointing", "run", "closed", "--model", "llama3-8b", "--dry-run"]
    ended = started(arguments, file, old, new)
    assert (ended.returncode, ended.stdout) == (5, "")
    assert "a rule is broken; the run is neither allowed nor forbidden" in ended.stderr
    assert wanted(*DEFECTS[defect]) in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["mlpstorage", "rules", "list"], 3),
        (["mlpstorage", "checkpointing", "run", "closed", "--model", "llama3-8b", "--dry-run"], 5),
        (["submission_checker", "."], 3),
    ],
    ids=["rules", "gate", "checker"],
)
def test_a_list_of_editions_with_a_defect_is_no_mistake_of_the_user(started, arguments, code):
    file, old, new, *_ = DEFECTS["a default edition that does not exist"]
    ended = started(["-m", *arguments], file, old, new)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert wanted(*DEFECTS["a default edition that does not exist"]) in ended.stderr


@pytest.mark.parametrize("table", sorted((BOOK / "tables").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_cells_that_the_record_vouches_for_fit(table):
    check_cells(load_table(table.stem), strict_yaml.load(table))


def test_a_baseline_of_a_fact_that_is_no_more_is_refused_when_it_loads(copy):
    said = copy("facts/checkpointing.py", "    fsync: Fact[bool]", "    fsnyc: Fact[bool]")
    assert said.startswith("checkpointing.yaml:")
    assert "baseline run-8b: not a declared fact of checkpointing_run: run.fsync; did you mean 'run.fsnyc'?" in said


def test_a_harmless_change_loads_and_is_not_known_to_be_checked(copy):
    assert copy(SECTION_4, "rules:\n", "rules:\n  # a remark\n") == "loads"


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.stem)
def test_nothing_but_the_examples_is_left_out(path):
    whole, rest = strict_yaml.load(path), strict_yaml.load(path, EXAMPLES)
    for entry in whole.data["rules"]:
        assert entry.pop(EXAMPLES)
    assert rest.data == whole.data
    assert rest.lines == {at: line for at, line in whole.lines.items() if at[2:3] != (EXAMPLES,)}


@pytest.mark.parametrize("number", book().sections)
def test_examples_are_there_when_they_are_asked_for(number):
    section = load_section(number)
    whole = read_section(section.path)
    assert section.checked
    for rule in section.section.rules:
        assert section.examples(rule.id) == whole.examples(rule.id) != []


def test_a_fault_that_the_record_hides_is_still_named_with_its_place():
    section = read_section(BOOK / "section-4-checkpointing.yaml", checked=True)
    rule = next(iter(compile_section(section, "3.0")))
    clause = rule.clauses[0]
    clause.clause.message = "{run.nope}"
    with pytest.raises(rules.RuleLoadError, match=rf"section-4.*: rule {rule.id} .*placeholder {{run.nope}}"):
        _ = clause.message
