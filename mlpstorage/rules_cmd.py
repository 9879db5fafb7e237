"""``mlpstorage rules``: look at the rule book, check it, render it, and see what a change does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table as RichTable

import rules
from rules import matrix_training
from rules.check import CheckResult, check_editions
from rules.checked import RECORD, record_lines
from rules.compiled import CompiledRule
from rules.contradictions import EXPECTED as IMPOSSIBLE
from rules.contradictions import impossibility_lines
from rules.diff import diff_editions
from rules.edition import Edition
from rules.index import INDEX, index_lines
from rules.matrix import (
    COUNTS,
    EXPECTED,
    LEGEND,
    WORKLOAD,
    fixed_facts,
    matrix,
    verdict_lines,
)
from rules.matrix_view import Grid, MatrixView
from rules.render import render_book

from .effect import EffectError, diff_markdown, effect_on, effect_text
from .results.text import harmless, hidden, shorten
from .rules_check import same, show_counts, show_equivalents, show_problems, show_reads
from .rules_show import BOOK_FILE, hanging, show_difference, show_rule, shown

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The rule book: list, show, check, render, compare.",
)

EditionOption = Annotated[str, typer.Option("--edition", help="Edition of the rule book.")]
_MAX_PROCESSES = 2**31 - 1
"""What an MPI launcher can count; no limit of the rules."""


def _fail(message: str, code: int = 2) -> NoReturn:
    Console(stderr=True).print(f"error: {message}", markup=False, highlight=False)
    raise typer.Exit(code)


def _edition(name: str) -> Edition:
    try:
        return rules.load_edition(name)
    except rules.UnknownEditionError as error:
        _fail(str(error))
    except rules.RuleLoadError as error:
        _fail(str(error), 3)


def _console() -> Console:
    return Console(highlight=False, soft_wrap=False)


def _caution(console: Console, edition: Edition) -> None:
    if edition.info.caution:
        console.print(f"Edition {edition.id}: {edition.info.caution}", style="yellow", markup=False)


@app.command("list")
def list_rules(edition: EditionOption = rules.DEFAULT_EDITION) -> None:
    """List all rules: id, name, what is judged, divisions, and worst severity."""
    chosen = _edition(edition)
    console = _console()
    _caution(console, chosen)
    table = RichTable(box=None, pad_edge=False)
    for heading in ("rule", "name", "judges", "divisions", "severity"):
        table.add_column(heading, no_wrap=heading != "judges")
    for rule in sorted(chosen.rules, key=lambda rule: _by_number(rule.id)):
        severity = min((clause.severity for clause in rule.clauses), key=list(rules.Severity).index)
        table.add_row(
            rule.id, rule.rule.name, rule.rule.subject.replace("_", " "), " ".join(rule.rule.divisions), severity
        )
    console.print(table)
    console.print(f"{len(chosen.rules)} rules in edition {chosen.id}. mlpstorage rules show ID explains one.")


def _by_number(rule_id: str) -> tuple[tuple[bool, int, str], ...]:
    """Orders ids as a reader counts, 2.1.9 before 2.1.10; those of letters come last."""
    return tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in rule_id.split("."))


@app.command()
def show(
    wanted: Annotated[str, typer.Argument(metavar="RULE", help="Id or name.")],
    edition: EditionOption = rules.DEFAULT_EDITION,
) -> None:
    """Show one rule by id or name: where it lives, what it means, what it reads, which launches depend on it."""
    chosen = _edition(edition)
    rule = _rule(chosen, wanted)
    console = _console()
    _caution(console, chosen)
    show_rule(console, chosen, rule)


def _rule(edition: Edition, wanted: str) -> CompiledRule:
    """The rule of this id, or else of this name in any case."""
    named = [known for known in edition.rules if known.rule.name.lower() == wanted.lower()]
    try:
        return edition.rule(named[0].id if len(named) == 1 else wanted)
    except rules.UnknownRuleError as error:
        close = [known.id for known in named or edition.rules if named or known.id.startswith(wanted[:3])]
        _fail(f"{error}{'; near it: ' + ', '.join(close) if close else ''}")


@app.command("matrix")
def show_matrix(
    workload: Annotated[str, typer.Argument(help="checkpointing or training")] = WORKLOAD,
    edition: EditionOption = rules.DEFAULT_EDITION,
    processes: Annotated[str, typer.Option("--processes", help="Checkpointing: process counts, comma separated.")] = "",
    output: Annotated[str, typer.Option("--format", help="text or json")] = "text",
) -> None:
    """Print verdicts: launches of checkpointing by model and process count, or tunable parameters of training."""
    if workload not in _MATRICES:
        _fail(f"no matrix for workload {workload!r}; there are: {', '.join(_MATRICES)}")
    if output not in ("text", "json"):
        _fail(f"--format must be text or json, not {output!r}")
    if processes and workload != WORKLOAD:
        _fail(f"--processes applies to {WORKLOAD} only")
    chosen = _edition(edition)
    view = _MATRICES[workload](chosen, processes)
    if output == "json":
        document = {"edition": chosen.id, "fixed": view.fixed, "cells": view.cells}
        typer.echo(json.dumps(document, indent=2))
        return
    console = _console()
    _caution(console, chosen)
    for grid in view.grids:
        table = RichTable(title=grid.title, title_justify="left", box=None, pad_edge=False)
        for index, heading in enumerate(grid.headings):
            table.add_column(heading, justify="right" if index else "left", no_wrap=True)
        for row in grid.rows:
            table.add_row(*row)
        console.print(table)
        console.print()
    console.print(view.legend, markup=False)
    console.print("held fixed: " + ", ".join(f"{name} = {value}" for name, value in view.fixed.items()), markup=False)


def _counts(processes: str) -> tuple[int, ...]:
    """The counts of --processes in their order, each once."""
    try:
        counts = tuple(dict.fromkeys(int(part) for part in processes.split(",")))
    except ValueError:
        counts = ()
    if not counts or not all(1 <= count <= _MAX_PROCESSES for count in counts):
        _fail(
            f"--processes takes whole numbers from 1 to {_MAX_PROCESSES} separated by commas, not {shorten(processes)}"
        )
    return counts


def _checkpointing_view(edition: Edition, processes: str) -> MatrixView:
    counts = _counts(processes) if processes else COUNTS
    cells = matrix(edition, counts)
    grids = []
    for declared in (False, True):
        title = "declared a subset run (--checkpoint-subset)" if declared else "no subset declaration"
        models = dict.fromkeys(cell.model for cell in cells)
        rows = [
            [model, *(cell.symbol for cell in cells if cell.model == model and cell.declared == declared)]
            for model in models
        ]
        grids.append(Grid(title, ["model", *map(str, counts)], rows))
    return MatrixView(grids, LEGEND, fixed_facts(edition), [{**asdict(cell), "symbol": cell.symbol} for cell in cells])


_MATRICES: Mapping[str, Callable[[Edition, str], MatrixView]] = {
    WORKLOAD: _checkpointing_view,
    matrix_training.WORKLOAD: lambda edition, _: matrix_training.view(edition),
}
"""Workload to what ``rules matrix`` shows of it; the text is that of --processes."""


@app.command()
def render(
    output: Annotated[str, typer.Option("--output", help="File to write; - prints.")] = BOOK_FILE,
    check: Annotated[bool, typer.Option("--check", help="Only say whether the file is current.")] = False,
) -> None:
    """Render the rule book as Markdown from the entries and tables."""
    text = render_book(rules.edition_ids())
    if output == "-":
        typer.echo(text, nl=False)
        return
    path = Path(output)
    if check:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            _fail(f"{path} is stale: run mlpstorage rules render", 1)
        typer.echo(f"{path} is current")
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        _fail(f"cannot write {path}: {error.strerror}")
    typer.echo(f"wrote {path}")


@app.command()
def check(
    update: Annotated[bool, typer.Option("--update", help="Write the index and the verdict table anew.")] = False,
    reads: Annotated[bool, typer.Option("--reads/--no-reads", help="List the facts that each rule reads.")] = True,
) -> None:
    """Load every edition, run every example, and prove that no wrong version of a rule would pass them."""
    console = _console()
    results = []
    for result in check_editions():
        show_counts(console, result)
        results.append(result)
    held = not any(result.problems for result in results)
    try:
        changed = _compare(console, held=held, reads=reads, results=results, update=update and held)
    except rules.RuleLoadError:  # which is among the problems
        changed = []
    console.print()
    problems = show_problems(console, results)
    if changed:
        console.print(
            f"Not as committed: {', '.join(changed)}."
            + (" If that is meant, run mlpstorage rules check --update." if held else ""),
            style="red",
        )
    if problems:
        unwritten = " Nothing was written." if update else ""
        console.print(
            f"The rule book does not hold: {problems} problem{'' if problems == 1 else 's'} (above).{unwritten}",
            style="red",
        )
    if problems or changed:
        raise typer.Exit(1)
    console.print("The rule book is consistent.", style="green")


def _compare(console: Console, *, held: bool, reads: bool, results: Sequence[CheckResult], update: bool) -> list[str]:
    """Hold everything that is committed against the book; the names of the files that differ.

    Verdicts are compared even where an example fails: what a changed limit does is seen before its examples follow.
    """
    editions = [rules.load_edition(name) for name in rules.edition_ids()]
    if held:
        show_equivalents(console, results)
        if reads:
            show_reads(console, editions)
    impossible = impossibility_lines(editions)
    console.print("What the rules make impossible, over all enumerated launches:")
    for line in impossible:
        hanging(console, line, "  ")
    committed = [
        (INDEX, index_lines(editions), "subjects, divisions, severities and places of findings"),
        (EXPECTED, verdict_lines(editions), "verdicts of launches"),
        (IMPOSSIBLE, impossible, "contradictions, shadowed clauses and cells out of reach"),
    ]
    if held:
        committed.append((RECORD, record_lines(), "files that were checked"))
    return [path.name for path, lines, what in committed if not same(console, path, lines, what, update=update)]


@app.command("diff")
def show_diff(
    old: Annotated[str, typer.Argument(metavar="EDITION")],
    new: Annotated[str, typer.Argument(metavar="EDITION")],
    against: Annotated[
        str, typer.Option("--against", metavar="RESULTS_DIR", help="Also list the runs of a tree that it concerns.")
    ] = "",
    output: Annotated[str, typer.Option("--format", help="text, json or markdown")] = "text",
) -> None:
    """Show what differs between two editions: entries, the launches whose verdict changes, and the runs of a tree."""
    if output not in ("text", "json", "markdown"):
        _fail(f"--format must be text, json or markdown, not {output!r}")
    before, after = _edition(old), _edition(new)
    try:
        effect = effect_on(against, old, new) if against else None
    except EffectError as error:
        _fail(str(error), error.code)
    difference = diff_editions(before, after)
    if output == "json":
        document = asdict(difference) | ({} if effect is None else {"against": effect})
        typer.echo(hidden(json.dumps(document, indent=2)))
    elif output == "markdown":
        typer.echo(harmless("\n".join(diff_markdown(difference, effect))))
    else:
        console = _console()
        show_difference(console, difference)
        for line in ("", *effect_text(effect, console.width)) if effect is not None else ():
            typer.echo(shown(line))
    if effect is not None and effect["unreadable"]:
        raise typer.Exit(2)
