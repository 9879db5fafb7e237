"""``mlpstorage training datasize``: the smallest dataset, and the computation behind it."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import rules
from rules.derived import training as derived
from rules.derived.training import Sizing
from rules.facts import Absence, FactSheet, Known, Reason, Source
from rules.facts.training import TrainingDatasize
from rules.outcomes import Evaluation, Outcome

from ..checkpointing.exits import Exit, UsageError
from .options import Request, parse

SECTION = "3"
"""The section of the book that judges training."""
SUBFOLDERS = 0
"""A sizing prescribes no subfolders; a run may use as many as its dataset was generated with (3.3.1)."""
_LATER = Absence("later", Reason.LATER, detail="not known before the run")


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command with the arguments after ``training datasize``. Returns the exit code."""
    try:
        request = parse(arguments, environment)
        edition = rules.load_edition(request.edition or None, sections=(SECTION,))
        sizing = compute(request)
        evaluation = judge(edition, request, sizing)
    except UsageError as error:
        print(f"mlpstorage training datasize: {error}", file=sys.stderr)
        return Exit.USAGE
    except rules.UnknownEditionError as error:
        print(f"mlpstorage training datasize: --edition: {error}", file=sys.stderr)
        return Exit.USAGE
    except rules.RuleBookError as error:
        print(f"mlpstorage: a rule is broken; nothing can be said: {error}", file=sys.stderr)
        return Exit.DEFECT
    if request.output == "json":
        print(json.dumps(document(edition.id, request, sizing, evaluation), indent=2))
    else:
        print("\n".join(explain(edition.id, request, sizing, evaluation)))
    if evaluation is None:
        return Exit.OK
    if evaluation.faults:
        return Exit.DEFECT
    return Exit.FORBIDDEN if evaluation.violates else Exit.OK


def compute(request: Request) -> Sizing:
    """The smallest dataset for a request. Its template exists, the parser saw to that."""
    template = derived.template(request.model, request.accelerator)
    if template is None:
        raise UsageError(f"no workload template for {request.model} on {request.accelerator}")
    return derived.size_dataset(
        request.max_accelerators,
        template.batch_size,
        template.samples_per_file,
        template.record_length,
        request.memory_bytes,
    )


def facts(request: Request, sizing: Sizing) -> TrainingDatasize:
    """What the command line states of a sizing."""
    sheet = FactSheet()
    for name, info in TrainingDatasize.fact_infos().items():
        if info.known is not Known.PLAN:
            sheet.put(name.partition(".")[2], _LATER)
    not_asked = Absence("option:--data-dir", Reason.KEY_ABSENT, "command line", detail="no data directory is named")
    for name, value in (
        ("division", request.division),
        ("model", request.model),
        ("accelerator", request.accelerator),
        ("template", derived.template_name(request.model, request.accelerator)),
        ("max_accelerators", request.max_accelerators),
        ("num_files", sizing.files),
        ("samples_per_file", sizing.samples_per_file),
        ("record_length", float(sizing.record_length)),
        ("data_dir", not_asked),
        ("computed_files", [sizing.files]),
        ("sizing", sizing.text),
        ("overrides", []),
    ):
        sheet.put(name, value, Source("command line"))
    return sheet.build(TrainingDatasize, "")


def judge(edition: rules.Edition, request: Request, sizing: Sizing) -> Evaluation | None:
    """What the rules say of the sizing; None in whatif, where they do not apply."""
    if request.division == "whatif":
        return None
    return edition.evaluate(facts(request, sizing), division=request.division, stage="launch")


def document(edition: str, request: Request, sizing: Sizing, evaluation: Evaluation | None) -> dict[str, Any]:
    """The answer as one JSON object."""
    return {
        "edition": edition,
        "division": request.division,
        "model": request.model,
        "accelerator_type": request.accelerator,
        "max_accelerators": request.max_accelerators,
        "num_client_hosts": request.num_client_hosts,
        "client_host_memory_in_gb": float(request.host_memory_gib),
        "measured_host_memory_in_gb": _float(request.measured_memory_gib),
        "client_memory_bytes": math.ceil(request.memory_bytes),
        "batch_size": sizing.batch_size,
        "samples_per_file": sizing.samples_per_file,
        "record_length_bytes": float(sizing.record_length),
        "min_steps": sizing.steps,
        "memory_factor": sizing.factor,
        "files_by_steps": math.ceil(sizing.by_steps),
        "files_by_memory": math.ceil(sizing.by_memory),
        "governs": sizing.governs,
        "num_files_train": sizing.files,
        "num_subfolders_train": SUBFOLDERS,
        "total_disk_bytes": sizing.bytes,
        "explanation": sizing.text,
        "findings": [finding.as_json() for finding in _shown(evaluation)],
    }


def explain(edition: str, request: Request, sizing: Sizing, evaluation: Evaluation | None) -> list[str]:
    """The answer as lines of text."""
    hosts = f"{request.num_client_hosts} client host{'s' if request.num_client_hosts > 1 else ''}"
    memory = f"{derived.decimal_text(request.host_memory_gib)} GiB"
    if request.measured_memory_gib is not None:
        measured = derived.decimal_text(request.measured_memory_gib)
        memory += f" declared and {measured} GiB measured memory (the larger counts)"
    lines = [
        f"Smallest dataset for {request.model} on up to {request.max_accelerators} {request.accelerator}, "
        f"{hosts} of {memory}; {request.division}, edition {edition}",
        "",
        f"  by steps   {sizing.steps_text} files",
        f"  by memory  {sizing.memory_text} files",
        f"  the larger one counts, rounded up: {sizing.governs}",
        "",
        f"  dataset.num_files_train       {sizing.files}",
        f"  dataset.num_subfolders_train  {SUBFOLDERS}",
        f"  total size                    {sizing.bytes} bytes ({sizing.bytes / 2**40:.2f} TiB)",
        "",
        f"Generate at least {sizing.files} files. Subfolders may be chosen then; the runs use the same.",
    ]
    for finding in _shown(evaluation):
        lines += [
            "",
            f"{finding.severity.upper()} {finding.rule} {finding.name}: {finding.message}",
            f"  {finding.remedy}",
        ]
    if request.division == "whatif":
        lines.append("whatif: not for submission")
    return lines


def _shown(evaluation: Evaluation | None) -> list[rules.Finding]:
    return [] if evaluation is None else [f for f in evaluation.findings if f.outcome == Outcome.VIOLATION]


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
