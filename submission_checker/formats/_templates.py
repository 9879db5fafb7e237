"""The templates of the validation report, loaded when one is written."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mlpstorage.results.text import harmless

from ..report import grouped, shown_place
from ..validation import State, Validation
from .shown import count, relative, title_of, totals

if TYPE_CHECKING:
    from jinja2 import Environment


def resource(name: str) -> str:
    """The text of a file beside the templates."""
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def environment(*, autoescape: bool) -> Environment:
    """Jinja2 set up so that a misspelt name is an error and never an empty place."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(resource),
        autoescape=autoescape,  # noqa: S701 - off for Markdown only, which has escapes of its own
        undefined=StrictUndefined,
        finalize=lambda value: harmless(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def context(validation: Validation) -> dict[str, Any]:
    """What every template is given."""
    report = validation.report
    return {
        "v": validation,
        "report": report,
        "totals": totals(report),
        "severities": report.severities,
        "checks": report.checks,
        "groups": grouped(report.findings),
        "State": State,
        "count": count,
        "place_of": shown_place,
        "relative": relative,
        "title_of": title_of,
    }
