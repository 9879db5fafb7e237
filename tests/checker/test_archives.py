"""A results tree in an archive: the same report as on the tree, and nothing that an archive can hold does harm."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from archives import SUFFIXES, Entry, entries_of, pack
from reports import written
from trees import combined, pair

from submission_checker.discovery import NothingToCheckError
from submission_checker.executors import Processes
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check


def comparable(report: CheckReport) -> dict[str, object]:
    """The report without the place of the tree."""
    document = json.loads(written(report, "json"))
    del document["results_dir"]
    return document  # type: ignore[no-any-return]


def findings(report: CheckReport) -> set[tuple[str, str]]:
    assert report.faults == []
    return {(f.rule, f.path) for f in report.findings if f.severity.value != "info"}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_archive_of_a_case_gives_the_report_of_the_case(tmp_path: Path, case: Path, suffix: str) -> None:
    tree = case / "tree"
    archive = pack(tmp_path / f"results{suffix}", entries_of(tree))
    assert comparable(check(archive, Options())) == comparable(check(tree, Options()))


def test_links_fifos_and_odd_names_are_told_as_in_a_directory(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    (tree.workload / "elsewhere").symlink_to("/etc")
    (tree.root / "closed" / "other").symlink_to(tree.root / "closed" / "acme")
    os.mkfifo(tree.leaves[0].path / "queue")
    (tree.leaves[1].summary).rename(tree.root / "summary")
    (tree.leaves[1].summary).symlink_to(tree.root / "summary")
    os.link(tree.leaves[0].summary, tree.leaves[0].path / "second")
    for name in (b"\xff\xfe", "\u00e9t\u00e9".encode(), b"a\nb", b"::error::x"):
        Path(os.fsdecode(os.fsencode(tree.workload) + b"/" + name)).mkdir()
    expected = comparable(check(tree.root, Options()))
    for suffix in SUFFIXES:
        archive = pack(tmp_path / f"results{suffix}", entries_of(tree.root))
        assert comparable(check(archive, Options())) == expected, suffix


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_the_tree_lies_in_the_archive_does_not_matter(tmp_path: Path, suffix: str, jobs: int) -> None:
    tree = combined(tmp_path / "tree")
    expected = comparable(check(tree.root, Options()))
    plain = list(entries_of(tree.root))
    forms = {
        "dotted": [Entry("./", "directory"), *(entry._replace(name=f"./{entry.name}") for entry in plain)],
        "wrapped": [entry._replace(name=f"round/v3/{entry.name}") for entry in plain],
        "wrapped, with more": [Entry("__MACOSX/._closed"), *(e._replace(name=f"round/{e.name}") for e in plain)],
        "backwards, directories last": plain[::-1],
        "without directories": [entry for entry in plain if entry.kind != "directory"],
        "doubled slashes": [entry._replace(name=entry.name.replace("/", "//")) for entry in plain],
        "upper case": plain,
    }
    for name, entries in forms.items():
        ending = suffix.upper() if name == "upper case" else suffix
        archive = tmp_path / f"{name}{ending}"
        pack(tmp_path / f"written{suffix}", entries).rename(archive)
        assert comparable(check(archive, Options(), executor=Processes(jobs))) == expected, name


def test_a_part_of_the_tree_in_an_archive_can_be_named(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    archive = pack(tmp_path / "results.zip", (e._replace(name=f"top/{e.name}") for e in entries_of(tree.root)))
    leaf = tree.leaves[0].path.relative_to(tree.root).as_posix()
    for part in ("closed/acme", "closed/acme/results/fast-1", leaf):
        report = check(f"{archive}/top/{part}", Options())
        assert comparable(report) == comparable(check(tree.root / part, Options())), part
        assert report.results_dir == f"{archive}/top"
    stamp = tree.leaves[0].path.name
    lone = pack(tmp_path / "lone.tar", (e._replace(name=f"{stamp}/{e.name}") for e in entries_of(tree.leaves[0].path)))
    assert check(lone, Options()).leaves == 1


TRAPS = {
    "absolute name": (Entry("/etc/passwd"), ".", "absolute name"),
    "name that leads out": (Entry("closed/../../x"), ".", "name with '..'"),
    "backslashes": (Entry("closed\\acme\\x"), ".", "name with a backslash"),
    "drive letter": (Entry("C:/x"), ".", "name with a drive letter"),
    "endless name": (Entry("a/" * 3000 + "b"), ".", "name longer than 4096 characters"),
    "link": (Entry("closed/acme/other", "link", b"/etc"), "closed/acme", "link"),
    "FIFO": (Entry("closed/acme/other", "FIFO"), "closed/acme", "FIFO"),
    "device": (Entry("closed/acme/other", "character device"), "closed/acme", "character device"),
    "disk": (Entry("closed/acme/other", "block device"), "closed/acme", "block device"),
}


@pytest.mark.parametrize("suffix", [".zip", ".tar"])
@pytest.mark.parametrize("trap", TRAPS)
def test_a_name_that_leads_nowhere_and_a_special_file_are_one_finding(tmp_path: Path, trap: str, suffix: str) -> None:
    tree = combined(tmp_path / "tree")
    entry, path, text = TRAPS[trap]
    report = check(pack(tmp_path / f"results{suffix}", [*entries_of(tree.root), entry]), Options())
    assert findings(report) == {("TREE-01", path)}
    assert [text in f.message for f in report.findings if f.rule == "TREE-01"] == [True]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("suffix", [".zip", ".tar"])
@pytest.mark.parametrize("order", [1, -1])
def test_names_that_contradict_each_other_hide_nothing(tmp_path: Path, order: int, suffix: str) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0].path.relative_to(tree.root).as_posix()
    plain = list(entries_of(tree.root))
    twice = [Entry(f"{leaf}/summary.json", content=b"{}"), Entry("closed/acme/x"), Entry("closed/acme/x")][::order]
    report = check(pack(tmp_path / f"twice{suffix}", [*plain, *twice]), Options())
    told = {(f.rule, f.path): f.message for f in report.findings if f.severity.value == "error"}
    assert "name that stands there twice" in told["TREE-01", "closed/acme"]
    assert any("name that stands there twice" in message for (_, path), message in told.items() if leaf in path)
    both = [*plain, Entry("closed/acme/x/y"), Entry("closed/acme/x", "link", b"..")][::order]
    report = check(pack(tmp_path / f"both{suffix}", both), Options())
    assert findings(report) == {("TREE-01", "closed/acme")}
    assert "name of both a file and a directory" in next(f.message for f in report.findings if f.rule == "TREE-01")


def test_an_archive_of_nothing_but_refused_names_says_so(tmp_path: Path) -> None:
    archive = pack(tmp_path / "results.zip", [Entry(f"closed\\acme\\{n}") for n in range(5)])
    with pytest.raises(NothingToCheckError, match=r"no submission.*not read:.*name with a backslash.* and 2 more"):
        check(archive, Options())
