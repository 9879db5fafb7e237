"""What every part of a KV-cache Option needs to state its facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_text
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.facts import Absence, FactSheet, Reason, Source

from .common import put
from .kv_cache_files import RunFiles
from .kv_cache_ranks import OptionDirectory

_TAIL = re.compile(r"option_([0-9]{1,4})/trial_([0-9]{1,4})/rank_([0-9]{1,6})(?:/|$)")


class OptionSheet:
    """The files of one Option, its rank results, and the sheet that its facts are stated on."""

    def __init__(
        self, files: RunFiles, number: int, ranks: int, trials: int, stated_latencies: Collection[str]
    ) -> None:
        """``stated_latencies``: those of the device that some rank result of the leaf states."""
        self.files = files
        self.number = number
        self.name = str(number)
        self.summary = files.summary
        self.directory = files.options.get(number) or OptionDirectory(number)
        self.ranks, self.trials = ranks, trials
        self.commands = {trial: c for (option, trial), c in files.placed_commands.items() if option == number}
        self.path = f"{files.path}/option_{number}"
        self.cause = f"ranks:{files.path}"
        self._stated_latencies = stated_latencies
        self.sheet = FactSheet()
        self._commands_at = files.metadata.source("/command_output_files")
        self._results_at = Source(self.path)

    @cached_property
    def unusable(self) -> derived.Unusable:
        """Rank results that should be there and are of no use."""
        there = self.directory
        present = {result.place[1:] for result in there.results} | there.pruned | there.ambiguous
        if there.unlisted:  # what lies in such a directory is not known to be missing
            every = ((trial, rank) for trial in range(self.trials) for rank in range(self.ranks))
            present |= {place for place in every if {(), place[:1], place} & there.unlisted.keys()}
        return derived.Unusable(self.number, self.ranks, self.trials, present, there.unusable, self._declared()[0])

    @cached_property
    def results(self) -> derived.OptionResults:
        """The rank results, and why the whole is not known where results are missing that the summary counts on."""
        unknown = self.directory.placeholder or next(iter(self.directory.unlisted.values()), None)
        missing = [place for place in self.unusable if place not in self.unusable.declared]
        if unknown is None and (self.directory.ambiguous or (missing and self.summary.ok)):
            detail = "rank results are missing, or stand there twice, that the summary counts on"
            unknown = Absence(self.cause, Reason.MISSING_FILE, self.path, detail=detail)
        detail = f"Option {self.name} has no rank result"
        none = Absence(self.cause, Reason.NOT_APPLICABLE, self.path, detail=detail)
        return derived.OptionResults(self.number, self.ranks, self.trials, self.directory.results, none, unknown)

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _declared(self) -> tuple[set[tuple[int, int]], list[str]]:
        """Trial and rank of the results that the summary lists as missing, and entries that say no such thing."""
        entries = self.summary.list(f"/options/{self.name}/missing_files")
        declared: set[tuple[int, int]] = set()
        wrong: list[str] = []
        usable = {result.place[1:] for result in self.directory.results}
        for entry in entries.value if isinstance(entries, Reading) else []:
            place = tail(entry)
            if place is None or place[0] != self.number:
                wrong.append(clean(str(entry), 200))
            elif place[1:] in usable:
                wrong.append(derived.name_of(place))
            else:
                declared.add(place[1:])
        return declared, wrong

    def recorded(self, key: str, convert: Callable[[Any], Any]) -> Found[Any]:
        """A value of the summary; where it has nothing of the Option, one cause stands for all of them."""
        pointer = f"/options/{self.name}"
        if self.summary.ok and not self.summary.has(pointer):
            return self.summary.key_absent(pointer)
        return self.summary.read(f"{pointer}/{key}", convert)


def tail(entry: Any) -> derived.Place | None:
    """Option, trial and rank that a path of the run's machine names."""
    try:
        match = _TAIL.search(as_text(entry))
    except InvalidValueError:
        return None
    return (int(match[1]), int(match[2]), int(match[3])) if match else None
