"""What a submission says of its own making: pointers, stamps, manifest and roll-up table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from mlpstorage.results import images, layout, manifest, provenance
from mlpstorage.results.document import read_yaml, why_unread
from mlpstorage.results.files import MAX_JSON_BYTES, Root
from mlpstorage.results.text import clean
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.code import CodeLeaf, CodeSubmission

from ..leaf import Leaf
from ..listing import RESULTS, Listing, SubmitterDirectory
from .code_evidence import CodeEvidence, LeafCode, Pointer
from .code_images import holders, leaves_of, pools, serving
from .common import put, unlisted

ANY = "any"
"""Accelerator of a comparability class that holds results of each."""


def submitter_facts(
    root: Root, listing: Listing, submitter: SubmitterDirectory, evidence: CodeEvidence
) -> CodeSubmission:
    """One organisation's submission in one division, with its leaves."""
    return _SubmissionReader(root, listing, submitter, evidence).facts()


_SHOWN = 20


@dataclass(slots=True)
class _Named:
    """The image that pointers name: its name, pools of others that hold it, and its path and recorded hash."""

    name: str
    elsewhere: list[str]
    found: tuple[str, str] | None


class _SubmissionReader:
    """Reads the leaves first, for manifest and pointers are judged by all of them."""

    def __init__(self, root: Root, listing: Listing, submitter: SubmitterDirectory, evidence: CodeEvidence) -> None:
        self._root = root
        self._evidence = evidence
        self._submitter = submitter
        self._listing = listing
        self._pools = pools(listing)
        self._serving = serving(self._pools, submitter.name)
        self._leaves = list(leaves_of(listing, submitter))
        self._said = {leaf.path: evidence.leaf(root, family, leaf) for family, leaf in self._leaves}
        self._first: dict[tuple[str, str], str] = {}
        self._named: dict[str, _Named] = {}
        held = [f"{pool.path}/{name}" for pool in self._serving for name in pool.images]
        self._held = [clean(path) for path in held[:_SHOWN]]

    def facts(self) -> CodeSubmission:
        sheet = FactSheet()
        at = Source(clean(self._submitter.path))
        sheet.put("division", self._submitter.division, at)
        sheet.put("organisation", clean(self._submitter.name), at)
        sheet.put("pools", [clean(pool.path) for pool in self._serving], at)
        self._manifest(sheet)
        self._rollup(sheet)
        below = [self._leaf(family, leaf) for family, leaf in self._leaves]
        return sheet.build(CodeSubmission, clean(self._submitter.path), below)

    # Leaves.

    def _leaf(self, family: str, leaf: Leaf) -> CodeLeaf:
        sheet = FactSheet()
        at = Source(clean(leaf.path))
        sheet.put("family", family, at)
        sheet.put("command", clean(leaf.command), at)
        sheet.put("workload", clean(f"{family} {leaf.workload}"), at)
        said = self._said[leaf.path]
        self._pointer(sheet, leaf, said.pointer)
        stamp = said.stamp
        sheet.put("stamp_path", stamp.path, at)
        sheet.put("stamp_declared", said.declares, at)
        sheet.put("stamp_exists", stamp.exists, at)
        sheet.put("stamp_problems", list(stamp.problems), Source(stamp.path))
        names = ("stamp_image", "stamp_edition", "stamp_dlio_commit", "stamp_core", "comparable_as")
        values: tuple[Any, ...]
        if (content := stamp.content) is None:
            values = (stamp.absence(),) * len(names)
        else:
            values = (
                clean(content.tool.code_image.strip()),
                clean(content.rules_edition),
                clean(content.dlio.commit),
                content.core_config.hash,
                self._classes(family, leaf, said, content),
            )
        for name, value in zip(names, values, strict=True):
            sheet.put(name, value, Source(stamp.path))
        return sheet.build(CodeLeaf, clean(leaf.path))

    def _pointer(self, sheet: FactSheet, leaf: Leaf, pointer: Pointer) -> None:
        path = clean(leaf.at(layout.CODE_IMAGE_POINTER))
        at = Source(path)
        nothing = Absence(f"pointer:{path}", Reason.NOT_APPLICABLE, path, "", "the pointer names no image")
        text: str | Absence = pointer.text
        if pointer.state == "placeholder":
            nothing = Absence(f"file:{path}", why_unread("placeholder", pointer.text), path, "", pointer.text)
            text = nothing
        sheet.put("pointer_state", pointer.state, at)
        sheet.put("pointer_text", text, at)
        sheet.put("pointer", pointer.digest or nothing, at)
        alike = (pointer.state, pointer.digest or pointer.text)
        sheet.put("first_alike", self._first.setdefault(alike, clean(leaf.path)), at)
        sheet.put("pooled_images", self._held, at)
        if not pointer.digest:
            for name in ("image", "image_path", "image_recorded", "image_hash", "elsewhere"):
                sheet.put(name, nothing)
            return
        if pointer.digest not in self._named:
            self._named[pointer.digest] = self._find(pointer.digest)
        named = self._named[pointer.digest]
        sheet.put("image", named.name, at)
        sheet.put("elsewhere", named.elsewhere, at)
        if named.found is None:
            locked = next((pool for pool in self._serving if pool.problem), None)
            sheet.put("image_path", unlisted(locked.path, locked.problem) if locked else "", at)
            sheet.put("image_recorded", False, at)
            sheet.put("image_hash", nothing)
            return
        path, recorded = named.found
        sheet.put("image_path", clean(path), at)
        sheet.put("image_recorded", bool(recorded), at)
        sheet.put("image_hash", recorded or nothing, Source(f"{clean(path)}/{images.RECORD}", "/hash"))

    def _find(self, digest: str) -> _Named:
        name, serving = images.image_name(digest), {pool.path for pool in self._serving}
        others = [clean(path) for path in holders(self._pools, digest) if path not in serving]
        return _Named(name, others, self._image(name, digest))

    def _image(self, name: str, digest: str) -> tuple[str, str] | None:
        """Path and recorded hash of the image in the first pool that has it whole, else that has the name."""
        found = []
        for pool in self._serving:
            if name in pool.images:
                path = f"{pool.path}/{name}"
                recorded = self._evidence.image(self._root, path).digest
                if recorded == digest:
                    return path, recorded
                found.append((path, recorded))
        return next(iter(found), None)

    def _classes(self, family: str, leaf: Leaf, said: LeafCode, content: provenance.Provenance) -> list[str]:
        names = [said.accelerator.lower(), ANY] if said.accelerator else [ANY]
        start = f"{content.rules_edition} {self._submitter.division} {family} {leaf.workload}"
        return [clean(f"{start} {name} {content.core_config.hash}") for name in names]

    # The manifest.

    def _manifest(self, sheet: FactSheet) -> None:
        path = f"{self._submitter.path}/{manifest.FILE}"
        if problem := self._submitter.entries.problem:
            sheet.put("manifest_path", clean(path), Source(clean(path)))
            for name in (
                "manifest_exists", "manifest_problems", "manifest_edition", "manifest_missing", "manifest_stale",
                "manifest_other_edition",
            ):  # fmt: skip
                sheet.put(name, unlisted(self._submitter.path, problem))
            return
        document = read_yaml(self._root, path)
        exists = document.state != "missing"
        sheet.put("manifest_path", document.path, document.source())
        sheet.put("manifest_exists", exists, document.source())
        content = manifest.parse(document.data) if document.ok else [document.detail]
        problems = content if isinstance(content, list) and exists and document.state != "placeholder" else []
        sheet.put("manifest_problems", problems, document.source())
        if isinstance(content, list):
            unusable = Absence(f"value:{document.path}", Reason.INVALID, document.path, "", "it has not its form")
            for name in ("manifest_edition", "manifest_missing", "manifest_stale", "manifest_other_edition"):
                sheet.put(name, unusable if document.ok else document.absence())
            return
        listed = {run.leaf for run in content.runs}
        whole = {self._below(leaf.path) for _, leaf in self._leaves}
        there = whole | {self._below(leaf.rest) for _, leaf in self._leaves if leaf.rest}
        if self._listing.incomplete:  # the other leaves were not looked at
            listed &= there
        other = [
            path.removeprefix(f"{self._submitter.path}/")
            for path, said in self._said.items()
            if said.stamp.content is not None and said.stamp.content.rules_edition != content.rules_edition
        ]
        sheet.put("manifest_edition", clean(content.rules_edition), document.source("/rules_edition"))
        sheet.put("manifest_missing", _some(whole - listed), document.source("/runs"))
        sheet.put("manifest_stale", _some(listed - there), document.source("/runs"))
        sheet.put("manifest_other_edition", _some(other), document.source("/rules_edition"))

    def _below(self, path: str) -> str:
        """A path as the manifest has it, safe to print."""
        return clean(path.removeprefix(f"{self._submitter.path}/"))

    # The roll-up table.

    def _rollup(self, sheet: FactSheet) -> None:
        path = f"{self._submitter.place(RESULTS)}/{layout.RESULTS_JSON}"
        at = Source(clean(path))
        submitter = self._submitter
        above = ((submitter.path, submitter.entries.problem), (path.rpartition("/")[0], submitter.results_problem))
        locked = next((unlisted(directory, problem) for directory, problem in above if problem), None)
        if locked is not None:
            sheet.put("rollup_path", clean(path), at)
            for name in ("rollup_exists", "rollup_missing", "rollup_orphaned"):
                sheet.put(name, locked)
            return
        rollup = self._public_ids(path)
        exists = not (isinstance(rollup, Absence) and rollup.reason is Reason.MISSING_FILE)
        sheet.put("rollup_path", clean(path), at)
        sheet.put("rollup_exists", exists, at)
        if isinstance(rollup, Absence) or self._listing.incomplete:
            unknown = rollup if isinstance(rollup, Absence) else None
            for name in ("rollup_missing", "rollup_orphaned"):
                sheet.put(name, unknown or [], at)
            return
        below: set[str] = set()
        for table in self._tables():
            found = self._public_ids(table)
            if isinstance(found, Absence):
                for name in ("rollup_missing", "rollup_orphaned"):
                    put(sheet, name, found)
                return
            below |= found
        sheet.put("rollup_missing", _some(below - rollup), at)
        sheet.put("rollup_orphaned", _some(rollup - below), at)

    def _tables(self) -> Iterator[str]:
        """Paths of the tables at the workloads."""
        for system in self._listing.systems:
            if (system.division, system.submitter) == (self._submitter.division, self._submitter.name):
                for workload in system.workloads:
                    places = {workload.path: workload.files, **{level.path: level.files for level in workload.levels}}
                    for place, files in places.items():
                        if layout.RESULTS_JSON in files:
                            yield f"{place}/{layout.RESULTS_JSON}"

    def _public_ids(self, path: str) -> set[str] | Absence:
        """The Public IDs of a table, without blank ones."""
        content = self._root.read(path, MAX_JSON_BYTES)
        cause, shown = f"file:{clean(path)}", clean(path)
        if content.state != "ok":
            return Absence(cause, why_unread(content.state, content.detail), shown, "", content.detail)
        try:
            rows = from_json(content.data)
        except ValueError as error:
            return Absence(cause, Reason.UNREADABLE, shown, "", f"it is not JSON: {clean(str(error), 200)}")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return Absence(cause, Reason.UNREADABLE, shown, "", "it is not a list of rows")
        ids = (row.get("Public ID") for row in rows)
        return {clean(found.strip(), 100) for found in ids if isinstance(found, str) and found.strip()}


def _some(names: Iterable[str]) -> list[str]:
    """Names in order; a long list is cut."""
    found = sorted(clean(name, 200) for name in names)
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return found[:_SHOWN] + more
