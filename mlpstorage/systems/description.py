"""A description as it was read, with what is wrong with it, and typed access to what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from mlpstorage.results.convert import InvalidValueError
from mlpstorage.results.document import Document, Found, Reading
from mlpstorage.results.files import Content
from mlpstorage.results.text import shorten
from rules.facts import Absence, Reason

from .model import ROOT
from .problems import Fault, Problem, find_problems, items
from .source import Location, Source, parse

T = TypeVar("T")


@dataclass(frozen=True)
class Description:
    """One description."""

    source: Source

    @property
    def document(self) -> Document:
        """Its state, path and values."""
        return self.source.document

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with single fields."""
        return find_problems(self.source)

    @cached_property
    def _faulty(self) -> Mapping[Location, tuple[Problem, Fault]]:
        """The problem and the fault of each faulty place."""
        return {fault.location: (problem, fault) for problem in self.problems for fault in problem.faults}

    def read(self, location: Location, convert: Callable[[Any], T]) -> Found[T]:
        """The value at a place below ``system_under_test``; where it is faulty, absent by the problem's cause.

        What lies in something that is faulty itself counts as unreadable, so that it is no second problem.
        """
        if not self.document.ok:
            return self.document.absence()
        whole = (ROOT, *location)
        pointer = "".join(f"/{step}" for step in whole)
        covering = self._covering(whole) if self._faulty else None
        node: Any = self.document.data
        for step in whole:
            inside = isinstance(node, dict) if isinstance(step, str) else isinstance(node, list)
            node = node[step] if inside and (isinstance(step, int) or step in node) else None
        if covering is not None:
            problem, fault = self._faulty[covering]
            reason = Reason.UNREADABLE if covering != whole else Reason.KEY_ABSENT if node is None else Reason.INVALID
            return Absence(problem.cause, reason, self.document.path, pointer, fault.shown((ROOT,)))
        if node is None:
            return self.document.key_absent(pointer)
        try:
            return Reading(convert(node), self.document.source(pointer))
        except InvalidValueError as wanted:
            return self.document.invalid(pointer, f"{shorten(node)} is not {wanted}")

    def _covering(self, location: Location) -> Location | None:
        """The outermost faulty place that a place lies in, or that it is."""
        places = (location[:length] for length in range(len(location) + 1))
        return next((place for place in places if place in self._faulty), None)

    def has(self, location: Location) -> bool:
        """Whether something other than null stands at a place, valid or not."""
        node: Any = self.document.data
        for step in (ROOT, *location):
            if isinstance(step, int):
                node = node[step] if isinstance(node, list) and step < len(node) else None
            else:
                node = node.get(step) if isinstance(node, dict) else None
        return node is not None

    def groups(self, name: str) -> Iterator[tuple[Location, Mapping[str, Any]]]:
        """Place (below ``system_under_test``) and values of each group of a list of the system."""
        for location, group in items(self.document.data, (ROOT, name)):
            yield location[1:], group

    def line(self, location: Location) -> int:
        """Line in the file of a place below ``system_under_test``."""
        return self.source.line((ROOT, *location))


def read_content(content: Content, path: str) -> Description:
    """The description in a file's content. Never raises for bad content."""
    return Description(parse(content, path))
