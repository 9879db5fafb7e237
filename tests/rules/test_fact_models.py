"""Fact models take what pydantic would take, and nothing else."""

import math
from typing import Annotated

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

import rules
from rules.facts import Absence, FactModel, FactSheet, Reason, Source
from rules.facts.base import MODELS, Fact, Record, _schema
from rules.facts.files import LeafFile

rules.load_edition()
ABSENT = Absence("file:x", Reason.MISSING_FILE)
FILE = LeafFile(name="a", path="b/a", role="other", state="ok", detail="", cause="file:b/a")
SAMPLES = (
    0, 1, -1, 2**63, -(2**63), -(2**63) - 1, 1.5, math.nan, math.inf, True, "", "closed", "file", "ok", b"closed", None,
    ABSENT, Reason.MISSING_FILE, Source("x"), FILE, [], [1], [2**63], [1.5], [math.nan], ["a"], [True],
    [None], [FILE], [FILE, 1], [[]], (), (1,), {}, {"x": Source("x")}, {"x": "x"}, {1: Source("x")},
)  # fmt: skip
ALL = sorted([*MODELS.values(), *Record.__subclasses__()], key=lambda model: model.__name__)


def taken(validate, value):
    try:
        return repr(validate(value))
    except ValidationError:
        return None


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
def test_each_field_takes_what_pydantic_would_take(model):
    model.model_rebuild(force=True)
    fields = model.__pydantic_core_schema__["schema"]["fields"]
    assert fields.keys() == model.model_fields.keys()
    for name, info in model.model_fields.items():
        ours = SchemaValidator(fields[name]["schema"], {"strict": True})
        annotation = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        theirs = TypeAdapter(annotation, config=ConfigDict(strict=True))
        for value in SAMPLES:
            assert taken(ours.validate_python, value) == taken(theirs.validate_python, value), (name, value)


class Plain(FactModel):
    """A model with no facts."""

    subject = "plain_test_subject"


MODELS.pop(Plain.subject)


def test_what_is_not_declared_is_refused():
    with pytest.raises(ValidationError, match="extra_forbidden"):
        Plain(path="x", colour="red")
    with pytest.raises(ValidationError, match="missing"):
        LeafFile(name="a")
    with pytest.raises(ValidationError, match="missing"):
        Plain()


def test_what_is_not_stated_has_its_default():
    first, second = Plain(path="x"), Plain(path="x")
    assert (first.sources, first.below) == ({}, ())
    assert first.sources is not second.sources


def test_a_record_is_never_made_of_a_mapping_in_passing():
    listed = SchemaValidator(_schema(Fact[list[LeafFile]]), {"strict": True})
    assert listed.validate_python([FILE]) == [FILE]
    with pytest.raises(ValidationError, match="is_instance_of"):
        listed.validate_python([FILE.model_dump()])


@pytest.mark.parametrize("form", [dict[str, int], object | None, set[str]])
def test_other_types_are_no_facts(form):
    with pytest.raises(TypeError, match="cannot have a field of the type"):
        _schema(form)


def test_models_cannot_be_changed():
    with pytest.raises(ValidationError, match="frozen"):
        FILE.name = "b"
    assert hash(FILE) == hash(FILE.model_copy())


@pytest.mark.parametrize(
    ("value", "held"), [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)]
)
def test_a_sheet_takes_no_integer_that_cel_cannot_hold(value, held):
    sheet = FactSheet()
    sheet.put("count", value, Source("summary.json", "/count"))
    assert (sheet.get("count") == value) is held
    if not held:
        absent = sheet.get("count")
        assert (absent.reason, absent.place) == (Reason.INVALID, "summary.json#/count")
        assert str(value) in absent.detail
        assert not sheet.sources
