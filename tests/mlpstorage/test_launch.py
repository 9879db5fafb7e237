"""The launch adapter: which facts exist when, and where each came from."""

from __future__ import annotations

import pytest

from mlpstorage.checkpointing.launch import ProbeFacts, launch_workload
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.plan import Plan
from rules.facts import Absence, FactModel, Known, Reason
from rules.facts.checkpointing import CheckpointingWorkload


def plan(*arguments: str, division: str = "closed", model: str = "llama3-8b") -> Plan:
    return parse([division, "--model", model, *arguments], {}).plan


def facts(*arguments: str, probes: ProbeFacts | None = None, **named: str) -> CheckpointingWorkload:
    return launch_workload(plan(*arguments, **named), probes)


def absent(subject: FactModel) -> dict[str, Reason]:
    found = {name: subject.lookup(name) for name in subject.fact_infos()}
    return {name: value.reason for name, value in found.items() if isinstance(value, Absence)}


def test_everything_known_at_the_plan_is_stated_and_the_rest_is_later() -> None:
    workload = facts("--accelerator-type", "B200")
    for subject in (workload, *workload.runs):
        for name, info in subject.fact_infos().items():
            value = subject.lookup(name)
            if info.known is Known.PLAN:
                assert not isinstance(value, Absence), name
                assert subject.source(name) is not None, name
            else:
                assert isinstance(value, Absence), name
                assert value.reason is Reason.LATER, name


def test_sources_name_the_option_or_default() -> None:
    run = facts("--num-processes", "8").runs[0]
    assert str(run.source("run.num_processes")) == "--num-processes"
    assert str(run.source("run.num_hosts")) == "default"


def test_probes_state_the_probe_facts() -> None:
    probes = ProbeFacts(client_memory_gib=251.5, fsync_effective=True, same_filesystem=False)
    workload = facts(probes=probes)
    run = workload.runs[0]
    assert (run.client_memory_gib, run.fsync_effective, run.same_filesystem) == (251.5, True, False)
    assert (run.filesystem_evidence, workload.client_memory_gib) == ("sidecar", 251.5)
    assert set(absent(run).values()) <= {Reason.LATER, Reason.NOT_RECORDED}


def test_probe_that_could_not_tell_is_an_absence_not_a_false() -> None:
    run = facts(probes=ProbeFacts()).runs[0]
    assert absent(run)["run.fsync_effective"] is Reason.UNREADABLE
    assert absent(run)["run.same_filesystem"] is Reason.UNREADABLE
    assert run.filesystem_evidence == "none"


def test_what_a_problem_kept_from_being_asked_stays_for_later() -> None:
    unasked = frozenset({"same_filesystem", "filesystem_evidence", "fsync_effective", "client_memory_gib"})
    found = absent(facts(probes=ProbeFacts(unasked=unasked)).runs[0])
    assert {found[f"run.{name}"] for name in unasked} == {Reason.LATER}


def test_object_api_has_no_filesystem() -> None:
    run = facts("--api", "object", "--checkpoint-folder", "s3://b/p", probes=ProbeFacts()).runs[0]
    assert absent(run)["run.same_filesystem"] is Reason.NOT_APPLICABLE
    assert run.checkpoint_folder == "s3://b/p"


def test_unknown_model_leaves_what_hangs_on_it_without_a_row() -> None:
    workload = facts(model="llama3-18b")
    reasons = {name for name, reason in absent(workload.runs[0]).items() if reason is Reason.NO_ROW}
    assert {"run.num_processes", "run.checkpoint_size_gib", "run.parameters", "run.subset_labelled"} <= reasons
    assert len({workload.runs[0].lookup(name).cause for name in reasons}) == 1


def test_missing_option_is_a_missing_key() -> None:
    run = facts("--checkpoint-folder", "").runs[0]
    assert absent(run)["run.checkpoint_folder"] is Reason.KEY_ABSENT
    assert absent(run)["run.accelerator"] is Reason.NOT_RECORDED


@pytest.mark.parametrize(
    ("arguments", "labelled", "declared"),
    [([], False, False), (["--checkpoint-subset"], False, True), (["-n", "4"], True, False)],
)
def test_label_follows_the_count_and_declaration_the_option(
    arguments: list[str], labelled: bool, declared: bool
) -> None:
    run = facts(*arguments).runs[0]
    assert (run.subset_labelled, run.subset_declared) == (labelled, declared)


def test_overrides_stand_beside_their_reference() -> None:
    run = facts("--param", "checkpoint.fsync=False", "reader.extra=1").runs[0]
    assert run.fsync is False
    assert isinstance(run.parameters, list)
    changed = {item.name: (item.value, item.reference) for item in run.parameters if item.value != item.reference}
    assert changed.pop("checkpoint.checkpoint_folder")[0].endswith("/checkpoints/llama3-8b")
    assert changed == {"checkpoint.fsync": ("false", "true"), "reader.extra": ("1", "(not set)")}


def test_pair_halves_are_told_apart() -> None:
    workload = facts("--num-checkpoints-read", "0")
    assert (workload.invocations, workload.combined, workload.checkpoints_written) == (["10/0"], False, 10)
