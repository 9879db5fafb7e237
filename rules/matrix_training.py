"""What of a training workload may be changed where: verdicts over models, parameters and divisions.

Nothing here knows a rule: every cell is an evaluation of the edition on launch facts with that one parameter changed.
The parameters are those that the limits name and those of the reference workloads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .baselines import build_chain
from .derived.checkpointing import NOT_SET
from .derived.training import accelerator_names, model_names, reference_workload, template, template_name
from .edition import Edition
from .facts.base import FactModel
from .matrix import planned
from .matrix_view import Grid, MatrixView
from .outcomes import Evaluation, Outcome, Severity

WORKLOAD = "training"
LEGEND = """\
C closed and open   O open   - nowhere
t passed by the tool itself (noted if typed)   n noted, no effect"""
_BASE = "unet3d"
_PARAMETER_RULES = ("3.6.2", "3.6.3")
_SAMPLES = ("1", "true")
"""Values that are tried; a parameter may be changed where one of them is legal."""
_NOTES = {"by_hand": "t", "tolerated": "n"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One point: a parameter of a model, what it is eligible for when changed, and the clauses that decided."""

    model: str
    parameter: str
    default: str
    eligible: str
    closed: tuple[str, ...]
    """Error clauses violated when judged closed."""
    open: tuple[str, ...]
    notes: tuple[str, ...]
    """Info clauses on the parameter that fire in the division it is eligible for."""

    @property
    def symbol(self) -> str:
        """C, O, t, n or -."""
        noted = next((_NOTES[note] for note in self.notes if note in _NOTES), "")
        return noted or {"closed": "C", "open": "O"}.get(self.eligible, "-")


def pairs(edition: Edition) -> list[tuple[str, str]]:
    """Models with the first accelerator on which an unchanged run is eligible for some division."""
    found: dict[str, str] = {}
    for model in model_names():
        for accelerator in accelerator_names():
            if model in found or template(model, accelerator) is None:
                continue
            if edition.classify(launch_facts(edition, model, accelerator), stage="launch").eligible != "invalid":
                found[model] = accelerator
    return list(found.items())


def launch_facts(edition: Edition, model: str, accelerator: str, parameter: str = "", value: str = "") -> FactModel:
    """The facts of one planned run, with one parameter changed by hand."""
    baselines = edition.section_of(_PARAMETER_RULES[0]).baselines
    default = reference_workload(model, accelerator).get(parameter, NOT_SET)
    override = {"name": parameter, "value": value, "default": default, "origin": "user"}
    given: dict[str, Any] = {
        "train.model": model,
        "train.accelerator": accelerator,
        "train.template": template_name(model, accelerator),
        "train.overrides": [override] if parameter else [],
        "train.template_values": [],
        "train.api": "object",  # some parameters mean something there only
    }
    return planned(build_chain(baselines, _BASE, given)[0])


def parameters(edition: Edition) -> list[str]:
    """Every parameter that a limit names or that a reference workload sets."""
    limits, tunable = edition.cells["training_limit"][""], edition.cells["training_tunable"]
    named = [*limits["closed_parameters"], *limits["open_parameters"], *limits["tool_parameters"]]
    for row in tunable.values():
        named += [*row["keys"], *row["tolerated"]]
    for model in model_names():
        for accelerator in accelerator_names():
            if template(model, accelerator):
                named += reference_workload(model, accelerator)
    return sorted(dict.fromkeys(named))


def cell(edition: Edition, model: str, accelerator: str, parameter: str) -> Cell:
    """Evaluate one point, with the first sample value that is legal somewhere."""
    found = [_cell(edition, model, accelerator, parameter, value) for value in _SAMPLES]
    return next((one for one in found if one.eligible == "closed"), None) or next(
        (one for one in found if one.eligible == "open"), found[0]
    )


def _cell(edition: Edition, model: str, accelerator: str, parameter: str, value: str) -> Cell:
    facts = launch_facts(edition, model, accelerator, parameter, value)
    verdict = edition.classify(facts, stage="launch")
    basis = verdict.closed if verdict.eligible == "closed" else verdict.open
    notes = tuple(f.clause for f in basis.findings if f.rule in _PARAMETER_RULES and f.severity is Severity.INFO)
    default = reference_workload(model, accelerator).get(parameter, NOT_SET)
    closed, open_ = _violated(verdict.closed), _violated(verdict.open)
    return Cell(model, parameter, default, verdict.eligible, closed, open_, notes)


def _violated(evaluation: Evaluation) -> tuple[str, ...]:
    return tuple(
        sorted(
            f"{finding.rule}.{finding.clause}"
            for finding in evaluation.findings
            if finding.severity is Severity.ERROR and finding.outcome == Outcome.VIOLATION
        )
    )


def enumerate_cells(edition: Edition) -> Iterator[Cell]:
    """Every parameter of every model that can be submitted."""
    models = pairs(edition)
    for parameter in parameters(edition):
        for model, accelerator in models:
            yield cell(edition, model, accelerator, parameter)


def view(edition: Edition) -> MatrixView:
    """The table of tunable parameters."""
    cells = list(enumerate_cells(edition))
    models = list(dict.fromkeys(one.model for one in cells))
    rows = []
    for parameter in dict.fromkeys(one.parameter for one in cells):
        symbols = {one.model: one.symbol for one in cells if one.parameter == parameter}
        rows.append([parameter, *(symbols[model] for model in models)])
    return MatrixView(
        grids=[Grid("parameters that a run may change", ["parameter", *models], rows)],
        legend=LEGEND,
        fixed={"train.overrides": "the one parameter, typed by hand", "all else": "as in the reference workload"},
        cells=[{**asdict(one), "symbol": one.symbol} for one in cells],
    )
