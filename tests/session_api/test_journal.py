"""What a session says of its turns and tools is hostile: names are ours or none, numbers have limits, and so has the memory."""

from datetime import timedelta

from minion.protocol import Event, EventKind
from overlord.session_api.turn_journal import MOST, SESSIONS, Journal
from tests.records import NOW


def called(text: str, duration_s: float = 1.0) -> Event:
    return Event(kind=EventKind.CALLED, turn=1, text=text, duration_s=duration_s)


def test_a_name_that_is_no_tools_is_not_passed_on() -> None:
    journal = Journal()
    for text in ("edit_file", "ghp_0123456789abcdefghij", "a b", "é" * 50, ""):
        journal.called("s", called(text), NOW)
    _, calls = journal.take("s")
    assert [call.tool for call in calls] == ["edit_file", *["unknown"] * 4]


def test_a_call_took_no_less_than_nothing_and_no_more_than_a_day() -> None:
    journal = Journal()
    for duration_s in (-5.0, 2.0, 1e300):
        journal.called("s", called("edit_file", duration_s), NOW)
    _, calls = journal.take("s")
    assert [call.end - call.start for call in calls] == [timedelta(), timedelta(seconds=2), timedelta(days=1)]


def test_the_memory_has_an_end() -> None:
    journal = Journal()
    for number in range(MOST + 10):
        journal.turned("first", number, NOW)
        journal.called("first", called("edit_file"), NOW)
    turns, calls = journal.take("first")
    assert (len(turns), len(calls)) == (MOST, MOST)
    assert journal.take("first") == ((), ())
    for number in range(SESSIONS + 1):
        journal.turned(f"s{number}", 1, NOW)
    assert journal.take("s0") == ((), ())
    assert len(journal.take("s1")[0]) == 1


def test_a_turn_is_told_with_the_requests_that_came_to_it() -> None:
    journal = Journal()
    for exchange in (1, 2):
        journal.asked("s", exchange, answered=exchange == 2)
    journal.turned("s", 1, NOW)
    journal.asked("s", 3, answered=True)
    journal.turned("s", 2, NOW)
    journal.asked("s", 4, answered=False)
    turns, _ = journal.take("s")
    assert [turn.exchanges for turn in turns] == [{1, 2}, {3}]


def test_a_word_of_a_turn_that_comes_early_or_late_moves_no_request_to_another_turn() -> None:
    journal = Journal()
    journal.turned("s", 1, NOW)
    journal.asked("s", 1, answered=True)
    journal.asked("s", 2, answered=False)
    journal.asked("s", 3, answered=True)
    journal.asked("s", 4, answered=True)
    journal.turned("s", 2, NOW)
    journal.turned("s", 3, NOW)
    turns, _ = journal.take("s")
    assert [turn.exchanges for turn in turns] == [{1}, {2, 3}, {4}]
