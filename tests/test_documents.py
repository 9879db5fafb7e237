"""The documents say what is true."""

import re
from pathlib import Path

import pytest

from rules.check import CheckResult, _check_rule
from rules.edition import Edition, compile_section, read_section
from rules.entries import Clause, Example, Rule
from rules.loading import BOOK

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "docs" / "contributing.md").read_text()
README = (ROOT / "README.md").read_text()
ENTRIES = (ROOT / "docs" / "rule-entries.md").read_text()


def rule_of_the_guide():
    return CONTRIBUTING.split("```yaml\n")[1].split("```")[0]


def check(tmp_path, text):
    """The check of the guide's rule, added to section 4."""
    book = (BOOK / "section-4-checkpointing.yaml").read_text()
    path = tmp_path / "section-4-checkpointing.yaml"
    path.write_text(book + "\n" + text)
    loaded = read_section(path)
    edition = Edition("3.0", ("4",))
    rule = next(rule for rule in compile_section(loaded, "3.0") if rule.id == "X4.9")
    edition._section_of["X4.9"] = loaded
    edition._rules["X4.9"] = rule
    result = CheckResult("3.0")
    _check_rule(edition, rule, result, mutate=True)
    return result


def test_the_rule_of_the_guide_loads_and_passes_the_check(tmp_path):
    result = check(tmp_path, rule_of_the_guide())
    assert result.problems == []
    assert result.mutants >= 5


def test_without_one_of_its_examples_the_check_says_which_wrong_version_would_pass(tmp_path):
    text = rule_of_the_guide().replace("      - {base: run-8b, given: {run.num_hosts: 1}, pass: true}\n", "")
    text = text.replace("{base: run-8b, pass: true}", "{base: run-8b, given: {run.num_hosts: 3}, pass: true}")
    (problem, *_) = check(tmp_path, text).problems
    assert problem.endswith("X4.9: this wrong version contradicts no example: main.require: run.num_hosts > (1)")


@pytest.mark.parametrize("model", [Rule, Clause, Example])
def test_every_key_of_an_entry_is_described(model):
    names = {field.alias or name for name, field in model.model_fields.items()} - {"why"}
    assert {name for name in names if f"`{name}" not in ENTRIES} == set()


@pytest.mark.parametrize("name", ["docs/speed.md", "docs/endurance.md", "docs/contributing.md", "Makefile"])
def test_what_is_not_in_a_clone_is_said_to_be_elsewhere(name):
    text = " ".join((ROOT / name).read_text().replace("#", "").split())
    assert "../shared" in text
    assert re.search(r"not part of the repository", text)


def test_files_that_the_documents_name_exist():
    for text, base in ((README, ROOT), (CONTRIBUTING, ROOT / "docs")):
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (base / target).exists(), target


def test_the_make_targets_that_the_readme_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in makefile
