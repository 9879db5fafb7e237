"""Checkpointing leaves and workload directories as facts."""

from __future__ import annotations

from typing import Any, Literal

from mlpstorage.results import dlio
from mlpstorage.results.convert import InvalidValueError, as_int
from mlpstorage.results.document import Found, Reading, first_of
from mlpstorage.results.files import Root
from mlpstorage.results.layout import STDOUT_LOG
from mlpstorage.results.text import clean
from rules.derived import checkpointing as derived
from rules.derived.locations import normal_path
from rules.derived.workload import Invocation, derive_workload
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.checkpointing import CheckpointingRun, CheckpointingWorkload

from ..leaf import Leaf
from ..listing import WorkloadDirectory
from .checkpointing_files import LeafDocuments
from .checkpointing_memory import client_memory, collected_memory, host_memory, summed_memory
from .checkpointing_parameters import ParameterReader
from .checkpointing_times import read_times
from .collected import ratio, told_by_hosts
from .common import as_api, leaf_files, mapped, positive, put, put_location, recorded_verdict, stated_path
from .division import division_of, recorded_division
from .placement import hosts_of, min_ranks_per_host
from .run_environment import put_environment
from .separation import separation, sidecar_problem

DEFAULT_STORAGE = "local_fs"
"""DLIO's own, where a configuration names no storage type."""
NOT_A_RUN = "datasize"
"""Command whose leaves hold a sizing, not a run."""


def read_workload(
    root: Root, directory: WorkloadDirectory, described_api: Found[str]
) -> tuple[CheckpointingWorkload | None, list[str]]:
    """The workload with its runs, and remarks on what was left out; None where the directory holds no run."""
    invocations, remarks = [], []
    for leaf in directory.leaves:
        invocation = read_leaf(root, leaf, described_api)
        if invocation is None:
            remarks.append(f"{clean(leaf.path)}: a sizing ({NOT_A_RUN}), not a run; not judged")
        else:
            invocations.append(invocation)
    if not invocations:
        return None, remarks
    return derive_workload(clean(directory.path), invocations), remarks


def read_leaf(root: Root, leaf: Leaf, described_api: Found[str]) -> Invocation | None:
    """One leaf as a run with its times; None for a leaf that holds no run."""
    files = LeafDocuments(root, leaf)
    command = files.metadata.text("/command", "/args/command")
    if isinstance(command, Reading) and command.value.lower() == NOT_A_RUN:
        return None
    hosts = told_by_hosts(files.metadata) if files.metadata.ok else files.metadata.absence()
    return Invocation(_LeafReader(files, described_api).run(), read_times(files), hosts)


def read_run(root: Root, leaf: Leaf, described_api: Found[str]) -> CheckpointingRun | None:
    """One leaf as a run by itself; None for a leaf that holds no run."""
    invocation = read_leaf(root, leaf, described_api)
    return None if invocation is None else invocation.run


class _LeafReader:
    """States each fact of one leaf, first present source first."""

    def __init__(self, files: LeafDocuments, described_api: Found[str]) -> None:
        self.files = files
        self.leaf = files.leaf
        self.metadata = files.metadata
        self.summary = files.summary
        self.config = files.config
        self.described_api = described_api
        self.sheet = FactSheet()
        self.path = files.path
        # What DLIO received; where that file cannot be used, what the tool meant to pass.
        self.effective, self.effective_at = (
            (self.config, "/workload") if self.config.ok or not self.metadata.ok else (self.metadata, "/parameters")
        )

    def run(self) -> CheckpointingRun:
        self._identity()
        self._command()
        self._placement()
        self._results()
        self._storage()
        self._parameters()
        files = leaf_files(self.files.all(), self.path)
        self.sheet.put("files", files, Source(self.path))
        return self.sheet.build(CheckpointingRun, self.path)

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _value(self, name: str) -> Any:
        return self.sheet.get(name)

    def _not_recorded(self, name: str, detail: str) -> Absence:
        """One cause for the whole system: no act on a single leaf would cure it."""
        return Absence(
            f"not-recorded:{clean(self.leaf.system_path)}:{name}", Reason.NOT_RECORDED, self.metadata.path, "", detail
        )

    def _identity(self) -> None:
        self._put("division", division_of(self.leaf, self.metadata))
        if self.leaf.workload:
            self.sheet.put("directory_model", clean(self.leaf.workload), Source(self.path))
        else:
            detail = "the leaf lies in no workload directory"
            alone = Absence(f"alone:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            self.sheet.put("directory_model", alone)
        self._put("recorded_division", recorded_division(self.metadata))
        self._put("recorded_verdict", recorded_verdict(self.metadata))
        self._put("invalid_allowed", self._flag("allow_invalid_params"))
        recorded = self._model()
        self._put("recorded_model", recorded)
        self._foreign = self._other_model(recorded)
        self._put("model", self._foreign or recorded)

    def _flag(self, name: str) -> Found[bool]:
        """A switch of the command line that older tools do not have."""
        found = self.metadata.bool(f"/args/{name}")
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            return self._not_recorded(name, f"the tool that wrote the leaf records no {name}")
        return found

    def _model(self) -> Found[str]:
        found = self.metadata.text("/args/model", "/model")
        if isinstance(found, Reading) or self.metadata.ok:
            return found
        choice = dlio.workload_choice(self.files.override_words)
        names = {name.replace("-", "_"): name for name in derived.model_names()}
        if choice in names:
            return Reading(names[choice], self.files.overrides.source())
        return found

    def _other_model(self, recorded: Found[str]) -> Absence | None:
        """X4.2: which model this is cannot be told where the leaf names another than its directory, a known one."""
        directory = self._value("directory_model")
        if isinstance(recorded, Absence) or recorded.value == directory or directory not in derived.model_names():
            return None
        detail = f"the leaf lies under {directory}, its files say {recorded.value}"
        return Absence(f"model:{self.path}", Reason.INVALID, recorded.source.path, recorded.source.pointer, detail)

    def _other_run(self, processes: Found[int]) -> Absence | None:
        """X4.2: nothing is known of the run where the metadata also state other processes than the benchmark had."""
        measured = self.summary.int("/num_accelerators")
        if isinstance(processes, Absence) or isinstance(measured, Absence) or processes.value == measured.value:
            return None
        return self._foreign

    def _command(self) -> None:
        processes = first_of(
            self.metadata.read("/args/num_processes", _as_processes),
            self.metadata.read("/num_processes", _as_processes),
            self._command_processes(),
        )
        self._put("num_processes", processes)
        self._unrelated = self._other_run(processes)
        for phase in ("write", "read"):
            self._put(f"num_checkpoints_{phase}", self._checkpoints(f"num_checkpoints_{phase}"))
        self._put("subset_declared", self._subset_declared())
        self._put("subset_labelled", self._subset_labelled())
        self._put("accelerator", self._accelerator())
        self._put("fsync", self.effective.bool(f"{self.effective_at}/checkpoint/fsync"))
        self._put("fsync_effective", self._fsync_effective())
        self._put("api", self._api())
        self._put("storage_type", self._storage_type())
        self._put("o_direct", self._o_direct())
        put_environment(self.sheet, self.files)
        nothing = self._not_recorded("launch_environment", "a leaf records what was passed to the ranks")
        self.sheet.put("launch_environment", nothing)
        put_location(self.sheet, "checkpoint_folder", "folder_problem", self._checkpoint_folder())
        self._put("results_dir", mapped(stated_path(self.metadata, "/args/results_dir", "/results_dir"), normal_path))

    def _command_processes(self) -> Found[int]:
        launch = self.files.launch
        if launch is None or launch.processes is None:
            return self.metadata.key_absent("/executed_command")
        try:
            return Reading(_as_processes(launch.processes), self.metadata.source("/executed_command"))
        except InvalidValueError:  # a word of a script perhaps; the command says nothing then
            return self.metadata.key_absent("/executed_command")

    def _checkpoints(self, name: str) -> Found[int]:
        return self._unrelated or first_of(
            self.metadata.int(f"/args/{name}", f"/{name}", f"/override_parameters/checkpoint.{name}"),
            self.config.int(f"/workload/checkpoint/{name}"),
            self.metadata.int(f"/parameters/checkpoint/{name}"),
        )

    def _subset_declared(self) -> Found[bool]:
        found = self.metadata.bool("/args/checkpoint_subset", "/checkpoint_subset")
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            if self.metadata.has("/rules_edition") or self.metadata.has("/args/rules_edition"):
                return found
            return self._not_recorded("subset_declared", "the tool that wrote the leaf has no subset option")
        return found

    def _subset_labelled(self) -> Found[bool]:
        def is_subset(mode: str) -> bool:
            return mode.lower() == "subset"

        mode = self.config.text("/workload/checkpoint/mode")
        if self.config.ok and isinstance(mode, Absence) and mode.reason is Reason.KEY_ABSENT:
            return Reading(False, self.config.source())
        if isinstance(mode, Absence) and not self.config.ok:
            mode = self.metadata.text("/override_parameters/checkpoint.mode", "/parameters/checkpoint/mode")
            if isinstance(mode, Absence) and mode.reason is Reason.KEY_ABSENT and self.metadata.has("/parameters"):
                return Reading(False, self.metadata.source("/parameters"))
        return mode.map(is_subset) if isinstance(mode, Reading) else mode

    def _accelerator(self) -> Found[str]:
        found = self.metadata.text("/accelerator", "/args/accelerator_type", "/args/accelerator")
        if isinstance(found, Reading) and found.value.strip():
            return found.map(lambda name: name.strip().lower())
        if isinstance(found, Absence) and found.reason is not Reason.KEY_ABSENT:
            return found
        return self._not_recorded("accelerator", "the metadata names no accelerator")

    def _fsync_effective(self) -> Found[bool]:
        found = self.metadata.raw("/fsync_effective")
        if isinstance(found, Reading) and found.value != "unknown":
            return self.metadata.bool("/fsync_effective")
        if isinstance(found, Absence) and found.reason is not Reason.KEY_ABSENT:
            return found
        return self._not_recorded("fsync_effective", "the tool did not find out whether fsync takes effect")

    def _api(self) -> Found[str]:
        argument = self.metadata.read("/args/data_access_protocol", as_api)
        found = first_of(argument, self.described_api)
        if isinstance(found, Reading) or found.reason is Reason.INVALID:
            return found
        storage = self.effective.text(f"{self.effective_at}/storage/storage_type")
        if isinstance(storage, Reading):
            return storage.map(lambda kind: "object" if kind.lower().startswith("s3") else "file")
        if self.effective.ok and storage.reason is Reason.KEY_ABSENT:  # DLIO's own default is a local file system
            return Reading("file", self.effective.source(self.effective_at))
        return argument if isinstance(argument, Absence) else storage

    def _storage_type(self) -> Found[str]:
        """What DLIO received, and no other file: what some tools recorded of it lacks the overrides."""
        found = self.config.text("/workload/storage/storage_type")
        if isinstance(found, Reading):
            return found.map(lambda kind: clean(kind.strip().lower()))
        if self.config.ok and found.reason is Reason.KEY_ABSENT:
            return Reading(DEFAULT_STORAGE, self.config.source("/workload"))
        return found

    def _o_direct(self) -> Found[bool]:
        argument = self.metadata.bool("/args/o_direct")
        if isinstance(argument, Reading) or argument.reason is Reason.INVALID:
            return argument
        storage = self.effective.text(f"{self.effective_at}/storage/storage_type")
        if isinstance(storage, Reading):
            return storage.map(lambda kind: kind.lower() == "direct_fs")
        if self.effective.ok and storage.reason is Reason.KEY_ABSENT:  # it takes a storage type to ask for O_DIRECT
            return Reading(False, self.effective.source(self.effective_at))
        return argument

    def _checkpoint_folder(self) -> Found[str]:
        found = stated_path(self.metadata, "/args/checkpoint_folder", "/checkpoint_folder")
        if isinstance(found, Reading) or self.metadata.ok:
            return found
        folder = self.config.text("/workload/checkpoint/checkpoint_folder")  # the tool appends the model's name
        if isinstance(folder, Reading) and folder.value:
            return folder.map(lambda path: path.removesuffix(f"/{self.leaf.workload}"))
        return found

    def _placement(self) -> None:
        hosts = hosts_of(self.metadata, self.files.launch)
        self._put("num_hosts", self._num_hosts(hosts))
        seen = self.summary.int("/num_hosts")
        if isinstance(seen, Absence) and seen.reason is Reason.KEY_ABSENT:
            seen = self._not_recorded("summary_hosts", "the summary states no number of hosts")
        self._put("summary_hosts", seen)
        processes = first_of(_reading(self.sheet, "num_processes"), self.summary.int("/num_accelerators"))
        self._put(
            "min_ranks_per_host",
            min_ranks_per_host(self.metadata, self.files.launch, hosts, self._value("num_hosts"), processes),
        )

    def _num_hosts(self, hosts: Found[list[tuple[str, int | None]]]) -> Found[int]:
        """Hosts of the arguments; a lone loopback address is the default and yields to what the collector saw."""
        if self._unrelated:
            return self._unrelated
        named = hosts.map(len) if isinstance(hosts, Reading) else hosts
        collected = positive(self.metadata, "/system_info/num_hosts")
        if isinstance(hosts, Reading) and all(_is_loopback(name) for name, _ in hosts.value):
            return first_of(collected, Reading(1, hosts.source))
        return first_of(named, collected, positive(self.summary, "/num_hosts"))

    def _results(self) -> None:
        self._put("num_accelerators", self.summary.int("/num_accelerators"))
        self._put("checkpoint_size_gib", self.summary.float("/metric/checkpoint_size_GB"))
        hosts = self._value("num_hosts")
        self._put("client_memory_gib", self._unrelated or client_memory(self.metadata, self.summary, hosts))
        self._put("host_memory_gib", self._unrelated or host_memory(self.metadata, self.summary, hosts))
        spread = self._unrelated or ratio(self.metadata, 0)
        collected = None if isinstance(spread, Absence) else collected_memory(self.metadata, self.summary, hosts)
        detail = "the tool collected no memory of each of the hosts that the benchmark saw"
        self._put("summary_memory_gib", summed_memory(self.summary))
        self._put("collected_memory_gib", collected or self._not_recorded("system_info", detail))
        self._put("memory_ratio", spread)
        self._put("checkpoints_written", self._executed("save"))
        self._put("checkpoints_read", self._executed("load"))

    def _executed(self, phase: Literal["save", "load"]) -> Found[int]:
        steps = self.files.steps(phase)
        if isinstance(steps, Absence):
            return steps
        return Reading(sum(1 for step in steps if step.complete), self.files.stats.source())

    def _storage(self) -> None:
        """4.4.2: recorded evidence that checkpoints and results lie on different filesystems."""
        detail = "neither fs_separation.json nor a df table tells"
        nothing = self._not_recorded("same_filesystem", detail)
        paths = (self._value("checkpoint_folder"), self._value("results_dir"))
        same, evidence = separation(self.files, STDOUT_LOG, self._value("api"), paths, nothing)
        self._put("same_filesystem", same)
        self._put("filesystem_evidence", evidence)
        self._put("gate_skipped", self._flag("skip_fs_separation_gate"))
        folder, results = paths
        own = {"data_or_chkpt_path": ("checkpoint_folder", folder), "results_path": ("results_dir", results)}
        sidecar = self.files.fs_separation
        self._put("sidecar_problem", sidecar_problem(sidecar, self.leaf.name, self._value("api"), own, whole=False))

    def _parameters(self) -> None:
        read = ParameterReader(self.files)
        flat = read.flat(self.effective, self.effective_at)
        model = self._value("model")
        whole = model if isinstance(model, Absence) else derived.whole_checkpoint_gib(model)
        if whole is None:
            names = ", ".join(derived.model_names())
            detail = f"the table of checkpointing models has no row {model!r}; there are: {names}"
            whole = Absence(f"row:model:{model}", Reason.NO_ROW, self.metadata.path, "/args/model", detail)
        self.sheet.put("whole_checkpoint_gib", whole, Source("size formula"))
        if isinstance(flat, Absence) or isinstance(whole, Absence):
            absent = flat if isinstance(flat, Absence) else whole
            self.sheet.put("parameters", absent)
            self.sheet.put("architecture", absent)
        else:
            parameters = derived.compare_parameters(model, flat.value)
            self.sheet.put("parameters", parameters, flat.source)
            self.sheet.put("architecture", derived.compare_architecture(parameters, model), flat.source)
        if self.effective is not self.config:
            flat = read.flat(self.config, "/workload")
        self._put("stated_parameters", self._foreign or read.stated(flat))
        model, processes = (_reading(self.sheet, name) for name in ("model", "num_processes"))
        self._put("stated_arguments", read.arguments(model, processes))


def _as_processes(value: Any) -> int:
    count = as_int(value)
    if count < 1:
        raise InvalidValueError("a number of processes")
    return count


def _is_loopback(host: str) -> bool:
    return host.startswith("127.") or host in ("localhost", "::1")


def _reading(sheet: FactSheet, name: str) -> Found[Any]:
    value = sheet.get(name)
    return value if isinstance(value, Absence) else Reading(value, sheet.sources[name])
