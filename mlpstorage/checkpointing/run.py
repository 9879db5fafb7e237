"""``mlpstorage checkpointing run``, in order: plan, gate, readiness, gate again, then the run itself."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import rules
from rules.derived.checkpointing import model_names

from .. import output
from . import command, options
from .answer import Answer
from .exits import Exit, UsageError
from .gate import Decision, decide, load_edition
from .launch import launch_workload
from .names import identified
from .notices import notices
from .plan import Plan


def main(arguments: Sequence[str], environment: Mapping[str, str], started: datetime) -> int:
    """Run the command with the arguments after ``checkpointing run``; ``started`` is when the program began.

    Returns the exit code (:class:`Exit`). Raises SystemExit for ``--help``, and OSError where the answer cannot be
    written before anything is started.
    """
    try:
        request = options.parse(arguments, environment)
        edition = load_edition(request.plan.edition, request.plan.sources.get("edition", "--edition"))
        decision = decide(edition, launch_workload(request.plan), request.plan.division)
        if decision.allowed and request.plan.architecture is None:
            raise UsageError(
                f"--model: there is no reference workload for {request.plan.model!r}; "
                f"there is one for: {', '.join(model_names())}"
            )
        answer = Answer(request.output)
        if request.dry_run:
            told = notices(request.plan, None, decision.edition)
            answer.document.update(decision.document(), command=[], needs="", notices=told)
            if decision.allowed:
                answer.document.update(_planned(request.plan, decision))
            answer.decision(request.plan, decision)
            return answer.end(Exit.OK if decision.allowed else _refusal(decision))
        # Before the verdict is printed: a run that cannot be named must not read as one that may start.
        names = identified(request.plan) if decision.allowed else None
        told = notices(request.plan, names, decision.edition)
        answer.document.update(decision.document(), command=[], notices=told)
        answer.decision(request.plan, decision)
        if names is None:
            return answer.end(_refusal(decision))
        code = _start(request.plan, names, edition, decision, answer, started)
        with output.optional():  # the run is over: its exit code counts
            answer.end(code)
        return code
    except UsageError as error:
        output.last_words(f"mlpstorage checkpointing run: {error}")
        return Exit.USAGE
    except rules.RuleBookError as error:
        output.last_words(f"mlpstorage: a rule is broken; the run is neither allowed nor forbidden: {error}")
        return Exit.DEFECT
    except KeyboardInterrupt:
        output.last_words("mlpstorage: interrupted before anything was started")
        return Exit.INTERRUPTED


def _refusal(decision: Decision) -> Exit:
    return Exit.DEFECT if decision.faults else Exit.FORBIDDEN


def _planned(plan: Plan, decision: Decision) -> dict[str, Any]:
    """What a dry run adds to the decision: the argv that would run, with names in angle brackets for what only a real
    start decides; what a real start would ask for besides (empty: nothing); and the notices.
    """
    names, needs = (plan.orgname or "<orgname>", plan.systemname or "<systemname>"), ""
    try:
        names = identified(plan)
        told = notices(plan, names, decision.edition)
    except UsageError as error:
        needs, told = str(error), notices(plan, None, decision.edition)
    argv = command.benchmark(
        plan,
        launcher=command.find_mpirun(plan) or plan.mpi_bin,
        python=command.find_dlio_python(plan) or "<python of dlio_benchmark>",
        leaf=str(command.leaf_path(plan, *names, "<timestamp>")),
        config_dir="<generated workload>",
    )
    return {"command": argv, "needs": needs, "notices": told}


def _start(
    plan: Plan,
    names: tuple[str, str],
    edition: rules.Edition,
    decision: Decision,
    answer: Answer,
    started: datetime,
) -> Exit:
    from . import perform, readiness

    gc.enable()  # the command line had it off for the verdict
    state = readiness.check(plan)
    answer.document["readiness"] = [asdict(problem) for problem in state.problems]
    again = decide(edition, launch_workload(plan, state.facts), plan.division)
    answer.document.update(again.document())
    if not again.allowed:
        answer.reporter.say("After probing the machine:")
        answer.reporter.decision(plan, again)
        answer.reporter.problems(state.problems, "The machine is not ready either:")
        return _refusal(again)
    answer.reporter.probed(decision, again)
    answer.reporter.problems(state.problems)
    if not state.ready:
        return Exit.NOT_READY
    return perform.perform(plan, names, again, state, answer, started)
