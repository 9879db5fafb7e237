"""Facts of what surrounds the runs: the tree, its submitters, their systems, the workload directories and the leaves.

They tell what is where and how it is named, never what is in a result; rules 1.1 and 2.1.1 to 2.1.27 judge them.
"""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact

Layout = Literal["none", "1", "2", "3"]


class TopDirectory(Record):
    """One directory at the top of the tree."""

    name: str = fact("Its name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    lower: str = fact("Its name in lower case.", known=Known.RUN)
    marked: bool = fact("It holds the marker of a pool of code images.", known=Known.RUN)
    images: bool = fact("It holds directories with the names of code images.", known=Known.RUN)
    listed: bool = fact("It could be listed.", known=Known.RUN)


class Misplaced(Record):
    """A directory with the name of a leaf where no leaf can lie."""

    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    above: str = fact("The directory that holds it.", known=Known.RUN)


class Obstacle(Record):
    """Something that was not gone into: a directory that cannot be listed, links and files of special kinds."""

    path: str = fact("The directory concerned.", known=Known.RUN)
    kind: str = fact("unlisted, link, FIFO, socket, ...: what was met.", known=Known.RUN)
    listed: bool = fact("The directory itself could be listed.", known=Known.RUN)
    names: str = fact("The names concerned, the first of them where there are many.", known=Known.RUN)
    count: int = fact("Number of names concerned.", known=Known.RUN)
    submission: bool = fact("It stands where a division or a submitter does.", known=Known.RUN)
    in_leaf: bool = fact("The directory is a leaf.", known=Known.RUN)
    detail: str = fact("Why it could not be listed.", known=Known.RUN)
    cause: str = fact("Cause id of what is not known for this reason.", known=Known.RUN)


class Tree(FactModel):
    """The results tree."""

    subject: ClassVar[str] = "tree"
    namespace: ClassVar[str] = "root"
    plural: ClassVar[str] = "roots"

    live: Fact[bool] = fact("It holds mlperf-results.yaml: a directory still worked with, no package.", known=Known.RUN)
    divisions: Fact[list[str]] = fact("Division directories, in lower case.", known=Known.RUN)
    closed_submitters: Fact[Int] = fact("Submitters in closed.", known=Known.RUN, unit="submitters")
    open_submitters: Fact[Int] = fact("Submitters in open.", known=Known.RUN, unit="submitters")
    directories: Fact[list[TopDirectory]] = fact("Directories at the top, without dot names.", known=Known.RUN)
    misplaced: Fact[list[Misplaced]] = fact("Leaves that lie directly in a division.", known=Known.RUN)
    obstacles: Fact[list[Obstacle]] = fact("What was not gone into at the top and in the divisions.", known=Known.RUN)


class SubmitterEntry(Record):
    """One directory of a submitter."""

    name: str = fact("Its name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    stamped: bool = fact("It has the name of a leaf.", known=Known.RUN)
    nested: bool = fact("It holds results or descriptions itself.", known=Known.RUN)
    proposed: str = fact("Name of the layout that it differs from in case only; empty: none.", known=Known.RUN)


class Submitter(FactModel):
    """One submitter of a division."""

    subject: ClassVar[str] = "submitter"
    namespace: ClassVar[str] = "submitter"
    parent: ClassVar[str] = "tree"
    plural: ClassVar[str] = "submitters"

    division: Fact[str] = fact("Division that it lies in, in lower case.", known=Known.PLAN)
    name: Fact[str] = fact("Name of the submitter (--orgname).", known=Known.PLAN)
    layout: Fact[Layout] = fact(
        "3: the tree has code-images/; 2: the submitter has a marked pool; 1: code/ lies in the tree; none.",
        known=Known.RUN,
    )
    has_results: Fact[bool] = fact("There is a directory results.", known=Known.RUN)
    has_systems: Fact[bool] = fact("There is a directory systems.", known=Known.RUN)
    has_code: Fact[bool] = fact("There is a directory code.", known=Known.RUN)
    directories: Fact[list[SubmitterEntry]] = fact("Its directories, without dot names.", known=Known.RUN)
    misplaced: Fact[list[Misplaced]] = fact("Leaves in it or in its results.", known=Known.RUN)
    obstacles: Fact[list[Obstacle]] = fact("What was not gone into in its own directories.", known=Known.RUN)


class Family(Record):
    """One directory of a system."""

    name: str = fact("Its name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    proposed: str = fact(
        "The workload category that it is taken for, whatever its spelling; empty: none.", known=Known.RUN
    )
    children: int = fact("Number of workload directories in it, or of leaves that lie in their place.", known=Known.RUN)
    listed: bool = fact("It could be listed, as far as it was gone into.", known=Known.RUN)


class WorkloadName(Record):
    """One directory directly below a workload category."""

    name: str = fact("Its name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    family: str = fact("The category that it lies in.", known=Known.RUN)
    misplaced: int = fact("Leaves that lie directly in it where a command should stand.", known=Known.RUN)


class SystemResults(FactModel):
    """The results of one system."""

    subject: ClassVar[str] = "system_directory"
    namespace: ClassVar[str] = "place"
    parent: ClassVar[str] = "submitter"
    plural: ClassVar[str] = "places"

    division: Fact[str] = fact("Division that it lies in, in lower case.", known=Known.PLAN)
    name: Fact[str] = fact("Name of the system (--systemname).", known=Known.PLAN)
    num_categories: Fact[Int] = fact("Number of its directories, without dot names.", known=Known.RUN)
    categories: Fact[list[Family]] = fact("Its directories, without dot names.", known=Known.RUN)
    workloads: Fact[list[WorkloadName]] = fact("Workload directories of all categories.", known=Known.RUN)
    misplaced: Fact[list[Misplaced]] = fact("Leaves at a wrong depth, anywhere below.", known=Known.RUN)
    obstacles: Fact[list[Obstacle]] = fact("What was not gone into, anywhere below.", known=Known.RUN)


class Phase(Record):
    """One phase that a training workload has."""

    name: str = fact("datasize, datagen or run.", known=Known.RUN)
    there: bool = fact("Its directory is there.", known=Known.RUN)
    cause: str = fact("Cause id of what is not known without it.", known=Known.RUN)


class Directory(Record):
    """One directory of a workload directory, or of its commands."""

    name: str = fact("Its name.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    command: str = fact(
        "The command whose leaves should lie beside it; empty at the level of the commands.", known=Known.RUN
    )
    run_like: bool = fact("It holds the files of a run.", known=Known.RUN)
    leaves_below: int = fact("Leaves that lie deeper in it.", known=Known.RUN)
    digits: bool = fact("Its name has the form of a time stamp and is no date.", known=Known.RUN)
    proposed: str = fact("Name of the layout that it differs from in case only; empty: none.", known=Known.RUN)


class LeafGroup(Record):
    """The leaves of one command; runs of training by accelerator."""

    command: str = fact("datasize, datagen or run.", known=Known.RUN)
    path: str = fact("The directory that holds them.", known=Known.RUN)
    accelerator: str = fact("Accelerator that their metadata names; empty where none does.", known=Known.RUN)
    count: int = fact("Leaves that hold a result.", known=Known.RUN)
    misnamed: int = fact("Directories beside them that hold a run, or leaves, under another name.", known=Known.RUN)
    names: str = fact("Names of the leaves.", known=Known.RUN)


class ResultsFile(Record):
    """A place where results.json should stand."""

    path: str = fact("The directory that should hold it.", known=Known.RUN)
    there: bool = fact("It is there.", known=Known.RUN)
    similar: str = fact("Names there that differ in case only; empty: none.", known=Known.RUN)


class Pause(Record):
    """The time between two neighbouring invocations."""

    names: str = fact("The two leaves.", known=Known.RUN)
    path: str = fact("The directory that holds them.", known=Known.RUN)
    idle_seconds: Float = fact("From the end of the first to the start of the second.", known=Known.RUN, unit="s")
    shortest_seconds: Float = fact("Duration of the shortest of all the runs.", known=Known.RUN, unit="s")
    longest_seconds: Float = fact("Duration of the longer of the two.", known=Known.RUN, unit="s")
    origin: str = fact("The two readings that it was computed from.", known=Known.RUN)


class WorkloadResults(FactModel):
    """One workload directory."""

    subject: ClassVar[str] = "workload_directory"
    namespace: ClassVar[str] = "directory"
    parent: ClassVar[str] = "system_directory"
    plural: ClassVar[str] = "directories"

    division: Fact[str] = fact("Division that it lies in, in lower case.", known=Known.RUN)
    family: Fact[str] = fact("Workload category.", known=Known.RUN)
    name: Fact[str] = fact("Its name: the model, or the index type.", known=Known.RUN)
    live: Fact[bool] = fact("The tree is still worked with, no package.", known=Known.RUN)
    misplaced: Fact[Int] = fact("Leaves that lie directly in it where a command should stand.", known=Known.RUN)
    held: Fact[Int] = fact(
        "Leaves that hold something, whatever their name and level, and other directories in their place.",
        known=Known.RUN,
    )
    phases: Fact[list[Phase]] = fact("The phases of a training workload; empty for other categories.", known=Known.RUN)
    entries: Fact[list[Directory]] = fact("Directories at the level of the commands, leaves left out.", known=Known.RUN)
    strays: Fact[list[Directory]] = fact("Directories beside leaves that have no leaf's name.", known=Known.RUN)
    groups: Fact[list[LeafGroup]] = fact("Leaves by command, runs of training by accelerator.", known=Known.RUN)
    accelerators: Fact[list[str]] = fact("Accelerators of the training runs.", known=Known.RUN)
    results_files: Fact[list[ResultsFile]] = fact(
        "Where results.json should stand; empty for other categories than training and checkpointing.", known=Known.RUN
    )
    pauses: Fact[list[Pause]] = fact("Pauses between neighbouring runs, as far as times are known.", known=Known.RUN)
    times_known: Fact[bool] = fact("Start and end of every run are known.", known=Known.RUN)
    stray_logs: Fact[list[str]] = fact("Paths of dlio.log files that lie beside leaves.", known=Known.RUN)


class RunLeaf(FactModel):
    """One directory with the name of a leaf."""

    subject: ClassVar[str] = "leaf"
    namespace: ClassVar[str] = "leaf"
    parent: ClassVar[str] = "workload_directory"
    plural: ClassVar[str] = "leaves"

    name: Fact[str] = fact("Its name.", known=Known.RUN)
    directory: Fact[str] = fact("Path of the directory that it lies in; empty: none is known.", known=Known.RUN)
    family: Fact[str] = fact("Workload category that it lies in.", known=Known.RUN)
    command: Fact[str] = fact("Command that it lies under; run where the category has none.", known=Known.RUN)
    kind: Fact[str] = fact(
        "Category and command, e.g. training/datagen; checkpointing/datasize for a sizing among checkpointing runs.",
        known=Known.RUN,
    )
    stamped: Fact[bool] = fact("Its name is a time stamp and a real date.", known=Known.RUN)
    stub: Fact[bool] = fact("It holds nothing, or dot entries only.", known=Known.RUN)
    rest: Fact[str] = fact(
        "Name of the directory beside it that holds the other part of the same run; empty: it is whole.",
        known=Known.RUN,
    )
    content: Fact[list[str]] = fact("Which of the files that a leaf of its kind can hold are there.", known=Known.RUN)
    content_causes: Fact[list[str]] = fact("Cause ids of those that are not there.", known=Known.RUN)
    rank_files: Fact[Int] = fact(
        "Ranks of which both the output and the statistics are there.", known=Known.RUN, unit="ranks"
    )
    processes: Fact[Int] = fact("Processes that its metadata records for the run.", known=Known.RUN, unit="processes")
    has_configuration: Fact[bool] = fact("There is a directory dlio_config.", known=Known.RUN)
    configuration_path: Fact[str] = fact("Where dlio_config should be.", known=Known.RUN)
    configuration: Fact[list[str]] = fact("Names in dlio_config, without dot names.", known=Known.RUN)
    configuration_causes: Fact[list[str]] = fact("Cause ids of its files that are not there.", known=Known.RUN)
    metadata_files: Fact[list[str]] = fact("Names of its metadata files.", known=Known.RUN)
    metadata_cause: Fact[str] = fact("Cause id of what is not known without metadata.", known=Known.RUN)
    expected_metadata: Fact[str] = fact("Name of its metadata, from category and leaf.", known=Known.RUN)
    run_datetime: Fact[str] = fact("Time that the metadata records for the run.", known=Known.RUN)
    benchmark_type: Fact[str] = fact("Category that the metadata records.", known=Known.RUN)
    recorded_command: Fact[str] = fact("Command that the metadata records.", known=Known.RUN)
    command_cause: Fact[str] = fact("Cause id of what is not known because that is another command.", known=Known.RUN)
    recorded_status: Fact[str] = fact(
        "How the run ended, as the tool that ran it recorded, lower case: completed, failed, interrupted.",
        known=Known.RUN,
    )
    exit_status: Fact[Int] = fact("Exit status of the benchmark that the metadata records.", known=Known.RUN)
    skipped_probes: Fact[list[str]] = fact(
        "Probes of the machine that the tool was told to leave out before this run.", known=Known.RUN
    )
    unusable_times: Fact[list[str]] = fact(
        "Times of the invocation, and its zone, that the metadata states and that are none.", known=Known.RUN
    )
    credentials: Fact[list[str]] = fact(
        "Names of the settings in the metadata (environment, arguments, overrides, command line) that look like a "
        "credential and have a value that is not masked.",
        known=Known.RUN,
    )
