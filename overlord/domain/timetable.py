"""What is on a clock: at which times a daemon is to look whether something is due. The rows say what is; a time that was missed is
made up for at the next."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again and again, with so much time between."""

    interval: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyAt:
    """Once a day, at an hour of a time zone; a day on which a clock jumps over that hour has none."""

    hour: int
    zone: str
    """As in `Europe/Berlin`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """At one moment, aware."""

    at: datetime


Times = Every | DailyAt | Once
