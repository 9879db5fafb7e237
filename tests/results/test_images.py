"""The pool of code images: captured once, used again, never half there; records and pointers as specified."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mlpstorage import source
from mlpstorage.results import images
from mlpstorage.results.code_hash import tree_hash, walk
from mlpstorage.results.roots.local import LocalRoot

DIGEST = "6b0262bad745b8e35d61168cd83a7582"


@pytest.fixture
def code(tmp_path: Path) -> dict[str, Path]:
    """Two packages with things that are not captured."""
    for name, content in {"pkg/a.py": "a", "pkg/tests/t.py": "t", "pkg/a.pyc": "x", "book/r.yaml": "r"}.items():
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / "code/pkg/link").symlink_to("/etc")
    return {"pkg": tmp_path / "code/pkg", "book": tmp_path / "code/book"}


def capture(results: Path, code: dict[str, Path], commit: str | None = None) -> images.Image:
    return images.capture(results, code, "3.0.46", commit)


def listing(top: Path) -> list[str]:
    return sorted(str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir())


def test_an_image_is_what_was_hashed(tmp_path: Path, code: dict[str, Path]) -> None:
    image = capture(tmp_path / "results", code, "a" * 40)
    assert image.path == tmp_path / "results/code-images" / f"code-{image.digest[:8]}"
    assert listing(tmp_path / "results/code-images") == sorted(
        [".mlps-image-pool", *(f"{image.path.name}/{name}" for name in (".code-hash.json", "pkg/a.py", "book/r.yaml"))]
    )
    with LocalRoot(image.path) as root:
        assert tree_hash(walk(root, "")).digest == image.digest


def test_the_record_has_the_specified_form(tmp_path: Path, code: dict[str, Path]) -> None:
    text = (capture(tmp_path, code, "a" * 40).path / ".code-hash.json").read_text()
    record = json.loads(text)
    assert list(record) == ["hash", "algorithm", "captured_at", "mlpstorage_version", "git_sha"]
    assert text == json.dumps(record, indent=2) + "\n"
    assert (record["algorithm"], record["mlpstorage_version"], record["git_sha"]) == ("md5-tree-v2", "3.0.46", "a" * 40)
    assert images.record_problems(record) == []
    assert images.recorded_commit(record) == "a" * 40


def test_no_commit_is_null_and_the_key_stays(tmp_path: Path, code: dict[str, Path]) -> None:
    record = json.loads((capture(tmp_path, code).path / ".code-hash.json").read_text())
    assert record["git_sha"] is None
    assert images.record_problems(record) == []


def test_the_marker_has_its_two_lines(tmp_path: Path, code: dict[str, Path]) -> None:
    capture(tmp_path, code)
    marker = (tmp_path / "code-images/.mlps-image-pool").read_text()
    assert re.fullmatch(r"mlpstorage_version=3\.0\.46\nmigration_completed_at=[0-9-]{10}T[0-9:]{8}Z\n", marker)


def test_the_same_code_is_captured_once(tmp_path: Path, code: dict[str, Path]) -> None:
    first = capture(tmp_path, code)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("code-images/**/*")}
    assert capture(tmp_path, code) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("code-images/**/*")} == before


def test_changed_code_is_an_image_of_its_own(tmp_path: Path, code: dict[str, Path]) -> None:
    first = capture(tmp_path / "r", code)
    (code["pkg"] / "a.py").write_text("b")
    second = capture(tmp_path / "r", code)
    assert first.digest != second.digest
    assert {path.name for path in (tmp_path / "r/code-images").glob("code-*")} == {first.path.name, second.path.name}


def test_something_else_of_its_name_is_left_alone(tmp_path: Path, code: dict[str, Path]) -> None:
    name = capture(tmp_path / "other", code).path.name
    taken = tmp_path / "results/code-images" / name
    taken.mkdir(parents=True)
    with pytest.raises(FileExistsError, match="move the directory out"):
        capture(tmp_path / "results", code)
    (taken / ".code-hash.json").write_text(json.dumps({"hash": name.removeprefix("code-") + "0" * 24}))
    with pytest.raises(FileExistsError, match="is not the image"):
        capture(tmp_path / "results", code)
    assert listing(taken) == [".code-hash.json"]


def test_a_failed_copy_leaves_nothing(tmp_path: Path, code: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, document: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(images, "write_json", fail)
    with pytest.raises(OSError, match="No space"):
        capture(tmp_path / "results", code)
    assert listing(tmp_path / "results") == ["code-images/.mlps-image-pool"]


def test_another_run_may_have_captured_it_meanwhile(
    tmp_path: Path, code: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def late(temporary: Path, target: Path) -> None:
        monkeypatch.setattr(os, "rename", rename)
        capture(tmp_path / "results", code)
        rename(temporary, target)

    monkeypatch.setattr(os, "rename", late)
    image = capture(tmp_path / "results", code)
    assert [path.name for path in (tmp_path / "results/code-images").iterdir() if path.is_dir()] == [image.path.name]


def test_code_that_cannot_be_read_is_not_captured(tmp_path: Path, code: dict[str, Path]) -> None:
    os.mkfifo(code["pkg"] / "pipe")
    with pytest.raises(OSError, match="FIFO"):
        capture(tmp_path / "results", code)
    assert not (tmp_path / "results").exists()


def test_a_pointer_is_one_line_of_44_bytes(tmp_path: Path) -> None:
    images.point(tmp_path, images.Image(tmp_path / "code-6b0262ba", DIGEST))
    assert (tmp_path / ".mlps-code-image").read_bytes() == f"md5-tree-v2:{DIGEST}".encode()
    assert len((tmp_path / ".mlps-code-image").read_bytes()) == 44


@pytest.mark.parametrize("text", [f"md5-tree-v2:{DIGEST}", f" md5-tree-v2:{DIGEST}\n"])
def test_white_space_around_a_pointer_does_not_count(text: str) -> None:
    assert images.pointed_digest(text) == DIGEST


@pytest.mark.parametrize(
    "text",
    ["", DIGEST, f"md5-tree-v1:{DIGEST}", f"sha256:{DIGEST}", f"md5-tree-v2:{DIGEST.upper()}",
     f"md5-tree-v2:{DIGEST[:8]}", f"md5-tree-v2:{DIGEST}0", f"md5-tree-v2: {DIGEST}", f"md5-tree-v2:{DIGEST}\nx"],
)  # fmt: skip
def test_anything_else_is_no_pointer(text: str) -> None:
    assert images.pointed_digest(text) is None


GOOD = {"captured_at": "2026-07-01T10:00:00Z", "mlpstorage_version": "3.0.31", "git_sha": None}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"captured_at": None}, "captured_at is null"),
        ({"captured_at": "2026-07-01 10:00:00"}, "captured_at"),
        ({"captured_at": "2026-13-01T10:00:00Z"}, "captured_at"),
        ({"mlpstorage_version": ""}, "mlpstorage_version"),
        ({"mlpstorage_version": 3}, "mlpstorage_version is 3"),
        ({"git_sha": "abc"}, "neither a commit nor null"),
        ({"git_sha": 4}, "neither a commit nor null"),
    ],
)
def test_problems_of_a_record_name_the_key(change: dict[str, object], problem: str) -> None:
    (found,) = images.record_problems({**GOOD, **change})
    assert problem in found


def test_a_record_needs_the_commit_key() -> None:
    assert images.record_problems(GOOD) == []
    (found,) = images.record_problems({key: value for key, value in GOOD.items() if key != "git_sha"})
    assert found.startswith("git_sha is missing")


def test_the_tools_own_code_can_be_captured(tmp_path: Path) -> None:
    image = images.capture(tmp_path, source.packages(), "0", source.git_sha())
    held = set(listing(image.path))
    assert {"mlpstorage/cli.py", "rules/book/editions.yaml", "submission_checker/cli.py"} <= held
    assert not any("__pycache__" in name or name.startswith("tests") for name in held)
