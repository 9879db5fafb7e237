"""Is a difference larger than the run-to-run noise? The judgement, what may be compared, and how it shows."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import kv_cache_trees
import pytest
from schemas import schema_problems
from trees import LeafDir, Tree, cases_directory, pair

from submission_checker.cli import main
from submission_checker.compare.subjects import read_subject

WRITE, READ = "save_checkpoint_io_mean_GB_per_second", "load_checkpoint_io_mean_GB_per_second"


def runs(tmp_path: Path, *values: float, metric: str = WRITE, **options: Any) -> list[LeafDir]:
    """Leaves of equal runs, one an hour, that measured these values."""
    tree = Tree(tmp_path / "tree")
    tree.describe()
    for hour, value in enumerate(values):
        leaf = tree.add(f"20260701_{hour:02}0000", 10, 10, **options)
        leaf.edit("summary", {f"/metric/{metric}": value})
    return tree.leaves


def compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    words = [str(a.path if isinstance(a, LeafDir) else a) for a in arguments]
    code = main(["compare", *words, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert schema_problems(document, "compare") == []
    return code, document


def only(document: dict[str, Any]) -> dict[str, Any]:
    ((metric),) = document["metrics"]
    return dict(metric)


@pytest.mark.parametrize(
    ("bases", "feature", "ratio", "verdict", "code"),
    [
        ([10.0, 12.0], 11.0, 0.0, "inside", 0),
        ([10.0, 12.0], 13.0, 1.0, "inside", 0),
        ([10.0, 12.0], 13.5, 1.25, "outside", 1),
        ([12.0, 10.0], 8.5, 1.25, "outside", 1),
        ([10.0, 12.0, 14.0], 17.0, 1.25, "outside", 1),
        ([1000.0, 1000.5], 1001.0, 1.5, "outside", 1),
        ([10.0, 20.0], 24.0, 0.9, "inside", 0),
        ([10.0, 10.0], 10.1, None, "undecidable", 2),
        ([10.0], 30.0, None, "undecidable", 2),
    ],
)
def test_a_feature_is_judged_by_the_floor_of_the_bases(
    tmp_path: Path,
    bases: list[float],
    feature: float,
    ratio: float | None,
    verdict: str,
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, document = compare(capsys, *runs(tmp_path, *bases, feature))
    metric = only(document)
    (judged,) = metric["features"]
    assert (found, judged["verdict"]) == (code, verdict)
    assert judged["ratio"] == (None if ratio is None else pytest.approx(ratio))
    if len(bases) > 1:
        assert metric["floor"] == pytest.approx(max(bases) - min(bases))
        assert document["chance_of_noise_outside"] == pytest.approx(2 / (len(bases) + 1))
    else:
        assert metric["floor"] is None


def test_several_features_are_judged_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = compare(capsys, *runs(tmp_path, 10.0, 12.0, 11.5, 20.0), "--features", 2)
    assert code == 1
    assert [judged["verdict"] for judged in only(document)["features"]] == ["inside", "outside"]
    assert [run["role"] for run in document["runs"]] == ["base0", "base1", "feature0", "feature1"]


def test_a_key_that_differs_stops_it_unless_it_was_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[2].override("checkpoint.fsync", False)
    leaves[2].override("reader.read_threads", 4)
    code, document = compare(capsys, *leaves)
    assert (code, document["comparable"], document["metrics"]) == (2, False, [])
    assert document["undeclared"] == {
        "checkpoint.fsync": ["true", "true", "false"],
        "reader.read_threads": ["(not stated)", "(not stated)", "4"],
    }
    code, document = compare(capsys, *leaves, "--differs", "checkpoint.fsync")
    assert (code, list(document["undeclared"])) == (2, ["reader.read_threads"])
    code, document = compare(capsys, *leaves, "--differs", "checkpoint.fsync,reader.")
    assert (code, document["comparable"], list(document["declared"])) == (
        1,
        True,
        ["checkpoint.fsync", "reader.read_threads"],
    )
    code, document = compare(capsys, *leaves, "--differs", "checkpoint.fsync,reader.,model.name")
    assert document["declared_without_difference"] == ["model.name"]


def test_bases_must_be_repeats_of_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[1].override("checkpoint.fsync", False)
    code, document = compare(capsys, *leaves, "--differs", "checkpoint.fsync")
    assert (code, list(document["undeclared"])) == (2, ["checkpoint.fsync"])
    assert document["among_bases"] == ["checkpoint.fsync"]


@pytest.mark.parametrize("format_", ["text", "html"])
def test_what_differs_among_the_bases_is_not_called_undeclared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str
) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[1].override("checkpoint.fsync", False)
    leaves[2].override("reader.read_threads", 4)
    words = [*(str(leaf.path) for leaf in leaves), "--differs", "checkpoint.fsync", "--format", format_]
    assert main(["compare", *words]) == 2
    text = capsys.readouterr().out
    assert "differs among the bases, and so cannot be declared: checkpoint.fsync" in text
    assert "differs and was not declared (--differs KEY): reader.read_threads" in text
    assert text.count("not declared") == 1


@pytest.mark.parametrize(
    ("pointer", "value", "key"),
    [
        ("/args/num_processes", 16, "processes"),
        ("/accelerator", "b200", "accelerator"),
        ("/args/data_access_protocol", "object", "api"),
        ("/args/o_direct", True, "o_direct"),
        ("/args/model", "llama3-70b", "model"),
        ("/args/mpi_params", ["--bind-to", "core"], "args.mpi_params"),
        ("/args/systemname", "other", "args.systemname"),
        ("/system_info/hosts/0/system", {"kernel_version": "6.8"}, "host.kernel"),
    ],
)
def test_what_belongs_to_the_configuration(
    tmp_path: Path, pointer: str, value: Any, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[2].edit("metadata", {pointer: value})
    code, document = compare(capsys, *leaves)
    assert (code, key in document["undeclared"]) == (2, True)


@pytest.mark.parametrize("pointer", ["/args/results_dir", "/args/verbose", "/run_datetime", "/args/_validated_orgname"])
def test_what_does_not(tmp_path: Path, pointer: str, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[2].edit("metadata", {pointer: "other"})
    assert compare(capsys, *leaves)[1]["comparable"] is True


def test_runs_that_overlap_in_different_zones_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 11.0)
    for leaf, zone in zip(leaves, ("+00:00", "+00:00", "+01:00"), strict=True):
        leaf.edit("metadata", {"/utc_offset": zone})
    code, document = compare(capsys, *leaves)
    assert code == 2
    assert any("base1 20260701_010000 and feature 20260701_020000 overlap" in text for text in document["problems"])


def test_runs_that_overlap_in_time_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[1].edit("metadata", {"/invocation_end_time": "2026-07-01T02:00:30"})
    code, document = compare(capsys, *leaves)
    assert code == 2
    assert document["problems"] == [
        "base1 20260701_010000 and feature 20260701_020000 overlap in time: "
        "they ran at once, or are one run given twice"
    ]
    code, document = compare(capsys, leaves[0], leaves[0], leaves[2])
    assert (code, len(document["problems"])) == (2, 1)


@pytest.mark.parametrize(
    ("file", "pointer", "value", "words"),
    [
        ("stats", "/1/save_ckpt10", {}, "10 checkpoints to write were asked for, it shows 9"),
        ("summary", "/metric", {}, "it states no metric"),
        ("metadata", "/invocation_end_time", "2026-07-01T01:00:00", "it ends before it starts"),
    ],
)
def test_an_incomplete_run_is_not_compared(
    tmp_path: Path, file: str, pointer: str, value: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[2].edit(file, {pointer: value})
    code, document = compare(capsys, *leaves)
    assert code == 2
    assert any(words in problem and "feature" in problem for problem in document["problems"])


def test_a_run_without_its_files_is_incomplete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[0].summary.unlink()
    leaves[1].metadata.write_text("{")
    code, document = compare(capsys, *leaves)
    problems = document["problems"]
    assert (code, document["undeclared"]) == (2, {}), "one cause is told once"
    assert any("base0" in p and "summary.json: there is no such file" in p for p in problems)
    assert any("base1" in p and "not JSON" in p for p in problems)


def test_a_workload_directory_is_compared_with_all_its_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = []
    for day, (written, read) in enumerate(((50.0, 60.0), (52.0, 61.0), (70.0, 60.2))):
        tree = Tree(tmp_path / str(day))
        tree.describe()
        tree.add(f"2026070{day + 1}_100000", 10, 0).edit("summary", {f"/metric/{WRITE}": written})
        tree.add(f"2026070{day + 1}_100510", 0, 10).edit("summary", {f"/metric/{READ}": read})
        trees.append(tree)
    code, document = compare(capsys, *(tree.workload for tree in trees))
    verdicts = {metric["name"]: metric["features"][0]["verdict"] for metric in document["metrics"]}
    assert (code, verdicts) == (1, {WRITE: "outside", READ: "inside"})
    assert [len(run["leaves"]) for run in document["runs"]] == [2, 2, 2]


def test_workloads_with_another_number_of_leaves_are_not_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = runs(tmp_path / "three", 10.0, 12.0, 30.0)
    other = Tree(tmp_path / "two")
    for start in ("20260702_000000", "20260702_010000"):
        other.add(start, 10, 10).edit("summary", {f"/metric/{WRITE}": 11.0})
    code, document = compare(capsys, leaves[0].path.parent, other.workload)
    assert (code, document["undeclared"]) == (2, {"run_leaves": ["3", "2"]})


def test_a_hostile_configuration_is_only_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    hostile = {"\x1b[31m": ["\u202e", {"a": [[[]]]}], "n": 1e300, "m": 10**300, "x": "\x07"}
    leaves[2].edit("metadata", {"/args/evil": hostile, "/system_info/hosts": [1, {"cpu": {"model": {"x": 1}}}]})
    assert main(["compare", *(str(leaf.path) for leaf in leaves)]) == 2
    assert not set(capsys.readouterr().out) & {"\x1b", "\x07", "\u202e"}


def test_a_tag_spells_out_every_dimension_defaults_included(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, document = compare(capsys, *runs(tmp_path, 10.0, 12.0, 30.0))
    assert document["runs"][0]["tag"] == (
        "family=checkpointing model=llama3-8b command=run division=closed processes=8 hosts=1 tensor=1 pipeline=1 "
        "data=8 zero_stage=3 accelerator=(not stated) api=file o_direct=false"
    )


def test_the_text_names_method_source_and_the_chance_of_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    assert main(["compare", *(str(leaf.path) for leaf in leaves)]) == 1
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == "0 inside, 1 outside, 0 undecidable"
    for words in ("method: floor = largest - smallest", "Wilks 1941", "up to 67%", "+19", "9.5"):
        assert words in text


def test_the_reason_is_told_once_and_lines_fit_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 30.0)
    for leaf in leaves:
        leaf.edit("summary", {f"/metric/{READ}": 5.0})
    assert main(["compare", *(str(leaf.path) for leaf in leaves)]) == 2
    text = capsys.readouterr().out
    assert text.count("the noise is not known") == 1
    assert "undecidable: fewer than 2 bases have it: the noise is not known: all metrics" in " ".join(text.split())
    assert text.count("  undecidable\n") == 2
    assert [line for line in text.splitlines() if len(line) > 80 and "/" not in line] == []


def test_reasons_name_what_they_hold_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 11.0, 30.0)
    for leaf in leaves:
        leaf.edit("summary", {f"/metric/{READ}": 5.0})
    assert main(["compare", *(str(leaf.path) for leaf in leaves), "--features", "2"]) == 1
    text = capsys.readouterr().out
    said = f"undecidable: the bases do not differ: floor 0: {READ} (feature0), {READ} (feature1)"
    assert said in " ".join(text.split())
    assert "outside feature1\n" in text
    assert [line for line in text.splitlines() if len(line) > 80 and "/" not in line] == []


def test_one_run_is_told_to_be_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (leaf,) = runs(tmp_path, 10.0)
    assert main(["compare", str(leaf.path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("submission-checker: one run is nothing to compare: give repeats of one run")
    assert "leave no base" not in said


class Page(HTMLParser):
    """Collects the tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_holds_a_plot_and_escapes_what_a_tree_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "<script>alert(1)</script>\"'&"
    leaves = runs(tmp_path, 10.0, 12.0, 30.0, metric=hostile.replace("/", "~"))
    leaves[2].edit("metadata", {"/args/systemname": hostile})
    output = tmp_path / "page.html"
    words = [*(str(leaf.path) for leaf in leaves), "--differs", "args.systemname"]
    assert main(["compare", *words, "--format", "html", "--output", str(output)]) == 1
    source = output.read_text()
    page = Page()
    page.feed(source)
    assert "script" not in page.tags
    assert hostile in page.text
    assert not any(text in source for text in ("http:", "https:", "src="))
    start, end = source.index("<svg"), source.index("</svg>") + len("</svg>")
    svg = ElementTree.fromstring(source[start:end])
    assert [circle.get("class") for circle in svg.iter("circle")] == ["base", "base", "outside"]
    band = next(svg.iter("rect"))
    centre = float(band.get("x", "")) + float(band.get("width", "")) / 2
    assert centre == pytest.approx(float(next(svg.iter("line")).get("x1", "")), abs=0.2)


@pytest.mark.parametrize(
    "arguments", [["{leaf}"], ["{leaf}", "{tmp}"], ["{leaf}", "{tmp}/none"], ["{leaf}", "{leaf}", "--features", "2"]]
)
def test_what_cannot_be_compared_is_a_usage_error(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    leaf = runs(tmp_path / "runs", 10.0)[0].path
    (tmp_path / "empty").mkdir()
    words = [word.format(leaf=leaf, tmp=tmp_path / "empty") for word in arguments]
    assert main(["compare", *words]) == 2
    assert capsys.readouterr().err.startswith("submission-checker: ")


@pytest.mark.parametrize(
    "place", ["{leaf}", "{leaf}/..", "{tree}/closed", "{tree}", "{tree}/none", "{out}/none", "{out}"]
)
def test_what_is_written_goes_to_a_directory_outside_the_runs_and_their_tree(tmp_path: Path, place: str) -> None:
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    (tmp_path / "out").mkdir()
    words = [str(leaf.path) for leaf in leaves]
    output = Path(place.format(leaf=leaves[0].path, tree=tmp_path / "tree", out=tmp_path / "out")) / "out.txt"
    written = place == "{out}"
    assert main(["compare", *words, "--output", str(output)]) == (1 if written else 2)
    assert output.exists() == written


def test_a_report_may_lie_beside_lone_runs_and_not_in_them(tmp_path: Path) -> None:
    words = [str(leaf.path.rename(tmp_path / leaf.path.name)) for leaf in runs(tmp_path / "runs", 10.0, 12.0, 30.0)]
    assert main(["compare", *words, "--output", str(tmp_path / "out.txt")]) == 1
    assert main(["compare", *words, "--output", f"{words[0]}/out.txt"]) == 2


def test_several_formats_in_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", *(str(leaf.path) for leaf in runs(tmp_path, 10.0, 12.0, 30.0))]
    page, document = tmp_path / "a.html", tmp_path / "a.json"
    assert main([*words, "--format", "html", "--output", str(page), "--format", "json", "--output", str(document)]) == 1
    assert capsys.readouterr().out == ""
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(document.read_text())["schema"] == "mlpstorage-compare/1"
    assert main([*words, "--format", "html", "--format", "json"]) == 2
    assert "html and json would both go to the standard output" in capsys.readouterr().err


def test_names_give_no_runner_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "##[add-mask]e"
    leaves = runs(tmp_path, 10.0, 12.0, 30.0)
    leaves[2].edit("metadata", {"/args/systemname": hostile})
    for style in ("text", "html", "json"):
        main(["compare", *(str(leaf.path) for leaf in leaves), "--format", style])
        out = capsys.readouterr().out
        assert "add-mask" in out
        assert "##[" not in out
    assert hostile in json.loads(out)["undeclared"]["args.systemname"]


@pytest.mark.parametrize(
    ("failures", "complete"),
    [({}, True), ({"3": []}, True), ({"3": [{"trial": 0, "exit_code": 137}]}, False), ([1], False)],
)
def test_kv_cache_trials_that_failed_are_no_complete_run(tmp_path: Path, failures: object, complete: bool) -> None:
    _, leaf = kv_cache_trees.legal(tmp_path)
    leaf.edit(leaf.summary, {"/trial_failures": failures})
    (data,) = read_subject(str(leaf.path), "base0").leaves
    assert any("trial_failures" in text for text in data.missing) is not complete


def test_a_warm_up_run_is_no_repeat() -> None:
    base = cases_directory() / "08-train-unet3d-complete" / "tree"
    found = sorted(base.glob("closed/*/results/*/training/unet3d"))
    if not found:
        pytest.skip(f"no training case in {cases_directory()}")
    subject = read_subject(str(found[0]), "base0")
    assert len(subject.leaves) == 6
    assert subject.left_out == [subject.leaves[0].path]
    assert subject.metrics["train_au_mean_percentage"] == pytest.approx(
        sum(leaf.metrics["train_au_mean_percentage"] for leaf in subject.leaves[1:]) / 5
    )


def test_a_legal_pair_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    for leaf, metric in zip(tree.leaves, (WRITE, READ), strict=True):
        leaf.edit("summary", {f"/metric/{metric}": 1.0})
    _, document = compare(capsys, tree.workload, tree.workload)
    assert not any("not complete" in problem for problem in document["problems"])
