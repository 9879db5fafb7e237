"""What the options of ``mlpstorage checkpointing run`` ask for, as a :class:`Plan`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any

from mlpstorage.results.credentials import recorded_credentials
from mlpstorage.results.text import shorten
from rules.derived import checkpointing as derived
from rules.derived.locations import location, uri_problem
from rules.derived.variables import storage_variables
from rules.tables import reference_rows

from .exits import UsageError
from .params import params
from .plan import LOCAL_HOST, READ_KEY, WRITE_KEY, Plan
from .values import absolute, checked_name, integer, positive, uninterpreted

ENV_FOLDER = "MLPSTORAGE_CHECKPOINT_FOLDER"
ENV_RESULTS = "MLPSTORAGE_RESULTS_DIR"
ENV_SYSTEM = "MLPSTORAGE_SYSTEMNAME"
ENV_ORG = "MLPSTORAGE_ORGNAME"
ENV_EDITION = "MLPSTORAGE_EDITION"
ENVIRONMENT = (ENV_FOLDER, ENV_RESULTS, ENV_SYSTEM, ENV_ORG, ENV_EDITION)

_MOST = 2**31 - 1
"""MPI counts ranks with a C int."""
_NAMES = ("--systemname", "--orgname", "--mpi-bin", "--dlio-bin-path")
"""Options whose value names something."""
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")
_OWN_MPI_PARAMS = {
    **dict.fromkeys(("n", "np", "c"), "--num-processes"),
    **dict.fromkeys(("H", "host", "hosts", "hostfile", "machinefile", "ppn"), "--hosts"),
}
"""Arguments of the launcher (without dashes) that this tool sets, and from which option: it judges what it starts."""


def _stated(options: argparse.Namespace, option: str) -> Any:
    return getattr(options, option.removeprefix("--").replace("-", "_"))


class _Given:
    """The values of options, or of environment variables in their place; ``sources`` keeps which gave each field."""

    def __init__(self, options: argparse.Namespace, environment: Mapping[str, str]) -> None:
        self.sources = {"division": "command line", "model": "--model", "environment": "environment"}
        self._options = options
        self._environment = environment

    def __call__(self, field: str, option: str, variable: str = "") -> Any:
        """The option's value, or the variable's; None, or False of a switch, where neither was given."""
        value = _stated(self._options, option)
        if value is not None and value is not False:
            self.sources[field] = option
        elif variable and self._environment.get(variable):
            self.sources[field] = variable
            return self._environment[variable]
        return value

    def number(self, field: str, option: str, least: int) -> int | None:
        """The whole number that the option states. Raises UsageError."""
        text = self(field, option)
        return None if text is None else integer(option, text, least, _MOST)

    def name(self, field: str, option: str, variable: str) -> str | None:
        """The name of a directory of the results tree. Raises UsageError."""
        text = self(field, option, variable)
        return checked_name(self.sources.get(field, ""), text)

    def place(self, field: str, option: str, variable: str, read: Callable[[str | None], str]) -> str:
        """What ``read`` makes of it: a path or a location, which DLIO takes as it is. Raises UsageError."""
        where = read(self(field, option, variable))
        return uninterpreted(self.sources.get(field, option), where)


def plan_of(options: argparse.Namespace, environment: Mapping[str, str]) -> Plan:
    """The plan that parsed options make. Raises UsageError with one line for the user."""
    _refuse_empty(options)
    given = _Given(options, environment)
    reference = reference_rows("checkpointing-workload")
    model, api = options.model.strip(), given("api", "--api") or "file"
    processes = given.number("num_processes", "--num-processes", 1)
    writes = given.number("num_checkpoints_write", "--num-checkpoints-write", 0)
    reads = given.number("num_checkpoints_read", "--num-checkpoints-read", 0)
    accelerator = given("accelerator", "--accelerator-type")
    memory = given("client_memory_gib", "--client-host-memory-in-gb")
    plan = Plan(
        division=options.division,
        model=model,
        num_processes=derived.closed_processes(model) if processes is None else processes,
        checkpoint_folder=given.place(
            "checkpoint_folder", "--checkpoint-folder", ENV_FOLDER, lambda text: _folder(text, api)
        ),
        results_dir=given.place(
            "results_dir", "--results-dir", ENV_RESULTS, lambda text: absolute("results" if text is None else text)
        ),
        num_checkpoints_write=int(reference[WRITE_KEY]["value"]) if writes is None else writes,
        num_checkpoints_read=int(reference[READ_KEY]["value"]) if reads is None else reads,
        checkpoint_subset=bool(given("checkpoint_subset", "--checkpoint-subset")),
        hosts=_hosts(given("hosts", "--hosts")),
        accelerator=accelerator.strip().lower() or None if accelerator is not None else None,
        systemname=given.name("systemname", "--systemname", ENV_SYSTEM),
        orgname=given.name("orgname", "--orgname", ENV_ORG),
        params=params(given("params", "--param") or [], model),
        api=api,
        o_direct=bool(given("o_direct", "--o-direct")),
        storage_library=environment.get("STORAGE_LIBRARY") or "s3dlio",
        endpoint_set=bool(environment.get("AWS_ENDPOINT_URL") or environment.get("AWS_ENDPOINT_URL_S3")),
        environment=tuple(storage_variables(environment)),
        client_memory_gib=None if memory is None else positive("--client-host-memory-in-gb", memory),
        mpi_bin=given("mpi_bin", "--mpi-bin") or "mpirun",
        mpi_params=tuple(_mpi_params(given("mpi_params", "--mpi-params") or [])),
        mpi_btl=options.mpi_btl or "auto",
        oversubscribe=bool(given("oversubscribe", "--oversubscribe")),
        allow_run_as_root=options.allow_run_as_root,
        dlio_bin_path=given("dlio_bin_path", "--dlio-bin-path") or None,
        edition=given("edition", "--edition", ENV_EDITION) or "",
        sources=given.sources,
    )
    _refuse_contradictions(plan)
    return plan


def _refuse_empty(options: argparse.Namespace) -> None:
    for option in _NAMES:
        value = _stated(options, option)
        if value is not None and not value.strip():
            raise UsageError(f"{option}: it is empty; name something or leave the option out")


def _refuse_contradictions(plan: Plan) -> None:
    """Raises UsageError where options that are right by themselves do not go together."""
    _check_slots(plan.hosts, plan.num_processes, plan.oversubscribe)
    if plan.api == "object" and plan.o_direct:
        raise UsageError("--o-direct applies to files; it cannot be combined with --api object")
    if plan.does_nothing and plan.division != "closed":
        # In closed rule 4.7.1 says so, with what is legal.
        raise UsageError(
            "--num-checkpoints-write 0 and --num-checkpoints-read 0 make a run that does nothing; leave one of them out"
        )
    addresses = [name for name, _ in plan.hosts if ":" in name]
    if addresses and not plan.block_placement:
        # Open MPI ends the name of a host at its first colon, in brackets or not.
        raise UsageError(
            f"--hosts: {addresses[0]!r} is an IPv6 address, which mpirun cannot take; give the host's name"
        )


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
        if slots is not None and slots > _MOST:
            raise UsageError(f"--hosts: {shorten(str(slots))} slots on {name} are out of range, 1 to {_MOST}")
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
        return absolute("checkpoints")
    if "://" in text:
        raise UsageError(f"--checkpoint-folder: {text!r} is an object URI; give --api object")
    return absolute(text)
