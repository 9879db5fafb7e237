"""Training workload directories and their leaves as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mlpstorage.results import layout
from mlpstorage.results.convert import as_list, as_text
from mlpstorage.results.document import Found, Reading, first_of
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived import training as derived
from rules.derived.locations import normal_path
from rules.derived.training_workload import (
    Phases,
    alone_facts,
    derive_workload,
    read_bandwidth,
    series_of,
    whole_series,
)
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts.training import Bandwidth, TrainingDatagen, TrainingDatasize, TrainingRun, TrainingWorkload

from ..leaf import Leaf
from ..listing import WorkloadDirectory
from .collected import extremes, ratio
from .common import leaf_files, mapped, put, stated_path
from .division import division_of, recorded_division
from .training_files import DATAGEN, DATASIZE, TrainingDocuments
from .training_run import (
    RunReader,
    accelerator_of,
    directory_model,
    model_of,
    stated_overrides,
    template_of,
)

_RECORD_KEYS = {
    "/parameters/dataset": ("num_files_train", "num_subfolders_train", "total_disk_bytes"),
    "/args": ("model", "accelerator_type", "max_accelerators", "client_host_memory_in_gb"),
}
"""What a sizing record states (3.3.1)."""


def read_workload(
    root: Root, directory: WorkloadDirectory, described_api: Found[str], *, deep: bool = False
) -> tuple[TrainingWorkload | None, list[str]]:
    """The workload with its leaves, and remarks on what was left out; None where the directory holds none.

    ``deep``: with what every rank of the runs recorded.
    """
    path = clean(directory.path)
    documents: dict[str, list[TrainingDocuments]] = {DATASIZE: [], DATAGEN: [], layout.RUN: []}
    remarks = []
    for leaf in directory.leaves:
        if leaf.command in documents:
            documents[leaf.command].append(TrainingDocuments(root, leaf))
        else:
            remarks.append(f"{clean(leaf.path)}: lies in no phase of a training workload; not judged")
    if not any(documents.values()):
        return None, remarks
    runs = documents[layout.RUN]
    # A directory of another name is not of the series (2.1.17).
    named = [layout.leaf_time(files.leaf.name) is not None for files in runs]
    sheets = [RunReader(files, described_api, deep=deep).read() for files in runs]
    phases = Phases(
        path,
        sheets,
        [files.path for files in runs],
        [read_datasize(files) for files in documents[DATASIZE]],
        [read_datagen(files) for files in documents[DATAGEN]],
        directory.commands,
        series_of(sheets, named),
    )
    labels = [_label(files) for files in documents[DATASIZE]]
    return derive_workload(phases, labels, _observed(directory, phases, runs)), remarks


def read_leaf(root: Root, leaf: Leaf, described_api: Found[str], *, deep: bool = False) -> FactModel | None:
    """One leaf by itself; ``deep``: with what every rank of a run recorded."""
    files = TrainingDocuments(root, leaf)
    recorded = files.metadata.text("/command", "/args/command")
    if isinstance(recorded, Reading) and not leaf.workload:  # outside any tree only the metadata tells
        files.leaf = replace(leaf, command=recorded.value.lower())
    if files.leaf.command == DATASIZE:
        return read_datasize(files)
    if files.leaf.command == DATAGEN:
        return read_datagen(files)
    return read_run(files, described_api, deep=deep)


def read_run(files: TrainingDocuments, described_api: Found[str], *, deep: bool = False) -> TrainingRun:
    """One run leaf by itself."""
    sheet = RunReader(files, described_api, deep=deep).read()
    alone_facts(sheet, files.path)
    return sheet.build(TrainingRun, files.path)


def read_datasize(files: TrainingDocuments) -> TrainingDatasize:
    """One sizing record. What it prescribes are results of the tool, so they stand as numbers in ``parameters``."""
    sheet, metadata = FactSheet(), files.metadata
    accelerator = _common(sheet, files)
    put(sheet, "command", mapped(metadata.text("/command", "/args/command"), str.lower))
    put(sheet, "accelerator", accelerator)
    put(sheet, "template", template_of(model_of(files), accelerator))
    asked = metadata.int("/args/max_accelerators", "/num_processes")
    put(sheet, "max_accelerators", asked)
    put(sheet, "num_files", metadata.int("/parameters/dataset/num_files_train"))
    put(sheet, "samples_per_file", files.positive_int("dataset.num_samples_per_file"))
    put(sheet, "record_length", files.record_length())
    computed, text = _recomputed(files, sheet)
    put(sheet, "computed_files", computed)
    put(sheet, "sizing", text)
    missing = [
        f"{place[1:].replace('/', '.')}.{key}"
        for place, keys in _RECORD_KEYS.items()
        for key in keys
        if not metadata.has(f"{place}/{key}")
    ]
    put(sheet, "missing_keys", Reading(missing, metadata.source()) if metadata.ok else metadata.absence())
    return sheet.build(TrainingDatasize, files.path)


def read_datagen(files: TrainingDocuments) -> TrainingDatagen:
    """One data generation. The process count of its metadata are MPI ranks, not accelerators."""
    sheet = FactSheet()
    _common(sheet, files)
    put(sheet, "directory_model", directory_model(files))
    model = model_of(files)
    template = model.map(lambda name: derived.template_name(name, DATAGEN)) if isinstance(model, Reading) else model
    put(sheet, "stated_overrides", stated_overrides(files, _value(template)))
    put(sheet, "num_files", files.parameter_int("dataset.num_files_train"))
    put(sheet, "subfolders", files.subfolders())
    put(sheet, "samples_per_file", files.positive_int("dataset.num_samples_per_file"))
    put(sheet, "record_length", files.record_length())
    return sheet.build(TrainingDatagen, files.path)


def _common(sheet: FactSheet, files: TrainingDocuments) -> Found[str]:
    """Facts that sizing and generation share; gives the accelerator, which a generation does not have."""
    leaf, model, accelerator = files.leaf, model_of(files), accelerator_of(files)
    sheet.put("name", clean(leaf.name), Source(files.path))
    put(sheet, "division", division_of(leaf, files.metadata))
    put(sheet, "recorded_division", recorded_division(files.metadata))
    put(sheet, "model", model)
    put(sheet, "data_dir", mapped(stated_path(files.metadata, "/args/data_dir"), normal_path))
    put(sheet, "overrides", files.overrides_found(_value(model), _value(accelerator)))
    records = leaf_files(files.all(), files.path)
    sheet.put("files", records, Source(files.path))
    return accelerator


def _value(found: Found[Any]) -> Any:
    return found.value if isinstance(found, Reading) else found


def _recomputed(files: TrainingDocuments, sheet: FactSheet) -> tuple[Found[list[int]], Found[str]]:
    """What the formula gives for the record's own arguments, with the declared and with the measured memory."""
    metadata = files.metadata
    batch = files.positive_int("reader.batch_size")
    memory = metadata.float("/args/client_host_memory_in_gb")
    hosts = first_of(metadata.int("/args/num_client_hosts"), files.named_hosts)
    inputs = [sheet.get("max_accelerators"), sheet.get("samples_per_file"), sheet.get("record_length")]
    for value in (*inputs, _value(batch), _value(memory), _value(hosts)):
        if isinstance(value, Absence):
            return value, value
    count, samples, length = inputs
    declared = derived.declared_memory(_value(memory), _value(hosts))
    # Sizing sees one machine; its memory stands for every client's.
    measured = metadata.int("/system_info/min_memory_bytes")
    memories: list[Fraction | int] = [declared]
    if isinstance(measured, Reading):
        memories.append(measured.value * _value(hosts))
    try:
        sizings = [
            derived.size_dataset(count, _value(batch), samples, derived.exact(length), total) for total in memories
        ]
    except ValueError as error:
        invalid = metadata.invalid("/args", str(error))
        return invalid, invalid
    found = sorted({files for sizing in sizings for files in (sizing.files_floored, sizing.files) if files < 2**63})
    return Reading(found, metadata.source("/args")), Reading(sizings[0].text, metadata.source("/args"))


def _label(files: TrainingDocuments) -> str:
    """What a leaf under ``datasize/`` records, for a message."""
    found = (files.metadata.text("/command", "/args/command"), model_of(files))
    words = [word.value for word in (*found, accelerator_of(files)) if isinstance(word, Reading)]
    return f"{clean(files.leaf.name)}: {' '.join(words) or 'nothing that can be read'}"


def _observed(directory: WorkloadDirectory, phases: Phases, runs: list[TrainingDocuments]) -> Mapping[str, Any]:
    """Facts of the workload that are read, not derived: where it lies, its hosts, its rates."""
    found: dict[str, Found[Any]] = {}
    leaf = directory.leaves[0]
    source = Source(clean(directory.path))
    model = clean(leaf.workload or directory.path.rpartition("/")[2])
    found["model"] = Reading(model, source)
    alone = Absence(f"alone:{source.path}", Reason.NOT_APPLICABLE, source.path, detail="the directory stands alone")
    found["division"] = Reading(leaf.division, source) if leaf.division else alone
    names = ("memory_ratio", "core_ratio", "least_memory_gib", "most_memory_gib", "least_cores", "most_cores")
    if not runs:
        absent = phases.missing(layout.RUN)
        found.update(dict.fromkeys((*names, "num_hosts", "consistency_issues", "bandwidths"), absent))
        return _plain(found)
    first = next((files for files, role in zip(runs, phases.roles, strict=True) if role == "measured"), runs[0])
    memory, cores = extremes(first.metadata, 0), extremes(first.metadata, 1)
    found["num_hosts"] = first.summary.int("/num_hosts")
    found["memory_ratio"], found["core_ratio"] = ratio(first.metadata, 0), ratio(first.metadata, 1)
    for index, end in enumerate(("least", "most")):
        found[f"{end}_memory_gib"] = _end(memory, index, lambda value: value / derived.GIB)
        found[f"{end}_cores"] = _end(cores, index, int)
    issues = first.metadata.list("/system_info/host_consistency_issues")
    if isinstance(issues, Reading):
        issues = Reading([as_text(str(issue)) for issue in as_list(issues.value)], issues.source)
    elif first.metadata.has("/system_info"):
        issues = Reading([], first.metadata.source("/system_info"))
    elif issues.reason is Reason.KEY_ABSENT:
        detail = "the tool collected no host facts"
        issues = Absence(f"not-recorded:{source.path}:system_info", Reason.NOT_RECORDED, source.path, detail=detail)
    found["consistency_issues"] = issues
    found["bandwidths"] = _bandwidths(source, phases.series, runs)
    return _plain(found)


def _end(found: Found[tuple[float, float]], index: int, convert: Any) -> Found[Any]:
    return found.map(lambda ends: convert(ends[index])) if isinstance(found, Reading) else found


def _bandwidths(
    source: Source, series: Mapping[str, Sequence[int]], runs: list[TrainingDocuments]
) -> Found[list[Bandwidth]]:
    """3.3.8: the read bandwidth of each accelerator type with one warm-up and all measured runs."""
    found = []
    for accelerator, members in series.items():
        if len(members) != whole_series():
            continue
        rates = []
        for index in members[1:]:
            rate = runs[index].summary.float("/metric/train_io_mean_MB_per_second")
            if isinstance(rate, Absence):
                return rate
            rates.append(rate.value)
        found.append(Bandwidth(accelerator=accelerator, runs=len(rates), gib_per_second=read_bandwidth(rates)))
    return Reading(found, source)


def _plain(found: Mapping[str, Found[Any]]) -> dict[str, Any]:
    """Readings as value and source, absences as they are."""
    return {name: (one.value, one.source) if isinstance(one, Reading) else one for name, one in found.items()}
