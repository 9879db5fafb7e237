"""The zones of leaves: times of different leaves are brought to one zone before they are compared (4.7.1, 2.1.24).

The times of a leaf are naive, in the zone of the host that launched it, unless one carries its own zone. The leaf's
zone was recorded, or is shown by a stamp in UTC that was made at the start of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..facts.base import Absence, Source

NAME_STEP = timedelta(seconds=1)
"""The names of leaves are cut to this, so that what they name began up to so much later."""
_STEP = timedelta(minutes=15)
"""All zones in use differ from UTC by a multiple of this."""
_CLOCK_CHANGE = timedelta(hours=1)
"""What the clocks of one place are moved by in spring and autumn."""
_FARTHEST = timedelta(hours=14, minutes=15)
"""No zone is farther from UTC."""
_NONE = timedelta()


@dataclass(slots=True)
class Instant:
    """A naive time and where it was read.

    ``zone`` is local time minus UTC where the value itself says so; ``moved`` what was added to what is written.
    """

    at: datetime
    source: Source
    zone: timedelta | None = None
    moved: timedelta = _NONE

    @property
    def shown(self) -> str:
        """The time for a message, with what the file says where that is another one."""
        text = self.at.isoformat()
        return f"{text} (stated as {(self.at - self.moved).isoformat()} in another zone)" if self.moved else text


Moment = Instant | Absence


@dataclass(frozen=True, slots=True)
class Zone:
    """Local time minus UTC in a leaf. ``stated``: it was recorded, not concluded from two stamps.

    ``disputed``: the readings of the start of the run, which should be the same, lead to different zones, or to none.
    """

    offset: timedelta
    stated: bool
    disputed: bool = False


def instant(value: datetime, source: Source) -> Instant:
    """A time as it is written, with or without a zone."""
    return Instant(value.replace(tzinfo=None), source, value.utcoffset())


def zone_of(stated: timedelta | None, starts: Iterable[Moment], collected: Moment) -> Zone | None:
    """A leaf's zone: as recorded, else to a quarter of an hour; None where no pair of stamps shows it.

    ``starts`` are readings of its start, ``collected`` a stamp in UTC soon after it.
    """
    if stated is not None:
        return Zone(stated, True)
    known = [start for start in starts if isinstance(start, Instant)]
    zoned = next(
        (start for start in (collected, *known) if isinstance(start, Instant) and start.zone is not None), None
    )
    if zoned is None or zoned.zone is None:
        return None
    differences = [start.at - zoned.at + zoned.zone for start in known if start.zone is None]
    if not differences:
        return next((Zone(start.zone, True) for start in known if start.zone is not None), None)
    disputed = max(differences) - min(differences) > _STEP or abs(differences[0]) > _FARTHEST
    return Zone(_STEP * round(differences[0] / _STEP), False, disputed)


def moved(moment: Moment, by: timedelta) -> Moment:
    """The time in another zone."""
    if isinstance(moment, Absence) or not by:
        return moment
    return Instant(moment.at + by, moment.source, moment.zone, moment.moved + by)


def local(moment: Moment, zone: Zone | None) -> Moment:
    """A time that carries its own zone in that of its leaf."""
    if isinstance(moment, Absence) or moment.zone is None or zone is None:
        return moment
    return moved(moment, zone.offset - moment.zone)


def shifts(zones: Sequence[Zone | None]) -> list[timedelta]:
    """What brings each leaf's times to the zone of the first leaf that shows its own; nothing where one does not."""
    reference = next((zone for zone in zones if zone is not None and not zone.disputed), None)
    return [_difference(reference, zone) for zone in zones]


def _difference(reference: Zone | None, zone: Zone | None) -> timedelta:
    if reference is None or zone is None or zone.disputed:
        return _NONE
    difference = reference.offset - zone.offset
    # No hosts of one cluster lie a quarter of an hour apart: the collection of one of the runs took long.
    concluded = not (reference.stated and zone.stated)
    return _NONE if concluded and abs(difference) <= _STEP else difference


def end_shift(end: Moment, own: timedelta, start: Moment, next_shift: timedelta) -> timedelta:
    """What brings the end of a leaf to the common zone, to which ``start``, that of the next leaf, was brought already.

    Where the next leaf is an hour off, the clocks may have been changed while this one ran, or after it: the pause that
    makes sense counts, and of two that do the shorter one.
    """
    if isinstance(end, Absence) or isinstance(start, Absence) or end.zone is not None:
        return own
    if own == next_shift or abs(own - next_shift) > _CLOCK_CHANGE:
        return own
    pauses = {shift: start.at - end.at - shift for shift in (own, next_shift)}
    return min(pauses, key=lambda shift: (pauses[shift] <= -NAME_STEP, abs(pauses[shift])))
