"""What the rules make impossible, found by enumerating launches: models, counts, the subset declaration, divisions.

Three kinds of finding. *Contradiction*: clauses that each can be satisfied, and never all at once, so that a launch
which no clause forbids by itself is never legal. *Shadowed*: a clause that is violated only where one of another rule
is, so that it decides nothing. *Unreachable*: a table cell that speaks of launches of which none is legal.

Nothing here knows a rule. Only clauses that read enumerated facts and nothing else are held against each other: of
others the enumeration shows one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from .compiled import CompiledClause, fact_infos
from .compiler import Environment, Expression, Type, Unknown
from .derived.checkpointing import model_names
from .edition import Edition
from .evaluate import LAUNCH
from .facts.base import Absence, Reason
from .facts.checkpointing import CheckpointingRun
from .loading import BOOK
from .matrix import WORKLOAD, Cell, boundary_counts, cell, launch_facts
from .subjects import Scope, variables
from .tables import Table

EXPECTED = BOOK / "expected" / "contradictions.txt"
ENUMERATED = frozenset(
    {
        "run.model",
        "run.num_processes",
        "run.subset_declared",
        "run.subset_labelled",
        "run.checkpoint_size_gib",
    }
)
"""Facts that vary over the enumeration; the last two follow from the first three."""
_KEY = "run.model"
_DIVISIONS = ("closed", "open")
_MOST = 3
"""Clauses that are looked at together."""


@dataclass(frozen=True, slots=True)
class Impossible:
    """One finding: ``kind`` is contradiction, shadowed or unreachable, ``what`` it concerns, and ``why``."""

    kind: str
    what: str
    why: str


def impossibilities(edition: Edition) -> list[Impossible]:
    """All findings of one edition."""
    cells = list(_cells(edition))
    covered = {
        f"{rule.id}.{clause.key}" for rule in edition.rules for clause in rule.clauses if _reads_enumerated(clause)
    }
    found: list[Impossible] = []
    for division in _DIVISIONS:
        found += _contradictions(cells, division)
        found += _shadowed(cells, division, covered)
    return found + list(_unreachable(edition, cells))


def impossibility_lines(editions: Sequence[Edition]) -> list[str]:
    """The findings as text, one a line, equal editions together."""
    lines: dict[Impossible, list[str]] = {}
    for edition in editions:
        for one in impossibilities(edition):
            lines.setdefault(one, []).append(edition.id)
    return [f"{one.kind} | {' '.join(ids)} | {one.what} | {one.why}" for one, ids in lines.items()]


def _cells(edition: Edition) -> Iterator[Cell]:
    for model in model_names():
        for processes in _counts(edition, model):
            for declared in (False, True):
                yield cell(edition, model, processes, declared)


def _counts(edition: Edition, model: str) -> list[int]:
    """Counts at which a verdict can change: around the model's own and around every process count of a table."""
    stated = {
        value
        for table in _tables(edition)
        for column, declared in table.columns.items()
        if declared.type == "int" and declared.unit == "processes"
        for value in (row[column] for row in edition.cells[table.name].values())
    }
    return sorted({*boundary_counts(model), *(max(0, value + step) for value in stated for step in (-1, 0, 1))})


def _tables(edition: Edition) -> tuple[Table, ...]:
    """The tables of the section whose launches are enumerated."""
    return next(loaded.tables for loaded in edition.loaded_sections() if loaded.section.workload == WORKLOAD)


def _reads_enumerated(clause: CompiledClause) -> bool:
    infos = fact_infos(clause.model)
    return {name for name in clause.reads if name in infos} <= ENUMERATED


def _violated(one: Cell, division: str) -> tuple[str, ...]:
    return one.closed if division == "closed" else one.open


def _contradictions(cells: Sequence[Cell], division: str) -> Iterator[Impossible]:
    """Per model and declaration: no count is legal, no clause alone forbids all counts, some of them together do."""
    groups: dict[tuple[str, bool], list[frozenset[str]]] = {}
    for one in cells:
        groups.setdefault((one.model, one.declared), []).append(frozenset(_violated(one, division)))
    for (model, declared), launches in groups.items():
        if not all(launches) or frozenset.intersection(*launches):
            continue
        clauses = sorted(frozenset.union(*launches))
        for together in _smallest(clauses, launches):
            names = " and ".join(together)
            what = f"{division} {model}{' --checkpoint-subset' if declared else ''}"
            yield Impossible("contradiction", what, f"{names} cannot hold together at any process count")


def _smallest(clauses: Sequence[str], launches: Sequence[frozenset[str]]) -> list[tuple[str, ...]]:
    """The smallest sets of clauses of which one is violated by every launch."""
    for size in range(2, min(len(clauses), _MOST) + 1):
        found = [group for group in combinations(clauses, size) if all(one.intersection(group) for one in launches)]
        if found:
            return found
    return [tuple(clauses)]


def _shadowed(cells: Sequence[Cell], division: str, covered: frozenset[str] | set[str]) -> Iterator[Impossible]:
    where: dict[str, set[tuple[str, int, bool]]] = {}
    for one in cells:
        for clause in _violated(one, division):
            where.setdefault(clause, set()).add(one.point)
    for clause in sorted(where.keys() & covered):
        others = [
            other
            for other in sorted(where.keys() & covered)
            if _rule(other) != _rule(clause)
            and where[clause] <= where[other]
            and (where[clause] != where[other] or clause > other)  # of two equal ones the later is shadowed
        ]
        if others:
            why = f"wherever it is violated, {' and '.join(others)} is too: it decides nothing"
            yield Impossible("shadowed", f"{division} {clause}", why)


def _rule(clause: str) -> str:
    return clause.rpartition(".")[0]


def _unreachable(edition: Edition, cells: Sequence[Cell]) -> Iterator[Impossible]:
    environment = Environment(variables(CheckpointingRun, None, _tables(edition)))
    for table in _tables(edition):
        if _KEY not in table.key:
            continue
        rows = edition.cells[table.name]
        for column, declared in table.columns.items():
            applies = environment.compile(declared.applies, Type.BOOL) if declared.applies else None
            for row, values in rows.items():
                spoken_of = [one for one in cells if one.model == row and _speaks_of(edition, applies, one)]
                if any(one.eligible != "invalid" for one in spoken_of):
                    continue
                what = f"{table.name}.{row}.{column} = {values[column]}"
                yield Impossible("unreachable", what, _forbidden(declared.applies, spoken_of))


def _speaks_of(edition: Edition, applies: Expression | None, one: Cell) -> bool:
    if applies is None:
        return True
    workload = launch_facts(edition, one.model, one.processes, one.declared)
    later = Absence("later", Reason.LATER, detail=LAUNCH)
    scope = Scope((workload.below[0], workload), edition.tables, edition.cells, later)
    holds = applies.evaluate(scope.resolve)
    return not isinstance(holds, Unknown) and bool(holds)


def _forbidden(applies: str, launches: Sequence[Cell]) -> str:
    if not launches:
        return f"no enumerated launch has {applies}"
    by_division: Mapping[str, list[str]] = {
        division: sorted({clause for one in launches for clause in _violated(one, division)}) for division in _DIVISIONS
    }
    reasons = "; ".join(f"{division}: {' '.join(clauses)}" for division, clauses in by_division.items())
    return f"no launch{f' with {applies}' if applies else ''} is legal ({reasons})"
