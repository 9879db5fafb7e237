"""The Options of a KV-cache run as facts: commands, logs and rank results beside what the summary states of them."""

from __future__ import annotations

from typing import Any

from mlpstorage.results.convert import InvalidValueError
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.facts import Absence, Reason
from rules.facts.kv_cache import KvCacheOption, SharedValue

from .kv_cache_option_aggregates import AggregateFacts
from .kv_cache_option_commands import CommandFacts


class OptionReader(CommandFacts, AggregateFacts):
    """States each fact of one Option."""

    @property
    def executed(self) -> bool:
        """A command, a directory or a key of the summary shows the Option."""
        return bool(self.commands) or self.number in self.files.options or self.summary.has(f"/options/{self.name}")

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
