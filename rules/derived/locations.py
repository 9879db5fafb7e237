"""Where data lie: paths and object URIs in one spelling, so that equal places compare equal (3.4.1, 4.4.1, 5.4.1)."""

import posixpath
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(/|$))")
"""Not a host with its port."""
_SECOND_SCHEME = re.compile(r"(^|[^A-Za-z0-9])(s3a?|gs|az|https?|file|direct):/", re.IGNORECASE)
_BUCKETLESS = ("file:", "direct:")
_HIDDEN = "(hidden)"
_OBJECT_SCHEME = "s3"
"""The scheme of an object location that is written as bucket/path."""


def normal_path(path: str) -> str:
    """A path for comparison: ``//``, ``.``, a trailing slash and the user of a URI go, the scheme of a URI stays.

    ``..`` is resolved lexically: nothing is looked up on this machine, which is not the submitter's.
    """
    text = path.strip()
    if not text:
        return ""
    scheme, separator, rest = text.partition("://")
    if separator:
        authority, slash, below = rest.partition("/")
        if "@" in authority:
            authority = f"{_HIDDEN}@{authority.rpartition('@')[2]}"
        return f"{scheme.lower()}://{posixpath.normpath(f'/{authority}{slash}{below}').lstrip('/')}"
    normal = posixpath.normpath(text)
    return "/" + normal.lstrip("/") if normal.startswith("/") else normal


def location(path: str, api: object) -> str:
    """As ``normal_path``; with the object API, ``bucket/path`` gets the scheme that tools leave out."""
    normal = normal_path(path)
    if api != "object" or not normal or normal.startswith("/") or _SCHEME.match(normal):
        return normal
    return f"{_OBJECT_SCHEME}://{normal}"


def place(path: str) -> str:
    """What compares equal where two normal paths may mean one place, whether a tool wrote the scheme or left it out."""
    return path.removeprefix(f"{_OBJECT_SCHEME}://")


def uri_problem(path: str, api: object) -> str:
    """What is wrong with an object URI, as the end of a sentence; empty where nothing is, or with the file API.

    Tools have put a scheme before one that was there, or taken the URI for a path and made ``//`` one slash.
    """
    scheme = _SCHEME.match(path.strip())
    if api != "object":
        return ""
    if scheme is None:
        return "has a second scheme in it" if _SECOND_SCHEME.search(path) else ""
    rest = path.strip()[scheme.end() :]
    if not rest.startswith("//"):
        return "has one slash, or none, after its scheme"
    if _SECOND_SCHEME.search(rest):
        return "has a second scheme in it"
    if "@" in rest.lstrip("/").partition("/")[0]:
        return "holds a user name, which would be published"
    if scheme.group().lower() in _BUCKETLESS:
        return ""
    return "" if rest.strip("/") and not rest.startswith("///") else "names no bucket"
