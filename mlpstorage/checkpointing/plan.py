"""What a command line asks for, and what follows from it without looking at any machine.

Nothing here judges: numbers come from the reference tables through :mod:`rules.derived.checkpointing`.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rules.derived import checkpointing as derived

from ..results import dlio

LOCAL_HOST = "127.0.0.1"
FOLDER_KEY = "checkpoint.checkpoint_folder"
WRITE_KEY = "checkpoint.num_checkpoints_write"
READ_KEY = "checkpoint.num_checkpoints_read"
MODE_KEY = "checkpoint.mode"
DATA_KEY = "model.parallelism.data"

TOOL_KEYS: Mapping[str, str] = {
    FOLDER_KEY: "use --checkpoint-folder",
    WRITE_KEY: "use --num-checkpoints-write",
    READ_KEY: "use --num-checkpoints-read",
    MODE_KEY: "it follows from the process count",
    DATA_KEY: "it follows from the model and the process count",
    "storage.storage_type": "use --api or --o-direct",
    "storage.storage_root": "use --checkpoint-folder",
    "storage.storage_options.storage_library": "set the variable STORAGE_LIBRARY",
    "storage.storage_options.uri_scheme": "it follows from --checkpoint-folder",
    "output.folder": "results go to the run leaf; use --results-dir",
    "output.log_file": "the log's name is fixed by the layout of results",
}
"""Keys of the DLIO workload that this tool sets, and what the user does instead of ``--param``."""

ARCHITECTURE_KEYS: Mapping[str, str] = {
    "model.num_layers": "num_layers",
    "model.transformer.hidden_size": "hidden",
    "model.transformer.ffn_hidden_size": "ffn",
    "model.transformer.num_attention_heads": "heads",
    "model.transformer.num_kv_heads": "kv_heads",
    "model.transformer.vocab_size": "vocab",
    "model.parallelism.tensor": "tensor",
    "model.parallelism.pipeline": "pipeline",
    "model.parallelism.zero_stage": "zero_stage",
}
"""DLIO keys that change the size of a checkpoint, and the field of ``Architecture`` that they set."""


def known_keys(model: str) -> set[str]:
    """Keys of the DLIO workload that this tool sets or the model's reference states; DLIO itself takes any."""
    return {*TOOL_KEYS, *ARCHITECTURE_KEYS, *derived.reference_workload(model)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run as asked for. ``sources`` names the option or environment variable of each field; others are defaults.

    ``num_processes`` is None only where the model is unknown and no count was given. Paths of the file API are
    absolute; empty means that none was given.
    """

    division: str
    model: str
    num_processes: int | None
    checkpoint_folder: str
    results_dir: str
    num_checkpoints_write: int
    num_checkpoints_read: int
    checkpoint_subset: bool = False
    hosts: tuple[tuple[str, int | None], ...] = ((LOCAL_HOST, None),)
    accelerator: str | None = None
    systemname: str | None = None
    orgname: str | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    api: str = "file"
    o_direct: bool = False
    storage_library: str = "s3dlio"
    endpoint_set: bool = False
    """An object-storage endpoint is configured in the environment: buckets are addressed by path."""
    environment: tuple[str, ...] = ()
    """Names of the variables set that clients of object storage read; the ranks get them by name only."""
    client_memory_gib: float | None = None
    mpi_bin: str = "mpirun"
    mpi_params: tuple[str, ...] = ()
    mpi_btl: str = "auto"
    oversubscribe: bool = False
    allow_run_as_root: bool = False
    dlio_bin_path: str | None = None
    edition: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def architecture(self) -> derived.Architecture | None:
        """The model's reference architecture with the ``--param`` overrides applied; None for an unknown model."""
        reference = derived.architecture(self.model)
        if reference is None:
            return None
        changed = {name: int(self.params[key]) for key, name in ARCHITECTURE_KEYS.items() if key in self.params}
        return replace(reference, **changed)

    @property
    def whole_processes(self) -> int | None:
        """Ranks that write the whole checkpoint, TP x PP x DP: the CLOSED count where nothing is overridden."""
        architecture = self.architecture
        return None if architecture is None else architecture.unit * architecture.data

    @property
    def partial(self) -> bool | None:
        """Fewer ranks than the whole checkpoint needs: DLIO is told to write a subset. None for an unknown model."""
        whole = self.whole_processes
        if whole is None or self.num_processes is None:
            return None
        return self.num_processes < whole

    @property
    def checkpoint_gib(self) -> float | None:
        """Size of one checkpoint over all ranks, in GiB, by the size formula."""
        architecture, whole = self.architecture, self.whole_processes
        if architecture is None or whole is None or self.num_processes is None:
            return None
        scaled = derived.scaled(architecture, whole, self.num_processes)
        return derived.checkpoint_gib(scaled, self.num_processes)

    @property
    def placement(self) -> list[int]:
        """Ranks of each host, in the order of the hosts. A mapping of the user's own is unknown: then the mean."""
        count = self.num_processes or 0
        if dlio.maps_ranks(self.mpi_params):
            return [count // len(self.hosts)] * len(self.hosts)
        if self.block_placement:
            per_host = -(-count // len(self.hosts))
            return [max(0, min(per_host, count - per_host * index)) for index in range(len(self.hosts))]
        return derived.ranks_per_host(self.hosts, count)

    @property
    def block_placement(self) -> bool:
        """``mpiexec`` style launchers place consecutive ranks (``--ppn``); mpirun deals them round robin."""
        return os.path.basename(self.mpi_bin).startswith("mpiexec")

    @property
    def does_nothing(self) -> bool:
        """Neither writes nor reads. No rule forbids that but in closed (4.7.1); there is nothing to start."""
        return self.num_checkpoints_write == self.num_checkpoints_read == 0

    @property
    def model_folder(self) -> str:
        """What DLIO gets as checkpoint folder, ``<root>/<model>``; an object URI without its scheme."""
        root = self.checkpoint_folder
        if self.api == "object":
            root = root.partition("://")[2] if "://" in root else root
        return f"{root.rstrip('/')}/{self.model}" if root else ""

    def overrides(self) -> dict[str, str]:
        """What the run changes in the reference workload: dotted key to value, as DLIO is told, in its order."""
        changed: dict[str, str] = {}
        if self.api == "object":
            root = self.checkpoint_folder
            scheme, separator, rest = root.partition("://")
            changed["storage.storage_type"] = "s3"
            changed["storage.storage_root"] = (rest if separator else root).strip("/").split("/")[0]
            changed["storage.storage_options.storage_library"] = self.storage_library
            changed["storage.storage_options.uri_scheme"] = scheme if separator else "s3"
            if self.endpoint_set:
                changed["storage.s3_force_path_style"] = "true"
        elif self.o_direct:
            changed["storage.storage_type"] = "direct_fs"
            changed["storage.storage_root"] = self.checkpoint_folder
            changed["storage.storage_options.uri_scheme"] = "direct"
        architecture = self.architecture
        if self.partial and architecture is not None:
            changed[MODE_KEY] = "subset"
            changed[DATA_KEY] = str(architecture.data)
        changed[READ_KEY] = str(self.num_checkpoints_read)
        changed[WRITE_KEY] = str(self.num_checkpoints_write)
        changed[FOLDER_KEY] = self.model_folder
        changed.update(self.params)
        return changed

    def workload(self) -> dict[str, str]:
        """The effective DLIO workload, dotted keys and canonical values: reference with overrides."""
        overrides = {key: derived.canonical(value) for key, value in self.overrides().items()}
        return {**derived.reference_workload(self.model), **overrides}

    def source(self, name: str) -> str:
        """Option or environment variable that stated a field, or ``default``."""
        return self.sources.get(name, "default")
