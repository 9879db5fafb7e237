"""A complete description as data, means to spoil it, and what is found in it."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import yaml

from mlpstorage.results.files import Content
from mlpstorage.systems.description import Description, read_content
from mlpstorage.systems.template import Shape, template
from rules.facts import FactSheet

DELETE = object()


def good(name: str = "s1", deployment: str = "onprem", storage_location: str = "remote") -> dict[str, Any]:
    return copy.deepcopy(_parsed(template(Shape(name, deployment, storage_location))))


def good_with_parts() -> dict[str, Any]:
    """With every optional part in it as well."""
    lines = _template().splitlines()[4:]
    data = copy.deepcopy(_parsed("\n".join(line.removeprefix("#") for line in lines)))
    data["system_under_test"]["total_rack_units"] = 6
    return data


@cache
def _template() -> str:
    return template(Shape("s1"))


@cache
def _parsed(text: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def changed(data: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Values below ``system_under_test`` set, or removed with DELETE, by paths such as ``clients/0/quantity``."""
    for path, value in changes.items():
        *above, last = (int(step) if step.isdigit() else step for step in f"system_under_test/{path}".split("/"))
        node: Any = data
        for step in above:
            node = node[step]
        if value is DELETE:
            del node[last]
        else:
            node[last] = value
    return data


def read(data: Any) -> Description:
    """A description from its values (as JSON, which is YAML and quickly written) or its text."""
    text = data if isinstance(data, str) else json.dumps(data, indent=1)
    return read_content(Content("ok", text.encode()), "systems/s1.yaml")


def problems(data: Any) -> list[tuple[str, str, str]]:
    """Kind, object and detail of each problem."""
    return [(problem.kind, problem.name, problem.detail) for problem in read(data).problems]


def facts(data: Any) -> dict[str, Any]:
    from mlpstorage.systems.facts import put_description

    sheet = FactSheet()
    put_description(sheet, read(data))
    return sheet.values
