"""What looks like a credential among recorded settings: it is neither recorded by the tool nor repeated in a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rules.remembered import remembered

_NAME = re.compile(
    r"(^|[_.])(secrets?|passw(or)?d|token|credentials?|(access|secret|api|private)_?key(_id)?)($|[_.=])",
    re.IGNORECASE,
)
_MAY_BE = re.compile(r"secret|passw|token|credential|(access|api|private)_?key", re.IGNORECASE)
_IN_URL = re.compile(r"://[^/@\s]+:[^/@\s]+@")
_MASK = re.compile(r"[\W_]*((x+|none|null|true|false|hidden|masked|redacted|removed|unset)[\W_]*)?", re.IGNORECASE)
_MAX_DEPTH = 8


@remembered(4096)  # all runs have the same few settings
def names_credential(name: str) -> bool:
    """A setting of this name holds a credential, as its words say: HF_TOKEN, but not max_tokens."""
    return _NAME.search(name) is not None


@remembered(4096)
def may_name_credential(name: str) -> bool:
    """As ``names_credential``, in doubt true: for what had better not be shown."""
    return _MAY_BE.search(name) is not None


def holds_credential(value: str) -> bool:
    """A URL with a user and a password."""
    return _IN_URL.search(value) is not None


def recorded_credentials(settings: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """Names of settings that hold a credential, of mappings inside as well; what was masked or left empty is none."""
    for name, value in settings.items():
        if isinstance(value, str):
            if (names_credential(name) and not _MASK.fullmatch(value)) or ("@" in value and holds_credential(value)):
                yield name
        elif isinstance(value, dict) and depth < _MAX_DEPTH:
            yield from recorded_credentials(value, depth + 1)


def spoken_credentials(command: str) -> Iterator[str]:
    """As ``recorded_credentials``, of the words NAME=value of a command."""
    if _MAY_BE.search(command) or "@" in command:
        for word in command.split():
            name, separator, value = word.partition("=")
            yield from recorded_credentials({name: value} if separator else {})
