"""``mlpstorage checkpointing run``, in order: plan, gate, readiness, gate again, leaf, benchmark, metadata."""

from __future__ import annotations

import gc
import json
import math
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import rules
from rules.derived.checkpointing import model_names

from .. import interrupts, output
from . import command, options
from .exits import Exit, UsageError
from .gate import Decision, decide, load_edition
from .launch import launch_workload
from .names import identified
from .notices import notices
from .plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

    from ..mpi.collect import Collection
    from .leaf import Record
    from .readiness import Readiness
    from .report import Reporter

WORKLOAD_DIR = ".generated-workload"
"""Where the leaf holds the generated workload file while the benchmark runs."""


_NO_RESULT = (
    "It is no result: remove the leaf when you have read its logs. Left where it is, it counts among the runs of the "
    "workload."
)


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
        answer = _Answer(request.output)
        if request.dry_run:
            answer.document.update(decision.document(), command=[], needs="", notices=[])
            if decision.allowed:
                answer.document.update(_planned(request.plan, decision))
            answer.decision(request.plan, decision)
            return answer.end(Exit.OK if decision.allowed else _refusal(decision))
        # Before the verdict is printed: a run that cannot be named must not read as one that may start.
        names = identified(request.plan) if decision.allowed else None
        told = [] if names is None else notices(request.plan, names, decision.edition)
        answer.document.update(decision.document(), command=[], notices=told)
        answer.decision(request.plan, decision)
        if names is None:
            return answer.end(_refusal(decision))
        code = _start(request.plan, names, edition, decision, answer, started)
        with output.optional():  # the run is over: its exit code counts
            answer.end(code)
        return code
    except UsageError as error:
        print(f"mlpstorage checkpointing run: {error}", file=sys.stderr)
        return Exit.USAGE
    except rules.RuleBookError as error:
        print(f"mlpstorage: a rule is broken; the run is neither allowed nor forbidden: {error}", file=sys.stderr)
        return Exit.DEFECT
    except KeyboardInterrupt:
        output.last_words("mlpstorage: interrupted before anything was started")
        return Exit.INTERRUPTED


def _refusal(decision: Decision) -> Exit:
    return Exit.DEFECT if decision.faults else Exit.FORBIDDEN


class _Answer:
    """The two ways to answer: text as it happens, or one JSON object at the end (and the text on standard error)."""

    def __init__(self, kind: str) -> None:
        self.json = kind == "json"
        self.document: dict[str, Any] = {}
        self._reporter: Reporter | None = None

    @property
    def reporter(self) -> Reporter:
        if self._reporter is None:
            from .report import Reporter

            self._reporter = Reporter(to_stderr=self.json)
        return self._reporter

    def decision(self, plan: Plan, decision: Decision) -> None:
        if self.json:
            return
        self.reporter.decision(plan, decision)
        for notice in self.document["notices"]:
            self.reporter.say(notice, "yellow")
        if self.document.get("needs"):
            self.reporter.say(f"A start needs more: {self.document['needs']}", "yellow")
        if self.document["command"]:
            self.reporter.say("This would run (what stands in <...> is filled in at the start):")
            self.reporter.command(self.document["command"])

    def end(self, code: Exit) -> int:
        if self.json:
            print(json.dumps({**self.document, "exit_code": int(code)}, indent=2))
        return code


def _planned(plan: Plan, decision: Decision) -> dict[str, Any]:
    """What a dry run adds to the decision: the argv that would run, with names in angle brackets for what only a real
    start decides; what a real start would ask for besides (empty: nothing); and the notices.
    """
    names, needs, told = (plan.orgname or "<orgname>", plan.systemname or "<systemname>"), "", list[str]()
    try:
        names = identified(plan)
        told = notices(plan, names, decision.edition)
    except UsageError as error:
        needs = str(error)
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
    answer: _Answer,
    started: datetime,
) -> Exit:
    from . import readiness

    gc.enable()  # the command line had it off for the verdict
    state = readiness.check(plan)
    answer.document["readiness"] = [asdict(problem) for problem in state.problems]
    again = decide(edition, launch_workload(plan, state.facts), plan.division)
    answer.document.update(again.document())
    if not again.allowed:
        answer.reporter.say("After probing the machine:")
        answer.reporter.decision(plan, again)
        answer.reporter.problems(state.problems)
        return _refusal(again)
    answer.reporter.probed(decision, again)
    answer.reporter.problems(state.problems)
    if not state.ready:
        return Exit.NOT_READY
    return _run(plan, names, again, state, answer, started)


def _run(
    plan: Plan,
    names: tuple[str, str],
    decision: Decision,
    state: Readiness,
    answer: _Answer,
    started: datetime,
) -> Exit:
    from ..results import layout, write
    from . import leaf as leaves
    from . import stamp

    try:
        image = stamp.capture(plan)
        interrupts.defer()  # until what marks the leaf is in place
        leaf = write.reserve_leaf(command.leaf_path(plan, *names, "x").parent, started)
    except OSError as error:
        interrupts.resume()
        answer.reporter.say(f"The run leaf cannot be made: {error}", "red")
        return Exit.NOT_READY
    # In the leaf, because that is what all hosts share; gone when the run has ended.
    config_dir = leaf / WORKLOAD_DIR
    record = leaves.Record(
        plan=plan,
        organisation=names[0],
        system=names[1],
        decision=decision,
        readiness=state,
        leaf=leaf,
        argv=command.benchmark(
            plan,
            launcher=state.launcher,
            python=state.python,
            leaf=str(leaf),
            config_dir=str(config_dir),
        ),
        started=started,
    )
    answer.document.update(command=record.argv, leaf=str(leaf))
    code = Exit.FAILED
    try:
        interrupts.resume()
        stamp.stamp(leaf, plan, decision.edition, state.dlio, image)
        separation = leaves.fs_separation(plan, state)
        if separation is not None:
            write.write_json(leaf / layout.FS_SEPARATION, separation)
        command.write_workload(plan, config_dir)
        code = _benchmark(record, answer)
        if code is Exit.OK:
            record.end_collection = _collect_again(record)
    except KeyboardInterrupt:
        # Before the benchmark was started, or while the hosts were asked again; in between execute() handles it.
        code = Exit.INTERRUPTED
        if record.status == "running":
            record.status = "interrupted"
        else:
            record.problems.append("interrupted while the hosts were asked again after the run")
    except OSError as error:
        record.status = "failed"
        record.problems.append(str(error))
    except BaseException:
        record.status = "failed"
        raise
    finally:
        interrupts.quiet(math.inf)  # nothing is left that could be ended, but for what says how the run went
        shutil.rmtree(config_dir, ignore_errors=True)
        record.ended = datetime.now()
        try:
            write.write_json(leaf / layout.metadata_name(leaf.name), record.metadata())
        except OSError as error:
            record.problems.append(f"the metadata cannot be written: {error}")
            code = Exit.FAILED
    try:
        stamp.list_in_manifest(plan, names[0], decision.edition)
    except OSError as error:  # the leaf is whole; the next run writes the list anew
        with output.optional():
            answer.reporter.say(f"The list of the submission's runs cannot be written: {error}", "yellow")
    with output.optional():
        _farewell(record, code, answer)
    return code


def _benchmark(record: Record, answer: _Answer) -> Exit:
    from ..results import layout
    from . import execute, progress

    plan, leaf = record.plan, record.leaf
    show = answer.reporter.progress()
    answer.reporter.line(f"Running; logs and results in {leaf}")

    def follow(line: str) -> None:
        step = progress.step(line, plan.num_checkpoints_write, plan.num_checkpoints_read)
        if step is not None:
            show(step)

    before = time.monotonic()
    ended = execute.execute(
        record.argv,
        leaf / layout.STDOUT_LOG,
        leaf / layout.STDERR_LOG,
        first_line=f"checkpoint_subset={'true' if plan.checkpoint_subset else 'false'}",
        on_line=follow,
    )
    record.runtime = time.monotonic() - before
    record.exit_status = ended.status
    if ended.interrupted:
        record.status = "interrupted"
        return Exit.INTERRUPTED
    if ended.status != 0:
        record.problems.append(f"the benchmark ended with status {ended.status}")
    if not (leaf / layout.SUMMARY).is_file():
        record.problems.append(f"the benchmark left no {layout.SUMMARY}")
    record.status = "failed" if record.problems else "completed"
    return Exit.FAILED if record.problems else Exit.OK


def _collect_again(record: Record) -> Collection | None:
    """The hosts once more after the run; nothing hangs on it, so that a failure is only recorded."""
    from ..mpi.collect import CollectionError, collect

    plan, state = record.plan, record.readiness
    ones = [1] * len(plan.hosts)
    prefix = command.mpi_prefix(plan, state.launcher, len(ones), ones)
    try:
        return collect(prefix, state.python, {"folder": "", "results": "", "model": "", "writes": "0", "token": ""})
    except CollectionError as error:
        record.problems.append(f"the hosts could not be asked again after the run: {error}")
        return None


def _farewell(record: Record, code: Exit, answer: _Answer) -> None:
    from ..results import layout

    reporter, plan, leaf = answer.reporter, record.plan, record.leaf
    if code is Exit.INTERRUPTED and record.status == "interrupted":
        reporter.say("INTERRUPTED: all ranks were ended; the leaf says so.", "bold yellow")
        reporter.say(_NO_RESULT, indent=2)
    elif code is Exit.FAILED:
        reporter.say("The benchmark FAILED:", "bold red")
        for problem in record.problems:
            reporter.say(problem, indent=2)
        reporter.say(_last_error(leaf / layout.STDERR_LOG), indent=2)
        reporter.line(f"  see {leaf / layout.STDERR_LOG}")
        reporter.say(_NO_RESULT, indent=2)
    else:
        reporter.say("Done.", "bold green")
        if plan.num_checkpoints_write and not plan.num_checkpoints_read:
            _call_out(record, reporter)
    reporter.line(f"  {leaf}")


def _last_error(log: Path) -> str:
    """The last line of a log that names an exception; empty where none does."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if re.search(r"(Error|Exception)\b", line)), "")


def _call_out(record: Record, reporter: Reporter) -> None:
    """After a write-only run: the read run belongs to it, and the clock of rule 4.7.1 runs."""
    ended = record.ended or datetime.now()
    statement = _statement(record.decision.edition, "4.7.1")
    reporter.say(f"Writing ended at {ended:%H:%M:%S}. Clear caches now, then start the read run at once:", "bold")
    reporter.line("  the same command with --num-checkpoints-write 0 and without --num-checkpoints-read 0")
    if statement:
        reporter.say(f"4.7.1: {statement}", indent=2)


def _statement(edition: str, rule: str) -> str:
    try:
        return load_edition(edition).rule(rule).statement
    except rules.RuleBookError:
        return ""
