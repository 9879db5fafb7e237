"""A commented description to start from, written from the format itself, so that the two cannot part."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .model import SystemDescription, item_type, legal_text, model_of

WIDTH = 110
_HEADER = """\
A system description of MLPerf Storage. Save it as systems/{name}.yaml, beside the PDF systems/{name}.pdf.
All values are examples: replace them. A line that begins with '#' and two blanks or more is optional: delete its
'#' to use it. Quote what looks like a number and is text (version: '24.04').
Check it with: mlpstorage systems check {name}.yaml"""
_ALWAYS = frozenset({"speed", "traffic"})
_ON_PREMISES = frozenset({"total_rack_units", "rack_units", "power"})
_OTHER_EXAMPLES: Mapping[tuple[str, ...], Any] = {
    ("clients", "friendly_description"): "Client",
    ("environment", "name"): "AWS_SECRET_ACCESS_KEY",
    ("environment", "value"): "****",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What is to be described."""

    name: str = "my-system"
    deployment: str = "onprem"
    storage_location: str = "remote"

    def states(self, name: str) -> bool:
        """Whether an optional field is due, or at least usual, for a system of this shape."""
        if name in _ON_PREMISES:
            return self.deployment == "onprem"
        if name == "networking":
            return self.storage_location != "local"
        if name == "product_nodes":
            return self.deployment == "onprem" and self.storage_location != "local"
        return name in _ALWAYS

    def value(self, path: tuple[str, ...], field: FieldInfo) -> Any:
        """What stands in a field."""
        own: Mapping[str, Any] = {
            "submission_name": self.name,
            "deployment": self.deployment,
            "storage_location": self.storage_location,
        }
        if path[-1] in own:
            return own[path[-1]]
        if path[-1] == "total_rack_units" and not self.states("product_nodes"):
            return 0
        return _OTHER_EXAMPLES.get(path[-2:], (field.examples or [1])[0])


def template(shape: Shape) -> str:
    """The text of the file."""
    lines = [f"# {line}" for line in _HEADER.format(name=shape.name).splitlines()]
    lines += ["---", *_fields(SystemDescription, shape, (), "")]
    return "\n".join(lines) + "\n"


def _fields(model: type[BaseModel], shape: Shape, path: tuple[str, ...], indent: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        whole = (*path, name)
        lines = [*_comment(field, indent), *_field(shape, whole, field, indent)]
        if field.is_required() or shape.states(name):
            yield from lines
        else:
            yield from (f"#{line.removeprefix('#')}" for line in lines)


def _comment(field: FieldInfo, indent: str) -> Iterator[str]:
    """Description and, of a single value, what is legal. None at the top, where it would look like an optional line."""
    if not indent:
        return
    text = str(field.description)
    if model_of(field.annotation) is None:
        items = item_type(field.annotation)
        legal = legal_text(field.annotation, field.metadata) if items is None else f"a list of: {legal_text(items)}"
        text = text if legal.startswith("text") else f"{text} [{legal}]"
    for line in textwrap.wrap(text, WIDTH - len(indent), break_long_words=False):
        yield f"{indent}# {line}"


def _field(shape: Shape, path: tuple[str, ...], field: FieldInfo, indent: str) -> Iterator[str]:
    name = path[-1]
    model = model_of(field.annotation)
    if model is None:
        yield f"{indent}{name}: {_scalar(shape.value(path, field))}"
        return
    yield f"{indent}{name}:"
    if item_type(field.annotation) is None:
        yield from _fields(model, shape, path, indent + "  ")
        return
    dashed = False
    for line in _fields(model, shape, path, indent + "    "):
        starts = not dashed and line.startswith(indent + "    ") and not line.lstrip().startswith("#")
        yield f"{indent}  - {line[len(indent) + 4 :]}" if starts else line
        dashed |= starts


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_scalar(item) for item in value) + "]"
    return yaml.safe_dump(value, width=1000).removesuffix("...\n").strip()
