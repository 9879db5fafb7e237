"""The tool's own code: where it lies, and which commit it is."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

PACKAGES = ("mlpstorage", "rules", "submission_checker")
"""What a code image holds: the same files, and so the same hash, from a checkout and from an installation."""
_GIT_SECONDS = 10.0


def packages() -> dict[str, Path]:
    """Name and directory of each package. Raises OSError where one is not installed as a directory."""
    found = {}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            raise FileNotFoundError(f"the package {name} is not installed as a directory of files")
        found[name] = Path(places[0])
    return found


def git_sha() -> str | None:
    """Commit of the checkout that the tool runs from; None for an installation, or where git gives no answer."""
    top = Path(__file__).resolve().parents[1]
    if not (top / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(top), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    commit = answer.stdout.strip()
    return commit if re.fullmatch(r"[0-9a-f]{40}", commit) else None
