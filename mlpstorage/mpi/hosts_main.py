"""Runs on the client hosts, one process each, under the mpirun that the benchmark will use.

Says what each host is (memory, CPU, system, disks, interfaces) and, for the file API, looks at the checkpoint folder
and the results directory from there: free space, filesystem, and whether all hosts see the same files. Leaves nothing
behind. Runs as a file under whatever Python has mpi4py; without mpi4py a single process still answers.

Argument: a JSON object ``{"folder": str, "results": str, "model": str, "writes": str, "token": str}``; ``writes`` is
the number of checkpoints that the run will write; empty paths are not looked at.
Output: one document (see :mod:`mlpstorage.mpi.frame`): ``{"mpi": bool, "hosts": [...], "paths": {...} | null}``.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import platform
import socket
import sys
from datetime import UTC, datetime
from typing import Any

PLACES = ("folder", "results")
"""Keys of the request that name directories which all hosts must share."""
CHECKPOINT = "global_epoch1_step"
"""What the directory of a checkpoint is named, before its number."""
RANKS_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PALS_SIZE")
"""Where launchers tell a process how many ranks its job has."""


def host_facts(root: str = "/") -> dict[str, Any]:
    """Facts of this host. Sizes in bytes; what this system does not tell is None. ``root`` is for tests."""
    return {
        "hostname": socket.gethostname(),
        "memory": _memory(root),
        "cpu": _cpu(root),
        "system": {
            "kernel_version": platform.release(),
            "os_release": _pairs(os.path.join(root, "etc/os-release"), "="),
            "architecture": platform.machine(),
        },
        "disks": _disks(root),
        "network": _interfaces(root),
        "collection_timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _memory(root: str) -> dict[str, int | None]:
    pairs = _pairs(os.path.join(root, "proc/meminfo"), ":")
    sizes: dict[str, int | None] = {}
    for name, key in (("total", "MemTotal"), ("free", "MemFree"), ("available", "MemAvailable"), ("cached", "Cached")):
        number = pairs.get(key, "").split(" ")[0]
        sizes[name] = int(number) * 1024 if number.isdigit() else None
    if sizes["total"] is None and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        sizes["total"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    total, available = sizes["total"], sizes["available"]
    sizes["used"] = None if total is None or available is None else total - available
    return sizes


def _cpu(root: str) -> dict[str, Any]:
    model: str | None = None
    cores: set[tuple[str, str]] = set()
    physical = "0"
    for line in _lines(os.path.join(root, "proc/cpuinfo")):
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "model name":
            model = value
        elif key == "physical id":
            physical = value
        elif key == "core id":
            cores.add((physical, value))
    return {
        "model": model,
        "architecture": platform.machine(),
        "num_cores": len(cores) or os.cpu_count(),
        "num_logical_cores": os.cpu_count(),
    }


def _disks(root: str) -> list[dict[str, Any]]:
    disks = []
    base = os.path.join(root, "sys/block")
    for name in sorted(_names(base)):
        sectors = "".join(_lines(os.path.join(base, name, "size"))).strip()
        if sectors.isdigit() and int(sectors) > 0 and not name.startswith(("loop", "ram")):
            model = "".join(_lines(os.path.join(base, name, "device/model"))).strip()
            disks.append({"name": name, "size": int(sectors) * 512, "model": model or None})
    return disks


def _interfaces(root: str) -> list[dict[str, Any]]:
    base = os.path.join(root, "sys/class/net")
    interfaces = []
    for name in sorted(_names(base)):
        speed = "".join(_lines(os.path.join(base, name, "speed"))).strip()
        state = "".join(_lines(os.path.join(base, name, "operstate"))).strip()
        if name != "lo":
            rate = int(speed) if speed.isdigit() else None
            interfaces.append({"name": name, "speed_mbps": rate, "state": state or None})
    return interfaces


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def _pairs(path: str, separator: str) -> dict[str, str]:
    pairs = {}
    for line in _lines(path):
        key, found, value = line.partition(separator)
        if found:
            pairs[key.strip()] = value.strip().strip('"')
    return pairs


def existing_ancestor(path: str) -> str:
    """The path itself, or the nearest directory above it that exists: where it would be created."""
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def separation(folder: str, results: str, token: str) -> dict[str, Any]:
    """Do two directories, which need not exist yet, lie on one filesystem? ``problems``: what cannot be written.

    A hard link between them decides (EXDEV: no). Bind mounts and subvolumes of one filesystem refuse it as well, so
    equal device numbers or filesystem ids count as the same filesystem too; all three readings are kept.
    """
    places = {"folder": existing_ancestor(folder), "results": existing_ancestor(results)}
    refused = [[key, place, why] for key, place in places.items() if (why := _refusal(place, token))]
    answer: dict[str, Any] = {
        "data_or_chkpt_realpath": os.path.realpath(folder),
        "results_realpath": os.path.realpath(results),
        "linked": None if refused else _linked(places["folder"], places["results"], token),
        "st_dev": [os.stat(place).st_dev for place in places.values()],
        "f_fsid": [getattr(os.statvfs(place), "f_fsid", 0) for place in places.values()],
        "problems": refused,
    }
    first, second = answer["f_fsid"]
    same_device = answer["st_dev"][0] == answer["st_dev"][1] or (first != 0 and first == second)
    answer["same_filesystem"] = bool(answer["linked"]) or same_device
    return answer


def _refusal(directory: str, token: str) -> str:
    """Why no file can be made in a directory; empty where one can."""
    path = os.path.join(directory, ".mlpstorage-probe-" + token)
    try:
        with open(path, "xb"):
            pass
        os.unlink(path)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return ""


def _linked(source_dir: str, target_dir: str, token: str) -> bool | None:
    """Whether a file can have names in both directories; None where it cannot for another reason than filesystems."""
    source = os.path.join(source_dir, ".mlpstorage-probe-" + token)
    target = os.path.join(target_dir, ".mlpstorage-probe-" + token + "-link")
    try:
        with open(source, "xb"):
            pass
        try:
            os.link(source, target)
            os.unlink(target)
        finally:
            os.unlink(source)
    except OSError as error:
        return False if error.errno == errno.EXDEV else None
    return True


def space(folder: str, model: str, writes: int) -> dict[str, int]:
    """Bytes that a run may use under the checkpoint folder: free ones, and those of checkpoints it overwrites."""
    where = os.statvfs(existing_ancestor(folder))
    overwritten = {f"{CHECKPOINT}{step}" for step in range(1, writes + 1)}
    reusable = checkpoints = 0
    for name in _names(os.path.join(folder, model)):
        directory = os.path.join(folder, model, name)
        if name.startswith(CHECKPOINT) and os.path.isdir(directory):
            checkpoints += 1
            if name in overwritten:
                reusable += sum(_size(os.path.join(directory, file)) for file in _names(directory))
    return {"free": where.f_bavail * where.f_frsize, "reusable": reusable, "checkpoints": checkpoints}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _write_token(directory: str, token: str) -> str | None:
    """Put a file with the token as content where the directory is or would be; its name, or None."""
    path = os.path.join(existing_ancestor(directory), ".mlpstorage-shared-" + token)
    try:
        with open(path, "x", encoding="ascii") as file:
            file.write(token)
            file.flush()
            os.fsync(file.fileno())
        return path
    except OSError:
        return None


def _reads_token(path: str, token: str) -> bool:
    """Sharedness is content written on one host and read on another; device and inode numbers are no evidence."""
    try:
        os.listdir(os.path.dirname(path))  # lets a network filesystem drop what it remembers of the directory
        with open(path, encoding="ascii") as file:
            return file.read() == token
    except (OSError, UnicodeDecodeError):
        return False


def main(request: dict[str, str]) -> None:
    """Collect on every rank, gather at rank 0, print there."""
    comm = _world()
    rank = comm.Get_rank() if comm else 0
    folder, results, token = request["folder"], request["results"], request["token"]
    paths = None
    if rank == 0 and folder and results:
        paths = separation(folder, results, token)
        paths["space"] = space(folder, request["model"], int(request["writes"]))
        paths["probed_by_host"] = socket.gethostname()
    facts = host_facts()
    facts["machine"] = "".join(_lines("/proc/sys/kernel/random/boot_id")).strip()
    if comm:
        tokens: dict[str, str | None] = {}
        if rank == 0 and comm.Get_size() > 1:
            tokens = {key: _write_token(request[key], f"{key}-{token}") for key in PLACES if request[key]}
        tokens = comm.bcast(tokens, root=0)
        facts["reads"] = {key: _reads_token(path, f"{key}-{token}") for key, path in tokens.items() if path}
        hosts = comm.gather(facts, root=0)
        if rank == 0:
            for path in tokens.values():
                if path:
                    os.unlink(path)
    else:
        facts["reads"] = {}
        hosts = [facts]
    if rank == 0:
        sys.stdout.write(_encode({"mpi": comm is not None, "hosts": hosts, "paths": paths}))
        sys.stdout.flush()


def _world() -> Any:
    """The communicator of this job; None without mpi4py, which only a single process can do without."""
    try:
        mpi = importlib.import_module("mpi4py.MPI")
    except Exception as error:
        sizes = [os.environ.get(name, "") for name in RANKS_VARIABLES]
        if any(size.isdigit() and int(size) > 1 for size in sizes):
            sys.exit(f"mpi4py cannot be used by {sys.executable}: {error}")
        return None
    return mpi.COMM_WORLD


def _encode(document: Any) -> str:
    """:func:`mlpstorage.mpi.frame.encode`, found beside this file: the package may be absent where this runs."""
    sys.path[0] = os.path.dirname(os.path.abspath(__file__))
    text: str = importlib.import_module("frame").encode(document)
    return text


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
