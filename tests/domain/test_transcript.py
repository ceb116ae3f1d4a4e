"""The conversation of a session as people read it: turns, calls and outputs, whatever a model or a file wrote."""

import json
from typing import Any

import hypothesis.strategies as st
from hypothesis import given
from inline_snapshot import snapshot

from overlord.domain.transcript import Conversation, exchange_of, failed_edits


def line(
    *calls: tuple[str, str, dict[str, Any]], messages: list[dict[str, Any]] | None = None, **facts: Any
) -> str:
    """One exchange as the gateway writes it; a call is its id, name and arguments."""
    said = [
        {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        for name, tool, given in calls
    ]
    reply = {"role": "assistant", "content": facts.pop("said", None), "tool_calls": said}
    usage = {"prompt": 1000, "cached": 0, "completion": 50}
    whole = {
        "at": "2026-11-25T14:05:09+00:00",
        "model": "careful",
        "usage": usage,
        "cost_usd": 0.0123,
        "messages": messages or [],
    }
    return json.dumps({**whole, "reply": reply, **facts})


def output(call: str, text: str) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def drawn(*lines: str, full: bool = False) -> str:
    conversation = Conversation(full=full)
    exchanges = [exchange for text in lines if (exchange := exchange_of(text)) is not None]
    return "\n".join(text for exchange in exchanges for text in conversation.lines(exchange))


STORY = (
    line(
        ("a", "read_file", {"path": "calc.py"}),
        messages=[
            {"role": "system", "content": "You are\na Minion."},
            {"role": "user", "content": "The task."},
        ],
        said="I look first.",
    ),
    line(
        ("b", "edit_file", {"path": "calc.py", "old": "a - b", "new": "a + b"}),
        ("c", "run_command", {"command": "pytest -q"}),
        messages=[output("a", "1\n2\n3")],
    ),
    line(
        ("d", "write_file", {"path": "new.py", "content": "\n".join(map(str, range(20)))}),
        ("e", "search_files", {"pattern": "x", "path": "."}),
        ("f", "list_directory", {"path": "src"}),
        messages=[
            output("b", "Error: old does not occur in calc.py."),
            output("c", "\n".join(f"line {number}" for number in range(20))),
            {"role": "user", "content": "A person says: leave new.py out."},
        ],
    ),
    line(("g", "task_complete", {"summary": "Done.\nAll of it."}), messages=[output("d", "Wrote new.py.")]),
)


def test_a_session_reads_like_a_conversation() -> None:
    assert drawn(*STORY) == snapshot("""\
  > You are a Minion. (17 characters)
  > The task. (9 characters)
turn 1  14:05:09Z  1,050 tokens, $0.0123
  I look first.
  read_file calc.py
    3 lines
turn 2  14:05:09Z  1,050 tokens, $0.0123
  edit_file calc.py
    - a - b
    + a + b
  $ pytest -q
  > A person says: leave new.py out.
    edit_file: Error: old does not occur in calc.py.
    … 12 lines before
    line 12
    line 13
    line 14
    line 15
    line 16
    line 17
    line 18
    line 19
turn 3  14:05:09Z  1,050 tokens, $0.0123
  write_file new.py
    + 0
    + 1
    + 2
    + 3
    + 4
    + 5
    + 6
    + 7
    + 8
    + 9
    + 10
    + 11
    + … 8 lines more
  search_files pattern="x" path="."
  list_directory src
    Wrote new.py.
turn 4  14:05:09Z  1,050 tokens, $0.0123
  task_complete
    summary: Done.
    All of it.\
""")


def test_an_exploration_is_no_turn_of_its_session() -> None:
    rules = [{"role": "system", "content": "You explore\nto answer."}, {"role": "user", "content": "What?"}]
    explored = (
        line(("x", "read_file", {"path": "calc.py"}), messages=rules, explores=True),
        line(messages=[output("x", "1\n2")], said="It subtracts.", explores=True),
    )
    asked = line(("a", "explore", {"question": "What?"}))
    said = drawn(asked, *explored, line(messages=[output("a", "It subtracts.")], said="So."))
    assert said == snapshot("""\
turn 1  14:05:09Z  1,050 tokens, $0.0123
  explore question="What?"
  > You explore to answer. (22 characters)
  > What? (5 characters)
exploration  14:05:09Z  1,050 tokens, $0.0123
  read_file calc.py
    2 lines
exploration  14:05:09Z  1,050 tokens, $0.0123
  It subtracts.
    It subtracts.
turn 2  14:05:09Z  1,050 tokens, $0.0123
  So.\
""")
    assert "  > You explore\n  > to answer." in drawn(*explored, full=True)


def test_full_is_all_of_it() -> None:
    whole = drawn(*STORY, full=True)
    assert "  > You are\n  > a Minion.\n" in whole
    assert "    line 0\n" in whole and "    + 19\n" in whole and "    3\n" in whole


def test_what_the_model_did_not_answer_is_said() -> None:
    refused = json.dumps({"reply": None, "messages": [], "trouble": "429: slow down"})
    assert drawn(refused) == "    the model: 429: slow down"
    assert drawn(json.dumps({"reply": None})) == "    the model: the model gave no reply"
    assert drawn('{"full": "no more is kept"}') == "    the model: no more is kept"


def test_a_line_that_is_cut_off_or_none_is_left_out() -> None:
    assert exchange_of('{"reply": {"content": "hal') is None
    assert exchange_of("[]") is None


def test_arguments_that_are_no_object_are_shown_as_they_were_written() -> None:
    call = {"id": "x", "function": {"name": "run_command", "arguments": "{rm"}}
    assert drawn(json.dumps({"reply": {"tool_calls": [call, "odd", {"function": 1}]}})).splitlines()[1:] == [
        "  $ {rm",
        "  (no name)",
        "  (no name)",
    ]


def test_content_in_parts_is_text_too() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image"}, "two", {"type": "text", "text": "three"}]
    assert drawn(json.dumps({"reply": {"content": parts}})).splitlines()[1:] == ["  one", "  three"]


def test_why_edits_failed_is_told_once_each_and_only_of_edits() -> None:
    again = line(
        ("h", "edit_file", {"path": "a.py"}),
        ("i", "run_command", {"command": "false"}),
        messages=[output("b", "Error: old does not occur in calc.py.")],
    )
    last = line(
        messages=[
            output("h", "Error: " + "x" * 400),
            output("i", "Error: no such tool"),
            output("zz", "Error: whose?"),
        ]
    )
    found = failed_edits(exchange for text in (*STORY, again, last) if (exchange := exchange_of(text)))
    assert found == ["old does not occur in calc.py.", "x" * 159 + "…"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "id", "function", "name", "arguments"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KEYS = ["at", "messages", "reply", "usage", "cost_usd", "trouble", "model", "tool_calls"]


@given(
    st.dictionaries(
        st.sampled_from(KEYS), JSON | st.fixed_dictionaries({"tool_calls": JSON, "content": JSON})
    )
)
def test_whatever_a_line_holds_is_drawn_or_left_out(data: dict[str, Any]) -> None:
    drawn(json.dumps(data))
    failed_edits(exchange for exchange in [exchange_of(json.dumps(data))] if exchange is not None)


def test_the_result_of_a_discipline_is_read_line_by_line() -> None:
    found = drawn(line(("a", "give_result", {"status": "fail", "runner_output": "CRITICAL: a\nWARNING: b"})))
    assert found.splitlines()[1:] == [
        "  give_result",
        "    status: fail",
        "    runner_output: CRITICAL: a",
        "    WARNING: b",
    ]
