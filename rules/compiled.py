"""Rules as one edition has them: variants applied, every text compiled and type-checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

from .compiler import CompileError, Declarations, Environment, Expression, Type, Variable, cel_type
from .entries import Clause, ClausePatch, Rule
from .facts.base import MODELS, FactInfo, FactModel, Known, Record
from .invalid import near
from .memory import Memory
from .messages import Template
from .outcomes import Outcome, Severity
from .subjects import ITEM, ancestors, variables
from .tables import CELL_TYPES, Table

Fail = Callable[[str, str, int], Exception]
"""(problem, key in the clause, column) to the error to raise."""


class CompiledClause:
    """One clause of one edition, ready to judge.

    Its texts are compiled when they are first asked for. :meth:`check` compiles all of them, and more: what it does not
    refuse can be judged.
    """

    def __init__(
        self,
        key: str,
        clause: Clause,
        model: type[FactModel],
        divisions: tuple[str, ...],
        severity: Severity,
        environment: Callable[[type[FactModel], type[Record] | None], Environment],
        fail: Fail,
    ) -> None:
        self.key = key
        self.clause = clause
        self.model = model
        self.divisions = divisions
        self.severity = severity
        self.met: Memory[Outcome] = Memory()
        """What was said of items."""
        self._make_environment = environment
        self._fail = fail

    def check(self) -> None:
        """Compile and type-check everything. Raises what ``fail`` makes."""
        infos = fact_infos(self.model)
        for where in ("present", "if_recorded", "if_not_recorded", "each"):
            name = getattr(self.clause, where)
            if name and name not in infos:
                raise self._fail(f"not a declared fact: {name}{near(name, infos)}", where, 0)
        if self.clause.each and self.item is None:
            raise self._fail(f"{self.clause.each} is not a list of records", "each", 0)
        for name in self.clause.explained:
            if name not in infos and self._environment.variable(name) is None:
                raise self._fail(f"not a declared fact: {name}{near(name, infos)}", "explains", 0)
        _ = (self.when, self.require, self.at, self.message, self.remedy)

    @cached_property
    def item(self) -> type[Record] | None:
        """The records that the clause judges one at a time."""
        return fact_infos(self.model)[self.clause.each].record if self.clause.each else None

    @cached_property
    def let(self) -> tuple[tuple[str, Expression], ...]:
        """Named sub-expressions in their order."""
        return self._lets[0]

    @cached_property
    def _environment(self) -> Environment:
        """The names that the clause may read, those of ``let`` with them."""
        return self._lets[1]

    @cached_property
    def _lets(self) -> tuple[tuple[tuple[str, Expression], ...], Environment]:
        environment = self._make_environment(self.model, self.item)
        found: list[tuple[str, Expression]] = []
        for name, text in self.clause.let.items():
            if environment.variable(name) is not None:
                raise self._fail(f"{name} is already a name", "let", 0)
            expression = self._compiled(environment, text, f"let.{name}")
            found.append((name, expression))
            environment = environment.with_variable(name, Variable(expression.type))
        return tuple(found), environment

    @cached_property
    def when(self) -> Expression | None:
        """The clause applies only where this is true."""
        text = self.clause.when
        return self._compiled(self._environment, text, "when", Type.BOOL) if text else None

    @cached_property
    def require(self) -> Expression | None:
        """What must be true; None where a fact must be present."""
        text = self.clause.require
        return self._compiled(self._environment, text, "require", Type.BOOL) if text else None

    @cached_property
    def at(self) -> Expression | None:
        """The place of a finding, where it is not the subject's."""
        text = self.clause.at
        return self._compiled(self._environment, text, "at", Type.STRING) if text else None

    @cached_property
    def message(self) -> Template:
        """What a finding says."""
        return self._template(self.clause.message, "message")

    @cached_property
    def remedy(self) -> Template:
        """What to do about a finding."""
        return self._template(self.clause.remedy, "remedy")

    def _compiled(self, environment: Environment, text: str, where: str, expected: object = None) -> Expression:
        try:
            return environment.compile(text, expected)
        except CompileError as error:
            raise self._fail(error.problem, where, error.column) from error

    def _template(self, text: str, where: str) -> Template:
        try:
            return Template(text, self._environment)
        except CompileError as error:
            raise self._fail(error.problem, where, error.column) from error

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names that decide the clause, apart from those of the item."""
        mine = f"{ITEM}."
        return tuple(name for name in self.reads if name != self.clause.each and not name.startswith(mine))

    @cached_property
    def item_inputs(self) -> tuple[str, ...]:
        """Fields of the item that decide the clause."""
        mine = f"{ITEM}."
        return tuple(name.removeprefix(mine) for name in self.reads if name.startswith(mine))

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Facts and table columns that decide the clause (not those that only its message shows)."""
        names: set[str] = set()
        for expression in (*(e for _, e in self.let), self.when, self.require):
            names.update(expression.reads if expression else ())
        names.update(
            name
            for name in (self.clause.present, self.clause.if_recorded, self.clause.if_not_recorded, self.clause.each)
            if name
        )
        return tuple(sorted(names - {name for name, _ in self.let}))

    @property
    def known(self) -> Known:
        """The stage at which all facts that it reads can exist."""
        order = list(Known)
        infos = fact_infos(self.model)
        stages = [infos[name].known for name in self.reads if name in infos]
        return max(stages, key=order.index, default=Known.PLAN)


@dataclass(frozen=True)
class CompiledRule:
    """One rule of one edition."""

    rule: Rule
    edition: str
    fold: str
    clauses: tuple[CompiledClause, ...]
    prose: Callable[[], str] = field(repr=False)
    """Makes the statement."""
    by_subject: Mapping[type[FactModel], tuple[CompiledClause, ...]] = field(init=False)
    """The clauses that judge each kind of subject."""

    def __post_init__(self) -> None:
        found: dict[type[FactModel], tuple[CompiledClause, ...]] = {}
        for clause in self.clauses:
            found[clause.model] = (*found.get(clause.model, ()), clause)
        object.__setattr__(self, "by_subject", found)

    @property
    def id(self) -> str:
        """The rule's id."""
        return self.rule.id

    @cached_property
    def statement(self) -> str:
        """What the rule says in this edition, with the limits that it names filled in."""
        return self.prose()

    def check(self) -> None:
        """Compile and type-check every text. Raises RuleLoadError."""
        _ = self.statement
        for clause in self.clauses:
            clause.check()

    def clause(self, key: str) -> CompiledClause:
        """The clause of this key. Raises KeyError."""
        for clause in self.clauses:
            if clause.key == key:
                return clause
        raise KeyError(key)


@cache
def fact_infos(model: type[FactModel]) -> Mapping[str, FactInfo]:
    """Facts of the subject and of what it lies in, by full name."""
    found: dict[str, FactInfo] = {}
    for owner in (*reversed(ancestors(model)), model):
        found.update(owner.fact_infos())
    return found


class Compiler:
    """Compiles rules of one edition and section. Environments are shared by clauses that may read the same names."""

    def __init__(self, edition: str, tables: Sequence[Table], fold: str = "") -> None:
        self.edition = edition
        self._tables = tables
        self._fold = fold
        self._environments: dict[tuple[type[FactModel], type[Record] | None], Environment] = {}
        self._kinds: dict[tuple[type[FactModel], str], None] = {}
        """Subjects that clauses judge, with the list whose items they judge, if any."""
        self._declarations = Declarations(self._all_variables)

    def clauses_of(self, rule: Rule) -> dict[str, Clause]:
        """The rule's clauses in this edition, patched by its variant."""
        variant = rule.variants.get(self.edition)
        patches = variant.clauses if variant else {}
        return {
            key: patched(clause, patches.get(key))
            for key, clause in rule.clauses.items()
            if not clause.editions or self.edition in clause.editions
        }

    def rule(self, rule: Rule, fail: Callable[[str], Fail]) -> CompiledRule:
        """Compile one rule; ``fail`` makes the error for a clause's problem."""
        variant = rule.variants.get(self.edition)
        statement = variant.statement if variant and variant.statement else rule.statement
        return CompiledRule(
            rule=rule,
            edition=self.edition,
            fold=rule.fold or self._fold,
            clauses=tuple(self.clause(rule, key, clause, fail(key)) for key, clause in self.clauses_of(rule).items()),
            prose=partial(self._prose, statement.strip(), fail("")),
        )

    def _prose(self, text: str, fail: Fail) -> str:
        """A statement with the limits it names filled in, so that a number stands in one place."""
        if "{" not in text:
            return text
        environment, values = self._scalars
        try:
            return Template(text, environment).render(values.__getitem__)
        except CompileError as error:
            raise fail(error.problem, "statement", error.column) from error

    @cached_property
    def _scalars(self) -> tuple[Environment, Mapping[str, Any]]:
        """The limits that stand by themselves, and their values."""
        declared_as: dict[str, Variable] = {}
        values: dict[str, Any] = {}
        for table in self._tables:
            if not table.rows:
                for (column, declared), value in zip(
                    table.columns.items(), table.cells(self.edition)[""].values(), strict=True
                ):
                    name = f"{table.name}.{column}"
                    declared_as[name] = Variable(cel_type(CELL_TYPES[declared.type]), (), declared.unit)
                    values[name] = value
        return Environment(declared_as), values

    def clause(self, rule: Rule, key: str, clause: Clause, fail: Fail) -> CompiledClause:
        """One clause, not checked yet. Raises what ``fail`` makes for a wrong subject or severity."""
        subject = clause.subject or rule.subject
        if subject not in MODELS:
            close = near(subject, MODELS) or f"; there are: {', '.join(sorted(MODELS))}"
            raise fail(f"no such subject: {subject}{close}", "subject", 0)
        severity = clause.severity if clause.severity is not None else rule.severity
        if isinstance(severity, dict):
            if self.edition not in severity:
                raise fail(f"no severity for edition {self.edition}", "severity", 0)
            severity = severity[self.edition]
        divisions = tuple(clause.divisions or rule.divisions)
        made = CompiledClause(key, clause, MODELS[subject], divisions, severity, self._environment, fail)
        self._kinds[made.model, clause.each] = None
        return made

    def _environment(self, model: type[FactModel], item: type[Record] | None) -> Environment:
        if (model, item) not in self._environments:
            known = variables(model, item, self._tables)
            self._environments[model, item] = Environment(known, self._declarations)
        return self._environments[model, item]

    def _all_variables(self) -> Iterator[Mapping[str, Variable]]:
        """The names that the clauses of the section may read."""
        for model, each in self._kinds:
            info = fact_infos(model).get(each)
            yield self._environment(model, info.record if info else None).variables


def patched(clause: Clause, patch: ClausePatch | None) -> Clause:
    """The clause with the patch's fields in place."""
    if patch is None:
        return clause
    changes = {name: value for name, value in patch.model_dump().items() if value is not None}
    return clause.model_copy(update=changes)
