"""System descriptions as facts."""

from __future__ import annotations

from typing import Any

from mlpstorage.results.document import Document, Found, InvalidValueError, as_int, as_strict_bool, read_yaml
from mlpstorage.results.files import Root
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts.system import System

from .common import as_api, leaf_file, put

NO_DESCRIPTION = Absence(
    "alone:description", Reason.NOT_APPLICABLE, detail="a lone directory has no system description beside it"
)
_SOLUTION = "/system_under_test/solution"


def read_description(root: Root, path: str) -> Document:
    """The description file of a system."""
    return read_yaml(root, path)


def described_api(document: Document) -> Found[str]:
    """The protocol that the benchmark used, as the description states it."""
    return document.read(f"{_SOLUTION}/architecture/benchmark_API", as_api)


def system_facts(document: Document, workloads: tuple[FactModel, ...]) -> System:
    """The description's facts over the workloads that ran on the system."""
    sheet = FactSheet()

    put(sheet, "benchmark_api", described_api(document))
    capabilities = f"{_SOLUTION}/capabilities"
    for name in ("multi_host", "simultaneous_write", "simultaneous_read"):
        put(sheet, name, document.read(f"{capabilities}/{name}", as_strict_bool))
    put(sheet, "remap_time_seconds", document.read(f"{capabilities}/remap_time_in_seconds", _as_seconds))
    directory = document.path.rpartition("/")[0]
    sheet.put("files", [leaf_file(document, "other", directory)], Source(document.path))
    return sheet.build(System, document.path, workloads)


def _as_seconds(value: Any) -> int:
    seconds = as_int(value)
    if seconds < 0:
        raise InvalidValueError("a number of seconds, 0 or more")
    return seconds
