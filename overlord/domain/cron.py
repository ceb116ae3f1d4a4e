"""Cron expressions: five fields, as crontab has them, and when clocks in a zone show what they say.

APScheduler does the arithmetic of the calendar. What is ours is what it leaves open: weekdays count from Sunday, as crontab has them; a
time that clocks leave out comes when they have gone forward; one that they show twice comes the first time alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger

MAX_LENGTH = 200
"""Characters of an expression."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The days of each month, in the years that have most."""
_RANGE = re.compile(
    r"(?P<first>[0-9]{1,2}|[a-z]{3})(?:-(?P<last>[0-9]{1,2}|[a-z]{3}))?(?:/(?P<step>[0-9]{1,2}))?"
)
_STEP = timedelta(microseconds=1)
_FIRST_LOOK = timedelta(hours=1)
"""How far back the last time is looked for first; then twice as far, and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One of the five: what its values are called, and the least and the most of them."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()

    def number(self, word: str) -> int:
        """What a value stands for. Raises ValueError."""
        if word.isdigit() and self.least <= int(word) <= self.most:
            return int(word)
        if word in self.names:
            return self.names.index(word) + self.least
        known = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        raise ValueError(f"the {self.name} is {self.least} to {self.most}{known}, not {word}")


_FIELDS = (
    _Field(name="minute", least=0, most=59),
    _Field(name="hour", least=0, most=23),
    _Field(name="day of the month", least=1, most=31),
    _Field(name="month", least=1, most=12, names=_MONTHS),
    _Field(name="day of the week", least=0, most=7, names=_WEEKDAYS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """From one time of a schedule until the next. What was done in it was done for its time."""

    at: datetime
    until: datetime

    def has_any(self, moments: Iterable[datetime]) -> bool:
        """Whether one of these is in it."""
        return any(self.at <= moment < self.until for moment in moments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """Whenever clocks of a time zone show what an expression says; both were checked."""

    expression: str
    zone: str
    """As in `Europe/Berlin`."""

    def next_after(self, moment: datetime) -> datetime:
        """The first time after a moment, in UTC. Of times that fall on one moment there is one."""
        zone = ZoneInfo(self.zone)
        # What clocks showed until now has come; so it is enough to go on from there.
        shown = moment.astimezone(zone).replace(tzinfo=None)
        return next(time for time in self._times(shown, zone) if time > moment)

    def slot_at(self, now: datetime) -> "Slot":
        """The last time that has come, until the next: once in it something is to be done.

        So a time that was missed is made up for once, however many there were; a clock that is set forward over a time is the same. A
        clock that is set back comes into slots in which it was done, and into those in which it was not: each is done once.
        """
        known = _SLOTS.get(self)
        if known is None or not known.at <= now < known.until:
            if len(_SLOTS) >= _MOST_SLOTS:
                _SLOTS.clear()
            known = _SLOTS[self] = self._slot_at(now)
        return known

    def _slot_at(self, now: datetime) -> "Slot":
        early, back = now - _FIRST_LOOK, _FIRST_LOOK
        while (found := self.next_after(early)) > now:
            back *= 2
            early = now - back
        late = now
        while (until := self.next_after(found)) <= now:
            middle = found + (late - found) / 2
            later = self.next_after(middle)
            found, late = (later, late) if later <= now else (until, middle)
        return Slot(at=found, until=until)

    def _times(self, shown: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        triggers = _triggers(self.expression)
        while True:
            # The calendar alone, without a zone: what clocks show is told as if it were UTC.
            asked = (shown + _STEP).replace(tzinfo=UTC)
            found = [trigger.get_next_fire_time(None, asked) for trigger in triggers]
            shown = min(time for time in found if time is not None).replace(tzinfo=None)
            yield first_shown(shown, zone)


_SLOTS: dict[Cron, Slot] = {}
"""The slot that each expression was last asked for: it is the same for hours."""
_MOST_SLOTS = 256


def check_cron(expression: str) -> str:
    """An expression as it is written best: one space between its fields, small letters. Raises ValueError in words."""
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"a cron expression has at most {MAX_LENGTH} characters")
    fields = expression.lower().split()
    if len(fields) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        raise ValueError(f"a cron expression has five fields ({names}), as 0 6 * * *, not {len(fields)}")
    _, _, days, months, weekdays = (_values(field, text) for field, text in zip(_FIELDS, fields, strict=True))
    is_by_weekday = not fields[4].startswith("*") and weekdays
    if not is_by_weekday and not any(day <= _LONGEST[month - 1] for month in months for day in days):
        raise ValueError("no year has such a day, so this time never comes")
    return " ".join(fields)


def check_zone(name: str) -> str:
    """The name of a time zone that there is. Raises ValueError."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}; use a name as Europe/Berlin") from None
    return name


def first_shown(shown: datetime, zone: ZoneInfo) -> datetime:
    """When clocks of a zone first show this time, in UTC; of one that they leave out, when they have gone forward."""
    early, late = (shown.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if early <= late:  # shown once, or twice: then the first of them is `early`
        return early
    # Left out: they go forward between the two, and the offset says when.
    offset = early.astimezone(zone).utcoffset()
    before, after = late, early
    while after - before > _STEP:
        middle = before + (after - before) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def _values(field: _Field, text: str) -> frozenset[int]:
    """All values of a field. Raises ValueError."""
    return frozenset(value for item in text.split(",") for value in _item(field, item))


def _item(field: _Field, item: str) -> range:
    most = 6 if field.names is _WEEKDAYS else field.most
    whole = re.sub(r"^\*", f"{field.least}-{most}", item)
    found = _RANGE.fullmatch(whole)
    if found is None:
        raise ValueError(
            f"the {field.name} has {item!r}; write a number, a range as 1-5, a list as 1,3, or */2"
        )
    first = field.number(found["first"])
    last = field.number(found["last"]) if found["last"] else (most if found["step"] else first)
    if field.names is _WEEKDAYS and found["last"] in {"sun", "0"}:
        last = 7
    step = int(found["step"] or 1)
    if first > last or step < 1:
        raise ValueError(f"the {field.name} has {item!r}; a range goes up, and its step is at least 1")
    return range(first, last + 1, step)


@lru_cache(maxsize=256)
def _triggers(expression: str) -> tuple["CronTrigger", ...]:
    """APScheduler's words for an expression: one, or, where both kinds of days are given, one for each kind, as in crontab."""
    from apscheduler.triggers.cron import CronTrigger  # what only reads settings does without

    texts = expression.split()
    minute, hour, day, month, weekday = (
        _listed(field, text) for field, text in zip(_FIELDS, texts, strict=True)
    )
    common: Mapping[str, str] = {"minute": minute, "hour": hour, "month": month}
    if texts[2].startswith("*") or texts[4].startswith("*"):
        return (CronTrigger(**common, day=day, day_of_week=weekday, timezone=UTC),)
    return (
        CronTrigger(**common, day=day, timezone=UTC),
        CronTrigger(**common, day_of_week=weekday, timezone=UTC),
    )


def _listed(field: _Field, text: str) -> str:
    """A field's values as a list of numbers; Monday is APScheduler's 0."""
    values = _values(field, text)
    if field.names is _WEEKDAYS:
        values = frozenset((value - 1) % 7 for value in values)
    return ",".join(map(str, sorted(values)))
