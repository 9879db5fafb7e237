"""What users reported of checkers of this kind, as inputs with their right outcomes: the first fifty, by number.

A number that is missing here is held elsewhere (its kind has a test of its own), or speaks of something other than what
this checker decides.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from kv_cache_trees import KvTree, legal
from test_code import image_in, name_image
from test_facts import workload_of
from training_trees import TrainingTree
from trees import DELETE, IMAGE, Tree, combined, pair, set_pointer
from vector_database_trees import complete

import rules
from rules import Finding
from rules.edition import Edition
from submission_checker.cli import main
from submission_checker.scan import Options, check

Told = list[tuple[str, str]]
"""Rule and severity."""


def findings(root: Path, *wanted: str, edition: str = "3.0") -> list[Finding]:
    """Findings of these rules, or of all."""
    report = check(root, Options(edition=edition))
    assert not report.faults
    return [finding for finding in report.findings if not wanted or finding.rule in wanted]


def told(root: Path, *wanted: str, edition: str = "3.0") -> Told:
    """Errors and warnings of these rules, or of all."""
    found = findings(root, *wanted, edition=edition)
    return sorted((f.rule, f.severity.value) for f in found if f.severity.value != "info")


def only(root: Path, rule: str, edition: str = "3.0") -> Finding:
    """The one finding of a rule."""
    (found,) = findings(root, rule, edition=edition)
    return found


def report_of(capsys: pytest.CaptureFixture[str], root: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON report of the command."""
    code = main([str(root), "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)


def has(text: str, *parts: str) -> None:
    """The text has all parts."""
    assert [part for part in parts if part not in text] == [], text


def llama_70b(root: Path, **options: Any) -> Tree:
    """A legal CLOSED 70B run: 64 ranks on 4 hosts of 500 GiB, unless said otherwise."""
    return combined(root, "llama3-70b", **{"hosts": 4, "memory_gib": 500.0, **options})


def place(tree: Tree, *slots: str) -> None:
    """Run on hosts with these numbers of ranks: 'a:8'."""
    count = sum(int(slot.partition(":")[2]) for slot in slots)
    tree.hosts = len(slots)
    tree.describe()
    for leaf in tree.leaves:
        leaf.edit(
            "metadata",
            {"/args/hosts": list(slots), "/args/num_processes": count, "/system_info/num_hosts": len(slots)},
        )
        leaf.edit("summary", {"/num_accelerators": count, "/num_hosts": len(slots)})


def found_with(tree: Tree, rule: str, **limits: object) -> list[str]:
    """Clauses of a rule that find something in the tree's workload, where the book has other limits."""
    edition = Edition("3.0", rules.load_edition("3.0").sections)
    edition.cells = {**edition.cells, "limit": {"": {**edition.cells["limit"][""], **limits}}}
    found = rules.conclude([edition.evaluate(workload_of(tree), division="closed")]).findings
    return [finding.clause for finding in found if finding.rule == rule]


@pytest.mark.parametrize(
    "build",
    [
        lambda root: pair(root),
        lambda root: combined(root),
        lambda root: llama_70b(root),
        lambda root: TrainingTree(root).build(),
        lambda root: TrainingTree(root, hosts=2).build(),
        lambda root: legal(root),
        lambda root: legal(root, ranks=20, hosts=4),
        lambda root: complete(root),
    ],
    ids=["pair", "combined", "70b", "training", "training on two hosts", "KV cache", "KV cache on four hosts", "VDB"],
)
def test_what_these_tests_spoil_is_legal(tmp_path: Path, build: Callable[[Path], object]) -> None:
    build(tmp_path)
    assert told(tmp_path) == []


# Missed violations.


def test_1_the_division_means_the_same_in_any_case(tmp_path: Path) -> None:
    seen = []
    for spelling in ("CLOSED", "closed", "Closed", "Close"):
        tree = llama_70b(tmp_path / spelling)
        place(tree, *(f"host{number}:8" for number in range(9)))
        for leaf in tree.leaves:
            leaf.edit("metadata", {"/verification": spelling})
        seen.append(told(tree.root, "4.6.1", "4.6.2", "X4.1"))
    assert seen[0] == seen[1] == seen[2] == [("4.6.1", "error")]
    assert seen[3] == [*seen[0], ("X4.1", "error")]


@pytest.mark.parametrize(
    ("model", "slots", "labelled", "declared"),
    [
        ("llama3-8b", "host01:8", [], set()),
        ("llama3-8b", "host01:16", [("4.6.1", "error")], {"4.3.5", "4.6.1"}),
        ("llama3-70b", "host01:8", [("4.3.5", "error"), ("4.6.1", "error")], {"4.3.5", "4.6.1"}),
    ],
)
def test_2_a_subset_run_is_one_of_8b_on_eight(
    tmp_path: Path, model: str, slots: str, labelled: Told, declared: set[str]
) -> None:
    tree = combined(tmp_path / "tree", model, memory_gib=30.0)
    place(tree, slots)
    for leaf in tree.leaves:
        leaf.override("checkpoint.mode", "subset")
        leaf.override("model.parallelism.data", 8)
    assert told(tree.root, "4.3.5", "4.6.1") == labelled
    for leaf in tree.leaves:
        leaf.edit("metadata", {"/args/checkpoint_subset": True})
    assert {rule for rule, _ in told(tree.root, "4.3.5", "4.6.1")} == declared


@pytest.mark.parametrize("changes", [{"/args/checkpoint_subset": True}, {"/args/checkpoint_subset": DELETE}])
def test_2_the_legal_subset_run_may_carry_the_label(tmp_path: Path, changes: dict[str, Any]) -> None:
    tree = combined(tmp_path / "tree", memory_gib=30.0)
    for leaf in tree.leaves:
        leaf.edit("metadata", changes)
        leaf.override("checkpoint.mode", "subset")
        leaf.override("model.parallelism.data", 8)
    assert told(tree.root) == []


def test_5_what_was_not_evaluated_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, leaf = legal(tmp_path / "kv")
    leaf.parameter(1, "num-users", 100)
    has(only(tree.root, "6.3.1.1").message, "Option 1", "num-users", "200", "100")
    spoilt = llama_70b(tmp_path / "tree", processes=72)
    assert told(spoilt.root) == [("4.6.1", "error")]
    _, report = report_of(capsys, spoilt.root, "--ignore", "4.6.1")
    assert (report["summary"]["errors"], report["status"]) == (0, "UNDECIDED")
    assert report["not_checked"] == ["rules of the edition that were not selected: 1"]
    assert "4.6.1" not in report["rules"]


def test_7_rules_on_the_files_of_a_checkpointing_leaf_are_evaluated(tmp_path: Path) -> None:
    tree = llama_70b(tmp_path / "tree")
    report = check(tree.root, Options())
    idle = [rule for rule in (f"2.1.{number}" for number in range(21, 27)) if not report.tally[rule]["pass"]]
    assert idle == []
    (tree.leaves[0].path / "dlio_config" / "hydra.yaml").rename(tree.leaves[0].path / "dlio_config" / "notes.txt")
    assert told(tree.root) == [("2.1.26", "error")] * 2


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ([f"host{number}:4" for number in range(16)], [("4.6.2", "warning")]),
        ([f"host{number}:5" for number in range(13)], [("4.6.1", "error")]),
        ([f"host{number}:8" for number in range(8)], []),
    ],
    ids=["16 hosts of 4", "13 hosts of 5", "8 hosts of 8"],
)
def test_10_more_than_four_ranks_a_host(tmp_path: Path, slots: list[str], expected: Told) -> None:
    tree = llama_70b(tmp_path / "tree")
    place(tree, *slots)
    assert told(tree.root, "4.6.1", "4.6.2") == expected
    for finding in findings(tree.root, "4.6.2"):
        has(finding.message, "exactly 4", "text", "table", "issue 866")


def test_10_the_bound_is_data(tmp_path: Path) -> None:
    tree = llama_70b(tmp_path / "tree")
    place(tree, *(f"host{number}:4" for number in range(16)))
    assert found_with(tree, "4.6.2", min_ranks_per_host=3) == []
    assert found_with(tree, "4.6.2", min_ranks_per_host=5) == ["fewer"]


def test_13_a_workload_with_an_error_is_never_counted_as_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    other = combined(tmp_path / "other")
    other.leaves[0].path.joinpath("dlio.log").unlink()
    target = tree.root / "closed/acme"
    shutil.copytree(other.root / "closed/acme/results/fast-1", target / "results/slow-2")
    description = yaml.safe_load(other.description.read_text())
    description["system_under_test"]["solution"]["submission_name"] = "slow-2"
    (target / "systems/slow-2.yaml").write_text(yaml.safe_dump(description))
    (target / "systems/slow-2.pdf").write_bytes(b"%PDF-1.4\n%slow\n")
    code, report = report_of(capsys, tree.root)
    assert code == 1
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert [(f["rule"], f["system"]) for f in errors] == [("2.1.25", "slow-2")]
    assert (report["summary"]["errors"], report["summary"]["leaves"], report["summary"]["systems"]) == (1, 3, 2)
    (submission,) = report["submissions"]
    states = {workload["system"]: workload for workload in submission["workloads"]}
    assert (states["fast-1"]["blockers"], states["slow-2"]["blockers"]) == (0, 1)
    assert states["slow-2"]["status"] == submission["status"] == report["status"] != states["fast-1"]["status"]


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_14_no_number_of_the_book_is_without_an_entry(edition: str) -> None:
    book = rules.load_edition(edition)
    numbers = defaultdict(set)
    for rule in book.rules:
        chapter, _, last = rule.id.rpartition(".")
        if chapter and chapter[0].isdigit():
            numbers[chapter].add(int(last))
    del numbers["2"]  # 2.29 stands alone
    gaps = {f"{chapter}.{n}" for chapter, found in numbers.items() for n in set(range(1, max(found))) - found}
    assert gaps == set()


def test_16_a_high_utilisation_makes_no_dataset_large_enough(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, accelerators=8, files=7380, au=99.2).build()  # twice the memory
    assert told(tree.root) == [("3.1.2", "error"), ("3.1.2", "warning")]
    (short,) = [f for f in findings(tree.root, "3.1.2") if f.severity.value == "error"]
    has(short.message, "7380 files", "28000 files", "18438.84")


def missing_of(tree: KvTree) -> str:
    """Message of the one error on what was measured."""
    (found,) = [f for f in findings(tree.root) if f.severity.value == "error"]
    return found.message


def test_17_crashed_ranks_are_told_and_not_averaged(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=20, hosts=4)
    leaf.lose(*((3, trial, rank) for trial in range(3) for rank in range(20)), declared=True)
    leaf.edit(leaf.summary, {"/trial_failures": {"3": [{"trial": 0, "exit_code": 137}]}})
    has(missing_of(tree), "Option 3", "60 of 60", "137")


@pytest.mark.parametrize("missing", [1, 3])
def test_17_a_part_of_the_ranks_is_an_error_too(tmp_path: Path, missing: int) -> None:
    tree, leaf = legal(tmp_path / "tree", ranks=20, hosts=4)
    leaf.lose(*((3, 1, rank) for rank in range(missing)), declared=True)
    has(missing_of(tree), "Option 3", f"{missing} of 60")


@pytest.mark.parametrize(("memory", "warned"), [(500.0, False), (1007.6, True)])
def test_19_all_data_that_a_client_writes_counts(tmp_path: Path, memory: float, warned: bool) -> None:
    tree = llama_70b(tmp_path / "tree", memory_gib=memory)
    assert told(tree.root) == [("4.3.1", "warning")] * warned
    for finding in findings(tree.root, "4.3.1"):
        has(finding.message, "2278.0 GiB", "10 checkpoints", "911.2 GiB", "4 hosts", "1007.6", "3022.8")


# False errors.


def short_pair(root: Path, read: str = "20260701_120015") -> Tree:
    """Two invocations, 5 s apart; the benchmark's own stamps lie 65 s apart."""
    tree = Tree(root, memory_gib=30.0)
    tree.describe()
    tree.add("20260701_120000", 10, 0, memory_gib=30.0)
    tree.add(read, 0, 10, memory_gib=30.0)
    day = "2026-07-01T12"
    times = [(f"{day}:00:00", f"{day}:00:10", f"{day}:00:01", f"{day}:00:05", "save"),
             (f"{day}:00:15", f"{day}:01:25", f"{day}:01:10", f"{day}:01:20", "load")]  # fmt: skip
    for leaf, (begin, end, first, last, phase) in zip(tree.leaves, times, strict=True):
        leaf.edit("metadata", {"/invocation_start_time": begin, "/invocation_end_time": end})
        leaf.edit("summary", {"/start": first, "/end": last})
        steps = {f"/1/{phase}_ckpt{n}": {"start": first, "end": last} for n in range(1, 11)}
        leaf.edit("stats", {**steps, "/1/start": first, "/1/end": last})
    return tree


NO_TIMES = {"/invocation_start_time": DELETE, "/invocation_end_time": DELETE, "/cluster_snapshots": None}
PAUSES: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], Told, tuple[str, ...]]] = {
    "5 s between the invocations": ({}, {}, [], ()),
    "5 min between the invocations": (
        {},
        {"/invocation_start_time": "2026-07-01T12:05:10", "/invocation_end_time": "2026-07-01T12:05:20"},
        [("2.1.24", "warning"), ("4.7.1", "error")],
        ("300.0 s", "write invocation end", "read invocation start"),
    ),
    "no invocation times": (
        NO_TIMES,
        NO_TIMES,
        [],
        (),
    ),
}


@pytest.mark.parametrize("name", PAUSES)
def test_23_the_pause_lies_between_invocations_not_between_measurements(tmp_path: Path, name: str) -> None:
    write, read, expected, parts = PAUSES[name]
    tree = short_pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", dict(write))
    tree.leaves[1].edit("metadata", dict(read))
    assert told(tree.root) == expected
    for finding in findings(tree.root, "4.7.1"):
        has(finding.message, *parts)


@pytest.mark.parametrize(("edition", "severity"), [("3.0", "warning"), ("4.0-draft", "error")])
def test_23_without_invocation_times_the_pause_is_an_upper_bound(tmp_path: Path, edition: str, severity: str) -> None:
    tree = short_pair(tmp_path / "tree", read="20260701_120045")
    for leaf in tree.leaves:
        leaf.edit("metadata", NO_TIMES)
    finding = only(tree.root, "4.7.1", edition)
    assert finding.severity.value == severity
    has(finding.message, "up to 40.0 s", "summary", "an upper bound")


COLLECTED = "/cluster_snapshots/end/collection_timestamp"
ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "invocation": ({"/invocation_end_time": "2026-07-01T10:05:08"}, "write invocation end 2026-07-01T10:05:08"),
    "collection": ({"/invocation_end_time": DELETE, COLLECTED: "2026-07-01T16:05:00Z"}, "collection"),
}


@pytest.mark.parametrize("name", ENDS)
def test_25_the_collection_of_hosts_after_a_run_is_no_pause(tmp_path: Path, name: str) -> None:
    changes, origin = ENDS[name]
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("summary", {"/end": "2026-07-01T10:04:20"})  # 58 s before the read invocation
    tree.leaves[0].edit("metadata", {"/cluster_snapshots/end/hosts": [], **changes})
    for second, expected in ((18, []), (40, [("4.7.1", "error")])):
        tree.leaves[1].edit("metadata", {"/invocation_start_time": f"2026-07-01T10:05:{second}"})
        assert told(tree.root) == expected
    has(only(tree.root, "4.7.1").message, origin)


@pytest.mark.parametrize(("hosts", "severity"), [(8, "warning"), (9, "error")])
def test_26_workloads_of_one_system_may_use_fewer_clients(tmp_path: Path, hosts: int, severity: str) -> None:
    small = combined(tmp_path / "tree", memory_gib=30.0)
    large = Tree(small.root, model="llama3-70b")
    large.add("20260701_110000", 10, 10, hosts=hosts, memory_gib=30.0, processes=64 if hosts == 8 else 63)
    small.hosts = 8
    small.describe()
    finding = only(small.root, "2.1.9")
    assert finding.severity.value == severity
    has(finding.message, "8 hosts", *(["20260701_100000"] if hosts == 8 else ["20260701_110000", "9"]))


DF = """\
Filesystem     1K-blocks  Used Available Use% Mounted on
/dev/sda1      1000       10   990       1% /
/dev/sdb1      1000       10   990       1% {mount}

"""

EVIDENCE: dict[str, tuple[bool | None, str | None, Told]] = {
    "recorded as different": (False, None, []),
    "recorded as one": (True, None, [("4.4.2", "error")]),
    "nothing": (None, None, [("4.4.2", "warning")]),
    "df shows one": (None, "/mnt", [("4.4.2", "error")]),
    "df shows two": (None, "/mnt/pfs", []),
    "the record comes before df": (False, "/mnt", []),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_29_evidence_of_filesystems_is_what_tools_write(tmp_path: Path, name: str) -> None:
    recorded, mount, expected = EVIDENCE[name]
    tree = llama_70b(tmp_path / "tree")
    (leaf,) = tree.leaves
    leaf.edit("metadata", {"/args/results_dir": "/mnt/results"})
    if recorded is None:
        (leaf.path / "fs_separation.json").unlink()
    else:
        leaf.edit("fs", {"/same_filesystem": recorded, "/method": "link_exdev"})
    if mount:
        (leaf.path / "checkpointing_run.stdout.log").write_text(DF.format(mount=mount))
    assert told(tree.root) == expected


def test_31_a_sizing_is_no_invocation(tmp_path: Path) -> None:
    training = TrainingTree(tmp_path / "training").build()
    assert told(training.root) == []
    tree = pair(tmp_path / "tree")
    tree.add("20260701_095000", 10, 10).edit("metadata", {"/command": "datasize", "/args/command": "datasize"})
    assert told(tree.root) == [("2.1.23", "error")]


@pytest.mark.parametrize(
    ("algorithm", "content", "parts"),
    [
        ("md5-tree-v2", "print('hello')\n", None),
        ("md5-tree-v1", "print('hello')\n", None),
        ("md5-tree-v9", "print('hello')\n", ("md5-tree-v9", "cannot be compared")),
        ("md5-tree-v2", "print('hello!')\n", (IMAGE,)),
    ],
)
def test_34_another_algorithm_is_not_a_change(
    tmp_path: Path, algorithm: str, content: str, parts: tuple[str, ...] | None
) -> None:
    tree = pair(tmp_path / "tree")
    (image,) = tree.root.glob("code-images/code-*")
    (image / "mlpstorage/main.py").write_text(content)
    record = json.loads((image / ".code-hash.json").read_text())
    (image / ".code-hash.json").write_text(json.dumps({**record, "algorithm": algorithm}))
    found = findings(tree.root, "CHECK-01", "CHECK-02", "CHECK-03")
    assert [f.rule for f in found] == (["CHECK-02"] if parts else [])
    for finding in found:
        has(finding.message, *parts or ())
        assert ("cannot be compared" in finding.message) == (algorithm == "md5-tree-v9")


def test_35_each_leaf_has_the_code_that_it_ran(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    _, digest = image_in(tree.root / "code-images", {"mlpstorage/main.py": "a later version"})
    name_image(tree.leaves[1].path, digest)
    assert told(tree.root) == []
    absent = "deadbeef" + "0" * 24
    name_image(tree.leaves[1].path, absent)
    finding = only(tree.root, "CHECK-01")
    assert (finding.severity.value, finding.paths) == (
        "error",
        (tree.leaves[1].path.relative_to(tree.root).as_posix(),),
    )
    has(finding.message, "code-deadbeef")
    assert told(tree.root) == [("CHECK-01", "error"), ("CHECK-03", "warning")]  # and no leaf ran the later version


SUMMARY = "closed/acme/results/fast-1/checkpointing/llama3-8b/20260701_100000/summary.json"


@pytest.mark.parametrize(
    ("first", "last", "undecided"),
    [("start", "end", set()), ("start_time", "end_time", set()), ("begun", "ended", {("undetermined", SUMMARY)})],
)
def test_37_either_spelling_of_a_summarys_times_is_read(
    tmp_path: Path, first: str, last: str, undecided: set[tuple[str, str]]
) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves:
        data = json.loads(leaf.summary.read_text())
        data[first], data[last] = data.pop("start"), data.pop("end")
        leaf.summary.write_text(json.dumps(data))
        leaf.edit("metadata", NO_TIMES)
    found = findings(tree.root, "2.1.24", "4.7.1", "4.7.2")
    assert {(f.outcome, f.path) for f in found if f.severity.value != "info"} == undecided
    assert all("the key is not set" in f.message for f in found if f.outcome == "undetermined")
    assert check(tree.root, Options()).tally["4.7.1"]["violation"] == 0


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("/invocation_start_time", "not a time", "'not a time' is not an ISO 8601 time"),
        ("/invocation_end_time", 1782921600, "1782921600 is not an ISO 8601 time"),
        ("/utc_offset", "CST", "'CST' is not a difference from UTC"),
    ],
)
@pytest.mark.parametrize(("edition", "severity"), [("3.0", "warning"), ("4.0-draft", "error")])
def test_37_a_time_that_cannot_be_read_is_named_in_each_leaf(
    tmp_path: Path, key: str, value: object, shown: str, edition: str, severity: str
) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves:
        leaf.edit("metadata", {key: value})
    found = findings(tree.root, "LEAF-05", edition=edition)
    assert [(f.path, f.severity.value) for f in found] == [
        (leaf.path.relative_to(tree.root).as_posix(), severity) for leaf in tree.leaves
    ]
    for finding in found:
        has(finding.message, key[1:], shown)
    assert told(tree.root, "2.1.24", "4.7.1", "X4.1") == []  # judged by the times that are there


@pytest.mark.parametrize(
    ("model", "target", "au", "expected"),
    [
        ("unet3d", 0.9, 90.0, []),
        ("unet3d", 0.9, 89.9, ["minimum"] * 5 + ["warmup"]),
        ("retinanet", 0.85, 85.0, []),
        ("retinanet", 0.9, 86.0, []),
        ("retinanet", 0.85, 84.9, ["minimum"] * 5 + ["warmup"]),
    ],
)
def test_40_the_least_utilisation_is_the_books(
    tmp_path: Path, model: str, target: float, au: float, expected: list[str]
) -> None:
    files = {"unet3d": 56000, "retinanet": 8369985}[model]
    tree = TrainingTree(tmp_path, model=model, files=files, au=au).build()
    for leaf in tree.runs:
        leaf.edit("config", {"/workload/metric/au": target})
        leaf.edit("summary", {"/metric/train_au_meet_expectation": "success" if au >= 100 * target else "fail"})
    found = findings(tree.root, "3.3.2")
    assert sorted(f.clause for f in found if f.severity.value != "info") == expected
    assert ({f.clause for f in found if f.severity.value == "info"} - {"warmup"}) == (
        {"target"} if au == 86.0 else set()
    )


@pytest.mark.parametrize(
    ("accelerator", "edition", "expected"),
    [
        ("b200", "3.0", []),
        ("b200", "4.0-draft", []),
        ("h100", "3.0", ["error"]),
        ("v100", "3.0", ["warning"]),
        ("v100", "4.0-draft", ["error"]),
        ("", "3.0", ["warning"]),
        (None, "3.0", ["warning"]),
        (None, "4.0-draft", ["error"]),
    ],
)
def test_41_accelerators_are_judged_by_their_own_memory(
    tmp_path: Path, accelerator: str | None, edition: str, expected: list[str]
) -> None:
    tree = combined(tmp_path / "tree", "llama3-70b", division="open", processes=8, memory_gib=30.0)
    tree.leaves[0].edit("metadata", {"/accelerator": accelerator})
    tree.leaves[0].edit("summary", {"/metric/checkpoint_size_GB": 911.2})
    found = findings(tree.root, "4.3.4", edition=edition)
    assert [finding.severity.value for finding in found] == expected
    if not accelerator and expected == ["warning"]:
        has(found[0].message, "8 processes x 80 GB (assumed, no type is recorded)", "911.2 GiB")


def test_43_hardware_that_the_format_cannot_describe_is_one_warning_for_a_group_and_may_be_waived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = pair(tmp_path / "tree")
    data = yaml.safe_load(tree.description.read_text())
    fields = ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")
    for name in fields:
        set_pointer(data["system_under_test"], f"/product_nodes/0/chassis/{name}", None)
    set_pointer(data["system_under_test"], "/total_rack_units", 7)
    tree.write_description(data)
    found = findings(tree.root, "2.1.7")
    assert [(f.clause, f.severity.value) for f in found] == [("rack_units", "error"), ("custom_hardware", "warning")]
    has(found[1].message, *fields)
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(
        "waivers:\n- {rule: 2.1.7, path: closed/acme/systems/*, reason: 'ruled, see minutes 12', until: '2999-12-31'}\n"
    )
    code, report = report_of(capsys, tree.root, "--waivers", str(waivers))
    assert (code, report["summary"]["errors"], report["summary"]["waived"]) == (0, 0, 2)
    assert {f["waived"]["reason"] for f in report["findings"] if f["rule"] == "2.1.7"} == {"ruled, see minutes 12"}


def test_44_the_files_that_are_required_are_those_that_the_rule_names(tmp_path: Path) -> None:
    stated = rules.load_edition("3.0").rule("2.1.25").statement.partition("holds: ")[2].rstrip(".").split(", ")
    tree = pair(tmp_path / "tree")
    leaf = tree.leaves[0].path
    required = []
    for path in sorted(leaf.iterdir()):
        away = path.rename(tmp_path / path.name)
        required += [path.name] * (told(tree.root, "2.1.25") == [("2.1.25", "error")])
        away.rename(path)
    assert len(required) == len(stated) == 7
    assert all(any(fnmatch(name, pattern.rstrip("/")) for pattern in stated) for name in required)


DESCRIPTIONS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "remote storage on premises without its nodes": ({"product_nodes": DELETE}, ("product_nodes", "required because")),
    "a cloud without rack units and power": (
        {
            "deployment": "cloud",
            "total_rack_units": DELETE,
            **{
                f"{group}/0/chassis/{field}": DELETE
                for group in ("product_nodes", "clients")
                for field in ("rack_units", "power")
            },
        },
        (),
    ),
    "with a size of the clients' own store that is none": (
        {"solution/int_client_store_tib": 0},
        ("int_client_store_tib", "0"),
    ),
    "without the size of the clients' own store": ({"solution/int_client_store_tib": DELETE}, ()),
    "a capacity below 1 TiB": ({"solution/usable_capacity_tib": 0.5}, ("usable_capacity_tib", "0.5", "1 or more")),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_46_a_field_that_is_demanded_says_why(tmp_path: Path, name: str) -> None:
    changes, parts = DESCRIPTIONS[name]
    tree = pair(tmp_path / "tree")
    data = yaml.safe_load(tree.description.read_text())
    for pointer, value in {"solution/int_client_store_tib": 10.0, **changes}.items():
        set_pointer(data["system_under_test"], f"/{pointer}", value)
    tree.write_description(data)
    assert told(tree.root) == [("2.1.7", "error")] * bool(parts)
    for finding in findings(tree.root, "2.1.7"):
        has(finding.message, *parts)


def test_47_a_name_in_another_case_is_one_finding_with_the_right_name(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].override("checkpoint.fsync", False)
    directory = tree.workload.parent
    directory.rename(directory.with_name("Checkpointing"))
    assert told(tree.root) == [("2.1.10", "error"), ("4.3.2", "error")]
    has(only(tree.root, "2.1.10").message, "Checkpointing", "the name is checkpointing")
    vectors = complete(tmp_path / "vectors")
    vectors.directory.rename(vectors.directory.with_name("diskann"))
    finding = only(vectors.root, "5.6.3")
    has(finding.message, "diskann", "DISKANN")


LEGAL: dict[str, Callable[[Path], object]] = {
    "checkpointing": pair,
    "training": lambda root: TrainingTree(root).build(),
    "vector_database": complete,
    "kv_cache": legal,
}
RENAMED = [
    ("checkpointing", "*/*/results", "Results", "2.1.5"),
    ("checkpointing", "*/*/systems", "SYSTEMS", "2.1.5"),
    ("training", "*/*/results", "RESULTS", "2.1.5"),
    ("training", "*/*/results/*/*/*/run", "Run", "2.1.12"),
    ("training", "*/*/results/*/*/*/datagen", "DataGen", "2.1.12"),
    ("training", "*/*/results/*/*/*/datasize", "Datasize", "2.1.12"),
    ("vector_database", "*/*/systems", "Systems", "2.1.5"),
    ("vector_database", "*/*/results/*/*/*/*/run", "Run", "2.1.27"),
    ("vector_database", "*/*/results/*/*/*/*/datagen", "DATAGEN", "2.1.27"),
    ("kv_cache", "*/*/systems", "Systems", "2.1.5"),
    ("kv_cache", "*/*/results/*/*/*/run", "RUN", "X6.4"),
]


@pytest.mark.parametrize(("family", "pattern", "name", "rule"), RENAMED)
def test_47_a_directory_of_the_layout_in_another_case_is_one_finding_and_its_content_is_judged(
    tmp_path: Path, family: str, pattern: str, name: str, rule: str
) -> None:
    LEGAL[family](tmp_path)
    before = {(f.rule, f.clause, f.message) for f in findings(tmp_path)}
    (directory,) = tmp_path.glob(pattern)
    directory.rename(directory.with_name(name))
    after = {(f.rule, f.clause, f.message): f for f in findings(tmp_path)}
    assert before - after.keys() == set()
    (told,) = (f for key, f in after.items() if key not in before)
    assert (told.rule, told.severity.value) == (rule, "error")
    assert told.remedy == f"Rename it to {name.lower()}."


def test_47_a_name_in_another_case_does_not_stand_in_for_the_right_one(tmp_path: Path) -> None:
    TrainingTree(tmp_path).build()
    (runs,) = tmp_path.glob("*/*/results/*/*/*/run")
    shutil.copytree(next(runs.iterdir()), runs.with_name("Run") / "20260702_100000")
    (finding,) = findings(tmp_path, "2.1.12")
    assert finding.remedy == "Remove it."
    assert findings(tmp_path, "2.1.17") == []


def test_47_a_part_of_a_tree_may_lie_under_names_in_another_case(tmp_path: Path) -> None:
    tree = complete(tmp_path)
    tree.directory.joinpath("run").rename(tree.directory / "Run")
    results = tmp_path / "closed/acme/results"
    results.rename(results.with_name("Results"))
    (leaf, *_) = sorted(tmp_path.glob("closed/acme/Results/*/*/*/*/Run/*"))
    assert findings(leaf) == []
    assert [f.rule for f in findings(leaf.parent.parent) if "taken for" in f.message] == ["2.1.5", "2.1.27"]


@pytest.mark.parametrize(("start", "expected"), [("30.500", []), ("30.501", [("4.7.1", "error")])])
def test_49_a_bound_is_shown_beside_what_was_measured(tmp_path: Path, start: str, expected: Told) -> None:
    tree = pair(tmp_path / "tree")  # the write invocation ends at 10:05:00.500
    tree.leaves[1].edit("metadata", {"/invocation_start_time": f"2026-07-01T10:05:{start}"})
    assert told(tree.root) == expected
    for finding in findings(tree.root, "4.7.1"):
        has(finding.message, "30.001 s", "30.000 s")


def test_49_the_bound_is_data(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[1].edit("metadata", {"/invocation_start_time": "2026-07-01T10:05:45"})  # 44.5 s
    assert found_with(tree, "4.7.1") == ["gap"]
    assert found_with(tree, "4.7.1", max_gap_seconds=45.0) == []


def test_50_an_edition_judges_a_tree_the_same_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = combined(tmp_path / "tree", processes=16)
    reports = [report_of(capsys, tree.root)[1] for _ in range(2)]
    assert reports[0] == reports[1]
    assert (reports[0]["edition"], reports[0]["edition_digest"]) == ("3.0", rules.load_edition("3.0").digest)
