"""A rule on a subject reads the columns of the subjects directly below, as lists; one absence leaves the list open."""

import rules
from rules.baselines import build_chain
from rules.compiler import Environment
from rules.facts.base import Absence, Reason
from rules.facts.checkpointing import CheckpointingWorkload
from rules.subjects import Scope, variables

BASELINES = rules.load_edition("3.0").section_of("4.6.1").baselines
COUNTS = Environment(variables(CheckpointingWorkload, None, ())).compile("runs.num_processes.all(n, n == 8)")


def scope(*counts):
    runs = tuple(build_chain(BASELINES, "run-8b", {"run.num_processes": count})[0] for count in counts)
    workload = build_chain(BASELINES, "combined-8b", {})[0].model_copy(update={"below": runs})
    return Scope((workload,), {}, {}, Absence("not given", Reason.MISSING_FILE))


def test_a_column_lists_the_values_of_all_leaves():
    assert COUNTS.evaluate(scope(8, 8).resolve) is True
    assert COUNTS.evaluate(scope(8, 9).resolve) is False


def test_a_column_with_an_absent_value_is_unknown():
    ((name, absence),) = COUNTS.evaluate(scope(8, None).resolve).absent
    assert (name, absence.reason) == ("runs.num_processes", Reason.KEY_ABSENT)
