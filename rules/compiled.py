"""Rules as one edition has them: variants applied, every text compiled and type-checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .compiler import CompileError, Environment, Expression, Template, Type, Variable, cel_type
from .entries import Clause, ClausePatch, Rule
from .facts.base import MODELS, FactInfo, FactModel, Known, Record
from .memory import Memory
from .outcomes import Severity
from .subjects import ITEM, ancestors, variables
from .tables import CELL_TYPES, Table

Fail = Callable[[str, str, int], Exception]
"""(problem, key in the clause, column) to the error to raise."""


@dataclass(frozen=True, slots=True)
class CompiledClause:
    """One clause of one edition, ready to judge."""

    key: str
    clause: Clause
    model: type[FactModel]
    divisions: tuple[str, ...]
    severity: Severity
    item: type[Record] | None
    let: tuple[tuple[str, Expression], ...]
    when: Expression | None
    require: Expression | None
    at: Expression | None
    message: Template
    remedy: Template
    met: Memory = field(init=False, default_factory=Memory, compare=False, repr=False)
    """What was said of items."""
    inputs: tuple[str, ...] = field(init=False)
    """Names that decide the clause, apart from those of the item."""
    item_inputs: tuple[str, ...] = field(init=False)
    """Fields of the item that decide the clause."""

    def __post_init__(self) -> None:
        mine = f"{ITEM}."
        object.__setattr__(
            self, "inputs", tuple(name for name in self.reads if name != self.clause.each and not name.startswith(mine))
        )
        object.__setattr__(
            self, "item_inputs", tuple(name.removeprefix(mine) for name in self.reads if name.startswith(mine))
        )

    @property
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


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One rule of one edition."""

    rule: Rule
    edition: str
    statement: str
    fold: str
    clauses: tuple[CompiledClause, ...]
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

    def clause(self, key: str) -> CompiledClause:
        """The clause of this key. Raises KeyError."""
        for clause in self.clauses:
            if clause.key == key:
                return clause
        raise KeyError(key)


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
        return CompiledRule(
            rule=rule,
            edition=self.edition,
            statement=self._prose(variant.statement if variant and variant.statement else rule.statement, fail("")),
            fold=rule.fold or self._fold,
            clauses=tuple(self.clause(rule, key, clause, fail(key)) for key, clause in self.clauses_of(rule).items()),
        )

    def _prose(self, text: str, fail: Fail) -> str:
        """A statement with the limits it names filled in, so that a number stands in one place."""
        if "{" not in text:
            return text.strip()
        scalars = {
            f"{table.name}.{column}": (Variable(cel_type(CELL_TYPES[declared.type]), (), declared.unit), value)
            for table in self._tables
            if not table.rows
            for (column, declared), value in zip(
                table.columns.items(), table.cells(self.edition)[""].values(), strict=True
            )
        }
        try:
            template = Template(text.strip(), Environment({name: pair[0] for name, pair in scalars.items()}))
        except CompileError as error:
            raise fail(error.problem, "statement", error.column) from error
        return template.render(lambda name: scalars[name][1])

    def clause(self, rule: Rule, key: str, clause: Clause, fail: Fail) -> CompiledClause:
        """Compile one clause. Raises what ``fail`` makes."""
        subject = clause.subject or rule.subject
        if subject not in MODELS:
            raise fail(f"no such subject: {subject}; there are: {', '.join(sorted(MODELS))}", "subject", 0)
        model = MODELS[subject]
        infos = fact_infos(model)
        for name, key_name in (
            (clause.present, "present"),
            (clause.if_recorded, "if_recorded"),
            (clause.if_not_recorded, "if_not_recorded"),
            (clause.each, "each"),
        ):
            if name and name not in infos:
                raise fail(f"not a declared fact: {name}", key_name, 0)
        item = infos[clause.each].record if clause.each else None
        if clause.each and item is None:
            raise fail(f"{clause.each} is not a list of records", "each", 0)
        environment = self._environment(model, item)

        def compiled(text: str, where: str, expected: object = None) -> Expression:
            try:
                return environment.compile(text, expected)
            except CompileError as error:
                raise fail(error.problem, where, error.column) from error

        def template(text: str, where: str) -> Template:
            try:
                return Template(text, environment)
            except CompileError as error:
                raise fail(error.problem, where, error.column) from error

        let: list[tuple[str, Expression]] = []
        for name, text in clause.let.items():
            if environment.variable(name) is not None:
                raise fail(f"{name} is already a name", "let", 0)
            expression = compiled(text, f"let.{name}")
            let.append((name, expression))
            environment = environment.with_variables({name: Variable(expression.type)})
        explains = clause.explains
        if explains and explains not in infos and environment.variable(explains) is None:
            raise fail(f"not a declared fact: {explains}", "explains", 0)
        severity = clause.severity if clause.severity is not None else rule.severity
        if isinstance(severity, dict):
            if self.edition not in severity:
                raise fail(f"no severity for edition {self.edition}", "severity", 0)
            severity = severity[self.edition]
        return CompiledClause(
            key=key,
            clause=clause,
            model=model,
            divisions=tuple(clause.divisions or rule.divisions),
            severity=severity,
            item=item,
            let=tuple(let),
            when=compiled(clause.when, "when", Type.BOOL) if clause.when else None,
            require=compiled(clause.require, "require", Type.BOOL) if clause.require else None,
            at=compiled(clause.at, "at", Type.STRING) if clause.at else None,
            message=template(clause.message, "message"),
            remedy=template(clause.remedy, "remedy"),
        )

    def _environment(self, model: type[FactModel], item: type[Record] | None) -> Environment:
        if (model, item) not in self._environments:
            self._environments[model, item] = Environment(variables(model, item, self._tables))
        return self._environments[model, item]


def patched(clause: Clause, patch: ClausePatch | None) -> Clause:
    """The clause with the patch's fields in place."""
    if patch is None:
        return clause
    changes = {name: value for name, value in patch.model_dump().items() if value is not None}
    return clause.model_copy(update=changes)
