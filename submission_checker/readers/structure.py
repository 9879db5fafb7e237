"""The readers of what surrounds the runs: the tree, its submitters and its systems.

Each gives one fact model with all that lies below it; what they give for one place is judged together, so that a
finding of one may own the questions that another leaves open.
"""

from __future__ import annotations

from collections.abc import Callable

from mlpstorage.results.files import Root
from rules.facts import FactModel

from ..listing import Listing, SubmitterDirectory, SystemDirectory
from . import code_images, code_stamps, tree
from .code_evidence import CodeEvidence
from .systems_directory import read_systems_directory

TREE: tuple[Callable[[Root, Listing, CodeEvidence], FactModel], ...] = (
    lambda root, listing, _: tree.tree_facts(root, listing),
    code_images.tree_facts,
)
SUBMITTER: tuple[Callable[[Root, Listing, SubmitterDirectory, CodeEvidence], FactModel], ...] = (
    lambda root, listing, submitter, _: tree.submitter_facts(root, listing, submitter),
    code_stamps.submitter_facts,
    lambda root, listing, submitter, _: read_systems_directory(root, listing, submitter),
)
SYSTEM: tuple[Callable[[Root, SystemDirectory], FactModel], ...] = ()
"""Beside the places of the runs, which the tree's own reader gives with each workload."""
