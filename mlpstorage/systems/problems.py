"""What is wrong with the single fields of a description, folded to the object that it makes invalid.

Every field is looked at; none hides another. What fields must say together is left to the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Literal

from pydantic import ValidationError

from mlpstorage.results.text import clean, shorten

from .model import ROOT, SystemDescription, field_at, item_type, legal_text, model_of
from .source import Location, Source

Kind = Literal["fields", "blank", "custom_hardware", "drive_key"]

UNSTATED_IN_CUSTOM_HARDWARE = ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")
"""Fields of a chassis that are null together where custom hardware has no such thing to state."""
LATER_FIELDS = ("usable_capacity_tib", "availability", "int_client_store_tib")
"""Fields of ``solution`` that the printed v3.0 format did not have."""
MAX_FIELDS = 20
"""Fields that one problem spells out; the others are counted."""
MAX_FAULTS = 2000
"""Faults that are looked at; in a file with more, nothing is read."""
MAX_PROBLEMS = 100
"""Objects that are told one by one; the faults of all others are one problem."""
_NODE_LISTS = ("product_nodes", "clients")
_GROUPS = (*_NODE_LISTS, "product_switches", "rack_power_supplies")
_PARTS = ("networking", "ports", "drives")
_CAPABILITIES: Location = (ROOT, "solution", "capabilities")


@dataclass(frozen=True, slots=True)
class Fault:
    """One field that cannot be as it is. ``found`` quotes its value, ``legal`` says what it may be."""

    location: Location
    line: int
    found: str
    legal: str
    kind: Kind = "fields"
    later: bool = False
    """It is a fault only where the format has the fields that were added to the printed one."""

    def shown(self, owner: Location) -> str:
        """The fault in words, its field named from ``owner``."""
        name = pointer_text(self.location[len(owner) :]) or "it"
        return f"{name} (line {self.line}) {self.found}: {self.legal}"


@dataclass(frozen=True, slots=True)
class Problem:
    """All faults of one kind of one object: a node group, a drive, a port, the solution ..."""

    kind: Kind
    owner: Location
    line: int
    faults: tuple[Fault, ...]
    cause: str

    @property
    def name(self) -> str:
        """The object as rules and people name it, e.g. ``product_nodes[0].drives[1]``."""
        return pointer_text(self.owner[1:]) or ROOT

    @property
    def detail(self) -> str:
        """Fields with lines, values and what is legal."""
        return self._told(self.faults)

    @property
    def printed_detail(self) -> str:
        """The same by the printed format; empty where it finds no fault."""
        return self._told([fault for fault in self.faults if not fault.later])

    def _told(self, faults: Sequence[Fault]) -> str:
        shown = [fault.shown(self.owner) for fault in faults[:MAX_FIELDS]]
        if len(faults) > MAX_FIELDS:
            shown.append(f"and {len(faults) - MAX_FIELDS} more")
        return "; ".join(shown)


def pointer_text(location: Sequence[str | int]) -> str:
    """``product_nodes[0].chassis.rack_units``."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{step}"
    return clean(text, 200)


def find_problems(source: Source) -> tuple[Problem, ...]:
    """Everything that is wrong with the fields of a readable description, in the order of the file."""
    if not source.document.ok:
        return ()
    faults = [*_faults(source), *_port_faults(source)]
    for location, line in source.duplicates:
        faults.append(Fault(location, line, "stands there a second time", "write each key once"))
    grouped: dict[tuple[Location, Kind], list[Fault]] = {}
    for fault in faults:
        if _judged_by_capability_rules(fault, source.document.data):
            continue
        owner = () if fault.kind == "blank" else _owner(fault.location)
        grouped.setdefault((owner, fault.kind), []).append(fault)
    problems = []
    for (owner, kind), found in grouped.items():
        found.sort(key=lambda fault: fault.line)
        for one_kind, members in _custom_hardware(owner, kind, found, source):
            cause = f"description:{source.document.path}#{pointer_text(owner[1:])}:{one_kind}"
            problems.append(Problem(one_kind, owner, members[0].line, tuple(members), cause))
    problems.sort(key=lambda problem: (problem.line, problem.name, problem.kind))
    if len(problems) > MAX_PROBLEMS:
        rest = tuple(fault for problem in problems[MAX_PROBLEMS:] for fault in problem.faults)
        problems[MAX_PROBLEMS:] = [
            Problem("fields", (), rest[0].line, rest, f"description:{source.document.path}#:rest")
        ]
    return tuple(problems)


def _faults(source: Source) -> Iterator[Fault]:
    try:
        SystemDescription.model_validate(source.document.data)
    except ValidationError as error:
        entries = error.errors(include_url=False, include_context=False)
        for entry in entries[:MAX_FAULTS]:
            yield _fault(tuple(entry["loc"]), entry["type"], entry["input"], source)
        if len(entries) > MAX_FAULTS:
            yield Fault((ROOT,), 1, f"has {len(entries) - MAX_FAULTS} more faults", "mend these first")


def _fault(location: Location, kind: str, value: Any, source: Source) -> Fault:
    line = source.line(location)
    shown = tuple(clean(step, 60) if isinstance(step, str) else step for step in location)
    if kind == "extra_forbidden":
        return Fault(location, line, "is no field of the format", _known_keys(location), _extra_kind(location))
    legal = _legal(location)
    later = shown[:2] == (ROOT, "solution") and shown[2:3] in _LATER
    if kind == "missing":
        return Fault(location, line, "is missing", legal, later=later)
    if value is None:
        return Fault(location, line, "is null", legal, later=later)
    if isinstance(value, str) and not value.strip():
        return Fault(location, line, "is blank", legal, "blank")
    if location[-1:] == ("value",):  # of an environment variable or a setting: it may be a secret, and stays there
        return Fault(location, line, "is a value of another type", f"{legal}, in quotes", later=later)
    if legal.startswith("text") and isinstance(value, int | float | date):
        text = source.texts.get(location, shorten(value))
        return Fault(location, line, f"is {text}, no text", f"put it in quotes: '{text}'", later=later)
    return Fault(location, line, f"is {shorten(value)}", legal, later=later)


_LATER = tuple((name,) for name in LATER_FIELDS)


def _legal(location: Location) -> str:
    return _legal_at(tuple(0 if isinstance(step, int) else step for step in location))


@lru_cache(1024)
def _legal_at(location: Location) -> str:
    """What may stand at a place, whatever the numbers of the list items that it lies in."""
    field = field_at(location)
    if field is None:
        return "see the format: mlpstorage systems schema"
    if location and isinstance(location[-1], int):
        return legal_text(item_type(field.annotation))
    return legal_text(field.annotation, field.metadata)


def _known_keys(location: Location) -> str:
    field = field_at(location[:-1])
    model = SystemDescription if len(location) == 1 else model_of(field.annotation) if field else None
    return "remove it, or use one of: " + ", ".join(model.model_fields) if model else "remove it"


def _extra_kind(location: Location) -> Kind:
    return "drive_key" if "drives" in location[:-1] else "fields"


def _port_faults(source: Source) -> Iterator[Fault]:
    """A port that is up states its speed and its traffic."""
    for location, port in _ports(source.document.data):
        if port.get("state") != "up":
            continue
        for name in ("speed", "traffic"):
            if port.get(name) is None:
                found = "is null" if name in port else "is missing"
                legal = f"{_legal((*location, name))}, required because the port's state is up"
                yield Fault((*location, name), source.line((*location, name)), found, legal)


def _ports(data: Mapping[str, Any]) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    for owner, key in (*((name, "networking") for name in _NODE_LISTS), ("product_switches", "ports")):
        for place, group in items(data, (ROOT, owner)):
            for location, port in items(group, (key,)):
                yield (*place, *location), port


def items(data: Any, location: Location) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    """The mappings in the list at a place, each with its place from there; nothing where there is no list."""
    for step in location:
        data = data.get(step) if isinstance(data, dict) else None
    for index, item in enumerate(data if isinstance(data, list) else ()):
        if isinstance(item, dict):
            yield (*location, index), item


def _judged_by_capability_rules(fault: Fault, data: Mapping[str, Any]) -> bool:
    """Rules 4.7.3 and 4.7.4 report each capability; what stands there besides is reported here."""
    inside = fault.location[:-1] == _CAPABILITIES and field_at(fault.location) is not None
    return inside and fault.found != "stands there a second time"


def _owner(location: Location) -> Location:
    """The object that a field belongs to: the innermost port or drive, else the group, the solution, the root."""
    if len(location) >= 3 and location[1] in _GROUPS and isinstance(location[2], int):
        if len(location) >= 5 and location[3] in _PARTS and isinstance(location[4], int):
            return location[:5]
        return location[:3]
    if len(location) >= 3 and location[1] == "solution":
        return location[:2]
    return location[:1] if len(location) > 1 else ()


def _custom_hardware(
    owner: Location, kind: Kind, faults: list[Fault], source: Source
) -> Iterator[tuple[Kind, list[Fault]]]:
    """Sets apart the four nulls of a product node that has no CPU and memory to state."""
    places = {(*owner, "chassis", name) for name in UNSTATED_IN_CUSTOM_HARDWARE}
    nulls = [fault for fault in faults if fault.location in places and fault.found == "is null"]
    if kind == "fields" and owner[1:2] == ("product_nodes",) and len(owner) == 3 and len(nulls) == len(places):
        yield "custom_hardware", nulls
        faults = [fault for fault in faults if fault not in nulls]
    if faults:
        yield kind, faults
