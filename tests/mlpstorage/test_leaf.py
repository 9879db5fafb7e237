"""Writing a leaf: whole files or none, names that two invocations never share, and who the results belong to."""

from __future__ import annotations

import json
import os
import shlex
import time
from datetime import datetime
from pathlib import Path

import pytest
from running import listing

from mlpstorage.checkpointing import gate, leaf, progress
from mlpstorage.checkpointing.exits import UsageError
from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.checkpointing.names import identified
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.plan import Plan
from mlpstorage.checkpointing.readiness import Readiness
from mlpstorage.results import write

START = datetime(2026, 7, 1, 23, 59, 58, 500000)


def test_a_leaf_is_named_by_its_start(tmp_path: Path) -> None:
    assert write.reserve_leaf(tmp_path / "a/b", START).name == "20260701_235958"


def test_a_taken_second_gives_the_next_one(tmp_path: Path) -> None:
    names = [write.reserve_leaf(tmp_path, START).name for _ in range(3)]
    assert names == ["20260701_235958", "20260701_235959", "20260702_000000"]


def test_ten_bumps_are_enough_or_an_error(tmp_path: Path) -> None:
    for _ in range(11):
        write.reserve_leaf(tmp_path, START)
    with pytest.raises(FileExistsError, match="are taken"):
        write.reserve_leaf(tmp_path, START)


def test_a_file_is_replaced_whole_or_left(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    write.write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="nan"):
        write.write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}
    assert listing(tmp_path) == ["metadata.json"]


def test_what_no_utf8_text_holds_is_written_escaped(tmp_path: Path) -> None:
    write.write_json(tmp_path / "a.json", {"path": "odd\udcff"})
    assert json.loads((tmp_path / "a.json").read_text()) == {"path": "odd\udcff"}


def test_a_failed_replace_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").mkdir()
    with pytest.raises(OSError, match=r"metadata\.json"):
        write.write_text(tmp_path / "metadata.json", "x")
    assert listing(tmp_path) == ["metadata.json"]


def plan(results: Path, *arguments: str, division: str = "closed") -> Plan:
    return parse([division, "--model", "llama3-8b", "--results-dir", str(results), *arguments], {}).plan


def test_submitter_comes_from_the_option_then_the_init_file(tmp_path: Path) -> None:
    (tmp_path / "mlperf-results.yaml").write_text("orgname: from-file\n")
    named = ("--systemname", "fast")
    assert identified(plan(tmp_path, *named, "--orgname", "from-option")) == ("from-option", "fast")
    assert identified(plan(tmp_path, *named)) == ("from-file", "fast")


@pytest.mark.parametrize("division", ["closed", "open"])
def test_submittable_runs_must_be_named(tmp_path: Path, division: str) -> None:
    with pytest.raises(UsageError, match=r"--orgname .* and --systemname"):
        identified(plan(tmp_path / "none", division=division))


def test_whatif_needs_no_names(tmp_path: Path) -> None:
    assert all(identified(plan(tmp_path / "none", division="whatif")))


@pytest.mark.parametrize(
    "content", ["orgname: ../../etc", "orgname: [a]", "{", "a: &a [x]\norgname: *a", "x" * 10_000_000, "- " * 5000]
)
def test_a_hostile_init_file_is_a_usage_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "mlperf-results.yaml").write_text(content)
    with pytest.raises(UsageError):
        identified(plan(tmp_path, "--systemname", "fast"))


def test_a_pipe_as_init_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mlperf-results.yaml")
    with pytest.raises(UsageError):
        identified(plan(tmp_path, "--systemname", "fast"))


def test_progress_is_read_from_dlio_lines() -> None:
    begun = progress.step(
        "[OUTPUT] 2026-07-01T10:00:00 Starting saving checkpoint 2 after total step 2 for epoch 1", 10, 5
    )
    assert str(begun) == "writing checkpoint 2 of 10"
    done = progress.step(
        "[1,0]<stderr>:[OUTPUT] 2026-07-01T10:00:09 Finished loading checkpoint 3 for epoch 1 in 2.5000 s; "
        "Throughput: 41.8818 GB/s",
        10,
        5,
    )
    assert str(done) == "reading checkpoint 3 of 5: 41.882 GiB/s (2.50 s)"
    assert progress.step("[OUTPUT] Loaded model checkpoint in 0.1 seconds", 10, 5) is None


@pytest.mark.parametrize(
    ("division", "arguments", "verification"),
    [("closed", [], "CLOSED"), ("open", [], "CLOSED"), ("open", ["-n", "4"], "OPEN"), ("whatif", [], None)],
)
def test_metadata_holds_the_gates_verdict_not_the_division(
    tmp_path: Path, division: str, arguments: list[str], verification: str | None
) -> None:
    document = recorded(plan(tmp_path, *arguments, division=division), tmp_path / "20260701_235958").metadata()
    assert (document["verification"], document["args"]["mode"]) == (verification, division)
    assert document["fsync_effective"] == "unknown"
    assert document["utc_offset"] == leaf.utc_offset(START)
    assert json.loads(json.dumps(document)) == document


def recorded(asked: Plan, place: Path) -> leaf.Record:
    decision = gate.decide(gate.load_edition(""), launch_workload(asked), asked.division)
    return leaf.Record(
        plan=asked, organisation="acme", system="fast", decision=decision, readiness=Readiness(), leaf=place,
        argv=["mpirun", "a b"], started=START,
    )  # fmt: skip


def test_the_recorded_command_can_be_split_again(tmp_path: Path) -> None:
    document = recorded(plan(tmp_path), tmp_path).metadata()
    assert shlex.split(document["executed_command"]) == ["mpirun", "a b"]


@pytest.mark.parametrize(
    ("zone", "moment", "offset"),
    [("America/Denver", START, "-06:00"), ("Asia/Kolkata", START, "+05:30"), ("UTC", START, "+00:00")],
)
def test_offset_of_local_times(monkeypatch: pytest.MonkeyPatch, zone: str, moment: datetime, offset: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert leaf.utc_offset(moment) == offset
    monkeypatch.undo()
    time.tzset()
