"""What a session or a stranger can have logged at will is written once in a while, with how often it came."""

import logging

import pytest
import structlog

from overlord.entrypoints.terminal.log_repeats import MOST_LINES, RepeatedEvents, RepeatedRecords, Repeats


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_line_that_comes_again_is_left_out_for_a_while_and_then_says_how_often_it_came() -> None:
    clock = Clock()
    repeats = Repeats(quiet_s=60, now=clock)
    assert [repeats.count("a"), repeats.count("a"), repeats.count("b"), repeats.count("a")] == [
        0,
        None,
        0,
        None,
    ]
    clock.now = 60.0
    assert (repeats.count("a"), repeats.count("a")) == (2, None)


def test_lines_that_are_all_different_take_no_more_memory_than_so_many() -> None:
    repeats = Repeats()
    for number in range(2 * MOST_LINES):
        repeats.count(str(number))
    assert len(repeats._seen) == MOST_LINES


def test_warnings_of_ours_are_the_same_when_all_but_their_time_is_and_what_is_less_is_always_written() -> (
    None
):
    step = RepeatedEvents(Repeats(now=Clock()))
    warned = {"event": "refused", "session_id": "j1-work-1", "level": "warning"}
    assert step(None, "warning", {**warned, "timestamp": "1"}) == {**warned, "timestamp": "1"}
    with pytest.raises(structlog.DropEvent):
        step(None, "warning", {**warned, "timestamp": "2"})
    assert step(None, "warning", {**warned, "session_id": "j2-work-1"})
    told = {"event": "claimed", "level": "info"}
    assert step(None, "info", dict(told)) == step(None, "info", dict(told)) == told


def test_another_exception_is_another_line() -> None:
    step = RepeatedEvents(Repeats(now=Clock()))
    failed = {"event": "step_failed", "level": "error"}
    assert step(None, "error", {**failed, "exc_info": ValueError("one")})
    assert step(None, "error", {**failed, "exc_info": ValueError("another")})
    with pytest.raises(structlog.DropEvent):
        step(None, "error", {**failed, "exc_info": ValueError("one")})


def test_what_libraries_log_says_how_often_it_came() -> None:
    clock = Clock()
    kept = RepeatedRecords(Repeats(quiet_s=60, now=clock))

    def record() -> logging.LogRecord:
        return logging.LogRecord("asyncio", logging.ERROR, "x", 1, "socket.accept() %s", ("failed",), None)

    assert (kept.filter(record()), kept.filter(record())) == (True, False)
    clock.now = 61.0
    assert kept.filter(again := record())
    assert again.getMessage() == "socket.accept() failed (1 times more since it was last written)"
