"""Which rules a user wants to hear of: ids, or prefixes of ids at a dot."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rules import Finding

from .exits import NotCheckedError


class UnknownRuleIdError(NotCheckedError):
    """An id that selects no rule, or a selection of none; the text proposes near ids."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The rules of an edition that are reported."""

    rules: frozenset[str]

    @classmethod
    def parse(cls, known: Sequence[str], select: Iterable[str], ignore: Iterable[str]) -> Selection:
        """``select`` and ``ignore`` hold ids or prefixes ("4.3"), comma separated. Raises UnknownRuleIdError.

        A selection of nothing is refused: its report would look like a clean one.
        """
        asked = list(select)
        wanted = _expand(known, asked)
        if asked and not wanted:
            raise UnknownRuleIdError("--select names no rule (see: mlpstorage rules list)")
        left = frozenset(wanted or known) - _expand(known, ignore)
        if not left:
            raise UnknownRuleIdError("no rule is left: --ignore takes away all that were to be reported")
        return cls(left)

    def keeps(self, finding: Finding) -> bool:
        """Whether to report a finding: its rule is selected, or one that it leaves undecided."""
        return finding.rule in self.rules or any(rule in self.rules for rule in finding.opens)


def split_list(values: Iterable[str]) -> list[str]:
    """Items of repeatable, comma separated options, without blanks and empty ones."""
    return [item.strip() for value in values for item in value.split(",") if item.strip()]


def no_such_rule(rule: str, known: Sequence[str]) -> str:
    """That an edition has no rule of this id, and which ids are near."""
    near = difflib.get_close_matches(rule, known, n=3, cutoff=0.5)
    return f"no rule {rule!r} in this edition" + (f"; near: {', '.join(near)}" if near else "")


def _expand(known: Sequence[str], values: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for item in split_list(values):
        matches = {rule for rule in known if rule == item or rule.startswith(f"{item.rstrip('.')}.")}
        if not matches:
            raise UnknownRuleIdError(f"{no_such_rule(item, known)} (see: mlpstorage rules list)")
        found |= matches
    return found
