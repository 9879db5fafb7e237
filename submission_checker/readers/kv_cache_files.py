"""The files of one KV-cache leaf, each read once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from mlpstorage.results import layout
from mlpstorage.results.convert import as_int
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import MAX_LOG_BYTES, Root
from mlpstorage.results.text import clean
from rules.derived.kv_cache import outvoted
from rules.facts import Absence, Reason, Source

from ..leaf import Leaf
from .common import Role, listed
from .kv_cache_commands import Banner, Command, as_command, last_saved, parse_banner, parse_command
from .kv_cache_ranks import OptionDirectory, ranks_there, read_options, trials_there
from .leaf_json import placeholder_of, read_leaf_json

MAX_RANKS = 20_000
"""Clients of a run; the largest real one has 204."""
MAX_TRIALS = 100
MAX_COMMANDS = 10_000

_METADATA = re.compile(r".*_metadata\.json")
_OLDER_SUMMARY = re.compile(r"kvcache_run_summary(?:_.*)?\.json")
_LOG = re.compile(r"kvcache_opt([0-9]{1,4})_trial([0-9]{1,4})_.*\.(stdout|stderr)\.log")
_SENTINEL = re.compile(r"[0-9a-f]{12}__rank[0-9]+__(.+)\.ok")
PROBE = ".fs_probe"

SummaryKind = Literal["current", "older", "none"]


@dataclass(frozen=True, slots=True)
class Log:
    """The head of a log; ``whole``: it is all of it."""

    text: str
    whole: bool
    source: Source


class RunFiles:
    """Opens the files of a leaf. Absences of a pruned file carry one cause for the whole leaf."""

    def __init__(self, root: Root, leaf: Leaf) -> None:
        self._root = root
        self.leaf = leaf
        self.path = clean(leaf.path)
        self.placeholder = placeholder_of(leaf.path)
        self.metadata_names = [clean(name) for name in leaf.files if _METADATA.fullmatch(name)]
        self.metadata = self._json(self._metadata_name())
        self.older = [name for name in leaf.files if _OLDER_SUMMARY.fullmatch(name)]
        self.summary_kind: SummaryKind = (
            "current" if layout.SUMMARY in leaf.files else "older" if self.older else "none"
        )
        self.summary = self._json(self.older[-1] if self.summary_kind == "older" else layout.SUMMARY)
        self.fs_separation = self._json(layout.FS_SEPARATION)
        self._logs = {
            (int(match[1]), int(match[2]), match[3]): name for name in leaf.files if (match := _LOG.fullmatch(name))
        }

    def _json(self, name: str) -> Document:
        return read_leaf_json(self._root, self.leaf, name, layout.KV_CACHE)

    def _metadata_name(self) -> str:
        """The name with the leaf's time stamp; in a renamed leaf the only other one there is."""
        wanted = layout.metadata_name(self.leaf.name, layout.KV_CACHE)
        others = [name for name in self.leaf.files if _METADATA.fullmatch(name)]
        return others[0] if wanted not in others and len(others) == 1 else wanted

    def all(self) -> Iterator[tuple[Document, Role]]:
        """The documents that facts are read from."""
        yield self.metadata, "metadata"
        yield self.summary, "summary"
        if self.fs_separation.state != "missing":
            yield self.fs_separation, "other"

    @property
    def summary_names(self) -> list[str]:
        """All summaries of the leaf, the one that was read first."""
        read = self.summary.path.rpartition("/")[2]
        current = [layout.SUMMARY] if self.summary_kind == "current" else []
        return sorted(map(clean, [*current, *self.older]), key=lambda name: name != read)

    @cached_property
    def summaries_agree(self) -> Found[bool]:
        """Whether all summaries of the leaf say the same."""
        documents = [self.summary, *(self._json(name) for name in self.older)]
        unusable = next((document for document in documents if not document.ok), None)
        if unusable is not None:
            return unusable.absence()
        agree = all(document.data == self.summary.data for document in documents)
        return Reading(agree, self.summary.source())

    def optional(self, found: Found[Any]) -> Found[Any]:
        """The same; a key that not every tool version writes was not recorded, which is no violation by itself."""
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            return self.not_recorded("keys", found.pointer, found.path, f"{found.pointer} is not recorded")
        return found

    def not_recorded(self, what: str, pointer: str, path: str, detail: str) -> Absence:
        """One cause for all of a kind in the leaf."""
        return Absence(f"not-recorded:{self.path}:{what}", Reason.NOT_RECORDED, path, pointer, detail)

    @cached_property
    def commands(self) -> list[Command] | Absence:
        """The commands that started the benchmark; not recorded where the list holds none."""
        entries = self.metadata.list("/command_output_files")
        if isinstance(entries, Absence) and entries.reason is not Reason.KEY_ABSENT:
            return entries
        found: list[Command] = []
        for index, entry in enumerate(entries.value[:MAX_COMMANDS] if isinstance(entries, Reading) else []):
            try:
                command = parse_command(index, as_command(entry))
            except ValueError:
                continue
            if command is not None:
                found.append(command)
        if found:
            return found
        detail = "no command that started the benchmark is recorded"
        return self.not_recorded("commands", "/command_output_files", self.metadata.path, detail)

    @cached_property
    def placed_commands(self) -> Mapping[tuple[int, int], Command]:
        """The last command of each Option and trial."""
        commands = self.commands if isinstance(self.commands, list) else []
        return {command.place: command for command in commands if command.place is not None}

    @cached_property
    def ranks(self) -> Found[int]:
        """Clients that the summary states, as far as it can be true."""
        return self._bounded(self.summary.int("/total_ranks"), MAX_RANKS)

    @cached_property
    def clients(self) -> Found[int]:
        """Clients that the run had, of summary or commands; see :func:`rules.derived.kv_cache.outvoted`."""
        return _settled(self.ranks, self._started(), lambda: ranks_there(self._root, self.leaf.path))

    def _started(self) -> Reading[int] | None:
        """Clients that all commands start, by their number or by their host lists; else those that were asked for."""
        commands = self.commands if isinstance(self.commands, list) else []
        processes = {command.processes for command in commands if command.processes is not None}
        slots = {sum(command.slots) for command in commands if command.slots is not None}
        for counts in (processes, slots):
            if counts:
                one = len(counts) == 1 and 0 < max(counts) <= MAX_RANKS
                return Reading(max(counts), self.metadata.source("/command_output_files")) if one else None
        return self._asked("num_processes", MAX_RANKS)

    @cached_property
    def trials(self) -> Found[int]:
        """Trials of each Option that the summary states, as far as it can be true."""
        return self._bounded(self.summary.int("/trials_per_option"), MAX_TRIALS)

    @cached_property
    def trial_count(self) -> Found[int]:
        """Trials of each Option that the run had, of summary or arguments; see :attr:`clients`."""
        return _settled(
            self.trials, self._asked("trials", MAX_TRIALS), lambda: trials_there(self._root, self.leaf.path)
        )

    def _bounded(self, found: Found[int], most: int) -> Found[int]:
        if isinstance(found, Reading) and not 0 < found.value <= most:
            return self.summary.invalid(found.source.pointer, f"{found.value} is not a number from 1 to {most}")
        return found

    @cached_property
    def options(self) -> dict[int, OptionDirectory]:
        """What lies in the directories of the Options."""
        trials = self.trial_count.value if isinstance(self.trial_count, Reading) else None
        ranks = self.clients.value if isinstance(self.clients, Reading) else None
        return read_options(self._root, self.leaf.path, trials, ranks)

    def _asked(self, name: str, most: int) -> Reading[int] | None:
        """A positive argument of the command line, where it is one and not larger than ``most``."""
        found = self.metadata.read(f"/args/{name}", as_int)
        return found if isinstance(found, Reading) and 0 < found.value <= most else None

    def banner(self, option: int, trial: int) -> tuple[Banner, Log] | Absence:
        """What the log of a trial states, and that log. An absent log is like a pruned one: it may be cut."""
        log = self._log(option, trial, "stdout")
        return log if isinstance(log, Absence) else (parse_banner(log.text), log)

    def saved(self, option: int, trial: int) -> Any:
        """When the last client of a trial had saved its result; None where the log does not say."""
        log = self._log(option, trial, "stderr")
        return None if isinstance(log, Absence) or not log.whole else last_saved(log.text)

    def _log(self, option: int, trial: int, stream: str) -> Log | Absence:
        name = self._logs.get((option, trial, stream))
        path = clean(self.leaf.at(f"kvcache_opt{option}_trial{trial}_*.{stream}.log" if name is None else name))
        if name is not None:
            content = self._root.read(self.leaf.at(name), MAX_LOG_BYTES, head=True)
            if content.state == "ok":
                whole = len(content.data) < MAX_LOG_BYTES
                return Log(content.data.decode("utf-8", "replace"), whole, Source(path))
            if content.state == "placeholder":
                return Absence(self.placeholder, Reason.PLACEHOLDER, path, detail=content.detail)
        return self.not_recorded("logs", "", path, "the log is not there, or states nothing")

    @cached_property
    def probe_hosts(self) -> Found[int]:
        """Hosts that left a sentinel before the run."""
        if PROBE not in self.leaf.directories:
            return self.not_recorded("probe", "", f"{self.path}/{PROBE}", "there is no probe of the results directory")
        names = listed(self._root, self.leaf.at(PROBE))
        if isinstance(names, Absence):
            return names
        hosts = {match[1].lower() for name in names[1] if (match := _SENTINEL.fullmatch(name))}
        return Reading(len(hosts), Source(f"{self.path}/{PROBE}"))


def _settled(stated: Found[int], started: Reading[int] | None, there: Callable[[], int]) -> Found[int]:
    """What the summary states, unless it is outvoted; ``there`` is asked only where the two differ."""
    if started is None or isinstance(stated, Absence):
        return started or stated
    if stated.value == started.value or outvoted(stated.value, started.value, there()) == stated.value:
        return stated
    return started
