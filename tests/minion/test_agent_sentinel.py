"""Sentinel lines in an agent's words, read strictly and within bounds."""

import json

import pytest

from minion.agents.drive import KEPT_WORDS, MOST_REFUSED, Words
from minion.agents.sentinel import (
    LONGEST_LINE,
    LONGEST_TEXT,
    MOST_ITEMS,
    NoSentinel,
    SentinelKind,
    read_sentinel,
    sentinels,
    without_sentinels,
)


def line(**value: object) -> str:
    return f"OVERLORD_EVENT {json.dumps(value)}"


def test_a_completion_is_understood() -> None:
    found = read_sentinel(
        line(
            type="PHASE_COMPLETE",
            summary=" s ",
            outcome="red",
            replies=["1: r"],
            learnings="l",
            follow_ups=[" "],
        )
    )
    assert (found.kind, found.text, found.outcome) == (SentinelKind.PHASE_COMPLETE, "s", "red")
    assert (found.replies, found.learnings, found.follow_ups) == (("1: r",), ("l",), ())


@pytest.mark.parametrize(
    ("value", "text", "more"),
    [
        ({"type": "NEEDS_ESCALATION", "reason": "r", "context": "c", "event": "e"}, "r", "c"),
        ({"type": "EXCEPTION", "reason": "r", "impact": "i"}, "r", "i"),
        (
            {"type": "QUESTION", "question": "q", "kind": "scope", "patterns": ["a"], "options": ["x"]},
            "q",
            "",
        ),
    ],
)
def test_the_other_types_are_understood(value: dict[str, object], text: str, more: str) -> None:
    found = read_sentinel(line(**value))
    assert (found.text, found.more) == (text, more)
    assert found.event == value.get("event", "")
    assert found.question_kind == value.get("kind", "question")
    assert (list(found.patterns), list(found.options)) == (
        value.get("patterns", []),
        value.get("options", []),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("OVERLORD_EVENT", "not JSON"),
        ("OVERLORD_EVENT {", "not JSON"),
        ("OVERLORD_EVENT " + "[" * 60_000, "not JSON"),
        ("OVERLORD_EVENT []", 'no object with a "type"'),
        ('OVERLORD_EVENT {"type": 3}', 'no object with a "type"'),
        (line(type="MERGE_IT", summary="s"), "none of the known"),
        (line(type="PHASE_COMPLETE"), "'summary' is missing"),
        (line(type="PHASE_COMPLETE", summary=["s"]), "'summary' is no text"),
        (line(type="PHASE_COMPLETE", summary="s", replies={"1": "r"}), "'replies' is no list"),
        (line(type="PHASE_COMPLETE", summary="s", replies=[1]), "'replies' is no list"),
        (line(type="QUESTION", question="q", kind="order"), "kind is none of"),
        (line(type="PHASE_COMPLETE", summary="s") + " and then some", "something follows"),
        (line(type="PHASE_COMPLETE", summary="s" * LONGEST_LINE), "longer than"),
    ],
)
def test_what_is_none_says_why(text: str, why: str) -> None:
    with pytest.raises(NoSentinel, match=why.replace("(", r"\(")):
        read_sentinel(text)


def test_what_it_brings_is_bounded() -> None:
    found = read_sentinel(line(type="PHASE_COMPLETE", summary="s" * 30_000, replies=["r"] * 200))
    assert (len(found.text), len(found.replies)) == (LONGEST_TEXT, MOST_ITEMS)


def test_it_stands_alone_in_its_line() -> None:
    event = line(type="PHASE_COMPLETE", summary="s")
    text = f"I print {event}\n  - {event}\n  `{event}`\nOver."
    assert [found.text for found in sentinels(text)] == ["s"]
    assert without_sentinels(f"All is well.\n{event}\n") == "All is well."


def test_words_that_come_in_pieces_are_read_once_they_are_whole() -> None:
    words = Words()
    event = line(type="PHASE_COMPLETE", summary="s")
    assert words.add(f"Done.\n{event[:20]}", is_partial=True) is None
    assert words.add(event[20:], is_partial=True) is None
    found = words.end_run()
    assert found is not None
    assert found.text == "s"
    assert words.sentinel == found
    assert words.text == f"Done.\n{event}"


def test_last_words_are_those_since_it_did_something() -> None:
    words = Words()
    words.add(f"First.\n{line(type='QUESTION', question='q')}")
    words.end_run()
    words.add("Then.")
    words.add("Last.")
    assert words.text == "Then.\nLast."
    assert words.sentinel is not None
    assert words.sentinel.text == "q"


def test_people_are_told_of_few_lines_that_were_passed_over() -> None:
    words = Words()
    for _ in range(50):
        words.add("OVERLORD_EVENT {}\n" * 1000)
    assert len(words.refused) == MOST_REFUSED


def test_of_many_words_the_last_are_kept() -> None:
    words = Words()
    for number in range(40_000):
        words.add(f"line {number}")
    kept = words.text.splitlines()
    assert len(words.text) > KEPT_WORDS - 20
    assert kept[1:] == [f"line {number}" for number in range(40_001 - len(kept), 40_000)]
    words.end_run()
    words.add("Over.")
    assert words.text == "Over."


def test_why_a_line_was_passed_over_is_kept() -> None:
    words = Words()
    assert words.add("OVERLORD_EVENT {}") is None
    assert "passed over" in words.refused[0]
