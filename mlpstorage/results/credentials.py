"""What looks like a credential among recorded settings: it is neither recorded by the tool nor repeated in a report.

Two measures, on purpose: a setting is *said* to hold a credential where its name has the words for it and its value is
not masked; a value is *hidden* as soon as it may be one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from rules.remembered import remembered

from . import dlio

_NAME = re.compile(
    r"(^|[_.])(secrets?|[a-z]*passw(or)?d|token|credentials?|(access|secret|api|private)_?key(_id)?)($|[_.=])",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"(_(file|path|dir)|(pad|bos|eos|unk|sep|cls|mask)_token(_id)?)$", re.IGNORECASE)
"""A place of a credential, or a word of a language model, is none."""
_WORDS = re.compile(r"secret|passw|token|credential|(access|api|private)[_-]?key", re.IGNORECASE)
_MAY_BE = re.compile(rf"{_WORDS.pattern}|pwd|auth|signature|\bsig=", re.IGNORECASE)
_USER = re.compile(r"(^|/)([^/@:\s\"'=,;{}]+):(?!//)([^@\s\"']{1,300})@")
"""``user:password@`` of a URL, or of one whose scheme was lost."""
_MASK = re.compile(
    r"[\W_]*((x+|none|null|true|false|hidden|masked|redacted|removed|unset|not set|n/a)[\W_]*)?"
    r"|\$\{?[A-Z_][A-Z0-9_]*(:?[-=][^}]*)?\}?|\$\(.*\)|%\w+%|.*\*{3}.*",
    re.IGNORECASE | re.DOTALL,
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
    if _WORDS.search(name) is None:
        return False
    plain = _HUMP.sub("_", name).replace("-", "_")
    return _NAME.search(plain) is not None and _NO_NAME.search(plain) is None


@remembered(4096)
def may_name_credential(name: str) -> bool:
    """As ``names_credential``, in doubt true: for what had better not be shown."""
    return _MAY_BE.search(name) is not None


def holds_credential(value: str) -> bool:
    """A URL, with or without its scheme, that has a user and a password which is not masked."""
    if "@" not in value:
        return False
    return any(not _MASK.fullmatch(match[3]) for match in _USER.finditer(value[:_LONGEST]))


def shown(name: str, value: str) -> str:
    """The value as a report may show it: hidden where it may be, or hold, a credential."""
    if may_name_credential(name) or ("@" in value and _USER.search(value)):
        return HIDDEN
    packed = "=" in value or ":" in value or " " in value
    return HIDDEN if packed and may_name_credential(value) else value


class Curtain:
    """As :func:`shown`, for values that are compared: different ones stay different."""

    def __init__(self) -> None:
        self._met: dict[str, int] = {}

    def shown(self, name: str, value: str) -> str:
        """The value, or the number of the hidden one."""
        if shown(name, value) == value:
            return value
        number = self._met.setdefault(value, len(self._met) + 1)
        return HIDDEN if number == 1 else f"(hidden, another one: {number})"


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
                if "=" in value or "--" in value:
                    yield from spoken_credentials(value)
            elif isinstance(value, list) and names_credential(name) and any(isinstance(item, str) for item in value):
                yield from (found for item in value if isinstance(item, str) for found in _setting(name, item))
            elif isinstance(value, (dict, list)):
                yield from recorded_credentials(value, depth + 1)
    elif isinstance(settings, list):
        yield from _of_words([item for item in settings if isinstance(item, str)])
        for item in settings:
            if isinstance(item, (dict, list)):
                yield from recorded_credentials(item, depth + 1)


def spoken_credentials(command: str) -> Iterator[str]:
    """As ``recorded_credentials``, of the words of a command: NAME=value, --name=value and --name value."""
    if _WORDS.search(command) is None and "@" not in command:
        return
    try:
        words = dlio.split_command(command)
    except ValueError:
        words = command.split()
    yield from _of_words(words)


def _of_words(words: list[str]) -> Iterator[str]:
    for word in words:
        yield from _assigned(word)
    for name, value in dlio.environment(words):
        yield from _setting(name, value)
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
