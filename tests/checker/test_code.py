"""Code images, stamps, manifests and roll-up tables: legal trees are silent, each spoilt one says one thing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training_trees import TrainingTree
from trees import IMAGE, combined, point

from mlpstorage.results import manifest
from mlpstorage.results.code_hash import tree_hash, walk
from mlpstorage.results.roots.local import LocalRoot
from rules import Finding
from submission_checker.cli import main
from submission_checker.report import Waived, finding_json, place_of
from submission_checker.scan import Options, check
from submission_checker.validation import validate

OWN = ("CHECK-", "PROV-", "EDN-", "RPT-", "2.1.6")
LEAF = "closed/{}/results/fast-1/checkpointing/llama3-8b/20260701_100000"
DLIO = "e1919d7b6ccffbe15143cd616517da9e5d7b26a7"
CLASS_8B = "68df04b7240e3fb0"
LARGE_FILE = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 44\n"


def findings(top: Path, edition: str = "3.0", **options: Any) -> list[Finding]:
    report = check(top, Options(edition=edition, **options))
    assert not report.faults
    return [f for f in report.findings if f.rule.startswith(OWN)]


def short(found: list[Finding]) -> list[tuple[str, str, str]]:
    return [(f.rule, f.severity.value, f.path) for f in found]


def weighty(top: Path, edition: str = "3.0", **options: Any) -> list[tuple[str, str, str]]:
    return short([f for f in findings(top, edition, **options) if f.severity.value != "info"])


def hash_of(directory: Path) -> str:
    with LocalRoot(directory) as root:
        return tree_hash(walk(root, "")).digest


def image_in(pool: Path, files: dict[str, str], commit: str | None = None, *, strip: str = "") -> tuple[Path, str]:
    """A sound image in a marked pool (without the file ``strip``, which its hash counts), and its hash."""
    made = pool / "made"
    for name, content in files.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(content)
    digest = hash_of(made)
    record = {
        "hash": digest, "algorithm": "md5-tree-v2", "captured_at": "2026-07-01T09:00:00Z",
        "mlpstorage_version": "3.0.31", "git_sha": commit,
    }  # fmt: skip
    if strip:
        (made / strip).unlink()
    (made / ".code-hash.json").write_text(json.dumps(record))
    (pool / ".mlps-image-pool").write_text("")
    image = pool / f"code-{digest[:8]}"
    made.rename(image)
    return image, digest


def name_image(leaf: Path, digest: str) -> None:
    (leaf / ".mlps-code-image").write_text(f"md5-tree-v2:{digest}")


@pytest.fixture
def layout3(tmp_path: Path) -> Path:
    """Two organisations and one pool for both."""
    for organisation in ("acme", "globex"):
        combined(tmp_path, organisation=organisation)
    return tmp_path


@pytest.fixture
def layout2(tmp_path: Path) -> Path:
    """Two organisations with a pool each."""
    for organisation in ("acme", "globex"):
        combined(tmp_path, organisation=organisation)
        _, digest = image_in(tmp_path / organisation, {"mlpstorage_py/main.py": organisation, "CLAUDE.md": "c"})
        name_image(tmp_path / LEAF.format(organisation), digest)
    shutil.rmtree(tmp_path / "code-images")
    return tmp_path


@pytest.fixture
def layout1(tmp_path: Path) -> Path:
    """One organisation with code/ beside results/."""
    combined(tmp_path)
    image, _ = image_in(tmp_path / "closed/acme", {"main.py": "1"})
    image.rename(tmp_path / "closed/acme/code")
    (tmp_path / "closed/acme/.mlps-image-pool").unlink()
    shutil.rmtree(tmp_path / "code-images")
    return tmp_path


def test_code_in_another_case_is_judged_and_told_once(layout1: Path) -> None:
    (layout1 / "closed/acme/code").rename(layout1 / "closed/acme/Code")
    assert short(findings(layout1)) == [("CHECK-04", "info", ".")]
    (told,) = (f for f in check(layout1, Options()).findings if f.rule == "2.1.5")
    assert (told.path, told.remedy) == ("closed/acme/Code", "Rename it to code.")


@pytest.mark.parametrize("edition", ["3.0-as-published", "3.0", "4.0-draft"])
@pytest.mark.parametrize("form", ["layout3", "layout2"])
def test_legal_pools_are_silent(form: str, edition: str, request: pytest.FixtureRequest) -> None:
    assert findings(request.getfixturevalue(form), edition) == []


def test_the_first_layout_is_accepted_and_shall_be_moved(layout1: Path) -> None:
    assert short(findings(layout1)) == [("CHECK-04", "info", ".")]
    assert weighty(layout1, "4.0-draft") == [("CHECK-04", "error", ".")]


def test_pools_of_both_layouts_may_be_mixed(layout2: Path) -> None:
    leaf = layout2 / LEAF.format("globex")
    shutil.rmtree(layout2 / "globex")
    point(layout2, leaf)
    assert findings(layout2) == []


def test_the_tree_of_all_is_asked_before_the_organisations(layout2: Path) -> None:
    shutil.copytree(layout2 / "acme", layout2 / "code-images")
    found = findings(layout2)
    assert [f for f in found if f.rule == "CHECK-01"] == []
    assert found == [], "the same image in both pools is legal"


# CHECK-01.


@pytest.mark.parametrize(("edition", "severity"), [("3.0", "warning"), ("4.0-draft", "error")])
def test_a_tree_without_any_image_is_one_finding(layout3: Path, edition: str, severity: str) -> None:
    shutil.rmtree(layout3 / "code-images")
    assert weighty(layout3, edition) == [("CHECK-01", severity, ".")]
    for organisation in ("acme", "globex"):
        (layout3 / LEAF.format(organisation) / ".mlps-code-image").unlink()
    assert weighty(layout3, edition) == [("CHECK-01", severity, ".")]
    assert weighty(layout3, "3.0-as-published") == []


def test_an_organisation_without_a_pool_is_one_finding(layout2: Path) -> None:
    shutil.rmtree(layout2 / "globex")
    (found,) = findings(layout2)
    assert short([found]) == [("CHECK-01", "error", "closed/globex")]
    assert "neither code-images/ nor globex/" in found.message


def test_a_renamed_organisations_pool_is_named(layout2: Path) -> None:
    (layout2 / "globex").rename(layout2 / "initech")
    found = [f for f in findings(layout2) if f.rule == "CHECK-01"]
    assert [f.path for f in found] == ["closed/globex"]
    assert "pools of others that hold some: initech" in found[0].message


def test_a_missing_image_is_one_finding_that_says_what_is_there(layout3: Path) -> None:
    leaf = layout3 / LEAF.format("acme")
    other = shutil.copytree(leaf, leaf.with_name("20260701_120000"))
    for path in (leaf, other):
        name_image(path, "deadbeef" + "0" * 24)
    (found,) = [f for f in findings(layout3) if f.rule == "CHECK-01"]
    assert (found.severity, found.path) == ("error", LEAF.format("acme"))
    assert [path.rpartition("/")[2] for path in found.paths] == ["20260701_100000", "20260701_120000"]
    assert "code-deadbeef" in found.message
    assert f"code-images/code-{IMAGE[:8]}" in found.message


POINTERS: dict[str, Callable[[Path], object]] = {
    "absent": lambda path: path.unlink(),
    "empty": lambda path: path.write_text(""),
    "without algorithm": lambda path: path.write_text(IMAGE),
    "another algorithm": lambda path: path.write_text(f"md5-tree-v1:{IMAGE}"),
    "upper case": lambda path: path.write_text(f"md5-tree-v2:{IMAGE.upper()}"),
    "short": lambda path: path.write_text(f"md5-tree-v2:{IMAGE[:8]}"),
    "binary": lambda path: path.write_bytes(b"\xff\0\x1b[31m"),
    "long": lambda path: path.write_text("x" * 10_000),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: (path.unlink(), path.symlink_to("/etc/hostname")),
    "in dlio_config": lambda path: path.rename(path.parent / "dlio_config" / path.name),
    "another image of the same name": lambda path: path.write_text(f"md5-tree-v2:{IMAGE[:31]}0"),
}


@pytest.mark.parametrize("name", POINTERS)
def test_a_pointer_that_leads_nowhere_is_one_error(layout3: Path, name: str) -> None:
    POINTERS[name](layout3 / LEAF.format("acme") / ".mlps-code-image")
    found = findings(layout3)
    assert short(found) == [("CHECK-01", "error", LEAF.format("acme"))]
    assert "\x1b" not in found[0].message


@pytest.mark.parametrize("name", [name for name in POINTERS if name != "another image of the same name"])
@pytest.mark.parametrize("form", ["layout3", "layout2"])
def test_the_image_of_a_pointer_that_names_nothing_is_no_orphan(
    form: str, name: str, request: pytest.FixtureRequest
) -> None:
    top: Path = request.getfixturevalue(form)
    for organisation in ("acme", "globex"):
        POINTERS[name](top / LEAF.format(organisation) / ".mlps-code-image")
    assert short(findings(top)) == [("CHECK-01", "error", LEAF.format(each)) for each in ("acme", "globex")]


def test_white_space_around_a_pointer_is_no_finding(layout3: Path) -> None:
    (layout3 / LEAF.format("acme") / ".mlps-code-image").write_text(f"md5-tree-v2:{IMAGE}\n")
    assert findings(layout3) == []


@pytest.mark.parametrize(
    ("content", "severity", "status", "words"),
    [
        ("PRUNED BY STAFF\n", "info", "READY", "its content was replaced by 'PRUNED BY STAFF'"),
        (LARGE_FILE, "warning", "UNDECIDED", "it is a Git LFS pointer, not the file itself"),
    ],
    ids=["pruned", "LFS"],
)
@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
def test_a_pointer_without_its_content_is_told_for_each_leaf(
    layout2: Path, edition: str, content: str, severity: str, status: str, words: str
) -> None:
    pointers = [f"{LEAF.format(organisation)}/.mlps-code-image" for organisation in ("acme", "globex")]
    stamp(layout2 / LEAF.format("acme"), tool__code_image="md5-tree-v2:" + "0" * 32)
    for pointer in pointers:
        (layout2 / pointer).write_text(content)
    found = findings(layout2, edition)
    assert short(found) == [("CHECK-01", severity, pointer) for pointer in pointers]
    assert all(words in finding.message for finding in found)
    assert found[0].opens == (("PROV-01",) if edition == "4.0-draft" else ())
    assert statuses(layout2)["closed/acme"] == status


@pytest.mark.parametrize(("content", "severity"), [("PRUNED BY STAFF\n", "info"), (LARGE_FILE, "warning")])
def test_a_pruned_pointer_of_a_training_run_is_told_once(tmp_path: Path, content: str, severity: str) -> None:
    """Rule 3.6.1 compares what it names."""
    tree = TrainingTree(tmp_path).build()
    for run in tree.runs:
        run.edit("metadata", {"/args/_validated_pool_hash": IMAGE})
    before = {finding.fingerprint for finding in check(tmp_path, Options()).findings}
    (tree.runs[0].path / ".mlps-code-image").write_text(content)
    new = [f for f in check(tmp_path, Options()).findings if f.fingerprint not in before]
    assert [(f.rule, f.severity) for f in new] == [("CHECK-01", severity)]


# CHECK-02.


IMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "one byte appended": (lambda image: (image / "mlpstorage/main.py").write_text("print('hello')\n#"), "error"),
    "a file added": (lambda image: (image / "more.py").write_text(""), "error"),
    "a file removed": (lambda image: (image / "mlpstorage/main.py").unlink(), "error"),
    "no record": (lambda image: (image / ".code-hash.json").unlink(), "error"),
    "a damaged record": (lambda image: (image / ".code-hash.json").write_text("{"), "error"),
    "a record without hash": (lambda image: record(image, hash=None), "error"),
    "a hash in upper case": (lambda image: record(image, hash=IMAGE.upper()), "error"),
    "an unknown algorithm": (lambda image: record(image, algorithm="sha256-tree"), "error"),
    "no algorithm": (lambda image: record(image, algorithm=None), "error"),
    "no time": (lambda image: record(image, captured_at="yesterday"), "warning"),
    "a pipe": (lambda image: os.mkfifo(image / "pipe"), "error"),
    "a huge file": (lambda image: os.truncate(os.open(image / "f", os.O_CREAT | os.O_WRONLY), 2**40), "error"),
}


def record(image: Path, **changes: object) -> None:
    path = image / ".code-hash.json"
    data = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None or key == "git_sha"}))


@pytest.mark.parametrize("name", IMAGES)
def test_a_spoilt_image_is_one_finding(layout3: Path, name: str) -> None:
    spoil, severity = IMAGES[name]
    image = layout3 / f"code-images/code-{IMAGE[:8]}"
    spoil(image)
    assert weighty(layout3) == [("CHECK-02", severity, f"code-images/code-{IMAGE[:8]}")]


@pytest.mark.parametrize("path", ["tests/x.py", ".DS_Store", "sub/__pycache__/m.pyc", "m.pyo"])
def test_what_is_not_hashed_may_be_added(layout3: Path, path: str) -> None:
    added = layout3 / f"code-images/code-{IMAGE[:8]}" / path
    added.parent.mkdir(parents=True, exist_ok=True)
    added.write_text("x")
    assert findings(layout3) == []


def test_both_names_of_the_algorithm_are_read(layout3: Path) -> None:
    record(layout3 / f"code-images/code-{IMAGE[:8]}", algorithm="md5-tree-v1")
    assert findings(layout3) == []


def test_a_renamed_image_is_named_and_its_leaves_find_none(layout3: Path) -> None:
    (layout3 / f"code-images/code-{IMAGE[:8]}").rename(layout3 / "code-images/code-12345678")
    found = weighty(layout3)
    assert ("CHECK-02", "error", "code-images/code-12345678") in found
    assert {rule for rule, _, _ in found} == {"CHECK-01", "CHECK-02"}


def test_links_in_an_image_are_not_followed(layout3: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("s")
    image = layout3 / f"code-images/code-{IMAGE[:8]}"
    (image / "out").symlink_to(outside)
    (image / "file").symlink_to(outside / "secret")
    (image / "loop").symlink_to(image)
    assert findings(layout3) == []


def test_a_change_is_told_by_file_where_a_sound_copy_is_there(layout2: Path) -> None:
    (image,) = (layout2 / "acme").glob("code-*")
    shutil.copytree(layout2 / "acme", layout2 / "globex", dirs_exist_ok=True)
    name_image(layout2 / LEAF.format("globex"), json.loads((image / ".code-hash.json").read_text())["hash"])
    (image / "mlpstorage_py/main.py").write_text("changed")
    (image / "more.py").write_text("")
    (found,) = [f for f in findings(layout2) if f.rule == "CHECK-02"]
    assert (
        f"compared with globex/{image.name} of the same hash: added more.py; changed mlpstorage_py/main.py"
        in found.message
    )
    assert hash_of(image) in found.message


def test_without_a_reference_the_message_says_so(layout3: Path) -> None:
    (layout3 / f"code-images/code-{IMAGE[:8]}/mlpstorage/main.py").write_text("x")
    (found,) = findings(layout3)
    assert "nothing to compare it with: no --source-repo is given" in found.message
    assert IMAGE in found.message


@pytest.fixture
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository of the tool with one commit."""
    path = tmp_path_factory.mktemp("repository")
    for name, content in {"tool/main.py": "m", "CLAUDE.md": "c", "tests/t.py": "t", "é": "e"}.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(content)
    (path / "link").symlink_to("CLAUDE.md")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "m"]):
        subprocess.run(["git", "-C", str(path), *words], check=True)
    head = subprocess.run(["git", "-C", str(path), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return path, head.stdout.strip()


@pytest.fixture
def stripped(layout2: Path, repository: tuple[Path, str]) -> Path:
    """Two images that lost one file on upload; one has local edits besides, which its hash counts."""
    for organisation, local in (("acme", "m"), ("globex", "m, edited")):
        shutil.rmtree(layout2 / organisation)
        files = {"tool/main.py": local, "CLAUDE.md": "c", "é": "e"}
        _, digest = image_in(layout2 / organisation, files, repository[1], strip="CLAUDE.md")
        name_image(layout2 / LEAF.format(organisation), digest)
    return layout2


def test_files_stripped_from_all_images_are_one_warning(stripped: Path) -> None:
    assert weighty(stripped) == [("CHECK-02", "warning", ".")]


def test_a_repository_proves_that_nothing_else_was_changed(stripped: Path, repository: tuple[Path, str]) -> None:
    found = findings(stripped, source_repo=str(repository[0]))
    assert [(f.rule, f.severity) for f in found] == [("CHECK-02", "info")] * 2
    assert all("missing CLAUDE.md" in f.message for f in found)


def test_a_repository_shows_what_else_was_changed(stripped: Path, repository: tuple[Path, str]) -> None:
    (image,) = (stripped / "acme").glob("code-*")
    (image / "tool/main.py").write_text("cheat")
    (image / "more.py").write_text("")
    found = findings(stripped, source_repo=str(repository[0]))
    (error,) = [f for f in found if f.severity == "error"]
    assert error.path == f"acme/{image.name}"
    assert (
        f"compared with commit {repository[1][:8]}: added more.py; missing CLAUDE.md; changed tool/main.py"
        in error.message
    )


def test_a_commit_that_is_not_there_is_no_accusation(stripped: Path, repository: tuple[Path, str]) -> None:
    for image in stripped.glob("*/code-*"):
        record(image, git_sha="0" * 40)
    found = findings(stripped, source_repo=str(repository[0]))
    assert [(f.rule, f.severity) for f in found] == [("CHECK-02", "info")] * 2
    assert all("does not have its commit" in f.message for f in found)


def test_an_image_that_fails_alone_is_an_error(stripped: Path) -> None:
    (image,) = (stripped / "acme").glob("code-*")
    (image / "CLAUDE.md").write_text("c")
    (other,) = (stripped / "globex").glob("code-*")
    assert weighty(stripped) == [("CHECK-02", "error", f"globex/{other.name}")]


PARTS = ["closed/acme", "closed/acme/results/fast-1/checkpointing/llama3-8b"]


@pytest.mark.parametrize("part", PARTS)
def test_changed_images_are_errors_in_a_part_as_in_the_whole(layout2: Path, part: str) -> None:
    leaf = layout2 / LEAF.format("acme")
    _, digest = image_in(layout2 / "acme", {"mlpstorage_py/main.py": "second", "CLAUDE.md": "c"})
    name_image(shutil.copytree(leaf, leaf.with_name("20260701_120000")), digest)
    for image in (layout2 / "acme").glob("code-*"):
        (image / "CLAUDE.md").unlink()
    (changed,) = {f.severity.value for f in findings(layout2) if f.rule == "CHECK-02"}
    assert changed == "error", "the other organisation's image is sound"
    errors = [("CHECK-02", "error", f"acme/{image.name}") for image in sorted((layout2 / "acme").glob("code-*"))]
    assert weighty(layout2 / part) == errors
    assert weighty(layout2, submitters=("acme",)) == errors
    assert weighty(layout2, submitters=("globex",)) == []


@pytest.mark.parametrize("part", PARTS)
def test_what_was_stripped_from_all_images_is_a_warning_in_a_part_with_one(
    stripped: Path, repository: tuple[Path, str], part: str
) -> None:
    assert weighty(stripped / part) == [("CHECK-02", "warning", ".")]
    assert [f.severity for f in findings(stripped / part, source_repo=str(repository[0]))] == ["info"]


def statuses(top: Path, waive: Callable[[Finding], bool] = lambda finding: False, **options: Any) -> dict[str, str]:
    """Status of each submission, by division and organisation."""
    report = check(top, Options(**options))
    report.waived = {(f.fingerprint, f.path): Waived("a ruling", "") for f in report.findings if waive(f)}
    return {f"{one.division}/{one.submitter}": one.status.value for one in validate(report).submissions}


def test_a_changed_image_holds_up_the_organisation_whose_pool_it_lies_in(layout2: Path) -> None:
    ready = {"closed/acme": "READY", "closed/globex": "READY"}
    assert statuses(layout2) == ready
    (image,) = (layout2 / "acme").glob("code-*")
    (image / "more.py").write_text("")
    held = {"closed/acme": "NOT READY", "closed/globex": "READY"}
    assert statuses(layout2) == held
    assert statuses(layout2, submitters=("globex",)) == {"closed/globex": "READY"}
    assert statuses(layout2, lambda finding: finding.rule == "CHECK-02") == ready
    (found,) = [f for f in findings(layout2) if f.severity == "error"]
    assert finding_json(found)["submitter"] == "acme"
    shutil.copytree(image, image.with_name("code-00000000"))  # that no leaf points to
    shutil.rmtree(image)
    assert statuses(layout2) == held


def test_a_changed_image_that_is_known_holds_up_and_is_not_cleared_by_a_part(
    layout2: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    image, _ = image_in(layout2 / "acme", {"main.py": "never run"})
    (image / "more.py").write_text("")
    earlier = tmp_path_factory.mktemp("earlier") / "report.json"
    main([str(layout2), "--format", "json", "--output", str(earlier)])
    main([str(layout2), "--format", "json", "--since", str(earlier)])
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] == []
    assert {one["submitter"]: one["status"] for one in report["submissions"]} == {
        "acme": "NOT READY",
        "globex": "READY",
    }
    main([str(layout2), "--format", "json", "--since", str(earlier), "--submitter", "acme"])
    report = json.loads(capsys.readouterr().out)
    assert report["since"]["cleared"] == [], "an image that no leaf names was not looked at"


def test_an_unmarked_pool_holds_up_the_organisation_whose_it_is(layout2: Path) -> None:
    (layout2 / "acme/.mlps-image-pool").unlink()
    assert statuses(layout2) == {"closed/acme": "NOT READY", "closed/globex": "READY"}


def test_a_changed_image_of_the_common_pool_holds_up_the_workloads_that_point_to_it(layout3: Path) -> None:
    image, digest = image_in(layout3 / "code-images", {"main.py": "of globex"})
    name_image(layout3 / LEAF.format("globex"), digest)
    (image / "more.py").write_text("")
    assert statuses(layout3) == {"closed/acme": "READY", "closed/globex": "NOT READY"}
    report = validate(check(layout3, Options()))
    held = {unit.place: unit.held_up_by for one in report.submissions for unit in one.units if unit.held_up_by}
    assert held == {place_of(LEAF.format("globex")): [f"code-images/{image.name}"]}
    (found,) = findings(layout3)
    assert finding_json(found)["submitter"] == ""


# CHECK-03 and CHECK-04.


def test_an_image_of_no_result_is_a_warning(layout2: Path) -> None:
    image, digest = image_in(layout2 / "acme", {"main.py": "never run"})
    orphan = ("CHECK-03", "warning", f"acme/{image.name}")
    assert weighty(layout2) == [orphan]
    name_image(layout2 / LEAF.format("globex"), digest)
    assert orphan in weighty(layout2), "an organisation's pool serves that organisation"
    shutil.copytree(layout2 / "closed/acme", layout2 / "open/acme")
    name_image(layout2 / LEAF.format("acme").replace("closed", "open"), digest)
    assert orphan not in weighty(layout2), "in either division"


def test_a_directory_that_is_worked_with_may_hold_the_code_of_other_runs(layout3: Path) -> None:
    image_in(layout3 / "code-images", {"main.py": "of a what-if run"})
    (layout3 / "mlperf-results.yaml").write_text("")
    assert weighty(layout3) == []


def test_a_part_of_a_tree_makes_no_orphans(layout3: Path) -> None:
    _, digest = image_in(layout3 / "code-images", {"main.py": "of globex"})
    name_image(layout3 / LEAF.format("globex"), digest)
    assert weighty(layout3) == []
    assert weighty(layout3, submitters=("acme",)) == []
    assert weighty(layout3 / "closed/globex") == []


def test_a_pool_needs_its_marker_and_its_images(layout3: Path) -> None:
    (layout3 / "code-images/.mlps-image-pool").unlink()
    assert weighty(layout3) == [("CHECK-04", "error", "code-images")]
    (layout3 / "acme").mkdir()
    (layout3 / "acme/.mlps-image-pool").write_text("")
    assert ("CHECK-04", "warning", "acme") in weighty(layout3)


@pytest.mark.parametrize("place", ["closed/acme", "open/acme", "open/acme/results/fast-1/checkpointing/llama3-8b"])
def test_code_beside_a_pool_is_one_finding_and_not_looked_into(layout3: Path, place: str) -> None:
    shutil.copytree(layout3 / "closed/acme", layout3 / "open/acme")
    (layout3 / place / "code").mkdir()
    (layout3 / place / "code/edited.py").write_text("x")
    assert weighty(layout3) == [("CHECK-04", "error", f"{place}/code")]


# 2.1.6.


@pytest.mark.parametrize(
    "spoil",
    [
        lambda code: (code / "main.py").write_text("2"),
        lambda code: (code / ".code-hash.json").unlink(),
        lambda code: os.mkfifo(code / "pipe"),
    ],
    ids=["edited", "no record", "a pipe"],
)
def test_spoilt_code_of_the_first_layout_is_one_error(layout1: Path, spoil: Callable[[Path], object]) -> None:
    spoil(layout1 / "closed/acme/code")
    assert weighty(layout1) == [("2.1.6", "error", "closed/acme/code")]


def test_open_results_of_the_first_layout_hold_code_at_each_workload(layout1: Path) -> None:
    shutil.copytree(layout1 / "closed/acme/results", layout1 / "open/acme/results")
    missing = "open/acme/results/fast-1/checkpointing/llama3-8b/code"
    assert weighty(layout1) == [("2.1.6", "error", missing)]
    shutil.copytree(layout1 / "closed/acme/code", layout1 / missing)
    assert weighty(layout1) == []


# Stamps, manifest, editions, tables (4.0-draft).


def stamp(leaf: Path, **changes: Any) -> None:
    data = {
        "schema": "mlps-run-provenance/1", "rules_edition": "3.0", "layout_version": 3,
        "tool": {"name": "mlpstorage", "version": "3.1", "git_sha": "unknown", "code_image": f"md5-tree-v2:{IMAGE}"},
        "dlio": {"version": "2.0.0", "source": "unknown", "commit": DLIO}, "storage_library": {"name": "none"},
        "core_config": {"algorithm": "core-config-v1", "allowlist": "checkpointing@1", "hash": CLASS_8B, "keys": []},
        "stamped_at": "x", "stamped_by": "y",
        "provenance": dict.fromkeys(
            ("rules_edition", "layout_version", "tool", "dlio", "storage_library", "core_config"), "runtime"
        ),
    }  # fmt: skip
    for place, value in changes.items():
        *above, key = place.split("__")
        target = data[above[0]] if above else data
        target[key] = value  # type: ignore[index]
    (leaf / "provenance.json").write_text(json.dumps(data))
    path = leaf / f"checkpointing_{leaf.name}_metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "provenance_file": "provenance.json"}))


STAMPS: dict[str, tuple[Callable[[Path], object], list[tuple[str, str]]]] = {
    "whole": (stamp, []),
    "never stamped": (lambda leaf: None, []),
    "declared and not there": (lambda leaf: (stamp(leaf), (leaf / "provenance.json").unlink()), [("PROV-01", "error")]),
    "damaged": (lambda leaf: (stamp(leaf), (leaf / "provenance.json").write_text("{")), [("PROV-01", "error")]),
    "of another form": (lambda leaf: stamp(leaf, layout_version=None), [("PROV-01", "error")]),
    "pruned": (lambda leaf: (stamp(leaf), (leaf / "provenance.json").write_text("PRUNED BY STAFF\n")), []),
    "of another image": (lambda leaf: stamp(leaf, tool__code_image="md5-tree-v2:" + "0" * 32), [("PROV-01", "error")]),
    "of no edition": (lambda leaf: stamp(leaf, rules_edition="9.9"), [("EDN-01", "error")]),
    "of a round before": (lambda leaf: stamp(leaf, rules_edition="2.0"), [("EDN-04", "error")]),
    "not comparable": (lambda leaf: stamp(leaf, core_config__hash="0" * 16), [("EDN-02", "error")]),
    "hash unknown": (lambda leaf: stamp(leaf, core_config__hash="unknown"), []),
    "another DLIO": (lambda leaf: stamp(leaf, dlio__commit="0" * 40), [("EDN-03", "warning")]),
    "DLIO unknown": (lambda leaf: stamp(leaf, dlio__commit="unknown"), []),
}


@pytest.mark.parametrize("name", STAMPS)
def test_stamps(layout3: Path, name: str) -> None:
    spoil, expected = STAMPS[name]
    spoil(layout3 / LEAF.format("acme"))
    assert sorted((rule, severity) for rule, severity, _ in weighty(layout3, "4.0-draft")) == sorted(expected)
    assert weighty(layout3, "3.0") == []


def test_a_missing_pointer_is_not_reported_by_the_stamp_again(layout3: Path) -> None:
    stamp(layout3 / LEAF.format("acme"))
    (layout3 / LEAF.format("acme") / ".mlps-code-image").unlink()
    assert weighty(layout3, "4.0-draft") == [("CHECK-01", "error", LEAF.format("acme"))]


def test_missing_metadata_is_not_reported_by_the_stamps(layout3: Path) -> None:
    leaf = layout3 / LEAF.format("acme")
    (leaf / f"checkpointing_{leaf.name}_metadata.json").unlink()
    assert weighty(layout3, "4.0-draft") == []


def test_open_results_without_a_class_are_noted(layout3: Path) -> None:
    (layout3 / "closed").rename(layout3 / "open")
    leaf = LEAF.format("acme").replace("closed", "open")
    stamp(layout3 / leaf)
    assert short(findings(layout3, "4.0-draft")) == [("EDN-02", "info", f"{leaf}/provenance.json")]


def test_a_fresh_manifest_is_silent_and_a_stale_one_is_one_error(layout3: Path) -> None:
    acme = layout3 / "closed/acme"
    leaf = layout3 / LEAF.format("acme")
    stamp(leaf)
    manifest.write(acme, "closed", "3.0", 3, "test")
    assert weighty(layout3, "4.0-draft") == []
    wanted = [("PROV-02", "error", "closed/acme/submission.yaml")]
    shutil.copytree(leaf, leaf.with_name("20260701_120000"))
    assert weighty(layout3, "4.0-draft") == wanted
    shutil.rmtree(leaf)
    (found,) = findings(layout3, "4.0-draft")
    assert short([found]) == wanted
    assert "20260701_120000; that it lists" in found.message
    manifest.write(acme, "closed", "4.0-draft", 3, "test")
    assert weighty(layout3, "4.0-draft") == wanted, "the stamp names 3.0"
    (acme / "submission.yaml").write_text("a: &a [1]\nb: *a\n")
    assert weighty(layout3, "4.0-draft") == wanted
    assert weighty(layout3, "3.0") == []


def test_the_rollup_table_agrees_with_the_tables_below(layout3: Path) -> None:
    results = layout3 / "closed/acme/results"
    workload = results / "fast-1/checkpointing/llama3-8b"
    (workload / "results.json").write_text(json.dumps([{"Public ID": "v3.0-0001"}, {"Public ID": ""}]))
    assert weighty(layout3, "4.0-draft") == []
    rollup = results / "results.json"
    wanted = [("RPT-01", "error", "closed/acme/results/results.json")]
    for content, expected in (
        ([{"Public ID": "v3.0-0001"}, {"Public ID": " "}, {}], []),
        ([], wanted),
        ([{"Public ID": "v3.0-0001"}, {"Public ID": "v3.0-0002"}], wanted),
        ({"Public ID": "v3.0-0001"}, wanted),
    ):
        rollup.write_text(json.dumps(content))
        assert weighty(layout3, "4.0-draft") == expected, content
    rollup.write_text(LARGE_FILE)
    assert weighty(layout3, "4.0-draft") == [("RPT-01", "warning", "closed/acme/results/results.json")]
    rollup.write_text("PRUNED BY STAFF\n")
    assert weighty(layout3, "4.0-draft") == []
    assert weighty(layout3, "3.0") == []


# Hostile trees.


def test_a_pool_that_cannot_be_listed_is_no_proof_of_absence(layout3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = LocalRoot.survey

    def refuse(self: LocalRoot, relative: str) -> object:
        if relative == "code-images":
            raise PermissionError(13, "Permission denied")
        return real(self, relative)

    monkeypatch.setattr(LocalRoot, "survey", refuse)
    report = check(layout3, Options())
    assert [f.path for f in report.findings if f.rule == "TREE-01"] == ["code-images"]
    assert not any(f.rule.startswith("CHECK-") for f in report.findings), "told once"
    assert any("CHECK-01" in ids for ids in report.open_rules.values()), "and the submission is not ready"


def test_hostile_names_in_pools_are_harmless(layout3: Path) -> None:
    pool = layout3 / "code-images"
    for name in (b"code-\xff\xfe", b"code-\x1b[31m", "code-\u202e".encode(), b"code-"):
        os.mkdir(os.fsencode(pool) + b"/" + name)
    (pool / "code-link").symlink_to("/")
    (pool / "code-file").write_text("")
    found = findings(layout3)
    assert {f.rule for f in found} == {"CHECK-02", "CHECK-03"}
    assert len([f for f in found if f.rule == "CHECK-02" and f.outcome == "violation"]) == 4
    text = json.dumps([f.as_json() for f in found])
    assert "\\u001b" not in text
    assert "\\u202e" not in text


def test_nothing_is_written_into_the_tree(layout3: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(layout3.rglob("*"))}

    before = state()
    findings(layout3)
    assert state() == before


def test_leaves_without_a_pointer_are_one_finding(tmp_path: Path) -> None:
    """Rule 3.6.1 compares what they point to; that they point to nothing is CHECK-01's, or legal in the old layout."""
    tree = TrainingTree(tmp_path).build()
    for run in tree.runs:
        run.edit("metadata", {"/args/_validated_pool_hash": IMAGE})
    for pointer in tree.workload.glob("*/*/.mlps-code-image"):
        pointer.unlink()
    found = [f for f in check(tmp_path, Options()).findings if "3.6.1" in (f.rule, *f.opens) or f.rule == "CHECK-01"]
    assert [(f.rule, f.clause, len(f.paths)) for f in found] == [("CHECK-01", "pointer", 8)]
