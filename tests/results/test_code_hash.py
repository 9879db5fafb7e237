"""The tree hash, byte for byte: what goes into it, what does not, and what has none."""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path

import pytest

from mlpstorage.results import code_hash
from mlpstorage.results.code_hash import TreeHash, difference, in_memory, tree_hash, walk
from mlpstorage.results.roots.local import LocalRoot

HASHED = {
    "a/b.txt": b"one\n", "a-b.txt": b"two", "empty": b"", ".gitignore": b"i\n", ".github/w.yml": b"ci\n", "é.txt": b"u"
}  # fmt: skip
PASSED_OVER = ["tests/t.py", "sub/build/o", "x.egg-info/PKG", "m.pyc", ".code-hash.json"]
VECTOR = "9cc77065507ed64d7cb02e9e195be65a"


def write(top: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def hash_of(top: Path) -> TreeHash:
    with LocalRoot(top) as root:
        return tree_hash(walk(root, ""))


def md5(*parts: bytes) -> str:
    return hashlib.md5(b"".join(parts)).hexdigest()


@pytest.fixture
def vector(tmp_path: Path) -> Path:
    """The tree of the published test vector."""
    write(tmp_path, {**HASHED, **dict.fromkeys(PASSED_OVER, b"x")})
    (tmp_path / "link").symlink_to("a-b.txt")
    return tmp_path


def test_the_published_vector_comes_out(vector: Path) -> None:
    assert hash_of(vector) == TreeHash(VECTOR, 6)


def test_an_empty_tree_has_the_hash_of_nothing(tmp_path: Path) -> None:
    assert hash_of(tmp_path) == TreeHash("d41d8cd98f00b204e9800998ecf8427e", 0)
    (tmp_path / "empty/directory").mkdir(parents=True)
    assert hash_of(tmp_path).digest == "d41d8cd98f00b204e9800998ecf8427e"


def test_files_are_sorted_by_the_bytes_of_the_whole_path(tmp_path: Path) -> None:
    write(tmp_path, {"a/b": b"2", "a-b": b"1", "aZ": b"3", "B": b"0"})
    assert hash_of(tmp_path).digest == md5(b"B0", b"a-b1", b"a/b2", b"aZ3")


@pytest.mark.parametrize("name", [*sorted(code_hash.EXCLUDED_DIRECTORIES), "some.egg-info"])
@pytest.mark.parametrize("place", ["", "deep/er/"])
def test_excluded_directories_do_not_count_at_any_depth(vector: Path, name: str, place: str) -> None:
    write(vector, {f"{place}{name}/file.py": b"x", f"{place}{name}/below/file.py": b"x"})
    assert hash_of(vector) == TreeHash(VECTOR, 6)


@pytest.mark.parametrize("name", [".code-hash.json", ".DS_Store", "Thumbs.db", "m.pyc", "m.pyo"])
@pytest.mark.parametrize("place", ["", "deep/er/"])
def test_excluded_files_do_not_count_at_any_depth(vector: Path, name: str, place: str) -> None:
    write(vector, {f"{place}{name}": b"x"})
    assert hash_of(vector).digest == VECTOR


@pytest.mark.parametrize(
    "name",
    ["build", "sub/tests", "sub/dist", ".env", ".mlps", ".hidden/x", "TESTS/x", "mybuild/x", "m.pycx", "egg-info/x"],
)
def test_everything_else_counts(vector: Path, name: str) -> None:
    write(vector, {name: b""})
    found = hash_of(vector)
    assert (found.files, found.problems) == (7, ())
    assert found.digest != VECTOR


def test_no_separator_tells_path_from_content(tmp_path: Path) -> None:
    """Kept for the sake of the records that exist."""
    write(tmp_path, {"one/ab": b"c", "two/a": b"bc"})
    assert hash_of(tmp_path / "one") == hash_of(tmp_path / "two")


def test_modes_and_times_do_not_count(vector: Path) -> None:
    (vector / "a-b.txt").chmod(0o755)
    os.utime(vector / "empty", (0, 0))
    assert hash_of(vector).digest == VECTOR


def test_line_ends_count(vector: Path) -> None:
    write(vector, {"a/b.txt": b"one\r\n"})
    assert hash_of(vector).digest != VECTOR


def test_names_that_are_no_utf8_are_hashed_as_they_are(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff\xfe", "wb") as file:
        file.write(b"x")
    assert hash_of(tmp_path).digest == md5(b"\xff\xfe", b"x")


def test_links_are_never_followed(tmp_path: Path) -> None:
    write(tmp_path, {"secret/file": b"s", "tree/a": b"1"})
    tree = tmp_path / "tree"
    (tree / "file").symlink_to(tmp_path / "secret/file")
    (tree / "directory").symlink_to(tmp_path / "secret")
    (tree / "loop").symlink_to(tree)
    (tree / "dangling").symlink_to("nothing")
    assert hash_of(tree) == TreeHash(md5(b"a1"), 1)


def test_a_large_file_is_read_in_pieces(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(5 * 2**20 + 3)
    assert hash_of(tmp_path).digest == md5(b"large", bytes(5 * 2**20 + 3))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_directory_is_a_problem_not_a_gap(vector: Path) -> None:
    (vector / "a").chmod(0)
    found = hash_of(vector)
    (vector / "a").chmod(0o755)
    assert found.digest == ""
    assert found.problems == ("a/: cannot be listed: Permission denied",)


def test_what_cannot_be_listed_is_a_problem(vector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LocalRoot.entries

    def refuse(self: LocalRoot, relative: str) -> object:
        if relative == "a":
            raise PermissionError(13, "Permission denied")
        return real(self, relative)

    monkeypatch.setattr(LocalRoot, "entries", refuse)
    found = hash_of(vector)
    assert (found.digest, found.problems) == ("", ("a/: cannot be listed: Permission denied",))


def test_special_files_are_problems_and_are_not_opened(vector: Path) -> None:
    os.mkfifo(vector / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(vector / "sock"))
        found = hash_of(vector)
    assert found.problems == ("pipe: it is a FIFO, not a file", "sock: it is a socket, not a file")


def test_what_is_no_source_code_is_not_hashed(vector: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(vector / "sparse.json", "wb") as file:
        file.truncate(8 * 2**30)
    (problem,) = hash_of(vector).problems
    assert "GiB" in problem
    (vector / "sparse.json").unlink()
    monkeypatch.setattr(code_hash, "MAX_FILES", 5)
    assert hash_of(vector).digest == ""
    monkeypatch.setattr(code_hash, "MAX_FILES", 6)
    assert hash_of(vector).digest == VECTOR


def test_depth_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "/".join("d" * 150)).mkdir(parents=True)
    (problem,) = hash_of(tmp_path).problems
    assert "deeper" in problem


def test_a_file_that_vanishes_meanwhile_is_a_problem(vector: Path) -> None:
    with LocalRoot(vector) as root:
        walked = walk(root, "")
        (vector / "empty").unlink()
        found = tree_hash(walked)
    assert (found.digest, found.problems) == ("", ("empty: No such file or directory",))


def test_a_difference_names_added_missing_and_changed() -> None:
    ours = {b"same": in_memory(b"1"), b"new": in_memory(b""), b"other": in_memory(b"a")}
    reference = {b"same": in_memory(b"1"), b"gone": in_memory(b""), b"other": in_memory(b"b")}
    found = difference(ours, reference)
    assert (found.added, found.missing, found.changed) == (("new",), ("gone",), ("other",))
    assert str(found) == "added new; missing gone; changed other"
    assert found.size == 3
    assert str(difference(ours, ours)) == "no difference"


def test_a_long_difference_is_cut_and_its_names_are_harmless() -> None:
    many = {f"f{number:02}".encode(): in_memory(b"") for number in range(12)}
    assert str(difference(many, {})).endswith("f09 and 2 more")
    assert str(difference({b"a\x1b[31m\n": in_memory(b"")}, {})) == "added a\ufffd[31m\ufffd"
