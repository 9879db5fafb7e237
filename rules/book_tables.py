"""The tables that stand at the head of a section of the rendered book, by workload. Their cells are derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .book_training import training_tables
from .edition import Edition
from .matrix import COUNTS, LEGEND, cell, fixed_facts, matrix
from .tables import reference_rows


def checkpointing_tables(edition: Edition) -> Iterator[str]:
    """Table 2, and which launches are legal."""
    rows = reference_rows("checkpointing-models")
    yield from (
        "### Table 2: checkpointing models",
        "",
        "| model | layers | hidden | FFN | heads / KV | TP x PP | ZeRO | CLOSED processes | OPEN: multiples of |"
        " size (GB) | subset (GB) |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    )
    for model, row in rows.items():
        yield (
            f"| {model} | {row['num_layers']} | {row['hidden_size']} | {row['ffn_hidden_size']} |"
            f" {row['num_attention_heads']} / {row['num_kv_heads']} |"
            f" {row['tensor_parallel']} x {row['pipeline_parallel']} | {row['zero_stage']} |"
            f" {row['closed_processes']} | {row['open_unit']} | {row['published_size_gb']:g} |"
            f" {subset_cell(edition, model)} |"
        )
    yield from (
        "",
        "Sizes are quoted as published; rules compute with the size formula. A subset cell is computed from the",
        "rules: it shows a size only where the edition allows such a run.",
        "",
        "### Which launch is legal",
        "",
        f"{LEGEND}",
        "",
        "| model | declared subset | " + " | ".join(str(count) for count in COUNTS) + " |",
        "|---|---|" + "---|" * len(COUNTS),
    )
    cells = matrix(edition)
    for declared in (False, True):
        for model in rows:
            symbols = [one.symbol for one in cells if one.model == model and one.declared == declared]
            yield f"| {model} | {'yes' if declared else 'no'} | " + " | ".join(symbols) + " |"
    yield ""
    yield "Held fixed: " + ", ".join(f"`{name}` {value}" for name, value in fixed_facts(edition).items()) + "."
    yield ""


def subset_cell(edition: Edition, model: str) -> str:
    """The size of a declared subset run on the limit's process count, or "invalid" where the edition forbids it."""
    processes = edition.cells["limit"][""]["subset_processes"]
    if cell(edition, model, processes, declared=True).eligible == "invalid":
        return "invalid"
    return f"{reference_rows('checkpointing-models')[model]['published_subset_size_gb']:g}"


TABLES: Mapping[str, Callable[[Edition], Iterator[str]]] = {
    "checkpointing": checkpointing_tables,
    "training": training_tables,
}
"""Workload of a section to the lines of its tables."""
