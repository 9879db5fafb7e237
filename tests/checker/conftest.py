"""Fixtures of the checker's tests."""

from __future__ import annotations

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # the helpers beside the tests

from trees import cases_directory


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every directory with a case.yaml is a case."""
    if "case" in metafunc.fixturenames:
        found = sorted(path.parent for path in cases_directory().glob("*/case.yaml"))
        missing = pytest.param(None, marks=pytest.mark.skip(reason=f"no cases in {cases_directory()}"))
        metafunc.parametrize("case", found or [missing], ids=[path.name for path in found] or ["none"])
