"""``--format json``: the whole report as one object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from ..report import CheckReport, as_json

if TYPE_CHECKING:
    from . import Style


def write(report: CheckReport, out: TextIO, style: Style) -> None:
    """ASCII only, two spaces of indentation, keys in the order of the contract, a newline at the end."""
    json.dump(as_json(report), out, indent=2, ensure_ascii=True, allow_nan=False)
    out.write("\n")
