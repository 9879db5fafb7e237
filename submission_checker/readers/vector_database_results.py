"""What a vector-database run measured, and the same computed anew from what else the benchmark wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from mlpstorage.results.convert import InvalidValueError, as_float, as_int
from mlpstorage.results.document import Document, Found, Reading
from rules.derived import vector_database as derived
from rules.facts import Absence, Reason, Source
from rules.facts.vector_database import Metric, Recomputed, Stated

from .common import mapped
from .vector_database_files import best_of
from .vector_database_sheet import RunSheet

METRICS = ("throughput_qps", "mean_latency_ms", "p95_latency_ms", "p99_latency_ms", "p999_latency_ms")
"""Numbers that a run reports (5.3.4), by their key in summary.json and in the benchmark's statistics."""


class ResultsReader(RunSheet):
    """States what was measured."""

    def read(self) -> None:
        """State all of it."""
        self._results()
        self._recall()
        self._ranks()
        self._recomputed()

    def _number(self, key: str) -> Found[float]:
        return best_of(*(self._float_in(document, key) for document in self.results))

    @staticmethod
    def _float_in(document: Document, key: str) -> Found[float]:
        raw = document.raw(f"/{key}")
        if isinstance(raw, Reading) and isinstance(raw.value, str):
            return document.invalid(f"/{key}", "it is a text, not a number")
        return document.float(f"/{key}")

    def _results(self) -> None:
        self._results_from()
        for name, key in (("throughput_qps", "throughput_qps"), ("total_seconds", "total_time_seconds")):
            self._put(name, self._number(key))
        for name in ("mean", "p95", "p99", "p999"):
            self._put(f"{name}_ms", self._number(f"{name}_latency_ms"))
        self._put("max_ms", self._recorded("max_ms", self._number("max_latency_ms")))
        failed = best_of(*(document.int("/failed_batches") for document in self.results))
        self._put("failed_batches", self._recorded("failed_batches", failed))
        self._metrics()
        self._query_count()

    def _results_from(self) -> None:
        native = self.files.native
        readable = [document for document in native if document.ok]
        if self.summary.ok:
            self.sheet.put("results_from", "summary", self.summary.source())
        elif self.summary.state != "missing":
            self.sheet.put("results_from", self.summary.absence())
        elif readable:
            self.sheet.put("results_from", "native", readable[0].source())
        elif native:
            self.sheet.put("results_from", native[0].absence())
        else:
            self.sheet.put("results_from", "none", Source(self.path))

    def _metrics(self) -> None:
        readable = [document for document in self.results if document.ok]
        if not readable:
            self.sheet.put("metrics", best_of(*(document.absence() for document in self.results)))
            return
        items = []
        for name in METRICS:
            found = self._number(name)
            if isinstance(found, Absence) and found.reason in (Reason.PLACEHOLDER, Reason.UNREADABLE):
                self.sheet.put("metrics", found)
                return
            cause = found.cause if isinstance(found, Absence) else ""
            items.append(Metric(name=name, state=_state(found), in_summary=self._in_summary(name), cause=cause))
        self.sheet.put("metrics", items, readable[0].source())

    def _in_summary(self, name: str) -> Stated:
        if not self.summary.ok:
            return "no_file"
        if name in self.summary.data and self.summary.data[name] is None:
            return "unusable"
        return _state(self._float_in(self.summary, name))

    def _query_count(self) -> None:
        qps, seconds = self.sheet.get("throughput_qps"), self.sheet.get("total_seconds")
        known = not isinstance(qps, Absence) and not isinstance(seconds, Absence)
        stated = [document.int(f"/{key}") for document in self.results for key in ("query_count", "total_queries")]
        count = best_of(*stated)
        if isinstance(count, Reading):
            self._put("query_count", count)
            if known:
                deviation = derived.throughput_deviation(qps, seconds, count.value)
                self.sheet.put("throughput_deviation", deviation, count.source)
            else:
                self.sheet.put("throughput_deviation", qps if isinstance(qps, Absence) else seconds)
            return
        detail = "no number of queries is recorded to compare with"
        alone = Absence(f"count:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        if known and count.reason is Reason.KEY_ABSENT and abs(qps * seconds) < 2**53:
            self.sheet.put("query_count", round(qps * seconds), self.sheet.sources["throughput_qps"])
            self.sheet.put("throughput_deviation", alone)
        else:
            self.sheet.put("query_count", count)
            self.sheet.put("throughput_deviation", count)

    def _recall(self) -> None:
        """5.3.2: a number, or a map whose mean it is; from the summary or any file of the benchmark."""
        maps = [*((document, "/recall") for document in self.results), *self._recall_files]
        found = best_of(*(_recall_in(document, at) for document, at in maps), strict=True)
        self._put("recall", found)
        largest = best_of(*(document.float(f"{at}/max_recall") for document, at in maps))
        self._put("recall_max", largest if isinstance(largest, Reading) else found)
        queries = best_of(*(document.int(f"{at}/num_queries_evaluated") for document, at in maps))
        evaluated = best_of(queries, self.files.verdict.int("/num_queries_evaluated"))
        self._put("recall_queries", self._recorded("recall_queries", evaluated))

    @property
    def _recall_files(self) -> list[tuple[Document, str]]:
        """The files that are about the recall alone, and where they state it."""
        return [(self.files.recall, ""), (self.files.verdict, "/recall_summary")]

    def _recomputed(self) -> None:
        """X5.2: each reported number beside the reading that differs most from it."""
        claimed: dict[str, tuple[float, Source]] = {
            key: (found.value, found.source)
            for key in (*METRICS, "total_time_seconds")
            if isinstance(found := self._number(key), Reading)
        }
        for key, name in (("total_queries", "query_count"), ("recall", "recall")):
            value = self.sheet.get(name)
            if not isinstance(value, Absence):
                claimed[key] = (float(value), self.sheet.sources[name])
        worst: dict[tuple[str, str], Recomputed] = {}

        def compare(kind: Literal["results", "batches"], found: Mapping[str, float], origin: str) -> None:
            for key, value in found.items():
                if key not in claimed:
                    continue
                number, source = claimed[key]
                deviation = derived.deviation(number, value)
                if (key, kind) not in worst or deviation > worst[key, kind].deviation:
                    worst[key, kind] = Recomputed(
                        name=key,
                        claimed=number,
                        claimed_at=str(source),
                        found=value,
                        kind=kind,
                        origin=origin,
                        deviation=deviation,
                    )

        others = [document for document in self.files.native if document.ok]
        if self.summary.ok and others:
            compare("results", dict(self._numbers_of(others[0], claimed)), others[0].path)
        if self.sheet.get("mpi") is False:  # else they are one rank's, and what is reported is that of all
            for document, at in self._recall_files:
                found = _recall_in(document, at)
                if isinstance(found, Reading):
                    compare("results", {"recall": found.value}, document.path)
        parts = self._rank_parts()
        compare("results", derived.rank_totals(parts), f"the sum over {len(parts)} ranks")
        batches, tables = self.files.batches()
        compare("batches", derived.batch_totals(batches), f"the {len(batches)} batches of {tables} processes")
        self.sheet.put("recomputed", list(worst.values()), Source(self.path))

    @staticmethod
    def _numbers_of(document: Document, keys: Iterable[str]) -> Iterator[tuple[str, float]]:
        for key in keys:
            found = _recall_in(document, "/recall") if key == "recall" else document.float(f"/{key}")
            if isinstance(found, Reading):
                yield key, found.value

    def _rank_parts(self) -> list[derived.RankPart]:
        """The parts of all ranks; none where one of them is incomplete."""
        for document in self.files.native:
            parts = document.list("/rank_summaries")
            if isinstance(parts, Reading):
                try:
                    return [_part(item) for item in parts.value]
                except (InvalidValueError, KeyError, TypeError):
                    return []
        return []

    def _ranks(self) -> None:
        documents = [document for document in self.files.native if document.has("/mpi")]
        world = self.metadata.int("/mpi_world_size")
        several = isinstance(world, Reading) and world.value > 1
        logged = any("_mpi." in name for name in self.leaf.files)
        if not documents and not several and not logged:
            self.sheet.put("mpi", False, Source(self.path))
            detail = "the run was not started on several ranks"
            alone = Absence(f"mpi:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            for name in ("expected_ranks", "rank_count", "missing_ranks", "failed_ranks", "partial_failure"):
                self.sheet.put(name, alone)
            return
        document = documents[0] if documents else self.results[-1]
        self.sheet.put("mpi", True, document.source("/mpi"))
        expected = best_of(document.int("/mpi/expected_ranks"), world)
        self._put("expected_ranks", self._recorded("expected_ranks", expected))
        seen = document.list("/mpi/ranks_seen")
        count = best_of(document.int("/mpi/rank_count"), mapped(seen, len))
        self._put("rank_count", self._recorded("rank_count", count))
        for name in ("missing_ranks", "failed_ranks"):
            self._put(name, self._recorded(name, document.read(f"/mpi/{name}", _ranks)))
        self._put("partial_failure", self._recorded("partial_failure", document.bool("/mpi/partial_failure")))


def _state(found: Found[Any]) -> Stated:
    if isinstance(found, Reading):
        return "stated"
    return "unusable" if found.reason is Reason.INVALID else "missing"


def _recall_in(document: Document, at: str) -> Found[float]:
    """The recall that a document states at this place: a number, or the mean of a map."""
    raw = document.raw(at) if at else None
    if raw is None or (isinstance(raw, Reading) and isinstance(raw.value, dict)):
        return document.float(f"{at}/mean_recall", f"{at}/recall_at_k")
    return document.float(at)


def _ranks(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise InvalidValueError("a list of ranks")
    return [as_int(item) for item in value]


def _part(item: Any) -> derived.RankPart:
    return derived.RankPart(as_int(item["total_queries"]), as_float(item["start_time"]), as_float(item["end_time"]))
