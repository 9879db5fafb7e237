"""What every rank of a training run recorded of its steps: read with ``--deep`` only, one file at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from itertools import count, islice
from typing import Any, NamedTuple

from mlpstorage.results.convert import InvalidValueError, as_float, as_local_time
from mlpstorage.results.document import Document, Found
from mlpstorage.results.partial import Path, Skimmer
from mlpstorage.results.text import clean, shorten
from rules.derived.training_ranks import (
    Block,
    BlockUtilisation,
    Difference,
    EpochUtilisation,
    Recorded,
    RunUtilisation,
    block_utilisation,
    epoch_steps,
)
from rules.facts import Absence, FactSheet, Reason, Source

from .training_files import TrainingDocuments

_RANKS = ("rank_difference", "rank_computation")
_MEANS = ("rank_mean_difference", "rank_mean_computation")
_RECORDED = ("rank_fewest_steps", "rank_most_steps", "rank_steps", "rank_last_epoch")
_OUTPUT = re.compile(r"(0|[1-9][0-9]{0,8})_output\.json")
_EPOCH = re.compile(r"[1-9][0-9]{0,4}")
_SKIMMED_EPOCHS = 32
"""Where a file has more, it is read as a whole."""
_MOST_NAMED = 3
_SHORT = 40

_SERIES = frozenset({"compute", "proc", "au", "throughput"})
_ONLY: Mapping[Path, frozenset[str]] = {
    ("host_cpuinfo",): frozenset(),
    ("host_meminfo",): frozenset(),
    **{(f"{epoch}",): _SERIES for epoch in range(1, _SKIMMED_EPOCHS + 1)},
}
_RANK_OUTPUT = Skimmer(_ONLY, plain=True)
"""Of a rank's output: not how long it waited for each batch, nor what its host has."""


class _UnusableError(Exception):
    """The files of a rank do not give its utilisation; the text says why."""

    def __init__(self, detail: str, reason: Reason = Reason.UNREADABLE) -> None:
        super().__init__(detail)
        self.reason = reason


class _Size(NamedTuple):
    """What the summary and the configuration say of an epoch."""

    ranks: int
    steps: int
    batch: int


def put_ranks(sheet: FactSheet, files: TrainingDocuments, listed: Found[list[float]]) -> None:
    """State what the ranks of a run recorded, beside the utilisations that its summary lists."""
    size = _size(sheet, files)
    if isinstance(size, Absence):
        for name in ("ranks_recomputed", *_RANKS, *_MEANS, "rank_steps_due", *_RECORDED):
            sheet.put(name, size)
        return
    run = RunUtilisation()
    problems = _gather(files, size, run)
    why = _absence(files, size, problems)
    sheet.put("ranks_recomputed", run.ranks, Source(files.path))
    sheet.put("rank_steps_due", size.steps, Source(files.path))
    _put(sheet, _RECORDED, run.recorded or why or _no_epochs(files), files)
    _put(sheet, _RANKS, run.of_ranks or why or _no_epochs(files), files)
    _put(sheet, _MEANS, why or _means(files, run, listed), files)


def _put(
    sheet: FactSheet, names: Sequence[str], found: Difference | Recorded | Absence, files: TrainingDocuments
) -> None:
    values = (found,) * len(names) if isinstance(found, Absence) else found
    for name, value in zip(names, values, strict=True):
        sheet.put(name, value, Source(files.path))


def _size(sheet: FactSheet, files: TrainingDocuments) -> _Size | Absence:
    names = ("samples_per_file", "num_files", "batch_size", "num_accelerators")
    values = [sheet.get(name) for name in names]
    for value in values:
        if isinstance(value, Absence):
            return value
    try:
        return _Size(values[3], epoch_steps(*values), values[2])
    except ValueError as error:
        return Absence(f"steps:{files.path}", Reason.INVALID, files.path, detail=str(error))


def _gather(files: TrainingDocuments, size: _Size, run: RunUtilisation) -> list[tuple[Reason, str]]:
    """Add every rank whose files can be used; gives what is wrong with the others that are there."""
    problems = []
    for rank in _ranks_there(files, size):
        try:
            run.add(rank, _epochs(files, rank, size))
        except _UnusableError as problem:
            problems.append((problem.reason, str(problem)))
    return problems


def _ranks_there(files: TrainingDocuments, size: _Size) -> list[int]:
    """The ranks of the run that have a file. Files of other ranks are none of the run's."""
    numbers = (int(match[1]) for name in files.leaf.files if (match := _OUTPUT.fullmatch(name)))
    return sorted(rank for rank in numbers if rank < size.ranks)


def _absence(files: TrainingDocuments, size: _Size, problems: list[tuple[Reason, str]]) -> Absence | None:
    """Why the mean over all ranks is not known. A rank that is missing weighs more than one that was pruned."""
    there = _ranks_there(files, size)
    missing = size.ranks - len(there)
    texts = [text for reason, text in problems if reason is not Reason.PLACEHOLDER]
    if missing:
        known = set(there)
        lost = islice((rank for rank in count() if rank not in known), min(missing, _MOST_NAMED))
        texts = [*(f"there is no {rank}_output.json" for rank in lost), *texts]
    if not missing and not problems:
        return None
    pruned = not texts
    texts = (texts or [text for _, text in problems])[:_MOST_NAMED]
    number = missing + len(problems)
    detail = f"the files of {number} of {size.ranks} ranks cannot be used: {'; '.join(texts)}"
    if number > len(texts):
        detail += "; ..."
    if pruned:
        return Absence(files.placeholder, Reason.PLACEHOLDER, files.path, detail=detail)
    reasons = {Reason.MISSING_FILE} if missing else {reason for reason, _ in problems}
    reason = Reason.MISSING_FILE if Reason.MISSING_FILE in reasons else Reason.UNREADABLE
    return Absence(f"ranks:{files.path}", reason, files.path, detail=detail)


def _no_epochs(files: TrainingDocuments) -> Absence:
    return Absence(f"ranks:{files.path}", Reason.INVALID, files.path, detail="the run had no ranks")


def _means(files: TrainingDocuments, run: RunUtilisation, listed: Found[list[float]]) -> Difference | Absence:
    if isinstance(listed, Absence):
        return listed
    found = run.of_means(listed.value)
    if found is None:
        detail = f"not every rank states each of the {len(listed.value)} epochs that the summary lists"
        return Absence(f"ranks:{files.path}", Reason.INVALID, files.path, detail=detail)
    return found


def _epochs(files: TrainingDocuments, rank: int, size: _Size) -> dict[int, EpochUtilisation]:
    """Utilisation of each epoch of a rank. Raises _UnusableError."""
    output = _usable(files.of_rank(f"{rank}_output.json", _RANK_OUTPUT))
    stats = _usable(files.of_rank(f"{rank}_per_epoch_stats.json"))
    found = {}
    for key in output:
        if _EPOCH.fullmatch(key):
            try:
                blocks = dict(_blocks(output[key], stats.get(key), size))
            except ValueError as problem:
                raise _UnusableError(f"rank {rank}, epoch {key}: {problem}") from None
            found[int(key)] = EpochUtilisation(blocks)
    if not found:
        raise _UnusableError(f"rank {rank}: its output states no epoch")
    return found


def _usable(document: Document) -> dict[str, Any]:
    if document.ok:
        return document.data
    absence = document.absence()
    name = document.path.rpartition("/")[2]
    raise _UnusableError(f"{name}: {document.detail}", absence.reason)


def _blocks(epoch: Any, times: Any, size: _Size) -> Iterator[tuple[str, BlockUtilisation]]:
    """The blocks of an epoch by name. Raises ValueError."""
    names = _below(epoch, "compute")
    if not isinstance(names, dict) or not names:
        raise ValueError("it states no compute times")
    for name in names:
        block = Block(
            compute=_list(epoch, "compute", name),
            proc=_list(epoch, "proc", name),
            seconds=_seconds(times, name),
            stated=_number(epoch, "au", name),
            throughput=_number(epoch, "throughput", name),
        )
        yield clean(name, _SHORT), block_utilisation(block, size.steps, size.batch)


def _below(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _list(epoch: Any, series: str, name: str) -> list[Any]:
    found = _below(epoch, series, name)
    if not isinstance(found, list):
        raise ValueError(f"{series} of {shorten(name)} is no list")
    return found


def _number(epoch: Any, figure: str, name: str) -> float:
    try:
        return as_float(_below(epoch, figure, name))
    except InvalidValueError:
        raise ValueError(f"{figure} of {shorten(name)} is no finite number") from None


def _seconds(times: Any, name: str) -> Fraction:
    try:
        start, end = (as_local_time(_below(times, name, key)) for key in ("start", "end"))
    except InvalidValueError:
        raise ValueError(f"the statistics do not tell when {shorten(name)} began and ended") from None
    return Fraction((end - start) // timedelta(microseconds=1), 10**6)
