"""What the commands and logs of a KV-cache Option state of what was executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_float, as_int
from mlpstorage.results.credentials import shown
from rules.derived import kv_cache as derived
from rules.facts import Absence, Reason
from rules.facts.kv_cache import BannerCount, CommandOption

from .kv_cache_commands import Banner
from .kv_cache_files import Log
from .kv_cache_option_sheet import OptionSheet

FORWARDED = ("output", "cache-dir", "seed")
"""Options that the wrapper sets for each rank; passed on by hand they would be the same for all."""
AUTOSCALING, IO_TRACE, SEED_BASE = "enable-autoscaling", "io-trace-log", "seed-base"


class CommandFacts(OptionSheet):
    """States what the commands and logs say."""

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
