"""What an edition lacks that differs by edition: told all at once, for whoever adds one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from . import strict_yaml
from .entries import EXAMPLES, Rule, Section
from .loading import BOOK, book
from .tables import read_table


def gaps_of(edition: str) -> list[str]:
    """Each severity and each limit that names its editions and not this one, with file and line. Raises RuleLoadError.

    A section that is wrong in another way has none: loading it tells what is wrong.
    """
    found: list[str] = []
    tables: dict[str, None] = {}
    for file in book().sections.values():
        document = strict_yaml.load(BOOK / file, EXAMPLES)
        try:
            section = Section.model_validate(document.data)
        except ValidationError:
            continue
        tables |= dict.fromkeys(section.tables)
        for index, rule in enumerate(section.rules):
            for where in _severities(rule, edition):
                line = document.line(("rules", index, *where))
                clause = f" clause {where[1]}:" if len(where) > 2 else ""
                found.append(f"{file}:{line}: rule {rule.id}:{clause} no severity for edition {edition}")
    return found + [problem for name in tables for problem in _cells(name, edition)]


def _severities(rule: Rule, edition: str) -> Iterator[tuple[str, ...]]:
    """Places in an entry of the severities that leave out an edition which has the rule and the clause."""
    if rule.editions and edition not in rule.editions:
        return
    inherits = False
    for key, clause in rule.clauses.items():
        if clause.editions and edition not in clause.editions:
            continue
        inherits = inherits or clause.severity is None
        if isinstance(clause.severity, dict) and edition not in clause.severity:
            yield ("clauses", key, "severity")
    if inherits and isinstance(rule.severity, dict) and edition not in rule.severity:
        yield ("severity",)


def _cells(name: str, edition: str) -> Iterator[str]:
    """Values of a table that leave out an edition."""
    document = read_table(name)
    columns, rows = (_mapping(document.data, key) for key in ("columns", "rows"))
    places = [(("columns", column, "value"), _mapping(columns, column).get("value")) for column in columns]
    places += [(("rows", row, column), cell) for row in rows for column, cell in _mapping(rows, row).items()]
    for place, cell in places:
        if isinstance(cell, dict) and edition not in cell:
            file = f"tables/{document.path.name}:{document.line(place)}"
            yield f"{file}: {'.'.join(place)}: no value for edition {edition}"


def _mapping(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}
