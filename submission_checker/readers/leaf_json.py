"""The JSON files of a leaf, and what is read of the large ones: what facts hang on, and all that is small."""

from __future__ import annotations

from collections.abc import Mapping

from mlpstorage.results import layout
from mlpstorage.results.document import Document, read_json
from mlpstorage.results.files import Root
from mlpstorage.results.partial import Path, Skimmer
from mlpstorage.results.text import clean

from ..leaf import Leaf
from .common import in_listed

_HOSTS: Mapping[Path, frozenset[str]] = {
    ("system_info", "hosts"): frozenset({"memory", "cpu"}),
    ("system_info", "hosts", "memory"): frozenset({"total"}),
    ("system_info", "hosts", "cpu"): frozenset({"num_cores"}),
}
_KINDS: Mapping[Path, frozenset[str]] = {
    ("system_info", "hosts"): frozenset({"memory", "cpu", "system"}),
    ("system_info", "hosts", "cpu"): frozenset({"num_cores", "model"}),
    ("system_info", "hosts", "system"): frozenset({"kernel_version", "os_release"}),
}
_SNAPSHOTS: Mapping[Path, frozenset[str]] = {
    ("cluster_snapshots",): frozenset({"start", "end"}),
    ("cluster_snapshots", "start"): frozenset({"collection_timestamp"}),
    ("cluster_snapshots", "end"): frozenset({"collection_timestamp", "hosts"}),
    ("cluster_snapshots", "end", "hosts"): frozenset({"collection_timestamp"}),
}
_NO_SNAPSHOTS: Mapping[Path, frozenset[str]] = {("cluster_snapshots",): frozenset()}
_OTHER_METADATA = Skimmer({**_HOSTS, **_NO_SNAPSHOTS}, lists=frozenset({2}))
_METADATA: Mapping[str, Skimmer] = {
    **dict.fromkeys(layout.FAMILIES, _OTHER_METADATA),
    layout.CHECKPOINTING: Skimmer({**_HOSTS, **_KINDS, **_SNAPSHOTS}, lists=frozenset({3})),
}
"""By family: of each host its size; only checkpointing compares the hosts, and the clocks, of two runs."""

_RANK_RESULT = Skimmer(
    {
        (): frozenset(
            {
                "seed", "summary", "cache_stats", "end_to_end_latencies", "total_storage_io_latency",
                "device_latency_tracing",
            }
        )
    },
    plain=True,
)  # fmt: skip
"""Of a KV cache rank's result: not the latencies of the tiers, of which the summary has the percentiles."""


def read_leaf_json(root: Root, leaf: Leaf, name: str, family: str, *, keep: bool = False) -> Document:
    """A file of a leaf. Pruned files of one leaf have one cause; ``keep`` it for the next reader (see read_json)."""
    skimmer = _METADATA.get(family) if name.endswith(layout.METADATA_SUFFIX) else None
    document = read_json(root, leaf.at(name), placeholder=placeholder_of(leaf.path), skimmer=skimmer, keep=keep)
    return in_listed(root, leaf, name, document)


def read_rank_result(root: Root, leaf_path: str, path: str) -> Document:
    """The result of one KV cache rank of a leaf."""
    return read_json(root, path, placeholder=placeholder_of(leaf_path), skimmer=_RANK_RESULT)


def placeholder_of(leaf_path: str) -> str:
    """The cause of all that is not known because files of a leaf were pruned."""
    return f"placeholder:{clean(leaf_path)}"
