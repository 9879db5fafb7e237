"""Carries a JSON document through the standard output of an MPI job without being fooled by what happens to it there.

Launchers tag lines with the rank, interleave ranks, and cut output at pipe buffers. So a document travels as short
numbered lines with a checksum; the reader either gets the whole document or learns that it is damaged.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import Any

_WIDTH = 512
"""Characters of payload in a line: far below any pipe buffer, so that a line is written at once."""
_LINE = re.compile(r"MLPS-FRAME ([A-Za-z0-9]+) ([0-9]+)/([0-9]+) ([0-9a-f]{16}) ([A-Za-z0-9+/=]*);")


class FrameError(Exception):
    """The document is not there, or not all of it."""


def encode(document: Any, name: str = "0") -> str:
    """Lines that carry the document; ``name`` tells the documents of one job apart."""
    raw = json.dumps(document).encode()
    digest = hashlib.sha256(raw).hexdigest()[:16]
    text = base64.b64encode(raw).decode()
    parts = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "".join(f"MLPS-FRAME {name} {index}/{len(parts)} {digest} {part};\n" for index, part in enumerate(parts))


def decode(output: str, name: str = "0") -> Any:
    """The document of that name in a job's output. Raises FrameError: none there, truncated, or damaged."""
    parts: dict[int, str] = {}
    total, digest = 0, ""
    for match in _LINE.finditer(output):
        if match[1] == name:
            parts[int(match[2])] = match[5]
            total, digest = int(match[3]), match[4]
    if not parts:
        raise FrameError("no probe output" if "MLPS-FRAME" not in output else "truncated probe output")
    if len(parts) != total or set(parts) != set(range(total)):
        raise FrameError(f"truncated probe output: {len(parts)} of {total} pieces arrived")
    try:
        raw = base64.b64decode("".join(parts[index] for index in range(total)), validate=True)
        if hashlib.sha256(raw).hexdigest()[:16] != digest:
            raise FrameError("damaged probe output: its checksum is wrong")
        return json.loads(raw)
    except (binascii.Error, ValueError) as error:
        raise FrameError(f"damaged probe output: {error}") from error
