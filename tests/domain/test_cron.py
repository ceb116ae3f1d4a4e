"""When clocks show what a cron expression says: weekdays as crontab has them, and clocks that go forward and back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.cron import Cron, check_cron, check_zone, first_shown

ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"),
    *("Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca", "America/St_Johns"),
)
moments = st.datetimes(
    min_value=datetime(2009, 1, 1), max_value=datetime(2035, 1, 1), timezones=st.just(UTC)
).map(lambda moment: moment.replace(microsecond=0))


def plain_field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    spans = st.tuples(number, number).map(lambda both: f"{min(both)}-{max(both)}")
    several = st.lists(number, min_size=1).map(lambda found: ",".join(map(str, found)))
    return st.one_of(st.just("*"), number.map(str), spans, several)


def field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    spans = st.tuples(number, number).map(lambda both: f"{min(both)}-{max(both)}")
    steps = st.tuples(st.one_of(st.just("*"), spans), st.integers(1, 9))
    return st.one_of(plain_field(least, most), steps.map(lambda both: f"{both[0]}/{both[1]}"))


# Days up to the 28th, so that each of these comes in every year.
expressions = st.tuples(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)).map(" ".join)
plain_expressions = st.tuples(
    plain_field(0, 59), plain_field(0, 23), plain_field(1, 28), plain_field(1, 12), st.just("*")
).map(" ".join)


def shown(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%a %d %b %H:%M}"


@pytest.mark.parametrize(
    ("expression", "after", "zone", "wanted"),
    [
        ("0 6 * * *", "2026-03-02T05:59:59Z", "UTC", "2026-03-02T06:00:00Z"),
        ("0 6 * * *", "2026-03-02T06:00:00Z", "UTC", "2026-03-03T06:00:00Z"),
        ("0 6 * * *", "2026-03-02T04:00:00Z", "Europe/Berlin", "2026-03-02T05:00:00Z"),
        # The 2nd of March 2026 is a Monday; weekdays count from Sunday, and 7 is Sunday as well.
        ("0 6 * * 1", "2026-03-01T07:00:00Z", "UTC", "2026-03-02T06:00:00Z"),
        ("0 6 * * 0", "2026-03-02T07:00:00Z", "UTC", "2026-03-08T06:00:00Z"),
        ("0 6 * * 7", "2026-03-02T07:00:00Z", "UTC", "2026-03-08T06:00:00Z"),
        ("0 6 * * sun", "2026-03-02T07:00:00Z", "UTC", "2026-03-08T06:00:00Z"),
        ("0 6 * * 1-5", "2026-03-06T07:00:00Z", "UTC", "2026-03-09T06:00:00Z"),
        ("0 6 * * MON-FRI", "2026-03-06T07:00:00Z", "UTC", "2026-03-09T06:00:00Z"),
        ("0 6 * * fri-sun", "2026-03-07T07:00:00Z", "UTC", "2026-03-08T06:00:00Z"),
        # Both kinds of days: either counts.
        ("0 6 15 * 1", "2026-03-09T07:00:00Z", "UTC", "2026-03-15T06:00:00Z"),
        ("0 6 15 * 1", "2026-03-15T07:00:00Z", "UTC", "2026-03-16T06:00:00Z"),
        ("0 6 1 jan-mar *", "2026-03-02T00:00:00Z", "UTC", "2027-01-01T06:00:00Z"),
        ("0 0 29 2 *", "2026-03-02T00:00:00Z", "UTC", "2028-02-29T00:00:00Z"),
        # Clocks go forward on the 29th of March, from 2:00 to 3:00: what is left out comes then, once.
        ("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("*/10 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("*/10 2 * * *", "2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-30T00:00:00Z"),
        ("30 2 29 3 *", "2026-03-28T12:00:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z"),
        # And back on the 25th of October, from 3:00 to 2:00: the first of the two.
        ("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "2026-10-25T00:30:00Z", "Europe/Berlin", "2026-10-26T01:30:00Z"),
        ("30 2 * * *", "2026-10-25T01:15:00Z", "Europe/Berlin", "2026-10-26T01:30:00Z"),
        # Half an hour, and a whole day that was left out.
        ("15 2 * * *", "2026-10-03T00:00:00Z", "Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
        ("0 9 * * *", "2011-12-29T20:00:00Z", "Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("0 9 * * *", "2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-30T19:00:00Z"),
    ],
)
def test_the_next_time_is_when_clocks_first_show_it(
    expression: str, after: str, zone: str, wanted: str
) -> None:
    cron = Cron(expression=check_cron(expression), zone=check_zone(zone))
    found = cron.next_after(datetime.fromisoformat(after))
    assert found == datetime.fromisoformat(wanted)
    assert found.tzinfo is UTC


@given(expressions, moments, st.sampled_from(ZONES))
def test_times_only_go_forward_and_none_lies_between(expression: str, after: datetime, zone: str) -> None:
    cron = Cron(expression=check_cron(expression), zone=zone)
    first = cron.next_after(after)
    assert first > after
    assert cron.next_after(first) > first
    # From anywhere before it, and after what was before it, it is the next.
    assert cron.next_after(after + (first - after) / 2) == first
    assert cron.next_after(first - timedelta(microseconds=1)) == first


@given(plain_expressions, moments)
def test_without_daylight_saving_it_is_what_apscheduler_says(expression: str, after: datetime) -> None:
    theirs = CronTrigger.from_crontab(expression, timezone=UTC)
    ours = Cron(expression=check_cron(expression), zone="UTC").next_after(after)
    assert ours == theirs.get_next_fire_time(None, after + timedelta(microseconds=1))


@given(st.integers(0, 23), st.integers(0, 59), moments, st.sampled_from(ZONES))
def test_a_daily_time_comes_once_a_day(hour: int, minute: int, after: datetime, zone: str) -> None:
    cron = Cron(expression=f"{minute} {hour} * * *", zone=zone)
    times = [first := cron.next_after(after), second := cron.next_after(first), cron.next_after(second)]
    asked = {
        first_shown(time.astimezone(ZoneInfo(zone)).replace(tzinfo=None), ZoneInfo(zone)) for time in times
    }
    assert asked == set(times)
    assert timedelta(hours=8) < second - first < timedelta(hours=26)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "five fields"),
        (
            "0 6 * *",
            "five fields (minute, hour, day of the month, month, day of the week), as 0 6 * * *, not 4",
        ),
        ("0 0 6 * * *", "not 6"),
        ("@daily", "five fields"),
        ("60 6 * * *", "the minute is 0 to 59, not 60"),
        ("0 24 * * *", "the hour is 0 to 23, not 24"),
        ("0 6 0 * *", "the day of the month is 1 to 31, not 0"),
        ("0 6 * 13 *", "the month is 1 to 12 or jan to dec, not 13"),
        ("0 6 * * 8", "the day of the week is 0 to 7 or sun to sat, not 8"),
        ("0 6 * * mo", "the day of the week has 'mo'"),
        ("0 6 * * mon-fri/0", "its step is at least 1"),
        ("0 9-6 * * *", "a range goes up"),
        ("*/0 * * * *", "its step is at least 1"),
        ("0 6 last * *", "the day of the month has 'last'"),
        ("0 6 30 2 *", "never comes"),
        ("0 6 31 4,6 *", "never comes"),
        ("0 6 * * ٣", "the day of the week has"),
        ("0 " * 200, "at most 200 characters"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(expression: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"cron|the |day") as refused:
        check_cron(expression)
    assert said in str(refused.value)


def test_a_day_that_is_not_in_the_month_counts_where_weekdays_do() -> None:
    cron = Cron(expression=check_cron("0 6 30 2 1"), zone="UTC")
    assert shown(cron.next_after(datetime(2026, 1, 1, tzinfo=UTC)), "UTC") == "Mon 02 Feb 06:00"


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "/etc/localtime", "Europe"])
def test_a_zone_has_to_be_there(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        check_zone(name)


@pytest.mark.parametrize(
    ("after", "hour", "zone", "wanted"),
    [
        ("2026-03-02T07:59:00Z", 9, "Europe/Berlin", "2026-03-02T08:00:00Z"),
        ("2026-03-02T08:00:00Z", 9, "Europe/Berlin", "2026-03-03T08:00:00Z"),
        ("2026-03-02T08:00:01Z", 9, "Europe/Berlin", "2026-03-03T08:00:00Z"),
        # Clocks go forward on the 29th of March, from 2:00 to 3:00.
        ("2026-03-28T09:00:00Z", 9, "Europe/Berlin", "2026-03-29T07:00:00Z"),
        ("2026-03-28T09:00:00Z", 2, "Europe/Berlin", "2026-03-29T01:00:00Z"),
        ("2026-03-29T01:00:00Z", 2, "Europe/Berlin", "2026-03-30T00:00:00Z"),
        # And back on the 25th of October, from 3:00 to 2:00.
        ("2026-10-24T09:00:00Z", 9, "Europe/Berlin", "2026-10-25T08:00:00Z"),
        ("2026-10-24T09:00:00Z", 2, "Europe/Berlin", "2026-10-25T00:00:00Z"),
        ("2026-10-25T00:00:00Z", 2, "Europe/Berlin", "2026-10-26T01:00:00Z"),
        ("2026-10-25T00:30:00Z", 2, "Europe/Berlin", "2026-10-26T01:00:00Z"),
        # Half hours, the far side of the world, and a day that was left out.
        ("2026-03-02T03:00:00Z", 9, "Asia/Kolkata", "2026-03-02T03:30:00Z"),
        ("2026-03-02T23:00:00Z", 9, "Pacific/Auckland", "2026-03-03T20:00:00Z"),
        ("2011-12-29T20:00:00Z", 9, "Pacific/Apia", "2011-12-30T10:00:00Z"),
        ("2011-12-30T10:00:00Z", 9, "Pacific/Apia", "2011-12-30T19:00:00Z"),
        ("2026-03-02T23:59:59Z", 0, "UTC", "2026-03-03T00:00:00Z"),
    ],
)
def test_the_hour_of_a_day_is_where_people_are(after: str, hour: int, zone: str, wanted: str) -> None:
    found = Cron(expression=f"0 {hour} * * *", zone=zone).next_after(datetime.fromisoformat(after))
    assert found == datetime.fromisoformat(wanted)
    assert found.tzinfo is UTC


def test_the_slot_of_a_moment_is_the_last_time_until_the_next() -> None:
    cron = Cron(expression="0 6 * * *", zone="Europe/Berlin")
    slot = cron.slot_at(datetime(2026, 3, 2, 5, 0, tzinfo=UTC))
    assert (shown(slot.at, cron.zone), shown(slot.until, cron.zone)) == (
        "Mon 02 Mar 06:00",
        "Tue 03 Mar 06:00",
    )
    assert cron.slot_at(datetime(2026, 3, 2, 4, 59, 59, tzinfo=UTC)).until == slot.at
    rare = Cron(expression="0 0 29 2 *", zone="UTC").slot_at(datetime(2028, 2, 28, tzinfo=UTC))
    assert (rare.at.year, rare.until.year) == (2024, 2028)


@given(expressions, moments, st.sampled_from(ZONES))
def test_the_slot_holds_its_moment_and_no_other_time(expression: str, now: datetime, zone: str) -> None:
    cron = Cron(expression=check_cron(expression), zone=zone)
    slot = cron.slot_at(now)
    assert slot.at <= now < slot.until
    assert cron.next_after(slot.at) == slot.until
    assert cron.next_after(slot.at - timedelta(microseconds=1)) == slot.at


class Daemon:
    """Does something once in each slot, at the moments at which it looks; the first look begins the count."""

    def __init__(self, cron: Cron, now: datetime) -> None:
        self.cron, self.done = cron, [now]

    def look(self, now: datetime) -> None:
        if not self.cron.slot_at(now).has_any(self.done):
            self.done.append(now)


leaps = st.lists(
    st.one_of(
        st.integers(1, 3600),  # it looks again soon
        st.integers(3600, 400 * 86_400),  # it was down, or its clock was set forward
        st.integers(-400 * 86_400, -1),  # its clock was set back
    ).map(lambda seconds: timedelta(seconds=seconds)),
    max_size=40,
)


@given(
    st.sampled_from(["0 6 * * *", "30 2 * * *", "*/20 * * * *", "0 9 * * 1"]),
    st.sampled_from(ZONES),
    moments,
    leaps,
)
def test_whatever_the_clock_does_each_time_is_run_for_once_and_none_that_has_come_is_left(
    expression: str, zone: str, now: datetime, leaps: list[timedelta]
) -> None:
    daemon = Daemon(cron := Cron(expression=expression, zone=zone), now)
    for leap in leaps:
        now += leap
        before = len(daemon.done)
        daemon.look(now)
        assert cron.slot_at(now).has_any(daemon.done), "the time that has come was run for"
        assert len(daemon.done) - before <= 1, "what was missed is made up for once"
    times = [cron.slot_at(done).at for done in daemon.done]
    assert len(times) == len(set(times)), "none was run for twice"


def test_a_day_after_a_clock_was_set_back_has_its_own() -> None:
    morning = datetime(2026, 3, 2, 6, 0, 5, tzinfo=UTC)
    daemon = Daemon(Cron(expression="0 6 * * *", zone="UTC"), morning - timedelta(hours=1))
    for now in (
        *(morning, morning + timedelta(days=1400)),  # the clock is years ahead,
        *(morning + timedelta(hours=1), morning + timedelta(days=1)),  # and is set back
        morning + timedelta(days=1, seconds=-10),  # by some seconds, over the time
        morning + timedelta(days=1, seconds=5),
    ):
        daemon.look(now)
    assert daemon.done[1:] == [morning, morning + timedelta(days=1400), morning + timedelta(days=1)]
