"""Making text from a results tree harmless and short before it travels into facts, findings and terminals."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Any

SHORT = 60
"""Characters of a raw value that a message quotes."""
LONG = 4096
"""Characters that a text fact keeps."""
_OLD_COMMAND = "##["
"""What GitHub's runner takes for a command wherever in a line it stands."""
_WHOLE = 1_000_000
"""Length up to which nothing is cut."""

_HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Control, format (bidirectional marks), surrogate, unassigned characters; line and paragraph separators."""


def clean(text: str, limit: int = LONG) -> str:
    """``text`` with each harmful character replaced by U+FFFD and each kind of space by the plain one, cut at ``limit``
    characters.
    """
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_replaced, text))


def clean_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Keys and values as :func:`clean` gives each. As a rule one look at them all tells that nothing is to be done."""
    whole = "".join((*texts, *texts.values()))
    if len(whole) <= LONG and whole.isascii() and whole.isprintable():
        return dict(texts)
    return {clean(key): clean(value) for key, value in texts.items()}


def _replaced(char: str) -> str:
    category = unicodedata.category(char)
    return "\ufffd" if category in _HARMFUL else " " if category == "Zs" else char


def harmless(text: str) -> str:
    """Text of one or several lines without control characters, marks of direction and the like.

    Nothing in it is what a continuous-integration runner takes for a command, which the first line may still begin.
    """
    first, *others = (no_old_command(clean(line, _WHOLE)) for line in text.split("\n"))
    return "\n".join([first, *map(no_command, others)])


def no_command(line: str) -> str:
    """A line that does not begin with two colons."""
    return line.replace("::", ": :", 1) if line.lstrip().startswith("::") else line


def no_old_command(text: str) -> str:
    """Text without ``##[``."""
    return text.replace(_OLD_COMMAND, "# #[")


def hidden(json: str) -> str:
    """JSON with an escape for ``##[`` that means the same and that no runner reads."""
    return json.replace(_OLD_COMMAND, "\\u0023#[")


def shorten(value: Any) -> str:
    """A raw value of a document as a message may quote it."""
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, list):
        return f"a list of {len(value)} items"
    if isinstance(value, str):
        return repr(clean(value, SHORT))
    if value is None or isinstance(value, bool):  # by type: 0 and 1 are equal to them
        return {None: "null", True: "true", False: "false"}[value]
    return clean(str(value), SHORT)


def hung(text: str, width: int, indent: str, further: str = "  ") -> list[str]:
    """The lines of a text, the further ones indented more than the first."""
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + further,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
