"""Renders the rule book as Markdown, from the entries and tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .book_tables import TABLES
from .compiled import CompiledRule
from .edition import Edition, LoadedSection, load_edition
from .entries import Clause, Example
from .examples import BuiltExample, build_examples, scope_of
from .judge import judge, yielding
from .loading import BOOK
from .outcomes import Outcome
from .render_tables import links, table_lines
from .subjects import Scope
from .tables import Table, load_table

_DECIDED = {
    "plan": "on the command line",
    "probe": "once the machine is probed",
    "run": "after the run",
}


def render_book(editions: Sequence[str]) -> str:
    """The whole book for the default edition, with the differences of the others marked."""
    edition = load_edition()
    others = [load_edition(name) for name in editions if name != edition.id]
    lines = [
        "# MLPerf Storage rule book",
        "",
        "Rendered from the rule entries under `rules/book/` by `mlpstorage rules render`; do not edit. Each rule",
        "below is the one that gates a launch (`mlpstorage`) and judges a results tree (`submission-checker`).",
        "",
        f"Edition: **{edition.id}** ({edition.info.title}). Differences of other editions are marked.",
        "",
    ]
    for other in others:
        caution = f" {other.info.caution}" if other.info.caution else ""
        lines.append(f"- `{other.id}`: {other.info.title}.{caution}")
    lines.append("")
    names = [edition.id, *(other.id for other in others)]
    shown: set[str] = set()
    for loaded in edition.loaded_sections():
        lines += _section(edition, others, loaded)
        lines += _tables(["### Tables of this section"], loaded.tables, names, shown)
    heading = [
        "## Tables behind facts",
        "",
        "No rule names these tables; facts that rules read are computed from them.",
    ]
    every = [load_table(path.stem) for path in sorted((BOOK / "tables").glob("*.yaml"))]
    lines += _tables(heading, every, names, shown)
    return "\n".join(lines).rstrip() + "\n"


def _section(edition: Edition, others: Sequence[Edition], loaded: LoadedSection) -> Iterator[str]:
    section = loaded.section
    yield from (f"## {section.section} {section.title}", "")
    if section.workload in TABLES:
        yield from TABLES[section.workload](edition)
    heading = None
    for entry in section.rules:
        wanted = section.heading(entry.id)
        if wanted is not None and wanted != heading:
            heading = wanted
            number = f"{heading} " if heading[:1].isdigit() else ""
            yield from (f"### {number}{section.headings[heading]}", "")
        if not entry.editions or edition.id in entry.editions:
            yield from _rule(edition, others, edition.rule(entry.id))
        else:
            having = [other for other in others if other.id in entry.editions]
            yield from (f"#### {entry.id} {entry.name} (only in {', '.join(f'`{other.id}`' for other in having)})", "")
            yield from (having[-1].rule(entry.id).statement.strip(), "")


def _tables(heading: Sequence[str], tables: Sequence[Table], editions: Sequence[str], shown: set[str]) -> Iterator[str]:
    """Those whose names are not among ``shown`` yet; it gets them."""
    new = [table for table in tables if table.name not in shown]
    shown.update(table.name for table in new)
    if new:
        yield from (*heading, "")
    for table in new:
        yield from table_lines(table, editions)


def _rule(edition: Edition, others: Sequence[Edition], rule: CompiledRule) -> Iterator[str]:
    entry = rule.rule
    yield from (f"#### {rule.id} {entry.name}", "", rule.statement.strip(), "")
    if entry.own:
        yield from ("*A rule of this project; the published book does not have it.*", "")
    if entry.rationale:
        yield from (entry.rationale.strip(), "")
    for note in entry.notes:
        yield from (f"> {note.strip()}", "")
    yield from ("| clause | judges | divisions | severity | decided | requires |", "|---|---|---|---|---|---|")
    for clause in rule.clauses:
        yield (
            f"| {clause.key} | {clause.model.subject.replace('_', ' ')}{' (each item)' if clause.item else ''} |"
            f" {', '.join(clause.divisions)} | {clause.severity} | {_DECIDED[clause.known]} |"
            f" {_code(_requirement(clause.clause))} |"
        )
    yield ""
    yield from links(edition, rule)
    yield from _differences(others, rule)
    examples = build_examples(edition.section_of(rule.id), rule)
    legal = [example for example in examples if example.example.passes and not example.example.fail]
    illegal = [example for example in examples if example.example.fail or example.example.note]
    for title, chosen in (("Legal", legal), ("Not legal", illegal)):
        if chosen:
            yield from (f"{title}:", "")
            for example in chosen:
                yield from _example(edition, rule, example)
            yield ""


def _requirement(clause: Clause) -> str:
    parts = [f"let {name} = {text}" for name, text in clause.let.items()]
    for word, text in (
        ("if recorded", clause.if_recorded),
        ("if not recorded", clause.if_not_recorded),
        ("when", clause.when),
        ("unless", ", ".join(clause.unless)),
        ("present", clause.present),
        ("require", clause.require),
    ):
        if text:
            parts.append(f"{word} {' '.join(text.split())}")
    return "; ".join(parts)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _differences(others: Sequence[Edition], rule: CompiledRule) -> Iterator[str]:
    lines = []
    for other in others:
        if all(candidate.id != rule.id for candidate in other.rules):
            lines.append(f"- `{other.id}` does not have this rule.")
            continue
        theirs = other.rule(rule.id)
        if theirs.statement != rule.statement:
            lines.append(f"- `{other.id}`: {theirs.statement.strip()}")
        ours = {clause.key: clause for clause in rule.clauses}
        for clause in theirs.clauses:
            mine = ours.pop(clause.key, None)
            if mine is None:
                lines.append(
                    f"- `{other.id}` adds clause {clause.key} ({clause.severity}): {_code(_requirement(clause.clause))}"
                )
                continue
            if mine.severity != clause.severity:
                lines.append(f"- `{other.id}`: clause {clause.key} is {clause.severity}.")
            if _requirement(mine.clause) != _requirement(clause.clause):
                lines.append(f"- `{other.id}`: clause {clause.key}: {_code(_requirement(clause.clause))}")
        lines += [f"- `{other.id}` lacks clause {key}." for key in ours]
    if lines:
        yield from ("Other editions:", "", *lines, "")


def _example(edition: Edition, rule: CompiledRule, built: BuiltExample) -> Iterator[str]:
    example = built.example
    loaded = edition.section_of(rule.id)
    base = loaded.baselines.baselines[example.base]
    given = "; ".join(f"{name} {_given(value)}" for name, value in example.given.items())
    why = f" ({example.why})" if example.why else ""
    yield (
        f"- {base.title}{', judged ' + example.division if example.division != 'closed' else ''}"
        + (f", but {given}" if given else "")
        + why
    )
    if example.fail or example.note:
        for clause, message in _messages(edition, rule, built, example):
            yield f"  - {clause}: {message}"


def _given(value: object) -> str:
    if value is None:
        return "is absent"
    if isinstance(value, dict) and set(value) == {"absent"}:
        return f"is absent ({str(value['absent']).replace('_', ' ')})"
    if isinstance(value, list):
        return "is " + ", ".join(
            "{" + ", ".join(f"{k}: {v}" for k, v in item.items()) + "}" if isinstance(item, dict) else str(item)
            for item in value
        )
    return f"is {value}"


def _messages(edition: Edition, rule: CompiledRule, built: BuiltExample, example: Example) -> Iterator[tuple[str, str]]:
    scope: Scope = scope_of(built, edition.tables, edition.cells)
    mine = [
        clause
        for clause in rule.clauses
        if clause.model is type(scope.chain[0]) and example.division in clause.divisions
    ]
    judged = [(clause, judge(rule, clause, scope)) for clause in mine]
    yields = yielding((clause, any(j.outcome is Outcome.VIOLATION for j in found)) for clause, found in judged)
    for clause, found in judged:
        if clause.key not in yields:
            for judgement in found:
                if judgement.outcome is Outcome.VIOLATION:
                    yield clause.key, judgement.message
