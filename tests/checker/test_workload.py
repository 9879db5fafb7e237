"""Order, gap and durations of invocations: which stamps are used, and in which zone (4.7.1, 4.7.2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_facts import workload_of
from trees import DELETE, Tree, combined, pair

from rules.facts import Absence, Reason
from submission_checker.scan import Options, check

NO_INVOCATION_END = {"/invocation_end_time": DELETE}
NO_SNAPSHOT = {**NO_INVOCATION_END, "/cluster_snapshots/end": None}
NO_INVOCATION_START = {"/invocation_start_time": DELETE}

GAPS: list[tuple[str, dict[str, Any], dict[str, Any], float, bool]] = [
    ("invocation end to invocation start", {}, {}, 9.75, True),
    ("to the leaf's name", {}, NO_INVOCATION_START, 9.5, True),
    ("from the end of host collection", NO_INVOCATION_END, {}, 11.25, True),
    ("from the summary's end: an upper bound", NO_SNAPSHOT, {}, 20.25, False),
    (
        "to the leaf's name, cut to seconds",
        {"/invocation_end_time": "2026-07-01T10:05:10.75"},
        NO_INVOCATION_START,
        0,
        True,
    ),
    ("overlap by a second", {"/invocation_end_time": "2026-07-01T10:05:11"}, NO_INVOCATION_START, -1, True),
    ("overlap by less", {"/invocation_end_time": "2026-07-01T10:05:10.75"}, {}, -0.5, True),
    ("negative", {"/invocation_end_time": "2026-07-01T10:05:20"}, {}, -9.75, True),
]


@pytest.mark.parametrize("offset", [-11, -6, 0, 8, 14])
@pytest.mark.parametrize(("title", "write", "read", "gap", "exact"), GAPS, ids=[gap[0] for gap in GAPS])
def test_gap(
    tmp_path: Path, offset: int, title: str, write: dict[str, Any], read: dict[str, Any], gap: float, exact: bool
) -> None:
    tree = pair(tmp_path / "tree", utc_offset=offset)
    tree.leaves[0].edit("metadata", write)
    tree.leaves[1].edit("metadata", read)
    workload = workload_of(tree)
    assert workload.gap_seconds == gap
    assert workload.gap_exact is exact


def test_the_latest_host_stamp_ends_the_collection(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree", hosts=2)
    late = {"/cluster_snapshots/end/hosts/1/collection_timestamp": "2026-07-01T16:05:06Z"}
    tree.leaves[0].edit("metadata", {**NO_INVOCATION_END, **late})
    assert workload_of(tree).gap_seconds == 4.25


def test_a_long_collection_at_the_start_does_not_shift_the_zone(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree", utc_offset=-6)
    slow = {"/system_info/collection_timestamp": "2026-07-01T16:06:20Z"}
    tree.leaves[0].edit("metadata", {**NO_INVOCATION_END, **slow})
    assert workload_of(tree).gap_seconds == 11.25


def test_a_recorded_zone_wins(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree", utc_offset=-6)
    slow = {"/system_info/collection_timestamp": "2026-07-01T16:14:00Z", "/utc_offset": "-06:00"}
    tree.leaves[0].edit("metadata", {**NO_INVOCATION_END, **slow})
    assert workload_of(tree).gap_seconds == 11.25


def stated(offset: str) -> dict[str, Any]:
    """The zone as our own tool records it."""
    return {"/utc_offset": offset}


def written(day: str, start: str, end: str, zone: str) -> dict[str, Any]:
    """Invocation times that carry their zone."""
    return {"/invocation_start_time": f"{day}T{start}{zone}", "/invocation_end_time": f"{day}T{end}{zone}"}


NO_STAMPS = {"/system_info": None, "/cluster_snapshots": None}
SUMMER = "2026-07-01"
Side = tuple[str, int, dict[str, Any]]
"""Name of a leaf, the offset from UTC by its collected stamps, and changes of its metadata."""
ZONES: dict[str, tuple[Side, Side, float]] = {
    "recorded": (("20260701_100000", -6, stated("-06:00")), ("20260701_120510", -4, stated("-04:00")), 9.75),
    "recorded, without stamps": (
        ("20260701_100000", -6, {**stated("-06:00"), **NO_STAMPS}),
        ("20260701_153510", -1, {**stated("-00:30"), **NO_STAMPS}),
        9.75,
    ),
    "shown by the stamps": (("20260701_100000", -6, {}), ("20260701_120510", -4, {}), 9.75),
    "only one is known": (("20260701_100000", -6, {}), ("20260701_100510", -4, NO_STAMPS), 9.75),
    "written with the times": (
        ("20260701_100000", -6, written(SUMMER, "10:00:00.25", "10:05:00.5", "-06:00")),
        ("20260701_120510", -4, {**written(SUMMER, "12:05:10.25", "12:10:10.5", "-04:00"), **NO_STAMPS}),
        9.75,
    ),
    "written as UTC": (
        ("20260701_100000", -6, written(SUMMER, "16:00:00.25", "16:05:00.5", "Z")),
        ("20260701_100510", -6, {}),
        9.75,
    ),
    "a long collection of the read invocation": (
        ("20260701_100000", -6, {}),
        ("20260701_100510", -6, {"/system_info/collection_timestamp": "2026-07-01T16:14:50Z"}),
        9.75,
    ),
    "a collector whose clock was never set": (
        ("20260701_100000", -6, {}),
        ("20260701_100510", -6, {"/system_info/collection_timestamp": "1970-01-01T00:03:00Z"}),
        9.75,
    ),
    "the name and the recorded start lie apart": (
        ("20260701_100000", -6, {}),
        ("20260701_090510", -6, {"/invocation_start_time": "2026-07-01T10:05:10.25"}),
        9.75,
    ),
    "clocks put back between the invocations": (("20261101_015000", -5, {}), ("20261101_005510", -6, {}), 9.75),
    "a pause that the zones hide": (("20260701_100000", -6, {}), ("20260701_100510", -9, {}), 3 * 3600 + 9.75),
}


def two(root: Path, write: Side, read: Side) -> Tree:
    """A write and a read invocation, each with a zone of its own."""
    tree = Tree(root)
    tree.describe()
    for (name, offset, changes), (writes, reads) in ((write, (10, 0)), (read, (0, 10))):
        tree.add(name, writes, reads, utc_offset=offset).edit("metadata", changes)
    return tree


@pytest.mark.parametrize("name", ZONES)
def test_the_times_of_a_pair_are_compared_in_one_zone(tmp_path: Path, name: str) -> None:
    write, read, gap = ZONES[name]
    tree = two(tmp_path / "tree", write, read)
    workload = workload_of(tree)
    assert (workload.structure, workload.overlap) == ("10/0 0/10", False)
    assert (workload.gap_seconds, workload.gap_exact) == (gap, True)
    report = check(tree.root, Options())
    told = {finding.rule for finding in report.findings} & {"2.1.24", "4.7.1"}
    assert told == ({"2.1.24", "4.7.1"} if gap > 30 else set())


@pytest.mark.parametrize(
    ("write", "end", "read"),
    [
        ("20261101_015700", "2026-11-01T01:0{}", "20261101_010210"),
        ("20260308_015700", "2026-03-08T03:0{}", "20260308_030210"),
    ],
    ids=["back", "forward"],
)
@pytest.mark.parametrize(
    ("ended", "changes", "gap"), [("2:00.5", {}, 9.75), ("2:10.75", NO_INVOCATION_START, 0)], ids=["", "cut name"]
)
def test_clocks_may_be_changed_while_an_invocation_runs(
    tmp_path: Path, write: str, end: str, read: str, ended: str, changes: dict[str, Any], gap: float
) -> None:
    later, earlier = (-5, -6) if "1101" in write else (-6, -5)
    tree = two(tmp_path / "tree", (write, later, {"/invocation_end_time": end.format(ended)}), (read, earlier, changes))
    tree.leaves[0].edit("summary", {"/end": end.format("1:50")})
    workload = workload_of(tree)
    assert (workload.structure, workload.overlap) == ("10/0 0/10", False)
    assert (workload.gap_seconds, workload.gap_exact) == (gap, True)


def test_a_read_invocation_that_its_zone_puts_first_comes_first(tmp_path: Path) -> None:
    tree = two(tmp_path / "tree", ("20260701_100000", -6, {}), ("20260701_100510", -4, {}))
    assert workload_of(tree).structure == "0/10 10/0"


def test_a_time_that_was_moved_to_another_zone_is_shown_as_stated_too(tmp_path: Path) -> None:
    tree = two(tmp_path / "tree", ("20260701_100000", -6, {}), ("20260701_121000", -4, {}))
    assert workload_of(tree).gap_origin == (
        "write invocation end 2026-07-01T10:05:00.500000, read invocation start 2026-07-01T10:10:00.250000 "
        "(stated as 2026-07-01T12:10:00.250000 in another zone)"
    )


def test_without_any_end_the_gap_has_the_summary_s_cause(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", NO_SNAPSHOT)
    tree.leaves[0].summary.unlink()
    gap = workload_of(tree).gap_seconds
    assert isinstance(gap, Absence)
    assert gap.cause == f"file:{tree.leaves[0].summary.relative_to(tree.root).as_posix()}"


@pytest.mark.parametrize(
    ("leaves", "structure"),
    [
        ([("20260701_100000", 10, 10)], "10/10"),
        ([("20260701_100000", 10, 0), ("20260701_110000", 10, 0)], "10/0 10/0"),
        ([("20260701_100000", 0, 10), ("20260701_110000", 10, 0)], "0/10 10/0"),
        ([("20260701_110000", 0, 10), ("20260701_100000", 10, 0), ("20260701_120000", 0, 10)], "10/0 0/10 0/10"),
    ],
)
def test_there_is_a_gap_in_a_write_read_pair_only(
    tmp_path: Path, leaves: list[tuple[str, int, int]], structure: str
) -> None:
    tree = Tree(tmp_path / "tree")
    tree.describe()
    for leaf in leaves:
        tree.add(*leaf)
    workload = workload_of(tree)
    assert workload.structure == structure
    assert workload.pair is False
    for fact in (workload.gap_seconds, workload.gap_exact, workload.gap_origin):
        assert isinstance(fact, Absence)
        assert fact.reason is Reason.NOT_APPLICABLE


def test_invocations_are_ordered_by_their_recorded_start(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", {"/invocation_start_time": "2026-07-01T11:00:00"})
    assert workload_of(tree).structure == "0/10 10/0"


def test_durations_are_measured_from_the_first_write_to_the_last_read(tmp_path: Path) -> None:
    workload = workload_of(pair(tmp_path / "tree"))
    assert workload.total_seconds == 310 + 229 - 20
    assert workload.interval_seconds == 310 + 130 - 119


def test_without_statistics_the_summaries_bound_the_durations(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves:
        (leaf.path / "0_per_epoch_stats.json").write_bytes(b"PRUNED BY STAFF\n")
    workload = workload_of(tree)
    assert workload.total_seconds == 310 + 290 - 10
    assert workload.interval_seconds == 310 + 10 - 290


@pytest.mark.parametrize(
    ("leaf", "step", "end"), [(0, "save_ckpt1", "start"), (0, "save_ckpt10", "end"), (1, "load_ckpt1", "start")]
)
def test_a_time_of_the_statistics_that_is_none_is_replaced_by_no_bound(
    tmp_path: Path, leaf: int, step: str, end: str
) -> None:
    tree = pair(tmp_path / "tree")
    stats = tree.leaves[leaf].path / "0_per_epoch_stats.json"
    data = json.loads(stats.read_text())
    data["1"][step][end] = "soon"
    stats.write_text(json.dumps(data))
    workload = workload_of(tree)
    seconds = workload.total_seconds if (leaf, end) == (0, "start") else workload.interval_seconds
    assert isinstance(seconds, Absence)
    assert seconds.reason is Reason.INVALID


def test_one_invocation_without_statistics_has_no_interval(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / "0_per_epoch_stats.json").write_bytes(b"PRUNED BY STAFF\n")
    workload = workload_of(tree)
    assert workload.total_seconds == 280
    assert isinstance(workload.interval_seconds, Absence)
    assert workload.interval_seconds.reason is Reason.PLACEHOLDER
    (told,) = [finding.message for finding in check(tree.root, Options()).findings if finding.rule == "4.7.2"]
    assert told == "total duration 280.0 s; between the phases: (not known)"


def test_a_test_without_reads_has_no_duration(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.describe()
    tree.add("20260701_100000", 10, 0)
    total = workload_of(tree).total_seconds
    assert isinstance(total, Absence)
    assert total.reason is Reason.NOT_APPLICABLE


def test_facts_of_unequal_invocations(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    tree.describe()
    tree.add("20260701_100000", 10, 0, hosts=1, memory_gib=100.0)
    tree.add("20260701_101000", 0, 10, hosts=2, memory_gib=200.0)
    tree.leaves[1].edit("metadata", {"/args/data_access_protocol": "object"})
    workload = workload_of(tree)
    assert (workload.num_hosts, workload.client_memory_gib, workload.checkpoints_written) == (2, 200.0, 10)
    assert isinstance(workload.api, Absence)
    assert workload.api.detail == "the invocations differ: file, object"


def test_a_count_that_no_rule_can_hold_is_unknown(tmp_path: Path) -> None:
    """Each run states a number that 64 bits hold; their sum is one that they do not."""
    tree = Tree(tmp_path / "tree")
    tree.describe()
    for name in ("20260701_100000", "20260701_101000"):
        tree.add(name, 10, 0).edit("metadata", {"/args/num_checkpoints_write": 2**62})
    written = workload_of(tree).checkpoints_written
    assert isinstance(written, Absence)
    assert (written.reason, written.path.rpartition("/")[2]) == (Reason.INVALID, tree.leaves[0].metadata.name)
    assert "would be 9223372036854775808" in written.detail
