"""Checks the rule book itself: every edition loads, every example holds, and no wrong rule would have passed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .compiled import CompiledClause, CompiledRule, Compiler
from .edition import Edition, LoadedSection, load_edition
from .entries import EXAMPLES
from .errors import RuleBookError
from .examples import BuiltExample, Known, build_examples, contradictions, scope_of
from .gaps import gaps_of
from .loading import edition_ids
from .mutate import Mutant, cell_mutants, clause_mutants


@dataclass(slots=True)
class CheckResult:
    """What a check of one edition found. ``problems`` is empty when all is well."""

    edition: str
    rules: int = 0
    examples: int = 0
    mutants: int = 0
    """Well-typed mutants that were judged."""
    refused: int = 0
    """Mutants that the type checker already refused."""
    equivalent: list[tuple[str, str, str]] = field(default_factory=list)
    """Rule, mutant and reason of each listed equivalent that survived, as it should."""
    problems: list[str] = field(default_factory=list)
    """Each begins with file and line."""


def check_editions(editions: Sequence[str] = (), *, mutate: bool = True) -> Iterator[CheckResult]:
    """Check these editions (all by default), one result each."""
    for edition_id in editions or edition_ids():
        try:
            gaps = gaps_of(edition_id)
            if gaps:  # loading would tell the first of them only
                yield CheckResult(edition_id, problems=gaps)
                continue
            edition = load_edition(edition_id)
        except RuleBookError as error:
            yield CheckResult(edition_id, problems=[str(error)])
            continue
        yield check_edition(edition, mutate=mutate)


def check_edition(edition: Edition, *, mutate: bool = True) -> CheckResult:
    """Run every example of every rule, and every mutant against them."""
    result = CheckResult(edition.id)
    for rule in edition.rules:
        result.rules += 1
        try:
            rule.check()
            _check_rule(edition, rule, result, mutate=mutate)
        except RuleBookError as error:
            result.problems.append(str(error))
    return result


def _check_rule(edition: Edition, rule: CompiledRule, result: CheckResult, *, mutate: bool) -> None:
    loaded = edition.section_of(rule.id)
    examples = build_examples(loaded, rule)
    result.examples += len(examples)
    here = _place(loaded, rule)
    problems = [
        f"{_place(loaded, rule, EXAMPLES, example.number)}: {problem}"
        for example in examples
        for problem in contradictions(rule, example, scope_of(example, edition.tables, edition.cells))
    ]
    if not any(example.example.passes for example in examples):
        problems.append(f"{here}: no legal example for edition {edition.id}")
    fired = {key for example in examples for key in (*example.example.fail, *example.example.note)}
    problems += [
        f"{here}: no example of edition {edition.id} violates clause {clause.key}"
        for clause in rule.clauses
        if clause.key not in fired
    ]
    result.problems += problems
    if mutate and not problems:
        _check_mutants(edition, loaded, rule, examples, result)


def _place(loaded: LoadedSection, rule: CompiledRule, *where: str | int) -> str:
    """File and line of a rule, or of a part of it, and the rule's id."""
    document = loaded.whole.document
    return f"{document.path.name}:{document.line(('rules', loaded.index(rule.id), *where))}: {rule.id}"


def _check_mutants(
    edition: Edition,
    loaded: LoadedSection,
    rule: CompiledRule,
    examples: Sequence[BuiltExample],
    result: CheckResult,
) -> None:
    compiler = Compiler(edition.id, loaded.tables, loaded.section.defaults.fold)
    listed = {
        entry.mutant: entry.reason
        for entry in rule.rule.equivalent
        if not entry.editions or edition.id in entry.editions
    }
    survived: set[str] = set()
    scopes = [(example, scope_of(example, edition.tables, edition.cells)) for example in examples]
    known: Known = {}
    keep_alive: list[CompiledRule] = []  # an identity in ``known`` must not be given to another clause
    for mutant in (*clause_mutants(rule), *cell_mutants(rule, edition.tables, edition.cells)):
        changed = mutated(compiler, rule, mutant)
        if changed is None:
            result.refused += 1
            continue
        result.mutants += 1
        if mutant.cells is None:
            # Clauses that the mutant leaves alone say what they said; the changed one is new to ``known``.
            killed = any(True for example, scope in scopes for _ in contradictions(changed, example, scope, known))
            keep_alive.append(changed)
        else:
            spared = {id(clause) for clause in rule.clauses if mutant.cell not in clause.reads}
            partly = {key: outcome for key, outcome in known.items() if key[0] in spared}
            killed = any(
                True
                for example in examples
                for _ in contradictions(changed, example, scope_of(example, edition.tables, mutant.cells), partly)
            )
        if killed:
            continue
        survived.add(mutant.name)
        if mutant.name in listed:
            result.equivalent.append((rule.id, mutant.name, listed[mutant.name]))
        else:
            result.problems.append(f"{_place(loaded, rule)}: this wrong version contradicts no example: {mutant.name}")
    there = _place(loaded, rule, "equivalent")
    result.problems += [
        f"{there}: listed as equivalent, yet an example tells it apart (or there is no such mutant): {name}"
        for name in sorted(set(listed) - survived)
    ]


class _IllTyped(Exception):
    pass


def mutated(compiler: Compiler, rule: CompiledRule, mutant: Mutant) -> CompiledRule | None:
    """The rule with the mutant's clause in place; None where the type checker refuses it."""
    if mutant.cells is not None:
        return rule
    clauses: list[CompiledClause] = []
    for clause in rule.clauses:
        if clause.key != mutant.key:
            clauses.append(clause)
        elif mutant.clause is not None:
            try:
                changed = compiler.clause(
                    rule.rule, clause.key, mutant.clause, lambda problem, where, column: _IllTyped()
                )
                changed.check()
                clauses.append(changed)
            except _IllTyped:
                return None
    return replace(rule, clauses=tuple(clauses))
