"""Which rules a user wants to hear of: ids, or prefixes of ids at a dot."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rules import Finding


class UnknownRuleIdError(ValueError):
    """An id that selects no rule; the text proposes near ones."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules of an edition that are reported."""

    rules: frozenset[str]

    @classmethod
    def parse(cls, known: Sequence[str], select: Iterable[str], ignore: Iterable[str]) -> Selection:
        """``select`` and ``ignore`` hold ids or prefixes ("4.3"), comma separated. Raises UnknownRuleIdError."""
        wanted = _expand(known, select)
        return cls(frozenset(wanted or known) - _expand(known, ignore))

    def keeps(self, finding: Finding) -> bool:
        """Whether to report a finding: its rule is selected, or one that it leaves undecided."""
        return finding.rule in self.rules or any(rule in self.rules for rule in finding.opens)


def split_list(values: Iterable[str]) -> list[str]:
    """Items of repeatable, comma separated options, without blanks and empty ones."""
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def _expand(known: Sequence[str], values: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for item in split_list(values):
        matches = {rule for rule in known if rule == item or rule.startswith(f"{item.rstrip('.')}.")}
        if not matches:
            near = difflib.get_close_matches(item, known, n=3, cutoff=0.5)
            hint = f"; near: {', '.join(near)}" if near else ""
            raise UnknownRuleIdError(f"no rule {item!r} in this edition{hint} (see: mlpstorage rules list)")
        found |= matches
    return found
