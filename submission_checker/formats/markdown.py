"""``--format markdown``: the validation report for a pull request, a step summary or a wiki."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TextIO

from mlpstorage.results.text import clean

from ..report import CheckReport
from ..validation import validate
from .shown import folded, sentence, value_text

if TYPE_CHECKING:
    from . import Style

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&!#{}$^@]|:(?=\S)|(?<=www)\.|^[-+=]")
"""What can begin mark-up, a link, an emoji or HTML; of the rest of ASCII punctuation only what begins a line."""
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """GitHub's dialect: tables, no HTML. Infos are listed only where asked for, otherwise counted."""
    from ._templates import context, environment

    found = environment(autoescape=False)
    template = found.get_template("report.md.j2")
    page = template.render(
        **context(validate(report)),
        verbose=style.verbose,
        remarks=report.remarks if style.verbose else folded(report.remarks),
        sentence=sentence,
        value=lambda item: value_text(item, 500, 20),
        t=escape,
        c=code,
        ct=code_in_table,
    )
    out.write(re.sub(r"\n{3,}", "\n\n", page))


def escape(text: Any) -> str:
    """Text that Markdown shows as it is, on one line."""
    line = " ".join(clean(str(text), 30_000).split())
    # A name after "@" would call somebody on a forge even where it is escaped; a zero-width space breaks it.
    escaped = _MARKUP.sub(lambda found: "@&#8203;" if found[0] == "@" else f"\\{found[0]}", line)
    return _NUMBERED.sub(r"\1\\\2", escaped)


def code(text: Any) -> str:
    """Text as code, in which nothing is mark-up."""
    line = " ".join(clean(str(text), 30_000).split(" ")) or "."
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def code_in_table(text: Any) -> str:
    """Text as code within a table, where a bar ends the cell even in code."""
    return code(text).replace("|", "\\|")
