"""Whatever stands in a file of a leaf: a finding with path and reason, or harmless; never a fault or a hang."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trees import Tree, combined, pair, unix_socket

from mlpstorage.results import files
from mlpstorage.results.document import read_json, read_yaml
from mlpstorage.results.roots.local import LocalRoot
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check

Damage = Callable[[Path], None]


def content(data: bytes) -> Damage:
    return lambda path: (path.unlink(missing_ok=True), path.write_bytes(data))[0]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def duplicated(path: Path) -> None:
    text = path.read_text().strip()
    path.write_text('{"extra": {"key": 1, "key" : 2},' + text[1:])


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link_out(path: Path) -> None:
    outside = path.parents[8] / "outside.json"
    path.rename(outside)
    path.symlink_to(outside)


def link_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(2 * 2**30)  # sparse


def unreadable_by_size_of_a_number(path: Path) -> None:
    path.write_bytes(b'{"start": ' + b"9" * 5000 + b"}")


DAMAGES: dict[str, tuple[Damage, str]] = {
    "missing": (lambda path: path.unlink(), "missing"),
    "empty": (content(b""), "is empty"),
    "truncated": (truncated, "not JSON"),
    "not JSON": (content(b"start: 2026\n"), "not JSON"),
    "NUL bytes": (content(b"\0" * 100), "binary"),
    "invalid UTF-8": (content(b'{"start": "\xff\xfe"}'), "not JSON"),
    "lone surrogate": (content(b'{"start": "\\ud800"}'), "not JSON"),
    "list on top": (content(b"[1, 2]"), "a list"),
    "null on top": (content(b"null"), "null"),
    "text on top": (content(b'"x"'), "a text"),
    "byte order mark": (content(b"\xef\xbb\xbf{}"), "byte order mark"),
    "UTF-16": (content('{"a": 1}'.encode("utf-16")), "byte order mark"),
    "UTF-16 without mark": (content('{"a": 1}'.encode("utf-16-le")), "binary"),
    "nested 250 deep": (content(b'{"a":' * 250 + b"1" + b"}" * 250), "nested"),
    "nested lists": (content(b'{"a":' + b"[" * 250 + b"]" * 250 + b"}"), "nested"),
    "nested 100,000 deep": (content(b'{"a":' * 100_000), "nested"),
    "duplicate keys": (duplicated, "twice"),
    "a number of 5,000 digits": (unreadable_by_size_of_a_number, "number"),
    "FIFO": (fifo, "FIFO"),
    "socket": (unix_socket, "cannot be opened"),
    "directory": (directory, "directory"),
    "link out of the tree": (link_out, "link"),
    "link to itself": (link_loop, "link"),
    "2 GB, sparse": (huge, "bytes"),
}


def errors(report: CheckReport) -> list[tuple[str, str, str]]:
    assert not report.faults
    return [(f.rule, f.path, f.message) for f in report.findings if f.severity.value == "error"]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_summary_is_one_error_at_its_path(tmp_path: Path, name: str) -> None:
    damage, reason = DAMAGES[name]
    deep = tmp_path / "a" / "b"
    tree = combined(deep / "tree")
    damage(tree.leaves[0].summary)
    ((rule, path, message),) = errors(check(tree.root, Options()))
    summary = tree.leaves[0].summary.relative_to(tree.root)
    owner = ("2.1.25", summary.parent) if name == "missing" else ("READ-01", summary)
    assert (rule, path) == (owner[0], owner[1].as_posix())
    assert reason in message


@pytest.mark.parametrize("name", sorted(set(DAMAGES) - {"missing"}))
def test_damaged_metadata_is_one_error_and_the_configuration_still_counts(tmp_path: Path, name: str) -> None:
    tree = combined(tmp_path / "a" / "b" / "tree")
    tree.leaves[0].override("checkpoint.fsync", False)
    DAMAGES[name][0](tree.leaves[0].metadata)
    found = errors(check(tree.root, Options()))
    assert [rule for rule, _, _ in found] in (["4.3.2", "READ-01"], ["READ-01", "4.3.2"])


@pytest.mark.parametrize(
    "file", ["dlio_config/config.yaml", "dlio_config/overrides.yaml", "0_per_epoch_stats.json", "fs_separation.json"]
)
def test_another_damaged_file_is_one_error(tmp_path: Path, file: str) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / file).write_text("workload: [\n")
    report = check(tree.root, Options())
    assert [f.rule for f in report.findings if f.severity.value != "info"] == ["READ-01"]


def test_a_missing_configuration_is_one_finding(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / "dlio_config" / "config.yaml").unlink()
    report = check(tree.root, Options())
    (finding,) = [f for f in report.findings if f.severity.value != "info"]
    assert (finding.rule, finding.outcome) == ("2.1.26", "violation")
    assert finding.path.endswith("/dlio_config")
    assert "4.6.3" in finding.opens


def test_missing_metadata_is_a_warning_that_lists_what_it_leaves_open(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].metadata.unlink()
    report = check(tree.root, Options())
    assert errors(report) == []
    (finding,) = [f for f in report.findings if f.severity.value == "warning"]
    assert finding.rule == "LEAF-01"
    assert {"1.1", "4.4.1"} <= set(finding.opens)


@pytest.mark.parametrize("name", ["FIFO", "link to itself", "directory", "empty", "invalid UTF-8", "NUL bytes"])
def test_a_damaged_description_is_one_error(tmp_path: Path, name: str) -> None:
    tree = combined(tmp_path / "tree")
    DAMAGES[name][0](tree.description)
    ((rule, path, _),) = errors(check(tree.root, Options()))
    assert (rule, path) == ("2.1.7", "closed/acme/systems/fast-1.yaml")


ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ALIAS_BOMB, "aliases"),
        ("a: &x [1, *x]\n", "aliases"),
        ("a: 1\na: 2\n", "twice"),
        ("a: !!python/object/apply:os.system [id]\n", "constructor"),
        ("a: !secret x\n", "constructor"),
        ("? [a]\n: 1\n", "plain text"),
        ("a: 2026-02-31\n", "usable"),
        ("a: " + "9" * 5000 + "\n", "usable"),
        ("a: 1\n---\nb: 2\n", "YAML"),
        ("[" * 5000, "nest"),
        ("# nothing\n", "null"),
    ],
)
def test_yaml_that_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with LocalRoot(tmp_path) as root:
        document = read_yaml(root, "x.yaml")
    assert document.state in ("damaged", "refused")
    assert reason in document.detail


def test_yaml_tags_of_the_core_schema_are_values(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text('"remap_time_in_seconds": !!int "160"\n')
    with LocalRoot(tmp_path) as root:
        assert read_yaml(root, "x.yaml").data == {"remap_time_in_seconds": 160}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "a" : 2}',
        '{"a":1,"a"  \n:2}',
        '{"x": {"a": {"b": 1}, "a": {}}}',
        '{"a": 1, "\\u0061": 2}',
        '{"v": "\\u0022:", "a": 1, "a": 2}',
        '{"v": ":", "a": 1, "a": ":"}',
    ],
)
def test_a_key_that_stands_twice_is_seen_however_it_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with LocalRoot(tmp_path) as root:
        document = read_json(root, "x.json")
    assert document.state == "damaged"
    assert "twice" in document.detail


@pytest.mark.parametrize("text", ['{"a": ":b", "c": "d\\":"}', '{"a" : {"b"\n:1}}', '{"x": [":", " :", "\\":"]}'])
def test_colons_in_values_are_not_taken_for_duplicate_keys(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with LocalRoot(tmp_path) as root:
        assert read_json(root, "x.json").data == json.loads(text)


def test_a_value_that_is_no_number_is_named_once(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].edit("metadata", {"/args/num_processes": "sixty-four"})
    ((_, path, message),) = errors(check(tree.root, Options()))
    assert path == tree.leaves[0].metadata.relative_to(tree.root).as_posix()
    assert "'sixty-four' is not an integer" in message


@pytest.mark.parametrize("token", ["NaN", "Infinity", "1e400"])
def test_a_checkpoint_size_that_is_not_finite_is_named(tmp_path: Path, token: str) -> None:
    tree = combined(tmp_path / "tree")
    text = tree.leaves[0].summary.read_text().replace("104.70452117919922", token)
    tree.leaves[0].summary.write_text(text)
    report = check(tree.root, Options())
    assert any("checkpoint_size_GB" in f.message and "not a finite number" in f.message for f in report.findings)


def test_pruned_files_are_one_info_a_leaf(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves:
        for name in ("0_per_epoch_stats.json", "fs_separation.json", "checkpointing_run.stdout.log"):
            (leaf.path / name).write_bytes(b"PRUNED BY STAFF\n")
    report = check(tree.root, Options())
    assert not [f for f in report.findings if f.severity.value != "info"]
    assert len([f for f in report.findings if f.outcome == "undetermined"]) == 2


def test_links_to_directories_are_not_entered(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    outside = tmp_path / "outside"
    tree.workload.parent.rename(outside)
    tree.workload.parent.symlink_to(outside)
    other = combined(tmp_path / "other")
    other.root.joinpath("closed", "acme").rename(tree.root / "closed" / "globex")
    report = check(tree.root, Options())
    assert report.leaves == 1
    assert ("TREE-01", "closed/acme/results/fast-1") in {(f.rule, f.path) for f in report.findings}
    assert not [f for f in report.findings if f.path.startswith("closed/acme/results/fast-1/")]


def test_a_linked_leaf_directory_below_is_refused(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    configuration = tree.leaves[0].path / "dlio_config"
    configuration.rename(tmp_path / "elsewhere")
    configuration.symlink_to(tmp_path / "elsewhere")
    found = errors(check(tree.root, Options()))
    assert {rule for rule, _, _ in found} == {"READ-01"}
    assert all("link" in message for _, _, message in found)


def test_names_that_are_no_text_are_shown_and_do_no_harm(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    name = os.fsencode(tree.root / "closed" / "acme") + b"-\xff\x1b[31m\n::error::x"
    os.rename(os.fsencode(tree.root / "closed" / "acme"), name)
    report = check(tree.root, Options())
    assert report.leaves == 1
    assert all("\x1b" not in f.path and "\n" not in f.path for f in report.findings)


def test_a_path_that_climbs_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "tree").mkdir()
    with LocalRoot(tmp_path / "tree") as root:
        for path in ("../secret.json", "a/../../secret.json", f"{tmp_path}/secret.json"):
            assert root.read(path, 1000).state in ("refused", "missing")


def test_a_file_that_is_larger_than_the_limit_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 100)
    with LocalRoot(tmp_path) as root:
        assert root.read("x", 99).state == "refused"
        assert root.read("x", 100).state == "ok"
        assert root.read("x", 10, head=True).data == b"x" * 10


def fingerprint(root: Path) -> Iterator[tuple[str, str, int]]:
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        yield path.as_posix(), hashlib.sha256(data).hexdigest(), info.st_mtime_ns


def test_nothing_is_written_into_the_tree(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[1].summary.write_bytes(b"{")
    before = list(fingerprint(tree.root))
    for path in tree.root.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    check(tree.root, Options())
    assert list(fingerprint(tree.root)) == before


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=8,
)
METADATA_POINTERS = [
    "/args", "/args/hosts", "/args/num_processes", "/args/model", "/args/mode", "/args/mpi_params",
    "/args/checkpoint_folder", "/args/checkpoint_subset", "/args/client_host_memory_in_gb", "/system_info",
    "/system_info/hosts", "/system_info/num_hosts", "/cluster_snapshots", "/cluster_snapshots/end",
    "/cluster_snapshots/end/hosts", "/parameters", "/override_parameters", "/executed_command", "/verification",
    "/invocation_start_time", "/invocation_end_time", "/command", "/accelerator", "/fsync_effective",
]  # fmt: skip
OTHER_POINTERS = {
    "summary": ["/start", "/end", "/metric", "/metric/checkpoint_size_GB", "/num_accelerators", "/host_memory_GB"],
    "stats": ["/1", "/1/save_ckpt1", "/1/save_ckpt1/start", "/1/load_ckpt10/end", "/2"],
    "config": ["/workload", "/workload/checkpoint", "/workload/checkpoint/mode", "/workload/model/transformer"],
    "fs": ["/same_filesystem"],
}
PLACES = [("metadata", pointer) for pointer in METADATA_POINTERS] + [
    (file, pointer) for file, pointers in OTHER_POINTERS.items() for pointer in pointers
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return pair(tmp_path_factory.mktemp("shared") / "tree")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=anything)
def test_no_value_anywhere_makes_the_checker_fail(shared: Tree, place: tuple[str, str], value: object) -> None:
    file, pointer = place
    leaf = shared.leaves[0]
    paths = [leaf.metadata, leaf.summary, leaf.path / "0_per_epoch_stats.json", leaf.path / "fs_separation.json"]
    before = {path: path.read_bytes() for path in [*paths, leaf.path / "dlio_config" / "config.yaml"]}
    try:
        leaf.edit(file, {pointer: value})
        report = check(shared.root, Options(debug=True))
        assert [fault.message for fault in report.faults] == []
        assert report.unreadable == []
    finally:
        for path, data in before.items():
            path.write_bytes(data)


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_make_a_reader_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    directory = tmp_path_factory.mktemp("bytes")
    (directory / "x").write_bytes(data)
    with LocalRoot(directory) as root:
        for read in (read_json, read_yaml):
            document = read(root, "x")
            assert document.ok or document.detail


def test_limits_hold_the_largest_real_files() -> None:
    assert files.MAX_JSON_BYTES > 6 * 2**20
