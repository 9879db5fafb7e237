"""KV-cache workload directories as facts (section 6)."""

from __future__ import annotations

from typing import Literal

from mlpstorage.results import layout
from mlpstorage.results.convert import as_choice
from mlpstorage.results.document import Found, read_yaml
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.kv_cache import KvCacheRun, KvCacheWorkload, PlacedDirectory
from rules.tables import reference_rows

from ..discovery import description_path
from ..listing import WorkloadDirectory
from .common import put
from .kv_cache_run import read_run

_SOLUTION = "/system_under_test/solution"


def read_workload(
    root: Root, directory: WorkloadDirectory, described_api: Found[str]
) -> tuple[KvCacheWorkload | None, list[str]]:
    """The workload with its runs; all its leaves are judged, wherever they lie."""
    runs = [read_run(root, leaf, described_api) for leaf in directory.leaves]
    directories = _directories(root, directory)
    if not runs and not directories:
        return None, []
    sheet = FactSheet()
    path = clean(directory.path)
    at = Source(path)
    parts = directory.path.split("/")
    if parts[0] in layout.DIVISIONS:
        sheet.put("division", parts[0], at)
    else:
        sheet.put("division", runs[0].division if runs else _alone(path))
    sheet.put("model", clean(parts[-1]), at)
    sheet.put("directories", directories, at)
    place = clean(directory.place(layout.RUN))
    _runs(sheet, path, [run for run in runs if isinstance(run.leaf_name, str) and _in_place(run, place)])
    _description(sheet, root, parts)
    return sheet.build(KvCacheWorkload, path, runs), []


def _alone(path: str) -> Absence:
    return Absence(f"alone:{path}", Reason.NOT_APPLICABLE, path, detail="the directory lies in no results tree")


def _in_place(run: KvCacheRun, runs: str) -> bool:
    return run.path == f"{runs}/{run.leaf_name}"


def _directories(root: Root, directory: WorkloadDirectory) -> list[PlacedDirectory]:
    """Directories at the command level, and at the leaf level below a known command."""
    found = [_placed(directory.path, name, "command", proposed) for name, proposed in directory.spellings]
    path = directory.place(layout.RUN)
    if layout.RUN in directory.commands:
        try:
            names = root.list(path)[0]
        except OSError:  # the walk has reported it
            names = []
        found += [_placed(path, name, "leaf", "") for name in names if not name.startswith(".")]
    return found


def _placed(parent: str, name: str, level: Literal["command", "leaf"], proposed: str) -> PlacedDirectory:
    return PlacedDirectory(
        name=clean(name),
        path=clean(f"{parent}/{name}"),
        level=level,
        is_time=layout.leaf_time(name) is not None,
        proposed=proposed,
    )


def _runs(sheet: FactSheet, path: str, runs: list[KvCacheRun]) -> None:
    """The measured runs, and which of them is published: the latest complete one."""
    at = Source(path)
    names = sorted(str(run.leaf_name) for run in runs)
    complete = sorted(str(run.leaf_name) for run in runs if _is_complete(run))
    published = complete[-1] if complete else None
    sheet.put("run_names", names, at)
    sheet.put("complete_runs", complete, at)
    if published is None:
        detail = "no run of the workload is complete"
        sheet.put("published_run", Absence(f"complete:{path}", Reason.NOT_APPLICABLE, path, detail=detail))
    else:
        sheet.put("published_run", published, at)
    sheet.put("other_runs", [name for name in names if name != published], at)


def _is_complete(run: KvCacheRun) -> bool:
    """It has a summary, all rank results that it should have, and no failed trial."""
    failed = any(isinstance(option.failures, list) and option.failures for option in run.options)
    return run.summary_kind != "none" and run.missing_count == 0 and not failed


def _description(sheet: FactSheet, root: Root, parts: list[str]) -> None:
    """What the system's description says of the product and of software between client and storage."""
    if parts[0] not in layout.DIVISIONS:
        for name in ("product_api", "gateways_named"):
            sheet.put(name, _alone("/".join(parts)))
        return
    division, organisation, _, system = parts[:4]
    document = read_yaml(root, description_path(root, division, organisation, system))
    product = document.read(f"{_SOLUTION}/architecture/product_API", as_choice("file", "object"))
    if isinstance(product, Absence) and product.reason is Reason.KEY_ABSENT:
        cause = f"not-recorded:{document.path}:product_API"
        product = Absence(cause, Reason.NOT_RECORDED, document.path, product.pointer, "the description does not say")
    put(sheet, "product_api", product)
    if not document.ok:
        sheet.put("gateways_named", document.absence())
        return
    text = str(document.data).lower()
    named = [word for word in reference_rows("kvcache-gateways") if word in text]
    sheet.put("gateways_named", named, document.source())


__all__ = ["read_run", "read_workload"]
