"""What a run leaf carries about the tool: code image, pointer, ``provenance.json``, and the manifest above it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rules.derived.provenance import allowlist_of, core_config, core_config_hash

from .. import __version__, source
from ..results import images, layout, manifest, provenance
from ..results.provenance import UNKNOWN
from ..results.write import write_json
from . import command
from .plan import Plan

_STAMPED_BY = f"mlpstorage {__version__}"


def capture(plan: Plan) -> images.Image:
    """The image of the tool's own code in the pool of the results directory. Raises OSError."""
    return images.capture(Path(plan.results_dir), source.packages(), __version__, source.git_sha())


def stamp(leaf: Path, plan: Plan, edition: str, dlio: dict[str, Any], image: images.Image) -> None:
    """Write pointer and ``provenance.json`` of a leaf, before the benchmark starts. Raises OSError."""
    images.point(leaf, image)
    write_json(leaf / provenance.FILE, _provenance(plan, edition, dlio, image).document())


def _provenance(plan: Plan, edition: str, dlio: dict[str, Any], image: images.Image) -> provenance.Provenance:
    allowlist = allowlist_of(layout.CHECKPOINTING)
    core = core_config(command.nested(plan.workload()), allowlist)
    effective = dlio.get("fsync_effective")
    engine = provenance.Dlio(**{key: str(dlio.get(key) or UNKNOWN) for key in ("version", "source", "commit")})
    return provenance.Provenance(
        rules_edition=edition,
        layout_version=images.LAYOUT_VERSION,
        tool=provenance.Tool(
            name="mlpstorage",
            version=__version__,
            git_sha=source.git_sha() or UNKNOWN,
            code_image=image.pointer,
        ),
        dlio=engine,
        storage_library=(
            provenance.StorageLibrary(name="none")
            if plan.api == "file"
            else provenance.StorageLibrary(name=plan.storage_library, version=UNKNOWN)
        ),
        core_config=provenance.CoreConfig(
            algorithm="core-config-v1", allowlist=allowlist, hash=core_config_hash(core), keys=sorted(core)
        ),
        stamped_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        stamped_by=_STAMPED_BY,
        provenance=provenance.Origins(
            rules_edition="runtime",
            layout_version="tool-constant",
            tool="runtime",
            dlio="direct-url" if engine.commit != UNKNOWN else "package-metadata",
            storage_library="runtime" if plan.api == "file" else "declared",  # DLIO is told; what it loads is its own
            core_config="runtime",
        ),
        # The format has no key for it.
        notes=f"fsync_effective: {UNKNOWN if effective is None else str(effective).lower()}",
    )


def list_in_manifest(plan: Plan, organisation: str, edition: str) -> None:
    """Write the organisation's ``submission.yaml`` anew, with the leaf that was just made. Raises OSError.

    What-if results are never submitted and get none.
    """
    if plan.division in layout.DIVISIONS:
        directory = Path(plan.results_dir) / plan.division / organisation
        manifest.write(directory, plan.division, edition, images.LAYOUT_VERSION, _STAMPED_BY)
