"""A contract's own patterns: what they take out, and that none of them takes longer than it may."""

import json

from overlord.domain.text.redacting import (
    LEFT_OUT,
    redacting,
    redacting_all,
    redacting_json,
)
from overlord.domain.text.redaction import MARK

CARD = r"\d{4}-\d{4}"
NEVER_DONE = r"(x+x+)+y"
SLOW = "x" * 5000


def test_all_that_a_pattern_matches_is_marked() -> None:
    assert redacting("card 1234-5678, and 8765-4321.", [CARD]) == f"card {MARK}, and {MARK}."


def test_each_pattern_is_applied_and_without_any_the_text_stays() -> None:
    assert redacting_all(["a1", "b2", ""], ["a", r"\d"]) == [f"{MARK}{MARK}", f"b{MARK}", ""]
    assert redacting("card 1234-5678", []) == "card 1234-5678"


def test_a_pattern_that_does_not_come_to_an_end_is_ended_and_nothing_of_the_text_is_kept() -> None:
    assert redacting_all([SLOW, "other", ""], [NEVER_DONE], time_s=0.3) == [LEFT_OUT, LEFT_OUT, ""]


def test_json_stays_json_whatever_a_pattern_eats() -> None:
    document = json.dumps({"key": "1234-5678", "list": ["a", 1, None, {"deep": 'x "1234-5678" y'}]})
    found = json.loads(redacting_json(document, [CARD, r'".*"']))
    assert found == {"key": MARK, "list": ["a", 1, None, {"deep": f"x {MARK} y"}]}


def test_lines_of_json_are_redacted_one_by_one_and_others_as_they_are() -> None:
    text = '{"a": "1234-5678"}\nno json 1234-5678\n\n{"b": "kept"}\n'
    assert redacting_json(text, [CARD]) == f'{{"a": "{MARK}"}}\nno json {MARK}\n\n{{"b": "kept"}}\n'
