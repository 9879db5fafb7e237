"""Where data lie: paths and object URIs in one spelling, so that equal places compare equal (3.4.1, 4.4.1, 5.4.1)."""

import posixpath
import re

_SCHEMES = "s3a?|gs|az|azure|abfss?|wasbs?|https?|file|direct"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(/|$))")
"""Not a host with its port."""
_KNOWN_SCHEME = re.compile(rf"({_SCHEMES}):(?![0-9]+(/|$))", re.IGNORECASE)
_SECOND_SCHEME = re.compile(rf"(^|[^A-Za-z0-9])({_SCHEMES}):/", re.IGNORECASE)
_WITH_BUCKET = ("s3:", "s3a:", "gs:", "az:")
_USER = re.compile(r"(^|/)[^/@:\s]+:(?!//)[^@\s]{1,300}@")
"""user:password@, also where tools have lost a slash or the scheme before it."""
_OBJECT_SCHEME = "s3"
"""The scheme of an object location that is written as bucket/path."""


def normal_path(path: str) -> str:
    """A path for comparison: ``//``, ``.``, a trailing slash and a user with a password go, a scheme stays.

    ``..`` is resolved lexically: nothing is looked up on this machine, which is not the submitter's.
    """
    text = path.strip()
    if not text:
        return ""
    if "@" in text:
        text = _USER.sub(r"\1(hidden)@", text)
    scheme, separator, rest = text.partition("://")
    if separator:
        bucket, _, key = rest.partition("/")  # an empty one stays: s3:///path is not the bucket path
        return f"{scheme.lower()}://{bucket}/{posixpath.normpath('/' + key).lstrip('/')}".removesuffix("/")
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
    if api != "object":
        return ""
    text = path.strip()
    if "@" in text and _USER.search(text):
        return "holds a password, which would be published"
    scheme = _KNOWN_SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if scheme and not rest.startswith("//"):
        return "has one slash, or none, after its scheme"
    if _SECOND_SCHEME.search(rest):
        return "has a second scheme in it"
    if scheme is None or scheme.group().lower() not in _WITH_BUCKET:
        return ""
    return "names no bucket" if rest[2:].partition("/")[0] in ("", ".", "..") else ""
