"""Facts of KV-cache results (section 6): workload directory, run leaf, and the three Options that a run executes.

What is stated of single trials and ranks stands in records: a run of 200 clients has 1800 result files. A *rank result*
is named by its place in the leaf, ``option_2/trial_0/rank_1``.
"""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact
from .files import LeafFile

Division = Literal["closed", "open", "whatif"]
Api = Literal["file", "object"]


class PlacedDirectory(Record):
    """A directory where the layout has a command or a run leaf."""

    name: str = fact("Name of the directory.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    level: Literal["command", "leaf"] = fact("What the layout has at this place.", known=Known.RUN)
    is_time: bool = fact("The name is a time stamp, YYYYMMDD_HHMMSS, of a real date.", known=Known.RUN)
    proposed: str = fact("Name of the layout that it differs from in case only; empty: none.", known=Known.RUN)


class OptionParameter(Record):
    """A workload parameter of an Option, once for each value that its trials used."""

    name: str = fact("Command-line option of the benchmark, without dashes.", known=Known.PLAN)
    value: str = fact("Value in canonical spelling; '(not set)' where the command lacks it.", known=Known.PLAN)
    reference: str = fact("Value that Table KVCache-1 gives.", known=Known.PLAN)
    trials: list[int] = fact("Trials that used this value.", known=Known.PLAN)


class CommandOption(Record):
    """An option of the benchmark that some command of an Option carries."""

    name: str = fact("Command-line option of the benchmark, without dashes.", known=Known.PLAN)
    value: str = fact("Its value in the first command that has it; empty for a switch.", known=Known.PLAN)
    trials: list[int] = fact("Trials whose command has it.", known=Known.PLAN)


class OptionRanks(Record):
    """A number of ranks that the summary states for Options."""

    ranks: int = fact("rank_count of the Options.", known=Known.RUN, unit="ranks")
    options: str = fact("Numbers of these Options.", known=Known.RUN)


class BaseCount(Record):
    """How often commands of the wrapper state a directory that the ranks' own ones lie in."""

    name: str = fact("Command-line option of the wrapper, without dashes.", known=Known.PLAN)
    count: int = fact("How often it stands in each of these commands.", known=Known.PLAN)
    commands: str = fact("Option and trial of these commands, the first few.", known=Known.PLAN)


class BannerCount(Record):
    """What the log of one trial says of its clients."""

    trial: int = fact("Number of the trial.", known=Known.RUN)
    path: str = fact("The log.", known=Known.RUN)
    clients: int = fact("Lines 'Users:' in the log, one for each client.", known=Known.RUN)
    users: int = fact("Sum of these lines.", known=Known.RUN)
    divided: bool = fact(
        "Several clients whose lines add up to --num-users: the load was divided among them.", known=Known.RUN
    )


class RankRate(Record):
    """A rate that a rank result states beside the amount and the time that the same result states."""

    rank: str = fact("The rank result.", known=Known.RUN)
    path: str = fact("Its file.", known=Known.RUN)
    stated: float = fact("Rate that it states.", known=Known.RUN)
    computed: float = fact("Its amount over its time.", known=Known.RUN)
    deviation: float = fact("Difference of the two over the larger one.", known=Known.RUN)


class SeedGroup(Record):
    """Rank results whose seed is their rank plus the same number."""

    base: int = fact("Seed minus rank.", known=Known.RUN)
    ranks: str = fact("The rank results, the first few by name.", known=Known.RUN)


class SharedValue(Record):
    """Something that each client must have for itself, with the rank results that have it."""

    what: Literal["seed", "measurements", "output base"] = fact("What it is.", known=Known.RUN)
    value: str = fact("The value; for measurements, what they are.", known=Known.RUN)
    count: int = fact("How many rank results (or commands) have it.", known=Known.RUN)
    holders: str = fact("These, the first few by name.", known=Known.RUN)


class MissingResult(Record):
    """Rank results of a trial without a usable file; trials, or an Option, where none of their ranks has one."""

    name: str = fact("Places in the leaf, e.g. option_2/trial_0/rank_1, the first few.", known=Known.RUN)
    path: str = fact("Path relative to the results directory; of several, the directory around them.", known=Known.RUN)
    count: int = fact("Rank results that it stands for.", known=Known.RUN)
    declared: bool = fact("The summary lists them under missing_files.", known=Known.RUN)
    detail: str = fact("What is wrong, in a few words.", known=Known.RUN)
    cause: str = fact("Cause id that the absences of what it would have stated carry.", known=Known.RUN)


class ExtraResult(Record):
    """A result that the layout has no place for."""

    name: str = fact("Place in the leaf.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    kind: Literal["second file", "rank", "trial", "misnamed"] = fact(
        "A second result file of a rank, a directory beyond the run's ranks or trials, or one that only begins like "
        "theirs.",
        known=Known.RUN,
    )


class EnvironmentVariable(Record):
    """A variable that the launcher hands to the benchmark."""

    name: str = fact("Name of the variable.", known=Known.PLAN)
    value: str = fact("Its value; empty where the launcher's own is passed on.", known=Known.PLAN)
    files: list[str] = fact("Names, without directories, of the paths in it.", known=Known.PLAN)


class Argument(Record):
    """An argument that a CLOSED run records and does not use."""

    name: str = fact("Name of the argument.", known=Known.PLAN)
    value: str = fact("Recorded value in canonical spelling.", known=Known.PLAN)
    default: str = fact("The parser's default, which honest runs record.", known=Known.PLAN)
    table_values: list[str] = fact("Values of Table KVCache-1, which some tools record.", known=Known.PLAN)


class Feature(Record):
    """An optional feature of the benchmark."""

    name: str = fact("Name of the feature.", known=Known.RUN)
    observed: bool = fact("Results or logs show that it was on.", known=Known.RUN)
    requested: bool = fact(
        "A recorded command, or a configuration of the submitter, can have asked for it.", known=Known.RUN
    )


class KvCacheWorkload(FactModel):
    """One workload directory, ``kv_cache/<model>``, with its run leaves."""

    subject: ClassVar[str] = "kv_cache_workload"
    namespace: ClassVar[str] = "kv_workload"
    parent: ClassVar[str] = "system"
    plural: ClassVar[str] = "kv_workloads"

    division: Fact[Division] = fact("Division claimed.", known=Known.PLAN)
    model: Fact[str] = fact("Name of the workload directory.", known=Known.RUN)
    run_names: Fact[list[str]] = fact("Measured runs: the leaves in their place, oldest first.", known=Known.RUN)
    complete_runs: Fact[list[str]] = fact(
        "Those with a summary, all rank results and no failed trial.", known=Known.RUN
    )
    published_run: Fact[str] = fact("The latest of these.", known=Known.RUN)
    other_runs: Fact[list[str]] = fact("The measured runs without the published one.", known=Known.RUN)
    directories: Fact[list[PlacedDirectory]] = fact("Directories at the command and leaf levels.", known=Known.RUN)
    product_api: Fact[Api] = fact("Protocol of the product that was tested, as described.", known=Known.RUN)
    gateways_named: Fact[list[str]] = fact(
        "Gateway or mount software that the system description mentions.", known=Known.RUN
    )


class KvCacheRun(FactModel):
    """One run leaf with its three Options."""

    subject: ClassVar[str] = "kv_cache_run"
    namespace: ClassVar[str] = "kv_run"
    parent: ClassVar[str] = "kv_cache_workload"
    plural: ClassVar[str] = "kv_runs"

    division: Fact[Division] = fact("Division claimed: path segment, or the command's.", known=Known.PLAN)
    recorded_division: Fact[str] = fact("Division that the metadata names (args.mode), lower case.", known=Known.RUN)
    recorded_verdict: Fact[str] = fact(
        "The gate's verdict as recorded, lower case; 'none' where it gave none.", known=Known.RUN
    )
    leaf_name: Fact[str] = fact("Name of the leaf, where it is a time stamp.", known=Known.RUN)
    other_half: Fact[str] = fact(
        "Name of a second directory that holds a part of the same run; empty for none.", known=Known.RUN
    )
    run_day: Fact[Int] = fact("Day of the run as YYYYMMDD, from the leaf's name.", known=Known.RUN)
    run_datetime: Fact[str] = fact("run_datetime of the summary.", known=Known.RUN)
    summary_kind: Fact[Literal["current", "older", "none"]] = fact(
        "Whether the summary has its current name, an older one, or is not there.", known=Known.RUN
    )
    summary_file: Fact[str] = fact("Name of the summary that was read.", known=Known.RUN)
    summary_names: Fact[list[str]] = fact("Names of all summaries, the one that was read first.", known=Known.RUN)
    summaries_agree: Fact[bool] = fact(
        "All summaries of the leaf say the same (one may lie there under an older name).", known=Known.RUN
    )
    metadata_files: Fact[list[str]] = fact("Names of the metadata files.", known=Known.RUN)

    metadata_cause: Fact[str] = fact("Cause id of what several metadata files leave unknown.", known=Known.RUN)
    unknown_options: Fact[str] = fact(
        "Options of the summary, the directories or the commands that Table KVCache-1 does not have, the first few; "
        "empty for none. Nothing else is known of them.",
        known=Known.RUN,
    )

    total_ranks: Fact[Int] = fact("Clients (MPI ranks) that the summary states.", known=Known.RUN, unit="ranks")
    ranks: Fact[Int] = fact(
        "Clients that the run had: as the summary states, or as commands and rank results agree against it; where no "
        "command states a number of ranks, its slots do, and after them args.num_processes.",
        known=Known.RUN,
        unit="ranks",
    )
    option_ranks: Fact[list[OptionRanks]] = fact("Ranks that the summary states for its Options.", known=Known.RUN)
    npernode: Fact[Int] = fact("Clients a host that the summary states.", known=Known.RUN, unit="ranks")
    host_count: Fact[Int] = fact("Hosts that the summary states.", known=Known.RUN, unit="hosts")
    hosts_given: Fact[Int] = fact(
        "Distinct hosts of the command line; 1 where none is given.", known=Known.PLAN, unit="hosts"
    )
    resolved_ranks: Fact[Int] = fact(
        "Clients that --num-processes, --npernode and --hosts resolve to.", known=Known.PLAN, unit="ranks"
    )
    command_ranks: Fact[list[int]] = fact("Values of mpirun -n, each once.", known=Known.PLAN)
    programs: Fact[list[str]] = fact(
        "Programs that the recorded commands start: the benchmark's wrapper, or the benchmark itself; each once.",
        known=Known.PLAN,
    )
    bases: Fact[list[BaseCount]] = fact("Directories that commands of the wrapper state.", known=Known.PLAN)
    command_slots: Fact[list[int]] = fact("Sums of the slots of mpirun -host, each once.", known=Known.PLAN)
    collected_hosts: Fact[Int] = fact(
        "Hosts that the collector saw (system_info.num_hosts).", known=Known.PROBE, unit="hosts"
    )

    seed_given: Fact[bool] = fact("A seed was given; without one the tool takes its default.", known=Known.PLAN)
    seed: Fact[Int] = fact("Seed that was given (args.seed).", known=Known.PLAN)
    trials: Fact[Int] = fact("Trials that were asked for (args.trials).", known=Known.PLAN, unit="trials")
    recorded_trials: Fact[Int] = fact("Trials that the summary states.", known=Known.RUN, unit="trials")
    inter_option_delay: Fact[Int] = fact("Delay between Options that was asked for.", known=Known.PLAN, unit="s")
    observed_delay: Fact[Float] = fact(
        "Shortest time between two Options that the start times of rank 0 (and its log) show.",
        known=Known.RUN,
        unit="s",
    )
    config_given: Fact[bool] = fact("A benchmark configuration was given (--config).", known=Known.PLAN)
    foreign_configs: Fact[list[str]] = fact(
        "Configurations in the commands that do not lie beside the wrapper.", known=Known.PLAN
    )

    cache_dir: Fact[str] = fact("Cache directory (--cache-dir), normalised; a URL keeps its scheme.", known=Known.PLAN)
    cache_is_url: Fact[bool] = fact("The cache directory is a URL.", known=Known.PLAN)
    results_dir: Fact[str] = fact("Results directory, normalised.", known=Known.PLAN)
    cache_inside_results: Fact[str] = fact(
        "Cache directory, of a command or given, that is the results directory or lies in it; empty where none does.",
        known=Known.PLAN,
    )
    results_inside_cache: Fact[bool] = fact("The results directory lies below the cache directory.", known=Known.PLAN)
    same_filesystem: Fact[bool] = fact(
        "Cache and results lie on one filesystem, as recorded evidence says.", known=Known.PROBE
    )
    filesystem_evidence: Fact[Literal["sidecar", "none"]] = fact(
        "What the evidence is: fs_separation.json, or nothing.", known=Known.PROBE
    )
    gate_skipped: Fact[bool] = fact("The filesystem gate was skipped (--skip-fs-separation-gate).", known=Known.PLAN)
    environment: Fact[list[EnvironmentVariable]] = fact(
        "Variables that the launcher sets for the benchmark.", known=Known.PLAN
    )
    wrapper_directories: Fact[list[str]] = fact(
        "Names of the directories that hold the wrapper, each once.", known=Known.PLAN
    )
    benchmark_path_given: Fact[bool] = fact("Another benchmark was given (kvcache_bin_path).", known=Known.PLAN)
    allow_invalid_params: Fact[bool] = fact("Invalid parameters were let through.", known=Known.PLAN)
    params: Fact[str] = fact("Free parameters that were passed on; empty for none.", known=Known.PLAN)
    loops: Fact[Int] = fact("How often the whole run was repeated.", known=Known.PLAN)
    arguments: Fact[list[Argument]] = fact("Workload arguments of the tool beside their defaults.", known=Known.PLAN)
    config_file: Fact[str] = fact("YAML file with arguments (--config-file); empty for none.", known=Known.PLAN)
    validation_skipped: Fact[bool] = fact("The tool's validation was skipped.", known=Known.PLAN)

    partial_failure: Fact[bool] = fact("The summary states a partial failure of the run.", known=Known.RUN)
    option_failure: Fact[bool] = fact("It states a partial failure of some Option.", known=Known.RUN)
    failure_listed: Fact[bool] = fact(
        "It lists rank results as missing that are: the Options that they are of failed in part.", known=Known.RUN
    )
    missing_count: Fact[Int] = fact("Rank results without a usable file, over all Options.", known=Known.RUN)
    missing_beyond_controller: Fact[bool] = fact(
        "Several hosts, and the missing rank results are exactly those of the hosts other than the first.",
        known=Known.RUN,
    )
    missing_cause: Fact[str] = fact("Cause id of what missing rank results leave unknown.", known=Known.RUN)
    probe_hosts: Fact[Int] = fact("Hosts that left a sentinel in .fs_probe.", known=Known.PROBE, unit="hosts")
    shared_measurements: Fact[list[SharedValue]] = fact(
        "Latency lists of the leaf that several rank results have in common.", known=Known.RUN
    )
    features: Fact[list[Feature]] = fact("Optional features that results, logs or commands show.", known=Known.RUN)
    files: Fact[list[LeafFile]] = fact("Files of the leaf that facts are read from.", known=Known.RUN)

    @property
    def options(self) -> "tuple[KvCacheOption, ...]":
        """The run's Options."""
        return tuple(child for child in self.below if isinstance(child, KvCacheOption))


class KvCacheOption(FactModel):
    """One Option of a run: its commands and rank results, and the aggregates that the summary states of them."""

    subject: ClassVar[str] = "kv_cache_option"
    namespace: ClassVar[str] = "kv_option"
    parent: ClassVar[str] = "kv_cache_run"
    plural: ClassVar[str] = "kv_options"

    name: Fact[str] = fact("Number of the Option as text, the key of Table KVCache-1.", known=Known.PLAN)
    executed: Fact[bool] = fact("A command, a directory or a key of the summary shows it.", known=Known.PLAN)
    in_summary: Fact[bool] = fact("The summary has aggregates of it.", known=Known.RUN)

    parameters: Fact[list[OptionParameter]] = fact(
        "Parameters of the executed commands beside Table KVCache-1.", known=Known.PLAN
    )
    banner: Fact[list[OptionParameter]] = fact(
        "The same as the benchmark's log states them, where it does.", known=Known.RUN
    )
    command_options: Fact[list[CommandOption]] = fact("All options of the executed commands.", known=Known.PLAN)
    unrecorded_trials: Fact[list[int]] = fact("Trials with results and without a recorded command.", known=Known.RUN)
    shortest_seconds: Fact[Float] = fact("Timed window of the rank with the shortest one.", known=Known.RUN, unit="s")
    longest_seconds: Fact[Float] = fact("Timed window of the rank with the longest one.", known=Known.RUN, unit="s")
    users: Fact[list[float]] = fact("Values of --num-users over the trials, each once.", known=Known.PLAN)
    durations: Fact[list[float]] = fact("Values of --duration over the trials, each once.", known=Known.PLAN)
    models: Fact[list[str]] = fact(
        "Values of --model over the trials, each once; without one the benchmark runs its default.", known=Known.PLAN
    )
    tiers: Fact[str] = fact("Sizes of the GPU and CPU tiers as the commands state them.", known=Known.PLAN)
    offered_users: Fact[Float] = fact("Users over all clients.", known=Known.PLAN, unit="users")
    inflight: Fact[Float] = fact("Concurrent allocations over all clients.", known=Known.PLAN)

    seed_bases: Fact[list[int]] = fact("Values of --seed-base over the trials, each once.", known=Known.PLAN)
    seeds: Fact[list[SeedGroup]] = fact("Seeds of the rank results.", known=Known.RUN)
    autoscaling_enabled: Fact[bool] = fact("A command carries --enable-autoscaling.", known=Known.PLAN)
    autoscaling_banner: Fact[bool] = fact("The benchmark's log states that autoscaling is on.", known=Known.RUN)
    autoscaled_ranks: Fact[str] = fact(
        "Rank results that hold a record of autoscaling, the first few by name; empty for none.", known=Known.RUN
    )
    io_trace: Fact[bool] = fact("A command carries --io-trace-log: nothing is read or written.", known=Known.PLAN)

    clients: Fact[list[BannerCount]] = fact("Client lines of the logs.", known=Known.RUN)
    load_divided: Fact[bool] = fact("In some trial the users were divided among the clients.", known=Known.RUN)
    shared: Fact[list[SharedValue]] = fact(
        "Seeds and directories that several clients or trials share.", known=Known.RUN
    )
    forwarded: Fact[list[str]] = fact(
        "Options of the commands that would give all clients one path or seed.", known=Known.PLAN
    )
    missing: Fact[list[MissingResult]] = fact("Rank results without a usable file.", known=Known.RUN)
    extra: Fact[list[ExtraResult]] = fact("Results that the layout has no place for.", known=Known.RUN)
    expected_results: Fact[Int] = fact("Ranks times trials.", known=Known.RUN, unit="rank results")
    missing_results: Fact[Int] = fact("How many of them have no usable file.", known=Known.RUN, unit="rank results")
    undeclared: Fact[Int] = fact(
        "How many of these the summary does not list as missing.", known=Known.RUN, unit="rank results"
    )
    wrongly_declared: Fact[str] = fact(
        "Entries of missing_files whose result is there, the first few; empty for none.", known=Known.RUN
    )
    partial_failure: Fact[bool] = fact("The summary states a partial failure of the Option.", known=Known.RUN)
    failures: Fact[list[str]] = fact("Failed trials with their exit codes.", known=Known.RUN)

    recorded_read_bandwidth: Fact[Float] = fact(
        "Aggregated read bandwidth of the summary.", known=Known.RUN, unit="GiB/s"
    )
    read_bandwidth: Fact[Float] = fact(
        "Storage-tier read bandwidth: mean over trials of the sum over ranks.", known=Known.RUN, unit="GiB/s"
    )
    read_deviation: Fact[Float] = fact("Relative difference of these two.", known=Known.RUN)
    read_rank: Fact[list[RankRate]] = fact(
        "The rank whose read bandwidth (GiB/s) differs most from its bytes over its window.", known=Known.RUN
    )
    recorded_write_bandwidth: Fact[Float] = fact(
        "Aggregated write bandwidth of the summary.", known=Known.RUN, unit="GiB/s"
    )
    write_bandwidth: Fact[Float] = fact("Storage-tier write bandwidth, likewise.", known=Known.RUN, unit="GiB/s")
    write_deviation: Fact[Float] = fact("Relative difference of these two.", known=Known.RUN)
    write_rank: Fact[list[RankRate]] = fact(
        "The rank whose write bandwidth (GiB/s) differs most from its bytes over its window.", known=Known.RUN
    )
    longest_request_ratio: Fact[Float] = fact(
        "Longest request of a rank over its timed window, the largest of all ranks.", known=Known.RUN
    )
    recorded_storage_throughput: Fact[Float] = fact(
        "Aggregated storage throughput of the summary.", known=Known.RUN, unit="tokens/s"
    )
    storage_throughput: Fact[Float] = fact(
        "Tokens over storage time: mean over trials of the sum over ranks.", known=Known.RUN, unit="tokens/s"
    )
    storage_throughput_deviation: Fact[Float] = fact("Relative difference of these two.", known=Known.RUN)
    throughput_rank: Fact[list[RankRate]] = fact(
        "The rank whose storage throughput (tokens/s) differs most from its tokens over its storage time.",
        known=Known.RUN,
    )
    recorded_average_throughput: Fact[Float] = fact(
        "Aggregated wall-clock throughput of the summary (not scored).", known=Known.RUN, unit="tokens/s"
    )
    average_throughput: Fact[Float] = fact("Tokens over wall-clock time, likewise.", known=Known.RUN, unit="tokens/s")
    average_throughput_deviation: Fact[Float] = fact("Relative difference of these two.", known=Known.RUN)
    recorded_device_read_p95: Fact[Float] = fact("Device read P95 of the summary.", known=Known.RUN, unit="ms")
    device_read_p95: Fact[Float] = fact(
        "Largest device read P95 of a rank and trial, 0 for a rank without a sample. Not recorded where no rank of the "
        "leaf states one.",
        known=Known.RUN,
        unit="ms",
    )
    device_read_deviation: Fact[Float] = fact(
        "Relative difference of these two; what the summary states and no rank does is compared with 0.",
        known=Known.RUN,
    )
    recorded_device_write_p95: Fact[Float] = fact("Device write P95 of the summary.", known=Known.RUN, unit="ms")
    device_write_p95: Fact[Float] = fact("The same of writes.", known=Known.RUN, unit="ms")
    device_write_deviation: Fact[Float] = fact("Relative difference of these two, likewise.", known=Known.RUN)
    recorded_storage_p95: Fact[Float] = fact("aggregated_p95_latency_ms of the summary.", known=Known.RUN, unit="ms")
    storage_p95: Fact[Float] = fact(
        "Largest storage I/O P95 of a rank and trial, all tiers; no device latency.", known=Known.RUN, unit="ms"
    )
    storage_p95_deviation: Fact[Float] = fact("Relative difference of these two.", known=Known.RUN)
    storage_p95_is_device: Fact[bool] = fact(
        "aggregated_p95_latency_ms equals the largest device read P95 instead.", known=Known.RUN
    )

    cpu_tier: Fact[Literal["none", "some", "all", "unknown"]] = fact(
        "Which rank results were served from the CPU tier alone; 'unknown' where they do not tell.", known=Known.RUN
    )
    cpu_tier_count: Fact[Int] = fact(
        "Rank results whose storage tier holds no entry.", known=Known.RUN, unit="rank results"
    )
    cpu_tier_ranks: Fact[str] = fact("These, the first few by name; empty for none.", known=Known.RUN)
    recorded_cpu_tier_ranks: Fact[str] = fact("What the summary lists as such, likewise.", known=Known.RUN)
    cpu_tier_as_listed: Fact[bool] = fact("The summary lists exactly these.", known=Known.RUN)
    unsampled_ranks: Fact[str] = fact(
        "Rank results with entries in the storage tier and no device read latency, the first few; empty for none.",
        known=Known.RUN,
    )
    storage_read_gib: Fact[Float] = fact(
        "Read from the storage tier, over all ranks and trials.", known=Known.RUN, unit="GiB"
    )
