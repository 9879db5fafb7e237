"""What rules may know: typed facts, where each was read, and why one is absent.

A *fact model* describes one kind of subject (a run leaf, a workload, a system). Rules see its fields as CEL variables
named ``namespace.field``; nothing else of a results tree or a command line reaches a rule. Each fact is either a value
or an :class:`Absence`; a fact that is neither is a bug in the adapter and fails validation.

All fact models together have 800 fields, and every start of a command pays for them. So their modules leave out ``from
__future__ import annotations`` (pydantic evaluates text one by one), and the schema of a model is made when its first
instance is, from the few forms that a fact's type can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class Known(StrEnum):
    """When a fact can first exist."""

    PLAN = "plan"
    """On the command line, before anything is contacted or created."""
    PROBE = "probe"
    """After the machine was probed, before the benchmark starts."""
    RUN = "run"
    """Only once the benchmark has run."""


class Reason(StrEnum):
    """Why a fact has no value."""

    LATER = "later"
    """It does not exist yet at this stage."""
    KEY_ABSENT = "key_absent"
    """The file (or command line) is there and readable, the key is not in it."""
    NOT_RECORDED = "not_recorded"
    """The tool version that wrote the leaf could not record it."""
    MISSING_FILE = "missing_file"
    """The file that would state it does not exist."""
    UNREADABLE = "unreadable"
    """The file exists and its content cannot be used."""
    INVALID = "invalid"
    """The key is there and its value is not of the fact's type or range."""
    PLACEHOLDER = "placeholder"
    """The file was replaced by the round's pruning placeholder."""
    POINTER = "pointer"
    """The file was replaced by a pointer to where its content is kept (Git LFS)."""
    NO_ROW = "no_row"
    """A reference table has no row for the key."""
    NOT_APPLICABLE = "not_applicable"
    """There is no such quantity for this subject, for instance a gap where there is one invocation."""


class _ByInstance:
    """Validated by being an instance: its own fields are not looked into again for every fact that may hold one."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        return core_schema.is_instance_schema(cls)


@dataclass(slots=True, unsafe_hash=True)  # never changed; a guard would cost more than all else: thousands are made
class Absence(_ByInstance):
    """Stands in the place of a value that is not known.

    ``cause`` identifies the root cause: all absences that would be cured by the same act (supplying one file, say)
    carry the same cause, and the report names it once. ``path`` is the file, relative to the results directory (or the
    option) that would state the fact, ``pointer`` the JSON pointer in it.
    """

    cause: str
    reason: Reason
    path: str = ""
    pointer: str = ""
    detail: str = ""

    @property
    def place(self) -> str:
        """File and pointer in one piece of text."""
        return f"{self.path}#{self.pointer}" if self.pointer else self.path


@dataclass(slots=True, unsafe_hash=True)
class Source(_ByInstance):
    """Where a value was read: ``path`` is a file relative to the results directory, an option, or a probe's name."""

    path: str
    pointer: str = ""

    def __str__(self) -> str:
        return f"{self.path}#{self.pointer}" if self.pointer else self.path


Fact = Union[T, Absence]  # noqa: UP007 - a generic alias needs it in Python 3.11
"""The annotation of a fact: a value of the given type, or the reason why there is none."""

_LEAST = -(2**63)
Int = Annotated[int, Field(ge=_LEAST, lt=-_LEAST)]
"""An integer that CEL can hold."""
Float = Annotated[float, Field(allow_inf_nan=False)]
"""A finite double: NaN compares false with everything and must never reach a rule."""


@dataclass(frozen=True, slots=True)
class FactInfo:
    """What a fact declares about itself."""

    name: str
    """Full name as rules write it, for instance ``run.num_processes``."""
    type: Any
    """Python type of a value: str, int, float, bool, list[...], or list of a :class:`Record`."""
    description: str
    unit: str
    known: Known
    choices: tuple[str, ...] = ()
    """The only values a text fact can have; comparisons with anything else are refused when rules are loaded."""

    @property
    def record(self) -> type[Record] | None:
        """The item type, where the fact is a list of records that rules judge one at a time."""
        if get_origin(self.type) is list:
            (item,) = get_args(self.type)
            if isinstance(item, type) and issubclass(item, Record):
                return item
        return None


class _Declared(NamedTuple):
    """What a fact declares about itself beside its type."""

    description: str
    known: Known
    unit: str


def fact(description: str, *, known: Known, unit: str = "") -> Any:
    """Declare a field of a fact model. It has no default: the adapter states a value or an :class:`Absence`."""
    return _Declared(description, known, unit)


_SCHEMAS: Mapping[Any, CoreSchema] = {
    str: core_schema.str_schema(),
    bool: core_schema.bool_schema(),
    int: core_schema.int_schema(),
    float: core_schema.float_schema(),
    Int: core_schema.int_schema(ge=_LEAST, lt=-_LEAST),
    Float: core_schema.float_schema(allow_inf_nan=False),
}
_BOUNDED: Mapping[Any, Any] = {int: Int, float: Float}


def _schema(annotation: Any) -> CoreSchema:
    """The schema of a type. Raises TypeError for a form that facts do not have."""
    if annotation in _SCHEMAS:
        return _SCHEMAS[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Union:
        return core_schema.union_schema([_schema(argument) for argument in arguments], mode="left_to_right")
    if origin is Literal:
        return core_schema.literal_schema(list(arguments))
    if origin is list:
        return core_schema.list_schema(_schema(arguments[0]))
    if origin is tuple and arguments[1:] == (...,):
        return core_schema.tuple_variable_schema(_schema(arguments[0]))
    if origin is Mapping:
        return core_schema.dict_schema(*map(_schema, arguments))
    if isinstance(annotation, type) and origin is None:
        return core_schema.is_instance_schema(annotation)
    raise TypeError(f"a fact model cannot have a field of the type {annotation}")


class _Model(BaseModel):
    """What the two kinds of models below have in common.

    Pydantic takes the declaration of a fact for its default value, which is half as much work for it as a ``Field``;
    the schema has no default there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema that pydantic would make in five times the time."""
        fields = {}
        for name, info in cls.model_fields.items():
            # Of Int and Float, pydantic keeps type and bounds apart.
            schema = _schema(_BOUNDED[info.annotation] if info.metadata else info.annotation)
            if not (info.is_required() or isinstance(info.default, _Declared)):
                default = partial(info.get_default, call_default_factory=True)
                schema = core_schema.with_default_schema(schema, default_factory=default)
            fields[name] = core_schema.model_field(schema)
        return core_schema.model_schema(
            cls,
            core_schema.model_fields_schema(fields, model_name=cls.__name__),
            frozen=True,
            config=core_schema.CoreConfig(title=cls.__name__, strict=True, extra_fields_behavior="forbid"),
        )


class Record(_Model):
    """An item of a list fact; rules see its fields as ``item.<field>``."""

    @classmethod
    @cache
    def fact_infos(cls) -> Mapping[str, FactInfo]:
        """The item's fields by full name, ``item.<field>``."""
        return {f"item.{name}": _info(f"item.{name}", field_info, cls) for name, field_info in cls.model_fields.items()}

    def lookup(self, name: str) -> Any:
        """Value or absence of ``item.<field>``."""
        return getattr(self, name.partition(".")[2])


class FactModel(_Model):
    """Base of all fact models.

    Class variables: ``subject`` is the name that rule entries use, ``namespace`` the prefix of its facts, ``parent``
    the subject that it lies in, ``plural`` the prefix of its columns, as rules on the parent read them.

    Instances carry ``path``, the subject's place relative to the results directory (forward slashes; empty at launch),
    ``sources``, where each stated value was read, by field name, and ``below``, the subjects that lie in this one.
    """

    subject: ClassVar[str] = ""
    namespace: ClassVar[str] = ""
    parent: ClassVar[str] = ""
    plural: ClassVar[str] = ""

    path: str
    sources: Mapping[str, Source] = Field(default_factory=dict)
    below: tuple[FactModel, ...] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register the model under its subject."""
        super().__pydantic_init_subclass__(**kwargs)
        MODELS[cls.subject] = cls

    @classmethod
    @cache
    def fact_infos(cls) -> Mapping[str, FactInfo]:
        """The model's facts by full name (``namespace.field``), in order of declaration."""
        return {
            f"{cls.namespace}.{name}": _info(f"{cls.namespace}.{name}", info, cls)
            for name, info in cls.model_fields.items()
            if isinstance(info.default, _Declared)
        }

    @classmethod
    @cache
    def fact_fields(cls) -> tuple[str, ...]:
        """Field names of the facts, without the namespace."""
        return tuple(name.partition(".")[2] for name in cls.fact_infos())

    def lookup(self, name: str) -> Any:
        """Value or absence of the fact with this full name."""
        return getattr(self, name.partition(".")[2])

    def source(self, name: str) -> Source | None:
        """Where the fact with this full name was read, if it has a value."""
        return self.sources.get(name.partition(".")[2])

    def stated(self) -> Iterator[tuple[str, Any]]:
        """Full name and value of each fact that has a value."""
        for name in self.fact_infos():
            value = self.lookup(name)
            if not isinstance(value, Absence):
                yield name, value


MODELS: dict[str, type[FactModel]] = {}
"""The fact models that are loaded, by subject."""


@dataclass(slots=True)
class FactSheet:
    """Collects facts, their sources and absences while an adapter reads; :meth:`build` makes the model.

    >>> sheet = FactSheet()
    >>> sheet.put("num_processes", 8, Source("--num-processes"))
    """

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)

    def put(self, name: str, value: Any, source: Source | None = None) -> None:
        """State a value with its source, or an :class:`Absence`. An integer that CEL cannot hold is no value."""
        if type(value) is int and not _LEAST <= value < -_LEAST:  # sums and products of what a file states
            path, pointer = (source.path, source.pointer) if source is not None else ("", "")
            detail = f"{name} would be {value}, which is beyond any run"
            value = Absence(f"range:{path}#{pointer}:{name}", Reason.INVALID, path, pointer, detail)
        self.values[name] = value
        if source is not None and not isinstance(value, Absence):
            self.sources[name] = source

    def get(self, name: str) -> Any:
        """The value or absence that was put under this field name."""
        return self.values[name]

    def build(self, model: type[M], path: str, below: Iterable[FactModel] = ()) -> M:
        """Make the model. Raises pydantic.ValidationError where a fact was neither stated nor declared absent."""
        return model.model_validate({**self.values, "path": path, "sources": self.sources, "below": tuple(below)})


M = TypeVar("M", bound=FactModel)


def _info(name: str, info: FieldInfo, owner: type[BaseModel]) -> FactInfo:
    declared = info.default
    if not isinstance(declared, _Declared):
        raise TypeError(f"{owner.__name__}: {name} is not declared as a fact, which has no default")
    value_type = _value_type(info.annotation)
    choices = tuple(str(choice) for choice in get_args(value_type)) if get_origin(value_type) is Literal else ()
    return FactInfo(
        name=name,
        type=str if choices else value_type,
        description=declared.description,
        unit=declared.unit,
        known=declared.known,
        choices=choices,
    )


def _value_type(annotation: Any) -> Any:
    """The type of a value: the annotation without Absence and without validation constraints."""
    origin = get_origin(annotation)
    if origin is Union:
        (remaining,) = [arg for arg in get_args(annotation) if arg is not Absence]
        return _value_type(remaining)
    if origin is Annotated:
        return _value_type(get_args(annotation)[0])
    if origin is list:
        (item,) = get_args(annotation)
        return list[_value_type(item)]  # type: ignore[misc]
    return annotation
