"""What a section must have right apart from the texts of its rules, where the book is not known to be checked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from . import facts
from .baselines import check_baselines
from .edition import LoadedSection
from .entries import PARENT, Rule, Section
from .errors import RuleLoadError
from .facts.base import MODELS
from .invalid import Location, Misplaced, near
from .loading import BOOK, edition_ids
from .strict_yaml import Document
from .subjects import ancestors, load_models
from .tables import load_table, read_table

_NO_FOLD = f"neither {PARENT!r} nor the namespace of a subject above the rule's"


def check_files(section: Section, document: Document) -> None:
    """The tables and the baselines that the section names are there. Raises RuleLoadError."""
    named = [("tables", "table", name, ("tables", index)) for index, name in enumerate(section.tables)]
    for directory, kind, name, place in [*named, ("baselines", "file of baselines", section.baselines, ("baselines",))]:
        known = [path.stem for path in (BOOK / directory).glob("*.yaml")]
        if name not in known:
            problem = f"{place[0]}: no such {kind}: {name}{near(name, known)}"
            raise RuleLoadError(problem, document.path, document.line(place))


def check_section(loaded: LoadedSection) -> None:
    """Keys of tables, baselines, folds and rules name what exists. Raises RuleLoadError."""
    check_baselines(*loaded.baselines_file)
    for name in loaded.section.tables:
        _check_key(name)
    default = loaded.section.defaults.fold
    if default and not any(_folds(default, rule) for rule in loaded.section.rules):
        line = loaded.document.line(("defaults", "fold"))
        raise RuleLoadError(f"defaults.fold: {_NO_FOLD}: {default}", loaded.document.path, line)
    seen: set[str] = set()
    for index, rule in enumerate(loaded.section.rules):
        try:
            if rule.id in seen:
                raise Misplaced("duplicate id", "id")
            seen.add(rule.id)
            if loaded.section.heading(rule.id) is None:
                headings = ", ".join(loaded.section.headings)
                raise Misplaced(f"the id begins with no heading of the section: {headings}", "id")
            if not _folds(rule.fold, rule):
                raise Misplaced(f"fold: {_NO_FOLD}: {rule.fold}", "fold")
            rule.check_examples()
            _check_names(rule, loaded.baselines.baselines)
        except Misplaced as error:
            line = loaded.document.line(("rules", index, *error.where))
            raise RuleLoadError(str(error), loaded.document.path, line, rule=rule.id) from error


def _check_names(rule: Rule, baselines: Collection[str]) -> None:
    """The rule names editions and baselines that exist. Raises Misplaced."""
    named: list[tuple[str, Location]] = [(e, ("editions", i)) for i, e in enumerate(rule.editions)]
    named += [(e, ("variants", e)) for e in rule.variants]
    for key, clause in rule.clauses.items():
        named += [(e, ("clauses", key, "editions", i)) for i, e in enumerate(clause.editions)]
        if isinstance(clause.severity, dict):
            named += [(e, ("clauses", key, "severity", e)) for e in clause.severity]
    if isinstance(rule.severity, dict):
        named += [(e, ("severity", e)) for e in rule.severity]
    for number, example in enumerate(rule.examples or []):
        named += [(e, ("examples", number, "editions", i)) for i, e in enumerate(example.editions)]
        if example.base not in baselines:
            problem = f"no such baseline: {example.base}{near(example.base, baselines)}"
            raise Misplaced(problem, "examples", number, "base")
    for edition, place in named:
        if edition not in edition_ids():
            raise Misplaced(f"no such edition: {edition}{near(edition, edition_ids())}", *place)


def _folds(fold: str, rule: Rule) -> bool:
    """``fold`` folds findings of some clause of the rule, or is empty, or the clause's subject is not known."""
    models = [MODELS.get(clause.subject or rule.subject) for clause in rule.clauses.values()]
    return fold in ("", PARENT) or any(
        model is None or any(owner.namespace == fold for owner in ancestors(model)) for model in models
    )


def _check_key(name: str) -> None:
    """The facts that select a row of the table are declared, in whichever section: a table may serve several."""
    load_models(path.stem for path in Path(facts.__file__).parent.glob("[!_]*.py"))
    known = {fact for model in MODELS.values() for fact in model.fact_infos()}
    for index, fact in enumerate(load_table(name).key):
        if fact not in known:
            document = read_table(name)
            line = document.line(("key", index))
            raise RuleLoadError(f"key: not a declared fact: {fact}{near(fact, known)}", document.path, line)
