"""The run itself: the leaf, the benchmark in it, and the metadata, which are written however it ends."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from .. import interrupts, output
from ..mpi.collect import Collection, CollectionError, collect
from ..results import layout, write
from ..results.images import Image
from . import command, execute, progress, stamp
from .answer import Answer
from .exits import Exit
from .farewell import farewell
from .gate import Decision
from .leaf import Record, fs_separation
from .plan import Plan
from .readiness import Problem, Readiness

WORKLOAD_DIR = ".generated-workload"
"""Where the leaf holds the generated workload file while the benchmark runs: there, for all hosts share the leaf."""


def perform(
    plan: Plan,
    names: tuple[str, str],
    decision: Decision,
    state: Readiness,
    answer: Answer,
    started: datetime,
) -> Exit:
    """Make the leaf, run the benchmark in it, and write down how it went. ``names``: submitter and system."""
    try:
        image = stamp.capture(plan)
        interrupts.defer()  # until what marks the leaf is in place
        leaf = write.reserve_leaf(command.leaf_path(plan, *names, "x").parent, started)
    except OSError as error:
        interrupts.resume()
        mend = "make that place writable, or name another directory with --results-dir"
        problem = Problem("paths", f"the run leaf cannot be made: {error}", mend)
        answer.document["readiness"].append(asdict(problem))
        answer.reporter.problems([problem])
        return Exit.NOT_READY
    record = _record(plan, names, decision, state, leaf, started)
    answer.document.update(command=record.argv, leaf=str(leaf))
    code = _recorded(record, image, answer)
    try:
        stamp.list_in_manifest(plan, names[0], decision.edition)
    except OSError as error:  # the leaf is whole; the next run writes the list anew
        with output.optional():
            answer.reporter.say(f"The list of the submission's runs cannot be written: {error}", "yellow")
    with output.optional():
        farewell(record, code, answer.reporter)
    return code


def _record(
    plan: Plan, names: tuple[str, str], decision: Decision, state: Readiness, leaf: Path, started: datetime
) -> Record:
    argv = command.benchmark(
        plan, launcher=state.launcher, python=state.python, leaf=str(leaf), config_dir=str(leaf / WORKLOAD_DIR)
    )
    return Record(
        plan=plan,
        organisation=names[0],
        system=names[1],
        decision=decision,
        readiness=state,
        leaf=leaf,
        argv=argv,
        started=started,
    )


def _recorded(record: Record, image: Image, answer: Answer) -> Exit:
    """Run the benchmark; whatever happens, the metadata say how far it came."""
    code = Exit.FAILED
    try:
        interrupts.resume()
        _prepare(record, image)
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
        shutil.rmtree(record.leaf / WORKLOAD_DIR, ignore_errors=True)
        record.ended = datetime.now()
        try:
            write.write_json(record.leaf / layout.metadata_name(record.leaf.name), record.metadata())
        except OSError as error:
            record.problems.append(f"the metadata cannot be written: {error}")
            code = Exit.FAILED
    return code


def _prepare(record: Record, image: Image) -> None:
    """Put into the leaf what a benchmark needs and what it cannot say itself. Raises OSError."""
    plan, leaf = record.plan, record.leaf
    stamp.stamp(leaf, plan, record.decision.edition, record.readiness.dlio, image)
    separation = fs_separation(plan, record.readiness)
    if separation is not None:
        write.write_json(leaf / layout.FS_SEPARATION, separation)
    command.write_workload(plan, leaf / WORKLOAD_DIR)


def _benchmark(record: Record, answer: Answer) -> Exit:
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
    plan, state = record.plan, record.readiness
    ones = [1] * len(plan.hosts)
    prefix = command.mpi_prefix(plan, state.launcher, len(ones), ones)
    try:
        return collect(prefix, state.python, {"folder": "", "results": "", "model": "", "writes": "0", "token": ""})
    except CollectionError as error:
        record.problems.append(f"the hosts could not be asked again after the run: {error}")
        return None
