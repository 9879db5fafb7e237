"""Recorded evidence that data and results lie on different filesystems (3.4.2, 4.4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.files import MAX_LOG_BYTES
from rules.facts import Absence, Reason, Source

from .checkpointing_files import LeafDocuments


def separation(
    files: LeafDocuments, log_name: str, api: Any, paths: Iterable[Any], nothing: Absence
) -> tuple[Found[bool], Found[str]]:
    """Whether the two ``paths`` share a filesystem, and what tells: the sidecar first, else a df table in the log.

    ``api`` and the paths are values or absences; ``nothing`` stands for the answer where there is no evidence at all.
    """
    sidecar = files.fs_separation
    none = Reading("none", Source(files.path))
    if sidecar.state != "missing":
        evidence = Reading("sidecar", sidecar.source()) if sidecar.ok else sidecar.absence()
        return sidecar.bool("/same_filesystem"), evidence
    if api == "object":
        detail = "object API: there is no filesystem to compare"
        return Absence(f"api:object:{files.path}", Reason.NOT_APPLICABLE, files.path, detail=detail), none
    log = files.read_log(log_name, MAX_LOG_BYTES)
    if isinstance(log, Absence):
        return (nothing, none) if log.reason is Reason.MISSING_FILE else (log, log)
    same = _same_by_df(log.value, list(paths))
    return (nothing, none) if same is None else (Reading(same, log.source), Reading("df", log.source))


def _same_by_df(text: str, paths: list[Any]) -> bool | None:
    mounts = dlio.df_table(text)
    if not mounts or any(isinstance(path, Absence) or not path.startswith("/") for path in paths):
        return None
    first, second = (dlio.mount_of(path, mounts) for path in paths)
    return None if first is None or second is None else dlio.same_mount(first, second)
