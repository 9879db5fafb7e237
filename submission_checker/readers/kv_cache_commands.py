"""What the executed commands and the logs of a KV-cache run say. The recorded arguments do not: see section 6."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mlpstorage.results import dlio
from mlpstorage.results.convert import InvalidValueError
from mlpstorage.results.text import clean
from rules.derived.checkpointing import parse_hosts
from rules.derived.locations import normal_path
from rules.facts.kv_cache import EnvironmentVariable

WRAPPER = "mlperf_wrapper.py"
DIRECT = "kv-cache.py"
"""The benchmark without its wrapper, which OPEN allows."""
MAX_WORDS = 5000
"""Words of one command; the longest real ones name 51 hosts."""

_PLACE = re.compile(r"(?:^|/)option_([0-9]{1,4})/trial_([0-9]{1,4})(?:/|$)")
_ATTACHED = re.compile(r"(-n|-np|-c)([0-9]+)|(--?[A-Za-z]+)=(.*)", re.DOTALL)
_RANK_PREFIX = r"^\s*(?:\[[^\]\n]{1,40}\](?:<std(?:out|err)>)?:?\s*)?"
_STATED = {
    "num-users": r"Users: *([0-9]{1,9})\b",
    "duration": r"Duration: *([0-9.]{1,12}) *s",
    "gpu-mem-gb": r"GPU Memory: *([0-9.]{1,12}) *GB",
    "max-concurrent-allocs": r"Max Concurrent Allocations: *([0-9]{1,9})\b",
    "generation-mode": r"Generation Mode: *([a-z_]{1,30})\b",
}
_SWITCH = r"(RAG Workload|Autoscaling): *([A-Za-z]{1,20})"
_BANNER = re.compile(_RANK_PREFIX + rf"(?:- )?(?:{'|'.join((_SWITCH, *_STATED.values()))})", re.MULTILINE)
"""A line of the benchmark's banner: a switch and its state, or a value, each in a group of its own."""
_SAVED = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}) - [^\n]{0,80}Results saved")


@dataclass(frozen=True, slots=True)
class Command:
    """One command that started the benchmark. ``place`` is its Option and trial, where its words tell them."""

    index: int
    launcher: Sequence[str]
    program: str
    options: Sequence[tuple[str, str]]
    """Name without dashes and value ('' for a switch), in order."""
    place: tuple[int, int] | None = None

    @property
    def direct(self) -> bool:
        """It calls the benchmark without its wrapper."""
        return posixpath.basename(self.program) == DIRECT

    def values(self, name: str) -> list[str]:
        """All values of one option."""
        return [value for option, value in self.options if option == name]

    def value(self, name: str) -> str | None:
        """The value that counts, the last one."""
        values = self.values(name)
        return values[-1] if values else None

    @property
    def processes(self) -> int | None:
        """The launcher's ``-n``; None where it is not there, or not a number. A wrapper without a launcher is one."""
        if not self.direct and all(posixpath.basename(word).startswith("python") for word in self.launcher):
            return 1
        text = dlio.parse_launch(_apart(self.launcher)).processes
        return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None

    @property
    def slots(self) -> list[int] | None:
        """Slots of each host of mpirun -host, in its order; None where it does not state them for each."""
        slots = [slots for _, slots in self._hosts if slots is not None]
        return slots if slots and len(slots) == len(self._hosts) else None

    @property
    def hosts(self) -> int | None:
        """Distinct hosts of mpirun -host."""
        return len(self._hosts) or None

    @property
    def _hosts(self) -> list[tuple[str, int | None]]:
        """None of them where there is no -host, or it is malformed."""
        stated = dlio.parse_launch(_apart(self.launcher)).hosts
        try:
            return parse_hosts([] if stated is None else [stated])
        except ValueError:
            return []

    @property
    def config_is_foreign(self) -> bool:
        """Its configuration does not lie beside the wrapper."""
        config = self.value("config")
        return config is not None and posixpath.dirname(normal_path(config)) != posixpath.dirname(
            normal_path(self.program)
        )


def parse_command(index: int, command: str) -> Command | None:
    """A command of the list that the metadata holds; None where it did not start the benchmark."""
    try:
        words = [clean(word) for word in dlio.split_command(command)]
    except ValueError:
        return None
    programs = [
        position for position, word in enumerate(words[:MAX_WORDS]) if posixpath.basename(word) in (WRAPPER, DIRECT)
    ]
    if not programs:
        return None
    at = programs[0]
    options = list(_options(words[at + 1 : at + 1 + MAX_WORDS]))
    return Command(index, words[:at], words[at], options, _place(options))


def _apart(words: Iterable[str]) -> Iterator[str]:
    """The words, where an option's value is part of its word (``-n8``, ``--np=8``) as two."""
    for word in words:
        match = _ATTACHED.fullmatch(word)
        yield from (part for part in match.groups() if part is not None) if match else (word,)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not word.startswith("--"):
            continue
        name, separator, value = word.removeprefix("--").partition("=")
        if not separator and position < len(words) and not words[position].startswith("--"):
            value = words[position]
            position += 1
        yield name, value


def _place(options: Iterable[tuple[str, str]]) -> tuple[int, int] | None:
    for name, value in options:
        if name in ("rank-output-base", "output"):
            match = _PLACE.search(value)
            if match:
                return int(match[1]), int(match[2])
    return None


def environment(words: Sequence[str]) -> Iterator[EnvironmentVariable]:
    """Variables that the words of a launcher set."""
    for name, value in dlio.environment(words):
        files = [posixpath.basename(path).lower() for path in re.split(r"[:\s]+", value) if path]
        yield EnvironmentVariable(name=name, value=value, files=files)


def as_command(value: object) -> str:
    """An entry of the list of commands. Raises InvalidValueError."""
    command = value.get("command") if isinstance(value, dict) else None
    if not isinstance(command, str):
        raise InvalidValueError("an entry with a command")
    return command


@dataclass(frozen=True, slots=True)
class Banner:
    """What the log of one trial states; each value once."""

    values: dict[str, list[str]] = field(default_factory=dict)
    users: list[int] = field(default_factory=list)
    """The lines 'Users:', one for each client."""
    switches: dict[str, set[str]] = field(default_factory=dict)

    def enabled(self, name: str) -> bool | None:
        """Whether a switch is on for some client; None where the log does not say."""
        states = self.switches.get(name)
        return None if not states else states != {"disabled"}


def parse_banner(text: str) -> Banner:
    """The benchmark's own statements in a log; several clients write to it in turn."""
    stated: dict[str, list[str]] = {name: [] for name in _STATED}
    switches: dict[str, set[str]] = {}
    for switch, state, *values in _BANNER.findall(text):
        if switch:
            switches.setdefault(switch, set()).add(state.lower())
        for name, value in zip(stated, values, strict=True):
            if value:
                stated[name].append(value)
    users = [int(number) for number in stated["num-users"]]
    return Banner({name: sorted(set(found)) for name, found in stated.items() if found}, users, switches)


def last_saved(text: str) -> datetime | None:
    """When the last client of a trial had saved its result, from the trial's log of errors."""
    times = []
    for stamp in _SAVED.findall(text):
        try:
            times.append(datetime.fromisoformat(stamp))
        except ValueError:
            continue
    return max(times, default=None)
