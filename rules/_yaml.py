"""YAML for rule data, without YAML's guesses.

Every scalar stays the text that was written (an unquoted ``null`` is None); pydantic converts it by the target type.
What could change the meaning of a predicate unseen is refused: explicit tags (``require: ! a || b`` would lose its
"not"), anchors and aliases, merge keys, duplicate keys, and predicates that are folded or stand in a flow mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import RuleLoadError

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # libyaml is optional in PyYAML
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

PREDICATE_KEYS = frozenset({"require", "when", "at"})
"""Keys whose value is CEL: one line, or a literal block, in a block mapping."""
_REFUSED_TOKENS: Mapping[type[yaml.Token], str] = {
    yaml.AnchorToken: "an anchor is not allowed",
    yaml.AliasToken: "an alias is not allowed",
    yaml.TagToken: "a tag is not allowed: quote the text if it begins with '!'",
}
_QUOTED = frozenset({"'", '"', "|", ">"})
PREDICATE_MAPPINGS = frozenset({"let"})
"""Keys whose value is a mapping of such texts."""


@dataclass(frozen=True, slots=True)
class Document:
    """A loaded file: plain dicts, lists and texts, and the line (from 1) of each node by its path of keys."""

    path: Path
    data: Any
    lines: Mapping[tuple[str | int, ...], int]

    def line(self, location: tuple[str | int, ...]) -> int:
        """The line of the node at this path of keys, or of its nearest ancestor."""
        while location and location not in self.lines:
            location = location[:-1]
        return self.lines.get(location, 1)


def load(path: Path) -> Document:
    """Read one file. Raises RuleLoadError with file and line for anything that is refused."""
    try:
        text = path.read_text(encoding="utf-8")
        for token in yaml.scan(text, Loader=_Loader):
            problem = _REFUSED_TOKENS.get(type(token))
            if problem:
                raise RuleLoadError(problem, path, token.start_mark.line + 1)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise RuleLoadError(f"not YAML: {error.problem}", path, line) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RuleLoadError(f"cannot be read: {error}", path, 1) from error
    if node is None:
        raise RuleLoadError("the file is empty", path, 1)
    lines: dict[tuple[str | int, ...], int] = {}
    return Document(path, _Converter(path, lines).convert(node, ()), lines)


class _Converter:
    def __init__(self, path: Path, lines: dict[tuple[str | int, ...], int]) -> None:
        self._path = path
        self._lines = lines

    def _fail(self, problem: str, node: yaml.Node) -> RuleLoadError:
        return RuleLoadError(problem, self._path, node.start_mark.line + 1)

    def convert(self, node: yaml.Node, location: tuple[str | int, ...]) -> Any:
        self._lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            if node.style not in _QUOTED and node.value in ("null", "~", ""):
                return None
            return node.value
        if isinstance(node, yaml.SequenceNode):
            return [self.convert(child, (*location, index)) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, location)
        raise self._fail("unexpected node", node)

    def _mapping(self, node: yaml.MappingNode, location: tuple[str | int, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise self._fail("a key must be plain text; merge keys are not allowed", key_node)
            key = key_node.value
            if key in result:
                raise self._fail(f"duplicate key {key!r}", key_node)
            inside_let = bool(location) and location[-1] in PREDICATE_MAPPINGS
            if key in PREDICATE_KEYS or inside_let:
                self._check_predicate(key, node, value_node)
            result[key] = self.convert(value_node, (*location, key))
            self._lines[(*location, key)] = key_node.start_mark.line + 1
        return result

    def _check_predicate(self, key: str, mapping: yaml.MappingNode, value: yaml.Node) -> None:
        if not isinstance(value, yaml.ScalarNode):
            return
        if mapping.flow_style:
            raise self._fail(f"{key!r} must not stand in a flow mapping {{...}}", value)
        spans_lines = value.start_mark.line != value.end_mark.line
        if value.style == ">" or (spans_lines and value.style != "|"):
            raise self._fail(f"{key!r} must be one line or a literal block (|), not folded text", value)
