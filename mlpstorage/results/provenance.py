"""``provenance.json``: by what a leaf was made (``mlps-run-provenance/1``).

Null stands nowhere in it: what is not known is the text ``unknown``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .text import clean

FILE = "provenance.json"
SCHEMA = "mlps-run-provenance/1"
UNKNOWN = "unknown"
Origin = Literal[
    "runtime", "tool-constant", "package-metadata", "direct-url", "code-hash-json", "uv-lock", "declared", "inferred",
    "n/a", "unknown",
]  # fmt: skip
"""How a value can have come to be known."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class Tool(_Part):
    """The tool that ran the benchmark. ``code_image`` is the text of the leaf's pointer."""

    name: str
    version: str
    git_sha: str
    code_image: str


class Dlio(_Part):
    """The benchmark engine."""

    version: str
    source: str
    commit: str


class StorageLibrary(_Part):
    """The library of an object run; ``{name: none}`` for a file run."""

    name: str
    version: str = ""


class CoreConfig(_Part):
    """The hash over the workload-defining keys (:mod:`rules.derived.provenance`)."""

    algorithm: Literal["core-config-v1"]
    allowlist: str
    hash: Annotated[str, Field(pattern=r"^([0-9a-f]{16}|unknown)$")]
    keys: list[str]


class Origins(_Part):
    """For each value, how it is known."""

    rules_edition: Origin
    layout_version: Origin
    tool: Origin
    dlio: Origin
    storage_library: Origin
    core_config: Origin


class Provenance(_Part):
    """The whole file."""

    schema_: Annotated[Literal["mlps-run-provenance/1"], Field(alias="schema")] = "mlps-run-provenance/1"
    rules_edition: str
    layout_version: Annotated[int, Field(ge=1)]
    tool: Tool
    dlio: Dlio
    storage_library: StorageLibrary
    core_config: CoreConfig
    stamped_at: str
    stamped_by: str
    provenance: Origins
    notes: str = ""

    def document(self) -> dict[str, Any]:
        """As it is written; optional keys that say nothing are left out."""
        return {"schema": SCHEMA} | self.model_dump(by_alias=True, exclude_defaults=True)


def parse(data: Mapping[str, Any]) -> Provenance | list[str]:
    """The file's content, or what is wrong with it: each wrong key, and why."""
    try:
        return Provenance.model_validate({**data, "schema": data.get("schema")})
    except ValidationError as error:
        return problems_of(error)


def problems_of(error: ValidationError) -> list[str]:
    """A validation's problems as ``place: what is wrong``."""
    return [
        f"{clean('.'.join(str(part) for part in item['loc']), 200)}: {clean(item['msg'], 200)}"
        for item in error.errors(include_url=False, include_input=False)
    ]
