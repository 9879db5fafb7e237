"""The files of one checkpointing leaf, each read once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from mlpstorage.results import dlio, layout
from mlpstorage.results.convert import InvalidValueError, as_text, as_time
from mlpstorage.results.document import Document, Found, Reading, read_yaml
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.derived.zones import Instant, Moment, instant
from rules.facts import Absence, Source

from ..leaf import Leaf
from .common import Role, in_listed
from .leaf_json import placeholder_of, read_leaf_json

_METADATA = re.compile(r"checkpointing_.*_metadata\.json")
_STATS_OF_RANK = layout.EPOCH_STATS_RANK_0.removeprefix("0")
_STATS = re.compile(rf"([0-9]{{1,9}}){re.escape(_STATS_OF_RANK)}")
_STEP = re.compile(r"(save|load)_ckpt[0-9]+")
_SECTIONS = ("model", "checkpoint")
"""What DLIO cannot run a checkpointing workload without."""
_SEVERAL = 2
_MOST_NAMED = 5


@dataclass(slots=True)
class Step:
    """One checkpoint write or read of rank 0."""

    start: Moment
    end: Moment

    @property
    def complete(self) -> bool:
        """It has an end: it was carried out."""
        return isinstance(self.end, Instant)


class LeafDocuments:
    """Opens the files of a leaf. Absences of a pruned file carry one cause for the whole leaf."""

    family = layout.CHECKPOINTING

    def __init__(self, root: Root, leaf: Leaf) -> None:
        self._root = root
        self.leaf = leaf
        self.path = clean(leaf.path)
        self._placeholder = placeholder_of(leaf.path)
        self._logs: list[Document] = []
        self.metadata = self._json(self._metadata_name())
        self.summary = self._json(layout.SUMMARY)
        self.overrides = self._yaml(layout.OVERRIDES)
        self.config = self._whole(self._yaml(layout.CONFIG))
        self.fs_separation = self._json(layout.FS_SEPARATION)

    def _metadata_name(self) -> str:
        """The name with the leaf's time stamp; in a renamed leaf the only other one there is."""
        wanted = layout.metadata_name(self.leaf.name)
        others = [name for name in self.leaf.files if _METADATA.fullmatch(name)]
        return others[0] if wanted not in others and len(others) == 1 else wanted

    def _json(self, name: str) -> Document:
        return read_leaf_json(self._root, self.leaf, name, self.family)

    def _yaml(self, name: str) -> Document:
        document = read_yaml(self._root, self.leaf.at(name), placeholder=self._placeholder)
        return in_listed(self._root, self.leaf, name, document)

    def _whole(self, config: Document) -> Document:
        """The configuration, or a damaged one where it was evidently cut short: YAML parses without its end.

        A key or two that differ are a matter for the rules; whole sections, or several of the very keys that the
        overrides gave to it, are missing from no file that a run wrote.
        """
        if not config.ok:
            return config
        lost = [name for name in _SECTIONS if isinstance(config.mapping(f"/workload/{name}"), Absence)]
        if not lost:
            stated = [name for name in self.stated_overrides if config.has(f"/workload/{name.replace('.', '/')}")]
            lost = sorted(clean(name) for name in self.stated_overrides if name not in stated)
            if len(lost) < _SEVERAL:
                return config
        detail = f"it was cut short: it lacks {', '.join(f'workload.{name}' for name in lost[:_MOST_NAMED])}"
        return Document(config.path, "damaged", config.cause, detail)

    @cached_property
    def stats(self) -> Document:
        """Times of rank 0, or of the first rank that has them; training does not ask for them here."""
        ranks = [int(found[1]) for name in self.leaf.files if (found := _STATS.fullmatch(name))]
        return self._json(f"{min(ranks, default=0)}{_STATS_OF_RANK}")

    def read_log(self, name: str, limit: int) -> Found[str]:
        """The head of a log."""
        content = self._root.read(self.leaf.at(name), limit, head=True)
        path = clean(self.leaf.at(name))
        if content.state in ("ok", "empty"):
            return Reading(content.data.decode("utf-8", "replace"), Source(path))
        cause = self._placeholder if content.state == "placeholder" else f"file:{path}"
        document = Document(path, content.state, cause, content.detail)
        self._logs.append(document)
        return document.absence()

    def all(self) -> Iterator[tuple[Document, Role]]:
        """The files that facts are read from; those that may rightly be absent only where they are there."""
        yield self.metadata, "metadata"
        yield self.summary, "summary"
        yield self.config, "config"
        yield self.overrides, "other"
        yield self.stats, "other"
        for document in (self.fs_separation, *self._logs):
            if document.state != "missing":
                yield document, "other"

    @cached_property
    def override_words(self) -> list[Any]:
        """Items of overrides.yaml; empty where it is not a readable list."""
        items = self.overrides.data.get("")
        return items if isinstance(items, list) else []

    @cached_property
    def stated_overrides(self) -> dict[str, str]:
        """Workload overrides of overrides.yaml."""
        return dlio.workload_overrides(self.override_words)

    @cached_property
    def command_words(self) -> list[str]:
        """The words of the executed command; empty where it is not known or its quotes do not match."""
        command = self.metadata.raw("/executed_command")
        if isinstance(command, Absence) or not isinstance(command.value, str):
            return []
        try:
            return dlio.split_command(command.value)
        except ValueError:
            return []

    @cached_property
    def command_overrides(self) -> dict[str, str]:
        """Workload overrides of the executed command."""
        return dlio.workload_overrides(self.command_words)

    @cached_property
    def launch(self) -> dlio.Launch | None:
        """Launch options of the executed command."""
        return dlio.parse_launch(self.command_words) if self.command_words else None

    def steps(self, phase: Literal["save", "load"]) -> list[Step] | Absence:
        """Rank 0's checkpoint writes or reads, over all epochs."""
        return self._steps[phase] if self.stats.ok else self.stats.absence()

    @cached_property
    def _steps(self) -> Mapping[str, list[Step]]:
        found: dict[str, list[Step]] = {"save": [], "load": []}
        for epoch, steps in self.stats.data.items():
            for name, step in steps.items() if isinstance(steps, dict) else ():
                if isinstance(step, dict) and (match := _STEP.fullmatch(name)):
                    start, end = (self._moment(step, f"/{epoch}/{name}", key) for key in ("start", "end"))
                    found[match[1]].append(Step(start, end))
        return found

    def _moment(self, step: dict[str, Any], pointer: str, key: str) -> Moment:
        pointer = clean(f"{pointer}/{key}")
        if step.get(key) is None:
            return self.stats.key_absent(pointer)
        try:
            return instant(as_time(step[key]), self.stats.source(pointer))
        except InvalidValueError as problem:
            return self.stats.invalid(pointer, f"it is not {problem}")


def as_words(value: Any) -> list[str]:
    """MPI options: a list of texts, or one text, as single words. Raises InvalidValueError."""
    items = value if isinstance(value, list) else [value]
    words: list[str] = []
    for item in items:
        try:
            words += dlio.split_command(as_text(item))
        except ValueError:
            raise InvalidValueError("a list of options") from None
    return words
