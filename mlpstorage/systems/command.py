"""``mlpstorage systems``: check a system description, write one to start from, print the format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import rules
from mlpstorage.results.files import MAX_YAML_BYTES, Content
from mlpstorage.results.roots.local import LocalRoot
from mlpstorage.results.text import clean, harmless, hung, no_command, shorten
from rules import Finding
from rules.facts import Absence, FactSheet, Reason
from rules.facts.system import System

from .description import Description, read_content
from .facts import put_description, put_runs
from .model import ROOT, Deployment, StorageLocation, json_schema
from .problems import pointer_text
from .template import Shape, template

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="System descriptions: check, template, schema.",
)

_SUFFIX = ".yaml"
_WIDTH = 80
_NOT_SHOWN = {"cause", "detail", "printed_detail"}
"""Of a problem, in JSON: what its other fields say already, and what only rules ask for."""


class Format(StrEnum):
    """How a check is printed."""

    TEXT = "text"
    JSON = "json"


@app.command()
def schema() -> None:
    """Print the JSON Schema of a description (for editors and other tools)."""
    typer.echo(json.dumps(json_schema(), indent=2))


@app.command("template")
def write_template(
    name: Annotated[str, typer.Option(help="Name of the system, and of the file.")] = "my-system",
    deployment: Annotated[Deployment, typer.Option(help="Where the system stands.")] = "onprem",
    storage_location: Annotated[StorageLocation, typer.Option(help="Where the storage lies.")] = "remote",
) -> None:
    """Print a commented description to start from. It is complete; its values are examples."""
    typer.echo(template(Shape(name, deployment, storage_location)), nl=False)


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Descriptions to check.")],
    edition: Annotated[str, typer.Option(help="Edition of the rule book.")] = rules.DEFAULT_EDITION,
    output: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Check descriptions as the submission checker does, without their PDFs and results.

    Exit code 0: no error; 1: errors; 2: a file or the edition could not be used.
    """
    try:
        chosen = rules.load_edition(edition)
    except rules.RuleBookError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    checked = [_check(file, chosen) for file in files]
    if output is Format.JSON:
        typer.echo(json.dumps([_as_json(one) for one in checked], indent=2))
    else:
        for one in checked:
            _print(one)
    if any(one.unusable for one in checked):
        raise typer.Exit(2)
    raise typer.Exit(any(finding.severity == "error" for one in checked for finding in one.findings))


class _Checked:
    """One file: its findings, or why it could not be opened."""

    def __init__(
        self, file: str, description: Description, system: System, findings: list[Finding], unusable: str = ""
    ) -> None:
        self.file = clean(file)
        self.description = description
        self.system = system
        self.findings = findings
        self.unusable = unusable


def _check(file: str, edition: rules.Edition) -> _Checked:
    content = _content(file)
    description = read_content(content, file)
    system = _facts(file, content, description)
    if content.state in ("missing", "refused"):
        return _Checked(file, description, system, [], content.detail)
    evaluation = edition.evaluate(system, division="closed")
    return _Checked(file, description, system, rules.conclude([evaluation]).findings)


def _content(file: str) -> Content:
    """A file that the user named: a link in its path is followed, unlike in a results tree."""
    real = os.path.realpath(file)
    try:
        with LocalRoot(os.path.dirname(real)) as root:
            return root.read(os.path.basename(real), MAX_YAML_BYTES)
    except OSError as error:
        return Content("missing", detail=os.strerror(error.errno or 0))


def _facts(file: str, content: Content, description: Description) -> System:
    sheet = FactSheet()
    put_description(sheet, description)
    put_runs(sheet, ())
    source = description.document.source()
    stem = Path(file).name
    right_name = stem.endswith(_SUFFIX)
    sheet.put("name", clean(stem.removesuffix(_SUFFIX)), source)
    sheet.put("results", "no_directory", source)
    sheet.put("description_state", content.state if description.document.ok else description.document.state, source)
    if not right_name and description.document.ok:
        sheet.put("description_state", "misnamed", source)
    sheet.put("description_path", description.document.path, source)
    sheet.put("description_detail", description.document.detail if right_name else f"it is named {clean(stem)}", source)
    beside = Absence("later:results tree", Reason.LATER, detail="not looked at outside a results tree")
    for name in ("document_state", "document_path", "document_detail", "files"):
        sheet.put(name, beside)
    return sheet.build(System, description.document.path)


def _summary(system: System) -> dict[str, Any]:
    """What the results table takes from a description, as far as it is known."""
    named = {
        "rack units": system.itemized_rack_units,
        "provisioned power (W)": system.provisioned_power_watts,
        "client hosts": system.client_hosts,
    }
    return {name: value for name, value in named.items() if not isinstance(value, Absence)}


def _as_json(one: _Checked) -> dict[str, Any]:
    problems = [] if isinstance(one.system.problems, Absence) else one.system.problems
    return {
        "file": one.file,
        "unusable": one.unusable,
        "findings": [finding.as_json() for finding in one.findings],
        "fields": [problem.model_dump(mode="json", exclude=_NOT_SHOWN) for problem in problems],
        "summary": _summary(one.system),
    }


def _found(one: _Checked, finding: Finding) -> Iterator[str]:
    """The fields that a finding rests on, as they stand in the file."""
    for evidence in finding.evidence:
        name = evidence.fact.removeprefix(f"{System.subject}.")
        value = getattr(one.system, name, None)
        place = value if isinstance(value, Absence) else one.system.sources.get(name)
        _, root, field = place.pointer.partition(f"/{ROOT}/") if place else ("", "", "")
        if root:
            location = tuple(int(step) if step.isdigit() else step for step in field.split("/"))
            told = value.detail if isinstance(value, Absence) else shorten(value)
            yield f"{pointer_text(location)} (line {one.description.line(location)}): {told}"


def _print(one: _Checked) -> None:
    if one.unusable:
        typer.echo(f"{one.file}: cannot be read: {one.unusable}", err=True)
        return
    counts = {severity: sum(f.severity == severity for f in one.findings) for severity in ("error", "warning", "info")}
    told = ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for name, count in counts.items() if count)
    typer.echo(f"{one.file}: {told or 'no findings'}")
    for finding in one.findings:
        _say(f"{finding.severity.value.upper()} {finding.rule} {finding.message}", "  ")
        for found in _found(one, finding):
            _say(f"found: {found}", "    ")
        _say(f"remedy: {finding.remedy}", "    ")
    summary = _summary(one.system)
    if summary:
        _say(", ".join(f"{name}: {value}" for name, value in summary.items()), "  ")


def _say(text: str, indent: str) -> None:
    for line in hung(text, _WIDTH, indent):
        typer.echo(no_command(harmless(line)))
