"""``mlpstorage training datasize``: the smallest dataset, and the computation behind it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

import rules
from rules.derived import training as derived
from rules.derived.training import Sizing
from rules.facts import Absence, FactSheet, Known, Reason, Source
from rules.facts.training import TrainingDatasize
from rules.outcomes import Evaluation, Outcome

from .. import output
from ..checkpointing.exits import Exit, UsageError
from .options import Request, parse

SECTION = "3"
"""The section of the book that judges training."""
SUBFOLDERS = 0
"""A sizing prescribes no subfolders; a run may use as many as its dataset was generated with (3.3.1)."""
_MAX_BYTES = 2**63 - 1
"""What a file offset and the facts of a rule can count."""
_WIDTH = 80
_INDENT = 13
_LATER = Absence("later", Reason.LATER, detail="not known before the run")


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command with the arguments after ``training datasize``. Returns the exit code."""
    try:
        request = parse(arguments, environment)
        edition = rules.load_edition(request.edition or None, sections=(SECTION,))
        sizing = compute(request)
        evaluation = judge(edition, request, sizing)
    except UsageError as error:
        output.last_words(f"mlpstorage training datasize: {error}")
        return Exit.USAGE
    except rules.UnknownEditionError as error:
        output.last_words(f"mlpstorage training datasize: --edition: {error}")
        return Exit.USAGE
    except rules.RuleBookError as error:
        output.last_words(f"mlpstorage: a rule is broken; nothing can be said: {error}")
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
    sizing = derived.size_dataset(
        request.max_accelerators,
        template.batch_size,
        template.samples_per_file,
        template.record_length,
        request.memory_bytes,
    )
    if sizing.bytes > _MAX_BYTES:
        raise UsageError(
            f"the dataset would have {sizing.files} files of {sizing.bytes} bytes; no filesystem holds them"
        )
    return sizing


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
    memory = f"{_plain(request.host_memory_gib)} GiB"
    if request.measured_memory_gib is not None:
        memory += f" (measured: {_plain(request.measured_memory_gib)} GiB; the larger counts)"
    length = f"{derived.decimal_text(sizing.record_length)} bytes"
    lines = [
        f"Smallest dataset for {request.model} on {request.accelerator} ({request.division}, edition {edition})",
        "",
        f"  runs       up to {_counted(request.max_accelerators, 'accelerator')}",
        f"  clients    {_counted(request.num_client_hosts, 'host')} of {memory}",
        f"  template   batch size {sizing.batch_size}, {_counted(sizing.samples_per_file, 'sample')} in a file, "
        f"{length} a sample",
        "",
        *_term("by steps", sizing.steps_text),
        *_term("by memory", sizing.memory_text),
        f"  larger     {sizing.governs}, rounded up to whole files",
        "",
        f"  dataset.num_files_train       {sizing.files}",
        f"  dataset.num_subfolders_train  {SUBFOLDERS}",
        f"  total size                    {sizing.bytes} bytes ({sizing.bytes / 2**40:.2f} TiB)",
        "",
        f"Generate at least {sizing.files} files. Runs use the subfolders that datagen made.",
    ]
    for finding in _shown(evaluation):
        told = f"{finding.severity.upper()} {finding.rule} {finding.name}: {finding.message}"
        lines += ["", *wrap(told, _WIDTH, subsequent_indent="  "), f"  {finding.remedy}"]
    if request.division == "whatif":
        lines.append("whatif: not for submission")
    return lines


def _term(name: str, computation: str) -> list[str]:
    """One term of the formula: its numbers, and on a line of its own what they give."""
    numbers, _, result = computation.rpartition(" = ")
    return [f"  {name:<{_INDENT - 2}}{numbers}", f"{'':<{_INDENT}}= {result} files"]


def _plain(value: Fraction) -> str:
    """The decimal number that was written, without zeros at its end."""
    text = derived.decimal_text(value, digits=9)
    return text.rstrip("0") if "." in text else text


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


def _shown(evaluation: Evaluation | None) -> list[rules.Finding]:
    return [] if evaluation is None else [f for f in evaluation.findings if f.outcome == Outcome.VIOLATION]


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
