"""The committed schemas of what the checker prints as JSON, closed: what they do not name is a problem here."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

DOCS = Path(__file__).parents[2] / "docs"


@cache
def _validator(name: str) -> Any:
    schema = json.loads((DOCS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(_closed(schema))


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(value) for key, value in part.items()}
    return closed | {"additionalProperties": False} if "properties" in part and "type" in part else closed


def schema_problems(document: Any, name: str = "report") -> list[str]:
    """Where a document is not as the schema of this name has it."""
    return [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(document)]
