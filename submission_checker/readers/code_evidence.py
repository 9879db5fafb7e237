"""What is read of code images, and of what leaves say of their code: the part that many processes can share.

The rules on code look at the tree as a whole and at each submission, but what they rest on lies in single images and
leaves. These are read where they are cheapest (an image by itself, a leaf beside its other facts), and brought together
afterwards. What nobody has read yet is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlpstorage.results import code_hash, images, layout, provenance
from mlpstorage.results.document import Document, Reading, read_json
from mlpstorage.results.files import Root
from mlpstorage.results.text import clean, shorten
from rules.facts import Absence, Reason

from ..leaf import Leaf
from .leaf_json import read_leaf_json

_WHOLE = b"CLAUDE.md"
"""A file that the tool's repository tracks, and that is stripped when a tree is published."""
_POINTER_BYTES = 200


@dataclass(frozen=True, slots=True)
class Captured:
    """A directory of code: what its record says, and what it hashes to."""

    path: str
    record: Document
    hashed: code_hash.TreeHash
    whole: bool

    @property
    def digest(self) -> str:
        """The recorded hash; empty where none is stated."""
        return images.recorded_digest(self.record.data) or ""

    @property
    def comparable(self) -> bool:
        """Both hashes are known."""
        return bool(self.digest and self.hashed.digest)

    @property
    def intact(self) -> bool:
        """It is what was captured."""
        return self.comparable and self.digest == self.hashed.digest


def capture(root: Root, path: str) -> Captured:
    """Read the record of an image or code/ directory, and hash its files."""
    tree = code_hash.walk(root, path)
    record = read_json(root, f"{path}/{images.RECORD}")
    return Captured(path, record, code_hash.tree_hash(tree), _WHOLE in tree.files)


@dataclass(slots=True)
class Pointer:
    """A leaf's pointer: its state, its text (or what is wrong), and the hash that it names."""

    state: str
    text: str
    digest: str = ""


@dataclass(slots=True)
class Stamp:
    """A leaf's provenance.json: whether it is there, its content or what is wrong with it."""

    path: str
    exists: bool
    content: provenance.Provenance | None = None
    problems: tuple[str, ...] = ()
    document: Document | None = None

    def absence(self) -> Absence:
        """Why nothing of the stamp is known."""
        if not self.exists:
            return Absence(f"unstamped:{self.path}", Reason.NOT_APPLICABLE, self.path, "", "there is no stamp")
        if self.document is not None:
            return self.document.absence()
        return Absence(f"value:{self.path}", Reason.INVALID, self.path, "", "it has not the form of a stamp")


@dataclass(slots=True)
class LeafCode:
    """What a leaf says of its code. ``declares``: its metadata names a provenance file; ``accelerator``: as stated."""

    pointer: Pointer
    stamp: Stamp
    declares: bool
    accelerator: str = ""


def read_leaf_code(root: Root, family: str, leaf: Leaf) -> LeafCode:
    """Read a leaf's pointer and stamp; its metadata stays kept for its other readers."""
    metadata = read_leaf_json(root, leaf, layout.metadata_name(leaf.name, family), family, keep=True)
    accelerator = metadata.text("/accelerator")
    return LeafCode(
        _pointer(root, leaf),
        _stamp(root, leaf),
        isinstance(metadata.text("/provenance_file"), Reading),
        "" if isinstance(accelerator, Absence) else accelerator.value,
    )


def _pointer(root: Root, leaf: Leaf) -> Pointer:
    path = leaf.at(layout.CODE_IMAGE_POINTER)
    content = root.read(path, _POINTER_BYTES)
    if content.state in ("missing", "placeholder"):
        return Pointer(content.state, content.detail)
    if content.state == "refused":
        return Pointer("unreadable", content.detail)
    text = content.data.decode("utf-8", "replace")
    digest = images.pointed_digest(text)
    return Pointer("malformed", shorten(text)) if digest is None else Pointer("ok", clean(text.strip()), digest)


def _stamp(root: Root, leaf: Leaf) -> Stamp:
    path = clean(leaf.at(provenance.FILE))
    if provenance.FILE not in leaf.files:
        return Stamp(path, False)
    document = read_json(root, leaf.at(provenance.FILE))
    if not document.ok:
        pruned = document.state == "placeholder"
        return Stamp(path, True, None, () if pruned else (document.detail,), document)
    content = provenance.parse(document.data)
    if isinstance(content, provenance.Provenance):
        return Stamp(path, True, content)
    return Stamp(path, True, None, tuple(content))


@dataclass(slots=True)
class CodeEvidence:
    """What was read so far, by path."""

    images: dict[str, Captured] = field(default_factory=dict)
    leaves: dict[str, LeafCode] = field(default_factory=dict)

    def image(self, root: Root, path: str) -> Captured:
        """An image or code/ directory, read if it was not."""
        if path not in self.images:
            self.images[path] = capture(root, path)
        return self.images[path]

    def leaf(self, root: Root, family: str, leaf: Leaf) -> LeafCode:
        """What a leaf says, read if it was not."""
        if leaf.path not in self.leaves:
            self.leaves[leaf.path] = read_leaf_code(root, family, leaf)
            root.kept.clear()
        return self.leaves[leaf.path]

    def add(self, images: Mapping[str, Captured], leaves: Mapping[str, LeafCode]) -> None:
        """Add what was read elsewhere."""
        self.images.update(images)
        self.leaves.update(leaves)
