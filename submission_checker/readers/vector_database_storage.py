"""Where a vector-database run kept its data and its results, by which protocol, and on which filesystems."""

from __future__ import annotations

from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.document import Found, Reading, first_of
from rules.derived.locations import normal_path
from rules.facts import Absence, FactSheet, Reason, Source

from .common import as_api, mapped, put_location, stated_path
from .separation import sidecar_problem
from .vector_database_files import RunDocuments, best_of
from .vector_database_sheet import RunSheet

_ROOTS = ("/args/storage_root", "/args/data_dir", "/args/vdb_data_path", "/override_parameters/storage.storage_root")
_OPTIONS = ("storage_root", "storage_type")
"""Arguments that came with the option to name the storage path."""


class StorageReader(RunSheet):
    """States paths, protocol and filesystems. ``described_api`` is the protocol that the description states."""

    def __init__(self, files: RunDocuments, sheet: FactSheet, described_api: Found[str]) -> None:
        super().__init__(files, sheet)
        self.described_api = described_api

    def read(self) -> None:
        """State all of it."""
        metadata = self.metadata
        argument = metadata.read("/args/data_access_protocol", as_api)
        api = first_of(argument, self.described_api)
        if isinstance(api, Absence) and api.reason is not Reason.INVALID and metadata.ok:
            api = Reading("file", metadata.source("/args"))  # the tool's default
        self._put("api", api)
        kind = mapped(metadata.text("/args/storage_type"), str.lower)
        backend = mapped(self.summary.text("/database/storage_backend"), str.lower)
        self._put("storage_type", self._recorded("storage_type", kind))
        self._put("backend", self._recorded("backend", best_of(backend, kind)))
        arguments = metadata.mapping("/args")
        if isinstance(arguments, Absence):
            self.sheet.put("storage_option", arguments)
        else:
            option = any(name in arguments.value for name in _OPTIONS) or metadata.has("/rules_edition")
            self.sheet.put("storage_option", option, arguments.source)
        put_location(self.sheet, "storage_root", "root_problem", self._storage_root())
        self._put("results_dir", mapped(stated_path(self.metadata, "/args/results_dir"), normal_path))
        self._of_metadata("gate_skipped", self._skipped())
        self._filesystems()

    def _storage_root(self) -> Found[str]:
        """Not recorded where the tool had no option for it, or where the object API needs none."""
        root = stated_path(self.metadata, *_ROOTS)
        if self._value("storage_option") is True and self._value("api") != "object":
            return root
        return self._recorded("storage_root", root)

    def _skipped(self) -> bool:
        found = self.metadata.bool("/args/skip_fs_separation_gate")
        return isinstance(found, Reading) and found.value

    def _value(self, name: str) -> Any:
        return self.sheet.get(name)

    def _filesystems(self) -> None:
        """5.4.2: recorded evidence that storage and results lie on different filesystems."""
        root, results = self._value("storage_root"), self._value("results_dir")
        sidecar = self.files.fs_separation
        evidence: Found[str]
        same: Found[bool]
        if self._value("api") == "object":
            detail = "object API: there is no filesystem to compare"
            same = evidence = Absence(f"api:object:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        elif isinstance(root, Absence):
            same = evidence = root
        elif sidecar.state != "missing":
            same = sidecar.bool("/same_filesystem")
            evidence = Reading("sidecar", sidecar.source()) if sidecar.ok else sidecar.absence()
        else:
            same, evidence = self._by_df(root, results)
        self._put("same_filesystem", same)
        self._put("filesystem_evidence", evidence)
        paths = {"data_or_chkpt_path": ("storage_root", root), "results_path": ("results_dir", results)}
        self._put("sidecar_problem", sidecar_problem(sidecar, self.leaf.name, self._value("api"), paths, whole=False))

    def _by_df(self, root: Any, results: Any) -> tuple[Found[bool], Found[str]]:
        log = self.files.log
        if isinstance(log, Absence) and log.reason is not Reason.MISSING_FILE:
            return log, log
        mounts = dlio.df_table(log.value) if isinstance(log, Reading) else []
        if isinstance(log, Reading) and mounts and not isinstance(results, Absence):
            found = [dlio.mount_of(path, mounts) for path in (root, results)]
            if found[0] is not None and found[1] is not None:
                return Reading(dlio.same_mount(found[0], found[1]), log.source), Reading("df", log.source)
        absent = self.files.not_recorded("same_filesystem", "neither fs_separation.json nor a df table tells")
        return absent, Reading("none", Source(self.path))
