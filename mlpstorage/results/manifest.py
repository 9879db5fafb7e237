"""``submission.yaml`` (``mlps-submission-manifest/1``): what an organisation submits in a division."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rules.derived.provenance import allowlist_of, core_config, core_config_hash

from . import layout, provenance
from .document import Document, Reading, read_json
from .files import Root
from .provenance import UNKNOWN, problems_of
from .roots.local import LocalRoot
from .write import write_text

FILE = "submission.yaml"
SCHEMA = "mlps-submission-manifest/1"
MISSING = "missing"
DERIVED = "derived"
"""Stands for the stamp of a leaf that has none of its own."""
_POINTER_BYTES = 200


def _as_text(value: Any) -> Any:
    """YAML makes a number of an edition that is not quoted."""
    return str(value) if isinstance(value, float) else value


Edition = Annotated[str, BeforeValidator(_as_text)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class SystemEntry(_Part):
    """One system: paths of its description and of its PDF, or ``missing``."""

    name: str
    description: str
    pdf: str


class RunEntry(_Part):
    """One leaf, relative to ``<division>/<organisation>/``."""

    leaf: str
    benchmark: str
    model: str
    command: str
    accelerator: str
    system: str
    rules_edition: Edition
    core_config: str
    code_image: str
    provenance: str


class Manifest(_Part):
    """The whole file."""

    schema_: Annotated[Literal["mlps-submission-manifest/1"], Field(alias="schema")] = "mlps-submission-manifest/1"
    orgname: str
    mode: str
    rules_edition: Edition
    layout_version: Annotated[int, Field(ge=1)]
    generated_at: str
    generated_by: str
    tool_versions: list[str]
    dlio_commits: list[str]
    systems: list[SystemEntry]
    runs: list[RunEntry]
    code_images: list[str]
    provenance: dict[str, str]


def parse(data: Mapping[str, Any]) -> Manifest | list[str]:
    """The file's content, or what is wrong with it."""
    try:
        return Manifest.model_validate({**data, "schema": data.get("schema")})
    except ValidationError as error:
        return problems_of(error)


@dataclass(frozen=True, slots=True)
class RunLeaf:
    """A run leaf below ``<division>/<organisation>/``, and what its path says of it."""

    path: str
    system: str
    family: str
    model: str
    command: str

    @property
    def name(self) -> str:
        """The leaf's own name."""
        return self.path.rpartition("/")[2]


def leaves(root: Root) -> Iterator[RunLeaf]:
    """The run leaves of an organisation's directory, each family at its depth. Raises OSError."""
    for system in _names(root, "results"):
        for family in _names(root, f"results/{system}"):
            levels = layout.FAMILY_LEVELS.get(family)
            if levels is None:
                continue
            for below in _below(root, f"results/{system}/{family}", len(levels)):
                for name in _names(root, below):
                    if layout.leaf_time(name) is not None and not _is_stub(root, f"{below}/{name}"):
                        parts = dict(zip(levels, below.split("/")[-len(levels) :], strict=True))
                        model = parts.get("model", parts.get("index", ""))
                        command = parts.get(layout.COMMAND, layout.RUN)
                        yield RunLeaf(f"{below}/{name}", system, family, model, command)


def _names(root: Root, path: str) -> list[str]:
    return [name for name in root.list(path)[0] if not name.startswith(".")]


def _below(root: Root, path: str, depth: int) -> Iterator[str]:
    if not depth:
        yield path
        return
    for name in _names(root, path):
        yield from _below(root, f"{path}/{name}", depth - 1)


def _is_stub(root: Root, path: str) -> bool:
    """A reserved name where no run left anything."""
    directories, files = root.list(path)
    return all(name.startswith(".") for name in (*directories, *files))


def write(organisation: Path, mode: str, edition: str, layout_version: int, generated_by: str) -> Path:
    """Write the manifest of an organisation's directory from what lies in it. Raises OSError.

    A leaf whose metadata says that its run gave no result is not submitted, and not listed.
    """
    with LocalRoot(organisation) as root:
        runs = []
        stamps: list[provenance.Provenance] = []
        for leaf in leaves(root):
            metadata = read_json(root, f"{leaf.path}/{layout.metadata_name(leaf.name, leaf.family)}")
            if metadata.data.get("status") in layout.NO_RESULT:
                continue
            stamp = read_stamp(root, leaf.path)
            if isinstance(stamp, provenance.Provenance):
                stamps.append(stamp)
            runs.append(_entry(root, leaf, metadata, stamp if isinstance(stamp, provenance.Provenance) else None))
        systems = _systems(root, {run.system for run in runs})
    document = Manifest(
        orgname=organisation.name,
        mode=mode,
        rules_edition=edition,
        layout_version=layout_version,
        generated_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        generated_by=generated_by,
        tool_versions=sorted({stamp.tool.version for stamp in stamps}),
        dlio_commits=sorted({stamp.dlio.commit for stamp in stamps}),
        systems=systems,
        runs=runs,
        code_images=sorted({run.code_image for run in runs} - {UNKNOWN}),
        provenance={"rules_edition": "runtime", "layout_version": "tool-constant", "runs": "runtime"},
    )
    path = organisation / FILE
    text = yaml.safe_dump(document.model_dump(by_alias=True), sort_keys=False, allow_unicode=False, width=120)
    write_text(path, text)
    return path


def read_stamp(root: Root, leaf: str) -> provenance.Provenance | Document | list[str]:
    """The stamp of a leaf: its content, the document where it could not be read, or what is wrong with it."""
    document = read_json(root, f"{leaf}/{provenance.FILE}")
    return provenance.parse(document.data) if document.ok else document


def _entry(root: Root, leaf: RunLeaf, metadata: Document, stamp: provenance.Provenance | None) -> RunEntry:
    pointer = root.read(f"{leaf.path}/{layout.CODE_IMAGE_POINTER}", _POINTER_BYTES)
    return RunEntry(
        leaf=leaf.path,
        benchmark=leaf.family,
        model=leaf.model,
        command=leaf.command,
        accelerator=_text(metadata, "/accelerator"),
        system=leaf.system,
        rules_edition=stamp.rules_edition if stamp else UNKNOWN,
        core_config=stamp.core_config.hash if stamp else recorded_core(metadata, leaf.family),
        code_image=pointer.data.decode("utf-8", "replace").strip() if pointer.state == "ok" else UNKNOWN,
        provenance=f"{leaf.path}/{provenance.FILE}" if stamp else DERIVED,
    )


def recorded_core(metadata: Document, family: str) -> str:
    """The core-config hash of the parameters that a leaf's metadata records; ``unknown`` where there is none."""
    allowlist = allowlist_of(family)
    parameters = metadata.mapping("/parameters")
    if not allowlist or not isinstance(parameters, Reading):
        return UNKNOWN
    try:
        return core_config_hash(core_config(parameters.value, allowlist))
    except ValueError:
        return UNKNOWN


def _text(document: Document, pointer: str) -> str:
    found = document.text(pointer)
    return found.value if isinstance(found, Reading) else UNKNOWN


def _systems(root: Root, used: set[str]) -> list[SystemEntry]:
    files = root.list("systems")[1] if "systems" in root.list("")[0] else []
    names = used | {name.removesuffix(".yaml") for name in files if name.endswith(".yaml") and name[0] != "."}

    def there(name: str) -> str:
        return f"systems/{name}" if name in files else MISSING

    return [
        SystemEntry(name=name, description=there(f"{name}.yaml"), pdf=there(f"{name}.pdf")) for name in sorted(names)
    ]
