"""Compiles and type-checks CEL against the declared facts, and evaluates it with three outcomes.

A comparison with a misspelt fact, an int compared with a text, ``has()`` on a fact, a text compared with a value that
its fact can never have, or a broken regular expression, is an error here, when the rules load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, get_args, get_origin

from cel_expr_python import cel

from .errors import EvaluationFault
from .expressions import MACROS, ExpressionError, Node, parse
from .facts.base import Absence
from .invalid import near
from .memory import Memory, comparable

Type = cel.Type
SCALARS: Mapping[Any, Any] = {str: Type.STRING, int: Type.INT, float: Type.DOUBLE, bool: Type.BOOL}
"""CEL types of the scalar types of facts."""
_RESERVED = {
    "has": "on a fact it gives the fact's value, not whether it is there",
    "dyn": "it takes the type away by which the expression is checked when it loads",
    "type": "what type a fact is of is known when the expression loads",
}
_MOST_KNOWN = 500
"""Results that one expression keeps; a bound for hostile trees."""
_CEL_ERROR = re.compile(r"<input>:(\d+):(\d+): (.*)")

Resolver = Callable[[str], Any]
"""Full name to a value, an Absence, or (for a ``let``) an :class:`Unknown`."""


class CompileError(Exception):
    """One problem of one expression; ``column`` counts from 1 in its text, 0 where unknown."""

    def __init__(self, problem: str, column: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.column = column


@dataclass(slots=True)
class Unknown:
    """The expression has no value: these facts, all of them read by it, are absent."""

    absent: tuple[tuple[str, Absence], ...]


@cache
def cel_type(python_type: Any) -> Any:
    """CEL type of a fact's Python type; None for lists of records, which only ``each`` may name."""
    if get_origin(python_type) is list:
        (item,) = get_args(python_type)
        return Type.List(SCALARS[item]) if item in SCALARS else None
    return SCALARS[python_type]


class Variable(NamedTuple):
    """A name that an expression may read."""

    type: Any
    """CEL type."""
    choices: tuple[str, ...] = ()
    unit: str = ""


class Expression:
    """A compiled expression: its text, its tree, the names it reads and its CEL type."""

    __slots__ = ("_is_bool", "_known", "_program", "reads", "text", "tree", "type")

    def __init__(self, text: str, tree: Node, reads: tuple[str, ...], result_type: Any, program: Any) -> None:
        """``program`` is None where the expression is nothing but a name."""
        self.text = text
        self.tree = tree
        self.reads = reads
        self.type = result_type
        self._program = program
        self._is_bool = self.type == Type.BOOL
        self._known: Memory[bool] = Memory(_MOST_KNOWN)
        """Results by the values of ``reads``: leaves are much alike, and a look-up costs a tenth of an evaluation."""

    def evaluate(self, resolve: Resolver) -> Any:
        """Value as a plain Python object, or :class:`Unknown`.

        Raises EvaluationFault where the evaluation fails although every fact it reads is there.
        """
        data: dict[str, Any] = {}
        absent: list[tuple[str, Absence]] = []
        for name in self.reads:
            value = resolve(name)
            if type(value) is Absence:
                absent.append((name, value))
            elif type(value) is Unknown:
                absent.extend(value.absent)
            else:
                data[name] = value
        if absent or not self._is_bool:
            return self._evaluate(data, absent)
        key = comparable(data.values())
        known = self._known.get(key)
        if known is None:
            known = self._evaluate(data, absent)
            self._known.keep(key, known)
        return known

    def _evaluate(self, data: Mapping[str, Any], absent: Sequence[tuple[str, Absence]]) -> Any:
        if self._program is None:
            return Unknown(tuple(absent)) if absent else data[self.text]
        try:
            result = self._program.eval(data=data)
        except RuntimeError as error:  # the iteration budget, text that cannot be encoded
            raise EvaluationFault(f"{self.text!r}: {error}") from error
        if result.type() == Type.ERROR:
            if absent:
                return Unknown(tuple(absent))
            raise EvaluationFault(f"{self.text!r}: {result.value()}")
        return result.plain_value()


class Declarations:
    """What CEL knows of names. Making one costs more than compiling ten texts, so that environments share it."""

    def __init__(self, sets: Callable[[], Iterable[Mapping[str, Variable]]]) -> None:
        """``sets`` are asked for when the first text is compiled. Of names with two types, CEL learns none."""
        self._sets = sets

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """CEL type by name."""
        found: dict[str, Any] = {}
        for variables in self._sets():
            for name, variable in variables.items():
                if found.setdefault(name, variable.type) != variable.type:
                    found[name] = None
        return {name: kind for name, kind in found.items() if kind is not None}

    def knows(self, variables: Mapping[str, Variable]) -> bool:
        """Whether all of these have the types here that they say."""
        return all(name in self.types and self.types[name] == one.type for name, one in variables.items())

    @cached_property
    def cel(self) -> Any:
        """The environment of the CEL library."""
        return cel.NewEnv(variables=self.types)


class Environment:
    """The names that one clause may read. ``compile`` checks a text against them."""

    def __init__(self, variables: Mapping[str, Variable], shared: Declarations | None = None) -> None:
        """``shared`` may know more names than this one; it is used if it knows all of these."""
        self.variables = variables
        self._shared = shared
        self._compiled: dict[str, Expression] = {}
        self._wider: dict[tuple[str, str], Environment] = {}

    def with_variable(self, name: str, variable: Variable) -> Environment:
        """An environment that knows this name as well."""
        key = (name, variable.type.name())
        if key not in self._wider:
            self._wider[key] = Environment({**self.variables, name: variable})
        return self._wider[key]

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset(name.partition(".")[0] for name in self.variables)

    @cached_property
    def _env(self) -> Any:
        if self._shared is not None and self._shared.knows(self.variables):
            return self._shared.cel
        return Declarations(lambda: [self.variables]).cel

    def variable(self, name: str) -> Variable | None:
        """The declared variable of this name."""
        return self.variables.get(name)

    def compile(self, text: str, expected: Any = None) -> Expression:
        """Compile and type-check. ``expected`` is the CEL type that the result must have. Raises CompileError."""
        expression = self._compiled.get(text)
        if expression is None:
            expression = self._compiled[text] = self._compile(text)
        if expected is not None and expression.type != expected:
            raise CompileError(f"must be {expected.name()}, is {expression.type.name()}")
        return expression

    def _compile(self, text: str) -> Expression:
        if text in self.variables:
            return Expression(text, Node("name", text, 0, len(text)), (text,), self.variables[text].type, None)
        try:
            tree = parse(text)
        except ExpressionError as error:
            raise CompileError(error.problem, error.column) from error
        self._check_tree(tree)
        reads = tuple(sorted(set(tree.names())))
        for name in reads:
            if name not in self.variables:  # CEL may know it, for a clause on another subject
                problem = f"undeclared reference to '{name}'{near(name, self.variables)}"
                raise CompileError(problem, _column(tree, name))
        try:
            program = self._env.compile(text)
        except RuntimeError as error:
            raise self._readable(str(error)) from error
        if "matches" in text:
            _check_patterns(tree)
        expression = Expression(text, tree, reads, program.return_type(), program)
        if not reads:
            self._dry_run(expression)
        return expression

    def _dry_run(self, expression: Expression) -> None:
        try:
            expression.evaluate(lambda name: None)
        except EvaluationFault as error:
            raise CompileError(str(error)) from error

    def _check_tree(self, tree: Node) -> None:
        for node in tree.walk():
            if node.kind == "call" and node.text in _RESERVED:
                raise CompileError(
                    f"{node.text}() is not allowed: {_RESERVED[node.text]}",
                    node.start + 1,
                )
            if node.kind == "call" and node.text in MACROS:
                shadowed = node.variables & self._roots
                if shadowed:
                    raise CompileError(f"{', '.join(shadowed)} is already the name of a subject", node.start + 1)
            if node.kind == "relation":
                self._check_choices(node)

    def _check_choices(self, node: Node) -> None:
        left, right = node.children
        if left.kind == "literal":
            left, right = right, left
        variable = self.variables.get(left.text) if left.kind == "name" else None
        if variable is None or not variable.choices:
            return
        literals = right.children if right.kind == "list" else (right,)
        for literal in literals:
            if literal.kind == "literal" and literal.text[1:-1] not in variable.choices:
                raise CompileError(
                    f"{left.text} is never {literal.text}; it is one of: {', '.join(variable.choices)}",
                    literal.start + 1,
                )

    @staticmethod
    def _readable(text: str) -> CompileError:
        found = [
            (int(match[1]), int(match[2]), match[3].replace(" (in container '')", ""))
            for match in _CEL_ERROR.finditer(text)
        ]
        if not found:
            return CompileError(text.splitlines()[0])
        problems = "; ".join(re.sub(r"\s*\[[A-Z_]+\]$", "", problem) for _, _, problem in found)
        return CompileError(problems, found[0][1] if found[0][0] == 1 else 0)


def _check_patterns(tree: Node) -> None:
    """Try the regular expressions that are written out: CEL itself reads one at each evaluation, and not before."""
    for node in tree.walk():
        pattern = node.children[-1] if node.kind == "call" and node.text == "matches" else None
        if pattern and pattern.kind == "literal":
            result = cel.NewEnv().compile(f"''.matches({pattern.text})").eval(data={})
            if result.type() == Type.ERROR:
                raise CompileError(str(result.value()).partition(": ")[2], pattern.start + 1)


def _column(tree: Node, name: str) -> int:
    """Where a name stands first, counted from 1."""
    return next(node.start + 1 for node in tree.walk() if node.kind == "name" and node.text == name)
