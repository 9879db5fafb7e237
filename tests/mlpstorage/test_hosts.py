"""Host facts and path probes: the frame they travel in, /proc, filesystems, and a real two-rank collection."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import alive, listing

from mlpstorage.mpi import hosts_main
from mlpstorage.mpi.collect import CollectionError, collect, run_captured
from mlpstorage.mpi.frame import FrameError, decode, encode

DOCUMENT = {"hosts": [{"hostname": f"host{index:05}", "memory": 2**40 + index} for index in range(2000)]}


def interleaved(one: str, other: str) -> str:
    lines = [line for pair in zip(one.splitlines(), other.splitlines(), strict=True) for line in pair]
    return "\n".join(lines)


@pytest.mark.parametrize("noise", ["", "[1,0]<stdout>:", "[1,0]<stdout>: ", "host01: "])
def test_a_long_document_survives_tags_and_interleaved_ranks(noise: str) -> None:
    text = interleaved(encode(DOCUMENT, "0"), encode({**DOCUMENT, "other": 1}, "1"))
    assert len(text) > 100_000
    tagged = "warning from the launcher\n" + "".join(f"{noise}{line}\n" for line in text.splitlines())
    assert decode(tagged, "0") == DOCUMENT


def test_cut_output_is_truncated_and_never_half_a_document() -> None:
    text = encode(DOCUMENT)
    for length in (len(text) // 2, len(text) - 5, 40):
        with pytest.raises(FrameError, match="truncated"):
            decode(text[:length])


def test_chunks_that_tear_lines_apart_are_truncated_output() -> None:
    chunks = [encode(DOCUMENT)[at : at + 4096] for at in range(0, 100_000, 4096)]
    with pytest.raises(FrameError, match="truncated"):
        decode("".join(f"[1,0]<stdout>:{chunk}\n" for chunk in chunks))


def test_changed_output_is_damaged() -> None:
    text = encode({"a": 1}).replace(encode({"a": 1}).split()[-1], encode({"a": 2}).split()[-1])
    with pytest.raises(FrameError, match="damaged"):
        decode(text)


def test_silence_is_no_output() -> None:
    with pytest.raises(FrameError, match="no probe output"):
        decode("mpirun: command output without a frame\n")


@given(st.text(max_size=2000))
def test_no_output_whatever_breaks_the_decoder(text: str) -> None:
    for output in (text, encode({"a": text})[: len(text)] + text):
        try:
            decode(output)
        except FrameError:
            continue


def fake_root(directory: Path) -> str:
    (directory / "proc").mkdir()
    (directory / "etc").mkdir()
    (directory / "proc/meminfo").write_text(
        "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  400 kB\nCached: 7 kB\n"
    )
    core = "processor : {n}\nmodel name : Some CPU\nphysical id : {socket}\ncore id : {core}\n\n"
    (directory / "proc/cpuinfo").write_text(
        "".join(core.format(n=n, socket=n // 4, core=n % 2) for n in range(8))  # two sockets, two cores, two threads
    )
    (directory / "etc/os-release").write_text('NAME="Some Linux"\nVERSION_ID="12"\n')
    return str(directory)


def test_host_facts_are_read_from_proc(tmp_path: Path) -> None:
    facts = hosts_main.host_facts(fake_root(tmp_path))
    assert facts["memory"] == {
        "total": 1024000, "free": 102400, "available": 409600, "cached": 7168, "used": 614400,
    }  # fmt: skip
    assert (facts["cpu"]["model"], facts["cpu"]["num_cores"]) == ("Some CPU", 4)
    assert facts["system"]["os_release"] == {"NAME": "Some Linux", "VERSION_ID": "12"}


def test_a_host_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    facts = hosts_main.host_facts(str(tmp_path))
    assert facts["memory"]["available"] is None
    assert facts["cpu"]["model"] is None


def test_directories_of_one_filesystem(tmp_path: Path) -> None:
    answer = hosts_main.separation(str(tmp_path / "not/yet"), str(tmp_path / "results"), "t")
    assert (answer["same_filesystem"], answer["linked"], answer["problems"]) == (True, True, [])
    assert listing(tmp_path) == []


def test_directories_of_two_filesystems(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second filesystem at /dev/shm")
    answer = hosts_main.separation(str(other / "mlpstorage-test-none"), str(tmp_path), "t")
    assert (answer["same_filesystem"], answer["linked"]) == (False, False)
    assert listing(tmp_path) == []
    assert not list(other.glob(".mlpstorage-probe-t*"))


@pytest.mark.parametrize("keys", [["folder"], ["results"], ["folder", "results"]])
def test_each_place_that_cannot_be_written_is_told(tmp_path: Path, keys: list[str]) -> None:
    """Not even root makes a file in /proc."""
    if not Path("/proc/self").exists():
        pytest.skip("no /proc")
    places = {key: "/proc/none" if key in keys else str(tmp_path) for key in ("folder", "results")}
    answer = hosts_main.separation(places["folder"], places["results"], "t")
    assert [(key, place) for key, place, _ in answer["problems"]] == [(key, "/proc") for key in keys]
    assert answer["linked"] is None
    assert answer["same_filesystem"] is (len(keys) == 2)
    assert listing(tmp_path) == []


def test_space_counts_what_a_new_run_overwrites(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        step = tmp_path / f"llama3-8b/global_epoch1_step{number}"
        step.mkdir(parents=True)
        (step / "rank.pt").write_bytes(b"x" * 1000)
    (tmp_path / "llama3-8b/unrelated").mkdir()
    reusable = {writes: hosts_main.space(str(tmp_path), "llama3-8b", writes)["reusable"] for writes in (0, 1, 9, 10)}
    assert reusable == {0: 0, 1: 1000, 9: 2000, 10: 3000}
    found = hosts_main.space(str(tmp_path), "llama3-8b", 1)
    assert found["checkpoints"] == 3, "each of them may be read"
    assert found["free"] > 0


def request(folder: Path, results: Path) -> dict[str, str]:
    return {"folder": str(folder), "results": str(results), "model": "llama3-8b", "writes": "1", "token": "abc"}


def test_two_ranks_answer_through_the_real_mpirun(mpirun: str, mpi_python: str, tmp_path: Path) -> None:
    prefix = [mpirun, "-n", "2", "-host", "127.0.0.1:2", "--bind-to", "none", "--allow-run-as-root", "--oversubscribe"]
    found = collect(prefix, mpi_python, request(tmp_path / "ckpt", tmp_path / "results"))
    assert (found.method, len(found.hosts)) == ("mpi", 2)
    for host in found.hosts:
        assert host["memory"]["total"] > 0
        assert host["reads"] == {"folder": True, "results": True}
    assert found.paths is not None
    assert found.paths["same_filesystem"] is True
    assert listing(tmp_path) == []


def test_one_host_answers_without_mpi4py(mpirun: str, tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()  # stands in the way of the real one, as if that were not installed
    (tmp_path / "mpi4py/__init__.py").write_text("raise ImportError('not here')\n")
    prefix = [
        mpirun, "-n", "1", "-host", "127.0.0.1:1", "--allow-run-as-root", "-x", f"PYTHONPATH={tmp_path}",
    ]  # fmt: skip
    found = collect(prefix, sys.executable, {"folder": "", "results": "", "model": "", "writes": "0", "token": "t"})
    assert (found.method, len(found.hosts), found.paths) == ("local", 1, None)
    with pytest.raises(CollectionError, match="mpi4py cannot be used"):
        collect([mpirun, "-n", "2", "-host", "127.0.0.1:2", *prefix[5:]], sys.executable, request(tmp_path, tmp_path))


def test_a_host_that_does_not_exist_is_named(mpirun: str, tmp_path: Path) -> None:
    prefix = [mpirun, "-n", "1", "-host", "no-such-host.invalid:1", "--allow-run-as-root"]
    with pytest.raises(CollectionError):
        collect(prefix, sys.executable, request(tmp_path, tmp_path), timeout=30)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    script = "import os, subprocess, sys, time; print(os.getpid(), flush=True); subprocess.run(['sleep', '600'])"
    output, _, status = run_captured([sys.executable, "-c", script], timeout=1)
    assert status is None
    assert alive(int(output)) == []


def test_a_command_that_is_not_there_has_the_shells_status() -> None:
    assert run_captured(["/no/such/mpirun"], timeout=1)[2] == 127


def test_sharing_is_content_not_device_numbers(tmp_path: Path) -> None:
    path: Any = hosts_main._write_token(str(tmp_path), "abc")
    assert hosts_main._reads_token(path, "abc")
    Path(path).write_text("def")
    assert not hosts_main._reads_token(path, "abc")
    os.unlink(path)
    assert not hosts_main._reads_token(path, "abc")
