"""A comparison as text, as JSON and as an HTML page with its plot."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from typing import Any

from mlpstorage.results.text import harmless, no_old_command

from .. import __version__
from ..formats.shown import json_text
from .judge import METHOD, SOURCE, Comparison, Difference, Judged, Metric, Verdict
from .subjects import DIMENSIONS, Subject

SCHEMA = "mlpstorage-compare/1"
_WIDTH = 80
_PLOT, _ROW = 300, 26
"""Width of a plot and height of one metric's row, in pixels."""


def as_json(comparison: Comparison) -> str:
    """The comparison as one object, with the method and its source."""
    return json_text(document(comparison), indent=2) + "\n"


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "submission-checker", "version": __version__},
        "method": METHOD,
        "source": SOURCE,
        "comparable": comparison.comparable,
        "problems": list(comparison.problems),
        "undeclared": {item.key: list(item.values) for item in comparison.undeclared},
        "among_bases": [item.key for item in comparison.undeclared if item.among_bases],
        "declared": {item.key: list(item.values) for item in comparison.declared},
        "declared_without_difference": list(comparison.unused),
        "chance_of_noise_outside": comparison.chance if len(comparison.bases) > 1 else None,
        "runs": [_run(subject) for subject in comparison.subjects],
        "metrics": [
            {
                "name": metric.name,
                "bases": list(metric.bases),
                "mean": metric.mean,
                "floor": metric.floor,
                "features": [
                    {
                        "run": judged.feature,
                        "value": judged.value,
                        "difference": judged.difference,
                        "ratio": judged.ratio,
                        "verdict": judged.verdict.value,
                        "why": judged.why,
                    }
                    for judged in metric.features
                ],
            }
            for metric in comparison.metrics
        ],
        "summary": {verdict.value: comparison.count(verdict) for verdict in Verdict},
    }


def _run(subject: Subject) -> dict[str, Any]:
    return {
        "role": subject.role,
        "path": subject.path,
        "tag": subject.tag,
        "dimensions": {name: subject.config.get(name) for name in DIMENSIONS},
        "leaves": [
            {
                "path": leaf.path,
                "start": leaf.start.isoformat() if leaf.start else None,
                "end": leaf.end.isoformat() if leaf.end else None,
            }
            for leaf in subject.leaves
        ],
        "left_out": subject.left_out,
    }


def as_text(comparison: Comparison) -> str:
    """For a terminal."""
    return harmless("\n".join(_lines(comparison))) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    for subject in comparison.subjects:
        yield f"{subject.role}: {subject.path}"
        yield from textwrap.wrap(subject.tag, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        yield from (f"  left out, a warm-up: {path}" for path in subject.left_out)
    yield ""
    titles = [("declared to differ", item) for item in comparison.declared]
    titles += [(_refused(item), item) for item in comparison.undeclared]
    for title, item in titles:
        yield f"{title}: {item.key}"
        yield from (f"  {s.role}: {v}" for s, v in zip(comparison.subjects, item.values, strict=True))
    yield from (f"declared to differ and does not: {key}" for key in comparison.unused)
    for problem in comparison.problems:
        yield from textwrap.wrap(
            problem, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    if not comparison.comparable:
        yield "NOT COMPARABLE: nothing was concluded from the metrics"
        return
    yield from _table(comparison)
    yield ""
    yield from _reasons(comparison)
    yield from textwrap.wrap(f"method: {METHOD}", _WIDTH, subsequent_indent="  ")
    yield from textwrap.wrap(f"source: {SOURCE}", _WIDTH, subsequent_indent="  ")
    yield from textwrap.wrap(_chance(comparison), _WIDTH, subsequent_indent="  ")
    yield ", ".join(f"{comparison.count(verdict)} {verdict.value}" for verdict in Verdict)


def _refused(item: Difference) -> str:
    if item.among_bases:
        return "differs among the bases, and so cannot be declared"
    return "differs and was not declared (--differs KEY)"


def _chance(comparison: Comparison) -> str:
    number = len(comparison.bases)
    if number < 2:
        return "One base shows no noise: give more runs of the same kind."
    return (
        f"With {number} bases noise alone puts a metric of an equal run outside in up to {comparison.chance:.0%} of "
        "cases; more bases say more."
    )


def _table(comparison: Comparison) -> Iterator[str]:
    """A metric's name on a line of its own, for with the numbers it would not fit a terminal of 80 columns."""
    several = len(comparison.features) > 1
    yield f"{'mean':>12} {'floor':>11} {'feature':>11} {'difference':>11} {'ratio':>8}  verdict"
    for metric in comparison.metrics:
        yield metric.name
        for judged, subject in zip(metric.features, comparison.features, strict=True):
            yield (
                f"{_number(metric.mean):>12} {_number(metric.floor):>11} {_number(judged.value):>11} "
                f"{_number(judged.difference, sign=True):>11} {_number(judged.ratio, digits=3):>8}  "
                f"{judged.verdict.value}{f' {subject.role}' if several else ''}"
            )


def _reasons(comparison: Comparison) -> Iterator[str]:
    """Why metrics are undecidable, each reason once with what it holds for."""
    found: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        for judged, subject in zip(metric.features, comparison.features, strict=True):
            if judged.why:
                which = f" ({subject.role})" if len(comparison.features) > 1 else ""
                found.setdefault(judged.why, []).append(f"{metric.name}{which}")
    number = sum(len(metric.features) for metric in comparison.metrics)
    for why, names in found.items():
        holds = "all metrics" if len(names) == number else ", ".join(names)
        yield from textwrap.wrap(f"undecidable: {why}: {holds}", _WIDTH, subsequent_indent="  ", break_long_words=False)


def _why(judged: Judged) -> str:
    return f": {judged.why}" if judged.why else ""


def _number(value: float | None, *, digits: int = 6, sign: bool = False) -> str:
    return "-" if value is None else f"{value:{'+' if sign else ''}.{digits}g}"


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #d9dee4; --in: #1a7f37; --out: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --paper: #15181c; --soft: #3b434c; --in: #57c270; --out: #ff8b7e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 68rem; padding: 0 1rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; overflow-wrap: normal; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--soft); }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .inside { color: var(--in); }
.outside { color: var(--out); font-weight: 600; }
svg .band { fill: var(--soft); } svg .mean { stroke: var(--ink); stroke-dasharray: 3 2; }
svg .base { fill: none; stroke: var(--ink); stroke-width: 1.5; } svg .inside { fill: var(--in); }
svg .outside { fill: var(--out); } svg .undecidable { fill: var(--ink); }
"""


def as_html(comparison: Comparison) -> str:
    """One self-contained page; every text of a tree is escaped, nothing is loaded and nothing is run."""
    return no_old_command("\n".join(_page(comparison))) + "\n"


def _page(comparison: Comparison) -> Iterator[str]:
    e = html.escape
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Comparison of runs</title><style>{_STYLE}</style></head><body><main>"
    yield "<h1>Is the difference larger than the run-to-run noise?</h1>"
    if comparison.comparable:
        yield f"<p>{', '.join(f'{comparison.count(v)} {v.value}' for v in Verdict)}. {e(_chance(comparison))}</p>"
    else:
        yield '<p class="outside">Not comparable: nothing was concluded from the metrics.</p><ul>'
        yield from (f"<li>{e(problem)}</li>" for problem in comparison.problems)
        yield from (f"<li>{_refused(item)}: {e(item.key)}</li>" for item in comparison.undeclared)
        yield "</ul>"
    yield "<h2>Runs</h2><ul>"
    yield from (f"<li><b>{e(s.role)}</b> {e(s.path)}<br><code>{e(s.tag)}</code></li>" for s in comparison.subjects)
    yield "</ul>"
    different = (*comparison.declared, *comparison.undeclared)
    if different:
        yield '<h2>What differs</h2><div class="scroll"><table><tr><th>key</th>'
        yield "".join(f"<th>{e(s.role)}</th>" for s in comparison.subjects) + "</tr>"
        for item in different:
            yield f"<tr><td>{e(item.key)}</td>{''.join(f'<td>{e(v)}</td>' for v in item.values)}</tr>"
        yield "</table></div>"
    if comparison.metrics:
        yield from _html_metrics(comparison)
    yield f"<h2>Method</h2><p>{e(METHOD)}.</p><p>{e(SOURCE)}.</p></main></body></html>"


def _html_metrics(comparison: Comparison) -> Iterator[str]:
    e = html.escape
    several = len(comparison.features) > 1
    heads = (
        "metric",
        *(["run"] if several else []),
        "verdict",
        "ratio",
        "plot",
        "feature",
        "mean",
        "floor",
        "difference",
    )
    yield "<h2>Metrics</h2><p>Band: mean of the bases, one floor to each side. Rings: bases. Discs: features.</p>"
    yield f'<div class="scroll"><table><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>'
    for metric in comparison.metrics:
        for index, judged in enumerate(metric.features):
            span = f' rowspan="{len(metric.features)}"' if several else ""
            first = index == 0
            yield (
                "<tr>"
                + (f"<td{span}>{e(metric.name)}</td>" if first else "")
                + (f"<td>{e(judged.feature)}</td>" if several else "")
                + f'<td class="{judged.verdict.value}">{judged.verdict.value}{e(_why(judged))}</td>'
                + f'<td class="n">{_number(judged.ratio, digits=3)}</td>'
                + (f"<td{span}>{plot(metric)}</td>" if first else "")
                + "".join(
                    f'<td class="n">{text}</td>'
                    for text in (
                        _number(judged.value),
                        _number(metric.mean),
                        _number(metric.floor),
                        _number(judged.difference, sign=True),
                    )
                )
                + "</tr>"
            )
    yield "</table></div>"


def plot(metric: Metric) -> str:
    """One metric as SVG: the band of the noise, the bases, the features."""
    bases = [value for value in metric.bases if value is not None]
    values = [*bases, *(judged.value for judged in metric.features if judged.value is not None)]
    if metric.mean is not None and metric.floor is not None:
        values += [metric.mean - metric.floor, metric.mean + metric.floor]
    if not values:
        return ""
    low, high = min(values), max(values)

    def x(value: float) -> str:
        return f"{12 + (_PLOT - 24) * ((value - low) / (high - low) if high > low else 0.5):.1f}"

    middle = _ROW / 2
    parts = [f'<svg role="img" width="{_PLOT}" height="{_ROW}" viewBox="0 0 {_PLOT} {_ROW}">']
    parts.append(f"<title>{html.escape(metric.name)}: {_number(low)} to {_number(high)}</title>")
    if metric.mean is not None:
        if metric.floor is not None:
            left, right = float(x(metric.mean - metric.floor)), float(x(metric.mean + metric.floor))
            parts.append(f'<rect class="band" x="{left:.1f}" y="3" width="{right - left:.1f}" height="{_ROW - 6}"/>')
        parts.append(f'<line class="mean" x1="{x(metric.mean)}" x2="{x(metric.mean)}" y1="3" y2="{_ROW - 3}"/>')
    parts += [f'<circle class="base" cx="{x(value)}" cy="{middle}" r="4"/>' for value in bases]
    for judged in metric.features:
        if judged.value is not None:
            title = f"<title>{html.escape(judged.feature)}: {_number(judged.value)}, {judged.verdict.value}</title>"
            parts.append(
                f'<circle class="{judged.verdict.value}" cx="{x(judged.value)}" cy="{middle}" r="5">{title}</circle>'
            )
    return "".join(parts) + "</svg>"
