"""Facts of checkpointing results: the run leaf and the workload directory (sections 4.3 to 4.7 of the rule book)."""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact
from .files import LeafFile

Division = Literal["closed", "open", "whatif"]
Api = Literal["file", "object"]


class Parameter(Record):
    """One key of the effective DLIO workload beside its reference. Values are text in one canonical spelling:
    ``true``/``false``, integers without a fraction, ``(not set)`` for a key that one side lacks.
    """

    name: str = fact("Dotted key of the DLIO workload, e.g. checkpoint.fsync.", known=Known.PLAN)
    value: str = fact("Its value in this run, '(not set)' where the run lacks the key.", known=Known.PLAN)
    reference: str = fact("Its value in the model's reference workload, '(not set)' if absent.", known=Known.PLAN)


class StatedParameter(Record):
    """One override as the files of a leaf state it; a file that does not carry it says ``(not stated)``."""

    name: str = fact("Dotted key of the DLIO workload.", known=Known.RUN)
    config: str = fact("Value in dlio_config/config.yaml.", known=Known.RUN)
    overrides: str = fact("Value in dlio_config/overrides.yaml.", known=Known.RUN)
    command: str = fact("Value in the executed command line.", known=Known.RUN)


class StatedArgument(Record):
    """One argument of the run as the files of a leaf state it; a file that does not carry it says ``(not stated)``."""

    name: str = fact("'workload', DLIO's name of the model, or 'num_processes'.", known=Known.RUN)
    metadata: str = fact("What the run was asked for, by the metadata.", known=Known.RUN)
    overrides: str = fact("Value in dlio_config/overrides.yaml.", known=Known.RUN)
    command: str = fact("Value in the executed command line.", known=Known.RUN)


class HostValue(Record):
    """One value of the client hosts, as an invocation and a later one recorded it; several hosts may have several."""

    name: str = fact("What the value is of, e.g. host.kernel.", known=Known.RUN)
    first: str = fact("Value in the first invocation.", known=Known.RUN)
    later: str = fact("Value in the first later invocation that has another one, else the same again.", known=Known.RUN)


class CheckpointingRun(FactModel):
    """One invocation: a run leaf (YYYYMMDD_HHMMSS directory), or the run that a command line asks for."""

    subject: ClassVar[str] = "checkpointing_run"
    namespace: ClassVar[str] = "run"
    parent: ClassVar[str] = "checkpointing_workload"
    plural: ClassVar[str] = "runs"

    division: Fact[Division] = fact("Division claimed: path segment, or the command's.", known=Known.PLAN)
    recorded_division: Fact[str] = fact(
        "Division that the run's own metadata names (args.mode), lower case.", known=Known.RUN
    )
    recorded_verdict: Fact[str] = fact(
        "The gate's verdict that the metadata records (verification), lower case; 'none' where it is null.",
        known=Known.RUN,
    )
    invalid_allowed: Fact[bool] = fact("The tool was told to run in spite of its verdict.", known=Known.RUN)
    directory_model: Fact[str] = fact("Name of the workload directory that holds the leaf.", known=Known.RUN)
    recorded_model: Fact[str] = fact("Model that the run's own metadata names.", known=Known.RUN)
    model: Fact[str] = fact(
        "Model as named on the command line, e.g. llama3-8b; absent where the directory is that of another known one.",
        known=Known.PLAN,
    )
    num_processes: Fact[Int] = fact("MPI processes asked for (--num-processes).", known=Known.PLAN, unit="processes")
    num_accelerators: Fact[Int] = fact(
        "MPI world size that the benchmark saw: one simulated accelerator a rank.",
        known=Known.RUN,
        unit="accelerators",
    )
    num_hosts: Fact[Int] = fact("Distinct client hosts.", known=Known.PLAN, unit="hosts")
    summary_hosts: Fact[Int] = fact("Client hosts that the benchmark saw.", known=Known.RUN, unit="hosts")
    min_ranks_per_host: Fact[Int] = fact(
        "Ranks on the least loaded client host, from the placement.", known=Known.PLAN, unit="ranks"
    )
    subset_declared: Fact[bool] = fact(
        "The submitter declared a subset run (--checkpoint-subset). Absent, not false, where the tool that wrote the "
        "leaf had no such option.",
        known=Known.PLAN,
    )
    subset_labelled: Fact[bool] = fact(
        "The tool set checkpoint.mode=subset by itself, as it does below the CLOSED process count.", known=Known.PLAN
    )
    api: Fact[Api] = fact("Access protocol of the checkpoint storage.", known=Known.PLAN)
    storage_type: Fact[str] = fact(
        "Kind of storage that DLIO was configured for (storage.storage_type), lower case; its default where the "
        "configuration names none.",
        known=Known.RUN,
    )
    o_direct: Fact[bool] = fact("Files are opened with O_DIRECT, past the page cache.", known=Known.PLAN)
    num_checkpoints_write: Fact[Int] = fact(
        "Checkpoints that the invocation was told to write.", known=Known.PLAN, unit="checkpoints"
    )
    num_checkpoints_read: Fact[Int] = fact(
        "Checkpoints that the invocation was told to read.", known=Known.PLAN, unit="checkpoints"
    )
    checkpoints_written: Fact[Int] = fact(
        "Checkpoints that rank 0's statistics show as written.", known=Known.RUN, unit="checkpoints"
    )
    checkpoints_read: Fact[Int] = fact(
        "Checkpoints that rank 0's statistics show as read.", known=Known.RUN, unit="checkpoints"
    )
    checkpoint_size_gib: Fact[Float] = fact(
        "Size of one checkpoint over all ranks: measured after the run, by the size formula before it.",
        known=Known.PLAN,
        unit="GiB",
    )
    whole_checkpoint_gib: Fact[Float] = fact(
        "Size of one checkpoint of the model's CLOSED run, by the size formula.", known=Known.PLAN, unit="GiB"
    )
    client_memory_gib: Fact[Float] = fact("Memory of the client host that has least.", known=Known.PROBE, unit="GiB")
    host_memory_gib: Fact[Float] = fact(
        "Mean memory of a client host: that of all hosts over their number.", known=Known.RUN, unit="GiB"
    )
    summary_memory_gib: Fact[Float] = fact(
        "Memory of all client hosts as the benchmark saw it: the sum of its list.", known=Known.RUN, unit="GiB"
    )
    collected_memory_gib: Fact[Float] = fact(
        "Memory of all client hosts as the tool collected it; not recorded where not every host was.",
        known=Known.RUN,
        unit="GiB",
    )
    memory_ratio: Fact[Float] = fact("Memory of the largest client host over the smallest's.", known=Known.RUN)
    accelerator: Fact[str] = fact("Accelerator type that the ranks stand for, lower case.", known=Known.PLAN)
    fsync: Fact[bool] = fact("checkpoint.fsync of the effective configuration.", known=Known.PLAN)
    fsync_effective: Fact[bool] = fact(
        "The checkpoint writer of the DLIO in use really calls fsync, as the tool found out.", known=Known.PROBE
    )
    checkpoint_folder: Fact[str] = fact(
        "Root of the checkpoints, normalised; an object URI keeps its scheme.", known=Known.PLAN
    )
    folder_problem: Fact[str] = fact(
        "What is wrong with the object URI of the checkpoint folder, as the end of a sentence; empty: nothing.",
        known=Known.PLAN,
    )
    results_dir: Fact[str] = fact("Results directory, normalised.", known=Known.PLAN)
    launch_environment: Fact[list[str]] = fact(
        "Names of the variables set at launch that clients of object storage read. No leaf records it.",
        known=Known.PLAN,
    )
    environment: Fact[list[str]] = fact(
        "Names of the environment variables that the metadata records: by itself, or as passed to the ranks (-x).",
        known=Known.RUN,
    )
    declared_variables: Fact[list[str]] = fact(
        "Names of environment variables that the run's overrides have as keys, whatever they lie below.",
        known=Known.PLAN,
    )
    same_filesystem: Fact[bool] = fact(
        "Checkpoint folder and results directory lie on one filesystem, as recorded evidence says.", known=Known.PROBE
    )
    filesystem_evidence: Fact[Literal["sidecar", "df", "none"]] = fact(
        "What the evidence is: fs_separation.json, a df table in the log, or nothing.", known=Known.PROBE
    )
    sidecar_problem: Fact[str] = fact(
        "Why fs_separation.json was not written for this run; empty where nothing in it says so.", known=Known.RUN
    )
    gate_skipped: Fact[bool] = fact("The filesystem gate was skipped at launch.", known=Known.RUN)
    architecture: Fact[list[Parameter]] = fact(
        "Model keys of the effective configuration beside the architecture in the reference table.", known=Known.PLAN
    )
    parameters: Fact[list[Parameter]] = fact(
        "Every key of the effective configuration or of the reference workload.", known=Known.PLAN
    )
    stated_parameters: Fact[list[StatedParameter]] = fact(
        "Overrides as the different files of the leaf state them.", known=Known.RUN
    )
    stated_arguments: Fact[list[StatedArgument]] = fact(
        "Model and process count as the different files of the leaf state them.", known=Known.RUN
    )
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)


class CheckpointingWorkload(FactModel):
    """One workload directory (``checkpointing/<model>``) with its leaves in the order of their start."""

    subject: ClassVar[str] = "checkpointing_workload"
    namespace: ClassVar[str] = "workload"
    parent: ClassVar[str] = "system"
    plural: ClassVar[str] = "workloads"

    division: Fact[Division] = fact("Division claimed.", known=Known.PLAN)
    model: Fact[str] = fact("Model of the workload's runs.", known=Known.PLAN)
    invocations: Fact[list[str]] = fact(
        "Writes/reads of each invocation in order of start, e.g. ['10/0', '0/10']; at launch the planned one alone.",
        known=Known.PLAN,
    )
    structure: Fact[str] = fact("The complete sequence of invocations as one text, e.g. '10/0 0/10'.", known=Known.RUN)
    combined: Fact[bool] = fact("Some invocation both writes and reads.", known=Known.PLAN)
    api: Fact[Api] = fact("Access protocol of the checkpoint storage.", known=Known.PLAN)
    o_direct: Fact[bool] = fact("Files are opened with O_DIRECT, past the page cache.", known=Known.PLAN)
    checkpoints_written: Fact[Int] = fact(
        "Checkpoints that the invocations were told to write, over all of them.",
        known=Known.PLAN,
        unit="checkpoints",
    )
    checkpoint_size_gib: Fact[Float] = fact(
        "Size of one checkpoint over all ranks (the smallest of the leaves').", known=Known.PLAN, unit="GiB"
    )
    num_hosts: Fact[Int] = fact("Distinct client hosts (the most of the leaves').", known=Known.PLAN, unit="hosts")
    client_memory_gib: Fact[Float] = fact(
        "Memory of the client host that has least (the most of the leaves').", known=Known.PROBE, unit="GiB"
    )
    host_values: Fact[list[HostValue]] = fact(
        "Values of the client hosts that each of several invocations recorded; none of a single one.", known=Known.RUN
    )
    overlap: Fact[bool] = fact(
        "Two invocations ran at the same time: the measured section of one began before the other's had ended.",
        known=Known.RUN,
    )
    pair: Fact[bool] = fact(
        "There are two invocations, of which the earlier one only writes and the later one only reads.", known=Known.RUN
    )
    gap_seconds: Fact[Float] = fact(
        "Write/read pair: from the end of the write invocation to the start of the read invocation, in one time zone.",
        known=Known.RUN,
        unit="s",
    )
    gap_exact: Fact[bool] = fact(
        "The gap is measured between invocation ends; false: it holds start-up or tear-down as well, an upper bound.",
        known=Known.RUN,
    )
    gap_origin: Fact[str] = fact("The two readings that the gap was computed from.", known=Known.RUN)
    total_seconds: Fact[Float] = fact(
        "First checkpoint write start to last checkpoint read end, whatever lies between.", known=Known.RUN, unit="s"
    )
    interval_seconds: Fact[Float] = fact(
        "End of the last checkpoint write to the start of the first checkpoint read.", known=Known.RUN, unit="s"
    )

    @property
    def runs(self) -> "tuple[CheckpointingRun, ...]":
        """The workload's leaves."""
        return tuple(child for child in self.below if isinstance(child, CheckpointingRun))
