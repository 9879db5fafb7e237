"""Environment variables that clients of object storage read (1.2)."""

import re
from collections.abc import Iterable

_STORAGE = re.compile(r"AWS_\w+|S3DLIO_\w+|BUCKET|STORAGE_LIBRARY", re.ASCII)


def storage_variables(names: Iterable[str]) -> list[str]:
    """Those among the names, each once, sorted. Of a dotted key the last part counts, which is what it declares."""
    last = {name.rpartition(".")[2] for name in names}
    return sorted(name for name in last if _STORAGE.fullmatch(name))
