"""Recorded evidence that data and results lie on different filesystems (3.4.2, 4.4.2, 5.4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from mlpstorage.results import dlio, layout
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import MAX_LOG_BYTES
from rules.derived.locations import location
from rules.facts import Absence, Reason, Source

from .checkpointing_files import LeafDocuments
from .common import NOT_STATED

SIDECAR_VERSION = 1
_DAY = timedelta(days=1)


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


def sidecar_problem(
    sidecar: Document, leaf: str, api: Any, paths: Mapping[str, tuple[str, Any]], *, whole: bool
) -> Found[str]:
    """Why the sidecar was not written for this run (its version, its paths, its time within a day); empty: it was.

    ``leaf``: the leaf's name. ``paths``: by key of the sidecar the name and the value, or absence, of what the run has
    for it. ``whole``: what the sidecar does not state speaks against it as well.
    """
    if sidecar.state == "missing":
        detail = f"no {layout.FS_SEPARATION}"
        return Absence(f"no-sidecar:{sidecar.path}", Reason.NOT_APPLICABLE, sidecar.path, detail=detail)
    if not sidecar.ok:
        return sidecar.absence()

    def looked_at(key: str) -> bool:
        return whole or key in sidecar.data

    problems = []
    version = sidecar.data.get("version")
    if looked_at("version") and (type(version) is not int or version != SIDECAR_VERSION):
        problems.append(f"its version is not {SIDECAR_VERSION}")
    if looked_at("same_filesystem") and not isinstance(sidecar.data.get("same_filesystem"), bool):
        problems.append("same_filesystem is neither true nor false")
    for key, (name, wanted) in paths.items():
        if isinstance(wanted, Absence) or not looked_at(key):
            continue
        recorded = sidecar.text(f"/{key}")
        path = location(recorded.value, api) if isinstance(recorded, Reading) else NOT_STATED
        if path != wanted:
            problems.append(f"{key} is {path}, the run's {name} is {wanted}")
    probed, start = sidecar.utc_time("/probed_at"), layout.leaf_time(leaf)
    if isinstance(probed, Absence):
        if looked_at("probed_at"):
            problems.append("it does not tell when it was probed")
    elif start is not None and abs(probed.value - start) > _DAY:
        problems.append(f"it was probed at {probed.value.isoformat()}Z")
    return Reading("; ".join(problems), sidecar.source())


def _same_by_df(text: str, paths: list[Any]) -> bool | None:
    mounts = dlio.df_table(text)
    if not mounts or any(isinstance(path, Absence) or not path.startswith("/") for path in paths):
        return None
    first, second = (dlio.mount_of(path, mounts) for path in paths)
    return None if first is None or second is None else dlio.same_mount(first, second)
