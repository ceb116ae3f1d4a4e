"""Whether a time of the schedule has come for which the portfolio was not gone through."""

from datetime import UTC, datetime, timedelta

from overlord.domain.cron import Cron
from overlord.domain.portfolio.due import due_times

SIX = Cron(expression="0 6 * * *", zone="UTC")
BERLIN = Cron(expression="0 6 * * *", zone="Europe/Berlin")
HOURLY = Cron(expression="0 * * * *", zone="UTC")
NOON = datetime(2026, 3, 2, 12, 30, tzinfo=UTC)


def due(ran: list[datetime], now: datetime = NOON) -> dict[Cron, datetime]:
    return dict(due_times([SIX, BERLIN, HOURLY, SIX], now, has_run_in=lambda slot: slot.has_any(ran)))


def test_each_schedule_whose_time_has_come_is_due() -> None:
    six = NOON.replace(hour=6, minute=0)
    assert due([]) == {SIX: six, BERLIN: six - timedelta(hours=1), HOURLY: NOON.replace(minute=0)}
    assert due([six]) == {HOURLY: NOON.replace(minute=0)}
    assert due([six - timedelta(seconds=1)]) == {SIX: six, HOURLY: NOON.replace(minute=0)}
    assert due([NOON]) == {}


def test_days_that_were_missed_are_made_up_for_once() -> None:
    now = NOON + timedelta(days=9)
    assert due([NOON], now)[SIX] == now.replace(hour=6, minute=0)
    assert due([NOON, now], now) == {}
