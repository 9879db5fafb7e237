"""What deserves a word about the place that a run's results would go to. It forbids nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import rules

from ..results import layout
from . import command
from .exits import UsageError
from .names import init_orgname
from .plan import Plan

_SECTION = "2-tree"
_COUNT = "2.1.23"
"""The rule on how many runs a checkpointing workload has."""


def notices(plan: Plan, names: tuple[str, str], edition: str) -> list[str]:
    """The texts for a run that is recorded under these names (submitter and system)."""
    return [*_of_another_submitter(plan), *_one_too_many(plan, names, edition)]


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


def _one_too_many(plan: Plan, names: tuple[str, str], edition: str) -> Iterator[str]:
    """What the rule on the number of runs will say of the workload once this run is among them."""
    there = _leaves(command.leaf_path(plan, *names, "x").parent)
    if not there or plan.division not in layout.DIVISIONS:
        return
    from rules.facts import Absence, FactSheet, Reason, Source
    from rules.facts.tree import LeafGroup, WorkloadResults

    sheet = FactSheet()
    listed = ", ".join([*there, "this run"])
    group = LeafGroup(
        command="run", path=plan.model, accelerator="", count=len(there) + 1, misnamed=0, names=listed
    )  # fmt: skip
    for name, value in (("family", layout.CHECKPOINTING), ("division", plan.division), ("groups", [group])):
        sheet.put(name, value, Source(plan.results_dir))
    for name in WorkloadResults.fact_infos():
        field = name.partition(".")[2]
        if field not in sheet.values:
            sheet.put(field, Absence("later:run", Reason.LATER, detail="known after the run"))
    judged = rules.load_edition(edition, sections=(_SECTION,)).evaluate(
        sheet.build(WorkloadResults, ""), division=plan.division
    )
    for finding in judged.findings:
        if finding.rule == _COUNT and finding.outcome == rules.Outcome.VIOLATION:
            yield f"{_COUNT} will not allow this run beside those that are there: {finding.message}. {finding.remedy}"


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
