"""Two directories that hold one run between them are one leaf; directories that do not are two."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from kv_cache_trees import legal as kv_cache_leaf
from training_trees import TrainingTree
from vector_database_trees import complete as vector_database
from vector_database_trees import mpi as vector_database_on_ranks

from submission_checker.compare.subjects import read_subject
from submission_checker.leaf import Leaf, joined
from submission_checker.scan import Options, check

LOGS = (".mlps-code-image", "training_run.stderr.log", "training_run.stdout.log")
WRITTEN = ("0_output.json", "dlio.log", "summary.json")


def logs(second: str = "00", **changes: object) -> Leaf:
    """What stayed in the leaf that was reserved."""
    return Leaf(**{"path": f"run/20260701_1000{second}", "files": LOGS, **changes})  # type: ignore[arg-type]


def written(second: str = "01", **changes: object) -> Leaf:
    """What the benchmark wrote elsewhere."""
    given = {"path": f"run/20260701_1000{second}", "files": WRITTEN, "directories": ("dlio_config",), **changes}
    return Leaf(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [("00", "01"), ("01", "00"), ("00", "10")])
def test_two_halves_are_the_leaf_with_the_summary(first: str, second: str) -> None:
    halves = sorted([logs(first), written(second)], key=lambda leaf: leaf.path)
    (leaf,) = joined(halves)
    assert (leaf.name, leaf.rest) == (f"20260701_1000{second}", f"run/20260701_1000{first}")
    assert leaf.files == tuple(sorted({*LOGS, *WRITTEN}))
    assert leaf.at("training_run.stdout.log") == f"run/20260701_1000{first}/training_run.stdout.log"
    assert leaf.at("summary.json") == f"run/20260701_1000{second}/summary.json"
    assert leaf.at("dlio_config/config.yaml") == f"run/20260701_1000{second}/dlio_config/config.yaml"
    assert leaf.at("not-there.json") == f"run/20260701_1000{second}/not-there.json"


@pytest.mark.parametrize("time", ["00010101_000000", "99991231_235959"])
def test_time_has_ends(time: str) -> None:
    alone = logs(path=f"run/{time}")
    assert joined([alone]) == (alone,)


def test_the_pointer_of_the_leaf_with_the_summary_is_its_own() -> None:
    (leaf,) = joined([logs(), written(files=(".mlps-code-image", *WRITTEN))])
    assert leaf.at(".mlps-code-image") == "run/20260701_100001/.mlps-code-image"


@pytest.mark.parametrize(
    "leaves",
    [
        [logs("00"), written("11")],
        [logs("00"), written("01", files=(*LOGS, *WRITTEN))],
        [logs("00"), written("01", files=("training_run.stderr.log", *WRITTEN))],
        [logs("00"), written("01", files=("checkpointing_run.stdout.log", *WRITTEN))],
        [logs("00", files=(*LOGS, "x_metadata.json")), written("01", files=(*WRITTEN, "y_metadata.json"))],
        [logs("00", files=("console.stdout.log",)), written("01")],
        [logs("00", files=("kv_cache_run.stdout.log",)), written("01")],
        [logs("00", files=("training_datagen.stdout.log",)), written("01")],
        [logs("00"), written("01", directories=())],
        [logs("00"), written("01", problem="it cannot be listed")],
        [logs("00", problem="it cannot be listed"), written("01")],
        [logs("00", path="run/backup"), written("01")],
        [logs("00", files=(*LOGS, "summary.json")), written("01")],
        [logs("00", files=("notes.txt",)), written("01")],
        [logs("00", files=()), written("01")],
    ],
    ids=[
        "too far apart", "a whole leaf", "both have an error log", "both have a log", "both have metadata",
        "another program's log", "another family", "another command", "nothing of the benchmark", "unlisted",
        "unlisted rest",
        "no time", "two summaries", "no log", "nothing",
    ],
)  # fmt: skip
def test_other_directories_stay_what_they_are(leaves: list[Leaf]) -> None:
    assert joined(leaves) == tuple(leaves)


def test_each_half_belongs_to_one_leaf() -> None:
    found = joined([logs("00"), written("01"), logs("02"), written("03")])
    assert [(leaf.name[-2:], leaf.rest[-2:]) for leaf in found] == [("01", "00"), ("03", "02")]
    found = joined([logs("00"), logs("01"), written("02")])
    assert [(leaf.name[-2:], leaf.rest[-2:]) for leaf in found] == [("00", ""), ("02", "01")]


def test_a_half_that_is_asked_for_goes_where_the_whole_tree_puts_it(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    leaf = tree.runs[2].path
    for name in ("20260701_115952", "20260701_120002"):
        rest = leaf.with_name(name)
        rest.mkdir()
        (rest / "training_run.stdout.log").write_text("")
    (leaf / "training_run.stdout.log").unlink()
    report = check(leaf.with_name("20260701_115952"), Options(edition="3.0"))
    assert "LEAF-02" not in {f.rule for f in report.findings}


@pytest.mark.parametrize("asked_for", ["20260701_120000", "20260701_120001"])
def test_either_half_can_be_asked_for(tmp_path: Path, asked_for: str) -> None:
    tree = TrainingTree(tmp_path).build()
    leaf = tree.runs[2].path
    rest = leaf.with_name("20260701_120001")
    rest.mkdir()
    for name in ("training_run.stdout.log", "training_run.stderr.log"):
        (leaf / name).rename(rest / name)
    report = check(leaf.with_name(asked_for), Options(edition="3.0"))
    told = [(f.rule, f.path.rpartition("/")[2]) for f in report.findings if f.severity.value == "error"]
    assert [rule for rule, _ in told if rule in ("LEAF-02", "2.1.19", "1.1")] == ["LEAF-02"]
    assert ("LEAF-02", "20260701_120000") in told


@pytest.mark.parametrize("named_after", ["20260701_120000", "20260701_120001"])
def test_a_split_run_is_one_finding_whichever_half_its_metadata_is_named_after(
    tmp_path: Path, named_after: str
) -> None:
    tree = TrainingTree(tmp_path).build()
    run = tree.runs[2]
    rest = run.path.with_name("20260701_120001")
    rest.mkdir()
    (run.path / "training_run.stdout.log").rename(rest / "training_run.stdout.log")
    run.edit("metadata", {"/run_datetime": named_after})
    run.file("metadata").rename(run.path / f"training_{named_after}_metadata.json")
    found = check(tmp_path, Options()).findings
    told = [f.rule for f in found if f.rule in ("1.1", "LEAF-01", "LEAF-02", "2.1.19") and f.clause != "ranks"]
    assert told == ["LEAF-02"]


@pytest.mark.parametrize("with_metadata", [False, True])
@pytest.mark.parametrize(
    "log", ["kvcache_opt*.log", "vector_database_run.std*.log", "vector_database_run_simple_mpi.std*.log"]
)
def test_a_split_run_of_the_other_families_is_one_more_finding(tmp_path: Path, log: str, with_metadata: bool) -> None:
    """The log, and maybe the metadata, lie in the directory of the next second."""
    if log.startswith("kvcache"):
        leaf = kv_cache_leaf(tmp_path, ranks=2)[1].path
    else:
        leaf = (vector_database_on_ranks if "mpi" in log else vector_database)(tmp_path).runs[0].path
    whole = Counter((f.rule, f.clause) for f in check(tmp_path, Options()).findings)
    rest = leaf.with_name(f"{leaf.name[:-1]}{int(leaf.name[-1]) + 1}")
    rest.mkdir()
    for path in (*leaf.glob(log), *leaf.glob(".mlps-code-image")):
        path.rename(rest / path.name)
    if with_metadata:
        (metadata,) = leaf.glob("*_metadata.json")
        metadata.rename(rest / metadata.name.replace(leaf.name, rest.name))
        for path in (*rest.glob("*_metadata.json"), *leaf.glob("summary.json")):
            stated = path.read_text().replace(f'"run_datetime": "{leaf.name}"', f'"run_datetime": "{rest.name}"')
            path.write_text(stated)
    found = Counter((f.rule, f.clause) for f in check(tmp_path, Options()).findings)
    assert found - whole == Counter([("LEAF-02", "main")])
    assert whole - found == Counter()


def test_a_comparison_takes_the_halves_for_one_run(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    leaf = tree.runs[2].path
    rest = leaf.with_name("20260701_120001")
    rest.mkdir()
    (leaf / "training_run.stdout.log").rename(rest / "training_run.stdout.log")
    subject = read_subject(str(tree.workload), "one")
    assert len(subject.leaves) == 6
    assert not any(run.missing for run in subject.leaves)
