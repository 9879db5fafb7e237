"""Imports run one way, and rule data stands in the rule data only."""

import ast
from pathlib import Path

import pytest

from mlpstorage.results import layout
from rules import edition_ids
from rules.derived.checkpointing import model_names
from rules.facts.base import MODELS
from rules.tables import load_table
from submission_checker.readers.families import DEEP_FAMILIES, FAMILIES

ROOT = Path(__file__).parents[1]
PACKAGES = ("rules", "mlpstorage", "submission_checker")
FORMATS = ("mlpstorage.results", "mlpstorage.systems")
"""Packages that know how files look, which the checker may use."""
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def module(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imported(path):
    """Absolute names of all modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module(path).split(".")[: -node.level] if node.level else []
            yield ".".join([*base, *([node.module] if node.module else [])])


def test_relative_imports_are_resolved():
    assert {"rules.facts.base", "rules.errors"} <= set(imported(ROOT / "rules/judge.py"))
    assert "rules.facts.base" in set(imported(ROOT / "rules/facts/checkpointing.py"))
    assert "rules.facts.base" in set(imported(ROOT / "rules/facts/__init__.py"))


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_imports_run_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        root = name.partition(".")[0]
        if package == "rules":
            assert root not in ("mlpstorage", "submission_checker"), name
        elif package == "mlpstorage":
            assert root != "submission_checker", name
            if "results" in path.parts:
                assert not name.startswith("mlpstorage.") or name.startswith("mlpstorage.results"), name
            elif "systems" in path.parts:
                assert not name.startswith("mlpstorage.") or name.startswith(FORMATS), name
        elif root == "mlpstorage":
            assert name == "mlpstorage" or name.startswith(FORMATS), name


@pytest.mark.parametrize("path", SOURCES, ids=module)
def test_no_model_is_named_in_code(path):
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value
    ]
    assert [text for text in texts if text in model_names()] == []


def test_limits_are_read_by_predicates_only():
    limits = [
        table.stem for table in (ROOT / "rules/book/tables").glob("*.yaml") if load_table(table.stem).kind == "limits"
    ]
    assert limits
    for path in SOURCES:
        for name in limits:
            assert f'reference_rows("{name}")' not in path.read_text()


def test_the_categories_of_the_book_are_the_families_that_are_looked_for_and_read():
    """An edition may know fewer of them."""
    table = load_table("tree-limits")
    known = {edition: table.cells(edition)[""] for edition in edition_ids()}
    assert {name for cells in known.values() for name in cells["categories"]} == set(layout.FAMILIES)
    assert set(FAMILIES) == set(DEEP_FAMILIES) == set(layout.FAMILIES)
    assert all(set(cells["counted_categories"]) <= set(cells["categories"]) for cells in known.values())


def test_every_subject_has_its_own_namespace():
    namespaces = [model.namespace for model in MODELS.values()]
    assert len(set(namespaces)) == len(namespaces)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.subject)
def test_every_fact_is_described(model):
    for info in model.fact_infos().values():
        assert info.description.endswith("."), info.name
