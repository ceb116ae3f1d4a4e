"""A session is overdue by what this daemon has seen of it, on a clock that never jumps."""

from datetime import timedelta

import pytest

from minion.protocol import Outcome, Report, SessionKind
from overlord.domain.session import Session, StopReason
from overlord.domain.session_watchdog import SessionWatchdog
from tests.records import NOW, a_decision, a_session, later


def look(session_watchdog: SessionWatchdog, session: Session, monotonic: float) -> StopReason | None:
    return session_watchdog.reason_to_stop(session, monotonic, silent_s=300, grace_s=10)


@pytest.mark.parametrize(
    ("kind", "watched_s", "reason"),
    [
        (SessionKind.WORK, 0, None),
        (SessionKind.WORK, 299, None),
        (SessionKind.WORK, 300, StopReason.SILENT),
        (SessionKind.WORK, 1800, StopReason.TIME_LIMIT),
        (SessionKind.CHECK, 1799, None),
        (SessionKind.CHECK, 1800, StopReason.TIME_LIMIT),
    ],
)
def test_what_is_watched_for_too_long_is_stopped(
    kind: SessionKind, watched_s: float, reason: StopReason | None
) -> None:
    session_watchdog, session = SessionWatchdog(), a_session(kind=kind, started_at=NOW)
    assert look(session_watchdog, session, 50.0) is None
    assert look(session_watchdog, session, 50.0 + watched_s) is reason


def test_every_heartbeat_breaks_the_silence() -> None:
    session_watchdog = SessionWatchdog()
    for beat in range(0, 1500, 250):
        assert (
            look(session_watchdog, a_session(started_at=NOW, heartbeat_at=later(beat)), float(beat)) is None
        )


def test_what_a_session_had_run_when_its_daemon_ended_counts() -> None:
    session_watchdog, session = (
        SessionWatchdog(),
        a_session(kind=SessionKind.CHECK, started_at=NOW, heartbeat_at=later(1700)),
    )
    assert look(session_watchdog, session, 9.0) is None
    assert look(session_watchdog, session, 108.0) is None
    assert look(session_watchdog, session, 109.0) is StopReason.TIME_LIMIT


def test_a_silence_that_nobody_could_hear_does_not_count() -> None:
    session = a_session(started_at=NOW - timedelta(days=365), heartbeat_at=NOW - timedelta(days=364))
    assert look(SessionWatchdog(), session, 0.0) is StopReason.TIME_LIMIT
    asleep = a_session(started_at=NOW, heartbeat_at=later(20))
    assert look(SessionWatchdog(), asleep, 1e9) is None


def test_a_clock_that_was_set_back_between_two_daemons_gives_no_time_back() -> None:
    session = a_session(started_at=NOW, heartbeat_at=NOW - timedelta(hours=1))
    assert look(session_watchdog := SessionWatchdog(), session, 0.0) is None
    assert (
        look(session_watchdog, a_session(started_at=NOW, heartbeat_at=later(5)), 1800.0)
        is StopReason.TIME_LIMIT
    )


def test_whoever_has_reported_has_a_moment_to_end() -> None:
    session_watchdog, report = SessionWatchdog(), Report(outcome=Outcome.COMPLETE)
    session = a_session(started_at=NOW, heartbeat_at=later(5), report=report)
    assert look(session_watchdog, session, 0.0) is None
    assert look(session_watchdog, session, 10.0) is None
    assert look(session_watchdog, session, 10.1) is StopReason.REPORTED


def test_what_has_ended_is_forgotten_and_what_never_started_is_not_overdue() -> None:
    session_watchdog, session = SessionWatchdog(), a_session(started_at=NOW)
    assert look(session_watchdog, session, 0.0) is None
    session_watchdog.forget(session.id)
    assert look(session_watchdog, session, 5000.0) is None
    assert look(session_watchdog, a_session(), 1e6) is None


def test_a_question_is_waited_for_as_long_as_it_was_seen_open() -> None:
    session_watchdog, asked = SessionWatchdog(), a_decision(expires_at=later(600))
    assert session_watchdog.overdue([asked], 50.0) == []
    assert session_watchdog.overdue([asked], 649.0) == []
    assert session_watchdog.overdue([asked], 650.0) == [asked]
    assert SessionWatchdog().overdue([asked], 650.0) == [], "the next daemon gives it its wait anew"
