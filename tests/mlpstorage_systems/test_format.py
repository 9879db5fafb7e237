"""What a description may hold: the models, the JSON Schema and the problems agree, and no problem hides another."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from descriptions import DELETE, changed, facts, good, good_with_parts, problems, read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from mlpstorage.results.files import Content
from mlpstorage.systems.description import read_content
from mlpstorage.systems.model import SystemDescription, json_schema
from rules.derived import systems as derived
from rules.facts import Absence, Reason

SCHEMA = Draft202012Validator(json_schema())
CASES = Path(os.environ.get("MLPSTORAGE_CASES") or Path(__file__).parents[3] / "shared" / "cases")
PUBLISHED = sorted(CASES.glob("*/tree/*/*/systems/*.yaml"))


def accepted(data: Any) -> bool:
    """By the models, and by the look at ports beside them."""
    try:
        SystemDescription.model_validate(data)
    except ValidationError:
        return False
    return not read(data).problems


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert accepted(good())
    assert SCHEMA.is_valid(good())
    assert accepted(good_with_parts())
    assert SCHEMA.is_valid(good_with_parts())


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parts[-6]}-{path.stem}")
def test_published_descriptions_satisfy_the_format_but_for_custom_hardware(path: Path) -> None:
    description = read_content(Content("ok", path.read_bytes()), path.name)
    found = {problem.kind for problem in description.problems}
    assert found == ({"custom_hardware"} if path.stem == "umbrella_file_32hosts_10dn" else set())
    assert SCHEMA.is_valid(description.document.data) == (not found)


VALUES = [
    None, "", " ", "x", "Gold", "up", "down", "SATA", "remote", "n/a", "3", " 3 ", "0", "-1", "1.5", "1e3", "0x10",
    0, -1, 1, 1.5, 2.0, 0.5, 10**30, True, False, [], {}, ["data"], ["x"], [None],
]  # fmt: skip


def places(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place, *(found for key, value in children for found in places(value, (*place, key)))]


PLACES = places(good_with_parts())[1:]
CHANGES = st.tuples(
    st.sampled_from(PLACES), st.one_of(st.sampled_from(VALUES), st.just("DELETE"), st.just("ADD A KEY"))
)


def spoil(data: Any, place: tuple[Any, ...], change: Any) -> None:
    *above, last = place
    try:
        for key in above:
            data = data[key]
        if change == "DELETE":
            del data[last]
        elif change == "ADD A KEY":
            data[last]["colour"] = "red"
        else:
            data[last] = copy.deepcopy(change)
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took it away


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_models_and_schema_accept_the_same(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = good_with_parts()
    for place, change in changes:
        spoil(data, place, change)
    assert accepted(data) == SCHEMA.is_valid(data)


@pytest.mark.parametrize("value", [None, "", 10**30, "DELETE"], ids=repr)
def test_one_spoilt_field_makes_one_object_invalid_and_is_named(value: Any) -> None:
    for place in PLACES:
        data = good_with_parts()
        spoil(data, place, value)
        found = read(data).problems
        assert len({problem.name for problem in found}) <= 1, place
        name = next(step for step in reversed(place) if isinstance(step, str))
        for problem in found:
            assert name in problem.name + problem.detail, place
            assert "(line " in problem.detail, place


def test_a_problem_names_line_field_value_and_what_is_legal() -> None:
    text = yaml.safe_dump(good(), sort_keys=False).replace("    availability: available\n", "")
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "rack_units: 2" in one)
    text = text.replace("rack_units: 2", "rack_units: two", 1)
    assert problems(text) == [
        ("fields", "solution", "availability (line 2) is missing: available | preview | RDI"),
        ("fields", "product_nodes[0]", f"chassis.rack_units (line {line}) is 'two': a whole number, 1 or more"),
    ]


FIELDS: dict[str, tuple[dict[str, Any], list[tuple[str, str, str]]]] = {
    "capacity below its minimum": (
        {"solution/usable_capacity_tib": 0.5},
        [("fields", "solution", "is 0.5: a number, 1 or more")],
    ),
    "two fields of one object, of which the printed format has one": (
        {"solution/friendly_description": DELETE, "solution/usable_capacity_tib": DELETE},
        [("fields", "solution", "friendly_description")],
    ),
    "a version that YAML takes for a number": (
        {"clients/0/operating_system/version": 9.4},
        [("fields", "clients[0]", "is 9.4, no text: put it in quotes: '9.4'")],
    ),
    "zero for a count": (
        {"clients/0/quantity": 0},
        [("fields", "clients[0]", "is 0: a whole number, 1 or more")],
    ),
    "a number for a name": (
        {"clients/0/chassis/model_name": 1},
        [("fields", "clients[0]", "is 1, no text: put it in quotes: '1'")],
    ),
    "a truth value for a number": (
        {"clients/0/quantity": True},
        [("fields", "clients[0]", "is true: a whole number, 1 or more")],
    ),
    "an unknown key": (
        {"clients/0/chassis/colour": "red"},
        [("fields", "clients[0]", "is no field of the format: remove it, or use one of: model_name, cpu_model")],
    ),
    "an unknown key of a drive": (
        {"product_nodes/0/drives/0/colour": "red"},
        [("drive_key", "product_nodes[0].drives[0]", "colour")],
    ),
    "an unknown key of a drive's performance": (
        {"product_nodes/0/drives/0/performance/latency": 1},
        [("drive_key", "product_nodes[0].drives[0]", "performance.latency")],
    ),
    "no clients": ({"clients": []}, [("fields", "system_under_test", "a list with at least one entry")]),
    "clients that are no list": ({"clients": "many"}, [("fields", "system_under_test", "'many'")]),
    "a node that is no mapping": ({"clients/0": "host"}, [("fields", "clients[0]", "it (line")]),
    "up without speed and traffic": (
        {"clients/0/networking/0/speed": DELETE, "clients/0/networking/0/traffic": None},
        [("fields", "clients[0].networking[0]", "required because the port's state is up")],
    ),
    "down without speed and traffic": (
        {
            "clients/0/networking/0/state": "down",
            "clients/0/networking/0/speed": DELETE,
            "clients/0/networking/0/traffic": DELETE,
        },
        [],
    ),
    "other traffic": (
        {"clients/0/networking/0/traffic": ["data", "voice"]},
        [("fields", "clients[0].networking[0]", "traffic[1]")],
    ),
    "interfaces in any case": ({"product_nodes/0/drives/0/interface": "NVMe"}, []),
    "numbers as text": ({"clients/0/quantity": "8", "solution/usable_capacity_tib": "80"}, []),
    "custom hardware": (
        {f"product_nodes/0/chassis/{name}": None for name in ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")},
        [("custom_hardware", "product_nodes[0]", "chassis.memory_capacity")],
    ),
    "partly null": (
        {f"product_nodes/0/chassis/{name}": None for name in ("cpu_model", "cpu_qty", "cpu_cores")},
        [("fields", "product_nodes[0]", "chassis.cpu_cores")],
    ),
    "missing instead of null": (
        {"product_nodes/0/chassis/cpu_model": DELETE}
        | {f"product_nodes/0/chassis/{name}": None for name in ("cpu_qty", "cpu_cores", "memory_capacity")},
        [("fields", "product_nodes[0]", "is missing")],
    ),
    "a client is no custom hardware": (
        {f"clients/0/chassis/{name}": None for name in ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")},
        [("fields", "clients[0]", "is null")],
    ),
    "custom hardware with another fault": (
        {f"product_nodes/0/chassis/{name}": None for name in ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")}
        | {"product_nodes/0/quantity": 0},
        [("fields", "product_nodes[0]", "quantity"), ("custom_hardware", "product_nodes[0]", "cpu_model")],
    ),
    "blanks of the whole file": (
        {"solution/friendly_description": "", "clients/0/chassis/cpu_model": " ", "product_nodes/0/quantity": ""},
        [("blank", "system_under_test", "clients[0].chassis.cpu_model")],
    ),
    "a capability is judged by other rules": ({"solution/capabilities/multi_host": "yes"}, []),
    "no capabilities at all": (
        {"solution/capabilities": DELETE},
        [("fields", "solution", " is missing: a mapping")],
    ),
    "a secret is not quoted": (
        {"clients/0/environment": [{"name": "TOKEN", "value": 123456}]},
        [("fields", "clients[0]", "is a value of another type: text")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_fields(name: str) -> None:
    changes, expected = FIELDS[name]
    found = problems(changed(good_with_parts(), changes))
    assert [(kind, owner) for kind, owner, _ in found] == [(kind, owner) for kind, owner, _ in expected]
    for (_, _, detail), (_, _, wanted) in zip(found, expected, strict=True):
        assert wanted in detail
        assert "123456" not in detail


def test_every_object_that_is_faulty_is_told() -> None:
    spoilt = changed(
        good_with_parts(),
        {
            "solution/architecture/storage_location": "elsewhere",
            "product_nodes/0/quantity": 0,
            "product_nodes/0/drives/0/capacity_in_GB": 0,
            "product_nodes/0/networking/0/speed": "fast",
            "product_switches/0/ports/0/type": "token ring",
            "clients/0/chassis/power/psus_configured/0/efficiency": "Wood",
            "deployment": "garage",
        },
    )
    assert sorted(owner for _, owner, _ in problems(spoilt)) == [
        "clients[0]",
        "product_nodes[0]",
        "product_nodes[0].drives[0]",
        "product_nodes[0].networking[0]",
        "product_switches[0].ports[0]",
        "solution",
        "system_under_test",
    ]


def test_tags_are_resolved() -> None:
    text = yaml.safe_dump(good()).replace("quantity: 2", '"quantity": !!int "2"')
    text = text.replace("multi_host: true", 'multi_host: !!bool "true"')
    assert problems(text) == []
    assert facts(text)["client_hosts"] == 2
    assert facts(text)["multi_host"] is True


def test_a_duplicate_key_is_a_problem_at_its_line_and_hides_no_other() -> None:
    text = yaml.safe_dump(good(), sort_keys=False)
    text = text.replace("  deployment: onprem\n", "  deployment: onprem\n  deployment: garage\n")
    text = text.replace("quantity: 2", "quantity: none", 1)
    line = text.splitlines().index("  deployment: garage") + 1
    assert problems(text)[0] == (
        "fields",
        "system_under_test",
        f"deployment (line {line}) stands there a second time: write each key once",
    )
    assert [owner for _, owner, _ in problems(text)] == ["system_under_test", "product_nodes[0]"]


BOMB = "a: &a [x,x]\n" + "".join(
    f"{n}: &{n} [{','.join([f'*{m}'] * 9)}]\n" for m, n in zip("abcd", "bcde", strict=True)
)
REFUSED = {
    "alias": ("a: &x 1\nb: *x\n", "line 2: aliases"),
    "alias bomb": (BOMB, "aliases"),
    "merge key": ("a:\n  <<: {b: 1}\n", "line 2: a key must be plain text"),
    "python object": ("a: !!python/object/apply:os.system [id]\n", "not YAML: line 1"),
    "not closed": ("a: [1\n", "not YAML"),
    "a list": ("- 1\n", "top level"),
    "nothing": ("# nothing\n", "top level"),
    "two documents": ("a: 1\n---\nb: 2\n", "not YAML"),
    "a date that is none": ("a: 2026-02-31\n", "not usable YAML"),
    "a text that contradicts its tag": ("a: !!bool x\n", "'x' is not what its tag"),
    "thousands of digits": (f"a: {'9' * 5000}\n", "not usable YAML"),
    "deep": ("[" * 60 + "]" * 60, "deeper"),
    "a key that is a list": ("? [1, 2]\n: 3\n", "line 1: a key must be plain text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_as_a_whole(name: str) -> None:
    text, reason = REFUSED[name]
    description = read_content(Content("ok", text.encode()), "systems/s1.yaml")
    assert description.document.state == "damaged"
    assert reason in description.document.detail
    assert description.problems == ()


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a: \xff\n", b"a\x00b: 1\n"])
def test_bytes_that_are_no_text_are_refused(data: bytes) -> None:
    assert read_content(Content("ok", data), "s.yaml").document.state == "damaged"


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_no_content_is_a_crash(data: bytes) -> None:
    read_content(Content("ok", data), "s.yaml").problems  # noqa: B018 - that it returns is the test


def test_harmful_characters_do_not_travel() -> None:
    spoilt = changed(good(), {"clients/0/chassis/\u202ered\x07": 1})
    assert all("\u202e" not in detail and "\x07" not in detail for _, _, detail in problems(spoilt))


# What follows from a description.


def test_rack_units_and_power_are_sums_over_the_product() -> None:
    found = facts(good_with_parts())
    assert (found["itemized_rack_units"], found["total_rack_units"]) == (6, 6)
    assert found["rack_unit_terms"] == "2 x 2 (product_nodes[0]), 2 x 1 (product_switches[0])"
    assert found["provisioned_power_watts"] == 2 * 2 * 1600 + 2 * 2 * 1600


def test_published_sums() -> None:
    groups = [
        derived.Group("a", 2, 1, 2 * 1500),
        derived.Group("b", 3, 5, 4 * 2400),
        derived.Group("c", 10, 1, 2 * 1600),
    ]
    assert derived.provisioned_watts(groups) == 66_800
    assert derived.itemized_rack_units(groups) == 27


def test_a_cloud_has_neither() -> None:
    found = facts(good(deployment="cloud"))
    assert found["itemized_rack_units"].reason is Reason.NOT_APPLICABLE
    assert found["provisioned_power_watts"].reason is Reason.NOT_APPLICABLE


def test_clients_are_weighted_by_quantity() -> None:
    data = good()
    clients = data["system_under_test"]["clients"]
    clients.append(copy.deepcopy(clients[0]))
    changed(data, {"clients/0/quantity": 1, "clients/1/quantity": "3", "clients/1/chassis/memory_capacity": 112})
    assert facts(data)["client_hosts"] == 4
    assert facts(data)["client_memory_gib"] == (512 + 3 * 112) / 4


def test_sums_beyond_64_bits_are_no_number() -> None:
    huge = 2**62
    many = {"product_nodes/0/quantity": huge, "clients/0/quantity": huge, "clients/0/chassis/memory_capacity": 8}
    found = facts(changed(good(), many))
    assert isinstance(found["itemized_rack_units"], Absence)
    assert isinstance(found["client_memory_gib"], Absence)
    assert found["client_hosts"] == huge


def test_what_a_faulty_field_would_state_is_absent_for_the_problem_s_cause() -> None:
    spoilt = changed(good(), {"product_nodes/0/quantity": "some", "solution/architecture": "file"})
    (first, second) = read(spoilt).problems
    found = facts(spoilt)
    assert {first.cause, second.cause} == {found["itemized_rack_units"].cause, found["benchmark_api"].cause}
    assert found["itemized_rack_units"].reason is Reason.INVALID
    assert found["benchmark_api"].reason is Reason.UNREADABLE


ENDLESS = {
    "numbers for nodes": "system_under_test: {clients: [" + "1," * 60_000 + "]}",
    "empty nodes": "system_under_test: {deployment: onprem, clients: [" + "{}," * 30_000 + "]}",
    "nodes without power": "system_under_test: {deployment: onprem, clients: [" + "{chassis: {}}," * 10_000 + "]}",
    "unknown keys": "system_under_test: {" + ", ".join(f"k{n}: 1" for n in range(45_000)) + "}",
    "one key again and again": "system_under_test: {" + "k: 1, " * 45_000 + "}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_file_of_many_faults_makes_no_endless_report(name: str) -> None:
    found = facts(ENDLESS[name])
    assert 0 < len(found["problems"]) <= 101
    assert len(found["units"]) <= 50
    assert sum(len(problem.detail) for problem in found["problems"]) < 2_000_000


def test_more_values_than_any_description_has_are_refused() -> None:
    description = read("a: [" + "1," * 100_001 + "]")
    assert description.document.detail == "it has more than 100000 values"


@pytest.mark.parametrize(
    ("written", "advised"),
    [("9.10", "'9.10'"), ("010", "'010'"), ("1_000", "'1_000'"), ("2026-07-01", "'2026-07-01'"), ("yes", "'yes'")],
)
def test_what_is_to_be_quoted_is_what_stands_in_the_file(written: str, advised: str) -> None:
    text = yaml.safe_dump(good(), sort_keys=False).replace("version: '24.04'", f"version: {written}")
    assert problems(text)[-1][2].endswith(f"is {written}, no text: put it in quotes: {advised}")
