"""The files of one training leaf, and what its command line and overrides say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from mlpstorage.results import layout
from mlpstorage.results.convert import InvalidValueError, as_float, as_int
from mlpstorage.results.credentials import shown
from mlpstorage.results.document import Document, Found, Reading, first_of, read_json
from mlpstorage.results.files import Root
from mlpstorage.results.partial import Skimmer
from mlpstorage.results.text import clean, clean_all
from rules.derived.checkpointing import canonical, flatten, parse_hosts
from rules.derived.training import describe_overrides
from rules.facts import Absence, Reason
from rules.facts.training import Override

from ..leaf import Leaf
from .checkpointing_files import LeafDocuments
from .code_pointer import read_pointer
from .common import Role

DATASIZE = "datasize"
DATAGEN = "datagen"
MAX_KEYS = 2000
"""Overridden keys of a leaf; real ones have about ten."""
_MANIFEST_KEY = "datagen_manifest_file"
_METADATA = re.compile(rf"{layout.TRAINING}_.*_metadata\.json")
STDOUT_LOG = f"{layout.TRAINING}_run.stdout.log"

T = TypeVar("T")


class TrainingDocuments(LeafDocuments):
    """Opens the files of a training leaf."""

    family = layout.TRAINING

    def __init__(self, root: Root, leaf: Leaf) -> None:
        super().__init__(root, leaf)
        self.metadata_found = self.metadata.state != "missing"

    @cached_property
    def image(self) -> Found[str]:
        """The hash that the leaf's pointer names."""
        return read_pointer(self._root, self.leaf)

    @cached_property
    def manifest_name(self) -> Found[str]:
        """The manifest of the generated files that the metadata names: its file name, empty where there is none.

        The key may be missing; then the tool knew of no manifests. The path was the submitter's, its last part counts.
        """
        found = self.metadata.text(f"/{_MANIFEST_KEY}")
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            if _MANIFEST_KEY in self.metadata.data:
                return Reading("", self.metadata.source(f"/{_MANIFEST_KEY}"))
            found = self.metadata.text(f"/args/{_MANIFEST_KEY}")
        if isinstance(found, Absence):
            return found
        name = found.value.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if name in (".", ".."):
            return self.metadata.invalid(found.source.pointer, f"{name} is not the name of a file")
        return Reading(name, found.source)

    @cached_property
    def manifest(self) -> Document | None:
        """The manifest that the metadata names, under that name or under the tool's; None where it names none."""
        named = self.manifest_name
        if isinstance(named, Absence) or not named.value:
            return None
        return self._json(named.value if named.value in self.leaf.files else layout.DATAGEN_MANIFEST)

    @property
    def placeholder(self) -> str:
        """The cause of all that is not known because files of the leaf were pruned."""
        return self._placeholder

    def of_rank(self, name: str, skimmer: Skimmer | None = None) -> Document:
        """A file of one rank. There may be thousands, so it is not kept."""
        return read_json(self._root, self.leaf.at(name), placeholder=self._placeholder, skimmer=skimmer)

    def _whole(self, config: Document) -> Document:
        """As it is: what a configuration of training must hold differs from phase to phase."""
        return config

    def _metadata_name(self) -> str:
        wanted = layout.metadata_name(self.leaf.name, layout.TRAINING)
        others = [name for name in self.leaf.files if _METADATA.fullmatch(name)]
        return others[0] if wanted not in others and len(others) == 1 else wanted

    def all(self) -> Iterator[tuple[Document, Role]]:
        """The files that this leaf's command writes and facts are read from."""
        yield self.metadata, "metadata"
        if self.leaf.command == DATASIZE:
            return
        if self.leaf.command == layout.RUN:
            yield self.summary, "summary"
        yield self.config, "config"
        yield self.overrides, "other"
        manifest = self.manifest if self.leaf.command == layout.RUN else None
        for document in (self.fs_separation, manifest, *self._logs):
            if document is not None and document.state != "missing":
                yield document, "other"

    @property
    def effective(self) -> tuple[Document, str]:
        """What DLIO received; where that file cannot be used, what the tool meant to pass. Sizing starts no DLIO."""
        if self.leaf.command == DATASIZE:
            return self.metadata, "/parameters"
        return (self.config, "/workload") if self.config.ok or not self.metadata.ok else (self.metadata, "/parameters")

    def parameter_int(self, key: str) -> Found[int]:
        """An integer of the effective configuration, by dotted key; the metadata may have it where the file has not."""
        return self._parameter(key, as_int)

    def parameter_float(self, key: str) -> Found[float]:
        """A number of the effective configuration, by dotted key."""
        return self._parameter(key, as_float)

    def _parameter(self, key: str, convert: Callable[[Any], T]) -> Found[T]:
        document, at = self.effective
        pointer = "/" + key.replace(".", "/")
        found = document.read(f"{at}{pointer}", convert)
        if isinstance(found, Reading) or document is self.metadata:
            return found
        return first_of(found, self.metadata.read(f"/parameters{pointer}", convert))

    def subfolders(self) -> Found[int]:
        """Subfolders of the dataset: 0 where a readable configuration does not set them."""
        found = self.parameter_int("dataset.num_subfolders_train")
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            document, at = self.effective
            return Reading(0, document.source(f"{at}/dataset")) if document.has(f"{at}/dataset") else found
        return found

    def record_length(self) -> Found[float]:
        """Bytes of one sample; one model's template spells the key without ``_bytes``. 0 is no length."""
        found = first_of(
            self.parameter_float("dataset.record_length_bytes"), self.parameter_float("dataset.record_length")
        )
        if isinstance(found, Reading) and found.value <= 0:
            other = self.parameter_float("dataset.record_length")
            return other if isinstance(other, Reading) and other.value > 0 else self._not_positive(found)
        return found

    def _not_positive(self, found: Reading[float]) -> Absence:
        document = self.effective[0]
        return document.invalid(found.source.pointer, f"{found.value} is no length of a sample")

    def positive_int(self, key: str) -> Found[int]:
        """An integer of the effective configuration that must be at least 1."""
        found = self.parameter_int(key)
        if isinstance(found, Reading) and found.value < 1:
            return self.effective[0].invalid(found.source.pointer, f"{found.value} is not positive")
        return found

    @cached_property
    def typed(self) -> dict[str, str] | None:
        """What the user typed with --params, canonical values; None where the leaf does not record the option."""
        arguments = self.metadata.mapping("/args")
        if isinstance(arguments, Absence) or "params" not in arguments.value:
            return None
        pairs = (text.partition("=") for text in _texts(arguments.value["params"]))
        return _shown({key.strip(): canonical(value) for key, _, value in pairs})

    @cached_property
    def recorded_overrides(self) -> Found[dict[str, str]]:
        """``override_parameters`` of the metadata, canonical values."""
        found = self.metadata.mapping("/override_parameters")
        if isinstance(found, Absence):
            return found
        flat = _shown(flatten(found.value))
        if len(flat) > MAX_KEYS:
            return self.metadata.invalid(
                "/override_parameters", f"it has {len(flat)} keys; at most {MAX_KEYS} are read"
            )
        return Reading(flat, found.source)

    @cached_property
    def passed_overrides(self) -> dict[str, str]:
        """Workload overrides of overrides.yaml, canonical values."""
        return _shown(flatten(self.stated_overrides))

    def overrides_found(self, model: Any, accelerator: Any) -> Found[list[Override]]:
        """All overridden keys, from metadata and overrides.yaml together, with origin and reference value."""
        recorded = self.recorded_overrides
        if isinstance(recorded, Absence) and not self.overrides.ok:
            return recorded
        values = dict(self.passed_overrides)
        source = self.overrides.source()
        if isinstance(recorded, Reading):
            values.update(recorded.value)
            source = recorded.source
        typed = self.typed
        unpassed = {key: value for key, value in (typed or {}).items() if key not in values}
        values |= unpassed
        if len(values) > MAX_KEYS:
            return self.metadata.invalid("/args/params", f"{len(values)} keys; at most {MAX_KEYS} are read")
        from_file = self.metadata.has("/args/config_file")
        names = ["" if isinstance(name, Absence) else str(name) for name in (model, accelerator)]
        return Reading(describe_overrides(names[0], names[1], values, typed, unpassed, from_file=from_file), source)

    def host_slots(self) -> list[tuple[str, int | None]] | None:
        """Hosts with their slots of the executed command's -host list; None where it names none."""
        if self.launch is None or not self.launch.hosts:
            return None
        try:
            return parse_hosts([self.launch.hosts])
        except ValueError:
            return None

    @cached_property
    def named_hosts(self) -> Found[int]:
        """Distinct clients of ``args.hosts``."""
        return self.metadata.read("/args/hosts", _count_hosts)


def _shown(overrides: dict[str, str]) -> dict[str, str]:
    """Overrides as they may be printed."""
    return clean_all({key: shown(key, value) for key, value in overrides.items()})


def _count_hosts(value: Any) -> int:
    entries = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, str) for entry in entries):
        raise InvalidValueError("a list of hosts")
    try:
        return len(parse_hosts(entries))
    except ValueError as error:
        raise InvalidValueError(f"a list of hosts: {clean(str(error), 200)}") from None


def _texts(value: Any) -> Iterator[str]:
    """``k=v`` texts of an option: null, one text (separated by blanks), a list, nested lists."""
    if isinstance(value, str):
        yield from (part for part in value.split() if part)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield item
            else:
                yield from _texts(item)
