"""One measured run of KV cache as facts: what it was, its locks, paths, environment and results (section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlpstorage.results import layout
from mlpstorage.results.convert import as_int, as_list, as_text
from mlpstorage.results.credentials import shown
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.derived.checkpointing import canonical
from rules.derived.locations import normal_path
from rules.facts import Absence, Reason, Source
from rules.facts.kv_cache import EnvironmentVariable, Feature, KvCacheOption, KvCacheRun, OptionRanks

from ..leaf import Leaf
from .checkpointing_files import as_words
from .common import leaf_files, mapped, recorded_verdict, stated_path
from .division import division_of, recorded_division
from .kv_cache_clients import CACHE_BASE, ClientFacts
from .kv_cache_commands import Command, environment
from .kv_cache_files import MAX_RANKS, MAX_TRIALS, RunFiles
from .kv_cache_option_aggregates import DEVICE_LATENCIES
from .kv_cache_options import OptionReader
from .kv_cache_ranks import options_set_aside

END_DELAY_SECONDS = 90.0
"""The wrapper waits so long after a rank has saved its result."""


def read_run(root: Root, leaf: Leaf, described_api: Found[str]) -> KvCacheRun:
    """One leaf as a run by itself."""
    return _RunReader(RunFiles(root, leaf)).run()


def _harmless(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Values in canonical spelling, as they may be shown."""
    return {name: None if value is None else clean(canonical(value)) for name, value in values.items()}


class _RunReader(ClientFacts):
    """States each fact of one leaf, first present source first."""

    def run(self) -> KvCacheRun:
        self._identity()
        hosts = self._layout()
        self._locks()
        self._paths()
        self._closed()
        readers = self._option_readers()
        options = [reader.option() for reader in readers]
        self._results(readers, hosts)
        self._features(readers, options)
        files = leaf_files(self.files.all(), self.path)
        self.sheet.put("files", files, self.at)
        return self.sheet.build(KvCacheRun, self.path, options)

    def _identity(self) -> None:
        self._put("division", division_of(self.leaf, self.metadata))
        self._optional("recorded_division", recorded_division(self.metadata))
        self._optional("recorded_verdict", recorded_verdict(self.metadata))
        time = layout.leaf_time(self.leaf.name)
        if time is None:
            cause, detail = f"name:{self.path}", "the leaf's name is not a time stamp"
            absent = Absence(cause, Reason.NOT_APPLICABLE, self.path, detail=detail)
            self.sheet.put("leaf_name", absent)
            self.sheet.put("run_day", absent)
        else:
            self.sheet.put("leaf_name", self.leaf.name, self.at)
            self.sheet.put("run_day", int(time.strftime("%Y%m%d")), self.at)
        self.sheet.put("other_half", clean(self.leaf.rest.rpartition("/")[2]), self.at)
        self._put("run_datetime", self.summary.text("/run_datetime"))
        self.sheet.put("summary_kind", self.files.summary_kind, self.at)
        name = clean(self.summary.path.rpartition("/")[2])
        self.sheet.put("summary_file", name, self.at)
        self.sheet.put("summary_names", self.files.summary_names, self.at)
        self._put("summaries_agree", self.files.summaries_agree)
        self.sheet.put("metadata_files", self.files.metadata_names, self.at)
        self.sheet.put("metadata_cause", f"metadata:{self.path}", self.at)

    def _locks(self) -> None:
        seed = self.metadata.int("/args/seed")
        if isinstance(seed, Absence) and seed.reason is not Reason.KEY_ABSENT:
            self.sheet.put("seed_given", seed)
        else:
            self.sheet.put("seed_given", isinstance(seed, Reading), self.metadata.source("/args/seed"))
        self._optional("seed", seed)
        self._optional("trials", self.metadata.int("/args/trials"))
        self._put("recorded_trials", self.files.trials)
        self._optional("inter_option_delay", self.metadata.int("/args/inter_option_delay"))
        config = self._or_default(self.metadata.text("/args/config"), "")
        self._put("config_given", config.map(bool) if isinstance(config, Reading) else config)
        self._each_command("foreign_configs", lambda c: c.value("config") if c.config_is_foreign else None)
        self._observed_delay()

    def _observed_delay(self) -> None:
        starts = {
            number: [option.starts.get(trial) for trial in range(max(option.trials, default=-1) + 1)]
            for number, option in sorted(self.files.options.items())
        }
        ends = {number: self.files.saved(number, len(times) - 1) for number, times in starts.items()}
        delay = derived.observed_delay(starts, ends, END_DELAY_SECONDS)
        if delay is None:
            unseen = (option.first_rank_unlisted for option in self.files.options.values())
            detail = "the start times of rank 0 do not show it"
            not_shown = self.files.not_recorded("start times", "", self.path, detail)
            self.sheet.put("observed_delay", next(filter(None, unseen), not_shown))
        else:
            self.sheet.put("observed_delay", delay, self.at)

    def _path_argument(self, name: str) -> Found[str]:
        return mapped(stated_path(self.metadata, f"/args/{name}", f"/{name}"), normal_path)

    def _paths(self) -> None:
        cache, results = self._path_argument("cache_dir"), self._path_argument("results_dir")
        self._put("cache_dir", cache)
        self._put("cache_is_url", cache.map(lambda path: "://" in path) if isinstance(cache, Reading) else cache)
        self._put("results_dir", results)
        self._put("cache_inside_results", self._cache_inside(cache, results))
        if isinstance(cache, Reading) and isinstance(results, Reading):
            below = results.value != cache.value and derived.is_inside(results.value, cache.value)
            self.sheet.put("results_inside_cache", below, results.source)
        else:
            self.sheet.put("results_inside_cache", cache if isinstance(cache, Absence) else results)
        sidecar = self.files.fs_separation
        if sidecar.state == "missing":
            detail = "no build of the round recorded it for KV cache"
            self.sheet.put("same_filesystem", self.files.not_recorded("filesystem", "", sidecar.path, detail))
            self.sheet.put("filesystem_evidence", "none", self.at)
        else:
            self._put("same_filesystem", sidecar.bool("/same_filesystem"))
            self._put("filesystem_evidence", Reading("sidecar", sidecar.source()) if sidecar.ok else sidecar.absence())
        self._optional("gate_skipped", self.metadata.bool("/args/skip_fs_separation_gate"))

    def _cache_inside(self, cache: Found[str], results: Found[str]) -> Found[str]:
        """The first cache directory, of the arguments or of a command, that is in the results directory, or is it."""
        leaf = self._path_argument("result_dir")
        outer = [found.value for found in (results, leaf) if isinstance(found, Reading)]
        if not outer:
            return results
        commands = self.files.commands if isinstance(self.files.commands, list) else []
        inner = [cache.value] if isinstance(cache, Reading) else []
        inner += [normal_path(base) for command in commands for base in command.values(CACHE_BASE)]
        inside = [path for path in inner if any(derived.is_inside(path, root) for root in outer)]
        return Reading(inside[0] if inside else "", self.metadata.source("/args"))

    def _closed(self) -> None:
        self.sheet.put("environment", *self._environment())
        self._each_command("wrapper_directories", _wrapper_directory)
        given = self._or_default(self.metadata.text("/args/kvcache_bin_path"), "")
        self._put("benchmark_path_given", given.map(bool) if isinstance(given, Reading) else given)
        self._optional("allow_invalid_params", self.metadata.bool("/args/allow_invalid_params"))
        self._put("params", self._or_default(self.metadata.read("/args/params", _as_params), ""))
        self._optional("loops", self.metadata.int("/args/loops"))
        recorded = self.metadata.mapping("/args")
        self._put("arguments", mapped(recorded, lambda given: derived.compare_arguments(_harmless(given))))
        self._put("config_file", self._or_default(self.metadata.text("/args/config_file"), ""))
        self._optional("validation_skipped", self.metadata.bool("/args/skip_validation"))

    def _environment(self) -> tuple[list[EnvironmentVariable] | Absence, Source | None]:
        """Of the commands, and of the options that were handed to the launcher."""
        commands = self.files.commands
        words: list[list[str]] = [] if isinstance(commands, Absence) else [list(c.launcher) for c in commands]
        params = self.metadata.read("/args/mpi_params", as_words)
        if isinstance(params, Reading):
            words.append(params.value)
        if isinstance(commands, Absence) and not isinstance(params, Reading):
            return commands, None
        found = {(item.name, item.value): item for line in words for item in environment(line)}
        return [found[key] for key in sorted(found)], self._commands_at

    def _option_readers(self) -> list[OptionReader]:
        """One for each Option of the table; of others that the leaf shows there is nothing to compare with."""
        known = derived.option_names()
        keys = self.summary.mapping("/options")
        stated = {clean(key, 20) for key in keys.value} if isinstance(keys, Reading) else set()
        shown = {place[0] for place in self.files.placed_commands} | self.files.options.keys()
        others = (stated | {str(number) for number in shown}) - set(known)
        others.update(options_set_aside(self.leaf.directories))
        self.sheet.put("unknown_options", derived.shown(sorted(others)), self.at)
        results = [result for option in self.files.options.values() for result in option.results]
        stated_latencies = frozenset(
            name
            for name in DEVICE_LATENCIES
            if any(not isinstance(result.figures[name], Absence) for result in results)
        )
        ranks, trials = self._ranks(), self._trials()
        return [OptionReader(self.files, int(name), ranks, trials, stated_latencies) for name in sorted(known)]

    def _ranks(self) -> int:
        """Ranks that each trial should have: of summary or commands, else of the arguments, else what is there."""
        if isinstance(self.files.clients, Reading):
            return self.files.clients.value
        resolved = self.sheet.get("resolved_ranks")
        if isinstance(resolved, int) and 0 < resolved <= MAX_RANKS and self.metadata.has("/args"):
            return resolved
        return max((option.ranks for option in self.files.options.values()), default=0)

    def _trials(self) -> int:
        if isinstance(self.files.trial_count, Reading):
            return self.files.trial_count.value
        found = (trial + 1 for option in self.files.options.values() for trial in option.trials)
        return min(max(found, default=0), MAX_TRIALS)

    def _results(self, readers: list[OptionReader], hosts: int | None) -> None:
        self._put("option_ranks", self._option_ranks(readers))
        executed = [reader.unusable for reader in readers if reader.executed]
        missing = sum(unusable.count for unusable in executed)
        self.sheet.put("missing_count", missing, self.at)
        listed = any(place in unusable.declared for unusable in executed for place in unusable)
        self.sheet.put("failure_listed", listed, self.at)
        command = next(iter(self.files.placed_commands.values()), None)
        slots = command.slots if command else None
        if slots is None:
            count = hosts if hosts and hosts > 1 else 1
            slots = [self._ranks() // count] * count
        beyond = missing > 0 and derived.beyond_first_host(executed, slots)
        self.sheet.put("missing_beyond_controller", beyond, self.at)
        self._optional("partial_failure", self.summary.bool("/partial_failure"))
        self._optional("option_failure", self._option_failure())
        self.sheet.put("missing_cause", f"ranks:{self.path}", self.at)
        self._put("probe_hosts", self.files.probe_hosts)
        results = [result for option in self.files.options.values() for result in option.results]
        self.sheet.put("shared_measurements", derived.shared_measurements(results), self.at)

    def _option_ranks(self, readers: list[OptionReader]) -> Found[list[OptionRanks]]:
        """By the number of ranks; of an Option that the summary does not have, nothing is stated."""
        options: dict[int, list[str]] = {}
        for reader in readers:
            stated = reader.recorded("rank_count", as_int)
            if isinstance(stated, Reading):
                options.setdefault(stated.value, []).append(reader.name)
            elif self.summary.has(f"/options/{reader.name}") or not self.summary.ok:
                return stated
        found = [OptionRanks(ranks=ranks, options=", ".join(names)) for ranks, names in sorted(options.items())]
        return Reading(found, self.summary.source("/options"))

    def _option_failure(self) -> Found[bool]:
        options = self.summary.mapping("/options")
        if isinstance(options, Absence):
            return options
        states = {
            name: self.summary.bool(f"/options/{name}/partial_failure") for name in options.value if "/" not in name
        }
        known = (states[name] for name in derived.option_names() if name in states)
        unknown = next((state for state in known if isinstance(state, Absence)), None)
        if unknown is not None:
            return unknown
        return Reading(any(isinstance(s, Reading) and s.value for s in states.values()), options.source)

    def _features(self, readers: list[OptionReader], options: list[KvCacheOption]) -> None:
        """Features of the benchmark that results or logs show, and whether a command asked for them."""
        commands = self.files.commands
        if isinstance(commands, Absence):
            self.sheet.put("features", commands)
            return
        own_config = self.sheet.get("config_given") is True or self.sheet.get("foreign_configs") != []
        rag = any(reader.banner_enabled("RAG Workload") for reader in readers)
        traced = any(result.traced for option in self.files.options.values() for result in option.results)
        observed = {("RAG", "enable-rag"): rag, ("latency tracing", "enable-latency-tracing"): traced}
        features = [
            Feature(
                name=name,
                observed=seen,
                requested=own_config or any(command.values(option) for command in commands),
            )
            for (name, option), seen in observed.items()
        ]
        self.sheet.put("features", features, self.at)


def _as_params(value: Any) -> str:
    """Free parameters: a text, or a list of texts. Raises InvalidValueError."""
    if isinstance(value, list):
        return shown("", " ".join(as_text(item) for item in as_list(value)))
    return shown("", as_text(value))


def _wrapper_directory(command: Command) -> str | None:
    return None if command.direct else normal_path(command.program).rpartition("/")[0].rpartition("/")[2]
