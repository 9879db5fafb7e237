"""What users reported of checkers of this kind, as inputs with their right outcomes: from the 52nd on, by number.

A number that is missing here is held elsewhere (its kind has a test of its own), or speaks of something other than what
this checker decides.
"""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from kv_cache_trees import legal
from training_trees import TrainingTree
from trees import DELETE, Tree, combined, pair, set_pointer

import mlpstorage.cli
import rules
from mlpstorage.checkpointing.launch import launch_workload
from mlpstorage.checkpointing.options import parse
from mlpstorage.results import manifest
from rules import Finding
from rules.edition import compile_section, read_section
from rules.errors import RuleLoadError
from rules.loading import BOOK
from submission_checker.cli import main
from submission_checker.formats import FORMATS
from submission_checker.scan import Options, check

WORKLOAD = "closed/acme/results/fast-1/checkpointing/llama3-8b"


def findings(root: Path, *wanted: str) -> list[Finding]:
    """Findings of these rules, or of all."""
    report = check(root, Options())
    assert not report.faults
    return [finding for finding in report.findings if not wanted or finding.rule in wanted]


def told(root: Path, *wanted: str) -> list[tuple[str, str]]:
    """Errors and warnings of these rules, or of all."""
    return sorted((f.rule, f.severity.value) for f in findings(root, *wanted) if f.severity.value != "info")


def places(root: Path, *wanted: str) -> list[tuple[str, str]]:
    """Rules and the ends of the paths that they name."""
    return sorted((f.rule, f.path.rpartition("/")[2]) for f in findings(root, *wanted))


def with_processes(tree: Tree, count: object) -> Tree:
    """The first leaf asked for, and saw, another number of processes."""
    tree.leaves[0].edit("metadata", {"/args/num_processes": count})
    tree.leaves[0].edit("summary", {"/num_accelerators": count})
    return tree


def launch(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What the gate says to a checkpointing run that would be started."""
    code = mlpstorage.cli.main(["checkpointing", "run", *arguments, "--dry-run"])
    return code, capsys.readouterr().out


# Crash


def test_52_a_missing_phase_of_one_organisation_hides_nothing_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(TrainingTree(tmp_path).build().workload / "run")
    other = Tree(tmp_path, organisation="globex")
    other.describe()
    other.add("20260701_100000", 10, 0)
    other.add("20260701_100510", 0, 10)
    with_processes(other, 12)
    assert told(tmp_path) == [("2.1.12", "error"), ("4.6.1", "error")]
    assert main([str(tmp_path)]) == 1
    assert "INCOMPLETE" not in capsys.readouterr().out


def test_53_a_directory_of_no_workload_is_told_once(tmp_path: Path) -> None:
    training = TrainingTree(tmp_path).build().workload
    training.rename(training.with_name("unet3d_a100"))
    tree = pair(tmp_path)
    for name in ("llama3-8B", "llama3-13b"):
        shutil.copytree(tree.workload, tree.workload.with_name(name))
    assert places(tmp_path, "2.1.11", "2.1.21", "X3.2", "X4.2", "4.3.3", "READ-01", "READ-03") == [
        ("2.1.11", "unet3d_a100"),
        ("2.1.21", "llama3-13b"),
        ("2.1.21", "llama3-8B"),
    ]
    report = check(tmp_path, Options())
    assert any(place.workload == "checkpointing/llama3-8b" for place in report.states), "the sound one is judged"


def test_59_a_workload_whose_runs_all_fail_is_judged_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TrainingTree(tmp_path, au=80.0).build()
    assert told(tmp_path) == [("3.3.2", "error")] * 5 + [("3.3.2", "warning")]
    assert main([str(tmp_path), "--select", "3.3.2"]) == 1
    assert "5 errors, 1 warning" in capsys.readouterr().out.splitlines()[-1]


# Confusing message


def test_62_the_cause_is_the_process_count_not_a_subset_that_nobody_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, text = launch("closed", "--model", "llama3-405b", "--num-processes", "408", capsys=capsys)
    assert (code, "408" in text, "512" in text, "256" in text) == (1, True, True, True)
    assert "4.6.1" in text
    assert "4.3.5" not in text
    _, text = launch("closed", "--model", "llama3-8b", "--num-processes", "12", capsys=capsys)
    assert "multiples of 1 process." in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (("closed", "--model", "llama3-8b"), "LEGAL in closed"),
        (("closed", "--model", "llama3-8b", "-n", "12"), "FORBIDDEN in closed"),
        (("whatif", "--model", "llama3-8b", "-n", "3"), "whatif: any size may run; not for submission"),
    ],
)
def test_64_a_launch_has_one_verdict(
    arguments: tuple[str, ...], verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text = launch(*arguments, capsys=capsys)
    lines = [line for line in text.splitlines() if line.startswith(("LEGAL", "FORBIDDEN", "whatif"))]
    assert len(lines) == 1
    assert lines[0].startswith(verdict)


def test_68_names_that_look_like_findings_are_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "ERROR: 7 errors")
    assert main([str(tree.root)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("0 errors, 0 warnings, ")


def test_70_however_the_tree_is_named_the_findings_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = combined(tmp_path / "tree")
    tree.leaves[0].override("checkpoint.fsync", False)
    (tmp_path / "link").symlink_to(tree.root)
    monkeypatch.chdir(tree.root)
    answers = set()
    for name in (tree.root, f"{tree.root}/", f"{tree.root}/./closed/..", tmp_path / "link", ".", "closed"):
        assert main([str(name), "--format", "json"]) == 1
        answers.add(json.dumps(json.loads(capsys.readouterr().out)["findings"]))
    assert len(answers) == 1
    assert str(tmp_path) not in answers.pop()


def test_71_a_bound_that_no_edition_defines_is_said_not_to_be_enforced(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        mlpstorage.cli.main(["rules", "show", "5.3.2"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "No edition defines a minimum recall" in text
    assert "the value is not" in text


def test_77_a_finding_says_rule_name_place_observed_required_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = combined(tmp_path)
    tree.leaves[0].edit("metadata", {"/args/hosts": ["a:4", "b:4"]})
    tree.hosts = 2
    tree.describe()
    assert main([str(tmp_path)]) == 0, "the reading is open: a warning"
    text = capsys.readouterr().out
    assert "\x1b" not in text
    for part in (
        "WARNING 4.6.2 checkpointClosedAcceleratorsPerHost",
        WORKLOAD,
        "run.min_ranks_per_host = 4",
        "limit.min_ranks_per_host = 4",
        "upstream issue 866",
        "remedy: Use fewer hosts",
    ):
        assert part in " ".join(text.split())


# Security


def test_82_links_are_told_and_nothing_behind_them_is_read(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    (tmp_path / "secret.json").write_text('{"start": "outside"}')
    results = tree.root / "closed/acme/results"
    for name, target in (("x", "/etc"), ("a", "b"), ("b", "a")):
        (results / name).symlink_to(target)
    tree.leaves[0].summary.unlink()
    tree.leaves[0].summary.symlink_to("../../../../../../../../secret.json")
    tree.description.rename(tree.description.with_name("fast2.yaml"))
    tree.description.symlink_to("fast2.yaml")
    found = {(f.rule, f.path): f.message for f in findings(tree.root)}
    assert "a, b, x" in found["TREE-01", "closed/acme/results"]
    assert "links are not followed" in found["READ-01", f"{WORKLOAD}/20260701_100000/summary.json"]
    assert "links are not followed" in found["2.1.7", "closed/acme/systems/fast-1.yaml"]
    assert not any("outside" in message for message in found.values())


@pytest.mark.parametrize(
    "predicate", ["__import__('os').system('id')", "run.model.__class__ == 'x'", "open('/etc/passwd')"]
)
def test_83_a_predicate_that_is_a_program_is_refused_and_not_run(tmp_path: Path, predicate: str) -> None:
    book = BOOK / "section-4-checkpointing.yaml"
    honest = "require: run.recorded_model == run.directory_model"
    assert honest in book.read_text()
    section = tmp_path / book.name
    section.write_text(book.read_text().replace(honest, f'require: "{predicate}"'))
    with pytest.raises(RuleLoadError, match=r"X4\.2"):
        list(compile_section(read_section(section), "3.0"))


def test_85_no_report_repeats_credentials_or_addresses(tmp_path: Path) -> None:
    tree = with_processes(pair(tmp_path), 16)
    secrets = {"AWS_SECRET_ACCESS_KEY": "first-secret", "HF_TOKEN": "second-secret"}
    tree.leaves[0].edit("metadata", {"/environment": secrets, "/args/hosts": ["192.0.2.10:16"]})
    assert ("4.6.1", "error") in told(tmp_path)
    for name in FORMATS:
        output = tmp_path.parent / f"{tmp_path.name}.{name}"
        assert main([str(tmp_path), "--verbose", "--format", name, "--output", str(output)]) == 1
        text = output.read_text()
        assert "4.6.1" in text
        assert not [part for part in (*secrets.values(), "192.0.2.10") if part in text], name
    tree.leaves[1].edit("metadata", {"/environment": {"HF_TOKEN=third-secret": "1"}})
    assert not any("third-secret" in f"{f.message} {f.evidence}" for f in findings(tmp_path))
    found = findings(tmp_path, "SEC-01")
    assert {f.severity.value for f in found} == {"info"}
    assert {f.message.partition(": ")[2] for f in found} == {
        "AWS_SECRET_ACCESS_KEY, HF_TOKEN",
        "(a setting without a plain name)",
    }


def test_109_a_probe_that_was_skipped_is_told_and_silences_no_rule(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    assert findings(tmp_path, "LEAF-03") == []
    tree.leaves[0].edit("metadata", {"/skipped_probes": ["ssh"], "/num_processes": 4, "/args/num_processes": 4})
    (found,) = findings(tmp_path, "LEAF-03")
    assert (found.severity.value, found.message) == ("info", "probes left out before the run: ssh")
    assert ("4.6.1", "error") in told(tmp_path)


@pytest.mark.parametrize(
    ("recorded", "says"), [([], None), (None, None), (["a\x1b[31m"], "a\ufffd[31m"), ("ssh", "not a list")]
)
def test_109_what_is_recorded_of_probes_is_a_list_of_names(tmp_path: Path, recorded: object, says: str | None) -> None:
    pair(tmp_path).leaves[0].edit("metadata", {"/skipped_probes": recorded})
    found = findings(tmp_path, "LEAF-03")
    assert [finding.severity.value for finding in found] == (["info"] if says else [])
    assert all(says and says in finding.message for finding in found)


# Data loss


def split(leaf: Path, moved: str, *more: str) -> None:
    """Leave in the leaf what the benchmark wrote; the log and ``more`` go into another one."""
    rest = leaf.with_name(moved)
    rest.mkdir()
    for path in list(leaf.iterdir()):
        if path.name.endswith((".stdout.log", ".stderr.log")) or path.name in more:
            path.rename(rest / path.name.replace(leaf.name, moved))


@pytest.mark.parametrize("moved", ["20260701_115959", "20260701_120001"])
@pytest.mark.parametrize(
    "more", [(), (".mlps-code-image", "fs_separation.json"), ("training_20260701_120000_metadata.json",)]
)
def test_88_the_two_halves_of_a_run_are_one_finding(tmp_path: Path, moved: str, more: tuple[str, ...]) -> None:
    tree = TrainingTree(tmp_path).build()
    whole = [(f.rule, f.path, f.message) for f in findings(tmp_path)]
    leaf = tree.runs[2]
    if more and more[0].endswith("_metadata.json"):
        leaf.edit("metadata", {"/run_datetime": moved})
    split(leaf.path, moved, *more)
    told_now = [(f.rule, f.path, f.message) for f in findings(tmp_path)]
    assert [rule for rule, _, message in told_now if message not in {m for _, _, m in whole}] == ["LEAF-02"]
    assert len(told_now) == len(whole) + 1


def test_88_two_halves_of_a_checkpointing_run(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    split(tree.leaves[0].path, "20260701_100001", ".mlps-code-image")
    assert told(tmp_path) == [("LEAF-02", "error")]
    assert main([str(tmp_path), "--deep", "--fail-on", "never"]) == 0


def test_88_the_manifest_may_list_both_halves(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    split(tree.leaves[0].path, "20260701_100001")
    text = manifest.write(tmp_path / "closed" / "acme", "closed", "4.0-draft", 3, "test").read_text()
    assert "20260701_100001" in text
    found = check(tmp_path, Options(edition="4.0-draft")).findings
    assert not [f.message for f in found if f.rule == "PROV-02" and "20260701_1000" in f.message]


def test_88_a_run_that_broke_off_beside_a_whole_one_is_no_half(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    broken = tree.leaves[0].path.with_name("20260701_100001")
    broken.mkdir()
    (broken / "checkpointing_run.stdout.log").write_text("killed")
    assert "LEAF-02" not in {rule for rule, _ in told(tmp_path)}
    assert ("2.1.25", "error") in told(tmp_path)


@pytest.mark.parametrize("key", ["reader.secret_key", "checkpoint.endpoint"])
def test_85_no_parameter_shows_a_secret(tmp_path: Path, key: str) -> None:
    tree = pair(tmp_path)
    for number, leaf in enumerate(tree.leaves):
        leaf.override(key, f"https://me:s3cret{number}@host")
    found = findings(tmp_path, "4.6.3")
    assert found
    assert not any("s3cret" in f"{f.message} {f.evidence}" for f in findings(tmp_path))


def test_85_no_command_of_a_kv_cache_shows_a_secret(tmp_path: Path) -> None:
    _, leaf = legal(tmp_path)
    data = json.loads(leaf.metadata.read_text())
    data["args"]["params"] = ["storage.secret_key=s3cret"]
    for entry in data["command_output_files"]:
        entry["command"] += " --hf-token s3cret"
    leaf.metadata.write_text(json.dumps(data))
    found = findings(tmp_path, "6.6.1")
    assert found
    assert not any("s3cret" in f"{f.message} {f.evidence}" for f in findings(tmp_path))


# Format quirk


def test_89_values_of_a_published_leaf_are_understood(tmp_path: Path) -> None:
    tree = combined(tmp_path, "llama3-70b", hosts=4, memory_gib=1007.585)
    tree.leaves[0].edit("summary", {"/host_memory_GB": [4030.34, 0.0, 0.0, 0.0], "/host_cpu_count": [512, 0, 0, 0]})
    tree.leaves[0].edit("metadata", {"/accelerator": None, "/args/params": ""})
    assert told(tmp_path) == [("4.3.1", "warning")]
    (flush,) = findings(tmp_path, "4.3.1")
    values = {one.fact: one.value for one in flush.evidence}
    assert values["workload.client_memory_gib"] == pytest.approx(1007.585)


@pytest.mark.parametrize(
    "changes",
    [
        {"/num_processes": DELETE, "/parameters": DELETE, "/override_parameters": DELETE},
        {"/args/num_processes": DELETE},
        {"/args/num_checkpoints_write": DELETE, "/args/num_checkpoints_read": DELETE},
    ],
    ids=["arguments alone", "count at the top", "counts among the overrides"],
)
def test_91_generations_of_metadata_say_the_same(tmp_path: Path, changes: dict[str, Any]) -> None:
    def judged(root: Path, more: dict[str, Any]) -> list[tuple[str, str]]:
        tree = combined(root, processes=12)
        tree.leaves[0].edit("metadata", more)
        return [(f.rule, f.message) for f in findings(root)]

    reference = judged(tmp_path / "reference", {})
    assert "4.6.1" in {rule for rule, _ in reference}
    assert judged(tmp_path / "generation", changes) == reference


def test_92_two_summaries_that_disagree_are_an_error(tmp_path: Path) -> None:
    _, leaf = legal(tmp_path)
    data = json.loads(leaf.summary.read_text())
    data["options"]["1"]["aggregated_read_bandwidth_gbps"] *= 2
    (leaf.path / "kvcache_run_summary_20260720_120000.json").write_text(json.dumps(data))
    assert told(tmp_path) == [("X6.1", "error")]


@pytest.mark.parametrize(
    ("sized", "ran", "expected"),
    [
        ("s3://bucket/path", "bucket/path", []),
        ("bucket/path", "s3://bucket/path/", []),
        ("s3://bucket/path", "s3://s3://bucket/path", ["3.3.1 pairs", "3.4.1 uri"]),
        ("s3://bucket/path", "s3://bucket/bucket/path", ["3.3.1 pairs"]),
    ],
)
def test_94_an_object_location_is_one_however_it_is_spelled(
    tmp_path: Path, sized: str, ran: str, expected: list[str]
) -> None:
    tree = TrainingTree(tmp_path).build()
    for phase in ("datasize", "datagen", "run"):
        for leaf in tree.leaves(phase):
            said = ran if phase == "run" else sized
            leaf.edit("metadata", {"/args/data_access_protocol": "object", "/args/data_dir": said})
    tree.add_datasize("20260701_070000").edit("metadata", {"/args/data_dir": "/mnt/another"})
    told = {f"{f.rule} {f.clause}" for f in findings(tmp_path, "3.3.1", "3.4.1") if f.severity.value != "info"}
    assert sorted(told) == expected


def test_94_a_user_in_an_object_uri_is_told_and_not_shown(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    uri = "s3://mine:s3cret@host/bucket"
    tree.leaves[0].edit("metadata", {"/args/data_access_protocol": "object", "/args/checkpoint_folder": uri})
    (found,) = findings(tmp_path, "4.4.1")
    assert "holds a password" in found.message
    assert not any("s3cret" in f"{f.message} {f.evidence}" for f in findings(tmp_path))


def test_94_a_phase_without_a_protocol_means_the_same_place(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path).build()
    for phase in ("datasize", "datagen", "run"):
        for leaf in tree.leaves(phase):
            leaf.edit("metadata", {"/args/data_access_protocol": None, "/args/data_dir": "bucket/path"})
    for leaf in tree.runs:
        leaf.edit("config", {"/workload/storage/storage_type": "s3"})
    tree.add_datasize("20260701_070000").edit("metadata", {"/args/data_dir": "/mnt/another"})
    assert [f.clause for f in findings(tmp_path, "3.3.1") if f.clause == "pairs"] == []


def test_95_flattened_leaves_are_told_once_each(tmp_path: Path) -> None:
    tree, leaf = legal(tmp_path)
    flattened = tree.workload.with_name("llama3-8b-10u")
    flattened.mkdir()
    shutil.copytree(leaf.path, flattened / "1nodex8ppn")
    leaf.path.rename(flattened / "8nodex8ppn")
    shutil.rmtree(tree.workload)
    expected = [("X6.4", "1nodex8ppn"), ("X6.4", "8nodex8ppn"), ("X6.4", "llama3-8b-10u")]
    assert places(tmp_path, "X6.4", "2.1.27", "2.1.10") == expected


# Launch gate


@pytest.mark.parametrize("edition", rules.edition_ids())
def test_101_the_gate_and_the_checker_judge_the_same_facts_alike(edition: str) -> None:
    book = rules.load_edition(edition)
    refused = 0
    for model, count, declared, division in itertools.product(
        ("llama3-8b", "llama3-70b", "llama3-405b", "llama3-1t"),
        ("1", "8", "64", "408", "512", "1024"),
        ((), ("--checkpoint-subset",)),
        ("closed", "open"),
    ):
        plan = parse([division, "--model", model, "--num-processes", count, *declared], {}).plan
        workload = launch_workload(plan)
        launched, submitted = (
            {(f.rule, f.clause) for f in book.evaluate(workload, division=division, stage=stage).findings
             if f.outcome == "violation"}
            for stage in ("launch", "submission")
        )  # fmt: skip
        assert launched == submitted, (model, count, declared, division)
        refused += bool(launched)
    assert refused > 20


@pytest.mark.parametrize(
    ("division", "counts", "code"),
    [
        ("closed", "10/10", 0),
        ("closed", "10/0", 0),
        ("closed", "0/10", 0),
        ("closed", "5/5", 1),
        ("closed", "0/0", 1),
        ("closed", "10/3", 1),
        ("open", "10/0", 0),
        ("open", "5/5", 0),
        ("open", "10/3", 0),
    ],
)
def test_107_the_counts_of_a_split_test_can_be_asked_for(
    division: str, counts: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    writes, reads = counts.split("/")
    options = ("--num-checkpoints-write", writes, "--num-checkpoints-read", reads)
    got, text = launch(division, "--model", "llama3-8b", *options, capsys=capsys)
    assert (got, "4.7.1" in text.partition("Judged")[0]) == (code, bool(code))


def test_107_a_test_that_writes_and_reads_nothing_is_no_result_in_open_either(tmp_path: Path) -> None:
    tree = Tree(tmp_path, division="open", memory_gib=125.0)
    tree.describe()
    tree.add("20260701_100000", 0, 0, memory_gib=125.0)
    assert told(tmp_path) == [("4.7.2", "error")]


def test_113_what_a_launcher_leaves_in_the_environment_makes_no_other_system(tmp_path: Path) -> None:
    tree = pair(tmp_path)
    for number, leaf in enumerate(tree.leaves):
        names = ("OMPI_MCA_ess_base_jobid", "NCCL_SOCKET_IFNAME", "SLURM_JOB_ID")
        volatile = {f"/environment/{name}": str(number) for name in names}
        hosts = {"/system_info/hosts/0/uptime": number, "/system_info/hosts/0/load_average": number / 2}
        leaf.edit("metadata", volatile | hosts)
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("key", "first", "later", "told_of"),
    [
        ("kernel_version", "6.8.0-71", "6.8.0-79", ["host.kernel", "6.8.0-71", "6.8.0-79"]),
        ("kernel_version", "Linux version 6.8.0-71 (b@c) #1", "6.8.0-79", ["host.kernel", "was 6.8.0-71 in"]),
        ("kernel_version", "Linux version 6.8.0-71 (b@c) #1", "6.8.0-71", []),
        ("os_release", {"PRETTY_NAME": "Linux 1"}, {"PRETTY_NAME": "Linux 2"}, ["host.os", "Linux 1", "Linux 2"]),
        ("kernel_version", "6.8\x1b[2J", {"a": 1}, ["was 6.8\ufffd[2J in"]),
        ("uptime_seconds", 10, 20, []),
    ],
)
def test_113_what_changed_between_the_halves_is_named_with_both_values(
    tmp_path: Path, key: str, first: Any, later: Any, told_of: list[str]
) -> None:
    tree = pair(tmp_path)
    for leaf, value in zip(tree.leaves, (first, later), strict=True):
        leaf.edit("metadata", {f"/system_info/hosts/0/system/{key}": value})
    noted = findings(tmp_path, "2.1.9")
    assert [finding.severity.value for finding in noted] == ["info"] * bool(told_of)
    assert all(word in finding.message for finding in noted for word in told_of)


@pytest.mark.parametrize(
    ("first", "later", "noted"),
    [
        ([{"num_cores": 32}], [{"num_cores": 64}], 1),
        ([{"num_cores": 32}], [{"num_cores": 0}], 0),
        ([{"num_cores": 32}], [{"num_cores": -1}], 0),
        ([{"model": "Xeon"}], [{"model": " "}], 0),
        ([{"num_cores": 32}, {"num_cores": 64}], [{"num_cores": 32}], 0),
        ([{"num_cores": 32}, {"num_cores": 64}], [{"num_cores": 32}, {"num_cores": 32}], 1),
    ],
)
def test_113_what_no_host_or_not_each_host_tells_has_not_changed(
    tmp_path: Path, first: list[Any], later: list[Any], noted: int
) -> None:
    tree = pair(tmp_path)
    for leaf, hosts in zip(tree.leaves, (first, later), strict=True):
        leaf.edit("metadata", {"/system_info/hosts": [{"cpu": host} for host in hosts]})
    assert len(findings(tmp_path, "2.1.9")) == noted


# Report


def test_115_the_warm_up_is_known_by_its_place(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, au=94.0).build()
    low = {"/metric/train_au_mean_percentage": 80.0, "/metric/train_au_percentage": [80.0] * 5}
    tree.runs[0].edit("summary", {**low, "/metric/train_au_meet_expectation": "fail"})
    tree.runs[1].edit("summary", {"/start": json.loads(tree.runs[0].file("summary").read_text())["start"]})
    warned = [f for f in findings(tmp_path, "3.3.2") if f.clause in ("minimum", "warmup")]
    assert [(f.clause, f.severity.value) for f in warned] == [("warmup", "warning")]
    assert "20260701_100000 (warm-up)" in warned[0].message
    shutil.rmtree(tree.runs[0].path)
    assert told(tmp_path) == [("2.1.17", "error")]


def test_122_rack_units_are_those_of_the_product_and_the_terms_are_shown(tmp_path: Path) -> None:
    tree = pair(tmp_path / "tree")
    description = yaml.safe_load(tree.description.read_text())
    under_test = description["system_under_test"]
    under_test["total_rack_units"], under_test["product_nodes"][0]["quantity"] = 3, 1
    tree.write_description(description)
    (found,) = findings(tree.root, "2.1.7")
    assert "3 rack units" in found.message
    assert "sum to 2 rack units: 1 x 2 (product_nodes[0])" in found.message
    under_test["deployment"] = "cloud"
    for pointer in ("/total_rack_units", *(f"/{nodes}/0/chassis/{key}" for nodes in ("product_nodes", "clients")
                                           for key in ("rack_units", "power"))):  # fmt: skip
        set_pointer(under_test, pointer, DELETE)
    tree.write_description(description)
    assert told(tree.root) == []


def test_125_a_value_below_its_target_is_shown_and_one_that_is_lost_is_not_zero(tmp_path: Path) -> None:
    tree = TrainingTree(tmp_path, division="open", au=88.0).build()
    failed = [f for f in findings(tmp_path, "3.3.2") if f.clause == "minimum"]
    assert len(failed) == 5
    assert all("mean utilisation 88.0 %, the minimum of unet3d is 90.0 %" in f.message for f in failed)
    assert all("recomputed from throughput 88.0 %" in f.message for f in failed)
    tree.runs[3].edit("summary", {"/metric/train_au_mean_percentage": DELETE})
    (lost,) = [f for f in findings(tmp_path, "3.3.2") if f.outcome == "undetermined"]
    assert "20260701_130000" in lost.path
    assert "not known" in lost.message
