"""What of a transcript is found: what was said and done, turn by turn, never the rules and the brief it began with."""

import json
from typing import Any

from overlord.domain.search import SpokenText
from overlord.domain.transcript_text import PART_CHARS, PLACE_CHARS, SESSION_CHARS, spoken

RULES: list[dict[str, Any]] = [
    {"role": "system", "content": "the rules"},
    {"role": "user", "content": "the brief"},
]


def line(messages: list[dict[str, Any]], said: str = "", *calls: tuple[str, object]) -> bytes:
    """An exchange as a transcript has it."""
    tool_calls = [
        {
            "id": "c",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for name, given in calls
    ]
    reply = {"content": said, "tool_calls": tool_calls}
    return json.dumps({"messages": messages, "reply": reply}).encode() + b"\n"


def output(text: str) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": "c", "content": text}]


def test_messages_calls_and_outputs_are_found_and_nothing_of_json() -> None:
    content = line(RULES, "I look.", ("run_command", {"command": "ls -l", "more": [{"deep": "er"}, 7]}))
    content += line([*output("calc.py"), {"role": "user", "content": "use tabs"}], "Done.", ("broken", "{"))
    assert spoken(content) == (
        SpokenText(turn=1, text="I look.\nrun_command ls -l er\nuse tabs\ncalc.py\nDone.\nbroken"),
    )


def test_an_answer_in_json_is_found_by_its_words() -> None:
    review = {"files_reviewed": ["calc.py"], "findings": [{"message": "subtracts"}]}
    [found] = spoken(line(RULES, json.dumps(review)))
    assert found.text == "calc.py subtracts"
    [found] = spoken(line(RULES, "{braces} are words"))
    assert found.text == "{braces} are words"


def test_a_place_begins_at_a_turn() -> None:
    long = "word " * 250
    content = b"".join(line(output(f"{number} {long}"), "") for number in range(3))
    assert [(item.turn, item.text[:1]) for item in spoken(content)] == [(1, "0"), (2, "1"), (3, "2")]


def test_a_long_turn_has_several_places() -> None:
    calls = [("run_command", {"command": f"{number} {'x' * 1200}"}) for number in range(6)]
    found = spoken(line(RULES, "") + line([], "So.", *calls))
    assert [item.turn for item in found] == [2, 2]
    assert all(len(item.text) <= PLACE_CHARS for item in found)


def test_of_a_long_output_its_beginning_and_end_are_found() -> None:
    [found] = spoken(line(output(f"begins {'x' * 9000} ends")))
    assert found.text.startswith("begins") and found.text.endswith("ends")
    assert len(found.text) <= PART_CHARS + 3


def test_what_is_sent_anew_is_found_once() -> None:
    again = [*RULES, *output("the output")]
    content = line(again, "one") + line(again, "two")
    assert [item.text for item in spoken(content)] == ["the output\none\nthe rules\nthe brief\ntwo"]


def test_a_session_fills_no_database() -> None:
    content = b"".join(line(output(f"{number} {'x' * 1300}"), "") for number in range(500))
    assert SESSION_CHARS * 0.9 < sum(len(item.text) for item in spoken(content)) <= SESSION_CHARS


def test_lines_that_are_none_and_signs_no_database_takes_do_no_harm() -> None:
    content = b"\xff\n[]\n" + line([], "a\ud800b\0c") + b'{"full": "no more is kept"}\n{"messages": ["x"'
    assert spoken(content) == (SpokenText(turn=3, text="a?b c\nno more is kept"),)
    assert spoken(b"") == ()
