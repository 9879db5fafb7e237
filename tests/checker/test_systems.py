"""The systems directory in a tree: which files belong there, and how descriptions agree with results and runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from training_trees import TrainingTree
from trees import DELETE, PDF, Tree, combined, pair, set_pointer

from mlpstorage.results.roots.local import LocalRoot
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check

Spoil = Callable[[Tree], None]
OURS = ("2.1.7", "2.1.8", "2.1.9", "4.7.3", "4.7.4", "READ-01")


def found(report: CheckReport, *, info: bool = False) -> list[tuple[str, str, str, str]]:
    """Rule, clause, severity and path of what is said of descriptions."""
    assert not report.faults
    return [
        (f.rule, f.clause, f.severity.value, f.path.rpartition("/")[2])
        for f in report.findings
        if f.rule in OURS and (info or f.severity.value != "info")
    ]


def systems(tree: Tree) -> Path:
    return tree.description.parent


def write(name: str, data: bytes) -> Spoil:
    return lambda tree: (systems(tree) / name).write_bytes(data) and None


def remove(*suffixes: str) -> Spoil:
    def spoil(tree: Tree) -> None:
        for suffix in suffixes:
            tree.description.with_suffix(suffix).unlink()

    return spoil


def rename(suffix: str, new: str) -> Spoil:
    return lambda tree: tree.description.with_suffix(suffix).rename(tree.description.with_suffix(new)) and None


def link(suffix: str, target: str) -> Spoil:
    def spoil(tree: Tree) -> None:
        path = tree.description.with_suffix(suffix)
        path.unlink()
        path.symlink_to(target)

    return spoil


def fifo(suffix: str) -> Spoil:
    def spoil(tree: Tree) -> None:
        path = tree.description.with_suffix(suffix)
        path.unlink()
        os.mkfifo(path)

    return spoil


def folder(name: str) -> Spoil:
    return lambda tree: (systems(tree) / name).mkdir()


def described(**changes: object) -> Spoil:
    """Change values below system_under_test by pointers whose slashes are written as two underscores."""

    def spoil(tree: Tree) -> None:
        data = yaml.safe_load(tree.description.read_text())
        for name, value in changes.items():
            set_pointer(data["system_under_test"], "/" + name.replace("__", "/"), value)
        tree.write_description(data)

    return spoil


def unused(tree: Tree) -> None:
    for suffix in (".yaml", ".pdf"):
        shutil.copyfile(tree.description.with_suffix(suffix), systems(tree) / f"other{suffix}")
    path = systems(tree) / "other.yaml"
    path.write_text(path.read_text().replace("submission_name: fast-1", "submission_name: other"))
    (systems(tree) / "other.pdf").write_bytes(PDF + b"%other\n")


def cpu(value: object) -> dict[str, object]:
    names = ("cpu_model", "cpu_qty", "cpu_cores", "memory_capacity")
    return {f"product_nodes__0__chassis__{name}": value for name in names}


SPOILT: dict[str, tuple[Spoil, list[tuple[str, str, str, str]]]] = {
    "nothing": (lambda tree: None, []),
    "Markdown and dot names": (
        lambda tree: [write(name, b"x")(tree) for name in ("notes.md", ".DS_Store")] and folder(".git")(tree),
        [],
    ),
    "a text file": (write("notes.txt", b"x"), [("2.1.7", "stray_file", "error", "notes.txt")]),
    "a directory": (folder("old"), [("2.1.7", "stray_directory", "error", "old")]),
    "no PDF": (remove(".pdf"), [("2.1.7", "no_document", "error", "fast-1.yaml")]),
    "no description": (remove(".yaml"), [("2.1.7", "unpaired_document", "error", "fast-1.pdf")]),
    "neither": (remove(".yaml", ".pdf"), [("2.1.8", "described", "error", "fast-1.yaml")]),
    "a PDF of its own": (write("fleet.pdf", PDF + b"f"), [("2.1.7", "unpaired_document", "error", "fleet.pdf")]),
    ".yml": (rename(".yaml", ".yml"), [("2.1.7", "description_name", "error", "fast-1.yml")]),
    ".YAML": (rename(".yaml", ".YAML"), [("2.1.7", "description_name", "error", "fast-1.YAML")]),
    ".PDF": (rename(".pdf", ".PDF"), [("2.1.7", "document_name", "error", "fast-1.PDF")]),
    "an empty PDF": (write("fast-1.pdf", b""), [("2.1.7", "document_content", "warning", "fast-1.pdf")]),
    "a PDF that is text": (write("fast-1.pdf", b"hello"), [("2.1.7", "document_content", "warning", "fast-1.pdf")]),
    "a PDF left in a store": (
        write("fast-1.pdf", b"version https://git-lfs.github.com/spec/v1\n"),
        [("2.1.7", "document_content", "warning", "fast-1.pdf")],
    ),
    "a pruned PDF": (write("fast-1.pdf", b"PRUNED BY STAFF\n"), []),
    "a pruned description": (write("fast-1.yaml", b"PRUNED BY STAFF\n"), []),
    "a PDF that is a pipe": (fifo(".pdf"), [("2.1.7", "document_readable", "error", "fast-1.pdf")]),
    "a PDF that is a link": (link(".pdf", "/etc/hostname"), [("2.1.7", "document_readable", "error", "fast-1.pdf")]),
    "a description that is a link": (
        link(".yaml", "/etc/hostname"),
        [("2.1.7", "readable", "error", "fast-1.yaml")],
    ),
    "a description that is no YAML": (write("fast-1.yaml", b"a: ["), [("2.1.7", "readable", "error", "fast-1.yaml")]),
    "described, not measured": (unused, [("2.1.8", "measured", "error", "other.yaml")]),
    "another name inside": (
        described(solution__submission_name="fast-1-v2"),
        [("2.1.8", "submission_name", "error", "fast-1.yaml")],
    ),
    "no name inside": (
        described(solution__submission_name=DELETE),
        [("2.1.7", "fields", "error", "fast-1.yaml")],
    ),
    "an empty description": (write("fast-1.yaml", b"{}\n"), [("2.1.7", "fields", "error", "fast-1.yaml")]),
    "no solution": (described(solution=DELETE), [("2.1.7", "fields", "error", "fast-1.yaml")]),
    "no capabilities": (described(solution__capabilities=DELETE), [("2.1.7", "fields", "error", "fast-1.yaml")]),
    "one capability": (
        described(solution__capabilities__multi_host=DELETE),
        [("4.7.4", "multi_host", "error", "fast-1.yaml")],
    ),
    "no clients": (described(clients=DELETE), [("2.1.7", "fields", "error", "fast-1.yaml")]),
    "clients without a number": (
        described(clients__0__quantity="some"),
        [("2.1.7", "fields", "error", "fast-1.yaml")],
    ),
    "custom hardware": (described(**cpu(None)), [("2.1.7", "custom_hardware", "warning", "fast-1.yaml")]),
    "custom hardware that nothing is said of": (
        described(**cpu(DELETE)),
        [("2.1.7", "fields", "error", "fast-1.yaml")],
    ),
    "no product nodes": (described(product_nodes=DELETE), [("2.1.7", "storage_nodes", "error", "fast-1.yaml")]),
    "no rack units of a node": (
        described(product_nodes__0__chassis__rack_units=DELETE),
        [("2.1.7", "physical", "error", "fast-1.yaml")],
    ),
    "no power of a client": (
        described(clients__0__chassis__power=DELETE),
        [("2.1.7", "physical", "error", "fast-1.yaml")],
    ),
    "no total": (described(total_rack_units=DELETE), [("2.1.7", "total_stated", "error", "fast-1.yaml")]),
    "another total": (described(total_rack_units=7), [("2.1.7", "rack_units", "error", "fast-1.yaml")]),
    "on premises in a cloud": (described(deployment="cloud"), [("2.1.7", "cloud", "error", "fast-1.yaml")]),
    "more supplies than there are": (
        described(clients__0__chassis__power__min_psus_active=3),
        [("2.1.7", "power_supplies", "error", "fast-1.yaml")],
    ),
    "half a client software": (
        described(solution__architecture__client_footprint="n/a"),
        [("2.1.7", "client_software", "error", "fast-1.yaml")],
    ),
    "clients that are not connected": (
        described(clients__0__networking=DELETE),
        [("2.1.7", "client_networking", "error", "fast-1.yaml")],
    ),
    "nodes that are not connected": (described(product_nodes__0__networking=DELETE), []),
    "everything at once": (
        described(
            solution__architecture__client_footprint="n/a",
            total_rack_units=7,
            deployment="garage",
            clients__0__chassis__power__min_psus_active=3,
        ),
        [
            ("2.1.7", "client_software", "error", "fast-1.yaml"),
            ("2.1.7", "fields", "error", "fast-1.yaml"),
            ("2.1.7", "power_supplies", "error", "fast-1.yaml"),
        ],
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_each_fault_is_one_finding(tmp_path: Path, name: str) -> None:
    spoil, expected = SPOILT[name]
    tree = pair(tmp_path / "tree")
    spoil(tree)
    assert found(check(tree.root, Options())) == expected


def test_what_a_missing_description_leaves_open_is_listed_with_it(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    remove(".yaml", ".pdf")(tree)
    report = check(tree.root, Options())
    (finding,) = [f for f in report.findings if f.rule == "2.1.8"]
    assert {"2.1.7", "2.1.9", "4.7.3", "4.7.4"} <= set(finding.opens)
    assert not [f for f in report.findings if f.outcome == "undetermined" and "systems/" in f.path]


def test_a_problem_carries_its_place_in_evidence(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    described(clients__0__quantity="some")(tree)
    (finding,) = [f for f in check(tree.root, Options()).findings if f.rule == "2.1.7"]
    line = 1 + next(n for n, one in enumerate(tree.description.read_text().splitlines()) if "quantity: some" in one)
    assert finding.item == "clients[0]"
    assert finding.message == f"clients[0]: quantity (line {line}) is 'some': a whole number, 1 or more"
    assert {"2.1.9"} <= set(finding.opens)


def test_one_pdf_for_several_systems_is_a_note(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    unused(tree)
    shutil.copyfile(tree.description.with_suffix(".pdf"), systems(tree) / "other.pdf")
    report = check(tree.root, Options())
    assert ("2.1.7", "shared_document", "info", "fast-1.pdf") in found(report, info=True)
    assert found(report) == [("2.1.8", "measured", "error", "other.yaml")]


def test_nodes_without_networking_are_a_note_until_the_next_edition(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    described(product_nodes__0__networking=DELETE)(tree)
    for edition, severity in (("3.0-as-published", "info"), ("3.0", "info"), ("4.0-draft", "error")):
        report = found(check(tree.root, Options(edition=edition)), info=True)
        assert [entry[2] for entry in report if entry[1] == "product_networking"] == [severity]


def test_the_printed_edition_has_no_rule_on_storage_nodes(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    described(product_nodes=DELETE, total_rack_units=0, solution__availability=DELETE)(tree)
    assert found(check(tree.root, Options(edition="3.0-as-published"))) == []
    assert [clause for _, clause, _, _ in found(check(tree.root, Options()))] == ["fields", "storage_nodes"]


@pytest.mark.parametrize(
    ("edition", "named"),
    [
        ("3.0-as-published", {"friendly_description"}),
        ("3.0", {"friendly_description", "usable_capacity_tib"}),
        ("4.0-draft", {"friendly_description", "usable_capacity_tib"}),
    ],
)
def test_one_object_is_one_finding_that_names_the_fields_of_the_edition(
    tmp_path: Path, edition: str, named: set[str]
) -> None:
    tree = pair(tmp_path)
    described(solution__friendly_description=DELETE, solution__usable_capacity_tib=DELETE)(tree)
    report = check(tree.root, Options(edition=edition))
    (message,) = (f.message for f in report.findings if f.rule == "2.1.7" and f.message.startswith("solution: "))
    assert {name for name in ("friendly_description", "usable_capacity_tib") if name in message} == named


def test_many_strays_are_few_findings(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    for number in range(300):
        write(f"stray{number:03}.txt", b"")(tree)
    strays = [f for f in check(tree.root, Options()).findings if f.clause == "stray_file"]
    assert len(strays) == 51
    assert "and 250 more" in {finding.item for finding in strays}


def test_a_directory_of_many_descriptions_is_listed_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listing it for each of them would take time with the square of their number."""
    tree = pair(tmp_path / "tree")
    for number in range(100):
        (systems(tree) / f"unused-{number}.yaml").write_bytes(b"")
    listed: list[str] = []
    real = LocalRoot.list
    monkeypatch.setattr(LocalRoot, "list", lambda self, path: listed.append(path) or real(self, path))
    assert len([f for f in check(tree.root, Options()).findings if "unused-" in f.path]) >= 100
    assert listed.count("closed/acme/systems") < 5


def test_a_submitter_without_results_is_no_finding_on_each_description(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    shutil.rmtree(tree.root / "closed" / "acme" / "results")
    assert found(check(tree.root, Options())) == []


def test_descriptions_are_judged_where_nothing_was_run(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    shutil.rmtree(tree.workload.parent)
    described(total_rack_units=7)(tree)
    assert found(check(tree.root, Options())) == [("2.1.7", "rack_units", "error", "fast-1.yaml")]


# 2.1.9


@pytest.mark.parametrize(
    ("hosts", "described_hosts", "expected"),
    [
        (1, 1, []),
        (2, 2, []),
        (2, 1, [("2.1.9", "more_hosts", "error", "fast-1.yaml")]),
        (1, 8, [("2.1.9", "fewer_hosts", "warning", "fast-1.yaml")]),
    ],
)
def test_hosts_of_runs_against_the_description(
    tmp_path: Path, hosts: int, described_hosts: int, expected: list[tuple[str, str, str, str]]
) -> None:
    tree = pair(tmp_path / "tree", hosts=hosts)
    tree.hosts = described_hosts
    tree.describe()
    report = check(tree.root, Options())
    assert found(report) == expected
    for finding in report.findings:
        if finding.rule == "2.1.9":
            assert all(leaf.path.name in finding.message for leaf in tree.leaves)
            assert f" {hosts} host{'s' if hosts > 1 else ''}: " in finding.message


@pytest.mark.parametrize(
    ("described_gib", "severity"), [(251, []), (279, []), (229, []), (280, ["error"]), (228, ["error"])]
)
def test_memory_of_runs_against_the_description(tmp_path: Path, described_gib: int, severity: list[str]) -> None:
    tree = pair(tmp_path / "tree")  # 251.5 GiB
    tree.memory_gib = described_gib
    tree.describe()
    assert [s for rule, _, s, _ in found(check(tree.root, Options())) if rule == "2.1.9"] == severity


def test_memory_is_the_sum_over_the_hosts_wherever_it_stands(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree", hosts=2)
    tree.leaves[0].edit("metadata", {"/system_info": DELETE})
    tree.leaves[0].edit("summary", {"/host_memory_GB": [250.0, 0.0]})
    assert [entry for entry in found(check(tree.root, Options())) if entry[0] == "2.1.9"] == []
    tree.leaves[0].edit("summary", {"/host_memory_GB": [0.0, 500.0]})
    assert ("2.1.9", "memory", "error", "fast-1.yaml") in found(check(tree.root, Options()))


@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize(("described_gib", "clauses"), [(125, []), (500, ["memory"])])
def test_memory_of_training_runs_is_that_of_one_of_their_hosts(
    tmp_path: Path, collected: bool, described_gib: int, clauses: list[str]
) -> None:
    training = TrainingTree(tmp_path / "tree", hosts=4, memory_gib=125.0).build()
    for leaf in training.runs if not collected else ():
        leaf.edit("metadata", {"/system_info": None})
    tree = Tree(training.root)
    tree.hosts, tree.memory_gib = 4, described_gib
    tree.describe()
    assert [clause for rule, clause, _, _ in found(check(tree.root, Options())) if rule == "2.1.9"] == clauses


def test_a_leaf_that_says_nothing_hides_no_other_one_and_is_no_pass(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    tree.leaves[0].metadata.write_text("{")
    tree.leaves[0].summary.write_text("{")
    report = check(tree.root, Options())
    assert not [entry for entry in found(report) if entry[0] == "2.1.9"]
    assert any("2.1.9" in finding.opens for finding in report.findings if finding.rule == "READ-01")
    assert report.tally["2.1.9"]["pass"] == 0
    data = yaml.safe_load(tree.description.read_text())
    data["system_under_test"]["clients"][0]["chassis"]["memory_capacity"] = 100
    tree.write_description(data)
    assert ("2.1.9", "memory", "error", "fast-1.yaml") in found(check(tree.root, Options()))


@pytest.mark.parametrize("edition", ["3.0", "4.0-draft"])
def test_no_systems_directory_is_one_finding(tmp_path: Path, edition: str) -> None:
    tree = combined(tmp_path)
    before = {(f.rule, f.clause) for f in check(tmp_path, Options(edition=edition)).findings}
    shutil.rmtree(tree.description.parent)
    found = {(f.rule, f.clause) for f in check(tmp_path, Options(edition=edition)).findings}
    assert found - before == {("2.1.5", "systems")}
