"""Facts of a system: what its description (``systems/<name>.yaml``) says, and what the runs on it saw."""

from typing import ClassVar, Literal

from .base import Fact, FactModel, Float, Int, Known, Record, fact
from .files import LeafFile

FileState = Literal["ok", "missing", "empty", "damaged", "refused", "placeholder", "misnamed"]


class DescriptionProblem(Record):
    """What is wrong with the fields of one object of a description: a node group, a drive, a port, the solution."""

    object: str = fact("The object, e.g. product_nodes[0].drives[1].", known=Known.PLAN)
    kind: Literal["fields", "blank", "custom_hardware", "drive_key"] = fact(
        "'fields': missing, null, unknown, of a wrong type or value; 'blank': texts of nothing (of the whole file); "
        "'custom_hardware': CPU and memory of a product node are null together; 'drive_key': a key in drives[] "
        "that the format does not have.",
        known=Known.PLAN,
    )
    line: Int = fact("Line of the first of its fields in the file.", known=Known.PLAN)
    fields: list[str] = fact("Paths of the fields.", known=Known.PLAN)
    values: list[str] = fact("What stands there, field by field.", known=Known.PLAN)
    legal: list[str] = fact("What may stand there, field by field.", known=Known.PLAN)
    detail: str = fact("All of that in one text, with lines.", known=Known.PLAN)
    printed_detail: str = fact(
        "The same without the fields that the printed v3.0 format does not have; empty where no others are left.",
        known=Known.PLAN,
    )
    cause: str = fact("Cause id that the absences of these fields carry.", known=Known.PLAN)


class PhysicalUnit(Record):
    """A node group or a group of switches, as far as it stands in a rack."""

    object: str = fact("The group, e.g. clients[0].", known=Known.PLAN)
    line: Int = fact("Line in the file.", known=Known.PLAN)
    missing: list[str] = fact("Which of rack_units and power it does not state.", known=Known.PLAN)
    cause: str = fact("Cause id that the absences of these carry.", known=Known.PLAN)


class PowerFeed(Record):
    """Supplies of one chassis, switch or rack."""

    object: str = fact("The power block, e.g. product_nodes[0].chassis.power.", known=Known.PLAN)
    line: Int = fact("Line in the file.", known=Known.PLAN)
    active: Int = fact("Supplies that must be active.", known=Known.PLAN)
    configured: Int = fact("Supplies that are configured.", known=Known.PLAN)


class System(FactModel):
    """One described system with the workloads that ran on it."""

    subject: ClassVar[str] = "system"
    namespace: ClassVar[str] = "system"
    plural: ClassVar[str] = "systems"

    name: Fact[str] = fact(
        "Name of the system: of its results directory and of its description's file.", known=Known.RUN
    )
    results: Fact[Literal["present", "absent", "no_directory"]] = fact(
        "Whether results/ has a directory of this name; 'no_directory': there is no results/.", known=Known.RUN
    )
    description_state: Fact[FileState] = fact(
        "State of the description; 'misnamed': there is one whose name does not end in .yaml exactly.", known=Known.RUN
    )
    description_path: Fact[str] = fact("The description, or the misnamed one.", known=Known.RUN)
    description_detail: Fact[str] = fact("Why it cannot be used; empty where it can.", known=Known.RUN)
    document_state: Fact[FileState] = fact(
        "State of the PDF beside the description; 'damaged': it does not begin as a PDF.", known=Known.RUN
    )
    document_path: Fact[str] = fact("The PDF, or the misnamed one.", known=Known.RUN)
    document_detail: Fact[str] = fact("Why it cannot be used; empty where it can.", known=Known.RUN)

    problems: Fact[list[DescriptionProblem]] = fact("What is wrong with single fields.", known=Known.RUN)
    submission_name: Fact[str] = fact("Name that the description states (submission_name).", known=Known.RUN)
    later_fields: Fact[list[str]] = fact(
        "Fields it states that the printed v3.0 format does not have.", known=Known.RUN
    )
    deployment: Fact[Literal["onprem", "cloud"]] = fact("On premises or in a cloud.", known=Known.RUN)
    storage_location: Fact[Literal["remote", "local", "remote_and_local"]] = fact(
        "Where the storage lies, seen from the clients.", known=Known.RUN
    )
    client_footprint: Fact[Literal["open_source", "closed_source", "n/a"]] = fact(
        "Client software that the product needs.", known=Known.RUN
    )
    client_installation: Fact[Literal["in_box", "installable", "n/a"]] = fact(
        "How it gets onto the clients.", known=Known.RUN
    )
    product_node_groups: Fact[Int] = fact("Groups under product_nodes.", known=Known.RUN, unit="groups")
    product_switch_groups: Fact[Int] = fact("Groups under product_switches.", known=Known.RUN, unit="groups")
    units: Fact[list[PhysicalUnit]] = fact("Node groups, clients included, and switches.", known=Known.RUN)
    physical_parts: Fact[list[str]] = fact(
        "What it states that only a system on premises has: rack units, power, switches, rack supplies.",
        known=Known.RUN,
    )
    total_rack_units: Fact[Int] = fact("total_rack_units as stated.", known=Known.RUN, unit="rack units")
    total_rack_units_stated: Fact[bool] = fact("There is a total_rack_units.", known=Known.RUN)
    itemized_rack_units: Fact[Int] = fact(
        "Sum of quantity x rack units over product nodes and product switches. None in a cloud.",
        known=Known.RUN,
        unit="rack units",
    )
    rack_unit_terms: Fact[str] = fact("That sum, term by term.", known=Known.RUN)
    provisioned_power_watts: Fact[Int] = fact(
        "Name-plate power of all supplies of product nodes and product switches. None in a cloud.",
        known=Known.RUN,
        unit="W",
    )
    power_feeds: Fact[list[PowerFeed]] = fact("Power blocks whose supplies can be counted.", known=Known.RUN)
    unconnected_product_nodes: Fact[list[str]] = fact("Product node groups without networking.", known=Known.RUN)
    unconnected_clients: Fact[list[str]] = fact("Client groups without networking.", known=Known.RUN)
    client_hosts: Fact[Int] = fact(
        "Client hosts described: sum of the groups' quantities.", known=Known.RUN, unit="hosts"
    )
    client_memory_gib: Fact[Float] = fact(
        "Memory of a described client host, mean weighted by quantity.", known=Known.RUN, unit="GiB"
    )
    client_environment: Fact[list[str]] = fact(
        "Names of the environment variables that the description states for the clients.", known=Known.RUN
    )

    benchmark_api: Fact[Literal["file", "object"]] = fact("Protocol that the benchmark used.", known=Known.RUN)
    multi_host: Fact[bool] = fact("Several hosts can use the system at once.", known=Known.RUN)
    simultaneous_write: Fact[bool] = fact("Several hosts can write the same storage at once.", known=Known.RUN)
    simultaneous_read: Fact[bool] = fact("Several hosts can read the same storage at once.", known=Known.RUN)
    remap_time_seconds: Fact[Int] = fact(
        "Time to hand the storage from writing to reading hosts (remap_time_in_seconds); 0: none needed.",
        known=Known.RUN,
        unit="s",
    )

    run_hosts: Fact[list[Int]] = fact(
        "Different numbers of client hosts of the run leaves of training and checkpointing.", known=Known.RUN
    )
    run_hosts_by_leaf: Fact[str] = fact("The same with the leaves.", known=Known.RUN)
    run_hosts_known: Fact[bool] = fact("Every such leaf states its hosts; absent where one does not.", known=Known.RUN)
    training_hosts: Fact[list[Int]] = fact(
        "Different numbers of client hosts of the run leaves of training.", known=Known.RUN
    )
    run_memory_gib: Fact[list[Float]] = fact(
        "Different mean memories of a client host in the run leaves of training and checkpointing.", known=Known.RUN
    )
    run_memory_by_leaf: Fact[str] = fact("The same with the leaves.", known=Known.RUN)
    run_memory_known: Fact[bool] = fact(
        "Every such leaf states its hosts' memory; absent where one does not.", known=Known.RUN
    )

    files: Fact[list[LeafFile]] = fact("Files that the description is read from.", known=Known.RUN)
