"""What looks like a credential among recorded settings: it is neither recorded by the tool nor repeated in a report."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from rules.remembered import remembered

from . import dlio

_NAME = re.compile(
    r"(^|[_.])(secrets?|passw(or)?d|token|credentials?|(access|secret|api|private)_?key(_id)?)($|[_.=])",
    re.IGNORECASE,
)
_MAY_BE = re.compile(r"secret|passw|token|credential|(access|api|private)[_-]?key", re.IGNORECASE)
_IN_URL = re.compile(r"://[^/@:\s]+:[^/@\s]+@")
_MASK = re.compile(
    r"[\W_]*((x+|none|null|true|false|hidden|masked|redacted|removed|unset)[\W_]*)?|\$\{?\w+\}?", re.IGNORECASE
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
HIDDEN = "(hidden)"
"""Stands for the value of a setting that may be a credential: no report repeats it."""
UNNAMED = "(a setting without a plain name)"
"""Stands for a name that may itself hold the value."""
_LONGEST = 4096
"""Characters of a value that are looked at; no credential is longer."""
_MAX_DEPTH = 8


@remembered(4096)  # all runs have the same few settings
def names_credential(name: str) -> bool:
    """A setting of this name holds a credential, as its words say: HF_TOKEN or secretAccessKey, but not max_tokens."""
    return _MAY_BE.search(name) is not None and _NAME.search(_HUMP.sub("_", name).replace("-", "_")) is not None


@remembered(4096)
def may_name_credential(name: str) -> bool:
    """As ``names_credential``, in doubt true: for what had better not be shown."""
    return _MAY_BE.search(name) is not None


def holds_credential(value: str) -> bool:
    """A URL with a user and a password."""
    return "@" in value and _IN_URL.search(value[:_LONGEST]) is not None


def shown(name: str, value: str) -> str:
    """The value as a report may show it."""
    return HIDDEN if may_name_credential(name) or any(spoken_credentials(value)) else value


def recorded_credentials(settings: Any, depth: int = 0) -> Iterator[str]:
    """Names of settings that hold a credential: of a mapping, of lists of ``name=value`` or of ``{name, value}`` in it.

    What was masked, left empty or taken from the environment is none. A name that is no plain word may hold anything,
    and is not repeated.
    """
    if depth > _MAX_DEPTH:
        return
    if isinstance(settings, dict):
        if isinstance(settings.get("name"), str) and isinstance(settings.get("value"), str):
            yield from _setting(settings["name"], settings["value"])
        for name, value in settings.items():
            if isinstance(value, str):
                yield from _setting(name, value)
            else:
                yield from recorded_credentials(value, depth + 1)
    elif isinstance(settings, list):
        for item in settings:
            if isinstance(item, str):
                yield from _assigned(item)
            else:
                yield from recorded_credentials(item, depth + 1)


def spoken_credentials(command: str) -> Iterator[str]:
    """As ``recorded_credentials``, of the words of a command: NAME=value, --name=value and --name value."""
    if _MAY_BE.search(command) is None and "@" not in command:
        return
    try:
        words = dlio.split_command(command)
    except ValueError:
        words = command.split()
    for word in words:
        yield from _assigned(word)
    for option, value in itertools.pairwise(words):
        if option.startswith("--") and "=" not in option and not value.startswith("-"):
            yield from _setting(option, value)


def _assigned(text: str) -> Iterator[str]:
    name, separator, value = text.partition("=")
    if separator and "://" not in name:
        yield from _setting(name, value)
    elif holds_credential(text):
        yield UNNAMED


def _setting(name: str, value: str) -> Iterator[str]:
    plain = name.strip("+-'\" ")
    named = len(plain) <= _LONGEST and names_credential(plain)
    if (named and not _MASK.fullmatch(value[:_LONGEST])) or holds_credential(value):
        yield plain if _WORD.fullmatch(plain) else UNNAMED
