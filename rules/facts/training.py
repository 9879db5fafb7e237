"""Facts of training results: the run, datagen and datasize leaves, and their workload directory (section 3)."""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact
from .files import LeafFile

Division = Literal["closed", "open", "whatif"]
Api = Literal["file", "object"]
Origin = Literal["user", "user, not passed on", "tool", "not recorded"]


class Override(Record):
    """One overridden key of the DLIO workload. Values are text in one canonical spelling (``true``, ``8``)."""

    name: str = fact("Dotted key of the DLIO workload, e.g. reader.read_threads.", known=Known.PLAN)
    value: str = fact("Its value in this leaf.", known=Known.PLAN)
    default: str = fact("Its value in the reference workload, '(not set)' if absent.", known=Known.PLAN)
    origin: Origin = fact(
        "'user': typed with --params ('user, not passed on': it did not reach the benchmark); 'tool': passed by the "
        "tool itself; 'not recorded': the leaf does not tell.",
        known=Known.PLAN,
    )


class TemplateValue(Record):
    """One key that nobody overrode, beside the reference workload: it shows an edited template."""

    name: str = fact("Dotted key of the DLIO workload.", known=Known.PLAN)
    value: str = fact("Its value in the effective configuration, '(not set)' if absent.", known=Known.PLAN)
    default: str = fact("Its value in the reference workload.", known=Known.PLAN)


class StatedOverride(Record):
    """One override as two files of a leaf state it; a file that does not carry it says ``(not stated)``."""

    name: str = fact("Dotted key of the DLIO workload; 'workload' for the template itself.", known=Known.RUN)
    metadata: str = fact("Value in override_parameters of the metadata.", known=Known.RUN)
    overrides: str = fact("Value in dlio_config/overrides.yaml.", known=Known.RUN)


class Bandwidth(Record):
    """The read bandwidth of the runs of one accelerator type."""

    accelerator: str = fact("Accelerator type, lower case; empty where no run states one.", known=Known.RUN)
    runs: int = fact("Runs that are measured.", known=Known.RUN, unit="runs")
    gib_per_second: float = fact("Mean of the measured runs' means.", known=Known.RUN, unit="GiB/s")


class TrainingRun(FactModel):
    """One training run: a leaf under ``run/``, or the run that a command line asks for."""

    subject: ClassVar[str] = "training_run"
    namespace: ClassVar[str] = "train"
    parent: ClassVar[str] = "training_workload"
    plural: ClassVar[str] = "trainings"

    name: Fact[str] = fact("The leaf's name, its time stamp.", known=Known.RUN)
    division: Fact[Division] = fact("Division claimed: path segment, or the command's.", known=Known.PLAN)
    recorded_division: Fact[str] = fact("Division that the metadata names (args.mode), lower case.", known=Known.RUN)
    recorded_verdict: Fact[str] = fact(
        "The gate's verdict that the metadata records (verification), lower case; 'none' where it is null.",
        known=Known.RUN,
    )
    invalid_allowed: Fact[bool] = fact("The tool was told to run in spite of its verdict.", known=Known.PLAN)
    directory_model: Fact[str] = fact("Name of the workload directory that holds the leaf.", known=Known.RUN)
    model: Fact[str] = fact("Model as named on the command line, e.g. unet3d.", known=Known.PLAN)
    accelerator: Fact[str] = fact("Accelerator type that is simulated, lower case.", known=Known.PLAN)
    template: Fact[str] = fact("Model and accelerator as DLIO's workload name, e.g. unet3d_b200.", known=Known.PLAN)
    role: Fact[Literal["warmup", "measured", "unassigned"]] = fact(
        "The first run of an accelerator type warms up, the others are measured. 'unassigned' where that cannot be "
        "told: in a series of more than six, for a run by itself, for a directory that is no run of the series.",
        known=Known.RUN,
    )

    num_processes: Fact[Int] = fact(
        "Accelerators asked for (--num-accelerators).", known=Known.PLAN, unit="accelerators"
    )
    num_accelerators: Fact[Int] = fact(
        "Accelerators simulated: the ranks that the benchmark saw (before the run: those asked for).",
        known=Known.PLAN,
        unit="accelerators",
    )
    num_hosts: Fact[Int] = fact("Client hosts that the benchmark saw.", known=Known.PLAN, unit="hosts")
    named_hosts: Fact[Int] = fact("Distinct client hosts of the --hosts option.", known=Known.PLAN, unit="hosts")
    commanded_hosts: Fact[Int] = fact(
        "Distinct hosts of the executed command's -host list.", known=Known.PLAN, unit="hosts"
    )
    least_ranks_on_host: Fact[Int] = fact("Ranks on the least loaded host.", known=Known.PLAN, unit="ranks")
    most_ranks_on_host: Fact[Int] = fact("Ranks on the most loaded host.", known=Known.PLAN, unit="ranks")
    placed_ranks: Fact[Int] = fact("Ranks that the placement holds in all.", known=Known.PLAN, unit="ranks")

    num_files: Fact[Int] = fact("Files that the benchmark trains on.", known=Known.PLAN, unit="files")
    configured_files: Fact[Int] = fact(
        "dataset.num_files_train of the effective configuration.", known=Known.PLAN, unit="files"
    )
    recorded_files: Fact[Int] = fact(
        "dataset.num_files_train of the parameters that the metadata states.", known=Known.RUN, unit="files"
    )
    num_files_eval: Fact[Int] = fact("Evaluation files that the summary states.", known=Known.RUN, unit="files")
    subfolders: Fact[Int] = fact("Subfolders of the dataset; 0 where the key is not set.", known=Known.PLAN)
    samples_per_file: Fact[Int] = fact("Samples in one file.", known=Known.PLAN, unit="samples")
    record_length: Fact[Float] = fact("Mean length of one sample.", known=Known.PLAN, unit="bytes")
    batch_size: Fact[Int] = fact("Samples of one step of one accelerator.", known=Known.PLAN, unit="samples")
    memory_bytes: Fact[Int] = fact(
        "Memory of all client hosts together, the largest that was measured (before the run: as declared).",
        known=Known.PROBE,
        unit="bytes",
    )
    summary_memory_bytes: Fact[Int] = fact(
        "Sum of the summary's host memory. Single entries mean nothing, they stand at the wrong hosts.",
        known=Known.RUN,
        unit="bytes",
    )
    collected_memory_bytes: Fact[Int] = fact(
        "Memory of all client hosts as the tool collected it.", known=Known.PROBE, unit="bytes"
    )
    declared_memory_bytes: Fact[Int] = fact(
        "Memory declared on the command line, over all client hosts.", known=Known.PLAN, unit="bytes"
    )
    memory_ratio: Fact[Float] = fact("Memory of the largest client host over the smallest's.", known=Known.PROBE)
    files_by_steps: Fact[Int] = fact(
        "Files for the prescribed number of steps in each epoch, rounded up.", known=Known.PLAN, unit="files"
    )
    files_by_steps_floored: Fact[Int] = fact(
        "The same rounded down, as tools before 3.0.43 sized it.", known=Known.PLAN, unit="files"
    )
    files_by_memory: Fact[Int] = fact(
        "Files for the prescribed multiple of the client memory, rounded up.", known=Known.PROBE, unit="files"
    )
    required_files: Fact[Int] = fact("The larger of both, rounded up.", known=Known.PROBE, unit="files")
    required_files_floored: Fact[Int] = fact(
        "The same rounded down, as tools before 3.0.43 sized it.", known=Known.PROBE, unit="files"
    )
    sizing: Fact[str] = fact("The computation of the required files with all its numbers.", known=Known.PROBE)

    prescribed_files: Fact[Int] = fact(
        "Files of the datasize record that belongs to this run.", known=Known.PLAN, unit="files"
    )
    datasize_record: Fact[str] = fact("Name of that datasize record.", known=Known.PLAN)
    datasize_pairs: Fact[bool] = fact(
        "Some datasize record belongs to this run by its data directory.", known=Known.PLAN
    )
    generated_files: Fact[Int] = fact("Files that datagen made.", known=Known.PLAN, unit="files")
    generated_subfolders: Fact[Int] = fact(
        "Subfolders that datagen made; 0 where the key is not set.", known=Known.PLAN
    )
    datagen_leaf: Fact[str] = fact("Name of the datagen leaf that made them.", known=Known.PLAN)
    manifest_file: Fact[str] = fact(
        "Name of the manifest of the generated files that the metadata states (datagen_manifest_file); empty where it "
        "says that there is none.",
        known=Known.RUN,
    )
    manifest_found: Fact[bool] = fact("The leaf holds that manifest.", known=Known.RUN)
    manifest_files: Fact[Int] = fact("Files that the manifest counts.", known=Known.RUN, unit="files")
    manifest_datagen: Fact[str] = fact("Name of the datagen leaf that the manifest belongs to.", known=Known.RUN)
    manifest_passed: Fact[Int] = fact(
        "Generated files that the benchmark was told of, in a run that names a manifest.",
        known=Known.RUN,
        unit="files",
    )

    epochs: Fact[Int] = fact("Epochs that were run.", known=Known.RUN, unit="epochs")
    configured_epochs: Fact[Int] = fact("Epochs of the effective configuration.", known=Known.PLAN, unit="epochs")
    au_mean: Fact[Float] = fact("Mean accelerator utilisation that the summary states.", known=Known.RUN, unit="%")
    au_target: Fact[Float] = fact(
        "Utilisation that this configuration aims at (metric.au).", known=Known.PLAN, unit="%"
    )
    au_verdict: Fact[Literal["success", "fail"]] = fact("The benchmark's own verdict on utilisation.", known=Known.RUN)
    au_listed: Fact[Int] = fact("Epochs whose utilisation the summary lists.", known=Known.RUN, unit="epochs")
    au_recomputed: Fact[Float] = fact("Mean of the listed utilisations.", known=Known.RUN, unit="%")
    au_worst: Fact[Float] = fact("Lowest utilisation of an epoch.", known=Known.RUN, unit="%")
    au_worst_epoch: Fact[Int] = fact("Number of that epoch.", known=Known.RUN)
    au_from_throughput: Fact[Float] = fact(
        "Utilisation recomputed from throughput, compute time, accelerators and batch, mean over the epochs.",
        known=Known.RUN,
        unit="%",
    )
    au_least_excess: Fact[Float] = fact(
        "Stated minus recomputed utilisation, smallest over the epochs.", known=Known.RUN, unit="points"
    )
    au_most_excess: Fact[Float] = fact(
        "Stated minus recomputed utilisation, largest over the epochs.", known=Known.RUN, unit="points"
    )
    ranks_read: Fact[bool] = fact("What every rank recorded of its steps was read (--deep).", known=Known.RUN)
    ranks_recomputed: Fact[Int] = fact(
        "Ranks whose utilisation was recomputed from their own steps.", known=Known.RUN, unit="ranks"
    )
    rank_difference: Fact[Float] = fact(
        "How far the utilisation that a rank states lies from that of its own steps, largest over ranks and epochs.",
        known=Known.RUN,
        unit="points",
    )
    rank_computation: Fact[str] = fact(
        "The recomputation at that rank and epoch with all its numbers.", known=Known.RUN
    )
    rank_mean_difference: Fact[Float] = fact(
        "How far the summary's utilisation of an epoch lies from the mean over all ranks of that of their own steps, "
        "largest over the epochs. Absent unless every rank could be recomputed.",
        known=Known.RUN,
        unit="points",
    )
    rank_mean_computation: Fact[str] = fact("The recomputation of that epoch with its numbers.", known=Known.RUN)
    rank_steps_due: Fact[Int] = fact(
        "Steps that every rank makes in an epoch: samples / (batch size x accelerators), rounded down.",
        known=Known.RUN,
        unit="steps",
    )
    rank_fewest_steps: Fact[Int] = fact(
        "Steps that a rank recorded of an epoch, fewest over ranks and epochs.", known=Known.RUN, unit="steps"
    )
    rank_most_steps: Fact[Int] = fact(
        "Steps that a rank recorded of an epoch, most over ranks and epochs.", known=Known.RUN, unit="steps"
    )
    rank_steps: Fact[str] = fact("Both, with rank and epoch.", known=Known.RUN)
    rank_last_epoch: Fact[Int] = fact("Highest number of an epoch that a rank recorded.", known=Known.RUN)

    api: Fact[Api] = fact("Access protocol of the training data.", known=Known.PLAN)
    data_dir: Fact[str] = fact("Data directory, normalised; an object URI keeps its scheme.", known=Known.PLAN)
    data_problem: Fact[str] = fact(
        "What is wrong with the object URI of the data, as the end of a sentence; empty: nothing.", known=Known.PLAN
    )
    results_dir: Fact[str] = fact("Results directory, normalised.", known=Known.PLAN)
    environment: Fact[list[str]] = fact(
        "Names of the environment variables that the metadata records: by itself, or as passed to the ranks (-x).",
        known=Known.RUN,
    )
    declared_variables: Fact[list[str]] = fact(
        "Names of environment variables that the run's overrides have as keys, whatever they lie below.",
        known=Known.RUN,
    )
    image: Fact[str] = fact("Hash of the code image that the leaf points to.", known=Known.RUN)
    validated_image: Fact[str] = fact("Hash of the code image that the tool had validated.", known=Known.RUN)
    data_shared: Fact[bool] = fact("Every client host sees the same data directory.", known=Known.PROBE)
    same_filesystem: Fact[bool] = fact(
        "Data and results lie on one filesystem, as recorded evidence says.", known=Known.PROBE
    )
    filesystem_evidence: Fact[Literal["sidecar", "df", "none"]] = fact(
        "What the evidence is: fs_separation.json, a df table in the log, or nothing.", known=Known.PROBE
    )
    sidecar_problem: Fact[str] = fact(
        "Why fs_separation.json does not speak of this run; empty where it does.", known=Known.RUN
    )
    gate_skipped: Fact[bool] = fact("The filesystem gate was skipped at launch.", known=Known.PLAN)

    overrides: Fact[list[Override]] = fact(
        "Keys of the DLIO workload that were overridden, by whomever.", known=Known.PLAN
    )
    template_values: Fact[list[TemplateValue]] = fact(
        "Keys that were not overridden, beside the reference workload.", known=Known.PLAN
    )
    stated_overrides: Fact[list[StatedOverride]] = fact(
        "Overrides as metadata and overrides.yaml state them.", known=Known.RUN
    )
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)


class TrainingDatasize(FactModel):
    """One sizing: a leaf under ``datasize/``, or the sizing that a command line asks for."""

    subject: ClassVar[str] = "training_datasize"
    namespace: ClassVar[str] = "datasize"
    parent: ClassVar[str] = "training_workload"
    plural: ClassVar[str] = "datasizes"

    name: Fact[str] = fact("The leaf's name, its time stamp.", known=Known.RUN)
    division: Fact[Division] = fact("Division claimed: path segment, or the command's.", known=Known.PLAN)
    recorded_division: Fact[str] = fact("Division that the metadata names (args.mode), lower case.", known=Known.RUN)
    command: Fact[str] = fact("Command that the metadata names, lower case.", known=Known.RUN)
    model: Fact[str] = fact("Model that was sized.", known=Known.PLAN)
    accelerator: Fact[str] = fact("Accelerator type that was sized for, lower case.", known=Known.PLAN)
    template: Fact[str] = fact("Model and accelerator as DLIO's workload name.", known=Known.PLAN)
    max_accelerators: Fact[Int] = fact("Most accelerators that runs may use.", known=Known.PLAN, unit="accelerators")
    num_files: Fact[Int] = fact("Files that the record prescribes.", known=Known.PLAN, unit="files")
    samples_per_file: Fact[Int] = fact("Samples in one file.", known=Known.PLAN, unit="samples")
    record_length: Fact[Float] = fact("Mean length of one sample.", known=Known.PLAN, unit="bytes")
    data_dir: Fact[str] = fact("Data directory, normalised; absent where none was named.", known=Known.PLAN)
    computed_files: Fact[list[Int]] = fact(
        "What the formula gives for the record's own arguments: rounded down and up, for the declared and for the "
        "measured memory.",
        known=Known.PLAN,
    )
    sizing: Fact[str] = fact("The computation with all its numbers.", known=Known.PLAN)
    missing_keys: Fact[list[str]] = fact("Keys that a sizing record states and this one lacks.", known=Known.RUN)
    overrides: Fact[list[Override]] = fact("Keys of the DLIO workload that were overridden.", known=Known.PLAN)
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)


class TrainingDatagen(FactModel):
    """One data generation: a leaf under ``datagen/``."""

    subject: ClassVar[str] = "training_datagen"
    namespace: ClassVar[str] = "datagen"
    parent: ClassVar[str] = "training_workload"
    plural: ClassVar[str] = "datagens"

    name: Fact[str] = fact("The leaf's name, its time stamp.", known=Known.RUN)
    division: Fact[Division] = fact("Division claimed.", known=Known.PLAN)
    recorded_division: Fact[str] = fact("Division that the metadata names (args.mode), lower case.", known=Known.RUN)
    directory_model: Fact[str] = fact("Name of the workload directory that holds the leaf.", known=Known.RUN)
    model: Fact[str] = fact("Model whose data was generated.", known=Known.PLAN)
    num_files: Fact[Int] = fact("Files that were generated.", known=Known.PLAN, unit="files")
    data_dir: Fact[str] = fact("Data directory, normalised.", known=Known.PLAN)
    subfolders: Fact[Int] = fact("Subfolders that were generated; 0 where the key is not set.", known=Known.PLAN)
    samples_per_file: Fact[Int] = fact("Samples in one file.", known=Known.PLAN, unit="samples")
    record_length: Fact[Float] = fact("Mean length of one sample.", known=Known.PLAN, unit="bytes")
    overrides: Fact[list[Override]] = fact("Keys of the DLIO workload that were overridden.", known=Known.PLAN)
    stated_overrides: Fact[list[StatedOverride]] = fact(
        "Overrides as metadata and overrides.yaml state them.", known=Known.RUN
    )
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)


class TrainingWorkload(FactModel):
    """One workload directory (``training/<model>``) with its datasize, datagen and run leaves."""

    subject: ClassVar[str] = "training_workload"
    namespace: ClassVar[str] = "training"
    parent: ClassVar[str] = "system"
    plural: ClassVar[str] = "training_workloads"

    division: Fact[Division] = fact("Division claimed.", known=Known.PLAN)
    model: Fact[str] = fact("Model of the workload.", known=Known.PLAN)
    accelerators: Fact[list[str]] = fact("Accelerator types of the runs.", known=Known.PLAN)
    matching_datasizes: Fact[Int] = fact(
        "Datasize records of this model, for an accelerator of the runs.", known=Known.RUN, unit="records"
    )
    datasize_labels: Fact[list[str]] = fact(
        "What each leaf under datasize/ records: command, model, accelerator.", known=Known.RUN
    )
    conflicting_datasizes: Fact[list[str]] = fact(
        "Datasize records that share a data directory and prescribe different numbers of files.", known=Known.RUN
    )
    backdated: Fact[list[str]] = fact("Datasize and datagen leaves that began after the first run.", known=Known.RUN)
    larger_runs: Fact[list[str]] = fact(
        "Files that runs use beyond those that their datasize record prescribes, with the number of such runs.",
        known=Known.RUN,
    )
    sizing_origin: Fact[Literal["datasize", "runs"]] = fact(
        "Where the prescribed size comes from: the datasize record, or for want of one the runs' own minimum.",
        known=Known.RUN,
    )
    prescribed_samples: Fact[Int] = fact("Samples that the dataset needs.", known=Known.RUN, unit="samples")
    prescribed_record_length: Fact[Float] = fact(
        "Sample length they are prescribed for.", known=Known.RUN, unit="bytes"
    )
    generated_samples: Fact[Int] = fact("Samples that datagen made.", known=Known.RUN, unit="samples")
    generated_record_length: Fact[Float] = fact("Sample length that datagen used.", known=Known.RUN, unit="bytes")
    num_hosts: Fact[Int] = fact("Client hosts of the first measured run.", known=Known.RUN, unit="hosts")
    memory_ratio: Fact[Float] = fact("Memory of its largest client host over the smallest's.", known=Known.RUN)
    core_ratio: Fact[Float] = fact("Cores of its largest client host over the smallest's.", known=Known.RUN)
    least_memory_gib: Fact[Float] = fact("Memory of its smallest client host.", known=Known.RUN, unit="GiB")
    most_memory_gib: Fact[Float] = fact("Memory of its largest client host.", known=Known.RUN, unit="GiB")
    least_cores: Fact[Int] = fact("Cores of its smallest client host.", known=Known.RUN, unit="cores")
    most_cores: Fact[Int] = fact("Cores of its largest client host.", known=Known.RUN, unit="cores")
    consistency_issues: Fact[list[str]] = fact("What the tool itself remarked on differing hosts.", known=Known.RUN)
    bandwidths: Fact[list[Bandwidth]] = fact(
        "Read bandwidth of each accelerator type with all its runs. Absent unless each measured run states one.",
        known=Known.RUN,
    )

    @property
    def runs(self) -> "tuple[TrainingRun, ...]":
        """The workload's run leaves in the order of their names."""
        return tuple(child for child in self.below if isinstance(child, TrainingRun))
