"""The rank results of a KV-cache leaf: which are there, and what each of them states."""

from __future__ import annotations

import hashlib
import marshal
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_float, as_int
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.layout import leaf_time
from mlpstorage.results.text import clean
from rules.derived.kv_cache import RankResult, name_of, option_names
from rules.facts import Absence, Reason
from rules.facts.kv_cache import ExtraResult

from .common import listed
from .leaf_json import read_rank_result

_OPTION = re.compile(r"option_([0-9]{1,4})")
_TRIAL = re.compile(r"trial_([0-9]{1,4})")
_RANK = re.compile(r"rank_([0-9]{1,6})")
_RESULT = re.compile(r"kvcache_results_(.*)\.json")
_STATS = ("/summary/cache_stats", "/cache_stats")
_FIGURES: Mapping[str, tuple[str, ...]] = {
    "read_bandwidth": tuple(f"{at}/tier_storage_read_bandwidth_gbps" for at in _STATS),
    "write_bandwidth": tuple(f"{at}/tier_storage_write_bandwidth_gbps" for at in _STATS),
    "read_gib": tuple(f"{at}/tier_storage_kv_bytes_read_gb" for at in _STATS),
    "written_gib": tuple(f"{at}/tier_storage_kv_bytes_written_gb" for at in _STATS),
    "storage_entries": tuple(f"{at}/storage_entries" for at in _STATS),
    "device_read_p95": tuple(f"{at}/storage_read_device_p95_ms" for at in _STATS),
    "device_write_p95": tuple(f"{at}/storage_write_device_p95_ms" for at in _STATS),
    "seconds": ("/summary/elapsed_time",),
    "tokens": ("/summary/total_tokens",),
    "storage_seconds": ("/summary/total_storage_io_time", "/total_storage_io_latency"),
    "storage_throughput": ("/summary/storage_throughput_tokens_per_sec",),
    "average_throughput": ("/summary/avg_throughput_tokens_per_sec",),
    "storage_p95": ("/summary/storage_io_latency_ms/p95",),
}
"""Figures of a result file, each with the places where it can stand."""
LATENCIES = "/end_to_end_latencies"
_PLAIN = 2
"""Version of the form in which equal values have equal bytes, whether or not they are one object."""


@dataclass(slots=True)
class OptionDirectory:
    """What lies in one ``option_N``."""

    number: int
    trials: list[int] = field(default_factory=list)
    results: list[RankResult] = field(default_factory=list)
    unusable: dict[tuple[int, int], str] = field(default_factory=dict)
    """Trial and rank of results that cannot be used, with the reason."""
    placeholder: Absence | None = None
    """Some result was pruned."""
    pruned: set[tuple[int, int]] = field(default_factory=set)
    ambiguous: set[tuple[int, int]] = field(default_factory=set)
    """Ranks with several results: nothing says which one counts, none is read."""
    extra: list[ExtraResult] = field(default_factory=list)
    unlisted: dict[tuple[int, ...], Absence] = field(default_factory=dict)
    """Directories that could not be listed, by trial and rank (or trial, or nothing: the Option's): nothing is known of
    what lies in them.
    """
    starts: dict[int, datetime] = field(default_factory=dict)
    """By trial: when rank 0 started, on its own clock, as its file's name says."""
    ranks: int = 0
    """One more than the highest rank that has a directory."""

    @property
    def first_rank_unlisted(self) -> Absence | None:
        """Why not every result of rank 0, the clock of the Option, was seen."""
        return next((why for place, why in self.unlisted.items() if place[1:] in ((), (0,))), None)


def read_options(root: Root, leaf: str, trials: int | None, ranks: int | None) -> dict[int, OptionDirectory]:
    """The Options that have a directory, with the results of their ranks.

    What lies beyond the stated numbers of trials and ranks is listed and not read; so are Options that nobody knows.
    """
    known = option_names()
    found: dict[int, OptionDirectory] = {}
    for number, name in _numbered(root, leaf, _OPTION):
        option = found[number] = OptionDirectory(number)
        if str(number) not in known:
            continue
        for trial, trial_name in _listed(root, f"{leaf}/{name}", _TRIAL, option, ()):
            path = f"{leaf}/{name}/{trial_name}"
            if trials is not None and trial >= trials:
                option.extra.append(_extra(f"{name}/{trial_name}", path, "trial"))
                continue
            option.trials.append(trial)
            for rank, rank_name in _listed(root, path, _RANK, option, (trial,)):
                if ranks is not None and rank >= ranks:
                    option.extra.append(_extra(f"{name}/{trial_name}/{rank_name}", f"{path}/{rank_name}", "rank"))
                    continue
                option.ranks = max(option.ranks, rank + 1)
                _read_rank(root, leaf, f"{path}/{rank_name}", (number, trial, rank), option)
    return found


def ranks_there(root: Root, leaf: str) -> int:
    """One more than the highest rank that has a directory in some trial."""
    return max(
        (
            rank + 1
            for _, name in _numbered(root, leaf, _OPTION)
            for _, trial_name in _numbered(root, f"{leaf}/{name}", _TRIAL)
            for rank, _ in _numbered(root, f"{leaf}/{name}/{trial_name}", _RANK)
        ),
        default=0,
    )


def trials_there(root: Root, leaf: str) -> int:
    """One more than the highest trial that has a directory in some Option."""
    options = (f"{leaf}/{name}" for _, name in _numbered(root, leaf, _OPTION))
    return max((trial + 1 for option in options for trial, _ in _numbered(root, option, _TRIAL)), default=0)


def _listed(
    root: Root, directory: str, pattern: re.Pattern[str], option: OptionDirectory, place: tuple[int, ...]
) -> Iterator[tuple[int, str]]:
    """As :func:`_numbered`; what cannot be listed is noted, and so is a directory that only begins like one of them."""
    names = listed(root, directory)
    if isinstance(names, Absence):
        option.unlisted[place] = names
        return
    numbered = _by_number(names[0], pattern)
    above = "/".join(directory.split("/")[-1 - len(place) :])
    for name in _set_aside(names[0], pattern, numbered):
        option.extra.append(_extra(f"{above}/{clean(name)}", f"{directory}/{name}", "misnamed"))
    yield from numbered.items()


def _numbered(root: Root, directory: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Sub-directories of a directory by the number in their name; each number once."""
    try:
        names = root.list(directory)[0]
    except OSError:
        return
    yield from _by_number(names, pattern).items()


def _by_number(names: Sequence[str], pattern: re.Pattern[str]) -> dict[int, str]:
    """The names that the pattern takes by their number, in its order; of several with one number the plainest."""
    plainest_last = sorted(names, key=len, reverse=True)
    numbered = {int(match[1]): name for name in plainest_last if (match := pattern.fullmatch(name))}
    return dict(sorted(numbered.items()))


def _set_aside(names: Sequence[str], pattern: re.Pattern[str], numbered: Mapping[int, str]) -> list[str]:
    """Names that begin as the pattern does and are not read: another spelling of a number, or more than a number."""
    read = set(numbered.values())
    return [name for name in names if name not in read and name.startswith(pattern.pattern.partition("(")[0])]


def options_set_aside(leaf_directories: Sequence[str]) -> list[str]:
    """Directories that begin like an Option's and are not read."""
    numbered = _by_number(leaf_directories, _OPTION)
    return [clean(name, 40) for name in _set_aside(leaf_directories, _OPTION, numbered)]


def _extra(name: str, path: str, kind: Any) -> ExtraResult:
    return ExtraResult(name=name, path=clean(path), kind=kind)


def _read_rank(root: Root, leaf: str, path: str, place: tuple[int, int, int], option: OptionDirectory) -> None:
    """Read the one result of a rank; several are all left unread, for nothing says which one counts."""
    key = place[1:]
    there = listed(root, path)
    if isinstance(there, Absence):
        option.unlisted[key] = there
        return
    names = [name for name in there[1] if _RESULT.fullmatch(name)]
    if len(names) > 1:
        option.extra.append(_extra(name_of(place), path, "second file"))
        option.ambiguous.add(key)
        return
    if not names:
        return
    match = _RESULT.fullmatch(names[0])
    started = leaf_time(match[1]) if match and place[2] == 0 else None
    if started is not None:
        option.starts[place[1]] = started
    document = read_rank_result(root, leaf, f"{path}/{names[0]}")
    if document.state == "placeholder":
        option.placeholder = document.absence()
        option.pruned.add(key)
        return
    if not document.ok:
        option.unusable[key] = document.detail
    elif not isinstance(document.data.get("summary"), dict):
        option.unusable[key] = "the result has no summary: no request was completed"
    else:
        option.results.append(_result(document, clean(leaf), place))


def _result(document: Document, leaf: str, place: tuple[int, int, int]) -> RankResult:
    figures: dict[str, Any] = {
        figure: _figure(leaf, document.float(*pointers)) for figure, pointers in _FIGURES.items()
    }
    figures["longest_request"] = _figure(leaf, document.read(LATENCIES, _longest))
    stats = document.data["summary"]
    return RankResult(
        place=place,
        source=document.source(),
        figures=figures,
        seed=_figure(leaf, document.read("/seed", as_int)),
        measurements=_digest(document.list(LATENCIES)),
        autoscaled=bool(stats.get("autoscaling_summary")) or bool(stats.get("autoscaling_stats")),
        traced=document.has("/device_latency_tracing") or document.has("/summary/device_latency_tracing"),
    )


def _figure(leaf: str, found: Found[Any]) -> Any:
    """The value; a key that is not there was not recorded by the build, and one cause stands for all of a leaf's."""
    if isinstance(found, Reading):
        return found.value
    if found.reason is Reason.KEY_ABSENT:
        detail = "the rank results do not state it"
        return Absence(f"rank keys:{leaf}", Reason.NOT_RECORDED, found.path, found.pointer, detail)
    return found


def _longest(value: Any) -> float:
    if not isinstance(value, list):
        raise InvalidValueError("a list of latencies")
    try:
        return as_float(max(value, default=0.0))
    except TypeError:
        raise InvalidValueError("a list of numbers") from None


def _digest(latencies: Found[list[Any]]) -> str:
    if isinstance(latencies, Absence) or not latencies.value:
        return ""
    return hashlib.sha256(marshal.dumps(latencies.value, _PLAIN)).hexdigest()
