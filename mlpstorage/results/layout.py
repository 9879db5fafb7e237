"""Names and places of a results tree.

``<root>/<division>/<organisation>/results/<system>/<family>/...`` with the leaves of one invocation below, and
``<root>/<division>/<organisation>/systems/<system>.yaml`` beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePosixPath

DIVISIONS = ("closed", "open")
"""Division directories of a submission."""
WHATIF = "whatif"
"""Directory of runs that are never submitted, in a results directory that is still worked with."""
CHECKPOINTING = "checkpointing"
TRAINING = "training"
VECTOR_DATABASE = "vector_database"
KV_CACHE = "kv_cache"
COMMAND = "command"
FAMILY_LEVELS: Mapping[str, tuple[str, ...]] = {
    TRAINING: ("model", COMMAND),
    CHECKPOINTING: ("model",),
    VECTOR_DATABASE: ("engine", "index", COMMAND),
    KV_CACHE: ("model", COMMAND),
}
"""Directories of workload families below a system, and the levels between a family and its leaves."""
FAMILIES = tuple(FAMILY_LEVELS)
RUN = "run"
"""The command of a measured run, and of a leaf whose family has no command level."""

COMMANDS = ("datasize", "datagen", RUN)
"""Commands of the families that have a command level."""
SENTINEL = "mlperf-results.yaml"
"""At the root of a results directory that is still worked with."""
METADATA_SUFFIX = "_metadata.json"
NO_RESULT = ("failed", "interrupted", "running")
"""Statuses that metadata record of a run that gave no result."""
LOG_SUFFIX = ".stdout.log"
"""Of the log of what a command printed."""
RESERVE_ATTEMPTS = 10
"""Seconds that a leaf's name may be moved on where it is taken."""

TIMESTAMP = re.compile(r"[0-9]{8}_[0-9]{6}")
TIMESTAMP_FORMAT = "%Y%m%d_%H%M%S"

SUMMARY = "summary.json"
RESULTS_JSON = "results.json"
FS_SEPARATION = "fs_separation.json"
DATAGEN_MANIFEST = "datagen-manifest.json"
CODE_IMAGE_POINTER = ".mlps-code-image"
DLIO_CONFIG_DIR = "dlio_config"
CONFIG = f"{DLIO_CONFIG_DIR}/config.yaml"
OVERRIDES = f"{DLIO_CONFIG_DIR}/overrides.yaml"
EPOCH_STATS_RANK_0 = "0_per_epoch_stats.json"
STDOUT_LOG = "checkpointing_run.stdout.log"
STDERR_LOG = "checkpointing_run.stderr.log"

PLACEHOLDER_TEXT = b"PRUNED BY STAFF"
"""What replaces the content of pruned files; the file counts as present, its content as unavailable."""


def spelt(names: Iterable[str], wanted: str) -> str:
    """The name that stands for ``wanted``, a lower-case one: itself, else the first in another case; '' if none."""
    found = [name for name in names if name.lower() == wanted]
    return wanted if wanted in found else min(found, default="")


def leaf_time(name: str) -> datetime | None:
    """The local time that a leaf's name states; None where it is not a timestamp or not a real date."""
    if TIMESTAMP.fullmatch(name) is None:
        return None
    try:  # many times as fast as strptime, and asked several times for every leaf
        return datetime.fromisoformat(name)
    except ValueError:
        return None


def metadata_name(leaf: str, family: str = CHECKPOINTING) -> str:
    """File name of a leaf's metadata."""
    return f"{family}_{leaf}_metadata.json"


def checkpointing_leaf(division: str, organisation: str, system: str, model: str, leaf: str) -> PurePosixPath:
    """Path of a checkpointing leaf relative to the results directory."""
    return PurePosixPath(division, organisation, "results", system, CHECKPOINTING, model, leaf)
