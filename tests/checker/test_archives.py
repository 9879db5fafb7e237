"""A results tree in an archive: the same report as on the tree, and nothing that an archive can hold does harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from archives import SUFFIXES, Entry, add, entries_of, pack
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import written
from trees import Tree, combined, pair

from mlpstorage.results.roots import index, inflated
from submission_checker.cli import main
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


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tgz"])
def test_an_archive_of_a_case_gives_the_report_of_the_case(tmp_path: Path, case: Path, suffix: str) -> None:
    tree = case / "tree"
    archive = pack(tmp_path / f"results{suffix}", entries_of(tree))
    assert comparable(check(archive, Options())) == comparable(check(tree, Options()))


def test_copies_of_attributes_beside_all_results_change_nothing(tmp_path: Path, case: Path) -> None:
    tree = tmp_path / "results"
    shutil.copytree(case / "tree", tree)
    for path in [path for path in tree.rglob("*") if "code-" not in str(path.relative_to(tree))]:
        (path.parent / f"._{path.name}").write_bytes(b"\0\5\26\7\0\2\0\0Mac OS X        ")
    archive = pack(tmp_path / "results.zip", entries_of(tree))
    assert comparable(check(archive, Options())) == comparable(check(case / "tree", Options()))


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
        for place in (archive / "top", archive):  # as it lies there, and as the report prints it
            report = check(place / part, Options())
            assert comparable(report) == comparable(check(tree.root / part, Options())), part
            assert report.results_dir == f"{archive}/top"
    with pytest.raises(NothingToCheckError, match=r"results\.zip/closed/nobody does not exist"):
        check(archive / "closed/nobody", Options())
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


def unreadable(archive: Path) -> str:
    """Why the whole archive is not checked."""
    with pytest.raises(NothingToCheckError) as raised:
        check(archive, Options())
    return str(raised.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_an_archive_that_was_cut_short_is_not_checked(tmp_path: Path, suffix: str, part: float) -> None:
    archive = pack(tmp_path / f"results{suffix}", entries_of(combined(tmp_path / "tree").root))
    content = archive.read_bytes()
    if suffix == ".tar":  # the padding behind its end may lack
        content = content.rstrip(b"\0")
    archive.write_bytes(content[: int(len(content) * part)])
    assert f"results{suffix} cannot be read: " in unreadable(archive)


WHOLE: dict[str, tuple[str, bytes, str]] = {
    "text as zip": (".zip", b"hello", "no directory of a zip archive is at its end"),
    "text as tar": (".tar", b"hello" * 200, "no header of a tar archive is at byte 0"),
    "text as tar.gz": (".tar.gz", b"hello", "it is damaged before byte 5"),
    "no tar in gzip": (".tgz", gzip.compress(b"hello" * 200), "no header of a tar archive is at byte 0"),
    "zip as tar": (".tar", b"PK\3\4" + bytes(2000), "it looks like a zip archive: end its name in .zip"),
    "gzip as tar": (".tar", gzip.compress(bytes(10240)) + bytes(512), "it looks like a gzip file: end its name in"),
    "tar as tar.gz": (
        ".tar.gz",
        bytes(257) + b"ustar" + bytes(800),
        "it looks like a tar archive: end its name in .tar",
    ),
    "tar as zip": (".zip", bytes(257) + b"ustar" + bytes(800), "it looks like a tar archive"),
    "zstd as tar": (".tar", b"\x28\xb5\x2f\xfd" + bytes(800), "packed by zstd: unpack it"),
    "nothing": (".tar", b"", "it is too short"),
    "text behind gzip": (".tgz", gzip.compress(bytes(10240)) + b"more", "it is damaged before byte"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_archive_is_not_checked(tmp_path: Path, name: str) -> None:
    suffix, content, reason = WHOLE[name]
    archive = tmp_path / f"results{suffix}"
    archive.write_bytes(content)
    assert reason in unreadable(archive)
    assert main([str(archive)]) == 2


def test_two_tar_archives_in_one_file_are_not_checked(tmp_path: Path) -> None:
    one = pack(tmp_path / "results.tar", entries_of(combined(tmp_path / "tree").root))
    one.write_bytes(one.read_bytes() * 2)
    assert "more follows behind the mark of its end" in unreadable(one)


def test_gzip_streams_that_follow_each_other_are_one(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    content = pack(tmp_path / "results.tar", entries_of(tree.root)).read_bytes()
    archive = tmp_path / "results.tar.gz"
    archive.write_bytes(gzip.compress(content[:5000]) + gzip.compress(content[5000:]) + bytes(100))
    assert comparable(check(archive, Options())) == comparable(check(tree.root, Options()))


def test_a_gzip_file_whose_checksum_is_wrong_is_not_checked(tmp_path: Path) -> None:
    archive = pack(tmp_path / "results.tgz", entries_of(combined(tmp_path / "tree").root))
    content = bytearray(archive.read_bytes())
    content[-5] ^= 1
    archive.write_bytes(content)
    assert "it is damaged before byte" in unreadable(archive)


def test_more_members_than_any_tree_has_are_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [Entry(f"closed/{n}") for n in range(20)]
    archives = [pack(tmp_path / f"results{suffix}", entries) for suffix in (".zip", ".tar")]
    monkeypatch.setattr(index, "MAX_ENTRIES", 19)
    assert all("it holds more than 19 files and directories" in unreadable(path) for path in archives)
    monkeypatch.setattr(index, "MAX_NAMES", 100)
    assert all("the paths in it have more than 100 characters together" in unreadable(path) for path in archives)


def test_a_gzip_file_that_inflates_beyond_all_measure_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "results.tgz"
    archive.write_bytes(gzip.compress(bytes(2**24)))
    monkeypatch.setattr(inflated, "FREE_BYTES", 2**20)
    assert "that is no archive of results" in unreadable(archive)


def test_a_full_disk_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "results.tgz", entries_of(combined(tmp_path / "tree").root))

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(inflated.os, "write", full)
    assert "No space left on device): set TMPDIR" in unreadable(archive)


def _summary(tree: Tree) -> str:
    return tree.leaves[0].summary.relative_to(tree.root).as_posix()


def _told(archive: Path, name: str) -> str:
    """The one error that is said of a file which cannot be read."""
    report = check(archive, Options())
    assert report.faults == []
    (message,) = (f.message for f in report.findings if f.severity.value == "error")
    assert name.rpartition("/")[2] in message
    return message


def _entry_of(content: bytes, name: str) -> tuple[int, int]:
    """Where a zip archive has the header and the directory entry of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = archive.getinfo(name).header_offset
    return header, content.rindex(name.encode()) - 46


def _flip_content(content: bytearray, header: int, entry: int, size: int) -> None:
    content[header + 30 + size + 20] ^= 0xFF


def _wrong_checksum(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 16] ^= 1


def _encrypted(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 8] |= 1


def _other_method(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 10 : entry + 12] = struct.pack("<H", 14)


def _states_less(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 24 : entry + 28] = struct.pack("<L", 10)


def _states_more(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 24 : entry + 28] = struct.pack("<L", 2**20)


def _states_too_much(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 24 : entry + 28] = struct.pack("<L", 2**31)


def _two_names(content: bytearray, header: int, entry: int, size: int) -> None:
    content[header + 30] ^= 1


def _lies_nowhere(content: bytearray, header: int, entry: int, size: int) -> None:
    content[entry + 42 : entry + 46] = struct.pack("<L", 2**31)


def test_a_zip_archive_whose_files_share_bytes_is_not_checked(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    archive = pack(tmp_path / "results.zip", entries_of(tree.root))
    content = bytearray(archive.read_bytes())
    _, entry = _entry_of(content, _summary(tree))
    content[entry + 42 : entry + 46] = struct.pack("<L", 0)
    archive.write_bytes(content)
    assert "two of its files share bytes" in unreadable(archive)


SPOILT: dict[str, tuple[Callable[[bytearray, int, int, int], None], str]] = {
    "content": (_flip_content, "it is damaged"),
    "checksum": (_wrong_checksum, "its checksum is not the one that the archive states"),
    "encrypted": (_encrypted, "it is encrypted: pack it without a password"),
    "packed by another method": (_other_method, "it is packed by method 14"),
    "longer than stated": (_states_less, "it is longer than the 10 bytes that the archive states"),
    "shorter than stated": (_states_more, "before the 1048576 that the archive states"),
    "larger than any reader takes": (_states_too_much, "it has 2147483648 bytes; at most"),
    "two names": (_two_names, "give it two names"),
    "lies nowhere": (_lies_nowhere, "no header of a file is at byte 2147483648"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_member_that_cannot_be_read_is_one_finding(tmp_path: Path, how: str) -> None:
    tree = combined(tmp_path / "tree")
    archive = pack(tmp_path / "results.zip", entries_of(tree.root))
    spoil, reason = SPOILT[how]
    content = bytearray(archive.read_bytes())
    spoil(content, *_entry_of(content, _summary(tree)), len(_summary(tree)))
    archive.write_bytes(content)
    assert reason in _told(archive, _summary(tree))


class _Pipe(io.RawIOBase):
    """A place to write to in order only."""

    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:
        self.content += bytes(data)
        return len(bytes(data))


@pytest.mark.parametrize("form", ["stored", "streamed", "large", "commented", "starting by itself"])
def test_all_forms_of_zip_are_read(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = combined(tmp_path / "tree")
    if form == "large":  # sizes, places and counts beyond 32 and 16 bits are written in another way
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
        monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 3)
    pipe, whole = _Pipe(), io.BytesIO()
    method = zipfile.ZIP_STORED if form == "stored" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(pipe if form == "streamed" else whole, "w", method) as archive:
        for path in sorted(tree.root.rglob("*")):
            archive.write(path, path.relative_to(tree.root))
        if form == "commented":
            archive.comment = b"the results" * 100
    content = pipe.content if form == "streamed" else whole.getvalue()
    if form == "starting by itself":
        content = b"#!/bin/sh\nexec unzip $0\n" + content
    target = tmp_path / "results.zip"
    target.write_bytes(content)
    assert comparable(check(target, Options())) == comparable(check(tree.root, Options()))


def test_a_bomb_is_neither_believed_nor_inflated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = combined(tmp_path / "tree")
    entries = [e for e in entries_of(tree.root) if e.name != _summary(tree)]
    archive = pack(tmp_path / "results.zip", [*entries, Entry(_summary(tree), content=bytes(2**27))])
    assert "it has 134217728 bytes; at most" in _told(archive, _summary(tree))
    content = bytearray(archive.read_bytes())
    _states_less(content, *_entry_of(content, _summary(tree)), 0)
    archive.write_bytes(content)
    assert "it is longer than the 10 bytes" in _told(archive, _summary(tree))


def _tar_with(tree: Tree, path: Path, extra: Callable[[tarfile.TarFile], None], form: int) -> Path:
    """An archive in which ``extra`` adds the summary."""
    with tarfile.open(path, "w", format=form) as archive:
        for entry in entries_of(tree.root):
            if entry.name != _summary(tree):
                add(archive, entry)
        extra(archive)
    return path


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_forms_of_tar_are_read(tmp_path: Path, form: int) -> None:
    tree = combined(tmp_path / "tree")
    long = Path("closed/acme/notes", "d" * 90, "f" * 99)
    for name in (long, Path("closed/acme/notes/\u00e9t\u00e9")) if form != tarfile.USTAR_FORMAT else ():
        (tree.root / name).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / name).write_text("x")

    def rest(archive: tarfile.TarFile) -> None:
        add(archive, Entry(_summary(tree), content=tree.leaves[0].summary.read_bytes()))

    archive = _tar_with(tree, tmp_path / "results.tar", rest, form)
    assert comparable(check(archive, Options())) == comparable(check(tree.root, Options()))


def test_attributes_of_a_pax_archive_count(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    content = tree.leaves[0].summary.read_bytes()

    def extra(archive: tarfile.TarFile) -> None:
        info = tarfile.TarInfo("short")
        info.size = len(content)
        info.pax_headers = {"path": _summary(tree), "size": str(len(content)), "comment": "a=b"}
        archive.addfile(info, io.BytesIO(content))

    archive = _tar_with(tree, tmp_path / "results.tar", extra, tarfile.PAX_FORMAT)
    assert comparable(check(archive, Options())) == comparable(check(tree.root, Options()))


@pytest.mark.parametrize("order", [1, -1])
def test_a_hard_link_is_the_file_that_it_names(tmp_path: Path, order: int) -> None:
    tree = combined(tmp_path / "tree")
    content = tree.leaves[0].summary.read_bytes()
    members = [Entry("closed/acme/notes", content=content), Entry(_summary(tree), "hard link", b"closed/acme/notes")]

    def extra(archive: tarfile.TarFile) -> None:
        for member in members[::order]:
            add(archive, member)

    archive = _tar_with(tree, tmp_path / "results.tar", extra, tarfile.GNU_FORMAT)
    if order == 1:
        (tree.root / "closed/acme/notes").write_bytes(content)
        assert comparable(check(archive, Options())) == comparable(check(tree.root, Options()))
    else:
        assert "hard link to nothing in the archive" in _told(archive, _summary(tree))


@pytest.mark.parametrize("target", [b"/etc/passwd", b"../../../../etc/passwd", b"nothing"])
def test_a_hard_link_out_of_the_archive_reads_nothing(tmp_path: Path, target: bytes) -> None:
    tree = combined(tmp_path / "tree")
    archive = _tar_with(
        tree,
        tmp_path / "results.tar",
        lambda archive: add(archive, Entry(_summary(tree), "hard link", target)),
        tarfile.GNU_FORMAT,
    )
    assert "hard link to nothing in the archive" in _told(archive, _summary(tree))


@pytest.mark.parametrize("form", ["oldest", "pax"])
def test_a_sparse_file_is_told_and_not_read(tmp_path: Path, form: str) -> None:
    tree = combined(tmp_path / "tree")

    def extra(archive: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(_summary(tree))
        info.size = 512
        if form == "oldest":
            info.type = tarfile.GNUTYPE_SPARSE
        else:
            info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1000"}
        archive.addfile(info, io.BytesIO(b"1\n0\n512\n".ljust(512, b"\0")))

    archive = _tar_with(tree, tmp_path / "results.tar", extra, tarfile.PAX_FORMAT)
    content = bytearray(archive.read_bytes())
    if form == "oldest":
        header = content.rindex(_summary(tree).encode()) // 512 * 512
        content[header + 483 : header + 495] = b"00000001750\0"
        content[header + 148 : header + 156] = b" " * 8
        content[header + 148 : header + 156] = f"{sum(content[header : header + 512]):06o}\0 ".encode()
        archive.write_bytes(content)
    assert "the archive holds it as a sparse file" in _told(archive, _summary(tree))


def test_reports_are_not_written_into_the_place_of_the_archive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = pack(tmp_path / "results.zip", entries_of(combined(tmp_path / "tree").root))
    before = archive.read_bytes()
    assert main([str(archive), "--output", str(archive)]) == 2
    assert main([str(archive), "--output", f"{archive}/report.txt"]) == 2
    assert "inside the tree" in capsys.readouterr().err
    output = tmp_path / "report.json"
    assert main([str(archive), "--format", "json", "--output", str(output)]) == 0
    assert main([str(archive), "--since", str(output)]) == 0
    assert archive.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "results.zip", "tree"]


def test_runs_in_an_archive_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    leaves = [leaf.path.relative_to(tree.root).as_posix() for leaf in tree.leaves]
    shown = []
    plain = list(entries_of(tree.root))
    archive = pack(tmp_path / "results.tgz", plain)
    wrapped = pack(tmp_path / "wrapped.tgz", (entry._replace(name=f"round/v3/{entry.name}") for entry in plain))
    for place in (tree.root, archive, wrapped):
        main(["compare", "--format", "json", *(f"{place}/{leaf}" for leaf in (leaves[0], leaves[0], leaves[0]))])
        shown.append(capsys.readouterr().out.replace(str(place), ""))
    assert shown[0] == shown[1] == shown[2]
    assert json.loads(shown[0])


def test_two_editions_are_compared_on_an_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    shown = []
    for place in (tree.root, pack(tmp_path / "results.tar", entries_of(tree.root))):
        assert main(["effect", "3.0", "4.0-draft", str(place)]) == 0
        shown.append(capsys.readouterr().out.replace(str(place), ""))
    assert shown[0] == shown[1]
    assert json.loads(shown[0])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with archives of a small tree."""
    place = tmp_path_factory.mktemp("small")
    for suffix in (".zip", ".tar"):
        pack(place / f"results{suffix}", entries_of(combined(place / f"tree{suffix}").root))
    return place


def _never_a_traceback(archive: Path) -> None:
    try:
        report = check(archive, Options())
    except NothingToCheckError:
        return
    assert report.faults == []


MAGIC = {".zip": b"PK\3\4", ".tgz": b"\x1f\x8b\x08", ".tar": b""}


@pytest.mark.parametrize("suffix", MAGIC)
@given(content=st.binary(max_size=2000))
@settings(max_examples=50, deadline=None)
def test_noise_is_refused(tmp_path_factory: pytest.TempPathFactory, suffix: str, content: bytes) -> None:
    archive = tmp_path_factory.getbasetemp() / f"noise{suffix}"
    archive.write_bytes(MAGIC[suffix] + content)
    _never_a_traceback(archive)
    if suffix == ".zip":
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(content), 0, 0)
        archive.write_bytes(content + end)
        _never_a_traceback(archive)


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tgz"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_mutated_archive_is_checked_or_refused(small: Path, suffix: str, data: st.DataObject) -> None:
    content = bytearray((small / f"results{'.zip' if suffix == '.zip' else '.tar'}").read_bytes())
    places = list(range(0, len(content), 512)) if suffix != ".zip" else [_directory(content)]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.sampled_from(places))
        position = start + data.draw(st.integers(0, 511 if suffix != ".zip" else len(content) - start - 1))
        new = data.draw(
            st.sampled_from([b"\0", b"\xff", b"/", b"..", b"5", b"7777", b"\xff\xff\xff\xff"])
            | st.binary(min_size=1, max_size=8)
        )
        content[position : position + len(new)] = new
        header = position // 512 * 512
        if suffix != ".zip" and data.draw(st.booleans()):  # a header that is well-formed again
            content[header + 148 : header + 156] = b" " * 8
            content[header + 148 : header + 156] = f"{sum(content[header : header + 512]):06o}\0 ".encode()
    archive = small / f"mutated{suffix}"
    archive.write_bytes(gzip.compress(content, 1) if suffix == ".tgz" else content)
    _never_a_traceback(archive)


def _directory(content: bytes) -> int:
    """Where the directory of a zip archive starts."""
    return int(struct.unpack_from("<L", content, len(content) - 6)[0])
