"""Command line of ``mlpstorage checkpointing run`` to a :class:`Plan`.

argparse, not Typer: the gate's answer must come fast, and importing Typer costs more than judging the run.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlpstorage.results.credentials import recorded_credentials
from mlpstorage.results.text import shorten
from rules.derived import checkpointing as derived
from rules.derived.locations import location, uri_problem
from rules.derived.variables import storage_variables
from rules.tables import reference_rows

from .exits import Parser, UsageError, integer, uninterpreted
from .params import params
from .plan import LOCAL_HOST, READ_KEY, WRITE_KEY, Plan

ENV_FOLDER = "MLPSTORAGE_CHECKPOINT_FOLDER"
ENV_RESULTS = "MLPSTORAGE_RESULTS_DIR"
ENV_SYSTEM = "MLPSTORAGE_SYSTEMNAME"
ENV_ORG = "MLPSTORAGE_ORGNAME"
ENV_EDITION = "MLPSTORAGE_EDITION"
ENVIRONMENT = (ENV_FOLDER, ENV_RESULTS, ENV_SYSTEM, ENV_ORG, ENV_EDITION)

MAX_PROCESSES = 2**31 - 1
"""MPI counts ranks with a C int."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")
_OWN_MPI_PARAMS = {
    **dict.fromkeys(("n", "np", "c"), "--num-processes"),
    **dict.fromkeys(("H", "host", "hosts", "hostfile", "machinefile", "ppn"), "--hosts"),
}
"""Arguments of the launcher (without dashes) that this tool sets, and from which option: it judges what it starts."""

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
    return Request(_plan(options, environment), bool(options.dry_run), str(options.format))


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


def _plan(options: argparse.Namespace, environment: Mapping[str, str]) -> Plan:
    sources: dict[str, str] = {"division": "command line", "model": "--model", "environment": "environment"}

    def given(field: str, option: str, value: Any, variable: str = "") -> Any:
        """The option's value, or the variable's; remembers which."""
        if value is not None and value is not False:
            sources[field] = option
            return value
        if variable and environment.get(variable):
            sources[field] = variable
            return environment[variable]
        return value

    for option in ("--systemname", "--orgname", "--mpi-bin", "--dlio-bin-path"):
        value = getattr(options, option.removeprefix("--").replace("-", "_"))
        if value is not None and not value.strip():
            raise UsageError(f"{option}: it is empty; name something or leave the option out")
    model = options.model.strip()
    count = given("num_processes", "--num-processes", options.num_processes)
    processes = (
        derived.closed_processes(model) if count is None else integer("--num-processes", count, 1, MAX_PROCESSES)
    )
    hosts = _hosts(given("hosts", "--hosts", options.hosts))
    oversubscribe = bool(given("oversubscribe", "--oversubscribe", options.oversubscribe))
    _check_slots(hosts, processes, oversubscribe)
    api = given("api", "--api", options.api) or "file"
    o_direct = bool(given("o_direct", "--o-direct", options.o_direct))
    if api == "object" and o_direct:
        raise UsageError("--o-direct applies to files; it cannot be combined with --api object")
    overrides = params(given("params", "--param", options.param) or [], model)
    mpi_params = tuple(_mpi_params(given("mpi_params", "--mpi-params", options.mpi_params) or []))
    system = given("systemname", "--systemname", options.systemname, ENV_SYSTEM)
    organisation = given("orgname", "--orgname", options.orgname, ENV_ORG)
    folder = given("checkpoint_folder", "--checkpoint-folder", options.checkpoint_folder, ENV_FOLDER)
    results = given("results_dir", "--results-dir", options.results_dir, ENV_RESULTS)
    reference = reference_rows("checkpointing-workload")
    writes = given("num_checkpoints_write", "--num-checkpoints-write", options.num_checkpoints_write)
    writes = str(reference[WRITE_KEY]["value"]) if writes is None else writes
    reads = given("num_checkpoints_read", "--num-checkpoints-read", options.num_checkpoints_read)
    reads = str(reference[READ_KEY]["value"]) if reads is None else reads
    checkpoints_written = integer("--num-checkpoints-write", writes, 0, MAX_PROCESSES)
    checkpoints_read = integer("--num-checkpoints-read", reads, 0, MAX_PROCESSES)
    accelerator = given("accelerator", "--accelerator-type", options.accelerator_type)
    memory = given("client_memory_gib", "--client-host-memory-in-gb", options.client_host_memory_in_gb)
    plan = Plan(
        division=options.division,
        model=model,
        num_processes=processes,
        checkpoint_folder=uninterpreted(sources.get("checkpoint_folder", "--checkpoint-folder"), _folder(folder, api)),
        results_dir=uninterpreted(
            sources.get("results_dir", "--results-dir"), _absolute("results" if results is None else results)
        ),
        num_checkpoints_write=checkpoints_written,
        num_checkpoints_read=checkpoints_read,
        checkpoint_subset=bool(given("checkpoint_subset", "--checkpoint-subset", options.checkpoint_subset)),
        hosts=hosts,
        accelerator=accelerator.strip().lower() or None if accelerator is not None else None,
        systemname=checked_name(sources.get("systemname", ""), system),
        orgname=checked_name(sources.get("orgname", ""), organisation),
        params=overrides,
        api=api,
        o_direct=o_direct,
        storage_library=environment.get("STORAGE_LIBRARY") or "s3dlio",
        endpoint_set=bool(environment.get("AWS_ENDPOINT_URL") or environment.get("AWS_ENDPOINT_URL_S3")),
        environment=tuple(storage_variables(environment)),
        client_memory_gib=None if memory is None else _positive("--client-host-memory-in-gb", memory),
        mpi_bin=given("mpi_bin", "--mpi-bin", options.mpi_bin) or "mpirun",
        mpi_params=mpi_params,
        mpi_btl=options.mpi_btl or "auto",
        oversubscribe=oversubscribe,
        allow_run_as_root=options.allow_run_as_root,
        dlio_bin_path=given("dlio_bin_path", "--dlio-bin-path", options.dlio_bin_path) or None,
        edition=given("edition", "--edition", options.edition, ENV_EDITION) or "",
        sources=sources,
    )
    if plan.does_nothing and plan.division != "closed":
        # In closed rule 4.7.1 says so, with what is legal.
        raise UsageError(
            "--num-checkpoints-write 0 and --num-checkpoints-read 0 make a run that does nothing; leave one of them out"
        )
    addresses = [name for name, _ in hosts if ":" in name]
    if addresses and not plan.block_placement:
        # Open MPI ends the name of a host at its first colon, in brackets or not.
        raise UsageError(
            f"--hosts: {addresses[0]!r} is an IPv6 address, which mpirun cannot take; give the host's name"
        )
    return plan


def _positive(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"{option}: {text!r} is not a positive number")
    return value


def checked_name(option: str, text: str | None) -> str | None:
    """A name that becomes a directory of the results tree; None where it is empty. Raises UsageError."""
    if text is None or not text.strip():
        return None
    name = text.strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{option}: {name!r} cannot name a directory of the results tree; use letters, digits, '.', '_' and '-'"
        )
    return name


def _hosts(entries: list[str] | None) -> tuple[tuple[str, int | None], ...]:
    if entries is None:
        return ((LOCAL_HOST, None),)
    try:
        hosts = derived.parse_hosts(entries)
    except ValueError as error:
        raise UsageError(f"--hosts: {error}") from error
    if not hosts:
        raise UsageError("--hosts: no host named; give host[:slots], separated by spaces or commas")
    for name, slots in hosts:
        if slots is not None and slots > MAX_PROCESSES:
            raise UsageError(f"--hosts: {shorten(str(slots))} slots on {name} are out of range, 1 to {MAX_PROCESSES}")
        # A leading '-' would be an option of mpirun.
        if not _HOST.fullmatch(name) or name.startswith("-") or (":" in name and not _is_address(name)):
            raise UsageError(f"--hosts: {name!r} is not a host name, nor one with its slots")
    return tuple(hosts)


def _is_address(name: str) -> bool:
    import ipaddress

    try:
        ipaddress.IPv6Address(name)
    except ValueError:
        return False
    return True


def _check_slots(hosts: tuple[tuple[str, int | None], ...], processes: int | None, oversubscribe: bool) -> None:
    slots = [count for _, count in hosts]
    if processes is None or oversubscribe or None in slots:
        return
    total = sum(count for count in slots if count is not None)
    if total < processes:
        raise UsageError(
            f"--hosts: {total} slots on {len(hosts)} host(s) cannot hold {processes} processes; "
            "name more slots or hosts, or give --oversubscribe"
        )


def _mpi_params(entries: list[str]) -> list[str]:
    import shlex

    words: list[str] = []
    for entry in entries:
        try:
            words += shlex.split(entry)
        except ValueError as error:
            raise UsageError(f"--mpi-params: {entry!r}: {error}") from error
    for word in words:
        name = word.partition("=")[0]
        if word == ":":
            raise UsageError("--mpi-params: ':' begins a second program, which no rule has judged")
        own = _own_option(name)
        if own is not None:
            raise UsageError(f"--mpi-params: {name} cannot be set here: use {own}")
    secret = next(recorded_credentials(words), None)
    if secret is not None:
        raise UsageError(f"--mpi-params: {secret} looks like a credential and would be recorded; forward it by name")
    return words


def _own_option(name: str) -> str | None:
    """The option of this tool that an argument of the launcher belongs to; the launcher takes long names cut short."""
    bare = name.lstrip("-")
    if bare == name:
        return None
    whole = next((own for own in _OWN_MPI_PARAMS if len(bare) > len("host") and own.startswith(bare)), bare)
    return _OWN_MPI_PARAMS.get(whole)


def _folder(text: str | None, api: str) -> str:
    if api == "object":
        folder = (text or "").strip()
        problem = uri_problem(folder, api)
        if problem:
            raise UsageError(f"--checkpoint-folder: {location(folder, api)!r} {problem}; write it as s3://bucket/path")
        return folder
    if text is None:
        return _absolute("checkpoints")
    if "://" in text:
        raise UsageError(f"--checkpoint-folder: {text!r} is an object URI; give --api object")
    return _absolute(text)


def _absolute(text: str) -> str:
    """An absolute path without looking at the disk; empty stays empty (rule 4.4.1 judges that)."""
    return os.path.abspath(os.path.expanduser(text.strip())) if text.strip() else ""
