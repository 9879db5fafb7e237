"""How the tables of the book look in the rendered book: each cell once, with its value in editions that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .compiled import CompiledClause, CompiledRule
from .edition import Edition
from .messages import unit_of
from .tables import Column, Table, cell_text


def table_lines(table: Table, editions: Sequence[str]) -> Iterator[str]:
    """Heading, cells and meanings of a table; the first edition is the one that the book is rendered for."""
    yield from (f"#### {_heading(table)}", "")
    if table.key:
        yield from (f"The row is that of {' or '.join(f'`{name}`' for name in table.key)}.", "")
    if not table.rows:
        yield from _grid("name", ["value", "meaning"])
        for name, column in table.columns.items():
            yield _line(name, _cell(table, "", name, editions), column.description)
    elif len(table.columns) > len(table.rows):
        yield from _grid("column", [*table.rows, "meaning"])
        for name, column in table.columns.items():
            yield _line(name, *(_cell(table, row, name, editions) for row in table.rows), column.description)
    else:
        yield from _grid("row", list(table.columns))
        for row in table.rows:
            yield _line(row, *(_cell(table, row, name, editions) for name in table.columns))
        yield from ("", *(f"- {name}: {column.description}" for name, column in table.columns.items()))
    yield ""


def links(edition: Edition, rule: CompiledRule) -> Iterator[str]:
    """The tables that a rule reads, as links to where they stand."""
    roots = {name.partition(".")[0] for clause in rule.clauses for name in _names(clause)}
    found = [f"[{table.title}](#{_anchor(table)})" for name, table in edition.tables.items() if name in roots]
    if found:
        yield from (f"Tables: {', '.join(found)}.", "")


def _names(clause: CompiledClause) -> Iterator[str]:
    yield from clause.reads
    yield from clause.message.reads
    yield from clause.remedy.reads


def _heading(table: Table) -> str:
    return f"{table.title} (`{table.name}`)"


def _anchor(table: Table) -> str:
    """What a heading is called in an address: readers of Markdown agree on it."""
    return re.sub(r"[^\w\- ]", "", _heading(table).lower()).replace(" ", "-")


def _grid(first: str, others: Sequence[str]) -> tuple[str, str]:
    return _line(first, *others), "|---" * (1 + len(others)) + "|"


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"


def _cell(table: Table, row: str, name: str, editions: Sequence[str]) -> str:
    values = {edition: _value(table.columns[name], table.cells(edition)[row][name]) for edition in editions}
    mine = values[editions[0]]
    return "; ".join([mine, *(f"`{edition}`: {value}" for edition, value in values.items() if value != mine)])


def _value(column: Column, value: object) -> str:
    return f"{cell_text(value)} {unit_of(value, column.unit)}".strip() if value not in ("", []) else "-"
