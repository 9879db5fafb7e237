"""Whatever a tree is made of: a finding or harmless; never a fault, a hang, an escape out of it or a write into it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kv_cache_trees import legal
from training_trees import RUNS, TrainingTree
from trees import cases_directory, combined, pair, unix_socket
from vector_database_trees import complete, mpi

from mlpstorage.results.files import Content
from mlpstorage.results.roots.local import LocalRoot
from submission_checker import discovery
from submission_checker.checking import exit_code
from submission_checker.exits import Exit
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check

LEVELS = [
    "closed",
    "closed/acme",
    "closed/acme/results",
    "closed/acme/results/fast-1",
    "closed/acme/results/fast-1/checkpointing",
    "closed/acme/results/fast-1/checkpointing/llama3-8b",
]


def findings(report: CheckReport) -> set[tuple[str, str]]:
    assert report.faults == []
    return {(f.rule, f.path) for f in report.findings if f.severity.value != "info"}


def link_out(path: Path) -> None:
    path.symlink_to("/")


def link_loop(path: Path) -> None:
    path.symlink_to(path.parent)


def fifo(path: Path) -> None:
    os.mkfifo(path)


SPECIAL = {"link out of the tree": link_out, "link that loops": link_loop, "FIFO": fifo, "socket": unix_socket}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_directory_and_no_file_is_one_finding(tmp_path: Path, kind: str, level: str) -> None:
    tree = combined(tmp_path / "tree")
    before = findings(check(tree.root, Options()))
    SPECIAL[kind](tree.root / level / "other")
    assert findings(check(tree.root, Options())) - before == {("TREE-01", level)}


@pytest.mark.parametrize(("link", "severity"), [("closed/globex", "error"), ("open", "error"), ("latest", "warning")])
def test_a_submission_behind_a_link_is_no_success(tmp_path: Path, link: str, severity: str) -> None:
    tree = combined(tmp_path / "tree")
    (tree.root / link).symlink_to(tree.root / "closed/acme")
    told = [(f.rule, f.severity.value) for f in check(tree.root, Options()).findings if f.severity.value != "info"]
    assert told == [("TREE-01", severity)]


@pytest.mark.parametrize("kind", SPECIAL)
def test_in_a_leaf_they_are_a_finding_and_with_a_dot_nothing(tmp_path: Path, kind: str) -> None:
    tree = combined(tmp_path / "tree")
    SPECIAL[kind](tree.leaves[0].path / ".other")
    assert findings(check(tree.root, Options())) == set()
    SPECIAL[kind](tree.leaves[0].path / "other")
    leaf = tree.leaves[0].path.relative_to(tree.root).as_posix()
    assert findings(check(tree.root, Options())) == {("TREE-01", leaf)}


@pytest.mark.parametrize("level", LEVELS)
def test_a_linked_level_is_not_followed_and_not_silent(tmp_path: Path, level: str) -> None:
    tree = combined(tmp_path / "tree")
    moved = tmp_path / "moved"
    (tree.root / level).rename(moved)
    (tree.root / level).symlink_to(moved)
    if level == "closed":  # nothing is left of the submission
        with pytest.raises(discovery.NothingToCheckError):
            check(tree.root, Options())
        return
    report = check(tree.root, Options())
    assert report.leaves == 0
    assert ("TREE-01", level.rpartition("/")[0]) in findings(report)


def lock(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    """Nobody may open a directory (root may open all, so a mode alone locks nothing)."""
    survey, names, read = LocalRoot.survey, LocalRoot.list, LocalRoot.read

    def refuse(relative: str) -> None:
        if f"{relative}/".startswith(f"{level}/"):
            raise PermissionError(13, "Permission denied")

    def locked(self: LocalRoot, relative: str) -> tuple[Sequence[str], Sequence[str], Sequence[tuple[str, str]]]:
        refuse(relative)
        return survey(self, relative)

    def unnamed(self: LocalRoot, relative: str) -> tuple[list[str], list[str]]:
        refuse(relative)
        return names(self, relative)

    def refused(self: LocalRoot, relative: str, limit: int, *, head: bool = False) -> Content:
        below = relative.startswith(f"{level}/")
        return Content("refused", detail="Permission denied") if below else read(self, relative, limit, head=head)

    monkeypatch.setattr(LocalRoot, "survey", locked)
    monkeypatch.setattr(LocalRoot, "list", unnamed)
    monkeypatch.setattr(LocalRoot, "read", refused)


LOCKED = [*LEVELS, f"{LEVELS[-1]}/20260701_100000", "closed/acme/systems", "acme"]


@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0", "4.0-draft"])
@pytest.mark.parametrize("level", LOCKED)
def test_a_directory_that_cannot_be_listed_is_one_finding(
    tmp_path: Path, level: str, edition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = combined(tmp_path / "tree")
    (tree.root / "code-images").rename(tree.root / "acme")
    before = findings(check(tree.root, Options(edition=edition)))
    lock(monkeypatch, level)
    report = check(tree.root, Options(edition=edition))
    assert findings(report) - before == {("TREE-01", level)}
    assert report.unreadable == [f"{level}: Permission denied"]
    assert exit_code(report, "error") == (Exit.VIOLATIONS if report.severities["error"] else Exit.NOT_CHECKED)


def _checkpointing(root: Path) -> None:
    combined(root)


def _training(root: Path) -> None:
    TrainingTree(root).build()


def _kv_cache(root: Path) -> None:
    legal(root, ranks=4, hosts=2)


def _vector_database(root: Path) -> None:
    mpi(root)


INSIDE: list[tuple[Callable[[Path], None], str, str]] = [
    (_checkpointing, "fast-1/checkpointing/llama3-8b/20260701_100000", "dlio_config"),
    (_training, "fast-1/training/unet3d/run/20260701_100000", "dlio_config"),
    (_training, "fast-1/training/unet3d/datagen/20260701_090000", "dlio_config"),
    (_kv_cache, "fast-1/kv_cache/llama3.1-8b/run/20260720_120000", "option_2"),
    (_kv_cache, "fast-1/kv_cache/llama3.1-8b/run/20260720_120000", "option_2/trial_1"),
    (_kv_cache, "fast-1/kv_cache/llama3.1-8b/run/20260720_120000", "option_2/trial_1/rank_3"),
    (_kv_cache, "fast-1/kv_cache/llama3.1-8b/run/20260720_120000", ".fs_probe"),
    (_vector_database, "vec-1/vector_database/milvus/DISKANN/run/20260721_102236", "vectordb"),
    (_vector_database, "vec-1/vector_database/milvus/DISKANN/run/20260721_102236", "vectordb/simple"),
]
"""Leaves, and directories inside that their readers go into."""


@pytest.mark.parametrize(("build", "leaf", "inside"), INSIDE)
def test_a_directory_inside_a_leaf_that_cannot_be_listed_is_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Callable[[Path], None], leaf: str, inside: str
) -> None:
    build(tmp_path)
    path = f"closed/acme/results/{leaf}"
    before, alone_before = (findings(check(tmp_path / part, Options())) for part in (".", path))
    lock(monkeypatch, f"{path}/{inside}")
    report, alone = (check(tmp_path / part, Options()) for part in (".", path))
    assert findings(report) - before == {("TREE-01", f"{path}/{inside}")}
    assert findings(alone) <= alone_before
    assert report.unreadable == alone.unreadable == [f"{path}/{inside}: Permission denied"]
    assert f"{path}/{inside}" in report.unseen
    assert exit_code(report, "never") == exit_code(alone, "never") == Exit.NOT_CHECKED


NAMES = [b"\x1b[31mred", b"a\nb", b"\xe2\x80\xaegnp", b"\xff\xfe", b"::error::x", b"=1+1", b"<b>", b" ", b"a" * 255]


@pytest.mark.parametrize("level", LEVELS[:-1])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_shown_harmlessly(tmp_path: Path, name: bytes, level: str) -> None:
    tree = combined(tmp_path / "tree")
    os.mkdir(os.path.join(os.fsencode(tree.root / level), name))
    report = check(tree.root, Options())
    assert report.faults == []
    for finding in report.findings:
        text = f"{finding.path} {finding.message} {finding.remedy} {' '.join(finding.paths)}"
        assert text.isprintable()
        text.encode("utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_of_commands_and_leaves_are_shown_harmlessly(tmp_path: Path, name: bytes) -> None:
    run = TrainingTree(tmp_path).build().workload / "run"
    shutil.copytree(run, run.parent / os.fsdecode(name))
    (run / RUNS[1]).rename(run / os.fsdecode(name))
    tree = complete(tmp_path)
    shutil.copytree(tree.directory / "run", tree.directory / os.fsdecode(name))
    report = check(tmp_path, Options())
    assert report.faults == []
    for finding in report.findings:
        assert f"{finding.path} {finding.message} {finding.remedy} {' '.join(finding.paths)}".isprintable()


def test_a_crowded_directory_is_told_and_checked_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_DIRECTORIES", 20)
    for number, level in enumerate(LEVELS):
        tree = combined(tmp_path / f"tree{number}")
        before = len(check(tree.root, Options()).findings)
        for index in range(50):
            (tree.root / level / f"x{index:03}").mkdir()
        report = check(tree.root, Options())
        assert ("TREE-01", level) in findings(report)
        assert report.leaves == 1
        assert before < len(report.findings) < before + 100
        assert any("51 directories" in item or "50 directories" in item for item in report.unreadable)


def test_ten_thousand_files_in_a_leaf_and_in_its_configuration_are_harmless(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0].path
    for index in range(10_000):
        (leaf / f"{index}_output.json").touch()
    assert findings(check(tree.root, Options())) == set()
    for index in range(2_000):
        (leaf / "dlio_config" / f"x{index}").touch()
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "2.1.26"]
    assert "1953 more" in finding.message
    assert len(finding.message) < 1000


def test_a_very_deep_tree_ends(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    here = os.open(tree.workload, os.O_RDONLY)
    try:
        for _ in range(600):  # deeper than a path can name
            os.mkdir("deep-directory", dir_fd=here)
            below = os.open("deep-directory", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    path = tree.workload.relative_to(tree.root) / "deep-directory"
    assert ("2.1.23", path.as_posix()) in findings(check(tree.root, Options()))


def fingerprint(root: Path) -> Iterator[tuple[str, int, str]]:
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        yield os.fsencode(path).hex(), info.st_mtime_ns, hashlib.sha256(data).hexdigest()


CASES = ["01-ckpt-8b-object-single", "08-train-unet3d-complete", "11-kvcache-complete", "14-systems-set"]
WORDS = st.sampled_from(
    ["closed", "open", "Closed", "results", "systems", "code", "training", "kv_cache", "vectordb", "run", "datasize",
     "datagen", "20260701_100000", "20269999_999999", "summary.json", "dlio_config", ".hidden", "a b", "\u202ex", "-"]
)  # fmt: skip
STEP = st.tuples(st.sampled_from(["delete", "rename", "move", "empty", "link", "fifo", "make", "copy", "json"]),
                 st.integers(0, 10_000), st.integers(0, 10_000), WORDS)  # fmt: skip


def mutate(root: Path, step: tuple[str, int, int, str]) -> None:
    """One change somewhere in the tree; what cannot be done is left undone."""
    act, first, second, name = step
    paths = sorted(root.rglob("*"))
    if not paths:
        return
    path, other = paths[first % len(paths)], paths[second % len(paths)]
    folder = other if other.is_dir() and not other.is_symlink() else other.parent
    try:
        if act == "delete":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif act == "rename":
            path.rename(path.with_name(name))
        elif act == "move":
            path.rename(folder / path.name)
        elif act == "empty":
            path.write_bytes(b"")
        elif act == "link":
            (folder / name).symlink_to(path)
        elif act == "fifo":
            os.mkfifo(folder / name)
        elif act == "make":
            (folder / name).mkdir()
        elif act == "copy" and path.is_file() and not path.is_symlink():
            shutil.copyfile(path, folder / name)
        elif act == "json" and path.suffix == ".json":
            path.write_text('{"args": [], "command": {}, "start": 3}')
    except OSError:
        return


@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=st.sampled_from(CASES), steps=st.lists(STEP, min_size=1, max_size=6))
def test_no_change_of_a_tree_makes_the_checker_fail(
    tmp_path_factory: pytest.TempPathFactory, case: str, steps: list[tuple[str, int, int, str]]
) -> None:
    source = cases_directory() / case / "tree"
    if not source.is_dir():
        pytest.skip(f"no such case: {source}")
    root = tmp_path_factory.mktemp("mutated") / "tree"
    shutil.copytree(source, root, copy_function=shutil.copyfile)
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    try:
        for step in steps:
            mutate(root, step)
        before = list(fingerprint(root))
        try:
            report = check(root, Options(debug=True))
        except discovery.NothingToCheckError:
            return
        assert [fault.message for fault in report.faults] == []
        assert all(f.path == "." or not Path(f.path).is_absolute() for f in report.findings)
        assert list(fingerprint(root)) == before
        fingerprints = [f.fingerprint for f in report.findings]
        assert len(fingerprints) == len(set(fingerprints))
    finally:
        shutil.rmtree(root)


def test_two_looks_at_one_tree_say_the_same(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    fifo(tree.leaves[0].path / "x")
    first, second = (check(tree.root, Options()).findings for _ in range(2))
    assert first == second
