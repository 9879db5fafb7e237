"""How ``rules check`` prints what it found: the verdict and what to mend stand last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from rules.check import CheckResult
from rules.edition import Edition

from .rules_show import hanging


def show_counts(console: Console, result: CheckResult) -> None:
    """What was run of one edition."""
    hanging(
        console,
        f"{result.edition}: {result.rules} rules, {result.examples} examples, {result.mutants} mutants contradicted or "
        f"listed, {result.refused} refused by the type check, {len(result.equivalent)} equivalent",
        "",
    )


def show_equivalents(console: Console, results: Sequence[CheckResult]) -> None:
    """The listed mutants that survived, as they should."""
    told = _by_edition((r.edition, f"{rule} {name} ({why})") for r in results for rule, name, why in r.equivalent)
    console.print("Wrong versions that can change no verdict:")
    for line in told:
        hanging(console, line, "  ")


def show_problems(console: Console, results: Sequence[CheckResult]) -> int:
    """Each problem once, with the editions that have it where others do not; how many there are."""
    told = _by_edition((result.edition, problem) for result in results for problem in result.problems)
    for line in told:
        hanging(console, line, "", style="red")
    return len(told)


def _by_edition(found: Iterable[tuple[str, str]]) -> list[str]:
    editions: dict[str, list[str]] = {}
    for edition, text in found:
        editions.setdefault(text, []).append(edition)
    return [f"{text} [{', '.join(having)}]" for text, having in editions.items()]


def show_reads(console: Console, editions: list[Edition]) -> None:
    """The facts that each rule reads."""
    console.print("Facts and table columns that each rule reads:")
    found: dict[str, set[str]] = {}
    for edition in editions:
        for rule in edition.rules:
            found.setdefault(rule.id, set()).update(name for clause in rule.clauses for name in clause.reads)
    for rule_id, names in found.items():
        hanging(console, f"{rule_id}: {', '.join(sorted(names))}", "  ")


def same(console: Console, path: Path, lines: list[str], what: str, *, update: bool) -> bool:
    """Hold lines against the committed file, or write it; whether it is current now."""
    text = "\n".join(lines) + "\n"
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    if known == text:
        hanging(console, f"{what}: as committed ({len(lines)} lines in {path.name})", "")
        return True
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        hanging(console, f"{what}: wrote {path.name}; review the change", "")
        return True
    old, new = known.splitlines(), lines
    hanging(console, f"{what} differ from {path.name}:", "")
    for sign, side, other, style in (("-", old, set(new), "red"), ("+", new, set(old), "green")):
        for line in side:
            if line not in other:
                hanging(console, f"{sign} {line}", "  ", style=style)
    return False
