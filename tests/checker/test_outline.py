"""What the rules on the tree and on submissions need of a listing is in its outline."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlpstorage.results import layout, provenance
from mlpstorage.results.roots.local import LocalRoot
from rules.facts import FactModel
from submission_checker.discovery import walk
from submission_checker.listing import Listing
from submission_checker.outline import outline
from submission_checker.readers import structure
from submission_checker.readers.code_evidence import CodeEvidence

EXAMPLES = Path(__file__).parents[2] / "examples" / "results"
LEAF = "open/acme/results/s/training/unet3d/run/20260701_100000"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / LEAF).mkdir(parents=True)
    for path in (f"{LEAF}/{provenance.FILE}", f"{LEAF}/summary.json", f"{LEAF}/../{layout.RESULTS_JSON}"):
        (tmp_path / path).write_text("[]")
    (tmp_path / LEAF / "../../code").mkdir()
    return tmp_path


def facts_of(root: LocalRoot, listing: Listing) -> list[FactModel]:
    evidence = CodeEvidence()
    found = [read(root, listing, evidence) for read in structure.TREE]
    for submitter in listing.submitters:
        found += [read(root, listing, submitter, evidence) for read in structure.SUBMITTER]
    return found


@pytest.mark.parametrize("examples", [True, False], ids=["examples", "stamps and tables"])
def test_facts_are_the_same_with_the_outline(tree: Path, examples: bool) -> None:
    with LocalRoot(EXAMPLES if examples else tree) as root:
        assert facts_of(root, walk(root, keep=outline)) == facts_of(root, walk(root))


def test_only_names_that_are_asked_for_are_kept(tree: Path) -> None:
    with LocalRoot(tree) as root:
        (system,) = walk(root, keep=outline).systems
    (workload,) = system.workloads
    assert [leaf.files for leaf in workload.leaves] == [(provenance.FILE,)]
    assert [level.files for level in workload.levels] == [(layout.RESULTS_JSON,)]
    assert system.path == "open/acme/results/s"
