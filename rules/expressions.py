"""The shape of a CEL expression: which names it reads, and where each part stands in the text.

cel-expr-python compiles and evaluates, but gives no syntax tree. This parser covers the grammar of CEL that rules use;
the compiler stays the judge of what is valid. Spans are offsets into the text, so that the mutation test can cut
and paste, and a load error can point at a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
    | (?P<int>\d+)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<op>\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    )""",
    re.VERBOSE,
)

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})
"""Calls whose first argument names a variable of the rest."""


class ExpressionError(Exception):
    """The text is not an expression of the supported grammar; ``column`` counts from 1."""

    def __init__(self, problem: str, column: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.column = column


class Node(NamedTuple):
    """One node. ``kind`` is or, and, not, relation, sum, product, negative, conditional, call, index, name, literal,
    list or map; ``text`` its operator, name or literal; ``start`` and ``end`` include parentheses around it.
    """

    kind: str
    text: str
    start: int
    end: int
    children: tuple[Node, ...] = ()
    at: int = -1
    """Offset of the operator, where there is one between two children."""
    variables: frozenset[str] = frozenset()
    """Names that a macro binds in this node."""

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def names(self, bound: frozenset[str] = frozenset()) -> Iterator[str]:
        """Dotted names that the expression reads; variables of macros are left out."""
        bound = bound | self.variables
        if self.kind == "name" and self.text.partition(".")[0] not in bound:
            yield self.text
        for child in self.children:
            yield from child.names(bound)


def parse(text: str) -> Node:
    """The tree of an expression. Raises ExpressionError."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int, int]] = []
        position, length = 0, len(text.rstrip())
        while position < length:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                rest = text[position:].lstrip()
                raise ExpressionError(f"unexpected character {rest[:1]!r}", len(text) - len(rest) + 1)
            kind = match.lastgroup
            self._tokens.append((kind, match.group(kind), match.start(kind), match.end(kind)))
            position = match.end()
        self._tokens.append(("end", "", length, length))
        self._at = 0

    def parse(self) -> Node:
        node = self._conditional()
        if self._peek()[0] != "end":
            raise self._unexpected()
        return node

    def _peek(self) -> tuple[str, str, int, int]:
        return self._tokens[self._at]

    def _take(self) -> tuple[str, str, int, int]:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _is(self, *texts: str) -> bool:
        kind, text, _, _ = self._peek()
        return kind in ("op", "name") and text in texts

    def _expect(self, text: str) -> tuple[str, str, int, int]:
        if not self._is(text):
            raise self._unexpected(f", expected {text!r}")
        return self._take()

    def _unexpected(self, more: str = "") -> ExpressionError:
        kind, text, start, _ = self._peek()
        return ExpressionError(f"unexpected {'end' if kind == 'end' else repr(text)}{more}", start + 1)

    def _conditional(self) -> Node:
        condition = self._binary()
        if not self._is("?"):
            return condition
        at = self._take()[2]
        then = self._binary()
        self._expect(":")
        other = self._conditional()
        return Node("conditional", "?:", condition.start, other.end, (condition, then, other), at)

    def _binary(self, loosest: int = 0) -> Node:
        """Operands and the operators between them that bind as tight as ``loosest`` or tighter; the left one first."""
        node = self._unary()
        while True:
            _, operator, at, _ = self._peek()
            level = _LEVELS.get(operator, -1)
            if level < loosest:
                return node
            self._at += 1
            right = self._binary(level + 1)
            node = Node(_KINDS[level], operator, node.start, right.end, (node, right), at)

    def _unary(self) -> Node:
        if self._is("!", "-"):
            _, operator, start, _ = self._take()
            inner = self._unary()
            return Node("not" if operator == "!" else "negative", operator, start, inner.end, (inner,), start)
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while self._is(".", "["):
            _, operator, _, _ = self._take()
            if operator == "[":
                index = self._conditional()
                end = self._expect("]")[3]
                node = Node("index", "[]", node.start, end, (node, index))
                continue
            kind, name, _, end = self._take()
            if kind != "name":
                raise ExpressionError("expected a name after '.'", end)
            if self._is("("):
                arguments, end = self._arguments()
                bound = frozenset({arguments[0].text}) if name in MACROS and arguments else frozenset()
                node = Node("call", name, node.start, end, (node, *arguments), variables=bound)
            elif node.kind == "name":
                node = Node("name", f"{node.text}.{name}", node.start, end)
            else:
                node = Node("index", f".{name}", node.start, end, (node,))
        return node

    def _arguments(self) -> tuple[tuple[Node, ...], int]:
        self._expect("(")
        items: list[Node] = []
        while not self._is(")"):
            items.append(self._conditional())
            if not self._is(")"):
                self._expect(",")
        return tuple(items), self._take()[3]

    def _primary(self) -> Node:
        kind, text, start, end = self._take()
        if kind in ("int", "float", "string"):
            return Node("literal", text, start, end)
        if kind == "name":
            if text in ("true", "false", "null"):
                return Node("literal", text, start, end)
            if self._is("("):
                arguments, end = self._arguments()
                return Node("call", text, start, end, arguments)
            return Node("name", text, start, end)
        if text == "(":
            inner = self._conditional()
            end = self._expect(")")[3]
            return Node(inner.kind, inner.text, start, end, inner.children, inner.at, inner.variables)
        if text == "[":
            items: list[Node] = []
            while not self._is("]"):
                items.append(self._conditional())
                if not self._is("]"):
                    self._expect(",")
            return Node("list", "[]", start, self._take()[3], tuple(items))
        self._at -= 1
        raise self._unexpected()


_OPERATORS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("or", ("||",)),
    ("and", ("&&",)),
    ("relation", ("==", "!=", "<=", ">=", "<", ">", "in")),
    ("sum", ("+", "-")),
    ("product", ("*", "/", "%")),
)
"""Kind and texts of the operators with two operands, those that bind loosest first."""
_KINDS = tuple(kind for kind, _ in _OPERATORS)
_LEVELS = {text: level for level, (_, texts) in enumerate(_OPERATORS) for text in texts}
