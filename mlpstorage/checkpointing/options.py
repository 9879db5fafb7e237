"""The command line of ``mlpstorage checkpointing run``.

argparse, not Typer: the gate's answer must come fast, and importing Typer costs more than judging the run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rules.derived import checkpointing as derived
from rules.tables import reference_rows

from .exits import Parser, UsageError
from .plan import READ_KEY, WRITE_KEY, Plan
from .planning import ENVIRONMENT, plan_of

EPILOG = """\
exit status:
  0    legal (and, without --dry-run, the benchmark succeeded)
  1    a rule forbids it: nothing was started
  2    the command line is wrong, or the answer cannot be written
  3    the machine is not ready (mpirun, DLIO, memory, disk): nothing was started
  4    the benchmark failed; the run leaf holds its logs
  5    a rule or this program is broken
  130  interrupted (Ctrl-C); the run leaf says so

environment: MLPSTORAGE_CHECKPOINT_FOLDER, MLPSTORAGE_RESULTS_DIR, MLPSTORAGE_SYSTEMNAME,
MLPSTORAGE_ORGNAME and MLPSTORAGE_EDITION stand in for the options of the same name.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed command line: the plan, and how to answer."""

    plan: Plan
    dry_run: bool
    output: str


def parser() -> Parser:
    """The parser of everything after ``mlpstorage checkpointing run``."""
    result = Parser(
        prog="mlpstorage checkpointing run",
        description="Judge a checkpointing run by the rules; if it is legal and the machine is ready, run it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = result.add_argument
    add("division", choices=("closed", "open", "whatif"), help="whatif: any size, never submitted")
    add("--model", required=True, help=f"one of {', '.join(derived.model_names())}")
    add("--num-processes", "-n", metavar="N", help="MPI ranks (default: the model's CLOSED count)")
    add("--checkpoint-subset", action="store_true", help="declare a subset run; recorded, and judged by rule 4.3.5")
    add("--hosts", action="extend", nargs="+", metavar="HOST[:SLOTS]", help="client hosts (default: this one)")
    add("--checkpoint-folder", metavar="DIR", help="root of the checkpoints (default: ./checkpoints)")
    add("--results-dir", metavar="DIR", help="root of the results tree (default: ./results)")
    reference = reference_rows("checkpointing-workload")
    for verb, key in (("write", WRITE_KEY), ("read", READ_KEY)):
        text = f"checkpoints to {verb} (default: {reference[key]['value']})"
        add(f"--num-checkpoints-{verb}", metavar="N", help=text)
    add("--accelerator-type", metavar="T", help="accelerator that the ranks stand for, e.g. b200")
    add("--systemname", metavar="S", help="system under test; names the results")
    add("--orgname", metavar="O", help="submitter (default: orgname in RESULTS_DIR/mlperf-results.yaml)")
    add("--param", "--params", action="extend", nargs="+", metavar="KEY=VALUE", help="override of the DLIO workload")
    add("--api", "--data-access-protocol", choices=("file", "object"), help="access protocol (default: file)")
    add("--o-direct", action="store_true", help="open files with O_DIRECT (file API)")
    add("--client-host-memory-in-gb", metavar="GB", help="memory of a client, where the probe cannot tell")
    add("--mpi-bin", metavar="PATH", help="mpirun, or an mpiexec that takes --ppn (default: mpirun)")
    add("--mpi-params", action="append", metavar="ARGS", help="more for mpirun: --mpi-params='--bind-to core'")
    add("--mpi-btl", choices=("auto", "vader", "tcp"), help="transport of Open MPI (default: its own choice)")
    add("--oversubscribe", action="store_true", help="let mpirun place more ranks than slots")
    add("--allow-run-as-root", action="store_true", help="passed on to mpirun")
    add("--dlio-bin-path", metavar="PATH", help="dlio_benchmark, or the directory that holds it")
    add("--edition", "--rules-edition", metavar="E", help="edition of the rule book")
    add("--dry-run", action="store_true", help="judge and show the command; create, contact and start nothing")
    add("--format", choices=("text", "json"), default="text", help="json: one object on standard output")
    return result


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Request:
    """The request that a command line makes. Raises UsageError with one line for the user."""
    _readable(arguments, environment)
    options = parser().parse(arguments)
    return Request(plan_of(options, environment), bool(options.dry_run), str(options.format))


def _readable(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raises UsageError for bytes that are no text: nothing could judge, record or pass them on."""
    variables = (f"{name}={environment.get(name, '')}" for name in ENVIRONMENT)
    for word in (*arguments, *variables):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{word!a} is no text in {sys.getfilesystemencoding()}, the encoding of this locale"
            ) from None
