"""The names that a run's results are recorded under: submitter and system."""

from __future__ import annotations

from pathlib import Path

from ..results import layout
from .exits import UsageError
from .plan import Plan
from .values import checked_name

_WHATIF_ORG = "whatif"
_WHATIF_SYSTEM = "unnamed"


def identified(plan: Plan) -> tuple[str, str]:
    """Organisation and system that name the leaf. Raises UsageError where a submittable run lacks one."""
    organisation = plan.orgname or init_orgname(Path(plan.results_dir))
    system = plan.systemname
    if plan.division == "whatif":
        return organisation or _WHATIF_ORG, system or _WHATIF_SYSTEM
    missing = []
    if not organisation:
        missing.append(f"--orgname (or MLPSTORAGE_ORGNAME, or orgname in {Path(plan.results_dir) / layout.SENTINEL})")
    if not system:
        missing.append("--systemname (or MLPSTORAGE_SYSTEMNAME)")
    if not organisation or not system:
        raise UsageError(f"{plan.division} runs are recorded under submitter and system: give {' and '.join(missing)}")
    return organisation, system


def init_orgname(results: Path) -> str | None:
    """``orgname`` in the results directory's init file; None where there is no file. Raises UsageError if unusable."""
    path = results / layout.SENTINEL
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None  # what stands in the directory's place is told with all else that is not ready
    except OSError as error:
        raise UsageError(f"{results} cannot be read: {error.strerror}; give --orgname") from error
    return _orgname_in(results, path)


def _orgname_in(results: Path, path: Path) -> str | None:
    # Here, for a dry run has mostly no such file, and the reader takes as long to import as the verdict takes.
    from rules.facts import Reason

    from ..results.document import Reading, read_yaml
    from ..results.roots.local import LocalRoot

    try:
        with LocalRoot(results) as root:
            document = read_yaml(root, layout.SENTINEL)
    except OSError as error:
        raise UsageError(f"{results} cannot be read: {error.strerror}; give --orgname") from error
    name = document.text("/orgname")
    if isinstance(name, Reading):
        return checked_name(f"{path}: orgname", name.value)
    if name.reason is Reason.KEY_ABSENT:
        return None
    raise UsageError(f"{path} cannot be used: {name.detail}; give --orgname")
