"""Fact models: everything that rules may ask about a subject. Adapters fill them, rules read them."""

from .base import Absence, Fact, FactInfo, FactModel, FactSheet, Known, Reason, Record, Source
from .checkpointing import CheckpointingRun, CheckpointingWorkload, LeafFile, Parameter, StatedParameter
from .system import SystemDescription

__all__ = [
    "Absence",
    "CheckpointingRun",
    "CheckpointingWorkload",
    "Fact",
    "FactInfo",
    "FactModel",
    "FactSheet",
    "Known",
    "LeafFile",
    "Parameter",
    "Reason",
    "Record",
    "Source",
    "StatedParameter",
    "SystemDescription",
]
