"""Small wrong versions of a rule. Each must contradict what some example states, or the examples prove too little.

Mutants of a text: negations added and removed at each boolean node, operators swapped, operands of && and || dropped,
ints moved by one, floats by one, doubled and halved, texts changed, list elements dropped. Mutants of an entry: whole
clauses, ``when`` and guards dropped. Mutants of a table: every cell that a predicate reads, likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .compiled import CompiledRule
from .entries import Clause
from .expressions import Node, parse
from .subjects import ROWS, Cells
from .tables import Table

_SWAPS: Mapping[str, tuple[str, ...]] = {
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">", ">="),
    "<=": ("<", ">", ">="),
    ">": (">=", "<", "<="),
    ">=": (">", "<", "<="),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "&&": ("||",),
    "||": ("&&",),
}
_BOOLEAN_KINDS = frozenset({"or", "and", "relation", "name", "call"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong version: a changed clause (None: dropped), or changed cells."""

    name: str
    """Where and what, e.g. ``model.require: !(run.model in limit.subset_models)``."""
    key: str = ""
    clause: Clause | None = None
    cells: Cells | None = None
    cell: str = ""
    """Table and column whose cell is changed."""


def text_mutants(text: str) -> Iterator[str]:
    """Changed texts of one expression; some may not type-check."""
    seen = {text}
    for changed in _text_mutants(text):
        if changed not in seen:
            seen.add(changed)
            yield changed


def _text_mutants(text: str) -> Iterator[str]:
    for node in parse(text).walk():
        whole = text[node.start : node.end]

        def put(piece: str, node: Node = node) -> str:
            return text[: node.start] + piece + text[node.end :]

        if node.kind in _BOOLEAN_KINDS:
            yield put(f"!({whole})")
        if node.kind == "not":
            (inner,) = node.children
            yield put(text[inner.start : inner.end])
        if node.kind in ("or", "and"):
            left, right = node.children
            yield put(f"({text[left.start : left.end]})")
            yield put(f"({text[right.start : right.end]})")
        if node.at >= 0 and node.text in _SWAPS and len(node.children) == 2:
            for operator in _SWAPS[node.text]:
                left, right = node.children
                yield put(f"({text[left.start : left.end]} {operator} {text[right.start : right.end]})")
        if node.kind == "literal":
            yield from (put(piece) for piece in _literals(node.text))
        if node.kind == "list":
            pieces = [text[child.start : child.end] for child in node.children]
            for index in range(len(pieces)):
                yield put("[" + ", ".join(pieces[:index] + pieces[index + 1 :]) + "]")


def _literals(literal: str) -> Iterator[str]:
    if literal in ("true", "false"):
        yield "false" if literal == "true" else "true"
    elif literal.startswith(("'", '"')):
        yield f"{literal[:-1]}~{literal[-1]}"
    elif literal.isdigit():
        yield from (f"({int(literal) + 1})", f"({int(literal) - 1})")
    elif literal != "null":
        value = float(literal)
        yield from (f"({changed!r})" for changed in cell_values(value))


def one_line(text: str) -> str:
    """The text with all white space as single blanks."""
    return " ".join(text.split())


def clause_mutants(rule: CompiledRule) -> Iterator[Mutant]:
    """All mutants of the rule's clauses."""
    for compiled in rule.clauses:
        key, clause = compiled.key, compiled.clause
        yield Mutant(f"{key}: dropped", key)
        for field in ("when", "if_recorded", "if_not_recorded"):
            if getattr(clause, field):
                yield Mutant(f"{key}.{field}: dropped", key, clause.model_copy(update={field: ""}))
        for sibling in clause.unless:
            rest = [other for other in clause.unless if other != sibling]
            yield Mutant(f"{key}.unless: {sibling} dropped", key, clause.model_copy(update={"unless": rest}))
        for field in ("when", "require"):
            for text in text_mutants(getattr(clause, field)) if getattr(clause, field) else ():
                yield Mutant(f"{key}.{field}: {one_line(text)}", key, clause.model_copy(update={field: text}))
        for name, original in clause.let.items():
            for text in text_mutants(original):
                changed = {**clause.let, name: text}
                yield Mutant(f"{key}.let.{name}: {one_line(text)}", key, clause.model_copy(update={"let": changed}))


def cell_mutants(rule: CompiledRule, tables: Mapping[str, Table], cells: Cells) -> Iterator[Mutant]:
    """All mutants of the cells that the rule's predicates read."""
    read = {name for compiled in rule.clauses for name in compiled.reads}
    for name in sorted(read):
        table, _, column = name.partition(".")
        if table not in tables:
            continue
        if column == ROWS:
            for row in cells[table]:
                kept = {key: value for key, value in cells[table].items() if key != row}
                yield Mutant(f"cell {table}: row {row} dropped", cells={**cells, table: kept}, cell=name)
            continue
        for row, values in cells[table].items():
            for value in cell_values(values[column]):
                changed = {**cells[table], row: {**values, column: value}}
                label = f"{table}.{row}.{column}" if row else f"{table}.{column}"
                yield Mutant(f"cell {label}: {value}", cells={**cells, table: changed}, cell=name)


def cell_values(value: Any) -> Iterator[Any]:
    """Wrong values of one cell."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (changed for changed in (value + 1, value - 1, value * 2, value / 2) if changed != value)
    elif isinstance(value, str):
        yield value + "~"
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
