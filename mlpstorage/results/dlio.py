"""What a leaf's command line, overrides and logs say: Hydra overrides, placement options, df tables."""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

WORKLOAD_PREFIX = "workload."
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*=.*", re.DOTALL)

_HOST_OPTIONS = {"-host", "--host", "-H", "--hosts", "-hosts"}
_COUNT_OPTIONS = {"-n", "-np", "--np", "-c"}
_MPI = {"mpirun", "mpiexec", "orterun", "prterun"}
_MPI_COUNT_OPTIONS = {"-n", "-np", "--np"}
_DIGITS = 10
_MAPPING_OPTIONS = {
    "--map-by", "-map-by", "--rank-by", "--rankfile", "-rf", "--npernode", "-npernode", "-N", "--bynode", "-bynode",
    "--byslot", "--hostfile", "-hostfile", "--machinefile", "-machinefile",
}  # fmt: skip


_LONGEST_QUOTED = 2**15
"""Characters of a command with quotes; the splitter takes time with the square of a quoted word."""


def split_command(command: str) -> list[str]:
    """The words of a command line. Raises ValueError where its quotes do not match, or it is endless."""
    if any(mark in command for mark in "'\"\\"):
        if len(command) > _LONGEST_QUOTED:
            raise ValueError(f"a command of {len(command)} characters with quotes in it")
        return shlex.split(command)
    return command.split()


def workload_overrides(words: Iterable[Any]) -> dict[str, str]:
    """``++workload.a.b=v`` items among the words, by dotted key without the prefix; the last one wins."""
    found: dict[str, str] = {}
    for word in words:
        if not isinstance(word, str):
            continue
        key, separator, value = word.lstrip("+").partition("=")
        if separator and key.startswith(WORKLOAD_PREFIX):
            found[key.removeprefix(WORKLOAD_PREFIX)] = value.strip("'\"")
    return found


def workload_choice(words: Iterable[Any]) -> str | None:
    """The workload that was selected: the value of ``workload=llama3_8b``."""
    values = [word.partition("=")[2] for word in words if isinstance(word, str) and word.startswith("workload=")]
    return values[-1] if values else None


def _variables(text: str) -> Iterator[tuple[str, str]]:
    for item in re.split("[,;]", text):
        name, _, value = item.partition("=")
        yield name, value


def environment(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Variables that the words of a launcher set: ``-x NAME=VALUE``, ``-x NAME``, ``NAME=VALUE`` before the program;
    of other launchers ``-genv NAME VALUE``, ``-genvlist A,B`` and ``--export=A,B=VALUE``; lists of MCA parameters.
    """
    option = ""
    for word, after in itertools.zip_longest(words, words[1:], fillvalue=""):
        name, _, value = word.partition("=")
        if option in ("genvlist", "envlist", "export", "mca_base_env_list"):
            yield from _variables(word)
        elif option == "x" or _VARIABLE.fullmatch(word):
            yield name, value
        elif word.startswith("-x") and _VARIABLE.fullmatch(word[2:]):
            yield name[2:], value
        elif option in ("genv", "env"):
            yield word, after
        elif name == "--export" and value:
            yield from _variables(value)
        option = word.lstrip("-") if word.startswith("-") or option == "mca" else ""


@dataclass(frozen=True, slots=True)
class Launch:
    """Options of an mpirun or mpiexec line that decide where ranks run."""

    processes: str | None
    hosts: str | None
    per_host: str | None
    """``--ppn`` of mpiexec (PALS): blocks of so many ranks a host."""


def parse_launch(words: Iterable[str]) -> Launch:
    """The first value of each option; what follows the benchmark's name is not told apart, its options differ."""
    processes = hosts = per_host = None
    for option, value in itertools.pairwise(words):
        if option in _COUNT_OPTIONS and processes is None:
            processes = value
        elif option in _HOST_OPTIONS and hosts is None:
            hosts = value
        elif option == "--ppn" and per_host is None:
            per_host = value
    return Launch(processes, hosts, per_host)


def mpi_processes(words: Sequence[str]) -> int | None:
    """``-n`` of mpirun or mpiexec; None where another launcher, or a start of several programs, leaves it open."""
    starts = (index for index, word in enumerate(words) if posixpath.basename(word) in _MPI)
    start = next(starts, None)
    if start is None or ":" in words:
        return None
    options = itertools.pairwise(words[start:])
    count = next((value for option, value in options if option in _MPI_COUNT_OPTIONS), "")
    return int(count) if count.isascii() and count.isdigit() and len(count) < _DIGITS else None


def maps_ranks(words: Iterable[str]) -> bool:
    """Whether MPI options of the user place ranks their own way."""
    return any(word.partition("=")[0] in _MAPPING_OPTIONS for word in words)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of a df table."""

    device: str
    mount_point: str


_GAP = r"\s{1,99}"
_ROW = re.compile(rf"(?:{_GAP}(?:[0-9.,]{{1,30}}[KMGTPEZY]?i?B?|-)){{3}}{_GAP}(?:[0-9]{{1,3}}%|-){_GAP}(/.*)")
"""Of a row of ``df``: three sizes, the part that is used, the mount point. Bounded, for a log may hold anything."""


def df_table(text: str) -> list[Mount]:
    """The mounts of all ``df`` tables in a log; empty where there is none.

    A table ends with an empty line. What else was logged between its rows is passed over.
    """
    mounts: list[Mount] = []
    inside, last = False, ""
    for line in text.splitlines():
        if line.lstrip().startswith("Filesystem") and "Mounted on" in line:
            inside = True
        elif inside and (row := _ROW.search(line)):
            device = line[: row.start()].strip() or last.strip()  # df breaks the line after a long device name
            mounts.append(Mount(device, row[1].strip()))
        inside = inside and bool(line.strip())
        last = line
    return mounts


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """The mount with the longest prefix of an absolute path, by its text alone: the submitter's paths are not ours."""
    best: Mount | None = None
    wanted = posixpath.normpath(path) + "/"
    for mount in mounts:
        prefix = mount.mount_point.rstrip("/") + "/"
        if wanted.startswith(prefix) and (best is None or len(mount.mount_point) > len(best.mount_point)):
            best = mount
    return best


def same_mount(one: Mount, other: Mount) -> bool:
    """One mount point, or one block device mounted twice (names such as tmpfs say nothing)."""
    return one.mount_point == other.mount_point or (one.device == other.device and one.device.startswith("/"))
