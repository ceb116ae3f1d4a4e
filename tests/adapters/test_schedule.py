"""What is on a clock: which times come round, and that they wake and do no more."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.adapters.schedule import Schedule, trigger_of
from overlord.domain.cron import Cron
from overlord.domain.timetable import Every, Once

SOON = Every(interval=timedelta(milliseconds=10))
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")


class Woken:
    """Counts, and lets a test wait for it."""

    def __init__(self) -> None:
        self.times = 0
        self.event = asyncio.Event()

    def __call__(self) -> None:
        self.times += 1
        self.event.set()

    async def again(self) -> None:
        self.event.clear()
        async with asyncio.timeout(30):
            await self.event.wait()


async def test_a_time_wakes_again_and_again() -> None:
    schedule = Schedule(woken := Woken())
    with schedule.running():
        schedule.set({"poll": SOON})
        await woken.again()
        await woken.again()


async def test_a_moment_that_has_come_wakes_once_and_may_be_forgotten_after_it() -> None:
    schedule = Schedule(woken := Woken())
    with schedule.running():
        schedule.set({"poll": Once(at=datetime.now(UTC))})
        await woken.again()
        schedule.set({})
        schedule.set({"poll": Once(at=datetime.now(UTC))})
        await woken.again()
    assert woken.times == 2


async def test_what_is_not_set_any_more_wakes_nobody() -> None:
    schedule, never = Schedule(woken := Woken()), Every(interval=timedelta(days=9))
    with schedule.running():
        schedule.set({"poll": SOON, "briefing": never})
        await woken.again()
        schedule.set({"briefing": never})
        await asyncio.sleep(0)
        before = woken.times
        other = Schedule(another := Woken())
        with other.running():
            other.set({"poll": SOON})
            for _ in range(3):
                await another.again()
    assert woken.times == before


async def test_a_schedule_that_does_not_run_wakes_nobody_and_takes_times() -> None:
    schedule = Schedule(woken := Woken())
    schedule.set({"poll": SOON})
    schedule.set({})
    schedule.set({"poll": SOON})
    assert woken.times == 0
    with schedule.running():
        await woken.again()


@given(
    after=st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)),
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    zone=st.sampled_from(ZONES),
)
def test_a_time_wakes_when_its_slot_begins_and_those_that_were_missed_wake_once(
    after: datetime, minute: int, hour: int, zone: str
) -> None:
    """Also where clocks are set forward and back."""
    cron = Cron(expression=f"{minute} {hour} * * *", zone=zone)
    trigger, at = trigger_of(cron), after.replace(tzinfo=UTC)
    first = trigger.get_next_fire_time(None, at)
    assert first == cron.slot_at(at).until
    late = first + timedelta(days=9)
    assert trigger.get_next_fire_time(first, late) == cron.slot_at(late).until


@pytest.mark.parametrize(
    "times", [SOON, Cron(expression="0 7 * * mon", zone="UTC"), Once(at=datetime(2026, 1, 1, tzinfo=UTC))]
)
async def test_the_same_times_again_change_nothing(times: Every | Cron | Once) -> None:
    schedule = Schedule(lambda: None)
    schedule.set({"a": times})
    [job] = schedule._scheduler.get_jobs()
    schedule.set({"a": times})
    assert schedule._scheduler.get_jobs() == [job]
