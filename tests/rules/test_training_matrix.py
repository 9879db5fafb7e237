"""What may be changed where, by evaluation of the rules."""

from __future__ import annotations

import pytest

import rules
from rules.matrix_training import enumerate_cells, pairs, view

COMMON = {
    "dataset.num_files_train": "C",
    "dataset.data_folder": "C",
    "reader.read_threads": "C",
    "reader.prefetch_size": "C",
    "storage.storage_type": "C",
    "framework": "O",
    "dataset.format": "O",
    "dataset.num_samples_per_file": "O",
    "reader.data_loader": "O",
    "dataset.skip_listing": "t",
    "storage.storage_options.uri_scheme": "t",
    "reader.batch_size": "-",
    "train.computation_time": "-",
    "train.epochs": "-",
    "metric.au": "-",
    "reader.computation_threads": "-",
}


def symbols(edition: str) -> dict[tuple[str, str], str]:
    chosen = rules.load_edition(edition, sections=("3",))
    return {(cell.model, cell.parameter): cell.symbol for cell in enumerate_cells(chosen)}


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_models_that_can_be_submitted(edition: str) -> None:
    chosen = rules.load_edition(edition, sections=("3",))
    assert pairs(chosen) == [("unet3d", "b200"), ("retinanet", "b200")]


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_parameters_of_every_model(edition: str) -> None:
    found = symbols(edition)
    for model in ("unet3d", "retinanet"):
        assert {name: found[model, name] for name in COMMON} == COMMON


def test_parameters_of_one_model() -> None:
    found = symbols("3.0")
    assert (found["unet3d", "reader.odirect"], found["retinanet", "reader.odirect"]) == ("C", "-")
    assert (found["unet3d", "workflow.checkpoint"], found["retinanet", "workflow.checkpoint"]) == ("n", "-")


def test_what_the_draft_changes() -> None:
    old, new = symbols("3.0"), symbols("4.0-draft")
    changed = {point: (old.get(point, ""), symbol) for point, symbol in new.items() if old.get(point) != symbol}
    assert changed == {
        ("unet3d", "storage.storage_options.prefetch_window"): ("", "C"),
        ("retinanet", "storage.storage_options.prefetch_window"): ("", "C"),
        ("unet3d", "dataset.num_files_generated"): ("", "t"),
        ("retinanet", "dataset.num_files_generated"): ("", "t"),
        ("unet3d", "workflow.checkpoint"): ("n", "-"),
    }
    assert ("unet3d", "checkpoint.checkpoint_folder") not in new  # no limit of the draft names it


def test_the_view_has_one_row_a_parameter() -> None:
    shown = view(rules.load_edition("3.0", sections=("3",)))
    (grid,) = shown.grids
    assert list(grid.headings) == ["parameter", "unet3d", "retinanet"]
    assert ["reader.odirect", "C", "-"] in [list(row) for row in grid.rows]
    assert len(shown.cells) == 2 * len(grid.rows)
