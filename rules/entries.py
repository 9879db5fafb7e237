"""The shape of a rule entry, a section file and the list of editions, as they stand in YAML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .invalid import Misplaced, near
from .outcomes import Severity

MAIN = "main"
"""Key of the clause of a rule that has only one."""

PARENT = "parent"
"""As ``fold``: the subject directly above, whatever it is."""
EXAMPLES = "examples"
"""Key of a rule's examples, which only the check and the rendering of the book read."""

JudgedDivision = Literal["closed", "open"]


def _keys(value: Any) -> Any:
    """``pass: true`` stays; ``fail: main`` is one key; a list stays."""
    if isinstance(value, str) and value not in ("true", "false"):
        return [value]
    return value


ClauseKeys = Annotated[list[str], BeforeValidator(_keys)]


def _no_clause(key: str, known: Iterable[str]) -> str:
    return f"no such clause: {key}{near(key, known)}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class Clause(_Strict):
    """One judgement. Exactly one of ``require`` and ``present`` is given; everything else narrows or explains it."""

    subject: str = ""
    divisions: list[JudgedDivision] = []
    editions: list[str] = []
    """Editions that have the clause; empty: all."""
    severity: Severity | dict[str, Severity] | None = None
    each: str = ""
    """A list fact: every record is judged by itself, as ``item.*``."""
    let: dict[str, str] = {}
    """Named sub-expressions, each may use those before it."""
    when: str = ""
    """The clause applies only where this is true; false wins over unknown."""
    require: str = ""
    present: str = ""
    """The fact must be stated: violated where its key is absent, invalid or was not recorded."""
    if_recorded: str = ""
    """Not applicable where the tool that wrote the leaf could not record this fact."""
    if_not_recorded: str = ""
    """Applicable only there."""
    unless: list[str] = []
    """Sibling clauses: this one does not apply where one of them is violated."""
    at: str = ""
    """CEL text: the path that a finding stands at, instead of the subject's."""
    explains: str | list[str] = ""
    """A fact (or several) whose absence a violation explains, or a fact or item field that holds cause ids."""
    message: str = ""
    remedy: str = ""

    @property
    def explained(self) -> list[str]:
        """The names under ``explains``."""
        return self.explains if isinstance(self.explains, list) else [self.explains] if self.explains else []

    @model_validator(mode="after")
    def _one_judgement(self) -> Self:
        if bool(self.require) == bool(self.present):
            raise ValueError("exactly one of 'require' and 'present' must be given")
        if not self.message:
            raise ValueError("'message' is missing")
        return self


class ClausePatch(_Strict):
    """What a variant changes in a named clause."""

    severity: Severity | None = None
    let: dict[str, str] | None = None
    when: str | None = None
    require: str | None = None
    if_recorded: str | None = None
    if_not_recorded: str | None = None
    unless: list[str] | None = None
    message: str | None = None
    remedy: str | None = None


class Variant(_Strict):
    """How an entry differs in one edition."""

    statement: str = ""
    clauses: dict[str, ClausePatch] = {}


class Example(_Strict):
    """A subject that starts from a named baseline and states only what differs, and what each clause must say of it.

    ``pass: true``: every clause of the rule that the division has passes, except those listed under ``skip`` and
    ``unknown``; ``fail`` names the violated clauses; clauses that are not named are not violated.
    """

    base: str
    given: dict[str, Any] = {}
    """Full fact name to value; null removes the fact, ``{absent: reason}`` says why."""
    division: JudgedDivision = "closed"
    editions: list[str] = []
    """Editions that the example speaks of; empty: all that have the rule."""
    why: str = ""
    passes: bool | ClauseKeys = Field(default=False, alias="pass")
    fail: ClauseKeys = []
    note: ClauseKeys = []
    """Info clauses that fire."""
    skip: ClauseKeys = []
    """Clauses that do not apply."""
    unknown: ClauseKeys = []
    """Clauses that cannot be decided."""

    @model_validator(mode="after")
    def _states_something(self) -> Self:
        if not (self.passes or self.fail or self.note or self.skip or self.unknown):
            raise ValueError("the example states nothing: give pass, fail, note, skip or unknown")
        if self.fail and self.passes is True:
            raise ValueError("an example that fails names the clauses that pass: pass: [...]")
        return self


class Equivalent(_Strict):
    """A mutant that cannot change any verdict, and why. It must survive, or the entry is stale."""

    mutant: str
    reason: str
    editions: list[str] = []


_INLINE = frozenset(Clause.model_fields) - {"subject", "divisions", "editions", "severity"}


def _with_inline(schema: dict[str, Any]) -> None:
    """A rule may also be written with the keys of its only clause."""
    schema["properties"].update({key: schema["properties"].get(key, {}) for key in _INLINE})


class Rule(_Strict):
    """One rule of the book: statement, predicate, meaning and remedy in one place."""

    model_config = ConfigDict(json_schema_extra=_with_inline)

    id: str
    name: str
    subject: str
    divisions: list[JudgedDivision] = ["closed", "open"]
    editions: list[str] = []
    severity: Severity | dict[str, Severity] = Severity.ERROR
    own: bool = False
    """A rule of this project that the published book does not have."""
    statement: str
    rationale: str = ""
    notes: list[str] = []
    fold: str = Field(default="", min_length=1)
    """Namespace of the subject whose path merged findings carry, e.g. ``workload``, or ``parent``."""
    clauses: dict[str, Clause]
    variants: dict[str, Variant] = {}
    examples: list[Example] | None = None
    """None where they were left out: see ``LoadedSection.examples``."""
    equivalent: list[Equivalent] = []

    @model_validator(mode="before")
    @classmethod
    def _inline_clause(cls, data: Any) -> Any:
        """A rule with one clause writes it at the top."""
        if not isinstance(data, dict):
            return data
        inline = {key: data[key] for key in data if key in _INLINE}
        if not inline:
            return data
        if "clauses" in data:
            raise ValueError(f"{', '.join(sorted(inline))}: write it in a clause, the rule has 'clauses'")
        rest = {key: value for key, value in data.items() if key not in _INLINE}
        return {**rest, "clauses": {MAIN: inline}}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.statement.strip() or self.statement.strip().upper().startswith("TODO"):
            raise Misplaced("the statement is still to be written", "statement")
        for edition, variant in self.variants.items():
            for key in variant.clauses:
                if key not in self.clauses:
                    raise Misplaced(_no_clause(key, self.clauses), "variants", edition, "clauses", key)
        before: dict[str, str] = {}
        for key, clause in self.clauses.items():
            subject = clause.subject or self.subject
            for index, sibling in enumerate(clause.unless):
                if before.get(sibling) != subject:
                    close = near(sibling, (other for other, judged in before.items() if judged == subject))
                    problem = f"no earlier clause on the same subject: {sibling}{close}"
                    raise Misplaced(problem, "clauses", key, "unless", index)
            before[key] = subject
        return self

    def check_examples(self) -> None:
        """The examples name clauses that exist, one is legal and one is not. Raises Misplaced."""
        examples = self.examples or []
        for index, example in enumerate(examples):
            passes = example.passes if isinstance(example.passes, list) else []
            for where, named in (
                ("pass", passes),
                ("fail", example.fail),
                ("note", example.note),
                ("skip", example.skip),
                ("unknown", example.unknown),
            ):
                for key in named:
                    if key not in self.clauses:
                        problem = f"examples.{index}.{where}: {_no_clause(key, self.clauses)}"
                        raise Misplaced(problem, "examples", index, where)
        if not any(example.passes for example in examples):
            raise Misplaced("no legal example: give one with 'pass'")
        if not any(example.fail or example.note for example in examples):
            raise Misplaced("no illegal example: give one with 'fail'")


class Defaults(_Strict):
    """What a section's rules have unless they say otherwise."""

    fold: str = Field(default="", min_length=1)


class Section(_Strict):
    """One section of the book."""

    section: str
    title: str
    workload: str
    """Name that ``rules matrix`` and the results tree use, e.g. checkpointing."""
    facts: list[str]
    """Modules under ``rules.facts`` with the fact models of the section's subjects."""
    tables: list[str]
    baselines: str
    headings: dict[str, str]
    defaults: Defaults = Defaults()
    rules: list[Rule]

    def heading(self, rule_id: str) -> str | None:
        """The key of the heading that a rule stands under; None where there is none."""
        return next((key for key in self.headings if rule_id.startswith(key)), None)


class Baseline(_Strict):
    """A named set of literal facts that examples start from. Facts not stated are absent (key absent)."""

    subject: str
    title: str
    like: str = ""
    """Another baseline whose facts this one starts from."""
    facts: dict[str, Any] = {}


class Baselines(_Strict):
    """A file of baselines."""

    baselines: dict[str, Baseline]


class EditionInfo(_Strict):
    """One dated state of the rule book."""

    title: str
    caution: str = ""
    """Shown wherever the edition is used, where it is known to be wrong or unfinished."""


class Book(_Strict):
    """The list of editions and sections."""

    default: str
    editions: dict[str, EditionInfo]
    sections: dict[str, str]
    """Section number to file name."""

    @model_validator(mode="after")
    def _default_exists(self) -> Self:
        if self.default not in self.editions:
            raise Misplaced(f"no such edition: {self.default}{near(self.default, self.editions)}", "default")
        return self
