"""Examples of rule entries, built into facts and held against what they state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from .baselines import build_chain, first_problem
from .compiled import CompiledRule
from .edition import LoadedSection
from .entries import EXAMPLES, Example
from .errors import EvaluationFault, RuleLoadError
from .evaluate import NOT_GIVEN
from .facts.base import Absence, FactModel, Reason
from .judge import judge, yielding
from .outcomes import WORST_FIRST, Outcome, Severity
from .subjects import Cells, Scope
from .tables import Table


@dataclass(frozen=True, slots=True)
class BuiltExample:
    """An example as facts: the subject and what it lies in."""

    number: int
    example: Example
    chain: tuple[FactModel, ...]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.example.given.items())
        return (
            f"example {self.number + 1} ({self.example.base}, {self.example.division}{': ' + given if given else ''})"
        )


def build_examples(loaded: LoadedSection, rule: CompiledRule) -> list[BuiltExample]:
    """The examples that speak of the rule's edition, as facts. Raises RuleLoadError for a wrong fact or value."""
    built = []
    for number, example in enumerate(loaded.examples(rule.id)):
        if example.editions and rule.edition not in example.editions:
            continue
        try:
            chain = build_chain(loaded.baselines, example.base, example.given)
        except (ValueError, ValidationError) as error:
            line = loaded.whole.document.line(("rules", loaded.index(rule.id), EXAMPLES, number))
            problem = f"example {number + 1}: {first_problem(error)}"
            raise RuleLoadError(problem, loaded.document.path, line, rule=rule.id) from error
        built.append(BuiltExample(number, example, chain))
    return built


def scope_of(example: BuiltExample, tables: Mapping[str, Table], cells: Cells) -> Scope:
    """The scope that the example is judged in."""
    return Scope(example.chain, tables, cells, Absence(NOT_GIVEN, Reason.MISSING_FILE, detail="not given"))


Known = dict[tuple[int, int], Outcome]
"""Outcomes by themselves (before a clause yields), by identity of the compiled clause and number of the example."""


def outcomes(rule: CompiledRule, example: BuiltExample, scope: Scope, known: Known) -> dict[str, Outcome]:
    """Outcome of each clause of the rule that speaks of the scope's subject; ``known`` is used and filled.

    Raises EvaluationFault.
    """
    found: dict[str, Outcome] = {}
    for clause in rule.clauses:
        if clause.model is not type(scope.chain[0]):
            continue
        if example.example.division not in clause.divisions:
            found[clause.key] = Outcome.NOT_APPLICABLE
            continue
        place = (id(clause), example.number)
        if place not in known:
            judged = {judgement.outcome for judgement in judge(rule, clause, scope, explain=False)}
            known[place] = next(outcome for outcome in WORST_FIRST if outcome in judged)
        found[clause.key] = known[place]
    for key in yielding((c, found[c.key] is Outcome.VIOLATION) for c in rule.clauses if c.key in found):
        found[key] = Outcome.NOT_APPLICABLE
    return found


def contradictions(
    rule: CompiledRule, example: BuiltExample, scope: Scope, known: Known | None = None
) -> Iterator[str]:
    """Where the rule does not say of the example what the example states."""
    stated = example.example
    try:
        found = outcomes(rule, example, scope, {} if known is None else known)
    except EvaluationFault as fault:
        yield f"{example}: {fault}"
        return
    wanted: dict[str, Outcome] = {}
    passes: Sequence[str] = stated.passes if isinstance(stated.passes, list) else ()
    for keys, outcome in (
        (passes, Outcome.PASS),
        (stated.fail, Outcome.VIOLATION),
        (stated.note, Outcome.VIOLATION),
        (stated.skip, Outcome.NOT_APPLICABLE),
        (stated.unknown, Outcome.UNDETERMINED),
    ):
        wanted.update(dict.fromkeys(keys, outcome))
    if stated.passes is True:
        for clause in rule.clauses:
            if clause.key in found and stated.division in clause.divisions:
                wanted.setdefault(clause.key, Outcome.PASS)
        if not any(found.get(key) is Outcome.PASS for key in found):
            yield f"{example}: nothing passes"
    for key, outcome in wanted.items():
        got = found.get(key)
        if got is not outcome:
            yield f"{example}: clause {key} is stated as {outcome.value}, gives {got.value if got else 'nothing'}"
    severity = {clause.key: clause.severity for clause in rule.clauses}
    for key in stated.note:
        if severity.get(key) is not Severity.INFO:
            yield f"{example}: clause {key} is stated as a note and is no info clause"
    for key in stated.fail:
        if severity.get(key) is Severity.INFO:
            yield f"{example}: clause {key} is an info clause: state it under note"
    for key, got in found.items():
        if key not in wanted and got is Outcome.VIOLATION:
            yield f"{example}: clause {key} is violated, which the example does not state"
