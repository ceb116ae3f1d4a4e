"""What is on a clock: at which times a daemon is to look whether something is due. The rows say what is; a time that was missed is
made up for at the next."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.cron import Cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Again and again, with so much time between."""

    interval: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """At one moment, aware."""

    at: datetime


Times = Every | Cron | Once
