"""Zones of leaves: how a zone is known, and the pauses between leaves of different zones (2.1.18, 2.1.24)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from rules.derived.tree import LeafTimes, pauses
from rules.derived.zones import Instant, Moment, Zone, instant, zone_of
from rules.facts import Absence, Reason, Source

HERE = Source("leaf")
NOTHING = Absence("key:x", Reason.KEY_ABSENT)
DAY = "2026-07-01T"


def at(text: str) -> Instant:
    return instant(datetime.fromisoformat(DAY + text), HERE)


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


@pytest.mark.parametrize(
    ("recorded", "starts", "collected", "zone"),
    [
        (hours(-6), [at("10:00:00")], at("14:00:02Z"), Zone(hours(-6), True)),
        (None, [at("10:00:00")], at("16:00:02Z"), Zone(hours(-6), False)),
        (None, [NOTHING, at("10:00:00")], at("04:15:02Z"), Zone(hours(5.75), False)),
        (None, [at("16:00:00Z"), at("10:00:00")], NOTHING, Zone(hours(-6), False)),
        (None, [at("10:00:00-06:00")], NOTHING, Zone(hours(-6), True)),
        (None, [at("10:00:00"), at("11:00:00")], at("16:00:02Z"), Zone(hours(-6), False, disputed=True)),
        (None, [at("00:00:00")], at("14:30:00Z"), Zone(hours(-14.5), False, disputed=True)),
        (None, [at("10:00:00")], NOTHING, None),
        (None, [NOTHING, NOTHING], at("16:00:02Z"), None),
    ],
)
def test_zone(recorded: timedelta | None, starts: list[Moment], collected: Moment, zone: Zone | None) -> None:
    assert zone_of(recorded, starts, collected) == zone


def leaf(start: str, end: str, offset: float | None) -> LeafTimes:
    zone = None if offset is None else Zone(hours(offset), True)
    return LeafTimes(start, at(start), at(end), at(start), at(end), "start", "end", True, zone)


EAST = ("12:10:15", "12:20:15", -4.0)
"""Begins 5 s after a run that ends at 10:10:10, six hours behind UTC."""


@pytest.mark.parametrize(
    ("leaves", "idle"),
    [
        ([("10:00:10", "10:10:10", -6.0), EAST], [5.0]),
        ([EAST, ("10:00:10", "10:10:10", -6.0)], [5.0]),
        ([("10:00:10", "10:10:10", -6.0), EAST, ("10:20:20", "10:30:20", -6.0)], [5.0, 5.0]),
        ([("10:00:10", "10:10:10", None), ("10:10:15", "10:20:15", -4.0)], [5.0]),
        ([("10:00:10", "10:10:10", -6.0), ("09:10:15", "09:20:15", -7.0)], [5.0]),
        ([("10:50:10", "10:00:10", -6.0), ("10:00:15", "10:10:15", -7.0), ("10:10:30", "10:20:30", -7.0)], [5.0, 15.0]),
    ],
    ids=["east", "in any order", "and back", "not known", "clocks put back", "clocks put back during a run"],
)
def test_pauses_are_measured_in_one_zone(leaves: list[tuple[str, str, float | None]], idle: list[float]) -> None:
    assert [pause.idle_seconds for pause in pauses("run", [leaf(*each) for each in leaves])] == idle


def test_a_stray_in_another_zone_fills_a_pause() -> None:
    runs = [leaf("10:00:00", "10:10:00", -6.0), leaf("11:00:00", "11:10:00", -6.0)]
    assert len(pauses("run", runs)) == 1
    assert pauses("run", runs, [leaf("12:30:00", "12:40:00", -4.0)]) == []
