"""Arithmetic of derived facts: exact to the digit on measured checkpoints, and total on what a user may type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.derived.checkpointing import (
    architecture,
    canonical,
    checkpoint_bytes,
    checkpoint_gib,
    closed_processes,
    compare_parameters,
    model_names,
    parameter_count,
    parse_hosts,
    rank_bytes,
    ranks_per_host,
    reference_workload,
    scaled,
)
from rules.derived.locations import location, normal_path, uri_problem
from rules.tables import reference_rows


@pytest.mark.parametrize(
    ("model", "parameters", "gib"),
    [
        ("llama3-8b", 8030261248, 104.70452117919922),
        ("llama3-70b", 69882617856, 911.2121276855469),
        ("llama3-405b", 405853388800, 5292.248718261719),
        ("llama3-1t", 1183035102480, 15426.589264154434),
    ],
)
def test_full_checkpoints_have_the_measured_size_to_the_last_digit(model, parameters, gib):
    assert parameter_count(architecture(model)) == parameters
    assert checkpoint_gib(architecture(model), closed_processes(model)) == gib


@pytest.mark.parametrize(
    ("model", "processes", "gib"),
    [
        ("llama3-8b", 4, 52.352),
        ("llama3-70b", 8, 113.902),
        ("llama3-70b", 16, 227.803),
        ("llama3-405b", 8, 98.545),
        ("llama3-405b", 256, 3024.132),
        ("llama3-405b", 1024, 5292.717),
        ("llama3-1t", 8, 143.724),
        ("llama3-1t", 512, 8815.125),
    ],
)
def test_other_process_counts(model, processes, gib):
    a = scaled(architecture(model), closed_processes(model), processes)
    assert round(checkpoint_gib(a, processes), 3) == gib


@pytest.mark.parametrize("model", model_names())
def test_the_sum_over_ranks_is_the_whole(model):
    a = architecture(model)
    for processes in (1, 3, 8, a.unit + 1, 2 * a.unit, 2 * a.unit + 5):
        assert checkpoint_bytes(a, processes) == sum(rank_bytes(a, rank) for rank in range(processes))


@pytest.mark.parametrize("model", model_names())
def test_table_2_agrees_with_itself(model):
    row = reference_rows("checkpointing-models")[model]
    assert row["open_unit"] == row["tensor_parallel"] * row["pipeline_parallel"]
    assert row["closed_processes"] == row["open_unit"] * row["data_parallel"]


@pytest.mark.parametrize(
    ("hosts", "processes", "ranks"),
    [
        (["h1"], 8, [8]),
        (["h1,h2"], 8, [4, 4]),
        (["h1 h2 h3"], 8, [3, 3, 2]),
        (["h1:60", "h2:4"], 64, [60, 4]),
        (["h1:4", "h2:4"], 6, [3, 3]),
        (["h1:2", "h2:8"], 10, [2, 8]),
        (["h1:2", "h2:8"], 9, [2, 7]),
        (["h1:4", "h2:4"], 10, [5, 5]),
        (["h1", "h2"], 0, [0, 0]),
    ],
)
def test_placement(hosts, processes, ranks):
    assert ranks_per_host(parse_hosts(hosts), processes) == ranks


def one_by_one(limits, processes):
    """Round robin as it is described: to each host that is not full in turn; what is left, to all in turn."""
    placed = [0] * len(limits)
    turns = [index for level in range(max(limits)) for index, limit in enumerate(limits) if limit > level]
    for index in (turns + list(range(len(limits))) * processes)[:processes]:
        placed[index] += 1
    return placed


@given(st.lists(st.integers(0, 9), min_size=2, max_size=8), st.integers(0, 99))
def test_placement_is_round_robin(slots, processes):
    hosts = [(f"h{index}", count) for index, count in enumerate(slots)]
    assert ranks_per_host(hosts, processes) == one_by_one(slots, processes)


def test_placement_takes_no_longer_for_a_count_that_nobody_has():
    placed = ranks_per_host([(f"h{index}", index) for index in range(10_000)], 2**62)
    assert sum(placed) == 2**62
    assert max(placed) - min(placed) <= 10_000


@given(
    st.lists(st.one_of(st.none(), st.integers(1, 600)), min_size=1, max_size=40),
    st.integers(0, 2048),
)
def test_every_rank_is_placed(slots, processes):
    hosts = [(f"h{index}", count) for index, count in enumerate(slots)]
    placed = ranks_per_host(hosts, processes)
    assert sum(placed) == processes
    assert len(placed) == len(hosts)
    assert min(placed) >= 0


@pytest.mark.parametrize(
    ("entries", "hosts"),
    [
        (["host01:8"], [("host01", 8)]),
        (["Host01:8", "host01:8"], [("host01", 16)]),
        (["host01,host02"], [("host01", None), ("host02", None)]),
        (["[2001:db8::1]:16"], [("2001:db8::1", 16)]),
        (["2001:db8::1"], [("2001:db8::1", None)]),
        ([" a  b "], [("a", None), ("b", None)]),
        ([], []),
    ],
)
def test_hosts(entries, hosts):
    assert parse_hosts(entries) == hosts


@pytest.mark.parametrize("entry", ["host01:x", "host01:0", "host01:-1", ":8", "[]:4", "h:1.5"])
def test_malformed_hosts(entry):
    with pytest.raises(ValueError, match="host entry"):
        parse_hosts([entry])


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("/mnt/x", "/mnt/x/", True),
        ("/mnt//x/.", "/mnt/x", True),
        ("/mnt/x", "/mnt/x/y", False),
        ("s3://b/p/", "S3://b/p", True),
        ("s3://b/p", "/b/p", False),
        ("//mnt/x", "/mnt/x", True),
        ("./ckpt", "ckpt", True),
        ("", "/", False),
    ],
)
def test_paths_compare_by_where_they_lead(left, right, same):
    assert (normal_path(left) == normal_path(right)) is same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("s3://b/p", "b/p", True),
        ("s3://b/p", "b//p/", True),
        ("s3://b/b/p", "b/p", False),
        ("gs://b/p", "b/p", False),
        ("/b/p", "b/p", False),
        ("", "s3://", False),
    ],
)
def test_object_locations_compare_with_and_without_their_scheme(left, right, same):
    assert (location(left, "object") == location(right, "object")) is same


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3:///path", "s3:///path"),
        ("s3://./path", "s3://./path"),
        ("S3://b//./p/", "s3://b/p"),
        ("s3://b/../c", "s3://b/c"),
        ("s3://b/", "s3://b"),
        ("s3://", "s3://"),
        ("file:///mnt//x/", "file:///mnt/x"),
    ],
)
def test_a_location_keeps_the_place_of_its_bucket(uri, shown):
    assert location(uri, "object") == location(shown, "object") == shown


@pytest.mark.parametrize(
    "uri",
    [
        "s3://me:se-cret@b/p", "s3://me:ab/se-cret@b/p", "me:se-cret@b/p", "s3:/me:se-cret@b/p",
        "s3://s3://me:se-cret@b", "s3://https://me:se-cret@b/p", "s3://a@b/https://me:se-cret@b/p",
    ],
)  # fmt: skip
@pytest.mark.parametrize("api", ["object", "file", None])
def test_a_password_is_never_part_of_a_location(uri, api):
    assert "se-cret" not in location(uri, api)
    assert "b" in location(uri, api)


def test_a_container_is_no_user():
    assert location("abfs://one@account/p", "object") != location("abfs://two@account/p", "object")


def test_a_relative_path_is_no_object():
    assert location("b/p", "file") == "b/p"
    assert uri_problem("s3://s3://b/p", "file") == ""


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("s3://b/p", ""),
        ("s3://b", ""),
        ("b/p", ""),
        ("/b/p", ""),
        ("", ""),
        ("s3://minio:9000/b/p", ""),
        ("minio:9000/b", ""),
        ("file:///mnt/x", ""),
        ("s3://s3://b/p", "has a second scheme in it"),
        ("s3://gs:/b/p", "has a second scheme in it"),
        ("s3:///s3://b/p", "has a second scheme in it"),
        ("s3://b/s3://b/p", "has a second scheme in it"),
        ("b/s3:/b/p", "has a second scheme in it"),
        ("s3://b/things3:/p", ""),
        ("s3://me:secret@b/p", "holds a password, which would be published"),
        ("me:secret@b/p", "holds a password, which would be published"),
        ("s3:/me:se/cret@b/p", "holds a password, which would be published"),
        ("abfs://container@account.dfs/p", ""),
        ("arn:aws:s3:eu:1:accesspoint/x", ""),
        ("hdfs:///p", ""),
        ("s3://./x", "names no bucket"),
        ("s3:/b/p", "has one slash, or none, after its scheme"),
        ("s3:b", "has one slash, or none, after its scheme"),
        ("s3://", "names no bucket"),
        ("s3:///p", "names no bucket"),
    ],
)
def test_what_is_wrong_with_an_object_uri(uri, problem):
    assert uri_problem(uri, "object") == problem


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), ("True", "true"), ("false", "false"), (5, "5"), (5.0, "5"), ("5", "5"), ("5.0", "5"), (0.5, "0.5"),
     (None, "(not set)"), ("fp16", "fp16"), ("nan", "nan"), ("1e400", "1e400"), ([1, "2"], "[1, 2]")],
)  # fmt: skip
def test_canonical_values(value, text):
    assert canonical(value) == text


@given(st.text(max_size=40))
def test_canonical_is_stable(text):
    assert canonical(canonical(text)) == canonical(text)


def test_parameters_stand_beside_their_reference():
    effective = {**reference_workload("llama3-8b"), "checkpoint.rank_sync": "true"}
    del effective["checkpoint.fsync"]
    changed = {
        p.name: (p.value, p.reference) for p in compare_parameters("llama3-8b", effective) if p.value != p.reference
    }
    assert changed == {"checkpoint.rank_sync": ("true", "(not set)"), "checkpoint.fsync": ("(not set)", "true")}
