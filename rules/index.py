"""The committed index guards what examples cannot: subject, divisions and severity of every clause, by edition, and
how its findings are folded, where they stand and what they explain, if the entry says so.

A change of any of them shows as a changed line of ``rules/book/expected/index.txt``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .edition import Edition
from .loading import BOOK

INDEX = BOOK / "expected" / "index.txt"


def index_lines(editions: Sequence[Edition]) -> list[str]:
    """One line for each clause and each different signature, with the editions that have it."""
    signatures: dict[tuple[str, ...], list[str]] = {}
    for edition in editions:
        for rule in edition.rules:
            for clause in rule.clauses:
                signature = (
                    rule.id,
                    rule.rule.name,
                    clause.key,
                    clause.model.subject,
                    "+".join(clause.divisions),
                    clause.severity.value,
                    clause.known.value,
                    *_told(fold=rule.fold, at=clause.clause.at, explains="+".join(clause.clause.explained)),
                )
                signatures.setdefault(signature, []).append(edition.id)
    return [f"{' '.join(signature)} | {' '.join(ids)}" for signature, ids in signatures.items()]


def _told(**keys: str) -> list[str]:
    """Keys that are given, in one line."""
    return [f"{name}={' '.join(text.split())}" for name, text in keys.items() if text]
