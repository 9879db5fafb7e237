"""Where data lie: paths and object URIs in one spelling, so that equal places compare equal (3.4.1, 4.4.1, 5.4.1)."""

import posixpath
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OBJECT_SCHEME = "s3"
"""The scheme of an object location that is written as bucket/path."""


def normal_path(path: str) -> str:
    """A path for comparison: ``//``, ``.`` and a trailing slash go; the scheme of an object URI stays.

    ``..`` is resolved lexically: nothing is looked up on this machine, which is not the submitter's.
    """
    text = path.strip()
    if not text:
        return ""
    scheme, separator, rest = text.partition("://")
    if separator:
        return f"{scheme.lower()}://{posixpath.normpath('/' + rest).lstrip('/')}"
    normal = posixpath.normpath(text)
    return "/" + normal.lstrip("/") if normal.startswith("/") else normal


def location(path: str, api: object) -> str:
    """As ``normal_path``; with the object API, ``bucket/path`` gets the scheme that tools leave out."""
    normal = normal_path(path)
    if api != "object" or not normal or normal.startswith("/") or _SCHEME.match(normal):
        return normal
    return f"{_OBJECT_SCHEME}://{normal}"


def uri_problem(path: str, api: object) -> str:
    """What is wrong with an object URI, as the end of a sentence; empty where nothing is, or with the file API.

    Tools have put a scheme before one that was there, or taken the URI for a path and made ``//`` one slash.
    """
    scheme = _SCHEME.match(path.strip())
    if api != "object" or scheme is None:
        return ""
    rest = path.strip()[scheme.end() :]
    if not rest.startswith("//"):
        return f"has no // after {scheme.group()}"
    if _SCHEME.match(rest.lstrip("/")):
        return "names its scheme twice"
    return "" if rest.strip("/") and not rest.startswith("///") else "names no bucket"
