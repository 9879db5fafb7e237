"""Fact models: everything that rules may ask about a subject. Adapters fill them, rules read them.

Each kind of subject has its module here; a section of the book names the modules that it needs.
"""

from .base import Absence, Fact, FactInfo, FactModel, FactSheet, Known, Reason, Record, Source

__all__ = ["Absence", "Fact", "FactInfo", "FactModel", "FactSheet", "Known", "Reason", "Record", "Source"]
