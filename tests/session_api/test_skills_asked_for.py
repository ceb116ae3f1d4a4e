"""Which skills a model's reply asks for: whatever it says, only names come out, and nothing breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.wires.chat_reply import read_whole
from overlord.domain.wires.skill_call import skills_asked_for
from overlord.domain.wires.wire import ReplyContent


def said(*calls: object) -> ReplyContent:
    return ReplyContent(message={"tool_calls": list(calls)}, least_tokens=1)


def asks(arguments: object, name: object = "use_skill") -> object:
    return {"function": {"name": name, "arguments": arguments}}


def test_each_name_comes_once_in_the_order_it_was_asked_for() -> None:
    calls = [asks('{"name": "order"}'), asks('{"name": "arithmetic"}'), asks('{"name": "order"}')]
    assert skills_asked_for(said(*calls)) == ("order", "arithmetic")


@pytest.mark.parametrize(
    "call",
    [
        asks('{"name": "order"}', "run_command"),
        asks('{"name": "order"}', ["use_skill"]),
        asks('{"name": 7}'),
        asks('{"name": "\\ud800"}'),
        asks('{"name": ""}'),
        asks('["order"]'),
        asks("[" * 100_000),
        asks("no JSON"),
        asks(None),
        {"function": {"name": "use_skill"}},
        {"function": "use_skill"},
        "use_skill",
        None,
    ],
)
def test_what_is_no_such_call_names_none(call: object) -> None:
    assert skills_asked_for(said(call)) == ()


def test_a_reply_that_is_none_names_none() -> None:
    assert skills_asked_for(None) == skills_asked_for(read_whole(b"no JSON")) == ()
    assert skills_asked_for(read_whole(b'{"choices": [{"message": ["tool_calls"]}]}')) == ()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda some: st.lists(some) | st.dictionaries(st.text(), some)))  # fmt: skip
def test_anything_at_all_can_stand_where_calls_do(anything: object) -> None:
    found = skills_asked_for(ReplyContent(message={"tool_calls": anything}, least_tokens=1))
    assert found == ()
