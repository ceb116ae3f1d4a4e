"""Times that come round, kept by APScheduler. It wakes whoever is to look, and decides nothing: what is due is read from the rows.

Jobs are in memory alone: whatever came due while no daemon ran is seen at its first look.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from overlord.domain.cron import Cron
from overlord.domain.timetable import Every, Once, Times


class Schedule:
    """Calls `wake` at each of the times that are set, while it is `running`."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._set: Mapping[str, Times] = {}
        # A time that was missed, because the machine slept or the loop was busy, is made up for once.
        defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)
        logging.getLogger("apscheduler").setLevel(logging.WARNING)  # else a line for each time

    def set(self, times: Mapping[str, Times]) -> None:
        """These times from now on, by name; those of before that are not among them are forgotten. The same again changes nothing."""
        if times == self._set:
            return
        for name in self._set.keys() - times.keys():
            with contextlib.suppress(JobLookupError):  # one of a single moment is gone when that has come
                self._scheduler.remove_job(name)
        for name, each in times.items():
            if self._set.get(name) != each:
                self._scheduler.add_job(self._call, trigger_of(each), id=name, replace_existing=True)
        self._set = dict(times)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Times come round in the loop that runs now."""
        self._scheduler.start()
        try:
            yield
        finally:
            self._scheduler.shutdown(wait=False)

    async def _call(self) -> None:
        """A coroutine, because APScheduler gives a plain function a thread."""
        self._wake()


def trigger_of(times: Times) -> BaseTrigger:
    """APScheduler's word for it."""
    if isinstance(times, Every):
        return IntervalTrigger(seconds=times.interval.total_seconds(), timezone=UTC)
    if isinstance(times, Once):
        return DateTrigger(run_date=times.at, timezone=UTC)
    return CronTimes(times)


class CronTimes(BaseTrigger):  # type: ignore[misc] # APScheduler has no types
    """The times of a cron expression as the rows count them, also where clocks go forward and back: APScheduler's own trigger fires twice
    at a time that they show twice, and counts weekdays from Monday."""

    def __init__(self, cron: Cron) -> None:
        self._cron = cron

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The first from now on. What was missed until now comes round once, by the time that was waited for."""
        return self._cron.next_after(max(previous_fire_time or now, now))
