"""What the summary states of a KV-cache Option beside what its rank results give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlpstorage.results.convert import InvalidValueError, as_float
from mlpstorage.results.document import Found, Reading
from mlpstorage.results.text import clean
from rules.derived import kv_cache as derived
from rules.facts import Absence, Reason, Source

from .kv_cache_option_sheet import OptionSheet, tail

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


class AggregateFacts(OptionSheet):
    """States recorded and recomputed figures, and the tiers that served them."""

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
