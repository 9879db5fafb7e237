"""A description as facts of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mlpstorage.results.document import Found, InvalidValueError, Reading, as_float, as_int, as_strict_bool, as_text
from rules.derived import systems as derived
from rules.derived.variables import storage_variables
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts.system import DescriptionProblem, PhysicalUnit, PowerFeed

from .description import Description
from .problems import LATER_FIELDS, MAX_FIELDS, Problem, pointer_text
from .source import Location

_MAX_PARTS = 50
"""Parts that one fact names; the others are counted, so that no file makes a report endless."""
_MAX_VARIABLES = 500
_PRODUCT = ("product_nodes", "product_switches")
_NODES = ("product_nodes", "clients")


def put_description(sheet: FactSheet, description: Description) -> None:
    """State everything that a description says."""
    _put_solution(sheet, description)
    _put_physical(sheet, description)
    _put_clients(sheet, description)


def _put(sheet: FactSheet, name: str, found: Found[Any]) -> None:
    if isinstance(found, Reading):
        sheet.put(name, found.value, found.source)
    else:
        sheet.put(name, found)


def _put_solution(sheet: FactSheet, description: Description) -> None:
    for name, location in (
        ("submission_name", ("solution", "submission_name")),
        ("deployment", ("deployment",)),
        ("storage_location", ("solution", "architecture", "storage_location")),
        ("client_footprint", ("solution", "architecture", "client_footprint")),
        ("client_installation", ("solution", "architecture", "client_installation")),
        ("benchmark_api", ("solution", "architecture", "benchmark_API")),
    ):
        _put(sheet, name, description.read(location, as_text))
    capabilities: Location = ("solution", "capabilities")
    for name in ("multi_host", "simultaneous_write", "simultaneous_read"):
        _put(sheet, name, description.read((*capabilities, name), as_strict_bool))
    _put(sheet, "remap_time_seconds", description.read((*capabilities, "remap_time_in_seconds"), _as_seconds))
    if not description.document.ok:
        _absent(sheet, description, "problems", "later_fields")
        return
    source = description.document.source()
    sheet.put("problems", [_record(problem) for problem in description.problems], source)
    sheet.put("later_fields", [name for name in LATER_FIELDS if description.has(("solution", name))], source)


def _as_seconds(value: Any) -> int:
    seconds = as_int(value)
    if seconds < 0:
        raise InvalidValueError("a number of seconds, 0 or more")
    return seconds


def _record(problem: Problem) -> DescriptionProblem:
    faults = problem.faults[:MAX_FIELDS]
    return DescriptionProblem(
        object=problem.name,
        kind=problem.kind,
        line=problem.line,
        fields=[pointer_text(fault.location[1:]) for fault in faults],
        values=[fault.found for fault in faults],
        legal=[fault.legal for fault in faults],
        detail=problem.detail,
        printed_detail=problem.printed_detail,
        cause=problem.cause,
    )


def _absent(sheet: FactSheet, description: Description, *names: str) -> None:
    for name in names:
        sheet.put(name, description.document.absence())


def _put_physical(sheet: FactSheet, description: Description) -> None:
    total = description.read(("total_rack_units",), as_int)
    _put(sheet, "total_rack_units", total)
    counts = {name: _group_count(description, name) for name in (*_PRODUCT, "clients")}
    _put(sheet, "product_node_groups", counts["product_nodes"])
    _put(sheet, "product_switch_groups", counts["product_switches"])
    if not description.document.ok:
        _absent(
            sheet,
            description,
            *("total_rack_units_stated", "units", "physical_parts", "itemized_rack_units", "rack_unit_terms"),
            *("provisioned_power_watts", "power_feeds", "unconnected_product_nodes", "unconnected_clients"),
        )
        return
    source = description.document.source()
    # Where the list itself is faulty, its groups are not known.
    broken = next((counts[name] for name in _PRODUCT if isinstance(counts[name], Absence)), None)
    groups = [group for name in _PRODUCT for group in _groups(description, name)]
    itemized: Any = derived.itemized_rack_units(groups) if broken is None else broken
    watts: Any = derived.provisioned_watts(groups) if broken is None else broken
    if sheet.get("deployment") == "cloud":
        itemized = watts = Absence("deployment:cloud", Reason.NOT_APPLICABLE, detail="a cloud states neither")
    sheet.put("total_rack_units_stated", description.has(("total_rack_units",)), source)
    sheet.put("itemized_rack_units", itemized, source)
    sheet.put("rack_unit_terms", derived.rack_unit_terms(groups), source)
    sheet.put("provisioned_power_watts", watts, source)
    units = sorted(_units(description), key=lambda unit: not unit.missing)
    sheet.put("units", units[:_MAX_PARTS], source)
    sheet.put("physical_parts", _some(_physical_parts(description)), source)
    feeds = sorted(_power_feeds(description), key=lambda feed: feed.active <= feed.configured)
    sheet.put("power_feeds", feeds[:_MAX_PARTS], source)
    for fact, name in (("unconnected_product_nodes", "product_nodes"), ("unconnected_clients", "clients")):
        bare = (
            f"{pointer_text(location)} (line {description.line(location)})"
            for location, group in description.groups(name)
            if group.get("networking") in (None, [])
        )
        sheet.put(fact, _some(bare), source)


def _some(parts: Iterable[str]) -> list[str]:
    """The first parts, and how many more there are."""
    found = list(parts)
    return found if len(found) <= _MAX_PARTS else [*found[:_MAX_PARTS], f"and {len(found) - _MAX_PARTS} more"]


def _group_count(description: Description, name: str) -> Found[int]:
    """Number of groups in a list of the system; 0 where there is no such list."""
    found = description.read((name,), lambda value: len(value) if isinstance(value, list) else 0)
    absent = isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT and found.cause.startswith("key:")
    return Reading(0, description.document.source()) if absent else found


def _chassis(location: Location) -> Location:
    """Where a group states rack units and power: a switch itself, a node in its chassis."""
    return location if location[0] == "product_switches" else (*location, "chassis")


def _units_cause(description: Description, location: Location) -> str:
    return f"units:{description.document.path}#{pointer_text(location)}"


def _groups(description: Description, name: str) -> Iterable[derived.Group]:
    for location, _ in description.groups(name):
        chassis = _chassis(location)
        yield derived.Group(
            name=pointer_text(location),
            count=_count(description, location),
            rack_units=_unit_value(description, location, description.read((*chassis, "rack_units"), as_int)),
            watts=_unit_value(description, location, _watts(description, (*chassis, "power"))),
        )


def _count(description: Description, location: Location) -> int | Absence:
    key = "unit_count" if location[0] == "product_switches" else "quantity"
    return _value(description.read((*location, key), as_int))


def _value(found: Found[int]) -> int | Absence:
    return found if isinstance(found, Absence) else found.value


def _unit_value(description: Description, location: Location, found: Found[int]) -> int | Absence:
    """What a group does not state is absent for one cause, the group's."""
    if isinstance(found, Absence) and found.cause.startswith("key:"):
        return Absence(_units_cause(description, location), found.reason, found.path, found.pointer, found.detail)
    return found if isinstance(found, Absence) else found.value


def _watts(description: Description, power: Location) -> Found[int]:
    """Name-plate power of all supplies of a power block."""
    supplies = description.read((*power, "psus_configured"), _as_list)
    if isinstance(supplies, Absence):
        return supplies
    total = 0
    for index in range(len(supplies.value)):
        one = (*power, "psus_configured", index)
        units, watts = (description.read((*one, key), as_int) for key in ("unit_count", "nameplate_power_watts"))
        if isinstance(units, Absence) or isinstance(watts, Absence):
            return units if isinstance(units, Absence) else watts
        total += units.value * watts.value
    return Reading(total, supplies.source)


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidValueError("a list")
    return value


def _units(description: Description) -> Iterable[PhysicalUnit]:
    for name in (*_NODES, "product_switches"):
        for location, _ in description.groups(name):
            chassis = _chassis(location)
            if not description.has(chassis):  # the group itself is faulty
                continue
            yield PhysicalUnit(
                object=pointer_text(location),
                line=description.line(location),
                missing=[key for key in ("rack_units", "power") if not description.has((*chassis, key))],
                cause=_units_cause(description, location),
            )


def _physical_parts(description: Description) -> Iterable[str]:
    locations: list[Location] = [("product_switches",), ("rack_power_supplies",)]
    for name in _NODES:
        for location, _ in description.groups(name):
            locations += [(*_chassis(location), key) for key in ("rack_units", "power")]
    for location in locations:
        if description.has(location):
            yield f"{pointer_text(location)} (line {description.line(location)})"


def _power_feeds(description: Description) -> Iterable[PowerFeed]:
    blocks: list[Location] = [
        (*_chassis(location), "power")
        for name in (*_NODES, "product_switches")
        for location, _ in description.groups(name)
    ]
    blocks += [location for location, _ in description.groups("rack_power_supplies")]
    for block in blocks:
        active = description.read((*block, "min_psus_active"), as_int)
        supplies = description.read((*block, "psus_configured"), _as_list)
        if isinstance(active, Absence) or isinstance(supplies, Absence):
            continue
        counts = [
            description.read((*block, "psus_configured", index, "unit_count"), as_int)
            for index in range(len(supplies.value))
        ]
        configured = derived.client_hosts([_value(count) for count in counts])
        if not isinstance(configured, Absence):
            yield PowerFeed(
                object=pointer_text(block), line=description.line(block), active=active.value, configured=configured
            )


def _put_clients(sheet: FactSheet, description: Description) -> None:
    count = _group_count(description, "clients")
    if isinstance(count, Absence):
        sheet.put("client_hosts", count)
        sheet.put("client_memory_gib", count)
        sheet.put("client_environment", count)
        return
    source = Source(description.document.path, "/system_under_test/clients")
    groups = [
        (
            _count(description, location),
            _value(description.read((*location, "chassis", "memory_capacity"), as_int)),
        )
        for location, _ in description.groups("clients")
    ]
    sheet.put("client_hosts", derived.client_hosts([hosts for hosts, _ in groups]), source)
    names = storage_variables(name for _, group in description.groups("clients") for name in _environment(group))
    if len(names) <= _MAX_VARIABLES:
        sheet.put("client_environment", names, source)
    else:
        cause, detail = f"value:{source.path}#environment", f"they have {len(names)} variables of storage clients"
        sheet.put("client_environment", Absence(cause, Reason.INVALID, source.path, source.pointer, detail))
    memory = derived.mean_memory_gib(groups)
    sheet.put("client_memory_gib", memory if isinstance(memory, Absence) else as_float(memory), source)


def _environment(group: Mapping[str, Any]) -> Iterable[str]:
    """Names of a node group's environment variables."""
    items = group.get("environment")
    for item in items if isinstance(items, list) else ():
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str):
            yield name.strip()


def put_runs(sheet: FactSheet, workloads: Iterable[FactModel]) -> None:
    """State what the runs below these workloads saw of the system's clients."""
    runs = derived.measured_runs(workloads)
    source = Source("run leaves")
    for prefix, unit, values in (
        ("run_hosts", "hosts", [(run.path, run.hosts) for run in runs]),
        ("run_memory", "GiB", [(run.path, run.memory_gib) for run in runs]),
    ):
        sheet.put("run_memory_gib" if prefix == "run_memory" else prefix, derived.known(v for _, v in values), source)
        sheet.put(f"{prefix}_by_leaf", derived.by_value(values, unit), source)
        sheet.put(f"{prefix}_known", derived.all_known(value for _, value in values), source)
    sheet.put("training_hosts", derived.known(run.hosts for run in runs if run.training), source)
