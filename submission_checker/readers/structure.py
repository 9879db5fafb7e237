"""The readers of what surrounds the runs: the tree, its submitters and its systems.

Each gives one fact model with all that lies below it; what they give for one place is judged together, so that a
finding of one may own the questions that another leaves open.
"""

from __future__ import annotations

from collections.abc import Callable

from mlpstorage.results.files import Root
from rules.facts import FactModel

from ..discovery import Listing, SubmitterDirectory, SystemDirectory
from . import code_images, code_stamps, tree
from .systems_directory import read_systems_directory

TREE: tuple[Callable[[Root, Listing], FactModel], ...] = (tree.tree_facts, code_images.tree_facts)
SUBMITTER: tuple[Callable[[Root, Listing, SubmitterDirectory], FactModel], ...] = (
    tree.submitter_facts,
    code_stamps.submitter_facts,
    read_systems_directory,
)
SYSTEM: tuple[Callable[[Root, SystemDirectory], FactModel], ...] = ()
"""Beside the places of the runs, which the tree's own reader gives with each workload."""
