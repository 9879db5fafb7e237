"""The format of a system description as pydantic models. ``mlpstorage systems schema`` prints their JSON Schema.

Field names are those of the YAML. What one field may hold stands here, for it is format; what fields must say together,
and how much a fault weighs, are rules of the book (2.1.7). Models and schema accept the same: numbers may be written as
text (``"160"``), texts must be text (``version: 9.4`` is a number), and a null is nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema

from mlpstorage.results.convert import as_int

ROOT = "system_under_test"


@dataclass(frozen=True, slots=True)
class Legal:
    """What a field may hold, in words. Metadata of a field's type."""

    text: str


_DECIMAL = re.compile(r"\s*\+?[0-9]{1,15}(\.[0-9]{0,15})?\s*")
_POSITIVE_INT = r"^\s*\+?0*[1-9][0-9]{0,17}\s*$"
_ANY_INT = r"^\s*\+?[0-9]{1,18}\s*$"
_FROM_ONE = r"^\s*\+?0*[1-9][0-9]{0,14}(\.[0-9]{0,15})?\s*$"
_ABOVE_ZERO = r"^\s*\+?(0*[1-9][0-9]{0,14}(\.[0-9]{0,15})?|0{1,15}\.[0-9]{0,14}[1-9])\s*$"


def _integer(value: Any) -> int:
    """64, 64.0 and "64"; true is no number."""
    return as_int(value)


def _number(value: Any) -> Any:
    """Numbers, and texts of a plain decimal one."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            raise ValueError("not a number")
        return float(value)
    return value


def _text(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("blank")
    return value


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _schema(kind: str, bound: dict[str, int], pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": kind, **bound}, {"type": "string", "pattern": pattern}]})


Text = Annotated[
    str,
    BeforeValidator(_text),
    Field(strict=True),
    WithJsonSchema({"type": "string", "pattern": r"\S"}),
    Legal("text that is not blank"),
]
Count = Annotated[
    int,
    BeforeValidator(_integer),
    Field(ge=1),
    _schema("integer", {"minimum": 1, "maximum": 2**63 - 1}, _POSITIVE_INT),
    Legal("a whole number, 1 or more"),
]
Whole = Annotated[
    int,
    BeforeValidator(_integer),
    Field(ge=0),
    _schema("integer", {"minimum": 0, "maximum": 2**63 - 1}, _ANY_INT),
    Legal("a whole number, 0 or more"),
]
Tebibytes = Annotated[
    float,
    BeforeValidator(_number),
    Field(ge=1, allow_inf_nan=False),
    _schema("number", {"minimum": 1}, _FROM_ONE),
    Legal("a number, 1 or more"),
]
Volts = Annotated[
    float,
    BeforeValidator(_number),
    Field(gt=0, allow_inf_nan=False),
    _schema("number", {"exclusiveMinimum": 0}, _ABOVE_ZERO),
    Legal("a number above 0"),
]
Flag = Annotated[StrictBool, Legal("true or false")]


def _any_case(*words: str) -> Any:
    """A pattern that matches these words in any case."""
    spelt = "|".join("".join(f"[{c}{c.upper()}]" if c.isalpha() else re.escape(c) for c in word) for word in words)
    return WithJsonSchema({"type": "string", "pattern": f"^({spelt})$", "enum_any_case": list(words)})


StorageLocation = Literal["remote", "local", "remote_and_local"]
BenchmarkApi = Literal["file", "object"]
ProductApi = Literal["file", "object", "block"]
ClientFootprint = Literal["open_source", "closed_source", "n/a"]
ClientInstallation = Literal["in_box", "installable", "n/a"]
Availability = Literal["available", "preview", "RDI"]
Deployment = Literal["onprem", "cloud"]
PortType = Literal["ethernet", "infiniband", "other"]
PortState = Literal["up", "down"]
Traffic = Literal["management", "data", "metadata", "backend"]
Interface = Annotated[
    Literal["nvme", "sas", "sata", "other"], BeforeValidator(_lower), _any_case("nvme", "sas", "sata", "other")
]
MediaType = Literal["HDD", "TLC", "QLC", "other"]
FormFactor = Literal["U.2", "U.3", "M.2", "E1.S", "E1.L", "E3.S", "E3.L", "2.5in", "3.5in", "AIC", "other"]
Efficiency = Literal["Standard", "Bronze", "Silver", "Gold", "Platinum", "Titanium", "Ruby", "Unrated"]


def _field(description: str, example: Any = None, **more: Any) -> Any:
    """A required field; ``example`` is what the template writes."""
    return Field(description=description, examples=None if example is None else [example], **more)


def _optional(description: str, example: Any = None) -> Any:
    """A field that may be absent, or null."""
    return Field(default=None, description=description, examples=None if example is None else [example])


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Architecture(_Part):
    """How the benchmark reaches the storage."""

    storage_location: StorageLocation = _field(
        "Where the storage lies, seen from the clients: remote, local (inside them), or both.", "remote"
    )
    benchmark_API: BenchmarkApi = _field("What the benchmark used: file (POSIX) or object (S3).", "file")  # noqa: N815
    product_API: ProductApi = _field("What the product offers.", "file")  # noqa: N815
    client_footprint: ClientFootprint = _field("Client software that the product needs.", "open_source")
    client_installation: ClientInstallation = _field(
        "How it gets onto the clients; n/a exactly where client_footprint is n/a.", "in_box"
    )


class Capabilities(_Part):
    """What hosts can do at once (rules 4.7.3 and 4.7.4)."""

    multi_host: Flag = _field("Several hosts can use the system at once.", True)
    simultaneous_write: Flag = _field("Several hosts can write the same data at once.", True)
    simultaneous_read: Flag = _field("Several hosts can read the same data at once.", True)
    remap_time_in_seconds: Whole = _field(
        "Time to hand the storage from writing to reading hosts; 0 exactly where both of the above are true.", 0
    )


class Solution(_Part):
    """What was submitted."""

    submission_name: Text = _field("Name of the system: this file's name without .yaml.", "my-system")
    friendly_description: Text = _field("One sentence for the results table.", "Describe the system in one sentence")
    usable_capacity_tib: Tebibytes = _field("Capacity that a user can fill, TiB; fractions are welcome.", 100.0)
    availability: Availability = _field("Availability category.", "available")
    int_client_store_tib: Tebibytes | None = _optional("Storage inside the clients that the solution uses, TiB.", 10.0)
    architecture: Architecture = _field("How the benchmark reaches the storage.")
    capabilities: Capabilities = _field("What hosts can do at once.")


class KeyValue(_Part):
    """One setting. Redact secrets: '****'."""

    name: Text = _field("Name.", "vm.dirty_ratio")
    value: Text = _field("Value, as text; '****' for a secret.", "20")


class PowerSupply(_Part):
    """Power supplies of one kind."""

    unit_count: Count = _field("How many of this kind.", 2)
    inlet_voltage: Volts = _field("Inlet voltage, V.", 230)
    nameplate_power_watts: Count = _field("Power on the name plate, W, of each.", 1600)
    efficiency: Efficiency = _field("80 PLUS grade.", "Platinum")


class Power(_Part):
    """Power of one chassis."""

    min_psus_active: Count = _field("Supplies that must be active; no more than are configured.", 1)
    psus_configured: list[PowerSupply] = _field("All supplies.", min_length=1)


class Chassis(_Part):
    """One chassis of a node group."""

    model_name: Text = _field("Model of the chassis.", "2U server")
    cpu_model: Text = _field("Model of the CPUs.", "Vendor Model 9999")
    cpu_qty: Count = _field("CPUs in the chassis.", 2)
    cpu_cores: Count = _field("Cores in the chassis.", 64)
    memory_capacity: Count = _field("Memory, GiB.", 512)
    rack_units: Count | None = _optional("Height, rack units. On premises only.", 2)
    power: Power | None = _optional("Power. On premises only.")


class Port(_Part):
    """Network ports of one kind. One that is up states its speed and its traffic."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"state": {"const": "up"}}, "required": ["state"]},
            "then": {
                "required": ["speed", "traffic"],
                "properties": {"speed": {"not": {"type": "null"}}, "traffic": {"not": {"type": "null"}}},
            },
        }
    )

    unit_count: Count = _field("How many of this kind.", 2)
    type: PortType = _field("Technology.", "ethernet")
    state: PortState = _field("Whether they were in use.", "up")
    speed: Count | None = _optional("Speed of each, Gb/s. Required where the state is up.", 100)
    traffic: Annotated[list[Traffic], Field(min_length=1)] | None = _optional(
        "What they carry. Required where the state is up.", ["data"]
    )


class Performance(_Part):
    """Data-sheet figures of a drive."""

    seq_read_MBps: Count = _field("Sequential read, MB/s.", 14000)  # noqa: N815
    seq_write_MBps: Count = _field("Sequential write, MB/s.", 10000)  # noqa: N815
    random_read_IOPS: Count = _field("Random read, IO/s.", 3000000)  # noqa: N815
    random_write_IOPS: Count = _field("Random write, IO/s.", 300000)  # noqa: N815
    form_factor: FormFactor | None = _optional("Form factor.", "U.2")
    interface_speed: Text | None = _optional("Speed of the interface.", "PCIe Gen5 x4")


class Drive(_Part):
    """Drives of one kind."""

    unit_count: Count = _field("How many of this kind in one node.", 24)
    vendor_name: Text = _field("Vendor.", "Drive vendor")
    model_name: Text = _field("Model.", "Drive model")
    interface: Interface = _field("Interface, in any case.", "nvme")
    media_type: MediaType = _field("Medium.", "TLC")
    capacity_in_GB: Count = _field("Capacity of each, GB (10^9 bytes).", 7680)  # noqa: N815
    performance: Performance | None = _optional("Data-sheet figures.")


class OperatingSystem(_Part):
    """An operating system."""

    name: Text = _field("Name.", "Ubuntu")
    version: Text = _field("Version, as text: quote it ('24.04').", "24.04")


class Node(_Part):
    """A group of equal nodes."""

    friendly_description: Text = _field("What these nodes are.", "Storage node")
    quantity: Count = _field("How many nodes.", 2)
    chassis: Chassis = _field("One of them.")
    networking: list[Port] | None = _optional("Network ports of one node. Required for storage that is not local.")
    drives: list[Drive] | None = _optional("Drives of one node.")
    operating_system: OperatingSystem = _field("Operating system.")
    environment: list[KeyValue] | None = _optional("Environment variables that matter.")
    sysctl: list[KeyValue] | None = _optional("Kernel settings that matter.")


class Switch(_Part):
    """A group of equal switches that are part of the product; switches of the test set-up are left out."""

    unit_count: Count = _field("How many of this kind.", 2)
    vendor_name: Text = _field("Vendor.", "Switch vendor")
    model_name: Text = _field("Model.", "Switch model")
    ports: Annotated[list[Port], Field(min_length=1)] = _field("Ports of one switch.")
    configuration: list[KeyValue] | None = _optional("Settings that matter.")
    rack_units: Count | None = _optional("Height, rack units.", 1)
    power: Power | None = _optional("Power.")


class SystemUnderTest(_Part):
    """The system."""

    solution: Solution = _field("What was submitted.")
    deployment: Deployment = _field("On premises, or in a cloud.", "onprem")
    total_rack_units: Whole | None = _optional(
        "Sum over product nodes and product switches; clients do not count. On premises.", 4
    )
    product_nodes: list[Node] | None = _optional(
        "Nodes of the product. Required on premises where the storage is remote; the clients may hold local storage."
    )
    product_switches: list[Switch] | None = _optional("Switches of the product. On premises only.")
    rack_power_supplies: list[Power] | None = _optional("Power of the rack itself. On premises only.")
    clients: list[Node] = _field("Hosts that ran the benchmark.", min_length=1)


class SystemDescription(_Part):
    """A system description of MLPerf Storage: one YAML file per system, beside a PDF of the same name."""

    system_under_test: SystemUnderTest = _field("The system.")


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the format."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SystemDescription.model_json_schema()}


def legal_text(annotation: Any, metadata: Any = ()) -> str:
    """What a value of this type may be, in words."""
    for candidate in _alternatives(annotation):
        for item in (*metadata, *getattr(candidate, "__metadata__", ())):
            if isinstance(item, Legal):
                return item.text
        if getattr(candidate, "__origin__", None) is Literal:
            return " | ".join(str(choice) for choice in get_args(candidate))
    return "a mapping" if item_type(annotation) is None else "a list with at least one entry"


def item_type(annotation: Any) -> Any:
    """The type of the items, where a value is a list; else None."""
    for candidate in _alternatives(annotation):
        if getattr(candidate, "__origin__", None) is list:
            return get_args(candidate)[0]
    return None


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The annotation and what it may be in its place: of a union, its members; of an annotated type, the bare one."""
    yield annotation
    origin = getattr(annotation, "__origin__", None)
    if origin not in (list, Literal):
        for part in get_args(annotation)[: 1 if hasattr(annotation, "__metadata__") else None]:
            yield from _alternatives(part)


def field_at(location: tuple[str | int, ...]) -> Any:
    """The pydantic field at a place of the format; None where the format has none."""
    model: type[BaseModel] | None = SystemDescription
    field = None
    for step in location:
        if isinstance(step, int):
            continue
        if model is None or step not in model.model_fields:
            return None
        field = model.model_fields[step]
        model = model_of(field.annotation)
    return field


def model_of(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation names, directly, as an alternative, or as the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for candidate in get_args(annotation):
        found = model_of(candidate)
        if found is not None:
            return found
    return None
