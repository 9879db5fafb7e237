"""Derived facts of training: how large a dataset must be (3.1.2), and what utilisation a throughput means (3.3.2).

All of it is exact: integers and fractions, floats only where a fact is stated. "GB" of a client's memory is 2^30 bytes
throughout, as the benchmark means it. Bounds on results do not occur here; the constants of the sizing formula are
reference data (``training-sizing``), for the sizing command computes with them as well.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from ..facts.base import Absence
from ..facts.training import Origin, Override, TemplateValue
from ..remembered import remembered
from ..tables import load_table, reference_rows
from .checkpointing import NOT_SET, canonical

GIB = 2**30
RECORD_LENGTH = "dataset.record_length_bytes"
RECORD_LENGTH_ALIAS = "dataset.record_length"
"""How one model's template spells the key."""

Exact = int | Fraction


@lru_cache(4096)
def exact(value: float | int | str) -> Fraction:
    """The decimal number that was written: 0.162 is 162/1000, not the nearest double."""
    return Fraction(Decimal(str(value)))


@dataclass(frozen=True, slots=True)
class Template:
    """What sizing needs of one model on one accelerator type."""

    model: str
    accelerator: str
    record_length: Fraction
    """Bytes of one sample."""
    samples_per_file: int
    batch_size: int
    computation_time: float
    """Seconds of one step."""
    epochs: int


@dataclass(frozen=True, slots=True)
class Sizing:
    """The least dataset for one run, and the numbers that it comes from (3.1.2).

    files >= max(steps * batch * accelerators / samples_per_file, factor * memory / (record_length * samples_per_file))
    """

    accelerators: int
    batch_size: int
    samples_per_file: int
    record_length: Fraction
    memory_bytes: Exact
    steps: int
    factor: int

    @property
    def by_steps(self) -> Fraction:
        """Files for the prescribed steps of an epoch, unrounded."""
        return Fraction(self.steps * self.batch_size * self.accelerators, self.samples_per_file)

    @property
    def by_memory(self) -> Fraction:
        """Files for the prescribed multiple of the client memory, unrounded."""
        return self.factor * Fraction(self.memory_bytes) / (self.record_length * self.samples_per_file)

    @property
    def files(self) -> int:
        """The least number of files: both terms rounded up."""
        return math.ceil(max(self.by_steps, self.by_memory))

    @property
    def files_floored(self) -> int:
        """The same rounded down, as sizing tools before 3.0.43 did."""
        return math.floor(max(self.by_steps, self.by_memory))

    @property
    def governs(self) -> str:
        """Which term decides."""
        return "steps" if self.by_steps >= self.by_memory else "memory"

    @property
    def bytes(self) -> int:
        """Size of the least dataset, rounded up to whole bytes."""
        return math.ceil(self.files * self.samples_per_file * self.record_length)

    @property
    def steps_text(self) -> str:
        """The first term with its numbers."""
        batch = f"{self.steps} steps x {self.batch_size} x {self.accelerators} accelerators"
        return f"{batch} / {self.samples_per_file} = {decimal_text(self.by_steps)}"

    @property
    def memory_text(self) -> str:
        """The second term with its numbers."""
        file = f"({decimal_text(self.record_length)} bytes x {self.samples_per_file})"
        memory = f"{decimal_text(Fraction(self.memory_bytes))} bytes ({gib_text(self.memory_bytes)} GiB)"
        return f"{self.factor} x {memory} / {file} = {decimal_text(self.by_memory)}"

    @property
    def text(self) -> str:
        """Both terms, the one that governs, and the result."""
        return f"by steps {self.steps_text}; by memory {self.memory_text}; {self.governs} governs: {self.files} files"


@cache
def model_names() -> tuple[str, ...]:
    """The training models of the rule book."""
    return tuple(reference_rows("training-models"))


@cache
def accelerator_names() -> tuple[str, ...]:
    """The accelerator types that some template knows."""
    return tuple(dict.fromkeys(str(row["accelerator"]) for row in reference_rows("training-templates").values()))


def template_name(model: str, accelerator: str) -> str:
    """The name of a workload template, as DLIO's ``workload=`` takes it."""
    return f"{model}_{accelerator}"


@remembered(1024)
def template(model: str, accelerator: str) -> Template | None:
    """The workload template of a pair; None where there is none."""
    row = reference_rows("training-templates").get(template_name(model, accelerator))
    if row is None:
        return None
    shared = reference_rows("training-models")[model]
    return Template(
        model=model,
        accelerator=accelerator,
        record_length=exact(shared["record_length"]),
        samples_per_file=int(shared["samples_per_file"]),
        batch_size=int(row["batch_size"]),
        computation_time=float(row["computation_time"]),
        epochs=int(row["epochs"]),
    )


@lru_cache(1024)
def size_dataset(
    accelerators: int, batch_size: int, samples_per_file: int, record_length: Fraction, memory_bytes: Exact
) -> Sizing:
    """The least dataset. Raises ValueError where a number is not positive."""
    if min(accelerators, batch_size, samples_per_file) <= 0 or record_length <= 0 or memory_bytes < 0:
        raise ValueError("accelerators, batch size, samples per file and record length must be positive")
    constants = reference_rows("training-sizing")[""]
    return Sizing(
        accelerators,
        batch_size,
        samples_per_file,
        record_length,
        memory_bytes,
        int(constants["min_steps"]),
        int(constants["memory_factor"]),
    )


def memory_of_entries(gib: Iterable[float]) -> int:
    """Bytes of all clients from a per-host list in GiB of which only the sum means something (issue 669)."""
    return round(_sum(gib) * GIB)


def declared_memory(gib_of_a_host: float, hosts: int) -> Fraction:
    """Bytes of all clients as declared on a command line."""
    return exact(gib_of_a_host) * GIB * hosts


@lru_cache(1024)  # all the runs of a workload take the same share of a throughput
def utilisation(samples_per_second: float, computation_time: float, accelerators: int, batch_size: int) -> Fraction:
    """Accelerator utilisation in percent that a throughput means: 100 * throughput * t / (accelerators * batch).

    Every accelerator computes t seconds for each batch it consumes, so that this is the share of time spent computing.
    """
    return 100 * exact(samples_per_second) * exact(computation_time) / (accelerators * batch_size)


_BILLION = 10**9


def utilisation_of_rates(
    stated: Sequence[float], samples_per_second: Sequence[float], computation_time: float, accelerators: int, batch: int
) -> tuple[float, float, float]:
    """The mean utilisation that throughputs mean, and the least and the most by which the stated ones exceed theirs.

    Both lists have the same length, at least 1. A recorded throughput is a rounded binary number: what lies below a
    billionth of a point is its noise, so these are whole billionths.
    """
    share = _BILLION * utilisation(1, computation_time, accelerators, batch)
    rates = (Decimal(str(rate)).as_integer_ratio() for rate in samples_per_second)
    found = [_rounded(above * share.numerator, below * share.denominator) for above, below in rates]
    listed = (Decimal(str(one)).as_integer_ratio() for one in stated)
    excess = [
        _rounded(_BILLION * above - other * below, below) for (above, below), other in zip(listed, found, strict=True)
    ]
    return sum(found) / (_BILLION * len(found)), min(excess) / _BILLION, max(excess) / _BILLION


def _rounded(numerator: int, denominator: int) -> int:
    """The nearest integer, of two the even one."""
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))


def mean(values: Sequence[Exact | float]) -> Fraction:
    """The arithmetic mean, exact. Raises ValueError for no values."""
    if not values:
        raise ValueError("the mean of no values")
    return _sum(values) / len(values)


def _sum(values: Iterable[Exact | float]) -> Fraction:
    """Exact, and reduced once instead of after each addition."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return Fraction(sum(numerator * (common // denominator) for numerator, denominator in ratios), common)


def decimal_text(value: Fraction, digits: int = 2) -> str:
    """A number with ``digits`` decimals, whole numbers without any. A fraction is never shown as a whole number."""
    if value.denominator == 1:
        return str(value.numerator)
    scaled = round(value * 10**digits)
    if scaled % 10**digits == 0:
        scaled += 1 if value * 10**digits > scaled else -1
    return f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}d}"


def gib_text(memory_bytes: Exact) -> str:
    """Bytes in GiB with four decimals."""
    return f"{float(Fraction(memory_bytes) / GIB):.4f}"


@remembered(1024)
def reference_workload(model: str, accelerator: str) -> Mapping[str, str]:
    """The reference workload of a pair by dotted key, in order, canonical values; empty for an unknown model."""
    shared = reference_rows("training-models").get(model)
    if shared is None:
        return {}
    found = _stated("training-models", shared)
    pair = reference_rows("training-templates").get(template_name(model, accelerator))
    if pair is not None:
        found.update(_stated("training-templates", pair))
    found.update(_workflow())
    return dict(sorted(found.items()))


@cache
def _workflow() -> Mapping[str, str]:
    """The values of the keys that switch phases on and off."""
    return {key: str(cells["value"]) for key, cells in reference_rows("training-workflow").items()}


def _stated(table: str, row: Mapping[str, object]) -> dict[str, str]:
    columns = load_table(table).columns
    return {
        column.parameter: canonical(row[name])
        for name, column in columns.items()
        if column.parameter and row[name] != ""
    }


def plain_key(key: str) -> str:
    """One spelling for a key that templates spell in two ways."""
    return RECORD_LENGTH if key == RECORD_LENGTH_ALIAS else key


def compare_template(
    model: str, accelerator: str, effective: Mapping[str, str], overridden: Iterable[str]
) -> list[TemplateValue]:
    """The keys of the reference workload that nobody overrode, beside the effective configuration.

    A workflow key that is not set has its reference value: it is DLIO's own default.
    """
    found = {plain_key(key): value for key, value in effective.items()}
    passed_over = {plain_key(key) for key in overridden}
    by_itself = _workflow()
    return [
        _template_value(name, found.get(name, by_itself.get(name, NOT_SET)), default)
        for name, default in reference_workload(model, accelerator).items()
        if name not in passed_over
    ]


@remembered(4096)
def _template_value(name: str, value: str, default: str) -> TemplateValue:
    """The same record for all the runs of a workload, which agree in nearly all keys."""
    return TemplateValue(name=name, value=value, default=default)


def describe_overrides(
    model: str,
    accelerator: str,
    values: Mapping[str, str],
    typed: Iterable[str] | None,
    unpassed: Container[str] = (),
    *,
    from_file: bool = False,
) -> list[Override]:
    """Every overridden key with its reference value and its origin.

    ``typed`` is None where that is not recorded; ``unpassed`` are typed keys that did not reach the benchmark;
    ``from_file``: keys that nobody typed may come from a file of the
    user's as well as from the tool.
    """
    reference = reference_workload(model, accelerator)
    by_user = None if typed is None else {plain_key(key) for key in typed}

    def origin(key: str) -> Origin:
        if key in unpassed:
            return "user, not passed on"
        if by_user is not None and plain_key(key) in by_user:
            return "user"
        return "not recorded" if by_user is None or from_file else "tool"

    return [_override(key, values[key], reference.get(plain_key(key), NOT_SET), origin(key)) for key in sorted(values)]


@remembered(1024)
def _override(name: str, value: str, default: str, origin: Origin) -> Override:
    """The same record for all the leaves of a workload, which agree in nearly all keys."""
    return Override(name=name, value=value, default=default, origin=origin)


def sizing_facts(accelerators: Any, batch_size: Any, samples: Any, record_length: Any, memory: Any) -> dict[str, Any]:
    """The facts that rule 3.1.2 reads, each a value or an Absence.

    What the number of steps alone requires is known without the memory; the other facts pass on the first absence.
    """
    inputs = (accelerators, batch_size, samples, record_length)
    absent = next((value for value in inputs if isinstance(value, Absence)), None)
    if absent is not None:
        return dict.fromkeys(_SIZING_FACTS, absent)
    known = 0 if isinstance(memory, Absence) else memory
    found = dict(_sizing_facts(accelerators, batch_size, samples, record_length, known))
    if isinstance(memory, Absence):
        found.update(dict.fromkeys(_OF_MEMORY, memory))
    return found


_OF_MEMORY = ("files_by_memory", "required_files", "required_files_floored", "sizing")
_SIZING_FACTS = ("files_by_steps", "files_by_steps_floored", *_OF_MEMORY)


@lru_cache(1024)  # all the runs of a workload have one sizing
def _sizing_facts(
    accelerators: int, batch_size: int, samples: int, record_length: float, memory: Exact
) -> Mapping[str, Any]:
    sizing = size_dataset(accelerators, batch_size, samples, exact(record_length), memory)
    return {
        "files_by_steps": math.ceil(sizing.by_steps),
        "files_by_steps_floored": math.floor(sizing.by_steps),
        "files_by_memory": math.ceil(sizing.by_memory),
        "required_files": sizing.files,
        "required_files_floored": sizing.files_floored,
        "sizing": sizing.text,
    }
