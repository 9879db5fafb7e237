"""The code image that a leaf points to, for the rules that compare it with what the tool had validated."""

from __future__ import annotations

import re

from mlpstorage.results import layout
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.evaluate import NOT_GIVEN
from rules.facts import Absence, Reason, Source

from ..leaf import Leaf

MAX_POINTER_BYTES = 4096
_HASH = re.compile(r"(?:md5-tree-v2:)?([0-9a-f]{32})")


def read_pointer(root: Root, leaf: Leaf) -> Found[str]:
    """The hash that the leaf's pointer names.

    That it is there, can be read and resolves is judged by CHECK-01, which looks at the whole tree and tells it once.
    """
    path = leaf.at(layout.CODE_IMAGE_POINTER)
    content = root.read(path, MAX_POINTER_BYTES)
    shown = clean(path)
    match = _HASH.fullmatch(content.data.decode("utf-8", "replace").strip())
    if match is None:
        return Absence(NOT_GIVEN, Reason.NOT_RECORDED, shown, detail=content.detail or "it names no hash")
    return Reading(match[1], Source(shown))


def hash_of(text: str) -> str:
    """The digits of an image's hash, with or without the name of its algorithm."""
    match = _HASH.fullmatch(text)
    return match[1] if match else text
