"""How ``rules check`` prints what it found."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rules.check import CheckResult
from rules.edition import Edition


def show_result(console: Console, result: CheckResult) -> bool:
    """What the check of one edition found; whether something is wrong."""
    console.print(
        f"{result.edition}: {result.rules} rules, {result.examples} examples, {result.mutants} mutants contradicted or "
        f"listed, {result.refused} refused by the type check, {len(result.equivalent)} equivalent",
        markup=False,
    )
    for rule, mutant, reason in result.equivalent:
        console.print(f"  equivalent, survives: {rule} {mutant} ({reason})", markup=False)
    for problem in result.problems:
        console.print(f"  {problem}", style="red", markup=False)
    return bool(result.problems)


def show_reads(console: Console, editions: list[Edition]) -> None:
    """The facts that each rule reads."""
    console.print("Facts and table columns that each rule reads:")
    found: dict[str, set[str]] = {}
    for edition in editions:
        for rule in edition.rules:
            found.setdefault(rule.id, set()).update(name for clause in rule.clauses for name in clause.reads)
    for rule_id, names in found.items():
        console.print(f"  {rule_id}: {', '.join(sorted(names))}", markup=False)


def same(console: Console, path: Path, lines: list[str], what: str, *, update: bool) -> bool:
    """Hold lines against the committed file, or write it; whether it is current now."""
    text = "\n".join(lines) + "\n"
    known = path.read_text(encoding="utf-8") if path.is_file() else ""
    if known == text:
        console.print(f"{what}: as committed ({len(lines)} lines in {path.name})", markup=False)
        return True
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        console.print(f"{what}: wrote {path.name}; review the change", markup=False)
        return True
    old, new = known.splitlines(), lines
    for line in old:
        if line not in new:
            console.print(f"  - {line}", style="red", markup=False)
    for line in new:
        if line not in old:
            console.print(f"  + {line}", style="green", markup=False)
    console.print(
        f"{what} differ from {path.name}: if that is meant, run mlpstorage rules check --update", markup=False
    )
    return False
