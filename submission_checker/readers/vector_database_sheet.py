"""What every part of a vector-database run needs to state its facts."""

from __future__ import annotations

from typing import Any

from mlpstorage.results.document import Found, Reading
from mlpstorage.results.text import clean
from rules.facts import Absence, FactSheet, Reason

from .common import put
from .vector_database_files import RunDocuments


class RunSheet:
    """The files of one run leaf and the sheet that a part of the run states its facts on."""

    def __init__(self, files: RunDocuments, sheet: FactSheet) -> None:
        self.files = files
        self.leaf = files.leaf
        self.path = files.path
        self.metadata = files.metadata
        self.summary = files.summary
        self.results = [files.summary, *files.native]
        self.sheet = sheet

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _recorded(self, name: str, found: Found[Any]) -> Found[Any]:
        """A fact that not every tool records: a key or a file that is not there means that it was not recorded."""
        if isinstance(found, Absence) and found.reason in (Reason.KEY_ABSENT, Reason.MISSING_FILE):
            if not self.metadata.ok and found.cause == self.metadata.cause:
                return found  # supplying the metadata would cure it
            return self.files.not_recorded(name, f"no file of the leaf states it ({found.place})")
        return found

    def _of_log(self, value: Any, found_in: str) -> Found[Any]:
        """A value that the log may state; empty texts and zeros mean that it does not."""
        log = self.files.log
        if isinstance(log, Absence):
            return log
        if value:
            return Reading(clean(value) if isinstance(value, str) else value, log.source)
        return Absence(f"key:{log.source.path}#{found_in}", Reason.KEY_ABSENT, log.source.path, "", f"no {found_in}")

    def _of_metadata(self, name: str, value: Any) -> None:
        """A fact that the metadata would state otherwise; unknown without them."""
        if self.metadata.ok:
            self.sheet.put(name, value, self.metadata.source("/args"))
        else:
            self.sheet.put(name, self.metadata.absence("/args"))
