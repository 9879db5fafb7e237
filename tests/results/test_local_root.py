"""A directory is read below held descriptors: whatever is put in the way of a path, nothing outside is reached."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlpstorage.results.roots.local import LocalRoot


def text(root: LocalRoot, path: str) -> bytes | str:
    content = root.read(path, 1000)
    return content.data if content.state == "ok" else content.state


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def test_files_of_neighbours_and_of_parents_are_told_apart(tmp_path: Path) -> None:
    paths = ["a/b/c/x", "a/b/c/y", "a/b/d/x", "a/x", "x", "a/b/c/x", "e/b/c/x", "a/b/x"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    before = open_descriptors()
    with LocalRoot(tmp_path) as root:
        for path in [*paths, *reversed(paths)]:
            assert text(root, path) == path.encode()
        assert text(root, "a/b/none") == text(root, "a/none/x") == "missing"
        assert text(root, "a/b/c/x") == b"a/b/c/x"
        assert text(root, "a//b/./c/x") == b"a/b/c/x"
        assert root.list("a/b") == (["c", "d"], ["x"])
    assert open_descriptors() == before


def test_copies_of_attributes_are_in_no_listing(tmp_path: Path) -> None:
    for name in ("x", "._x", "._", ".dot"):
        (tmp_path / name).write_text("")
    (tmp_path / "._d").mkdir()
    with LocalRoot(tmp_path) as root:
        assert root.list("") == ([], [".dot", "x"])
        assert root.survey("") == ([], [".dot", "x"], [])
        assert [entry.name for entry in root.entries("")] == ["._", "._d", "._x", ".dot", "x"]


def test_a_link_put_in_the_way_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "x").write_text("inside")
    with LocalRoot(tree) as root:
        assert text(root, "a/b/x") == b"inside"
        (tree / "a" / "b").rename(tree / "moved")
        (tree / "a" / "b").symlink_to(outside)
        assert text(root, "a/b/x") == b"inside"  # the directory that was opened
        assert text(root, "moved/x") == b"inside"
        assert text(root, "a/b/x") == "refused"
        (tree / "a").rename(tree / "a2")
        (tree / "a").symlink_to(outside)
        assert text(root, "a2/b/x") == "refused"
        assert text(root, "a/x") == "refused"


def test_the_deepest_directory_is_read_without_holding_all_above_it_open(tmp_path: Path) -> None:
    deep = tmp_path
    for index in range(100):
        deep /= f"d{index % 3}"
        deep.mkdir()
        (deep / "x").write_text(str(index))
    relative = deep.relative_to(tmp_path)
    before = open_descriptors()
    with LocalRoot(tmp_path) as root:
        for depth in (100, 99, 33, 32, 31, 34, 100, 1):
            path = "/".join(relative.parts[:depth])
            assert text(root, f"{path}/x") == str(depth - 1).encode()
        assert open_descriptors() - before <= 40


def test_a_file_that_is_longer_or_shorter_than_its_size_says_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    with LocalRoot(tmp_path) as root:
        for limit in (10, 11, 1000):
            assert root.read("x", limit).data == b"0123456789"
        assert root.read("x", 9).state == "refused"
        for limit in (1, 9, 10, 11):
            assert root.read("x", limit, head=True).data == b"0123456789"[:limit]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this system has no /proc")
def test_a_file_without_a_size_is_read_to_its_end() -> None:
    with LocalRoot("/proc/self") as root:
        assert b"python" in root.read("cmdline", 10_000).data
