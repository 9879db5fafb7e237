"""The library is light, typed and says what it offers."""

import subprocess
import sys
from importlib.resources import files

import rules

PUBLIC = [
    "Classification", "DEFAULT_EDITION", "Deferred", "Edition", "Evaluation", "EvaluationFault", "Evidence", "Finding",
    "Outcome", "Report", "RuleBookError", "RuleLoadError", "Severity", "UnknownEditionError", "UnknownRuleError",
    "conclude", "edition_ids", "load_edition",
]  # fmt: skip


def test_public_names():
    assert sorted(rules.__all__) == sorted(PUBLIC)


def test_importing_the_library_brings_in_nothing_heavy():
    code = "import sys, rules; rules.load_edition(); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"mpi4py", "torch", "pandas", "numpy", "rich", "typer", "mlpstorage", "submission_checker"}
    assert heavy.isdisjoint(loaded)


def test_it_is_typed():
    assert files("rules").joinpath("py.typed").is_file()


def test_editions():
    assert rules.edition_ids() == ("3.0-as-published", "3.0", "4.0-draft")
    assert rules.DEFAULT_EDITION == "3.0"
    assert "wrong" in rules.load_edition("3.0-as-published").info.caution


def test_a_rule_is_found_by_its_id():
    assert rules.load_edition("3.0").rule("4.3.5").rule.name == "checkpointSubsetRunValidation"
