"""The shape of a tree: a legal one has no finding of these rules, each spoilt one those that it was spoilt for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from training_trees import TrainingTree
from trees import Tree, cases_directory, combined, pair

import rules
from rules.tables import load_table, reference_rows
from submission_checker.discovery import family_named, walk
from submission_checker.scan import Options, check

TREE_RULES = (
    "1.1", "2.1.1", "2.1.2", "2.1.3", "2.1.4", "2.1.5", *(f"2.1.{number}" for number in range(10, 28)), "2.29",
    "LEAF-01", "TREE-01",
)  # fmt: skip
Found = list[tuple[str, str, str]]
TRAINING = "08-train-unet3d-complete"
KV_CACHE = "11-kvcache-complete"


def judged(root: Path, edition: str = "3.0", *, infos: bool = False) -> Found:
    """Rule, severity and path of what the rules on the tree find."""
    report = check(root, Options(edition=edition))
    assert not report.faults
    found = [(f.rule, f.severity.value, f.path) for f in report.findings if f.rule in TREE_RULES]
    return sorted(item for item in found if infos or item[1] != "info")


def writable_case(name: str, target: Path) -> Path:
    """A copy of a published case that can be spoilt."""
    source = cases_directory() / name / "tree"
    if not source.is_dir():
        pytest.skip(f"no such case: {source}")
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def only(root: Path, pattern: str) -> Path:
    """The first path below the root that matches."""
    return min(root.glob(pattern))


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """A complete training workload: datasize, datagen and six runs."""
    return writable_case(TRAINING, tmp_path / "tree")


@pytest.fixture
def kv_cache(tmp_path: Path) -> Path:
    """A complete KV cache run."""
    return writable_case(KV_CACHE, tmp_path / "tree")


WORKLOAD = "closed/acme/results/fast-1/checkpointing/llama3-8b"
LEAF = f"{WORKLOAD}/20260701_100000"
PLACES = [LEAF, f"{LEAF}/dlio_config", *(str(place) for place in Path(LEAF).parents)]
"""Every directory on the way to a leaf, and below it."""
Spoil = Callable[[Tree], object]


def rename(old: str, new: str) -> Spoil:
    """Rename a path below the root; the new one is relative to the root as well."""

    def spoil(tree: Tree) -> None:
        (tree.root / new).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / old).rename(tree.root / new)

    return spoil


def make(path: str) -> Spoil:
    return lambda tree: (tree.root / path).mkdir(parents=True)


def write(path: str, text: str = "x") -> Spoil:
    def spoil(tree: Tree) -> None:
        (tree.root / path).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / path).write_text(text)

    return spoil


def remove(*paths: str) -> Spoil:
    def spoil(tree: Tree) -> None:
        for path in paths:
            target = tree.root / path
            shutil.rmtree(target) if target.is_dir() else target.unlink()

    return spoil


def edit(changes: dict[str, object], leaf: int = 0) -> Spoil:
    return lambda tree: tree.leaves[leaf].edit("metadata", changes)


def several(*spoils: Spoil) -> Spoil:
    def spoil(tree: Tree) -> None:
        for each in spoils:
            each(tree)

    return spoil


def third_run(tree: Tree) -> None:
    tree.add("20260701_101020", 0, 10)


def sizing(tree: Tree) -> None:
    tree.add("20260701_095000", 10, 10).edit("metadata", {"/command": "datasize", "/args/command": "datasize"})


PAIR: dict[str, tuple[Spoil, Found]] = {
    # 1.1
    "a renamed leaf": (rename(LEAF, f"{WORKLOAD}/20260701_100001"), [("1.1", "error", f"{WORKLOAD}/20260701_100001")]),
    "another time recorded": (edit({"/run_datetime": "20260701_100001"}), [("1.1", "error", LEAF)]),
    "another category recorded": (edit({"/benchmark_type": "training"}), [("1.1", "error", LEAF)]),
    "another command recorded": (edit({"/command": "datagen"}), [("1.1", "error", LEAF)]),
    # 2.1.1, 2.1.2
    "a blank in the submitter's name": (
        rename("closed/acme", "closed/Acme Corp"),
        [("2.1.1", "error", "closed/Acme Corp")],
    ),
    "a division in capitals": (rename("closed", "CLOSED"), [("2.1.2", "error", "CLOSED")]),
    "documents at the top": (make("docs"), [("2.1.2", "error", "docs")]),
    "a file at the top": (write("README.md"), []),
    "an unmarked directory with images": (make("globex/code-0123abcd"), []),
    "whatif in a package": (make("whatif"), [("2.1.2", "error", "whatif")]),
    "whatif in a live directory": (
        several(make("whatif"), write("mlperf-results.yaml")),
        [("2.1.2", "warning", "whatif")],
    ),
    # 2.1.5
    "no systems": (remove("closed/acme/systems"), [("2.1.5", "error", "closed/acme")]),
    "no results": (remove("closed/acme/results"), [("2.1.5", "error", "closed/acme")]),
    "one level too deep": (
        several(rename("closed/acme", "closed/x"), rename("closed/x", "closed/acme/benchmarks")),
        [
            ("2.1.5", "error", "closed/acme"),
            ("2.1.5", "error", "closed/acme"),
            ("2.1.5", "error", "closed/acme/benchmarks"),
        ],
    ),
    "a file beside results": (write("closed/acme/submission.yaml"), []),
    "dot names everywhere": (several(*(write(f"{place}/.note/x") for place in PLACES)), []),
    # 2.1.10, 2.1.21
    "no category": (
        remove("closed/acme/results/fast-1/checkpointing"),
        [("2.1.10", "error", "closed/acme/results/fast-1")],
    ),
    "another category": (
        make("closed/acme/results/fast-1/notes"),
        [("2.1.10", "error", "closed/acme/results/fast-1/notes")],
    ),
    "a category in capitals": (
        several(
            rename("closed/acme/results/fast-1/checkpointing", "closed/acme/results/fast-1/Checkpointing"),
            remove(f"{LEAF.replace('checkpointing', 'Checkpointing')}/dlio.log"),
        ),
        [
            ("2.1.10", "error", "closed/acme/results/fast-1/Checkpointing"),
            ("2.1.25", "error", LEAF.replace("checkpointing", "Checkpointing")),
        ],
    ),
    "no workload": (
        remove(WORKLOAD),
        [("2.1.21", "error", "closed/acme/results/fast-1/checkpointing")],
    ),
    "another workload": (
        make("closed/acme/results/fast-1/checkpointing/llama3-13b"),
        [
            ("2.1.21", "error", "closed/acme/results/fast-1/checkpointing/llama3-13b"),
            ("2.1.23", "error", "closed/acme/results/fast-1/checkpointing/llama3-13b"),
        ],
    ),
    # 2.1.23
    "three leaves": (third_run, [("2.1.23", "error", WORKLOAD)]),
    "a sizing": (sizing, [("2.1.23", "error", f"{WORKLOAD}/20260701_095000")]),
    "no leaf": (remove(LEAF, f"{WORKLOAD}/20260701_100510"), [("2.1.23", "error", WORKLOAD)]),
    "an impossible date": (
        make(f"{WORKLOAD}/20260231_250000"),
        [("2.1.23", "error", f"{WORKLOAD}/20260231_250000")],
    ),
    "a copy of a leaf": (
        lambda tree: shutil.copytree(tree.root / LEAF, tree.root / f"{LEAF}.bak"),
        [("2.1.23", "error", f"{LEAF}.bak")],
    ),
    "code beside leaves": (make(f"{WORKLOAD}/code"), [("2.1.23", "error", f"{WORKLOAD}/code")]),
    "a stub": (
        write(f"{WORKLOAD}/20260701_095959/.mlps-code-image"),
        [("LEAF-01", "warning", f"{WORKLOAD}/20260701_095959")],
    ),
    # 2.1.24
    "a pause as long as the longer run": (
        edit({"/invocation_start_time": "2026-07-01T10:10:00.750000"}, leaf=1),
        [("2.1.24", "warning", WORKLOAD)],
    ),
    "a pause that is a little shorter": (
        edit({"/invocation_start_time": "2026-07-01T10:10:00.740000"}, leaf=1),
        [],
    ),
    "a longer pause": (
        several(
            edit({"/invocation_start_time": "2026-07-01T10:00:00", "/invocation_end_time": "2026-07-01T10:01:00"}),
            edit({"/invocation_start_time": "2026-07-01T10:05:10", "/invocation_end_time": "2026-07-01T10:09:00"}, 1),
        ),
        [("2.1.24", "warning", WORKLOAD)],
    ),
    "clocks that disagree": (edit({"/invocation_start_time": "2026-07-01T10:04:59"}, leaf=1), []),
    # 2.1.25, 2.1.26
    "two files missing": (
        remove(f"{LEAF}/dlio.log", f"{LEAF}/summary.json"),
        [("2.1.25", "error", LEAF)],
    ),
    "a log of another name": (rename(f"{LEAF}/dlio.log", f"{LEAF}/dlio.log.bak"), [("2.1.25", "error", LEAF)]),
    "a summary in capitals": (rename(f"{LEAF}/summary.json", f"{LEAF}/summary.JSON"), [("2.1.25", "error", LEAF)]),
    "no configuration": (remove(f"{LEAF}/dlio_config"), [("2.1.25", "error", LEAF)]),
    "one configuration file missing, one too many": (
        rename(f"{LEAF}/dlio_config/hydra.yaml", f"{LEAF}/dlio_config/notes.txt"),
        [("2.1.26", "error", f"{LEAF}/dlio_config"), ("2.1.26", "error", f"{LEAF}/dlio_config")],
    ),
    "placeholders": (
        several(
            *(
                write(f"{LEAF}/{name}", "PRUNED BY STAFF\n")
                for name in ("dlio.log", "checkpointing_run.stdout.log", "0_output.json", "dlio_config/hydra.yaml")
            )
        ),
        [],
    ),
    # LEAF-01
    "no metadata": (
        remove(f"{LEAF}/checkpointing_20260701_100000_metadata.json"),
        [("LEAF-01", "warning", LEAF)],
    ),
    "two metadata files": (
        write(f"{LEAF}/checkpointing_20260701_100001_metadata.json", "{}"),
        [("LEAF-01", "error", LEAF)],
    ),
    # 2.1.27
    "a leaf too deep": (
        rename(LEAF, f"{WORKLOAD}/run/20260701_100000"),
        [("2.1.27", "error", f"{WORKLOAD}/run/20260701_100000")],
    ),
    "a leaf too high": (
        rename(LEAF, "closed/acme/results/fast-1/checkpointing/20260701_100000"),
        [("2.1.27", "error", "closed/acme/results/fast-1/checkpointing/20260701_100000")],
    ),
    "a leaf of the system": (
        rename(LEAF, "closed/acme/results/fast-1/20260701_100000"),
        [("2.1.27", "error", "closed/acme/results/fast-1/20260701_100000")],
    ),
    "a leaf among the systems": (
        rename(LEAF, "closed/acme/results/20260701_100000"),
        [("2.1.27", "error", "closed/acme/results/20260701_100000")],
    ),
    "a leaf of the submitter": (
        rename(LEAF, "closed/acme/20260701_100000"),
        [("2.1.27", "error", "closed/acme/20260701_100000")],
    ),
    "a leaf of the division": (
        rename(LEAF, "closed/20260701_100000"),
        [("2.1.27", "error", "closed/20260701_100000")],
    ),
}


@pytest.mark.parametrize("name", PAIR)
def test_spoilt_pair(tmp_path: Path, name: str) -> None:
    spoil, expected = PAIR[name]
    tree = pair(tmp_path / "tree")
    assert judged(tree.root) == []
    spoil(tree)
    assert judged(tree.root) == sorted(expected)


def test_code_beside_leaves_is_legal_in_open(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree", division="open")
    (tree.workload / "code").mkdir()
    assert judged(tree.root) == []


RUN = "closed/wonka/results/wonka_AS7_10clients/training/unet3d/run"


def test_training_runs_are_counted_and_their_pauses_measured(training: Path) -> None:
    assert judged(training) == []
    middle = sorted((training / RUN).iterdir())[2]
    shutil.rmtree(middle)
    assert judged(training) == [("2.1.17", "error", RUN), ("2.1.18", "warning", RUN)]
    assert judged(training, "4.0-draft")[-1] == ("2.1.18", "error", RUN)


def test_a_run_that_was_cut_from_the_end_leaves_no_pause(training: Path) -> None:
    shutil.rmtree(sorted((training / RUN).iterdir())[-1])
    assert judged(training) == [("2.1.17", "error", RUN)]


def test_two_accelerators_are_counted_by_themselves(training: Path) -> None:
    for index, leaf in enumerate(sorted((training / RUN).iterdir())):
        copy = leaf.with_name(f"20260722_{index:02}0000")
        shutil.copytree(leaf, copy)
        data = json.loads(only(copy, "*_metadata.json").read_text())
        only(copy, "*_metadata.json").unlink()
        begin, end = f"2026-07-22T{index:02}:00:00", f"2026-07-22T{index:02}:59:59"
        data.update(accelerator="mi355", run_datetime=copy.name, invocation_start_time=begin, invocation_end_time=end)
        (copy / f"training_{copy.name}_metadata.json").write_text(json.dumps(data))
    found = judged(training, infos=True)
    assert [item for item in found if item[1] != "info"] == []
    notes = [f for f in check(training, Options()).findings if (f.rule, f.clause) == ("2.1.17", "accelerators")]
    assert [f.message for f in notes] == ["accelerator types share one directory: b200 6, mi355 6 runs"]
    shutil.rmtree(training / RUN / "20260722_050000")
    (finding,) = [f for f in check(training, Options()).findings if (f.rule, f.clause) == ("2.1.17", "count")]
    assert "5 time stamp directories of mi355" in finding.message


PHASES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "datasize": ("datasize", [("2.1.12", "warning")]),
    "datagen": ("datagen", [("2.1.12", "error")]),
    "run": ("run", [("2.1.12", "error")]),
}


@pytest.mark.parametrize("name", PHASES)
def test_a_missing_phase_is_one_finding(training: Path, name: str) -> None:
    phase, expected = PHASES[name]
    shutil.rmtree((training / RUN).parent / phase)
    assert [item[:2] for item in judged(training)] == expected


def test_a_missing_datasize_lists_what_it_leaves_open(training: Path) -> None:
    shutil.rmtree((training / RUN).parent / "datasize")
    (finding,) = [f for f in check(training, Options()).findings if f.rule == "2.1.12"]
    assert finding.path == RUN.rpartition("/")[0]
    assert {"3.1.1", "3.3.1"} <= set(finding.opens)


def test_datagen_has_one_leaf_with_its_files(training: Path) -> None:
    datagen = RUN.replace("/run", "/datagen")
    leaf = only(training / datagen, "*")
    (leaf / "dlio.log").unlink()
    only(leaf, "*_metadata.json").unlink()
    (leaf / "dlio_config" / "config.yaml.orig").write_text("x")
    assert judged(training) == [
        ("2.1.14", "error", f"{datagen}/{leaf.name}"),
        ("2.1.15", "error", f"{datagen}/{leaf.name}/dlio_config"),
    ]
    (leaf.parent / "20261399_999999").mkdir()
    assert ("2.1.13", "error", f"{datagen}/20261399_999999") in judged(training)


def test_a_phase_of_another_name_and_a_missing_level(training: Path) -> None:
    workload = (training / RUN).parent
    (workload / "run2").mkdir()
    assert judged(training) == [("2.1.12", "error", f"{RUN.rpartition('/')[0]}/run2")]
    (workload / "run2").rmdir()
    for leaf in list((workload / "run").iterdir()):
        leaf.rename(workload / leaf.name)
    (workload / "run").rmdir()
    assert {item[0] for item in judged(training)} == {"2.1.27"}


def test_a_name_with_a_blank_can_be_seen(training: Path) -> None:
    (training / RUN).with_name("run ").mkdir()
    (finding,) = [f for f in check(training, Options()).findings if f.rule == "2.1.12"]
    assert finding.message.startswith("'run /' is no phase of training")


def test_kv_cache_without_its_model_level(kv_cache: Path) -> None:
    assert judged(kv_cache) == []
    family = only(kv_cache, "closed/*/results/*/kv_cache")
    model = only(family, "*")
    leaf = only(model / "run", "*")
    (model / "run").rename(family / "run")
    model.rmdir()
    path = (family / "run" / leaf.name).relative_to(kv_cache).as_posix()
    assert judged(kv_cache) == [("2.1.27", "error", path)]


def test_kv_cache_under_the_command_s_name_is_read_all_the_same(kv_cache: Path) -> None:
    family = only(kv_cache, "closed/*/results/*/kv_cache")
    family.rename(family.with_name("kvcache"))
    only(family.with_name("kvcache"), "*/run/*/*_metadata.json").unlink()
    errors = [f.rule for f in check(kv_cache, Options()).findings if f.severity.value == "error"]
    assert {"2.1.10", "X6.1"} <= set(errors)


def test_stray_directories_beside_kv_cache_leaves(kv_cache: Path) -> None:
    stray = only(kv_cache, "closed/*/results/*/kv_cache/*/run") / "backup_1"
    stray.mkdir()
    assert judged(kv_cache) == []
    told = [f.rule for f in check(kv_cache, Options()).findings if f.path == stray.relative_to(kv_cache).as_posix()]
    assert told == ["X6.4"], "told once, by the rule on this family's layout"


@pytest.mark.parametrize(
    ("edition", "severity"), [("3.0-as-published", "info"), ("3.0", "info"), ("4.0-draft", "error")]
)
def test_a_missing_results_json(tmp_path: Path, edition: str, severity: str) -> None:
    tree = combined(tmp_path / "tree")
    (tree.workload / "results.json").rename(tree.workload / "Results.json")
    found = [item for item in judged(tree.root, edition, infos=True) if item[0] == "2.1.22"]
    assert found == [("2.1.22", severity, tree.workload.relative_to(tree.root).as_posix())]
    (tree.root / "mlperf-results.yaml").write_text("x")
    assert ("2.1.22", "info", found[0][2]) in judged(tree.root, edition, infos=True)


def test_the_printed_book_wants_code_where_no_pool_is(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    assert [item for item in judged(tree.root, "3.0-as-published") if item[0] == "2.1.5"] == []
    for pool in tree.root.glob("code-images"):
        shutil.rmtree(pool)
    assert ("2.1.5", "error", "closed/acme") in judged(tree.root, "3.0-as-published")
    assert [item for item in judged(tree.root) if item[0] == "2.1.5"] == []


def test_a_missing_file_is_one_finding_that_lists_what_depends_on_it(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    for name in ("summary.json", "0_per_epoch_stats.json", "dlio_config/config.yaml"):
        (tree.leaves[0].path / name).unlink()
    found = [f for f in check(tree.root, Options()).findings if f.severity.value != "info"]
    assert [(f.rule, f.outcome) for f in found] == [("2.1.25", "violation"), ("2.1.26", "violation")]
    assert "summary.json" in found[0].message
    assert "*per_epoch_stats.json" in found[0].message
    assert {"4.3.4", "4.6.1", "4.7.1"} <= set(found[0].opens)
    assert "4.6.3" in found[1].opens


def test_pruned_times_leave_the_pause_open_without_a_warning(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].edit("metadata", {"/invocation_end_time": None})
    tree.leaves[0].summary.write_bytes(b"PRUNED BY STAFF\n")
    assert judged(tree.root) == []
    opens = {rule for f in check(tree.root, Options()).findings for rule in (f.rule, *f.opens)}
    assert "2.1.24" in opens


def test_without_recorded_ends_the_pause_is_an_upper_bound(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    for leaf in tree.leaves:
        leaf.edit("metadata", {"/invocation_end_time": None})
        leaf.edit("summary", {"/end": "2026-07-01T10:00:20"})
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "2.1.24"]
    assert "summary end 2026-07-01T10:00:20" in finding.message
    assert "upper bound" in finding.message


def test_leaves_of_all_families_are_found(tmp_path: Path) -> None:
    places = [
        "training/unet3d/run/20260701_100000",
        "checkpointing/llama3-8b/20260701_100000",
        "vector_database/milvus/DISKANN/run/20260701_100000",
        "kv_cache/llama3.1-8b/run/20260701_100000",
    ]
    for place in places:
        leaf = tmp_path / "open/acme/results/s" / place
        leaf.mkdir(parents=True)
        (leaf / "summary.json").write_text("{}")
    from mlpstorage.results.roots.local import LocalRoot

    with LocalRoot(tmp_path) as root:
        (system,) = walk(root).systems
    assert sorted(leaf.path for workload in system.workloads for leaf in workload.leaves) == sorted(
        f"open/acme/results/s/{place}" for place in places
    )
    assert system.misplaced == ()


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("training", "training"), ("KV-Cache", "kv_cache"), ("kvcache", "kv_cache"), ("vectordb", "vector_database"),
        ("Vector_Database", "vector_database"), ("notes", ""), ("train", ""),
    ],
)  # fmt: skip
def test_families_are_known_by_any_spelling(name: str, family: str) -> None:
    assert family_named(name) == family


def test_names_of_the_limits_are_those_of_the_reference_tables() -> None:
    limits = load_table("tree-limits").cells("3.0")[""]
    content = reference_rows("tree-content")
    assert set(limits["checkpointing_workloads"]) == set(reference_rows("checkpointing-models"))
    assert limits["datagen_files"] == content["training/datagen"]["names"]
    assert limits["run_files"] == content["training/run"]["names"]
    assert limits["checkpointing_files"] == content["checkpointing/run"]["names"]


def test_each_rule_of_the_tree_exists_in_each_edition() -> None:
    for edition in rules.edition_ids():
        assert set(TREE_RULES) <= {rule.id for rule in rules.load_edition(edition).rules}


def test_a_lone_leaf_is_judged_by_the_rules_on_its_files(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    away = tmp_path / tree.leaves[0].path.name
    tree.leaves[0].path.rename(away)
    (away / "dlio.log").unlink()
    assert judged(away) == [("2.1.25", "error", away.name)]


EMPTIED = {
    "a category without anything": ("kv_cache", "kv_cache"),
    "a model without a command": ("kv_cache/llama3.1-8b", "kv_cache/llama3.1-8b"),
    "a command without a leaf": ("kv_cache/llama3.1-8b/run", "kv_cache/llama3.1-8b"),
    "a stub alone": ("kv_cache/llama3.1-8b/run/20260701_100000", "kv_cache/llama3.1-8b"),
    "an engine without an index": ("vector_database/milvus", "vector_database"),
    "an index without a command": ("vector_database/milvus/DISKANN", "vector_database/milvus/DISKANN"),
    "a phase without a leaf": ("vector_database/milvus/DISKANN/run", "vector_database/milvus/DISKANN"),
}


@pytest.mark.parametrize("name", EMPTIED)
@pytest.mark.parametrize("division", ["closed", "open"])
def test_an_empty_place_of_results_is_an_error(tmp_path: Path, division: str, name: str) -> None:
    left, told = EMPTIED[name]
    tree = combined(tmp_path / "tree", division=division)
    system = tree.workload.parents[1].relative_to(tree.root)
    (tree.root / system / left).mkdir(parents=True)
    errors = [item for item in judged(tree.root) if item[1] == "error"]
    assert errors == [("2.1.10", "error", f"{system}/{told}")]


def test_code_beside_kv_cache_models_is_legal_in_open(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree", division="open")
    (tree.workload.parents[1] / "kv_cache").mkdir()
    (tree.workload.parents[1] / "kv_cache/code").mkdir()
    assert [item[0] for item in judged(tree.root)] == []


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"


@pytest.mark.parametrize(
    "path",
    [
        f"{LEAF}/summary.json",
        f"{LEAF}/checkpointing_20260701_100000_metadata.json",
        f"{LEAF}/dlio_config/config.yaml",
        "closed/acme/systems/fast-1.yaml",
    ],
)
@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
def test_a_large_file_pointer_is_a_present_file_without_content(tmp_path: Path, edition: str, path: str) -> None:
    tree = combined(tmp_path / "tree")
    before = {f.fingerprint for f in check(tree.root, Options(edition=edition)).findings}
    (tree.root / path).write_text(POINTER)
    new = [f for f in check(tree.root, Options(edition=edition)).findings if f.fingerprint not in before]
    assert [(f.severity.value, f.path) for f in new] == [("warning", path)]
    assert "is a Git LFS pointer, not the file itself" in new[0].message
    assert "git lfs pull" in new[0].remedy


@pytest.mark.parametrize("name", ["7_output.json", "7_per_epoch_stats.json"])
def test_a_rank_without_its_files_is_noted(tmp_path: Path, name: str) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0].path
    for rank in range(1, 8):
        for kind in ("output", "per_epoch_stats"):
            shutil.copyfile(leaf / f"0_{kind}.json", leaf / f"{rank}_{kind}.json")
    assert "2.1.25" not in {item[0] for item in judged(tree.root, infos=True)}
    (leaf / name).unlink()
    assert ("2.1.25", "info", WORKLOAD) in judged(tree.root, infos=True)


def test_ranks_without_files_are_noted_once_a_workload(tmp_path: Path) -> None:
    report = check(TrainingTree(tmp_path).build().root, Options())
    (finding,) = [finding for finding in report.findings if finding.rule == "2.1.19"]
    assert (finding.severity.value, finding.path) == ("info", "closed/acme/results/fast-1/training/unet3d/run")
    assert len(finding.paths) == 6


def test_an_image_whose_record_is_empty_is_one_finding(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    (record,) = tree.root.glob("code-images/*/.code-hash.json")
    record.write_text("{}")
    found = [f for f in check(tree.root, Options()).findings if f.rule == "CHECK-02"]
    assert [(f.clause, f.severity.value) for f in found] == [("stated", "error")]
