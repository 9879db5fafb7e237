"""How ``rules show`` and ``rules diff`` print a rule, and what differs between two editions."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from rules.compiled import CompiledRule, fact_infos
from rules.diff import ENUMERATED, EditionDiff
from rules.edition import Edition
from rules.matrix import enumerate_cells
from rules.tables import cell_text

from .results.text import harmless, hung, no_command

BOOK_FILE = "Rules.md"
"""The rendered book."""
_ROWS_SHOWN = 8


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
    _show_limits(console, edition, rule)
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
                hanging(console, f"{key}: {' '.join(text.split())}", "  ")
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


def _show_limits(console: Console, edition: Edition, rule: CompiledRule) -> None:
    """The cells that its predicates and texts read, each with its value in this edition and the place to change it."""
    names = {name for clause in rule.clauses for name in (*clause.reads, *clause.message.reads, *clause.remedy.reads)}
    read = [name.partition(".")[::2] for name in sorted(names) if name.partition(".")[0] in edition.tables]
    if read:
        console.print("Limits and table columns that it reads", style="italic")
    for table, column in read:
        cells = edition.cells[table]
        declared = edition.tables[table].columns.get(column)
        if declared is None:  # the rows themselves
            value, what = ", ".join(cells), f"The rows of {edition.tables[table].title}."
        else:
            value = _values([(row, values[column]) for row, values in cells.items()]) + f" {declared.unit}".rstrip()
            what = declared.description
        hanging(console, f"{table}.{column} = {value}", "  ")
        console.print(f"    {edition.cell_place(table, column, next(iter(cells)))}", markup=False)
        hanging(console, what, "    ", "")
    if read:
        console.print()


def _values(cells: list[tuple[str, object]]) -> str:
    """The values of a column, by row where there are rows."""
    shown = [f"{row}: {_cell(value)}" if row else _cell(value) for row, value in cells[:_ROWS_SHOWN]]
    more = f"; {len(cells) - _ROWS_SHOWN} rows more" if len(cells) > _ROWS_SHOWN else ""
    return "; ".join(shown) + more


def _cell(value: object) -> str:
    return cell_text(value) or "(none)"


def hanging(console: Console, text: str, indent: str, further: str = "  ", style: str = "") -> None:
    """Print a text whose further lines are indented more than its first."""
    for line in hung(text, console.width, indent, further):
        console.print(shown(line), style=style, markup=False)


def shown(line: str) -> str:
    """A line in which neither a terminal nor a continuous-integration runner finds a command."""
    return no_command(harmless(line))


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
    """Changed entries and limits, and the launches whose verdict changes."""
    console.print(f"[bold]{difference.old} -> {difference.new}[/bold]")
    for change in difference.entries:
        clause = f" clause {change.clause}" if change.clause else ""
        _show_change(console, f"{change.rule}{clause}, {change.what}:", change.old, change.new)
    if not difference.entries:
        console.print("No entry differs.")
    console.print()
    for limit in difference.limits:
        row = f", row {limit.row}" if limit.row else ""
        readers = f", read by {', '.join(limit.rules)}" if limit.rules else ""
        unit = f" {limit.unit}".rstrip()
        _show_change(console, f"{limit.limit}{row}{readers}:", f"{_cell(limit.old)}{unit}", f"{_cell(limit.new)}{unit}")
        console.print(f"    {limit.place}", markup=False)
    if not difference.limits:
        console.print("No limit differs.")
    console.print()
    console.print(f"Launches whose verdict changes: {len(difference.cells)}")
    for was, now in difference.cells:
        declared = " --checkpoint-subset" if now.declared else ""
        console.print(
            f"  --model {now.model} --num-processes {now.processes}{declared}: {was.eligible} -> {now.eligible}",
            markup=False,
        )
    held = ", ".join(f"{name} = {value}" for name, value in difference.fixed.items())
    hanging(console, f"Looked at: {ENUMERATED}. Held fixed: {held}.", "")


def _show_change(console: Console, title: str, old: str, new: str) -> None:
    hanging(console, title, "")
    for sign, text, style in (("-", old, "red"), ("+", new, "green")):
        hanging(console, f"{sign} {' '.join(text.split()) or '(none)'}", "  ", style=style)
