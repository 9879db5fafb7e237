"""The endurance run in small, and that it would notice: a traceback, a fault, harm in a text, a hang, growth."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from trees import cases_directory

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import endurance
import memory_tree
from endurance import Defect, Fuzzer, Progress, seed_of, soak

from mlpstorage.results.roots.local import LocalRoot
from submission_checker import scan
from submission_checker.report import Fault
from submission_checker.scan import Options, check

LEAVES = 600


@pytest.fixture(scope="module")
def fuzzer() -> Fuzzer:
    """With the cases where they are there."""
    cases = cases_directory()
    return Fuzzer(cases if cases.is_dir() else None, seed=4, limit=60)


def run(fuzzer: Fuzzer, leaves: int, numbers: Iterator[int] | None = None, warm: int = 1) -> list[Any]:
    told: list[Any] = []
    soak(fuzzer, numbers or count(), leaves, warm, lambda message: told.append(replace(message)))
    return told


def defects(told: list[Any]) -> list[Defect]:
    return [message for message in told if isinstance(message, Defect)]


def test_hundreds_of_mutated_leaves_are_checked_without_a_defect(fuzzer: Fuzzer) -> None:
    told = run(fuzzer, LEAVES)
    assert [f"{defect.number}: {defect.text}" for defect in defects(told)] == []
    assert isinstance(told[-1], Progress)
    assert told[-1].leaves >= LEAVES


def test_an_iteration_is_determined_by_seed_and_number(fuzzer: Fuzzer) -> None:
    alike = Fuzzer(None, seed=9, limit=60), Fuzzer(None, seed=9, limit=60)
    one, same = ([each.scene(number) for number in (3, 4, 5)] for each in alike)
    assert one == same
    assert one != [fuzzer.scene(number) for number in (3, 4, 5)]
    assert all(scene.log for scene in one)


def test_scenes_are_of_all_families_and_editions(fuzzer: Fuzzer) -> None:
    scenes = [fuzzer.scene(number) for number in range(120)]
    words = {seed.name.partition(",")[0] for seed in fuzzer.seeds} - {scene.seed.partition(",")[0] for scene in scenes}
    assert len(words) < len(fuzzer.seeds) / 4
    assert {scene.edition for scene in scenes} == {"3.0-as-published", "3.0", "4.0-draft"}
    assert {scene.path.count("/") > 2 for scene in scenes} == {True, False}


def test_a_tree_in_memory_is_checked_as_one_on_disk(tmp_path: Path) -> None:
    endurance.trees.pair(tmp_path)
    (tmp_path / "closed/acme/results/link").symlink_to("/")
    on_disk = check(tmp_path, Options())
    tree = memory_tree.load(tmp_path)
    with memory_tree.opened(tree):
        in_memory = check(memory_tree.BASE, Options())
    assert replace(in_memory, results_dir="") == replace(on_disk, results_dir="")
    assert in_memory.findings
    with LocalRoot(tmp_path) as root:
        for path in ("", "closed", "closed/acme/systems", "closed/acme/results"):
            assert memory_tree.MemoryRoot(tree).entries(path) == root.entries(path) or path != "closed/acme/systems"
            assert memory_tree.MemoryRoot(tree).survey(path) == root.survey(path)


# What the run is for: each of these is planted and must be told.

Planted = Callable[..., Any]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Planted], None]:
    """Let something happen whenever a system is checked."""
    real = scan.check_system

    def put(change: Planted) -> None:
        monkeypatch.setattr(scan, "check_system", lambda *arguments: change(real, *arguments))

    return put


def only(fuzzer: Fuzzer) -> Defect:
    """The defect of an iteration that looks at systems."""
    number = next(n for n in count() if fuzzer.scene(n).path == memory_tree.BASE and fuzzer.scene(n).leaves)
    (defect,) = defects(run(fuzzer, 1, iter([number])))
    assert defect.number == number
    return defect


def test_an_exception_is_told_with_its_place(fuzzer: Fuzzer, plant: Callable[[Planted], None]) -> None:
    plant(lambda *_: {}["x"])
    defect = only(fuzzer)
    assert defect.kind == "exception"
    assert "KeyError" in defect.text
    assert defect.place.startswith("tests/checker/test_endurance.py")


def test_a_fault_is_told(fuzzer: Fuzzer, plant: Callable[[Planted], None]) -> None:
    def faulty(real: Planted, *arguments: Any) -> Any:
        part = real(*arguments)
        part.faults.append(Fault("closed/acme", "rule 1.2: 'x' of 17 is no number"))
        return part

    plant(faulty)
    defect = only(fuzzer)
    assert (defect.kind, defect.place) == ("fault", "rule _._: _ of _ is no number")


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\u202ex", "\udcff"])
def test_a_harmful_text_is_told(fuzzer: Fuzzer, plant: Callable[[Planted], None], text: str) -> None:
    def harmful(real: Planted, *arguments: Any) -> Any:
        part = real(*arguments)
        part.remarks.append(text)
        return part

    plant(harmful)
    assert only(fuzzer).kind == "text"


def test_a_hang_is_told_with_its_place(plant: Callable[[Planted], None]) -> None:
    def hanging(*_: Any) -> None:
        while True:
            time.sleep(0.001)

    plant(hanging)
    defect = only(Fuzzer(None, seed=4, limit=0.2))
    assert defect.kind == "hang"
    assert "hanging" in defect.place


def test_growth_is_measured(fuzzer: Fuzzer, plant: Callable[[Planted], None]) -> None:
    hoard: list[bytes] = []

    def greedy(real: Planted, *arguments: Any) -> Any:
        hoard.append(bytes(b"x" * 6_000_000))
        return real(*arguments)

    assert growth(run(fuzzer, 120)) < 20
    plant(greedy)
    assert growth(run(fuzzer, 120)) > 20


def growth(told: list[Any]) -> float:
    value = told[-1].growth
    assert value is not None
    return float(value)


def test_the_command_says_how_to_repeat_a_defect(
    fuzzer: Fuzzer, plant: Callable[[Planted], None], capsys: pytest.CaptureFixture[str]
) -> None:
    plant(lambda *_: {}["x"])
    assert endurance.main(["--leaves", "40", "--seed", "4"]) == 1
    out = capsys.readouterr().out
    number = out.partition("--only ")[2].split()[0]
    assert f"repeat: python benchmarks/endurance.py --seed 4 --only {number}" in out
    assert "KeyError" in out
    assert endurance.main(["--seed", "4", "--only", number]) == 1
    assert "KeyError" in capsys.readouterr().out


def test_a_process_that_is_lost_is_told_and_replaced(
    plant: Callable[[Planted], None], capsys: pytest.CaptureFixture[str]
) -> None:
    plant(lambda *_: endurance.os._exit(9))
    assert endurance.main(["--leaves", "2", "--keep-going"]) == 1
    assert "a process was lost (exit code 9)" in capsys.readouterr().out


def test_seeds_know_what_is_in_leaves() -> None:
    seed = seed_of("x", {"closed": {"a": {"20260701_100000": {"summary.json": b"{}"}, "x.json": b""}}})
    assert seed.leaves == (("closed", "a", "20260701_100000"),)
    assert seed.files == (("closed", "a", "x.json"),)
    assert seed.directories == (("closed",), ("closed", "a"))
