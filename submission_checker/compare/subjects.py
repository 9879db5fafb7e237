"""Run leaves and workload directories as what a comparison needs: configuration, metrics, times, a spelt-out tag."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any

from mlpstorage.results import layout
from mlpstorage.results.convert import as_float
from mlpstorage.results.credentials import shown
from mlpstorage.results.document import Document, Found, Reading, first_of, read_json, read_yaml
from mlpstorage.results.files import Root
from mlpstorage.results.roots.address import UnusableRootError, address_of, open_root
from mlpstorage.results.text import clean
from rules.derived.checkpointing import canonical, flatten
from rules.derived.training_workload import role
from rules.derived.zones import Instant, Zone, local

from ..discovery import NothingToCheckError, looks_like_run
from ..exits import NotCheckedError
from ..leaf import Leaf, family_of_files, joined
from ..location import locate, within
from ..readers.collected import host_values
from ..readers.zones import collected, directory_time, leaf_zone, moment

NOT_STATED = "(not stated)"
DIMENSIONS = (
    "family", "model", "command", "division", "processes", "hosts", "tensor", "pipeline", "data", "zero_stage",
    "accelerator", "api", "o_direct",
)  # fmt: skip
"""What a tag spells out, in this order. They are configuration keys like all others."""
_IN_DIMENSIONS = frozenset(
    {
        "mode", "benchmark", "command", "model", "num_processes", "num_accelerators", "accelerator_type", "accelerator",
        "num_client_hosts", "data_access_protocol", "o_direct",
    }
)  # fmt: skip
_NOT_CONFIGURATION = frozenset(
    {
        "results_dir", "config_file", "debug", "verbose", "stream_log_level", "quiet", "dry_run", "loops", "orgname",
        "verify_lockfile", "skip_validation", "skip_ssh_check", "skip_fs_separation_gate", "allow_invalid_params",
        "format", "edition", "dlio_bin_path", "timeseries_interval", "skip_timeseries", "max_timeseries_samples",
    }
)  # fmt: skip
"""Arguments that say where results go, what is printed and what is checked: they change nothing that is measured."""
_LATENCIES = tuple(f"{name}_latency_ms" for name in ("mean", "p95", "p99", "p999"))
_MAX_LEAVES = 1000
_MAX_POINTER = 4096


class NotARunError(NotCheckedError):
    """A directory is no run leaf and no workload directory; the text says what was looked for."""


@dataclass(slots=True)
class LeafData:
    """One leaf: flat configuration, metrics, when it ran, and what makes it incomplete."""

    path: str
    config: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    start: datetime | None = None
    end: datetime | None = None
    zone: Zone | None = None
    """Of both times; None where nothing shows it."""
    missing: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Subject:
    """One side of the comparison: a leaf, or a workload directory with its leaves.

    ``config`` joins the values of leaves that differ; ``metrics`` are the means over the leaves that have them.
    """

    role: str
    path: str
    leaves: list[LeafData]
    config: dict[str, str]
    metrics: dict[str, float]
    left_out: list[str] = field(default_factory=list)
    """Warm-up runs, which are not measured."""

    @property
    def complete(self) -> bool:
        """Nothing shows that a leaf did not end or cannot be read."""
        return not any(leaf.missing for leaf in self.leaves)

    @property
    def tag(self) -> str:
        """Every dimension, defaults included."""
        return " ".join(f"{name}={self.config.get(name, NOT_STATED)}" for name in DIMENSIONS)

    @property
    def name(self) -> str:
        """Role and the directory's own name."""
        return f"{self.role} {self.path.rpartition('/')[2]}"


def read_subject(path: str, role_name: str) -> Subject:
    """Read a leaf or a workload directory. Raises NotARunError."""
    try:
        address = within(address_of(path))
        if not address.parts:
            raise NotARunError(f"{clean(path)} is no run: give the path of a run leaf or a workload directory in it")
        with open_root(address.parent) as root:
            leaves = [_read_leaf(root, leaf, _division(path)) for leaf in _leaves(root, address.parts[-1])]
    except UnusableRootError as error:
        raise NotARunError(f"{error} (a run leaf or a workload directory)") from error
    except OSError as error:
        raise NotARunError(f"{clean(path)} cannot be read: {os.strerror(error.errno or 0)}") from error
    if not leaves:
        raise NotARunError(f"{clean(path)} is no run leaf and holds none: neither summary.json nor metadata is there")
    training = leaves[0].config.get("family") == layout.TRAINING
    measured = [
        leaf
        for index, leaf in enumerate(leaves)
        if not (training and len(leaves) > 1 and role(index, len(leaves)) == "warmup")
    ]
    left_out = [leaf.path for leaf in leaves if leaf not in measured]
    return Subject(role_name, clean(path.rstrip("/")), leaves, _joined(leaves), _means(measured), left_out)


def _leaves(root: Root, name: str) -> Iterator[Leaf]:
    """The leaf itself, or the run leaves of a workload directory in the order of their names."""
    directories, files = root.list(name)
    if looks_like_run(files):
        yield Leaf(name, tuple(files))
        return
    below = f"{name}/{layout.RUN}" if layout.RUN in directories else name
    names = root.list(below)[0] if below != name else directories
    leaves = []
    for child in names[:_MAX_LEAVES]:
        deeper, inner = root.list(f"{below}/{child}")
        if looks_like_run(inner) or (layout.leaf_time(child) is not None and inner):
            leaves.append(Leaf(f"{below}/{child}", tuple(inner), directories=tuple(deeper)))
    yield from joined(leaves)


def _division(path: str) -> str:
    """The division whose tree the directory lies in; empty where it stands alone."""
    try:
        scope = locate(path).scope
    except NothingToCheckError:
        return ""
    return scope[0] if scope and scope[0] in layout.DIVISIONS else ""


def _read_leaf(root: Root, leaf: Leaf, division: str) -> LeafData:
    data = LeafData(clean(leaf.path))
    family = family_of_files(leaf.files)
    metadata_name = next((name for name in leaf.files if name.endswith("_metadata.json")), "metadata.json")
    metadata = read_json(root, leaf.at(metadata_name))
    summary = read_json(root, leaf.at(layout.SUMMARY))
    config = read_yaml(root, leaf.at(layout.CONFIG))
    results = [summary, read_json(root, leaf.at("statistics.json"))] if family == layout.VECTOR_DATABASE else [summary]
    data.metrics = {clean(name): value for document in reversed(results) for name, value in _metrics(document, family)}
    data.config = _config(metadata, summary, config, family, division)
    image = root.read(leaf.at(layout.CODE_IMAGE_POINTER), _MAX_POINTER)
    data.config["code.image"] = clean(image.data.decode("utf-8", "replace").strip()) or NOT_STATED
    name = leaf.path.rpartition("/")[2]
    invoked = moment(metadata.stated_time("/invocation_start_time"))
    data.zone = leaf_zone(metadata, (invoked, directory_time(leaf)), collected(metadata))
    started = first_of(metadata.stated_time("/invocation_start_time"), summary.stated_time("/start"))
    ended = first_of(metadata.stated_time("/invocation_end_time"), summary.stated_time("/end"))
    data.start = _local(started, data.zone) or layout.leaf_time(name)
    data.end = _local(ended, data.zone)
    data.missing = list(_missing(root, leaf, family, metadata, results, data))
    return data


def _local(found: Found[datetime], zone: Zone | None) -> datetime | None:
    """A time in the zone of its leaf."""
    time = local(moment(found), zone)
    return time.at if isinstance(time, Instant) else None


def _metrics(document: Document, family: str) -> Iterator[tuple[str, float]]:
    """What was measured, by name. Spreads within a run and the checkpoint's size, which is no result, are left out."""
    if family == layout.KV_CACHE:
        options = document.data.get("options")
        for option, values in options.items() if isinstance(options, dict) else ():
            yield from (
                (f"option_{option}.{key}", value) for key, value in _numbers(values) if key.startswith("aggregated_")
            )
    elif family == layout.VECTOR_DATABASE:
        wanted = ("throughput_qps", "recall", *_LATENCIES)
        yield from ((key, value) for key, value in _numbers(document.data) if key in wanted)
    else:
        yield from (
            (key, value)
            for key, value in _numbers(document.data.get("metric"))
            if "_stdev" not in key and key != "checkpoint_size_GB"
        )


def _numbers(values: Any) -> Iterator[tuple[str, float]]:
    for key, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                yield key, as_float(value)
            except ValueError:
                continue


def _config(metadata: Document, summary: Document, config: Document, family: str, division: str) -> dict[str, str]:
    workload = config.data.get("workload") if config.ok else metadata.data.get("parameters")
    flat = _flat(workload)
    arguments = metadata.data.get("args")
    found = {
        **flat,
        **_arguments(arguments if isinstance(arguments, dict) else {}, flat),
        **host_values(metadata),
        **_dimensions(metadata, summary, flat, family, division),
    }
    size = summary.float("/metric/checkpoint_size_GB")
    if isinstance(size, Reading):
        found["checkpoint.size_gib"] = canonical(size.value)
    return {clean(key): clean(shown(key, value)) for key, value in found.items()}


def _flat(tree: Any) -> dict[str, str]:
    return flatten(tree) if isinstance(tree, dict) else {}


def _arguments(arguments: Mapping[str, Any], flat: Mapping[str, str]) -> dict[str, str]:
    """Arguments that no dimension and no key of the workload states already."""
    stated = {key.rpartition(".")[2] for key in flat}
    skipped = _IN_DIMENSIONS | _NOT_CONFIGURATION | stated | ({"params"} if flat else set())
    return {f"args.{key}": canonical(v) for key, v in arguments.items() if key not in skipped and key[:1] != "_"}


def _dimensions(
    metadata: Document, summary: Document, flat: Mapping[str, str], family: str, division: str
) -> dict[str, str]:
    def text(*found: Found[Any]) -> str:
        first = next((item.value for item in found if isinstance(item, Reading)), None)
        return NOT_STATED if first is None else canonical(first).lower()

    processes = text(
        metadata.int("/args/num_processes"), metadata.int("/num_processes"), summary.int("/num_accelerators"),
        summary.int("/total_ranks"),
    )  # fmt: skip
    tensor, pipeline = flat.get("model.parallelism.tensor", "1"), flat.get("model.parallelism.pipeline", "1")
    storage = flat.get("storage.storage_type", "local_fs")
    return {
        "family": family,
        "model": text(metadata.text("/args/model"), metadata.text("/model")),
        "command": text(metadata.text("/args/command"), metadata.text("/command")),
        "division": division or text(metadata.text("/args/mode"), metadata.text("/verification")),
        "processes": processes,
        "hosts": text(
            metadata.int("/args/num_client_hosts"), metadata.int("/system_info/num_hosts"), summary.int("/num_hosts"),
            summary.int("/host_count"),
        ),
        "tensor": tensor,
        "pipeline": pipeline,
        "data": flat.get("model.parallelism.data", _instances(processes, tensor, pipeline)),
        "zero_stage": flat.get("model.parallelism.zero_stage", "0"),
        "accelerator": text(metadata.text("/accelerator"), metadata.text("/args/accelerator_type")),
        "api": text(metadata.text("/args/data_access_protocol")).replace(
            NOT_STATED, "object" if storage.startswith("s3") else "file"
        ),
        "o_direct": text(metadata.bool("/args/o_direct")).replace(NOT_STATED, "false"),
    }  # fmt: skip


def _instances(processes: str, tensor: str, pipeline: str) -> str:
    """Data-parallel instances where the configuration leaves them to the number of ranks."""
    if not all(text.isascii() and text.isdigit() and int(text) for text in (processes, tensor, pipeline)):
        return NOT_STATED
    return str(max(1, int(processes) // (int(tensor) * int(pipeline))))


def _missing(
    root: Root, leaf: Leaf, family: str, metadata: Document, results: Sequence[Document], data: LeafData
) -> Iterator[str]:
    """What shows that a run did not end, or that its files do not tell."""
    if not metadata.ok:
        yield f"{metadata.path}: {metadata.detail}"
    if not any(document.ok for document in results):
        yield f"{results[0].path}: {results[0].detail}"
    elif not data.metrics:
        yield f"{results[0].path}: it states no metric"
    if data.start is None or data.end is None:
        yield f"{data.path}: it does not state when the run {'started' if data.start is None else 'ended'}"
    elif data.end < data.start:
        yield f"{data.path}: it ends before it starts"
    if family == layout.KV_CACHE:
        options = results[0].data.get("options")
        if results[0].data.get("partial_failure") is True or any(
            isinstance(option, dict) and (option.get("partial_failure") or option.get("missing_files"))
            for option in (options.values() if isinstance(options, dict) else ())
        ):
            yield f"{results[0].path}: it records a partial failure"
        failures = results[0].data.get("trial_failures")
        if any(failures.values()) if isinstance(failures, dict) else failures:
            yield f"{results[0].path}: it records trials that failed (trial_failures)"
    asked, done = data.config.get("train.epochs"), results[0].int("/epochs")
    if family == layout.TRAINING and asked is not None and isinstance(done, Reading) and canonical(done.value) != asked:
        yield f"{results[0].path}: {asked} epochs were asked for, {done.value} were run"
    if family == layout.CHECKPOINTING:
        yield from _missing_checkpoints(root, leaf, data)


def _missing_checkpoints(root: Root, leaf: Leaf, data: LeafData) -> Iterator[str]:
    """Checkpoints that were asked for and that rank 0's statistics do not show as written or read."""
    stats = read_json(root, leaf.at(layout.EPOCH_STATS_RANK_0))
    if stats.state == "placeholder":
        return
    if not stats.ok:
        yield f"{stats.path}: {stats.detail}"
        return
    steps = [name for epoch in stats.data.values() if isinstance(epoch, dict) for name, step in epoch.items()
             if isinstance(step, dict) and step.get("end") is not None]  # fmt: skip
    for phase, prefix in (("write", "save_ckpt"), ("read", "load_ckpt")):
        asked = data.config.get(f"checkpoint.num_checkpoints_{phase}")
        done = sum(name.startswith(prefix) for name in steps)
        if asked is not None and asked != str(done):
            yield f"{stats.path}: {asked} checkpoints to {phase} were asked for, it shows {done}"


def _joined(leaves: Sequence[LeafData]) -> dict[str, str]:
    keys = dict.fromkeys(key for leaf in leaves for key in leaf.config)
    joined = {"run_leaves": str(len(leaves))}
    for key in keys:
        values = list(dict.fromkeys(leaf.config.get(key, NOT_STATED) for leaf in leaves))
        joined[key] = " then ".join(values)
    return joined


def _means(leaves: Sequence[LeafData]) -> dict[str, float]:
    names = dict.fromkeys(name for leaf in leaves for name in leaf.metrics)
    return {name: fmean(leaf.metrics[name] for leaf in leaves if name in leaf.metrics) for name in names}
