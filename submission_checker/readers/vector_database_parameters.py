"""What the files of a vector-database leaf record of its parameters, its overrides and its configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.text import clean
from rules.derived import vector_database as derived
from rules.derived.checkpointing import canonical, flatten
from rules.facts import Absence
from rules.facts.vector_database import Override, RunParameter

MAX_OVERRIDES = 2000
_CONFIGS = ("/args/config", "/vectordb_config", "/args/config_file", "/vectordb_config_file")


def fixed_parameters(documents: Sequence[tuple[Document, str]]) -> list[RunParameter]:
    """The recorded parameters that CLOSED keeps: of each the first place that differs, else the first one."""
    found = []
    for name in derived.fixed_parameters():
        recorded = [
            derived.parameter(name, _written(value.value), clean(str(value.source)))
            for document, prefix in documents
            if isinstance(value := document.raw(f"{prefix}/{name}"), Reading)
        ]
        if recorded:
            found.append(next((item for item in recorded if item.value != item.reference), recorded[0]))
    return found


def _written(value: Any) -> str:
    """A recorded value as one text that may be shown; what stands for no value stays nothing."""
    return "" if value in ("", [], {}) else clean(canonical(value))


def configs(metadata: Document) -> list[str]:
    """The configuration files that a leaf names, by their names without directory and suffix, in lower case."""
    stated = [metadata.text(pointer) for pointer in _CONFIGS]
    names = [found.value.lower().rpartition("/")[2] for found in stated if isinstance(found, Reading) and found.value]
    return derived.distinct(name.removesuffix(".yaml") for name in names)


def overrides(metadata: Document) -> Found[list[Override]]:
    """The recorded overrides, as dotted keys."""
    found = metadata.mapping("/override_parameters")
    if isinstance(found, Absence):
        return found
    flat = flatten(found.value)
    if len(flat) > MAX_OVERRIDES:
        return metadata.invalid("/override_parameters", f"it has {len(flat)} keys")
    return found.map(lambda _: [Override(name=clean(k), value=clean(canonical(v))) for k, v in flat.items()])
