"""Command line of ``mlpstorage training datasize`` to a :class:`Request`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rules.derived import training as derived

from ..checkpointing.exits import Parser, UsageError

ENV_EDITION = "MLPSTORAGE_EDITION"
MAX_COUNT = 2**31 - 1
"""MPI counts ranks with a C int."""
MAX_GIB = 10**9
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,9})?")

EPILOG = """\
GB is 2^30 bytes, as the benchmark means it. The dataset must hold for every
run, so that the memory is that of all client hosts; where a measured and a
declared size are given, the larger one counts.

exit status: 0 computed, 1 a rule forbids the combination, 2 the command line is wrong
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed command line."""

    division: str
    model: str
    accelerator: str
    max_accelerators: int
    host_memory_gib: Fraction
    num_client_hosts: int
    measured_memory_gib: Fraction | None = None
    edition: str = ""
    output: str = "text"

    @property
    def memory_bytes(self) -> Fraction:
        """Memory of all client hosts that counts: the larger of what is declared and what was measured."""
        larger = max(self.host_memory_gib, self.measured_memory_gib or Fraction(0))
        return larger * derived.GIB * self.num_client_hosts


def parser() -> Parser:
    """The parser of everything after ``mlpstorage training datasize``."""
    result = Parser(
        prog="mlpstorage training datasize",
        description="Compute and explain the smallest dataset that training runs may use (rule 3.1.2).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = result.add_argument
    add("division", choices=("closed", "open", "whatif"), help="whatif: any template, never submitted")
    add("--model", "-m", required=True, help=f"one of {', '.join(derived.model_names())}")
    add("--accelerator-type", required=True, metavar="T", help=f"one of {', '.join(derived.accelerator_names())}")
    add("--max-accelerators", required=True, metavar="N", help="most accelerators that a run will simulate")
    add("--client-host-memory-in-gb", required=True, metavar="G", help="memory of one client host")
    add("--num-client-hosts", required=True, metavar="H", help="client hosts")
    add("--measured-host-memory-in-gb", metavar="G", help="memory of one client host as a probe measured it")
    add("--edition", "--rules-edition", metavar="E", help="edition of the rule book")
    add("--format", choices=("text", "json"), default="text", help="json: one object on standard output")
    return result


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Request:
    """The request that a command line makes. Raises UsageError with one line for the user."""
    options = parser().parse(arguments)
    model, accelerator = options.model.strip().lower(), options.accelerator_type.strip().lower()
    if model not in derived.model_names():
        raise UsageError(f"--model: {model!r} is no training model; there are: {', '.join(derived.model_names())}")
    if derived.template(model, accelerator) is None:
        known = [name for name in derived.accelerator_names() if derived.template(model, name)]
        raise UsageError(
            f"--accelerator-type: unsupported combination: {model} has no workload template for {accelerator!r}; "
            f"it has one for: {', '.join(known)}"
        )
    measured = options.measured_host_memory_in_gb
    return Request(
        division=options.division,
        model=model,
        accelerator=accelerator,
        max_accelerators=_count("--max-accelerators", options.max_accelerators),
        host_memory_gib=_memory("--client-host-memory-in-gb", options.client_host_memory_in_gb),
        num_client_hosts=_count("--num-client-hosts", options.num_client_hosts),
        measured_memory_gib=None if measured is None else _memory("--measured-host-memory-in-gb", measured),
        edition=options.edition or environment.get(ENV_EDITION, ""),
        output=options.format,
    )


def _count(option: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text.strip()) or not 1 <= int(text) <= MAX_COUNT:
        raise UsageError(f"{option}: {text!r} is not a whole number from 1 to {MAX_COUNT}")
    return int(text)


def _memory(option: str, text: str) -> Fraction:
    """GiB as the decimal number that was written."""
    if not _NUMBER.fullmatch(text.strip()) or Fraction(text.strip()) <= 0:
        raise UsageError(f"{option}: {text!r} is not a positive number of GiB, such as 376 or 755.5")
    if Fraction(text.strip()) > MAX_GIB:
        raise UsageError(f"{option}: {text} GiB are more than a host can have; at most {MAX_GIB} are accepted")
    return Fraction(text.strip())
