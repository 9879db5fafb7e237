"""Facts about the files that an adapter reads from."""

from typing import Literal

from .base import Known, Record, fact


class LeafFile(Record):
    """One file of a leaf that facts are read from."""

    name: str = fact("File name, relative to the leaf.", known=Known.RUN)
    path: str = fact("Path relative to the results directory.", known=Known.RUN)
    role: Literal["summary", "metadata", "config", "other"] = fact("What the file is for.", known=Known.RUN)
    state: Literal["ok", "missing", "empty", "damaged", "refused", "placeholder", "pointer"] = fact(
        "'damaged': not what the format says; 'refused': not read for safety (link, device, size, depth); "
        "'pointer': one of Git LFS.",
        known=Known.RUN,
    )
    detail: str = fact("What is wrong, in a few words; empty where nothing is.", known=Known.RUN)
    cause: str = fact("Cause id that the absences of this file's facts carry.", known=Known.RUN)
