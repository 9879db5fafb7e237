"""Arithmetic of KV cache: the worked example of the book, aggregation, layout, delays; and what the tables say."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import rules
from rules.derived import kv_cache as derived
from rules.facts import Absence, Reason, Source
from rules.tables import load_table

NONE = Absence("none", Reason.NOT_APPLICABLE)
LACKS = Absence("key", Reason.NOT_RECORDED)
BROKEN = Absence("value", Reason.INVALID)
FIGURES = (
    "read_bandwidth",
    "device_read_p95",
    "storage_entries",
    "read_gib",
    "seconds",
    "longest_request",
)


def result(trial, rank=0, *, seed=None, measurements="", **figures):
    stated = {name: figures.get(name, LACKS) for name in FIGURES}
    place = (1, trial, rank)
    return derived.RankResult(
        place, Source(derived.name_of(place)), stated, LACKS if seed is None else seed, measurements
    )


def option(*results, ranks=1, trials=3, unknown=None):
    return derived.OptionResults(1, ranks, trials, results, NONE, unknown)


READS = (13.6135300153449, 13.554503868394296, 13.452203894626756)
P95 = (13554.665893701529, 13585.38871474957, 13349.470724398629)
WORKED = option(*(result(t, read_bandwidth=READS[t], device_read_p95=P95[t]) for t in range(3)))


def test_the_worked_example():
    assert derived.mean_of_sums(WORKED, "read_bandwidth") == pytest.approx(13.540079259455316, rel=1e-15)
    worst = derived.extreme(WORKED, "device_read_p95", max, if_absent=0.0)
    assert (worst.value, worst.source.path) == (13585.38871474957, "option_1/trial_1/rank_0")


def test_ranks_are_summed_and_trials_averaged():
    two = option(result(0, 0, read_bandwidth=1.5), result(0, 1, read_bandwidth=2.5), ranks=2, trials=1)
    assert derived.mean_of_sums(two, "read_bandwidth") == 4.0


def test_a_missing_result_lowers_the_sum_and_an_empty_trial_counts_as_0():
    one = option(result(0, 0, read_bandwidth=6.0), ranks=2, trials=3)
    assert derived.mean_of_sums(one, "read_bandwidth") == 2.0


def test_a_key_that_is_not_there_counts_as_0_and_a_broken_one_is_not_known():
    assert derived.mean_of_sums(option(result(0)), "read_bandwidth") == 0.0
    assert derived.mean_of_sums(option(result(0, read_bandwidth=BROKEN)), "read_bandwidth") is BROKEN


def test_no_result_at_all_is_not_0():
    assert derived.mean_of_sums(option(), "read_bandwidth") is NONE
    assert derived.extreme(option(), "device_read_p95", max, if_absent=0.0) is NONE


def test_what_is_unknown_of_the_whole_wins():
    unknown = Absence("pruned", Reason.PLACEHOLDER)
    assert derived.mean_of_sums(option(result(0, read_bandwidth=1.0), unknown=unknown), "read_bandwidth") is unknown
    assert derived.cpu_tier(option(result(0, storage_entries=0), unknown=unknown)) == ("unknown", unknown)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(2.0, 2.0, 0.0), (1.0, 2.0, 0.5), (2.0, 1.0, 0.5), (0.0, 0.0, 0.0), (0.0, 1e-9, 1e-6), (-1.0, 1.0, 2.0)],
)
def test_deviation_is_relative_to_the_larger(one, other, expected):
    assert derived.deviation(one, other) == pytest.approx(expected)


def test_a_rank_is_compared_with_its_own_bytes_over_its_own_window():
    read, bytes_, seconds = 13.6135300153449, 4084.0609130859375, 300.0001401901245
    good = option(result(0, read_bandwidth=read, read_gib=bytes_, seconds=seconds))
    rate = derived.worst_rate(good, "read_bandwidth", "read_gib", "seconds")
    assert rate.deviation < 1e-12
    bad = option(result(0, read_bandwidth=read * 2, read_gib=bytes_, seconds=seconds))
    rate = derived.worst_rate(bad, "read_bandwidth", "read_gib", "seconds")
    assert (rate.rank, rate.stated, rate.computed) == ("option_1/trial_0/rank_0", read * 2, pytest.approx(read))
    assert (rate.deviation, rate.path) == (pytest.approx(0.5), "option_1/trial_0/rank_0")
    assert derived.worst_rate(option(result(0)), "read_bandwidth", "read_gib", "seconds") is LACKS


@pytest.mark.parametrize(
    ("entries", "state", "names"),
    [
        ((5, 7), "none", []),
        ((0, 7), "some", ["option_1/trial_0/rank_0"]),
        ((0, 0), "all", ["option_1/trial_0/rank_0", "option_1/trial_0/rank_1"]),
    ],
)
def test_which_ranks_the_cpu_tier_served(entries, state, names):
    results = [result(0, rank, storage_entries=count) for rank, count in enumerate(entries)]
    assert derived.cpu_tier(option(*results, ranks=2)) == (state, names)


def test_entries_that_are_not_stated_are_not_0():
    assert derived.cpu_tier(option(result(0, 0, storage_entries=0), result(0, 1))) == ("unknown", LACKS)


def test_a_rank_with_entries_and_without_a_read_latency():
    ranks = [
        result(0, 0, storage_entries=5, device_read_p95=20.0),
        result(0, 1, storage_entries=5, device_read_p95=0.0),
        result(0, 2, storage_entries=5),
        result(0, 3, storage_entries=0),
    ]
    assert derived.unsampled(option(*ranks), recorded=True) == ["option_1/trial_0/rank_1", "option_1/trial_0/rank_2"]
    assert derived.unsampled(option(ranks[2]), recorded=False) is LACKS
    broken = result(0, 4, storage_entries=5, device_read_p95=BROKEN)
    assert derived.unsampled(option(*ranks, broken), recorded=True) is BROKEN


@pytest.mark.parametrize(
    ("processes", "per_host", "hosts", "expected"),
    [
        (None, None, 1, 1),
        (None, None, 4, 4),
        (None, 5, 4, 20),
        (32, None, 16, 32),
        (32, 2, 16, 32),
        (48, 1, 8, 48),
        (32, 3, 16, None),
        (5, None, 2, None),
        (0, None, 1, None),
        (-4, None, 2, None),
    ],
)
def test_ranks_of_a_command_line(processes, per_host, hosts, expected):
    assert derived.resolve_ranks(processes, per_host, hosts) == expected


def test_seeds_are_grouped_by_what_is_added_to_the_rank():
    ranks = option(result(0, 0, seed=42), result(0, 1, seed=43), result(0, 2, seed=43))
    assert [(group.base, group.ranks) for group in derived.seed_groups(ranks)] == [
        (41, "option_1/trial_0/rank_2"),
        (42, "option_1/trial_0/rank_0, option_1/trial_0/rank_1"),
    ]
    (shared,) = derived.shared_seeds(ranks)
    assert (shared.count, shared.holders) == (2, "option_1/trial_0/rank_1, option_1/trial_0/rank_2")


def test_the_same_seed_in_two_trials_is_not_shared():
    assert derived.shared_seeds(option(result(0, 0, seed=42), result(1, 0, seed=42))) == []


def test_measurements_in_common():
    ranks = [result(0, rank, measurements=text) for rank, text in enumerate(["a", "b", "a", "", ""])]
    (shared,) = derived.shared_measurements(ranks)
    assert (shared.count, shared.holders) == (2, "option_1/trial_0/rank_0, option_1/trial_0/rank_2")


def starts(*gaps):
    """Start times of three trials an Option; ``gaps``: from one Option's last start to the next one's first."""
    at, found = datetime(2026, 7, 21), {}
    for number in range(len(gaps) + 1):
        found[number + 1] = [at, at + timedelta(seconds=533), at + timedelta(seconds=533 + 541)]
        at = found[number + 1][-1] + timedelta(seconds=gaps[number] if number < len(gaps) else 0)
    return found


def test_the_delay_between_options_shows_in_start_times():
    assert derived.observed_delay(starts(634, 640), {}, 90.0) == 97.0
    assert derived.observed_delay(starts(562, 640), {}, 90.0) == 25.0


def test_the_log_of_the_last_trial_shows_it_better():
    times = starts(634)
    end = times[1][-1] + timedelta(seconds=450)
    assert derived.observed_delay(times, {1: end}, 90.0) == 94.0


@pytest.mark.parametrize("times", [{}, {1: []}, {1: [None], 2: [None]}, {1: [datetime(2026, 1, 1)], 3: []}])
def test_a_delay_that_does_not_show(times):
    assert derived.observed_delay(times, {}, 90.0) is None


@pytest.mark.parametrize(
    ("path", "directory", "inside"),
    [
        ("/mnt/x", "/mnt/x", True),
        ("/mnt/x/kv", "/mnt/x", True),
        ("/mnt/x_results", "/mnt/x", False),
        ("/mnt", "/mnt/x", False),
        ("/mnt/x", "", False),
    ],
)
def test_paths_are_compared_by_components(path, directory, inside):
    assert derived.is_inside(path, directory) is inside


def unusable(present, ranks=2, trials=2, **more):
    return derived.Unusable(1, ranks, trials, set(present), **more)


def names(of):
    return [(record.name.removeprefix("option_1"), record.count) for record in of.records("leaf", "cause")]


@pytest.mark.parametrize(
    ("stated", "started", "there", "expected"),
    [
        (16, 8, 8, 8),
        (16, 8, 7, 8),
        (16, 8, 16, 16),
        (4, 8, 8, 8),
        (4, 8, 7, 8),
        (4, 8, 4, 4),
        (4, 2, 4, 4),
        (8, 8, 8, 8),
    ],
)
def test_commands_and_results_outvote_the_summary(stated, started, there, expected):
    assert derived.outvoted(stated, started, there) == expected


def test_missing_results_are_folded_to_trials_and_options():
    assert names(unusable([(0, 0), (0, 1), (1, 0), (1, 1)])) == []
    assert names(unusable([(0, 0), (0, 1), (1, 0)])) == [("/trial_1/rank_1", 1)]
    assert names(unusable([(0, 0), (0, 1)])) == [("/trial_1", 2)]
    assert names(unusable([(0, 0), (1, 0)], ranks=3)) == [
        ("/trial_0/rank_1, option_1/trial_0/rank_2", 2),
        ("/trial_1/rank_1, option_1/trial_1/rank_2", 2),
    ]
    assert names(unusable([(0, 0)], ranks=2, trials=4)) == [
        ("/trial_0/rank_1", 1),
        ("/trial_1, option_1/trial_2, option_1/trial_3", 6),
    ]
    assert names(unusable([])) == [("", 4)]


def test_a_damaged_file_keeps_its_trial_from_being_folded():
    damaged = unusable([(0, 0), (0, 1)], reasons={(1, 0): "it is not JSON"})
    (record,) = damaged.records("leaf", "cause")
    assert (record.name, record.path) == ("option_1/trial_1/rank_0, option_1/trial_1/rank_1", "leaf/option_1/trial_1")
    assert record.detail == "it is not JSON, there is no result file"


def test_what_the_summary_lists_stands_apart():
    lost = unusable([(0, 0), (0, 1), (0, 2)], ranks=3, declared={(1, 1)}, reasons={(1, 0): "it is not JSON"})
    found = [
        (record.name.rpartition("/")[2], record.count, record.declared) for record in lost.records("leaf", "cause")
    ]
    assert found == [("rank_1", 1, True), ("rank_2", 2, False)]


def test_a_folded_trial_is_declared_where_all_of_it_is():
    (all_of_it,) = unusable([(0, 0), (0, 1)], declared={(1, 0), (1, 1)}).records("leaf", "cause")
    (half,) = unusable([(0, 0), (0, 1)], declared={(1, 0)}).records("leaf", "cause")
    assert (all_of_it.declared, half.declared) == (True, False)


@pytest.mark.parametrize(
    ("present", "slots", "expected"),
    [
        ([0, 2], [2, 2], True),
        ([0, 1], [2, 2], True),
        ([0, 1, 2], [2, 2], False),
        ([1, 3], [2, 2], False),
        ([0, 1, 2, 3], [2, 2], False),
        ([], [2, 2], False),
        ([0, 1], [2], False),
    ],
)
def test_results_of_the_first_host_alone(present, slots, expected):
    one = unusable([(trial, rank) for trial in range(2) for rank in present], ranks=4)
    assert derived.beyond_first_host([one], slots) is expected


def test_parameters_are_laid_beside_the_table():
    stated = {0: {"num-users": "200", "gpu-mem-gb": "0.0"}, 1: {"num-users": "100", "gpu-mem-gb": "0"}}
    items = {
        (item.name, item.value): (item.reference, item.trials)
        for item in derived.compare_parameters("1", stated, complete=True)
    }
    assert items["num-users", "200"] == ("200", [0])
    assert items["num-users", "100"] == ("200", [1])
    assert items["gpu-mem-gb", "0"] == ("0", [0, 1])
    assert items["duration", "(not set)"] == ("300", [0, 1])
    silent = derived.compare_parameters("1", stated, complete=False)
    assert {item.name for item in silent} == {"num-users", "gpu-mem-gb"}
    assert derived.compare_parameters("4", stated, complete=True) == []


def test_table_kvcache_1():
    """Repeated on purpose: adapters compare with the table, so no example of a rule guards its cells."""
    table = {name: dict(derived.reference_parameters(name)) for name in derived.option_names()}
    common = {"duration": "300", "gpu-mem-gb": "0", "generation-mode": "none"}
    small = {"model": "llama3.1-8b", "max-concurrent-allocs": "16", **common}
    large = {"model": "llama3.1-70b-instruct", "max-concurrent-allocs": "4", **common}
    assert table == {
        "1": {"num-users": "200", "cpu-mem-gb": "0", **small},
        "2": {"num-users": "100", "cpu-mem-gb": "4", **small},
        "3": {"num-users": "70", "cpu-mem-gb": "0", **large},
    }


def test_arguments_have_inert_defaults():
    recorded = {"duration": 60, "gpu_mem_gb": 16.0, "generation_mode": "realistic", "num_users": None, "other": 1}
    found = {item.name: (item.value, item.default, item.table_values) for item in derived.compare_arguments(recorded)}
    assert found == {
        "duration": ("60", "60", ["300"]),
        "gpu_mem_gb": ("16", "16", ["0"]),
        "generation_mode": ("realistic", "realistic", ["none"]),
    }


def test_the_delay_is_stated_once():
    """Two places of the published text contradict each other; here one cell decides, by edition."""
    limits = load_table("kvcache-limits")
    delays = {edition: limits.cells(edition)[""]["inter_option_delays"] for edition in rules.edition_ids()}
    assert delays == {"3.0-as-published": [20, 90], "3.0": [90], "4.0-draft": [90]}


def test_every_rule_of_section_6_is_there():
    section = {rule.id for rule in rules.load_edition("3.0").rules if rule.id.startswith("6.")}
    assert section == {
        "6.3.1.1", "6.3.2.1", "6.3.2.2", "6.3.3.1", "6.3.3.2", "6.3.3.3", "6.3.3.4", "6.3.4.1", "6.3.4.2", "6.3.4.3",
        "6.3.4.4", "6.3.4.5", "6.4.1", "6.4.2", "6.5.1", "6.5.2", "6.6.1", "6.6.2", "6.6.3",
    }  # fmt: skip


def test_of_many_names_the_first_few_are_shown():
    assert derived.shown([]) == ""
    assert derived.shown(list("abcde")) == "a, b, c, d, e"
    assert derived.shown(list("abcdefg")) == "a, b, c, d, e and 2 more"
