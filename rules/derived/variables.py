"""Environment variables that clients of object storage read (1.2)."""

import re
from collections.abc import Iterable

_STORAGE = re.compile(r"AWS_[A-Z0-9_]+|S3DLIO_[A-Z0-9_]+|BUCKET|STORAGE_LIBRARY")


def storage_variables(names: Iterable[str]) -> list[str]:
    """Those among the names, each once, sorted. Of a dotted key the last part counts, which is what it declares."""
    last = {name.rpartition(".")[2] for name in names}
    return sorted(name for name in last if name.isupper() and _STORAGE.fullmatch(name))
