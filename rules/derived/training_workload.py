"""Facts of a training workload that hang on several of its leaves (3.1.1, 3.2.1, 3.3.1, 3.3.8).

Each run is paired with the datasize record that it was sized by. What a missing phase leaves open carries the cause
``file:<workload>/<phase>``, the one that the rule on the phases (2.1.12) owns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..facts.base import Absence, FactModel, FactSheet, Reason, Source
from ..facts.training import TrainingDatagen, TrainingDatasize, TrainingRun, TrainingWorkload
from ..tables import reference_rows
from .locations import place
from .training import mean
from .tree import foreign_command

DATASIZE, DATAGEN = "datasize", "datagen"
MIB_A_GIB = 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Phases:
    """The leaves of a workload directory, each kind in the order of their names. Runs are still open sheets."""

    path: str
    runs: Sequence[FactSheet]
    run_paths: Sequence[str]
    datasizes: Sequence[TrainingDatasize]
    datagens: Sequence[TrainingDatagen]
    directories: Sequence[str] = ()
    """Phases whose directory is there, even where it holds no leaf."""
    series: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Places in ``runs`` of each accelerator type's runs."""

    @property
    def roles(self) -> list[str]:
        """What each run is for."""
        found = ["unassigned"] * len(self.runs)
        for members in self.series.values():
            for position, index in enumerate(members):
                found[index] = role(position, len(members))
        return found

    def missing(self, phase: str) -> Absence:
        """Why nothing is known of a phase without leaves."""
        place = f"{self.path}/{phase}"
        if phase in self.directories:
            detail = f"{phase}/ holds no leaf"
            return Absence(f"empty:{place}", Reason.NOT_APPLICABLE, place, detail=detail)
        return Absence(f"file:{place}", Reason.MISSING_FILE, place, detail=f"the workload has no {phase} phase")


def series_of(runs: Sequence[FactSheet], counted: Sequence[bool]) -> dict[str, list[int]]:
    """Places of the runs that count, by accelerator type; one that states none goes with the only type there is."""
    found: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        if counted[index]:
            accelerator = run.get("accelerator")
            found.setdefault("" if isinstance(accelerator, Absence) else str(accelerator), []).append(index)
    if len(found) > 1:
        unnamed = found.pop("", [])
        if len(found) == 1:
            (members,) = found.values()
            members[:] = sorted([*members, *unnamed])
    return found


def whole_series() -> int:
    """How many runs of one accelerator type belong together: one to warm up, the others measured (2.1.17)."""
    return int(reference_rows("training-series")[""]["runs"])


def role(position: int, count: int) -> str:
    """What the run at this position of a series is for; 'unassigned' where that cannot be told.

    The first run warms up, those after it are measured. Any neighbours of a longer series, as many as a whole one has,
    may be the ones that count: a run that is the first of some of them may be the warm-up, and is measured in others.
    """
    surplus = max(count - whole_series(), 0)
    if position == 0 and not surplus:
        return "warmup"
    return "measured" if position > surplus else "unassigned"


def pair_datasize(run: FactSheet, records: Sequence[TrainingDatasize]) -> TrainingDatasize | None:
    """The record that a run was sized by; None where none belongs to it.

    One record belongs to every run. Of several, those without a data directory match any run, the others their own
    directory; the latest that is not later than the run wins, else the latest.
    """
    if len(records) <= 1:
        return records[0] if records else None
    wanted = run.get("data_dir")
    matching = [
        record
        for record in records
        if isinstance(record.data_dir, Absence)
        or isinstance(wanted, Absence)
        or place(record.data_dir) == place(wanted)
    ]
    if not matching:
        return None
    earlier = [record for record in matching if _name(record) <= str(run.get("name"))]
    return max(earlier or matching, key=_name)


def _name(leaf: TrainingDatasize | TrainingDatagen) -> str:
    return str(leaf.name)


def pairing_facts(sheet: FactSheet, path: str, phases: Phases) -> None:
    """State on a run's sheet what its datasize record and the datagen leaf say."""
    if not phases.datasizes:
        absent = phases.missing(DATASIZE)
        for name in ("prescribed_files", "datasize_record", "datasize_pairs"):
            sheet.put(name, absent)
    else:
        record = pair_datasize(sheet, phases.datasizes)
        sheet.put("datasize_pairs", record is not None, Source(phases.path))
        if record is None:
            detail = "no datasize record has this run's data directory"
            absent = Absence(f"pairing:{path}", Reason.NOT_APPLICABLE, path, detail=detail)
            sheet.put("prescribed_files", absent)
            sheet.put("datasize_record", absent)
        else:
            sheet.put("prescribed_files", record.num_files, record.source("datasize.num_files"))
            sheet.put("datasize_record", _name(record), Source(record.path))
    if not phases.datagens:
        for name in ("generated_files", "generated_subfolders", "datagen_leaf"):
            sheet.put(name, phases.missing(DATAGEN))
    else:
        made = _generation(sheet, phases.datagens)
        sheet.put("datagen_leaf", _name(made), Source(made.path))
        sheet.put("generated_files", made.num_files, made.source("datagen.num_files"))
        sheet.put("generated_subfolders", made.subfolders, made.source("datagen.subfolders"))


def _generation(run: FactSheet, datagens: Sequence[TrainingDatagen]) -> TrainingDatagen:
    """The datagen leaf that made a run's dataset: the one that its manifest names, else the latest."""
    named = run.get("manifest_datagen")
    return next((leaf for leaf in datagens if _name(leaf) == named), datagens[-1])


def alone_facts(sheet: FactSheet, path: str) -> None:
    """What a run that is looked at by itself cannot know."""
    absent = Absence(f"alone:{path}", Reason.NOT_APPLICABLE, path, detail="only this leaf was looked at")
    for name in (
        "prescribed_files",
        "datasize_record",
        "datasize_pairs",
        "generated_files",
        "generated_subfolders",
        "datagen_leaf",
    ):
        sheet.put(name, absent)
    sheet.put("role", "unassigned", Source(path))


def derive_workload(phases: Phases, labels: Sequence[str], observed: Mapping[str, Any]) -> TrainingWorkload:
    """The workload of these leaves. ``labels`` say what the datasize leaves record; ``observed`` holds the facts
    of hosts and rates that the adapter read, each a value with its source or an Absence.
    """
    path, sheet = phases.path, FactSheet()
    runs = []
    for run, run_path, its_role in zip(phases.runs, phases.run_paths, phases.roles, strict=True):
        run.put("role", its_role, Source(path))
        pairing_facts(run, run_path, phases)
        runs.append(run.build(TrainingRun, run_path))
    for name, value in observed.items():
        sheet.put(name, *value) if isinstance(value, tuple) else sheet.put(name, value)
    accelerators = sorted({str(run.accelerator) for run in runs if not isinstance(run.accelerator, Absence)})
    sheet.put("accelerators", accelerators, Source(path))
    sheet.put("datasize_labels", list(labels), Source(path))
    sheet.put("matching_datasizes", *_matching(phases, observed["model"], accelerators))
    sheet.put("conflicting_datasizes", _conflicting(phases.datasizes), Source(path))
    sheet.put("backdated", _backdated(phases), Source(path))
    larger = _larger(runs) if phases.datasizes else phases.missing(DATASIZE)
    sheet.put("larger_runs", larger, None if isinstance(larger, Absence) else Source(path))
    _prescribe(sheet, phases, runs)
    below: list[FactModel] = [*phases.datasizes, *phases.datagens, *runs]
    return sheet.build(TrainingWorkload, path, below)


def _matching(phases: Phases, model: Any, accelerators: Sequence[str]) -> tuple[int | Absence, Source | None]:
    """3.1.1: records of the workload's model, and where both are given of an accelerator of its runs.

    A leaf that names another command is no record; where there is no other one, rule 1.1 tells of it.
    """
    if not phases.datasizes:
        if DATASIZE in phases.directories:
            return 0, Source(f"{phases.path}/{DATASIZE}")
        return phases.missing(DATASIZE), None
    if isinstance(model, Absence):
        return model, None
    records = [
        record for record in phases.datasizes if isinstance(record.command, Absence) or record.command == DATASIZE
    ]
    if not records:
        path = phases.datasizes[0].path
        detail = f"its metadata names the command {phases.datasizes[0].command}"
        return Absence(foreign_command(path), Reason.INVALID, path, detail=detail), None
    wanted = model[0]
    unknown = [record.model for record in records if isinstance(record.model, Absence)]
    count = sum(
        1
        for record in records
        if record.model == wanted
        and (isinstance(record.accelerator, Absence) or not accelerators or record.accelerator in accelerators)
    )
    if not count and unknown:
        return unknown[0], None
    return count, Source(f"{phases.path}/{DATASIZE}")


def _conflicting(records: Sequence[TrainingDatasize]) -> list[str]:
    """3.3.1: records of one data directory that prescribe different numbers of files."""
    by_directory: dict[str, dict[int, str]] = {}
    for record in records:
        if not isinstance(record.num_files, Absence):
            directory = "" if isinstance(record.data_dir, Absence) else place(record.data_dir)
            by_directory.setdefault(directory, {}).setdefault(record.num_files, _name(record))
    return [
        f"{name}: {files} files"
        for found in by_directory.values()
        if len(found) > 1
        for files, name in sorted(found.items(), key=lambda pair: pair[1])
    ]


def _backdated(phases: Phases) -> list[str]:
    if not phases.runs:
        return []
    first = str(phases.runs[0].get("name"))
    return [
        f"{phase}/{_name(leaf)}"
        for phase, leaves in ((DATASIZE, phases.datasizes), (DATAGEN, phases.datagens))
        for leaf in leaves
        if _name(leaf) > first
    ]


def _larger(runs: Sequence[TrainingRun]) -> list[str]:
    """3.3.1: what runs use beyond what is prescribed for them; equal pairs of numbers are told once."""
    pairs = Counter(
        (run.num_files, run.prescribed_files)
        for run in runs
        if not isinstance(run.num_files, Absence) and not isinstance(run.prescribed_files, Absence)
    )
    return [
        f"{used} files, {prescribed} prescribed ({count} run{'s' if count > 1 else ''})"
        for (used, prescribed), count in pairs.items()
        if used > prescribed
    ]


def _prescribe(sheet: FactSheet, phases: Phases, runs: Sequence[TrainingRun]) -> None:
    """3.2.1: what was generated, and the largest dataset that the runs' datasize records prescribe.

    Where no record belongs to a run it is the runs' own minimum (rounded down: 3.1.2 judges the rounding).
    """
    made = phases.datagens[-1] if phases.datagens else None
    if made is None:
        absent = phases.missing(DATAGEN)
        sheet.put("generated_samples", absent)
        sheet.put("generated_record_length", absent)
    else:
        _put_product(sheet, "generated_samples", made.num_files, made.samples_per_file, made.path)
        sheet.put("generated_record_length", made.record_length, made.source("datagen.record_length"))
    paired = [record for run in phases.runs if (record := pair_datasize(run, phases.datasizes))]
    if not phases.runs and len(phases.datasizes) == 1:
        paired = list(phases.datasizes)
    candidates: list[tuple[Any, Any, Any, str]]
    if paired:
        origin = DATASIZE
        candidates = [(r.num_files, r.samples_per_file, r.record_length, r.path) for r in paired]
    else:
        origin = "runs"
        candidates = [(r.required_files_floored, r.samples_per_file, r.record_length, r.path) for r in runs]
    sheet.put("sizing_origin", origin, Source(phases.path))
    if not candidates:
        absent = phases.missing("run")
        sheet.put("prescribed_samples", absent)
        sheet.put("prescribed_record_length", absent)
        return
    files, samples, length, path = max(
        candidates, key=lambda c: -1 if isinstance(c[0], Absence) or isinstance(c[1], Absence) else c[0] * c[1]
    )
    _put_product(sheet, "prescribed_samples", files, samples, path)
    sheet.put("prescribed_record_length", length, Source(path))


def _put_product(sheet: FactSheet, name: str, files: Any, samples: Any, path: str) -> None:
    if isinstance(files, Absence) or isinstance(samples, Absence):
        sheet.put(name, files if isinstance(files, Absence) else samples)
    elif not -(2**63) <= files * samples < 2**63:
        sheet.put(name, Absence(f"range:{path}:{name}", Reason.INVALID, path, detail=f"{files} x {samples} samples"))
    else:
        sheet.put(name, files * samples, Source(path))


def read_bandwidth(mib_per_second: Sequence[float]) -> float:
    """3.3.8: GiB/s of the mean over the measured runs' means."""
    return float(mean(mib_per_second) / MIB_A_GIB)
