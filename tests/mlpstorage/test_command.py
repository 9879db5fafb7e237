"""The argv: a list, secrets by name, every path as one word; and the workload file that is generated for DLIO."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mlpstorage.checkpointing import command
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.plan import Plan
from rules.derived import checkpointing as derived


def plan(*arguments: str, model: str = "llama3-8b", environment: tuple[str, ...] = ()) -> Plan:
    words = ["closed", "--model", model, "--checkpoint-folder", "/mnt/c", *arguments]
    return parse(words, dict.fromkeys(environment, "set")).plan


def argv(asked: Plan, leaf: str = "/res/leaf") -> list[str]:
    return command.benchmark(asked, launcher="mpirun", python="python", leaf=leaf, config_dir="/cfg")


def launcher_part(asked: Plan) -> str:
    words = argv(asked)
    return " ".join(words[: words.index("python")])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "mpirun -n 8 -host 127.0.0.1:8 --bind-to none --map-by slot"),
        (["--hosts", "a,b", "-n", "9"], "mpirun -n 9 -host a:5,b:4 --bind-to none --map-by node"),
        (["--hosts", "a:8,b:8"], "mpirun -n 8 -host a:8,b:8 --bind-to none --map-by node"),
        (["--mpi-btl", "tcp"], "mpirun -n 8 -host 127.0.0.1:8 --bind-to none --map-by slot --mca btl tcp,self"),
        (["--mpi-params=--bind-to core"], "mpirun -n 8 -host 127.0.0.1:8 --map-by slot --bind-to core"),
        (["--mpi-params=--map-by ppr:8:node"], "mpirun -n 8 -host 127.0.0.1:8 --bind-to none --map-by ppr:8:node"),
        (
            ["--oversubscribe", "--allow-run-as-root"],
            "mpirun -n 8 -host 127.0.0.1:8 --bind-to none --map-by slot --oversubscribe --allow-run-as-root",
        ),
        (
            ["--hosts", "a,b,c", "-n", "8", "--mpi-bin", "mpiexec"],
            "mpirun -n 8 --ppn 3 --hosts a,b,c --cpu-bind none",
        ),
    ],
)
def test_launcher_arguments(arguments: list[str], expected: str) -> None:
    assert launcher_part(plan(*arguments)) == expected


def test_object_credentials_are_forwarded_by_name_only() -> None:
    names = ("AWS_SECRET_ACCESS_KEY", "BUCKET", "HOME", "HF_TOKEN")
    words = argv(plan("--api", "object", "--checkpoint-folder", "s3://b/p", environment=names))
    forwarded = [words[index + 1] for index, word in enumerate(words) if word == "-x"]
    assert forwarded == ["AWS_SECRET_ACCESS_KEY", "BUCKET"]


def test_file_runs_forward_nothing() -> None:
    assert "-x" not in argv(plan(environment=("AWS_SECRET_ACCESS_KEY",)))


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("/mnt/ckpt-1/llama3-8b", "/mnt/ckpt-1/llama3-8b"),
        ("/mnt/a b", "'/mnt/a b'"),
        ("it's", r"'it\'s'"),
        ("a=b,{c}", "'a=b,{c}'"),
        ("", "''"),
        ("end\\", r"'end\\'"),
    ],
)
def test_values_are_quoted_for_hydra_where_they_must(value: str, quoted: str) -> None:
    assert command.quoted(value) == quoted


@pytest.mark.parametrize("value", ["/mnt/a b", "it's", "a=b,{c}[d]", "x\\", "x\\'y", "tab\there"])
def test_hydra_reads_the_quoted_value_back(value: str) -> None:
    grammar = pytest.importorskip("hydra.core.override_parser.overrides_parser", reason="hydra is not installed")
    (override,) = grammar.OverridesParser.create().parse_overrides([f"++k={command.quoted(value)}"])
    assert override.value() == value


@pytest.mark.parametrize("model", derived.model_names())
def test_workload_file_is_the_reference_and_nothing_else(model: str, tmp_path: Path) -> None:
    path = command.write_workload(plan(model=model), tmp_path)
    assert path.relative_to(tmp_path).as_posix() == f"workload/{model.replace('-', '_')}.yaml"
    written = yaml.safe_load(path.read_text())
    assert derived.flatten(written) == derived.reference_workload(model)
    assert written["checkpoint"]["fsync"] is True
    assert isinstance(written["model"]["num_layers"], int)


def test_interpreter_is_that_of_the_start_script(tmp_path: Path) -> None:
    script = tmp_path / "dlio_benchmark"
    script.write_text("#!/opt/venv/bin/python3.12\nimport dlio_benchmark\n")
    for named in (script, tmp_path):
        assert command.find_dlio_python(plan("--dlio-bin-path", str(named))) == "/opt/venv/bin/python3.12"
    assert command.find_dlio_python(plan("--dlio-bin-path", str(tmp_path / "nowhere"))) is None


def test_interpreter_behind_a_shell_wrapper_is_the_one_beside(tmp_path: Path) -> None:
    (tmp_path / "dlio_benchmark").write_text("#!/bin/sh\n'''exec' /a/very/long/path/python \"$0\"\n")
    assert command.find_dlio_python(plan("--dlio-bin-path", str(tmp_path))) is None
    (tmp_path / "python").touch()
    assert command.find_dlio_python(plan("--dlio-bin-path", str(tmp_path))) == str(tmp_path / "python")
