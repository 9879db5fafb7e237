"""A book that is known to be checked loads with less work; one that was changed by hand is refused as ever."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rules
from rules import strict_yaml
from rules.checked import RECORD, record_lines
from rules.edition import book, compile_section, load_section, read_section
from rules.entries import EXAMPLES
from rules.tables import BOOK

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
def copy(tmp_path):
    """Gives a function that changes a text in a copy of the package, and says how that copy loads."""
    shutil.copytree(PACKAGE, tmp_path / "rules", ignore=shutil.ignore_patterns("__pycache__"))

    def load(file="", old="", new=""):
        if file:
            path = tmp_path / "rules" / file
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new, 1))
        command = [sys.executable, "-B", "-c", LOAD]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    return load


SECTION_4 = "book/section-4-checkpointing.yaml"


def test_an_unchanged_copy_is_known(copy):
    assert copy() == "loads, checked"


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (SECTION_4, "{run.num_processes}", "{run.num_proceses}", "message: placeholder {run.num_proceses}"),
        (SECTION_4, "require: run.fsync", "require: run.fsnyc", "require: undeclared reference to 'run.fsnyc'"),
        (SECTION_4, "{base: run-8b", "{base: run-9b", "no such baseline: run-9b"),
        ("facts/checkpointing.py", "    fsync: Fact[bool]", "    fsnyc: Fact[bool]", "run.fsync"),
        ("book/tables/checkpointing-limits.yaml", "closed_invocations:", "closed_runs:", "closed_invocations"),
    ],
)
def test_a_book_that_was_changed_by_hand_is_refused_when_it_loads(copy, file, old, new, problem):
    said = copy(file, old, new)
    assert said.startswith("section-4-checkpointing.yaml:"), said
    assert problem in said


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
