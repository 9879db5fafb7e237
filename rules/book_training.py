"""The tables at the head of the rendered section on training: workload templates, and what may be changed where."""

from __future__ import annotations

from collections.abc import Iterator

from .edition import Edition
from .matrix_training import view
from .tables import reference_rows


def training_tables(edition: Edition) -> Iterator[str]:
    """The workload templates, and the tunable parameters by evaluation of the rules."""
    models, minima = reference_rows("training-models"), edition.cells["training_au"]
    yield from (
        "### Workload templates",
        "",
        "| template | record length (bytes) | samples a file | format | framework | batch | compute time (s) | epochs |"
        " least utilisation (%) |",
        "|---|---|---|---|---|---|---|---|---|",
    )
    for name, row in reference_rows("training-templates").items():
        model = models[row["model"]]
        yield (
            f"| {name} | {model['record_length']:.12g} | {model['samples_per_file']} | {model['format']} |"
            f" {model['framework']} | {row['batch_size']} | {row['computation_time']:.8g} | {row['epochs']} |"
            f" {minima[row['model']]['minimum']:g} |"
        )
    shown = view(edition)
    (grid,) = shown.grids
    yield from (
        "",
        "### What a run may change",
        "",
        shown.legend,
        "",
        "| " + " | ".join(grid.headings) + " |",
        "|---" * len(grid.headings) + "|",
    )
    for cells in grid.rows:
        yield "| " + " | ".join(cells) + " |"
    yield ""
