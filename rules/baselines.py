"""Baselines of examples, built into facts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .compiled import fact_infos
from .entries import Baselines
from .errors import RuleLoadError
from .facts.base import MODELS, Absence, FactInfo, FactModel, Reason, Source
from .invalid import Misplaced, in_words, near
from .strict_yaml import Document
from .subjects import ancestors

_PLACE = "example"


def build_chain(baselines: Baselines, base: str, given: Mapping[str, Any]) -> tuple[FactModel, ...]:
    """The subject of a baseline with ``given`` applied, then the subjects it lies in whose facts are stated.

    Raises ValueError for an unknown baseline or fact, and for a value that does not fit.
    """
    baseline = baselines.baselines[base]
    model = MODELS[baseline.subject]
    facts = {**_baseline_facts(baselines, base), **given}
    infos = fact_infos(model)
    unknown = sorted(set(facts) - set(infos))
    if unknown:
        raise ValueError(f"not a declared fact of {baseline.subject}: {', '.join(unknown)}{near(unknown[0], infos)}")
    chain = []
    for owner in (model, *ancestors(model)):
        stated = {name for name in facts if name in owner.fact_infos()}
        if owner is model or stated:
            chain.append(_build(owner, {name: facts[name] for name in stated}))
    return tuple(chain)


def _baseline_facts(baselines: Baselines, base: str) -> dict[str, Any]:
    baseline = baselines.baselines[base]
    below = _baseline_facts(baselines, baseline.like) if baseline.like else {}
    return {**below, **baseline.facts}


def _build(model: type[FactModel], facts: Mapping[str, Any]) -> FactModel:
    values: dict[str, Any] = {"path": _PLACE, "sources": {}}
    for name, info in model.fact_infos().items():
        field = name.partition(".")[2]
        values[field] = value = _value(name, info, facts[name]) if name in facts else _absent(name, Reason.KEY_ABSENT)
        if not isinstance(value, Absence):
            values["sources"][field] = Source(_PLACE)
    return model.model_validate(values)


def _absent(name: str, reason: Reason) -> Absence:
    return Absence(f"example:{name}", reason, _PLACE, detail=f"{name} is not stated")


@cache
def _adapter(python_type: Any) -> TypeAdapter[Any]:
    return TypeAdapter(python_type)


def _value(name: str, info: FactInfo, raw: Any) -> Any:
    if raw is None:
        return _absent(name, Reason.KEY_ABSENT)
    if isinstance(raw, Mapping) and set(raw) == {"absent"}:
        return _absent(name, Reason(raw["absent"]))
    if info.record is not None:
        return [info.record.model_validate(item, strict=False) for item in raw]
    try:
        return _adapter(info.type).validate_python(raw, strict=False)
    except ValidationError as error:
        raise ValueError(f"{name}: {in_words(error.errors()[0])}") from error


def first_problem(error: ValueError) -> str:
    """The first thing that a ValueError or a ValidationError of :func:`build_chain` says."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'][:1])}: {in_words(first)}"


def check_baselines(baselines: Baselines, document: Document) -> None:
    """Every baseline states facts that its subject has, and values that fit. Raises RuleLoadError."""
    for name in baselines.baselines:
        try:
            _check(baselines, name)
        except Misplaced as error:
            line = document.line(("baselines", name, *error.where))
            raise RuleLoadError(f"baseline {name}: {error}", document.path, line) from error


def _check(baselines: Baselines, name: str) -> None:
    baseline = baselines.baselines[name]
    if baseline.subject not in MODELS:
        raise Misplaced(f"no such subject: {baseline.subject}{near(baseline.subject, MODELS)}", "subject")
    before = [name]
    while like := baselines.baselines[before[-1]].like:
        if like not in baselines.baselines:
            raise Misplaced(f"no such baseline: {like}{near(like, baselines.baselines)}", "like")
        if like in before:
            raise Misplaced(f"it starts from itself: {' from '.join([*before, like])}", "like")
        before.append(like)
    infos = fact_infos(MODELS[baseline.subject])
    for fact, raw in baseline.facts.items():
        if fact not in infos:
            raise Misplaced(f"not a declared fact of {baseline.subject}: {fact}{near(fact, infos)}", "facts", fact)
        try:
            _value(fact, infos[fact], raw)
        except ValueError as error:
            raise Misplaced(first_problem(error), "facts", fact) from error
    try:
        build_chain(baselines, name, {})
    except ValueError as error:
        raise Misplaced(first_problem(error), "like" if baseline.like else "facts") from error
