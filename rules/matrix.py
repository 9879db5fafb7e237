"""The decision table of checkpointing launches: verdicts over models, process counts and the subset declaration.

Nothing here knows a rule: every cell is an evaluation of the edition on launch facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .baselines import build_chain
from .derived.checkpointing import architecture, checkpoint_gib, closed_processes, model_names, scaled
from .edition import Edition
from .facts.base import Absence, FactModel, Known, Reason
from .loading import BOOK
from .outcomes import Evaluation, Outcome, Severity
from .tables import reference_rows

EXPECTED = BOOK / "expected" / "checkpointing-verdicts.txt"
WORKLOAD = "checkpointing"
COUNTS = (4, 7, 8, 12, 16, 64, 128, 256, 408, 512, 1024, 2048)
"""Process counts that ``rules matrix`` shows: legal ones, their neighbours, and one from a public report (408)."""
_BASE_RUN, _BASE_WORKLOAD = "run-8b", "combined-8b"
_SYMBOLS = {"closed": "C", "open": "O", "invalid": "-"}
LEGEND = "C closed (and open)   O open   r open, reduced (warning)   - invalid"


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the table: what it is eligible for, and the clauses that decided."""

    model: str
    processes: int
    declared: bool
    eligible: str
    closed: tuple[str, ...]
    """Error clauses violated when judged closed, e.g. ``4.6.1.asked``."""
    open: tuple[str, ...]
    warnings: tuple[str, ...]
    """Warning clauses violated in the division it is eligible for."""

    @property
    def symbol(self) -> str:
        """C, O, r or -."""
        return "r" if self.eligible == "open" and self.warnings else _SYMBOLS[self.eligible]

    @property
    def point(self) -> tuple[str, int, bool]:
        """What the cell stands for."""
        return self.model, self.processes, self.declared


def fixed_facts(edition: Edition) -> dict[str, str]:
    """The facts that the matrix holds fixed, and their values."""
    fixed = {
        "run.num_hosts": "1",
        "run.api": "file",
        "run.num_checkpoints_write": "10",
        "run.num_checkpoints_read": "10",
        "run.fsync": "true",
        "run.parameters": "as in the reference workload",
        "run.checkpoint_size_gib": "by the size formula",
    }
    accelerator = _accelerator(edition)
    fixed["run.accelerator"] = accelerator or "not stated"
    return fixed


def _accelerator(edition: Edition) -> str:
    """An accelerator is stated only where the edition asks for one."""
    asks = any(clause.clause.present == "run.accelerator" for rule in edition.rules for clause in rule.clauses)
    return next(iter(edition.cells["accelerator"])) if asks else ""


def launch_facts(edition: Edition, model: str, processes: int, declared: bool) -> FactModel:
    """The facts of one planned launch, as a command line would state them."""
    baselines = edition.section_of("4.6.1").baselines
    row, closed = architecture(model), closed_processes(model)
    if row is None or closed is None:
        raise ValueError(f"no such model: {model}")
    size = checkpoint_gib(scaled(row, closed, processes), processes)
    accelerator = _accelerator(edition)
    given: dict[str, Any] = {
        "run.model": model,
        "run.num_processes": processes,
        "run.min_ranks_per_host": processes,
        "run.subset_declared": declared,
        "run.subset_labelled": processes < closed,
        "run.checkpoint_size_gib": size,
    }
    if accelerator:
        given["run.accelerator"] = accelerator
    run = planned(build_chain(baselines, _BASE_RUN, given)[0])
    workload = planned(
        build_chain(baselines, _BASE_WORKLOAD, {"workload.model": model, "workload.checkpoint_size_gib": size})[0]
    )
    return workload.model_copy(update={"below": (run,)})


def planned(subject: FactModel) -> FactModel:
    """The subject with every fact that a command line cannot know put off until later."""
    later = Absence("later", Reason.LATER, detail="not known before the run")
    return subject.model_copy(
        update={
            name.partition(".")[2]: later for name, info in subject.fact_infos().items() if info.known is not Known.PLAN
        }
    )


def cell(edition: Edition, model: str, processes: int, declared: bool) -> Cell:
    """Evaluate one point."""
    verdict = edition.classify(launch_facts(edition, model, processes, declared), stage="launch")
    basis = verdict.closed if verdict.eligible == "closed" else verdict.open
    return Cell(
        model,
        processes,
        declared,
        verdict.eligible,
        _violated(verdict.closed, Severity.ERROR),
        _violated(verdict.open, Severity.ERROR),
        _violated(basis, Severity.WARNING),
    )


def _violated(evaluation: Evaluation, severity: Severity) -> tuple[str, ...]:
    return tuple(
        sorted(
            f"{finding.rule}.{finding.clause}"
            for finding in evaluation.findings
            if finding.severity is severity and finding.outcome == Outcome.VIOLATION
        )
    )


def matrix(edition: Edition, counts: Sequence[int] = COUNTS) -> list[Cell]:
    """All cells for these process counts, model by model, without and with the declaration."""
    return [
        cell(edition, model, processes, declared)
        for declared in (False, True)
        for model in model_names()
        for processes in counts
    ]


def boundary_counts(model: str) -> list[int]:
    """Process counts at which the verdict of a model can change: around its unit, its CLOSED count and 8."""
    row = reference_rows("checkpointing-models")[model]
    unit, closed = int(row["open_unit"]), int(row["closed_processes"])
    return sorted({1, 4, 7, 8, 9, 16, 408, unit - 1, unit, unit + 1, closed - 1, closed, closed + 1, 2 * closed} | {0})


def enumerate_cells(edition: Edition) -> Iterator[Cell]:
    """Every model, boundary count and declaration."""
    for model in model_names():
        for processes in boundary_counts(model):
            for declared in (False, True):
                yield cell(edition, model, processes, declared)


def verdict_lines(editions: Sequence[Edition]) -> list[str]:
    """The exhaustive table as text, one point a line, equal editions together."""
    points: dict[tuple[str, int, bool], dict[str, list[str]]] = {}
    for edition in editions:
        for one in enumerate_cells(edition):
            text = f"{one.eligible:7} closed: {' '.join(one.closed) or 'ok'}; open: {' '.join(one.open) or 'ok'}"
            if one.warnings:
                text += f"; warns: {' '.join(one.warnings)}"
            points.setdefault(one.point, {}).setdefault(text, []).append(edition.id)
    return [
        f"{model} {processes}{' subset' if declared else ''} | {' '.join(ids)} | {text}"
        for (model, processes, declared), texts in points.items()
        for text, ids in texts.items()
    ]


def flipped(old: Edition, new: Edition) -> list[tuple[Cell, Cell]]:
    """The cells whose verdict or violated clauses differ between two editions."""
    before: Mapping[tuple[str, int, bool], Cell] = {one.point: one for one in enumerate_cells(old)}
    return [(before[one.point], one) for one in enumerate_cells(new) if before[one.point].eligible != one.eligible]
