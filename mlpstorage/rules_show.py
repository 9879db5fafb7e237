"""How ``rules show`` and ``rules diff`` print a rule, and what differs between two editions."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from rules.compiled import CompiledRule, fact_infos
from rules.diff import EditionDiff
from rules.edition import Edition
from rules.matrix import enumerate_cells

BOOK_FILE = "Rules.md"
"""The rendered book."""


def show_rule(console: Console, edition: Edition, rule: CompiledRule) -> None:
    """Where the rule lives, what it means, what it reads, which launches depend on it."""
    loaded = edition.section_of(rule.id)
    index = loaded.index(rule.id)
    console.print(f"[bold]{rule.id} {escape(rule.rule.name)}[/bold]  (edition {edition.id})")
    console.print(
        f"lives in rules/book/{loaded.document.path.name}:{loaded.document.line(('rules', index))}", markup=False
    )
    console.print()
    for text in (rule.statement, rule.rule.rationale, *rule.rule.notes):
        if text:
            console.print(text.strip(), markup=False)
            console.print()
    _show_clauses(console, rule)
    _show_reads(console, rule)
    _show_cells(console, edition, rule)
    count = len(loaded.examples(rule.id))
    console.print(f"{count} examples state what it must say; {BOOK_FILE} prints them with their messages.")


def _show_clauses(console: Console, rule: CompiledRule) -> None:
    for clause in rule.clauses:
        console.print(f"[bold]clause {clause.key}[/bold]  {clause.severity}, {' and '.join(clause.divisions)}")
        entry = clause.clause
        parts = [("let " + name, text) for name, text in entry.let.items()]
        parts += [
            (key, getattr(entry, key))
            for key in ("each", "if_recorded", "if_not_recorded", "when", "require", "present", "message", "remedy")
        ]
        if entry.unless:
            parts.append(("unless", ", ".join(entry.unless)))
        for key, text in parts:
            if text:
                console.print(f"  {key}: {' '.join(text.split())}", markup=False)
        console.print()


def _show_reads(console: Console, rule: CompiledRule) -> None:
    table = RichTable(title="Facts that it reads", title_justify="left", box=None, pad_edge=False)
    for heading in ("fact", "known", "meaning"):
        table.add_column(heading, no_wrap=heading != "meaning")
    seen: set[str] = set()
    for clause in rule.clauses:
        infos = fact_infos(clause.model)
        for name in clause.reads:
            if name in infos and name not in seen:
                seen.add(name)
                unit = f" ({infos[name].unit})" if infos[name].unit else ""
                table.add_row(name, infos[name].known, escape(infos[name].description + unit))
    console.print(table)
    console.print()


def _show_cells(console: Console, edition: Edition, rule: CompiledRule) -> None:
    depends = [
        cell
        for cell in enumerate_cells(edition)
        if any(clause.startswith(f"{rule.id}.") for clause in (*cell.closed, *cell.open))
    ]
    if not depends:
        return
    only = [
        cell
        for cell in depends
        if all(c.startswith(f"{rule.id}.") for c in cell.closed) or all(c.startswith(f"{rule.id}.") for c in cell.open)
    ]
    console.print(
        f"It refuses {len(depends)} of the enumerated launches in some division, {len(only)} of them alone there"
        + (", for instance:" if only else ".")
    )
    for cell in only[:5]:
        declared = " --checkpoint-subset" if cell.declared else ""
        console.print(
            f"  --model {cell.model} --num-processes {cell.processes}{declared}  ({cell.eligible})", markup=False
        )
    console.print()


def show_difference(console: Console, difference: EditionDiff) -> None:
    """Changed entries, and the launches whose verdict changes."""
    console.print(f"[bold]{difference.old} -> {difference.new}[/bold]")
    for change in difference.entries:
        clause = f" clause {change.clause}" if change.clause else ""
        console.print(f"{change.rule}{clause}, {change.what}:", markup=False)
        console.print(f"  - {' '.join(change.old.split()) or '(none)'}", style="red", markup=False)
        console.print(f"  + {' '.join(change.new.split()) or '(none)'}", style="green", markup=False)
    if not difference.entries:
        console.print("No entry differs.")
    console.print()
    console.print(f"Launches whose verdict changes: {len(difference.cells)}")
    for was, now in difference.cells:
        declared = " --checkpoint-subset" if now.declared else ""
        console.print(
            f"  --model {now.model} --num-processes {now.processes}{declared}: {was.eligible} -> {now.eligible}",
            markup=False,
        )
