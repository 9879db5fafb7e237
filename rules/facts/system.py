"""Facts of a system: what its description (``systems/<name>.yaml``) says."""

from __future__ import annotations

from typing import ClassVar, Literal

from .base import Fact, FactModel, Int, Known, fact
from .files import LeafFile


class System(FactModel):
    """One described system with the workloads that ran on it."""

    subject: ClassVar[str] = "system"
    namespace: ClassVar[str] = "system"
    plural: ClassVar[str] = "systems"

    benchmark_api: Fact[Literal["file", "object"]] = fact("Protocol that the benchmark used.", known=Known.RUN)
    multi_host: Fact[bool] = fact("Several hosts can use the system at once.", known=Known.RUN)
    simultaneous_write: Fact[bool] = fact("Several hosts can write the same storage at once.", known=Known.RUN)
    simultaneous_read: Fact[bool] = fact("Several hosts can read the same storage at once.", known=Known.RUN)
    remap_time_seconds: Fact[Int] = fact(
        "Time to hand the storage from writing to reading hosts (remap_time_in_seconds); 0: none needed.",
        known=Known.RUN,
        unit="s",
    )
    files: Fact[list[LeafFile]] = fact("Files that the description is read from.", known=Known.RUN)
