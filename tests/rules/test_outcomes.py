"""Three outcomes, and how they come together: missing is neither false nor zero, and a root cause is told once."""

import pickle
from dataclasses import replace

import pytest

import rules
from rules.baselines import build_chain
from rules.facts import Absence, Reason, Source
from rules.facts.checkpointing import CheckpointingRun
from rules.matrix import launch_facts
from rules.outcomes import Outcome, Severity

EDITION = rules.load_edition("3.0")
BASELINES = EDITION.section_of("4.6.1").baselines


def run(path="closed/acme/results/s/checkpointing/llama3-8b/20260701_100000", base="run-8b", **facts):
    subject = build_chain(BASELINES, base, {f"run.{name}": value for name, value in facts.items()})[0]
    return subject.model_copy(update={"path": path})


def workload(*runs, base="combined-8b", **facts):
    subject = build_chain(BASELINES, base, {f"workload.{name}": value for name, value in facts.items()})[0]
    return subject.model_copy(update={"below": tuple(runs), "path": "closed/acme/results/s/checkpointing/llama3-8b"})


def evaluate(subject, division="closed", stage="submission"):
    return EDITION.evaluate(subject, division=division, stage=stage)


def fired(evaluation):
    return {f"{finding.rule}.{finding.clause}" for finding in evaluation.findings if finding.severity != "info"}


def test_a_legal_run_has_no_finding():
    assert fired(evaluate(run())) == set()


def test_a_missing_fact_is_neither_pass_nor_violation():
    evaluation = evaluate(run(num_processes=None))
    assert "4.6.1.asked" not in fired(evaluation)
    assert evaluation.tally["4.6.1"] == {"undetermined": 1}
    assert {question.fact for question in evaluation.open_questions} == {"run.num_processes"}


def test_a_violation_beside_an_open_clause_is_still_listed_with_it():
    evaluation = evaluate(run(num_processes=None, num_accelerators=12, subset_declared=True))
    assert evaluation.tally["4.3.5"] == {"violation": 1}
    assert {q.clause for q in evaluation.open_questions if q.rule == "4.3.5"} == {"count"}
    assert "4.3.5.measured" in fired(evaluation)


def test_one_cause_is_one_finding_whatever_depends_on_it():
    broken = {
        "file": "summary.json",
        "absent": Absence("file:leaf/summary.json", Reason.UNREADABLE, "leaf/summary.json", detail="cut in the middle"),
    }
    subject = run().model_copy(update={"num_accelerators": broken["absent"], "checkpoint_size_gib": broken["absent"]})
    report = rules.conclude([evaluate(subject)])
    (finding,) = [f for f in report.findings if f.outcome == "undetermined"]
    assert finding.path == "leaf/summary.json"
    assert finding.severity is Severity.ERROR
    assert {finding.rule, *finding.opens} == {"4.3.4", "4.6.1"}


def test_the_finding_that_owns_the_cause_lists_what_it_leaves_open():
    cause = "file:leaf/summary.json"
    absent = Absence(cause, Reason.UNREADABLE, "leaf/summary.json", detail="cut")
    files = [
        {
            "name": "summary.json",
            "path": "leaf/summary.json",
            "role": "summary",
            "state": "damaged",
            "detail": "cut",
            "cause": cause,
        }
    ]
    subject = run(files=files).model_copy(update={"num_accelerators": absent})
    report = rules.conclude([evaluate(subject)])
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert (finding.rule, finding.path, finding.opens) == ("READ-01", "leaf/summary.json", ("4.6.1",))


def with_an_open_row(path):
    """An evaluation of a run whose accelerator no table has, without the finding of 4.3.4 that explains it."""
    return replace(evaluate(run(path=path, accelerator="nope")), findings=(), explained={})


def test_a_name_that_a_table_lacks_is_told_with_its_fact_its_place_and_the_names_there_are():
    report = rules.conclude([with_an_open_row("")])
    (finding,) = [f for f in report.findings if "accelerator" in f.message.lower()]
    assert finding.outcome == "undetermined"
    assert "(: " not in finding.message
    assert "has no row 'nope' (run.accelerator" in finding.message
    assert "b200" in finding.message.partition("there are: ")[2]


def test_what_no_file_states_is_another_finding_at_each_place():
    found = [rules.conclude([with_an_open_row(path)]).findings for path in ("a", "b")]
    one, other = ({f.fingerprint for f in findings if f.outcome == "undetermined"} for findings in found)
    assert one
    assert not one & other


def test_a_placeholder_is_an_info_and_once_a_leaf():
    absent = Absence("placeholder:leaf", Reason.PLACEHOLDER, "leaf/0_per_epoch_stats.json", detail="pruned")
    subject = run().model_copy(update={"checkpoints_written": absent, "checkpoints_read": absent})
    report = rules.conclude([evaluate(subject)])
    (finding,) = [f for f in report.findings if f.outcome == "undetermined"]
    assert finding.severity is Severity.INFO


def test_equal_findings_of_a_workloads_leaves_are_folded():
    paths = ["w/20260701_100000", "w/20260701_110000"]
    evaluation = evaluate(workload(*(run(path, num_hosts=2, min_ranks_per_host=4) for path in paths)))
    (finding,) = [f for f in evaluation.findings if f.rule == "4.6.2"]
    assert finding.paths == tuple(paths)
    assert finding.path == "closed/acme/results/s/checkpointing/llama3-8b"
    assert finding.severity is Severity.WARNING


def test_different_findings_of_a_workloads_leaves_are_not():
    evaluation = evaluate(workload(run("w/1", min_ranks_per_host=2), run("w/2", min_ranks_per_host=3)))
    found = [f for f in evaluation.findings if f.rule == "4.6.2"]
    assert len(found) == len({f.fingerprint for f in found}) == 2


def test_evidence_names_value_and_place():
    subject = run(num_processes=16)
    subject = subject.model_copy(
        update={"sources": {**subject.sources, "num_processes": Source("leaf/m.json", "/args/num_processes")}}
    )
    (finding,) = [f for f in evaluate(subject).findings if f.clause == "asked"]
    evidence = {item.fact: (item.value, item.source) for item in finding.evidence}
    assert evidence["run.num_processes"] == (16, "leaf/m.json#/args/num_processes")
    assert evidence["model.closed_processes"] == (8, "rule book, Checkpointing models")
    assert "needs exactly 8 processes" in finding.message
    assert "this run has 16 processes" in finding.message
    assert "--num-processes 8" in finding.remedy


def test_a_message_tells_near_numbers_apart():
    (finding,) = [f for f in evaluate(workload(base="pair-8b", gap_seconds="30.001")).findings if f.clause == "gap"]
    assert "30.001 s" in finding.message
    assert "30.000 s" in finding.message


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0.00065, "0.0065 GiB in all (10 checkpoints x 0.00065 GiB"), (0.5, "5.0 GiB in all (10 checkpoints x 0.5 GiB")],
)
def test_a_message_rounds_no_size_away(size, shown):
    subject = workload(checkpoint_size_gib=size, num_hosts=1)
    (finding,) = [f for f in evaluate(subject).findings if (f.rule, f.clause) == ("4.3.1", "combined")]
    assert shown in finding.message


def test_fingerprints_do_not_depend_on_the_message():
    first, second = (
        next(f for f in evaluate(run(num_processes=count)).findings if f.clause == "asked") for count in (16, 17)
    )
    assert first.fingerprint == second.fingerprint
    assert first.message != second.message


@pytest.mark.parametrize(
    ("facts", "eligible"),
    [
        ({}, "closed"),
        ({"num_processes": 16, "num_accelerators": 16}, "open"),
        ({"num_processes": 0, "num_accelerators": 0}, "invalid"),
        ({"min_ranks_per_host": 4}, "closed"),
    ],
)
def test_classification(facts, eligible):
    assert EDITION.classify(run(**facts)).eligible == eligible


def test_undetermined_error_clauses_travel_with_the_verdict():
    assert EDITION.classify(run(num_processes=None, accelerator="b200")).undetermined == ("4.3.4", "4.6.1")
    assert EDITION.classify(run(num_processes=None)).undetermined == ("4.6.1",), "4.3.4 would only warn"


def test_launch_facts_that_come_later_are_deferred_not_open():
    evaluation = evaluate(launch_facts(EDITION, "llama3-8b", 8, False), stage="launch")
    assert evaluation.open_questions == ()
    waiting = {f"{item.rule}.{item.clause}" for item in evaluation.deferred}
    assert {"4.4.2.same", "4.7.1.structure", "4.3.1.combined", "4.6.1.measured"} <= waiting


def test_an_edition_pickles_by_its_id():
    assert pickle.loads(pickle.dumps(EDITION)) is EDITION


def test_without_a_division_the_claimed_one_is_judged():
    assert EDITION.evaluate(run(division="open", recorded_division="open")).division == "open"
    with pytest.raises(ValueError, match="claims no division"):
        EDITION.evaluate(run(division="whatif"))


def test_a_defect_of_a_rule_is_a_fault_and_names_it(monkeypatch):
    clause = EDITION.rule("4.6.4").clause("multiple")
    cells = {**EDITION.cells, "model": {"llama3-8b": {**EDITION.cells["model"]["llama3-8b"], "open_unit": 0}}}
    monkeypatch.setattr(EDITION, "cells", cells)
    monkeypatch.setattr(EDITION, "_recalls", {})  # for a book's tables do not change
    assert "% model.open_unit" in clause.clause.require
    evaluation = evaluate(run(num_processes=16, fsync=False), division="open")
    (fault,) = evaluation.faults
    assert fault.startswith("rule 4.6.4, clause multiple, closed/acme/")
    assert evaluation.tally["4.6.4"] == {"undetermined": 1}
    assert "4.3.2.configured" in fired(evaluation), "the other rules are judged all the same"


def test_a_fact_that_is_neither_stated_nor_absent_is_a_bug():
    with pytest.raises(ValueError, match="num_hosts"):
        CheckpointingRun.model_validate({name: v for name, v in run() if name != "num_hosts"})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_never_become_facts(value):
    with pytest.raises(ValueError, match="client_memory_gib"):
        CheckpointingRun.model_validate({**dict(run()), "client_memory_gib": value})


def test_totals_count_every_rule_once_a_subject():
    report = rules.conclude([evaluate(workload(run(), run("w/2")))])
    assert report.tally["4.6.1"][Outcome.PASS] == 2
    assert sum(report.checks.values()) == sum(sum(counts.values()) for counts in report.tally.values())
