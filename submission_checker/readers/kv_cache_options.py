"""The Options of a KV-cache run as facts: commands, logs and rank results beside what the summary states of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from mlpstorage.results.credentials import shown
from mlpstorage.results.document import Found, InvalidValueError, Reading, as_float, as_int, as_text
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.kv_cache import BannerCount, CommandOption, KvCacheOption, SharedValue

from .common import put
from .kv_cache_commands import Banner
from .kv_cache_files import Log, RunFiles
from .kv_cache_ranks import OptionDirectory

_TAIL = re.compile(r"option_([0-9]{1,4})/trial_([0-9]{1,4})/rank_([0-9]{1,6})(?:/|$)")
FORWARDED = ("output", "cache-dir", "seed")
"""Options that the wrapper sets for each rank; passed on by hand they would be the same for all."""
AUTOSCALING, IO_TRACE, SEED_BASE = "enable-autoscaling", "io-trace-log", "seed-base"

AGGREGATES: Mapping[str, tuple[str, str]] = {
    "read_bandwidth": ("aggregated_read_bandwidth_gbps", "read_deviation"),
    "write_bandwidth": ("aggregated_write_bandwidth_gbps", "write_deviation"),
    "storage_throughput": ("aggregated_storage_throughput_tokens_per_sec", "storage_throughput_deviation"),
    "average_throughput": ("aggregated_avg_throughput_tokens_per_sec", "average_throughput_deviation"),
}
"""Sums over ranks, means over trials: key of the summary and name of the deviation."""
LATENCIES: Mapping[str, tuple[str, str]] = {
    "device_read_p95": ("aggregated_device_read_p95_ms", "device_read_deviation"),
    "device_write_p95": ("aggregated_device_write_p95_ms", "device_write_deviation"),
    "storage_p95": ("aggregated_p95_latency_ms", "storage_p95_deviation"),
}
"""Maxima over ranks and trials."""
DEVICE_LATENCIES = ("device_read_p95", "device_write_p95")
"""A rank without a sample has no key for them, nor has any rank of a build that did not record them."""


class OptionReader:
    """States each fact of one Option."""

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

    @property
    def executed(self) -> bool:
        """A command, a directory or a key of the summary shows the Option."""
        return bool(self.commands) or self.number in self.files.options or self.summary.has(f"/options/{self.name}")

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

    def option(self) -> KvCacheOption:
        """The facts; of an Option that was not executed nothing else is known."""
        self.sheet.put("name", self.name, self._results_at)
        self.sheet.put("executed", self.executed, self._results_at)
        if self.executed:
            self._commands()
            self._banner()
            self._clients()
            self._layout()
            self._aggregates()
            self._tiers()
        detail = f"Option {self.name} was not executed"
        absent = Absence(f"option:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        for name in KvCacheOption.fact_fields():
            if name not in self.sheet.values:
                self.sheet.put(name, absent)
        return self.sheet.build(KvCacheOption, self.path)

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _from_commands(self, name: str, compute: Callable[[], Any]) -> None:
        """A fact that the Option's commands state."""
        commands = self.files.commands
        if isinstance(commands, Absence):
            self.sheet.put(name, commands)
        elif not self.commands:
            detail = f"no command of Option {self.name} is recorded"
            at = self._commands_at
            self.sheet.put(
                name, self.files.not_recorded(f"commands of Option {self.name}", at.pointer, at.path, detail)
            )
        else:
            self.sheet.put(name, compute(), self._commands_at)

    def _commands(self) -> None:
        parameters = derived.parameter_names()
        values = {
            trial: {name: value for name in parameters if (value := command.value(name)) is not None}
            for trial, command in self.commands.items()
        }
        self._from_commands("parameters", lambda: derived.compare_parameters(self.name, values, complete=True))
        self._from_commands("command_options", self._command_options)
        self._from_commands("autoscaling_enabled", lambda: self._has(AUTOSCALING))
        self._from_commands("io_trace", lambda: self._has(IO_TRACE))
        self._from_commands("forwarded", lambda: [f"--{name}" for name in FORWARDED if self._has_wrapped(name)])
        for name, option in (("users", "num-users"), ("durations", "duration")):
            self._numbers(name, option)
        self._from_commands("models", self._models)
        self._seed_bases()
        self._from_commands("tiers", self._tier_sizes)
        for name, option in (("offered_users", "num-users"), ("inflight", "max-concurrent-allocs")):
            self._offered(name, option)
        self._unrecorded_trials()

    def _has(self, name: str) -> bool:
        return any(command.values(name) for command in self.commands.values())

    def _has_wrapped(self, name: str) -> bool:
        return any(command.values(name) for command in self.commands.values() if not command.direct)

    def _command_options(self) -> list[CommandOption]:
        first: dict[str, str] = {}
        trials: dict[str, list[int]] = {}
        for trial, command in sorted(self.commands.items()):
            for name, value in dict(command.options).items():
                first.setdefault(name, value)
                trials.setdefault(name, []).append(trial)
        return [CommandOption(name=name, value=shown(name, first[name]), trials=trials[name]) for name in sorted(first)]

    def _numbers(self, fact: str, option: str, convert: Callable[[Any], Any] = as_float) -> None:
        """The values of one option over all trials, each once. An option that is not set has no value."""
        values = set()
        for command in self.commands.values():
            text = command.value(option)
            if text is None:
                continue
            try:
                values.add(convert(text))
            except InvalidValueError as problem:
                at = f"/command_output_files/{command.index}/command"
                self.sheet.put(fact, self.files.metadata.invalid(at, f"--{option} {text!r} is not {problem}"))
                return
        self._from_commands(fact, lambda: sorted(values))

    def _models(self) -> list[str]:
        return sorted({model for command in self.commands.values() if (model := command.value("model"))})

    def _seed_bases(self) -> None:
        """Not known of a benchmark that was started without its wrapper and without one."""
        if self.commands and not self._has(SEED_BASE) and all(command.direct for command in self.commands.values()):
            at, detail = self._commands_at, f"the commands do not state --{SEED_BASE}"
            self.sheet.put("seed_bases", self.files.not_recorded(SEED_BASE, at.pointer, at.path, detail))
        else:
            self._numbers("seed_bases", SEED_BASE, as_int)

    def _tier_sizes(self) -> str:
        command = self.commands[min(self.commands)]
        sizes = [command.value(name) or "default" for name in ("gpu-mem-gb", "cpu-mem-gb")]
        return f"GPU {sizes[0]}, CPU {sizes[1]} GiB"

    def _offered(self, fact: str, option: str) -> None:
        """One value of an option times the ranks; not known where the trials differ."""

        def offered() -> Any:
            values = {command.value(option) for command in self.commands.values()}
            text = next(iter(values)) if len(values) == 1 else None
            try:
                return as_float(text) * self.ranks
            except InvalidValueError:
                detail = f"the commands do not state one number for --{option}"
                return Absence(f"value:{self.path}:{option}", Reason.NOT_APPLICABLE, self.path, detail=detail)

        self._from_commands(fact, offered)

    def _unrecorded_trials(self) -> None:
        commands = self.files.commands
        if isinstance(commands, Absence):
            self.sheet.put("unrecorded_trials", commands)
            return
        unplaced = any(command.place is None for command in commands)
        found = [] if unplaced else [trial for trial in self.directory.trials if trial not in self.commands]
        self.sheet.put("unrecorded_trials", found, self._commands_at)

    def _banners(self) -> Iterable[tuple[int, Banner, Log]]:
        for trial, found in self._logs.items():
            if not isinstance(found, Absence):
                yield trial, *found

    def banner_enabled(self, name: str) -> bool:
        """Whether the log of some trial states that a feature is on."""
        return any(banner.enabled(name) for _, banner, _ in self._banners())

    @cached_property
    def _logs(self) -> dict[int, tuple[Banner, Log] | Absence]:
        trials = sorted({*self.directory.trials, *self.commands})
        return {trial: self.files.banner(self.number, trial) for trial in trials}

    def _no_log(self) -> Absence:
        """Why the logs say nothing: the first one's absence, or that they are all silent."""
        silent = self.files.not_recorded("logs", "", self.files.path, "the logs state nothing")
        return next((found for found in self._logs.values() if isinstance(found, Absence)), silent)

    def _banner(self) -> None:
        stated: dict[int, dict[str, str]] = {}
        odd: list[tuple[int, dict[str, str]]] = []
        scaling: set[bool] = set()
        for trial, banner, _ in self._banners():
            for name, values in banner.values.items():
                stated.setdefault(trial, {})[name] = values[0]
                odd.extend((trial, {name: value}) for value in values[1:])
            enabled = banner.enabled("Autoscaling")
            if enabled is not None:
                scaling.add(enabled)
        at = self._results_at
        if stated:
            records = derived.compare_parameters(self.name, stated, complete=False)
            for trial, other in odd:  # clients of one trial that state different values
                records += derived.compare_parameters(self.name, {trial: other}, complete=False)
            self.sheet.put("banner", records, at)
        else:
            self.sheet.put("banner", self._no_log())
        if scaling:
            self.sheet.put("autoscaling_banner", True in scaling, at)
        else:
            self.sheet.put("autoscaling_banner", self._no_log())

    def _clients(self) -> None:
        """Client lines of the logs that are there in full and hold any."""
        found = [
            BannerCount(
                trial=trial,
                path=log.source.path,
                clients=len(banner.users),
                users=sum(banner.users),
                divided=self._divided(trial, banner.users),
            )
            for trial, banner, log in self._banners()
            if banner.users and log.whole
        ]
        if found:
            self.sheet.put("clients", found, self._results_at)
            self.sheet.put("load_divided", any(item.divided for item in found), self._results_at)
        else:
            self.sheet.put("clients", self._no_log())
            self.sheet.put("load_divided", self._no_log())

    def _divided(self, trial: int, users: list[int]) -> bool:
        command = self.commands.get(trial)
        return command is not None and len(users) > 1 and command.value("num-users") == str(sum(users))

    def _layout(self) -> None:
        seeds = derived.seed_groups(self.results)
        self.sheet.put("seeds", seeds, self._results_at)
        self.sheet.put("shared", [*derived.shared_seeds(self.results), *self._shared_bases()], self._results_at)
        records = self.unusable.records(self.files.path, self.cause)
        self.sheet.put("missing", records, self._results_at)
        self.sheet.put("extra", self.directory.extra, self._results_at)
        self.sheet.put("expected_results", self.ranks * self.trials, self._results_at)
        self.sheet.put("missing_results", self.unusable.count, self._results_at)
        declared, wrong = self._declared()
        listed = self.summary.list(f"/options/{self.name}/missing_files")
        if isinstance(listed, Absence) and listed.reason is not Reason.KEY_ABSENT:
            self.sheet.put("undeclared", listed)
            self.sheet.put("wrongly_declared", listed)
        else:
            undeclared = sum(1 for place in self.unusable if place not in declared)
            self.sheet.put("undeclared", undeclared, self._results_at)
            at = self.summary.source(f"/options/{self.name}/missing_files")
            self.sheet.put("wrongly_declared", derived.shown(wrong), at)
        self._put("partial_failure", self.files.optional(self.summary.bool(f"/options/{self.name}/partial_failure")))
        self._put("failures", self.files.optional(self.summary.read("/trial_failures", self._failures)))
        self._put("in_summary", self._in_summary())

    def _in_summary(self) -> Found[bool]:
        if not self.summary.ok:
            return self.summary.absence("/options")
        return Reading(self.summary.has(f"/options/{self.name}"), self.summary.source("/options"))

    def _shared_bases(self) -> list[SharedValue]:
        """Output directories that several commands were given: they overwrite each other's results."""
        commands = self.files.commands
        if isinstance(commands, Absence):
            return []
        places = [c.place for c in commands if c.place is not None and c.place[0] == self.number]
        return [
            SharedValue(what="output base", value=name, count=places.count(place), holders=name)
            for place in sorted(set(places))
            if places.count(place) > 1 and (name := f"option_{place[0]}/trial_{place[1]}")
        ]

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

    def _failures(self, value: Any) -> list[str]:
        failures = value.get(self.name, []) if isinstance(value, dict) else None
        if not isinstance(failures, list):
            raise InvalidValueError("an object of lists of failures")
        texts = []
        for failure in failures:
            entry = failure if isinstance(failure, dict) else {}
            trial, code = (clean(str(entry.get(key, "?")), 20) for key in ("trial", "exit_code"))
            texts.append(f"trial {trial} (exit code {code})")
        return texts

    def recorded(self, key: str, convert: Callable[[Any], Any]) -> Found[Any]:
        """A value of the summary; where it has nothing of the Option, one cause stands for all of them."""
        pointer = f"/options/{self.name}"
        if self.summary.ok and not self.summary.has(pointer):
            return self.summary.key_absent(pointer)
        return self.summary.read(f"{pointer}/{key}", convert)

    def _aggregates(self) -> None:
        for name, (key, deviation) in AGGREGATES.items():
            recomputed = derived.mean_of_sums(self.results, name)
            self.sheet.put(name, recomputed, self._results_at)
            self._compare(name, self.recorded(key, as_float), recomputed, deviation)
        for name, (key, deviation) in LATENCIES.items():
            none = 0.0 if name in DEVICE_LATENCIES else None
            found = derived.extreme(self.results, name, max, if_absent=none)
            unstated = none is not None and name not in self._stated_latencies
            self._derived(name, derived.extreme(self.results, name, max) if unstated else found)
            recorded = self.recorded(key, as_float)
            if (
                isinstance(recorded, Absence)
                and recorded.reason is Reason.KEY_ABSENT
                and self.summary.has(f"/options/{self.name}")
            ):
                detail = f"the tool that wrote the leaf did not record {key}"
                recorded = self.files.not_recorded("latency", recorded.pointer, recorded.path, detail)
            self._compare(name, recorded, found if isinstance(found, Absence) else found.value, deviation)
        self._rate("read_rank", "read_bandwidth", "read_gib", "seconds")
        self._rate("write_rank", "write_bandwidth", "written_gib", "seconds")
        self._rate("throughput_rank", "storage_throughput", "tokens", "storage_seconds")
        self._derived("longest_request_ratio", derived.worst_ratio(self.results, "longest_request", "seconds"))
        self._derived("shortest_seconds", derived.extreme(self.results, "seconds", min))
        self._derived("longest_seconds", derived.extreme(self.results, "seconds", max))
        self._label()

    def _rate(self, name: str, rate: str, amount: str, span: str) -> None:
        worst = derived.worst_rate(self.results, rate, amount, span)
        if isinstance(worst, Absence):
            self.sheet.put(name, worst)
        else:
            self.sheet.put(name, [worst], Source(worst.path))

    def _compare(self, name: str, recorded: Found[float], recomputed: Any, deviation: str) -> None:
        self._put(f"recorded_{name}", recorded)
        for value in (recorded, recomputed):
            if isinstance(value, Absence):
                self.sheet.put(deviation, value)
                return
        if isinstance(recorded, Reading):
            self.sheet.put(deviation, derived.deviation(recorded.value, recomputed), recorded.source)

    def _derived(self, name: str, found: derived.Derived | Absence) -> None:
        if isinstance(found, Absence):
            self.sheet.put(name, found)
        else:
            self.sheet.put(name, found.value, found.source or self._results_at)

    def _label(self) -> None:
        """Whether the latency that the summary states is the device's under a name that does not say so."""
        values = [self.sheet.get(name) for name in ("recorded_storage_p95", "device_read_p95", "storage_p95")]
        absent = next((value for value in values if isinstance(value, Absence)), None)
        if absent is not None:
            self.sheet.put("storage_p95_is_device", absent)
            return
        recorded, device, storage = values
        source = self.sheet.sources["recorded_storage_p95"]
        self.sheet.put("storage_p95_is_device", recorded == device != storage, source)

    def _tiers(self) -> None:
        state, ranks = derived.cpu_tier(self.results)
        self.sheet.put("cpu_tier", state, self._results_at)
        self._names("cpu_tier_ranks", ranks)
        self.sheet.put("cpu_tier_count", ranks if isinstance(ranks, Absence) else len(ranks), self._results_at)
        pointer = f"/options/{self.name}/cpu_tier_ranks"
        recorded = self.files.optional(self.summary.read(pointer, self._cpu_tier_names))
        self._put("recorded_cpu_tier_ranks", recorded.map(derived.shown) if isinstance(recorded, Reading) else recorded)
        if isinstance(recorded, Absence) or isinstance(ranks, Absence):
            self.sheet.put("cpu_tier_as_listed", recorded if isinstance(recorded, Absence) else ranks)
        else:
            self.sheet.put("cpu_tier_as_listed", recorded.value == ranks, recorded.source)
        self._names(
            "unsampled_ranks", derived.unsampled(self.results, recorded="device_read_p95" in self._stated_latencies)
        )
        self._names("autoscaled_ranks", [derived.name_of(r.place) for r in self.directory.results if r.autoscaled])
        reads = derived.figures(self.results, "read_gib")
        total = reads if isinstance(reads, Absence) else sum(value for _, value in reads)
        self.sheet.put("storage_read_gib", total, self._results_at)

    def _names(self, fact: str, names: list[str] | Absence) -> None:
        """Rank results as one text, for there can be hundreds."""
        self.sheet.put(fact, names if isinstance(names, Absence) else derived.shown(names), self._results_at)

    def _cpu_tier_names(self, value: Any) -> list[str]:
        """Entries are paths on the run's machine; a bare number is a rank in all trials."""
        if not isinstance(value, list):
            raise InvalidValueError("a list")
        names: set[str] = set()
        for entry in value:
            place = tail(entry)
            if place is not None:
                names.add(derived.name_of(place))
            elif isinstance(entry, int) and not isinstance(entry, bool):
                names.update(derived.name_of((self.number, trial, entry)) for trial in range(self.trials))
            else:
                names.add(clean(str(entry), 200))
        return sorted(names)


def tail(entry: Any) -> derived.Place | None:
    """Option, trial and rank that a path of the run's machine names."""
    try:
        match = _TAIL.search(as_text(entry))
    except InvalidValueError:
        return None
    return (int(match[1]), int(match[2]), int(match[3])) if match else None
