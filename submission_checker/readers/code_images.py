"""Pools of code images and code/ directories, hashed anew and, where they differ, compared with what they should be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mlpstorage.results import code_hash, images, layout
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean
from rules.evaluate import NOT_GIVEN
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.code import CodeDirectory, CodeImage, CodePool, CodeTree, Unpooled

from ..leaf import Leaf
from ..listing import Entries, Listing, SubmitterDirectory
from .code_evidence import Captured, CodeEvidence
from .source_repo import SourceRepository

_IMAGE = re.compile(r"code-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Pool:
    """A directory that holds images, or is marked to do so. ``problem``: it could not be listed."""

    path: str
    marked: bool
    images: tuple[str, ...]
    problem: str = ""


def pools(listing: Listing) -> dict[str, Pool]:
    """The pools of a tree by path: code-images/, and what is marked as a pool or looks like one."""
    organisations = {submitter.name for submitter in listing.submitters}
    found = (_pool(entries, organisations) for entries in listing.pools)
    return {pool.path: pool for pool in found if pool is not None}


def _pool(entries: Entries, organisations: set[str]) -> Pool | None:
    own = entries.path == images.POOL
    if entries.problem:
        return Pool(entries.path, False, (), entries.problem) if own or entries.path in organisations else None
    marked = images.POOL_MARKER in entries.files
    held = tuple(
        name
        for name in entries.visible
        if (name.startswith(images.IMAGE_PREFIX) if marked or own else _IMAGE.fullmatch(name))
    )
    return Pool(entries.path, marked, held) if marked or own or held else None


def image_paths(listing: Listing) -> list[str]:
    """Paths of all images in all pools."""
    return [f"{pool.path}/{name}" for pool in pools(listing).values() for name in pool.images]


def serving(found: Mapping[str, Pool], organisation: str) -> list[Pool]:
    """The pools in which an organisation's leaves find their images, in the order of the search."""
    return [found[path] for path in (images.POOL, organisation) if path in found]


def leaves_of(listing: Listing, submitter: SubmitterDirectory) -> Iterator[tuple[str, Leaf]]:
    """Family and leaf of each run leaf of a submitter."""
    for system in listing.systems:
        if (system.division, system.submitter) == (submitter.division, submitter.name):
            for workload in system.workloads:
                for leaf in workload.leaves:
                    yield workload.family, leaf


def tree_facts(root: Root, listing: Listing, evidence: CodeEvidence) -> CodeTree:
    """The tree as the home of code images, with its pools, images and code/ directories."""
    return _TreeReader(root, listing, evidence).facts()


class _TreeReader:
    """Hashes each image once, and the others again only where one differs."""

    def __init__(self, root: Root, listing: Listing, evidence: CodeEvidence) -> None:
        self._root = root
        self._listing = listing
        self._evidence = evidence
        self._pools = pools(listing)
        self._repository = SourceRepository(listing.source_repo) if listing.source_repo else None
        self._pointers: dict[str, Counter[str]] = {}
        """Organisation to the hashes that its leaves name, how often each; '' for a leaf without one."""
        self._pointing = 0
        for submitter in listing.submitters:
            counts = self._pointers.setdefault(submitter.name, Counter())
            for family, leaf in leaves_of(listing, submitter):
                pointer = evidence.leaf(root, family, leaf).pointer
                self._pointing += pointer.state != "missing"
                counts[pointer.digest] += 1
        self._captured = {path: evidence.image(root, path) for path in self._image_paths()}
        """The images to judge."""

    def facts(self) -> CodeTree:
        directories = self._code_directories()
        present = [directory for directory, _, exists, _ in directories if exists]
        hashed = self._hashed()
        compared = [captured for captured in hashed if captured.comparable]
        number = _layout(self._pools, bool(present))
        sheet = FactSheet()
        at = Source(".")
        sheet.put("layout", number, at)
        sheet.put("live", self._listing.live, at)
        sheet.put("leaves", sum(counts.total() for counts in self._pointers.values()), at)
        sheet.put("pointers", self._pointing, at)
        sheet.put("pools", len(self._pools), at)
        sheet.put("images", len(compared), at)
        sheet.put("images_failing", sum(not captured.intact for captured in compared), at)
        sheet.put("images_whole", sum(captured.whole for captured in hashed), at)
        sheet.put("source_repository", self._repository is not None, at)
        sheet.put("unpooled", list(self._unpooled(present)), at)
        below = [self._pool_facts(pool) for pool in self._pools.values() if not pool.problem]
        wanted = (self._directory_facts(*each) for each in directories if each[2] or number == 1)
        return sheet.build(CodeTree, ".", [*below, *wanted])

    def _image_paths(self) -> list[str]:
        """Images to look at: all, or in a part of a tree those that its leaves name."""
        found = image_paths(self._listing)
        if not self._listing.partial:
            return found
        names = {images.image_name(digest) for counts in self._pointers.values() for digest in counts if digest}
        return [path for path in found if path.rpartition("/")[2] in names]

    def _hashed(self) -> list[Captured]:
        """The images that show whether a file was stripped from all: also in a part, all that the tree holds.

        Those that are not judged are hashed only where each of the part is changed, and until one shows that it is not
        so everywhere.
        """
        found = list(self._captured.values())
        if any(each.intact or each.whole for each in found) or not any(each.comparable for each in found):
            return found
        for path in image_paths(self._listing):
            if path not in self._captured:
                found.append(self._evidence.image(self._root, path))
                if found[-1].intact or found[-1].whole:
                    break
        return found

    def _unpooled(self, code: list[str]) -> Iterator[Unpooled]:
        for name, counts in self._pointers.items():
            paths = [submitter.path for submitter in self._listing.submitters if submitter.name == name]
            has_code = any(directory.startswith(f"{path}/") for path in paths for directory in code)
            if counts and not has_code and not serving(self._pools, name):
                others = {holder for digest in counts if digest for holder in holders(self._pools, digest)}
                elsewhere = (
                    f"; pools of others that hold some: {', '.join(sorted(map(clean, others)))}" if others else ""
                )
                yield Unpooled(path=clean(paths[0]), name=clean(name), leaves=counts.total(), elsewhere=elsewhere)

    def _pool_facts(self, pool: Pool) -> CodePool:
        sheet = FactSheet()
        at = Source(clean(pool.path))
        sheet.put("directory", clean(pool.path), at)
        sheet.put("marked", pool.marked, at)
        sheet.put("num_images", len(pool.images), at)
        held = (f"{pool.path}/{name}" for name in pool.images)
        below = [self._image_facts(pool, path) for path in held if path in self._captured]
        return sheet.build(CodePool, clean(pool.path), below)

    def _image_facts(self, pool: Pool, path: str) -> CodeImage:
        captured, name = self._captured[path], path.rpartition("/")[2]
        sheet = FactSheet()
        self._recorded(sheet, captured)
        at = Source(clean(path))
        sheet.put("name", clean(name), at)
        sheet.put("digits", clean(name.removeprefix(images.IMAGE_PREFIX)), at)
        served = self._pointers if pool.path == images.POOL else {pool.path: self._pointers.get(pool.path, Counter())}
        named = {digest for counts in served.values() for digest in counts if digest}
        if captured.digest:
            referenced = captured.digest in named
        else:
            referenced = any(images.image_name(digest) == name for digest in named)
        # A leaf whose pointer names nothing may be the one: CHECK-01 tells of it.
        unknown = self._listing.incomplete or any("" in counts for counts in served.values())
        unseen = Absence(NOT_GIVEN, Reason.UNREADABLE, clean(path), "", "it is not known what every leaf points to")
        sheet.put("referenced", referenced or (unseen if unknown else False), at)
        return sheet.build(CodeImage, clean(path))

    def _recorded(self, sheet: FactSheet, captured: Captured | None) -> None:
        """The facts that images and code/ directories share; all absent where there is no directory."""
        if captured is None:
            nothing = Absence("code:none", Reason.NOT_APPLICABLE, detail="the directory is not there")
            for name in ("record_path", "record_state", "record_detail", "record_problems", "hash", "algorithm",
                         "unhashable", "recomputed", "num_files", "difference", "repair"):  # fmt: skip
                sheet.put(name, nothing)
            return
        record, hashed, place = captured.record, captured.hashed, Source(clean(captured.path))
        sheet.put("record_path", record.path, record.source())
        sheet.put("record_state", record.state, record.source())
        sheet.put("record_detail", record.detail, record.source())
        sheet.put("record_problems", images.record_problems(record.data) if record.ok else [], record.source())
        if record.ok and not captured.digest:
            stated = record.raw("/hash")
            wrong = record.invalid("/hash", f"it is no hash of {code_hash.DIGITS} lower-case hexadecimal digits")
            sheet.put("hash", stated if isinstance(stated, Absence) else wrong)
        else:
            sheet.put("hash", captured.digest or record.absence("/hash"), record.source("/hash"))
        algorithm = record.text("/algorithm")
        sheet.put("algorithm", *(algorithm,) if isinstance(algorithm, Absence) else (algorithm.value, algorithm.source))
        sheet.put("unhashable", list(hashed.problems), place)
        unread = Absence(
            f"unhashable:{clean(captured.path)}", Reason.UNREADABLE, clean(captured.path), "", "not hashed"
        )
        sheet.put("recomputed", hashed.digest or unread, place)
        sheet.put("num_files", hashed.files, place)
        repair, difference = self._explain(captured)
        sheet.put("repair", repair, place)
        sheet.put("difference", difference, place)

    def _explain(self, captured: Captured) -> tuple[str, str]:
        """Whether the missing files of its commit repair the directory, and how it differs from what it should be."""
        if not captured.comparable or captured.intact:
            return "not_tried", "no difference"
        try:
            files = code_hash.walk(self._root, captured.path).files
            commit = images.recorded_commit(captured.record.data)
            if self._repository is not None:
                reference = self._repository.files(commit) if commit else None
                if reference is not None and commit is not None:
                    return _repaired(files, reference, commit, captured.digest)
            other = self._sound_other(captured, commit)
            repair = "not_tried" if self._repository is None else "no_commit"
            if other is None:
                lacks = "the repository does not have its commit" if self._repository else "no --source-repo is given"
                return repair, f"nothing to compare it with: {lacks}, and no sound image is of the same code"
            same = "hash" if other.digest == captured.digest else f"commit {str(commit)[:8]}"
            difference = code_hash.difference(files, code_hash.walk(self._root, other.path).files)
            return repair, f"compared with {clean(other.path)} of the same {same}: {difference}"
        except OSError as error:
            return "not_tried", f"it cannot be compared: {error.strerror}"

    def _sound_other(self, captured: Captured, commit: str | None) -> Captured | None:
        """An intact image of the same hash, else of the same commit."""
        sound = [other for other in self._captured.values() if other.intact]
        same = [other for other in sound if other.digest == captured.digest]
        near = [other for other in sound if commit and images.recorded_commit(other.record.data) == commit]
        return next(iter([*same, *near]), None)

    def _code_directories(self) -> list[tuple[str, str, bool, bool]]:
        """Path, organisation, whether it is there and whether layout 1 wants it, of each place of a code/ directory."""
        found = []
        for submitter in self._listing.submitters:
            open_division = submitter.division != layout.DIVISIONS[0]
            measured = any(True for _ in leaves_of(self._listing, submitter))
            there = bool(layout.spelt(submitter.entries.directories, images.LEGACY))
            found.append((submitter.place(images.LEGACY), submitter.name, there, measured and not open_division))
            if open_division:
                places = dict(self._open_places(submitter))
                for place, wanted in places.items():
                    name = self._code_in(place)
                    found.append((f"{place}/{name or images.LEGACY}", submitter.name, bool(name), wanted))
        return [each for each in found if each[2] or each[3]]

    def _open_places(self, submitter: SubmitterDirectory) -> Iterator[tuple[str, bool]]:
        """Directories below results/ that may hold code/, and whether layout 1 wants one there."""
        for system in self._listing.systems:
            if (system.division, system.submitter) != (submitter.division, submitter.name):
                continue
            for family in system.families:
                if family.family:
                    yield family.path, family.family == layout.KV_CACHE
            for workload in system.workloads:
                if workload.name.lower() != images.LEGACY:
                    yield workload.path, workload.family != layout.KV_CACHE

    def _code_in(self, path: str) -> str:
        """The name of the directory of code in another one; '' where there is none."""
        try:
            return layout.spelt(self._root.list(path)[0], images.LEGACY)
        except OSError:  # discovery reports it
            return ""

    def _directory_facts(self, path: str, organisation: str, exists: bool, wanted: bool) -> CodeDirectory:
        marked = [pool.path for pool in serving(self._pools, organisation) if pool.marked]
        sheet = FactSheet()
        at = Source(clean(path))
        self._recorded(sheet, self._evidence.image(self._root, path) if exists and not marked else None)
        sheet.put("directory", clean(path), at)
        sheet.put("exists", exists, at)
        sheet.put("wanted", wanted, at)
        sheet.put("pooled", clean(marked[0]) if marked else "", at)
        return sheet.build(CodeDirectory, clean(path))


def holders(found: Mapping[str, Pool], digest: str) -> Iterator[str]:
    """Paths of the pools that hold an image of the digest's name."""
    return (pool.path for pool in found.values() if images.image_name(digest) in pool.images)


def _layout(found: Mapping[str, Pool], code: bool) -> int:
    if images.POOL in found and found[images.POOL].marked:
        return 3
    if any(pool.marked for pool in found.values()):
        return 2
    return 1 if code else 0


def _repaired(files: code_hash.Files, commit_files: code_hash.Files, commit: str, digest: str) -> tuple[str, str]:
    """Compared with a commit: with all of it, or with the top directories that the tree has, where that is nearer."""
    tops = {path.partition(b"/")[0] for path in files if b"/" in path}
    part = {path: chunks for path, chunks in commit_files.items() if path.partition(b"/")[0] in tops}
    references: Iterable[code_hash.Files] = (commit_files, part)
    nearest: code_hash.Difference | None = None
    for reference in references:
        difference = code_hash.difference(files, reference)
        if code_hash.digest({**reference, **files}) == digest:
            return "equal", f"compared with commit {commit[:8]}: {difference}"
        if nearest is None or difference.size < nearest.size:
            nearest = difference
    return "differs", f"compared with commit {commit[:8]}: {nearest}"
