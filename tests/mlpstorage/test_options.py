"""Command line to plan: defaults, where each value came from, and usage errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlpstorage.checkpointing.exits import UsageError
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.plan import Plan
from mlpstorage.cli import modal_order


def plan(*arguments: str, division: str = "closed", model: str = "llama3-8b", **environment: str) -> Plan:
    return parse([division, "--model", model, *arguments], environment).plan


def test_model_alone_is_enough_to_be_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    asked = plan()
    assert (asked.num_processes, asked.checkpoint_subset, asked.hosts) == (8, False, (("127.0.0.1", None),))
    assert (asked.num_checkpoints_write, asked.num_checkpoints_read) == (10, 10)
    assert (asked.checkpoint_folder, asked.results_dir) == (f"{tmp_path}/checkpoints", f"{tmp_path}/results")
    assert asked.source("num_processes") == asked.source("checkpoint_folder") == "default"


@pytest.mark.parametrize(
    ("model", "count"),
    [("llama3-8b", 8), ("llama3-70b", 64), ("llama3-405b", 512), ("llama3-1t", 1024), ("llama9", None)],
)
def test_process_count_defaults_to_the_closed_count(model: str, count: int | None) -> None:
    assert plan(model=model).num_processes == count


@pytest.mark.parametrize(
    ("arguments", "hosts"),
    [
        (["--hosts", "a:8,b:8"], [("a", 8), ("b", 8)]),
        (["--hosts", "a:8", "b:8"], [("a", 8), ("b", 8)]),
        (["--hosts", "a:8", "--hosts", "b:8"], [("a", 8), ("b", 8)]),
        (["--hosts", "A, b"], [("a", None), ("b", None)]),
        (["--hosts", "a:4", "a:4"], [("a", 8)]),
        (["--hosts", "[2001:db8::1]:16", "--mpi-bin", "mpiexec"], [("2001:db8::1", 16)]),
    ],
)
def test_hosts_in_every_accepted_spelling(arguments: list[str], hosts: list[tuple[str, int | None]]) -> None:
    assert list(plan(*arguments).hosts) == hosts


@pytest.mark.parametrize(
    ("arguments", "placement"),
    [
        (["-n", "64", "--hosts", "a,b,c,d"], [16, 16, 16, 16]),
        (["-n", "10", "--hosts", "a,b,c"], [4, 3, 3]),
        (["-n", "64", "--hosts", "a:60", "b:4"], [60, 4]),
        (["-n", "10", "--hosts", "a,b,c", "--mpi-bin", "/opt/mpiexec"], [4, 4, 2]),
        (["-n", "10", "--hosts", "a,b,c", "--mpi-params=--map-by ppr:5:node"], [3, 3, 3]),
    ],
)
def test_placement_follows_the_launcher(arguments: list[str], placement: list[int]) -> None:
    assert plan(*arguments).placement == placement


def test_options_win_over_the_environment_and_are_named_as_source() -> None:
    environment = {"MLPSTORAGE_CHECKPOINT_FOLDER": "/mnt/env", "MLPSTORAGE_RESULTS_DIR": "/res/env"}
    asked = plan("--checkpoint-folder", "/mnt/option", **environment)
    assert (asked.checkpoint_folder, asked.source("checkpoint_folder")) == ("/mnt/option", "--checkpoint-folder")
    assert (asked.results_dir, asked.source("results_dir")) == ("/res/env", "MLPSTORAGE_RESULTS_DIR")


def test_empty_variable_is_unset_and_empty_option_is_empty() -> None:
    assert plan(MLPSTORAGE_CHECKPOINT_FOLDER="").checkpoint_folder.endswith("/checkpoints")
    assert plan("--checkpoint-folder", "").checkpoint_folder == ""


def test_params_in_every_accepted_spelling() -> None:
    asked = plan("--param", "model.num_layers=2", "framework=pytorch", "--params", "++workload.checkpoint.fsync=true")
    assert asked.params == {"model.num_layers": "2", "framework": "pytorch", "checkpoint.fsync": "true"}


def test_numbers_of_the_architecture_reach_dlio_as_they_were_judged() -> None:
    assert plan("--param", "model.num_layers=02").params == {"model.num_layers": "2"}


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"MLPSTORAGE_SYSTEMNAME": "a b"}, "MLPSTORAGE_SYSTEMNAME: 'a b' cannot name"),
        ({"MLPSTORAGE_ORGNAME": "a/b"}, "MLPSTORAGE_ORGNAME: 'a/b' cannot name"),
        ({"MLPSTORAGE_RESULTS_DIR": "/x\udcff"}, "'MLPSTORAGE_RESULTS_DIR=/x\\udcff' is no text"),
        ({"MLPSTORAGE_RESULTS_DIR": "/x${a}"}, "MLPSTORAGE_RESULTS_DIR holds '${'"),
    ],
)
def test_a_variable_is_to_blame_for_its_own_value(environment: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(**environment)
    assert says in str(caught.value)


def test_modal_order_is_the_same_command() -> None:
    assert modal_order(["closed", "checkpointing", "run", "--model", "x"]) == [
        "checkpointing", "run", "closed", "--model", "x",
    ]  # fmt: skip
    assert modal_order(["rules", "list"]) == ["rules", "list"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--num-processes", "0"], "--num-processes: 0 is out of range"),
        (["--num-processes", "many"], "'many' is not a whole number"),
        (["--num-processes", "8.5"], "'8.5' is not a whole number"),
        (["--num-processes", "9" * 23], f"--num-processes: {'9' * 23} is out of range, 1 to 2147483647"),
        (["--num-processes", "9" * 5000], "is out of range, 1 to 2147483647"),
        (["--num-processes", "2147483648"], "is out of range, 1 to 2147483647"),
        (["--num-processes", "-8"], "-8 is out of range"),
        (["--num-checkpoints-write", "-1"], "--num-checkpoints-write: -1 is out of range"),
        (["--num-checkpoints-read", "-1"], "--num-checkpoints-read: -1 is out of range"),
        (["--hosts", "a:4"], "4 slots on 1 host(s) cannot hold 8 processes"),
        (["--hosts", "a:0"], "slots must be a positive integer"),
        (["--hosts", ","], "no host named"),
        (["--hosts", "a:4", "[2001:db8::1]:4"], "'2001:db8::1' is an IPv6 address, which mpirun cannot take"),
        (["--hosts", "10.0.0.1", "::1"], "'::1' is an IPv6 address, which mpirun cannot take"),
        (["--hosts", "a;reboot"], "is not a host name"),
        (["--hosts", "a:8:9"], "'a:8:9' is not a host name, nor one with its slots"),
        (["--hosts", "a:99999999999999999999"], "slots on a are out of range, 1 to 2147483647"),
        (["--param", "fsync"], "is not key=value"),
        (["--param", "checkpoint.checkpoint_folder=/x"], "use --checkpoint-folder"),
        (["--param", "checkpoint.mode=subset"], "it follows from the process count"),
        (["--param", "storage.storage_type=local_fs"], "use --api or --o-direct"),
        (["--param", "storage.storage_root=."], "use --checkpoint-folder"),
        (["--param", "checkpoint=x"], "checkpoint is a whole section; name one setting of it, as checkpoint."),
        (["--param", "storage=x"], "storage is a whole section"),
        (["--param", "model.parallelism=x"], "model.parallelism is a whole section"),
        (["--param", "checkpoint.fsync.a=1"], "checkpoint.fsync is one setting and has none below it"),
        (["--param", "checkpoint.time_between_checkpoints=05"], "DLIO takes 05 for text"),
        (["--param", "model.parallelism.tensor=1000000", "model.parallelism.pipeline=100"], "are 100000000 ranks"),
        (["--param", "a=\udcff"], "is no text in utf-8, the encoding of this locale"),
        (["--checkpoint-folder", "/x\udcff"], "'/x\\udcff' is no text"),
        (["--checkpoint-folder", "/f${HOME}x"], "--checkpoint-folder holds '${'"),
        (["--results-dir", "/f${oc.env:HOME}x"], "--results-dir holds '${'"),
        (["--results-dir", "/f\nx"], "--results-dir holds '${' or a line break"),
        (["--param", "model.num_layers=two"], "'two' is not a whole number"),
        (["--param", "model.num_layers=0"], "out of range"),
        (["--param", "framework=${oc.env:HOME}"], "DLIO would interpret"),
        (["--param", "storage.storage_options.secret_key=abc"], "looks like a credential"),
        (["--param", "storage.endpoint=https://me:abc@host"], "looks like a credential"),
        (["--mpi-params=-x AWS_SECRET_ACCESS_KEY=abc"], "looks like a credential"),
        (["--mpi-params=-x URL=http://u:abc@h/"], "URL looks like a credential"),
        (["--mpi-params=--token abc"], "token looks like a credential"),
        (["--mpi-params=: hostname"], "begins a second program"),
        (["--mpi-params='unclosed"], "No closing quotation"),
        (["--checkpoint-folder", "s3://b/p"], "give --api object"),
        (["--api", "object", "--checkpoint-folder", "s3://s3://b/p"], "has a second scheme in it"),
        (["--api", "object", "--checkpoint-folder", "s3:/b/p"], "has one slash, or none, after its scheme"),
        (["--api", "object", "--o-direct"], "cannot be combined"),
        (["--systemname", "../x"], "cannot name a directory"),
        (["--orgname", "a/b"], "cannot name a directory"),
        (["--systemname", ""], "--systemname: it is empty"),
        (["--orgname", " "], "--orgname: it is empty"),
        (["--mpi-bin", ""], "--mpi-bin: it is empty"),
        (["--dlio-bin-path", ""], "--dlio-bin-path: it is empty"),
        (["--client-host-memory-in-gb", "nan"], "is not a positive number"),
        (["--no-such-option"], "unrecognized arguments"),
    ],
)
def test_usage_errors_are_one_line_and_quote_no_secret(arguments: list[str], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(*arguments)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        *((f"{word} 3", "--num-processes") for word in ("-n", "-np", "--n", "--np", "-c")),
        *((f"{word} a,b", "--hosts") for word in ("-H", "-host", "--host", "--hosts")),
        *((f"{word} file", "--hosts") for word in ("-hostfile", "--hostfile", "-machinefile", "--machinefile")),
        ("--hostf file", "--hosts"),
        ("--ppn 4", "--hosts"),
        ("--ppn=4", "--hosts"),
        ("--bind-to core -n 3", "--num-processes"),
    ],
)
def test_mpi_params_cannot_change_what_was_judged(words: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"--mpi-params: .* cannot be set here: use {option}"):
        plan(f"--mpi-params={words}")


def test_other_mpi_params_pass_whatever_their_values() -> None:
    assert plan("--mpi-params=--bind-to core -x n --mca c host").mpi_params[-2:] == ("c", "host")


@pytest.mark.parametrize("division", ["open", "whatif"])
def test_a_run_that_does_nothing_is_no_run(division: str) -> None:
    with pytest.raises(UsageError, match="does nothing"):
        plan("--num-checkpoints-write", "0", "--num-checkpoints-read", "0", division=division)


def test_leading_zeros_are_no_size() -> None:
    assert plan("-n", "+" + "0" * 5000 + "8").num_processes == 8


def test_slots_may_be_short_when_oversubscribed() -> None:
    assert plan("--hosts", "a:4", "--oversubscribe").placement == [8]


def overrides(*arguments: str, **named: Any) -> dict[str, str]:
    return plan("--checkpoint-folder", "/mnt/c", *arguments, **named).overrides()


def test_whole_run_overrides_folder_and_counts_alone() -> None:
    assert overrides("--checkpoint-subset") == {
        "checkpoint.num_checkpoints_read": "10",
        "checkpoint.num_checkpoints_write": "10",
        "checkpoint.checkpoint_folder": "/mnt/c/llama3-8b",
    }


@pytest.mark.parametrize(
    ("model", "count", "data"), [("llama3-8b", "2", "8"), ("llama3-70b", "8", "8"), ("llama3-1t", "512", "2")]
)
def test_run_below_the_closed_count_is_labelled_a_subset_with_dp_held(model: str, count: str, data: str) -> None:
    changed = overrides("-n", count, model=model)
    assert (changed["checkpoint.mode"], changed["model.parallelism.data"]) == ("subset", data)


def test_declaration_changes_nothing_in_the_execution() -> None:
    assert overrides("-n", "2", "--checkpoint-subset") == overrides("-n", "2")


def test_object_overrides_name_the_bucket_and_drop_the_scheme() -> None:
    changed = plan(
        "--api", "object", "--checkpoint-folder", "s3://bucket/some/where", AWS_ENDPOINT_URL="http://192.0.2.1"
    ).overrides()  # fmt: skip
    assert changed["storage.storage_root"] == "bucket"
    assert changed["storage.s3_force_path_style"] == "true"
    assert changed["storage.storage_options.uri_scheme"] == "s3"
    assert changed["checkpoint.checkpoint_folder"] == "bucket/some/where/llama3-8b"


def test_shrunk_model_shrinks_the_checkpoint() -> None:
    shrunk = plan("-n", "2", "--param", "model.num_layers=2", "model.transformer.vocab_size=1000", division="whatif")
    assert plan().checkpoint_gib == pytest.approx(104.704521, abs=1e-6)
    assert shrunk.checkpoint_gib is not None
    assert 0 < shrunk.checkpoint_gib < 2
