"""Editions of the rule book: loaded from data, checked on the way, evaluated on facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from . import strict_yaml
from .checked import is_checked
from .compiled import CompiledRule, Compiler, Fail
from .entries import EXAMPLES, Baselines, EditionInfo, Example, Section
from .errors import RuleLoadError, UnknownEditionError, UnknownRuleError
from .evaluate import SUBMISSION, Evaluator
from .facts.base import FactModel
from .loading import BOOK, book, edition_ids, load_model
from .outcomes import Classification, Evaluation
from .recall import Recalls
from .subjects import Cells, load_models
from .tables import Table, load_table, read_table


@dataclass(frozen=True)
class LoadedSection:
    """A section file and its tables, before any edition is chosen."""

    path: Path
    section: Section
    document: strict_yaml.Document
    tables: tuple[Table, ...]
    checked: bool
    """It is known to have been checked: its rules came without their examples, and need not be compiled at once."""

    @cached_property
    def baselines_file(self) -> tuple[Baselines, strict_yaml.Document]:
        """What the examples start from, and its lines. Raises RuleLoadError."""
        return load_model(BOOK / "baselines" / f"{self.section.baselines}.yaml", Baselines)

    @property
    def baselines(self) -> Baselines:
        """What the examples start from. Raises RuleLoadError."""
        return self.baselines_file[0]

    @cached_property
    def whole(self) -> LoadedSection:
        """The section with the examples of its rules. Raises RuleLoadError."""
        return read_section(self.path) if self.checked else self

    def index(self, rule_id: str) -> int:
        """The number of the rule in the file, from 0."""
        return next(index for index, rule in enumerate(self.section.rules) if rule.id == rule_id)

    def line(self, rule_id: str) -> int:
        """The line of the rule's id."""
        return self.document.line(("rules", self.index(rule_id), "id"))

    def examples(self, rule_id: str) -> list[Example]:
        """The examples of a rule. Raises RuleLoadError."""
        return self.whole.section.rules[self.index(rule_id)].examples or []

    def fail(self, index: int, edition: str) -> Callable[[str], Fail]:
        """Makes the errors of one rule's clauses, with file and line."""
        rule_id = self.section.rules[index].id

        def of_clause(key: str) -> Fail:
            def make(problem: str, where: str, column: int) -> Exception:
                base: tuple[str | int, ...] = ("rules", index)
                inline = not key or "clauses" not in self.document.data["rules"][index]
                place = base if inline else (*base, "clauses", key)
                variant = self.section.rules[index].variants.get(edition)
                patch = variant.clauses.get(key) if variant else None
                if getattr(patch, where.partition(".")[0], None) is not None:
                    place = (*base, "variants", edition, "clauses", key)
                line, column = self.document.position((*place, *where.split(".")), column)
                problem_text = f"{where}: {problem} (edition {edition})"
                return RuleLoadError(problem_text, self.path, line, rule=rule_id, clause=key, column=column)

            return make

        return of_clause


@cache
def load_section(number: str) -> LoadedSection:
    """One section of the book, validated. Raises RuleLoadError."""
    return read_section(BOOK / book().sections[number], checked=is_checked())


def read_section(path: Path, *, checked: bool = False) -> LoadedSection:
    """A section file, with the tables of the book; ``checked``: nothing is wrong with it. Raises RuleLoadError."""
    section, document = load_model(path, Section, EXAMPLES if checked else "")
    try:
        load_models(section.facts)
    except ImportError as error:
        raise RuleLoadError(f"facts: {error}", path, document.line(("facts",))) from error
    if not checked:
        from .section_check import check_files, check_section  # a checked book starts without them

        check_files(section, document)
    loaded = LoadedSection(path, section, document, tuple(load_table(name) for name in section.tables), checked)
    if not checked:
        check_section(loaded)
    return loaded


def compile_section(loaded: LoadedSection, edition_id: str) -> Iterator[CompiledRule]:
    """The section's rules as one edition has them, every text type-checked unless that was done before.

    Raises RuleLoadError.
    """
    compiler = Compiler(edition_id, loaded.tables, loaded.section.defaults.fold)
    found = [
        compiler.rule(rule, loaded.fail(index, edition_id))
        for index, rule in enumerate(loaded.section.rules)
        if not rule.editions or edition_id in rule.editions
    ]
    for compiled in found:  # only now, for all share what CEL knows of names
        if not loaded.checked:
            compiled.check()
        yield compiled


class Edition:
    """One dated state of the rule book. Made by :func:`load_edition`; pickles by its id."""

    def __init__(self, edition_id: str, sections: tuple[str, ...]) -> None:
        self.id = edition_id
        self.sections = sections
        self._loaded = [load_section(number) for number in sections]
        self._rules: dict[str, CompiledRule] = {}
        self._section_of: dict[str, LoadedSection] = {}
        self._recalls: Recalls = {}
        for loaded in self._loaded:
            for rule in compile_section(loaded, edition_id):
                if rule.id in self._rules:
                    first, line = self._section_of[rule.id], loaded.line(rule.id)
                    there = f"{first.path.name}:{first.line(rule.id)}"
                    raise RuleLoadError(f"duplicate id; {there} has it too", loaded.path, line, rule=rule.id)
                self._rules[rule.id] = rule
                self._section_of[rule.id] = loaded

    def __reduce__(self) -> tuple[Any, ...]:
        return load_edition, (self.id, self.sections)

    def __repr__(self) -> str:
        return f"<Edition {self.id}: {len(self._rules)} rules>"

    @property
    def info(self) -> EditionInfo:
        """Title and cautions."""
        return book().editions[self.id]

    @property
    def rules(self) -> tuple[CompiledRule, ...]:
        """All rules in the order of the book."""
        return tuple(self._rules.values())

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Tables of the loaded sections by name. Raises RuleLoadError where two tables share one."""
        found: dict[str, Table] = {}
        for loaded in self._loaded:
            for table in loaded.tables:
                if found.setdefault(table.name, table) is not table:
                    raise RuleLoadError(f"two tables are named {table.name}", loaded.document.path, 1)
        return found

    @cached_property
    def cells(self) -> Cells:
        """All table cells as this edition has them."""
        return {name: table.cells(self.id) for name, table in self.tables.items()}

    @cached_property
    def digest(self) -> str:
        """Identity of what the edition says: two books with the same digest judge alike. Prose of other editions, of
        examples and of notes is not in it.
        """
        said = [
            (rule.id, rule.rule.name, rule.statement, rule.fold, clause.key, clause.model.subject, clause.divisions,
             clause.severity, clause.clause.model_dump(mode="json", exclude={"severity", "divisions", "editions"}))
            for rule in self.rules
            for clause in rule.clauses
        ]  # fmt: skip
        text = json.dumps([said, self.cells], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def rule(self, rule_id: str) -> CompiledRule:
        """The rule of this id. Raises UnknownRuleError."""
        try:
            return self._rules[rule_id]
        except KeyError:
            raise UnknownRuleError(f"edition {self.id} has no rule {rule_id!r}") from None

    def section_of(self, rule_id: str) -> LoadedSection:
        """The section that holds the rule. Raises UnknownRuleError."""
        self.rule(rule_id)
        return self._section_of[rule_id]

    def cell_place(self, table: str, column: str, row: str = "") -> str:
        """File and line of a cell's value. Raises KeyError for an unknown table, RuleLoadError."""
        named = ((load_table(file).name, file) for loaded in self._loaded for file in loaded.section.tables)
        document = read_table(dict(named)[table])
        where = ("rows", row, column) if row else ("columns", column, "value")
        return f"rules/book/tables/{document.path.name}:{document.line((*where, self.id))}"

    def loaded_sections(self) -> Iterator[LoadedSection]:
        """The sections that are loaded."""
        yield from self._loaded

    def evaluator(self, facts: FactModel, stage: str = SUBMISSION, above: tuple[FactModel, ...] = ()) -> Evaluator:
        """An evaluation that several questions may share; ``above`` holds what the subject lies in, nearest first."""
        return Evaluator(self.rules, self.tables, self.cells, facts, stage, above, self._recalls)

    def evaluate(self, facts: FactModel, *, division: str | None = None, stage: str = SUBMISSION) -> Evaluation:
        """Judge a subject and all below it in one division (by default the one that it claims).

        ``stage`` is "launch" or "submission". A rule that breaks is listed in the evaluation's ``faults``, the others
        are judged all the same. Raises ValueError where no division is given and none is stated.
        """
        return self.evaluator(facts, stage).evaluate(division or _claimed(facts))

    def classify(self, facts: FactModel, *, stage: str = SUBMISSION) -> Classification:
        """What a run, or a workload with its leaves, is eligible for."""
        return self.evaluator(facts, stage).classify()


def _claimed(facts: FactModel) -> str:
    division = getattr(facts, "division", None)
    if not isinstance(division, str) or division not in ("closed", "open"):
        raise ValueError("the subject claims no division that can be judged: pass division='closed' or 'open'")
    return division


@cache
def _edition(edition_id: str, sections: tuple[str, ...]) -> Edition:
    return Edition(edition_id, sections)


def load_edition(edition_id: str | None = None, sections: Sequence[str] | None = None) -> Edition:
    """The edition of this id (default: the book's), with all sections or the given ones.

    Raises UnknownEditionError, or RuleLoadError where the data does not check.
    """
    wanted = book().default if edition_id is None else edition_id
    if wanted not in book().editions:
        raise UnknownEditionError(f"no edition {wanted!r}; there are: {', '.join(edition_ids())}")
    return _edition(wanted, tuple(book().sections) if sections is None else tuple(sections))
