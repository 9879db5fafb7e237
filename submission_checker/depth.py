"""What only a check with ``--deep`` decides."""

from __future__ import annotations

import rules

DECIDES = "train.ranks_read"
"""The fact that keeps a clause from applying where the files of the ranks were not read."""


def deep_clauses(edition: str) -> frozenset[tuple[str, str]]:
    """Rule and key of the clauses that do not apply without ``--deep``."""
    return frozenset(
        (rule.id, clause.key)
        for rule in rules.load_edition(edition).rules
        for clause in rule.clauses
        if DECIDES in clause.model.fact_infos() and DECIDES in clause.inputs
    )
