"""What deserves a word about a run and the place that its results would go to. It forbids nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rules
from rules.facts import Absence, FactModel, FactSheet, Reason, Source

from ..results import layout
from . import command
from .exits import UsageError, meant
from .gate import SECTIONS
from .names import init_orgname
from .plan import Plan, known_keys

if TYPE_CHECKING:
    from ..results.document import Document

_TREE, _COUNT = "2-tree", "2.1.23"
"""The rule on how many runs a checkpointing workload has, and its section."""
_PHASES = "4.7.1"
"""The rule on what those runs write and read."""


def notices(plan: Plan, names: tuple[str, str] | None, edition: str) -> list[str]:
    """The texts for a run that is recorded under these names (submitter and system), where they are known."""
    told = list(_misspelt(plan))
    if names is not None:
        told += [*_of_another_submitter(plan), *_beside_others(plan, names, edition)]
    return told


def _misspelt(plan: Plan) -> Iterator[str]:
    known = known_keys(plan.model)
    for key in plan.params:
        if key not in known and (close := meant([key], known)):
            yield f"--param: the reference workload has no {key}{close}"


def _of_another_submitter(plan: Plan) -> Iterator[str]:
    if plan.orgname is None:
        return
    try:
        owner = init_orgname(Path(plan.results_dir))
    except UsageError:  # the option stands in for a file that cannot be used
        return
    if owner not in (None, plan.orgname):
        yield (
            f"{plan.results_dir} is {owner}'s ({layout.SENTINEL}); {plan.source('orgname')} has this run recorded as "
            f"{plan.orgname}'s all the same. If it is not meant, leave it out or name another --results-dir."
        )


def _beside_others(plan: Plan, names: tuple[str, str], edition: str) -> Iterator[str]:
    """What is known of the workload's runs already: those that are to go, and what rules will say of this one more."""
    workload = command.leaf_path(plan, *names, "x").parent
    there = _leaves(workload)
    if not there or plan.division not in layout.DIVISIONS:
        return
    recorded = _recorded(workload, there)
    useless = [name for name in there if recorded[name].data.get("status") in layout.NO_RESULT]
    if useless:
        yield (
            f"{', '.join(useless)} in {workload}: of a run that did not complete, and no result. Remove such leaves; "
            "they count among the runs of the workload."
        )
    told = list(_one_too_many(plan, there, edition))
    yield from told
    if not told:
        yield from _no_pair(plan, [recorded[name] for name in there if name not in useless], edition)


def _recorded(workload: Path, leaves: list[str]) -> dict[str, Document]:
    """The metadata of each leaf."""
    from ..results.document import read_json
    from ..results.roots.local import LocalRoot

    with LocalRoot(workload) as root:
        return {name: read_json(root, f"{name}/{layout.metadata_name(name)}") for name in leaves}


def _one_too_many(plan: Plan, there: list[str], edition: str) -> Iterator[str]:
    """What the rule on the number of runs will say of the workload once this run is among them."""
    from rules.facts.tree import LeafGroup, WorkloadResults

    listed = ", ".join([*there, "this run"])
    group = LeafGroup(
        command="run", path=plan.model, accelerator="", count=len(there) + 1, misnamed=0, names=listed
    )  # fmt: skip
    facts = {"family": layout.CHECKPOINTING, "division": plan.division, "groups": [group]}
    yield from _violated(plan, WorkloadResults, facts, edition, (_TREE,), _COUNT)


def _no_pair(plan: Plan, before: list[Document], edition: str) -> Iterator[str]:
    """What the rule on the phases will say of the runs that are there with this one; nothing where one is unknown."""
    from rules.facts.checkpointing import CheckpointingWorkload

    counts = [(leaf.int("/args/num_checkpoints_write"), leaf.int("/args/num_checkpoints_read")) for leaf in before]
    known = [(w.value, r.value) for w, r in counts if not isinstance(w, Absence) and not isinstance(r, Absence)]
    if not known or len(known) < len(counts):
        return
    invocations = [f"{w}/{r}" for w, r in (*known, (plan.num_checkpoints_write, plan.num_checkpoints_read))]
    facts = {"division": plan.division, "invocations": invocations, "structure": " ".join(invocations)}
    yield from _violated(plan, CheckpointingWorkload, facts, edition, SECTIONS, _PHASES)


def _violated(
    plan: Plan, model: type[FactModel], facts: Mapping[str, Any], edition: str, sections: tuple[str, ...], rule: str
) -> Iterator[str]:
    """The violations of one rule, judged on the facts that are known of the workload."""
    sheet = FactSheet()
    for name, value in facts.items():
        sheet.put(name, value, Source(plan.results_dir))
    for name in model.fact_infos():
        field = name.partition(".")[2]
        if field not in sheet.values:
            sheet.put(field, Absence("later:run", Reason.LATER, detail="known after the run"))
    judged = rules.load_edition(edition, sections=sections).evaluate(sheet.build(model, ""), division=plan.division)
    for finding in judged.findings:
        if finding.rule == rule and finding.outcome == rules.Outcome.VIOLATION:
            yield f"{rule} will not allow this run beside those that are there: {finding.message}. {finding.remedy}"


def _leaves(workload: Path) -> list[str]:
    """Names of the leaves that hold something, oldest first; none where the directory cannot be listed."""
    try:
        return sorted(
            entry.name
            for entry in workload.iterdir()
            if layout.leaf_time(entry.name) is not None
            and entry.is_dir()
            and any(not below.name.startswith(".") for below in entry.iterdir())
        )
    except OSError:
        return []
