"""Everything a model gets wrong, answered in a session that is run for real."""

from collections.abc import Callable
from typing import Any

import pytest

from minion.protocol import Limits, Outcome, SkillText
from tests.minion.conftest import Program
from tests.minion.session_api import BRANCH, SessionApi, call, cut, done, git, message, status

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Begin = Callable[..., Program]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "Calc\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")


def test_three_turns_of_failing_calls_end_the_session(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(call("read_file", path="missing.py"))
    assert run(session_api) == 3
    assert (session_api.report.reason, session_api.report.turns) == ("tool_errors", 3)


def test_a_call_that_works_starts_the_count_of_errors_again(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    wrong = call("read_file", path="missing.py")
    session_api.will(wrong, wrong, EDIT, wrong, wrong, done())
    assert run(session_api) == 0


def test_a_refused_model_call_is_the_models_error(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(status(403, "unknown_model", "no such model"))
    assert run(session_api) == 3
    assert session_api.report.reason == "model"
    assert "no such model" in session_api.report.summary


def test_a_model_that_stays_away_is_reported_while_the_door_is_there(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(EDIT, status(502, "model_unavailable", "no endpoint replied"))
    assert run(session_api, MINION_PATIENCE_S="0") == 3
    assert (session_api.report.reason, session_api.report.summary) == (
        "model",
        "no endpoint replied (502 model_unavailable)",
    )
    assert "a + b" in session_api.files()["calc.py"]


def test_a_conversation_the_model_finds_too_long_is_shortened_and_sent_again(
    make_door: MakeDoor, run: Run
) -> None:
    session_api = make_door(
        {**FILES, "long.txt": "0123456789\n" * 2_000}, limits=Limits(context_tokens=20_000)
    )
    sizes: list[int] = []

    def too_long_once(handler: Any) -> None:
        sizes.append(len(session_api.raw_requests[-1]))
        if len(sizes) == 1:
            handler.refuse(
                400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."
            )
        else:
            handler.answer(200, EDIT)

    session_api.will(call("read_file", path="long.txt"), too_long_once, done())
    assert run(session_api) == 0
    assert sizes[1] < sizes[0] / 2


@pytest.mark.parametrize(
    "trouble", [cut, status(503), status(500), status(429)], ids=["cut", "503", "500", "429"]
)
def test_a_completion_that_breaks_is_asked_for_again(make_door: MakeDoor, run: Run, trouble: Any) -> None:
    session_api = make_door(FILES)
    times: list[int] = []

    def once(handler: Any) -> None:
        times.append(1)
        if len(times) == 1:
            trouble(handler)
        else:
            handler.answer(200, EDIT)

    session_api.will(once, done())
    assert run(session_api) == 0
    assert session_api.raw_requests[0] == session_api.raw_requests[1]


@pytest.mark.parametrize(
    ("reply", "nudge"),
    [
        (message("I think the fix is easy."), "You called no tool"),
        (message(None), "empty"),
        (message("half a", finish="length"), "cut off"),
        (message(None, finish="content_filter"), "declined"),
        (message(None, refusal="I can't help with that."), "declined"),
    ],
)
def test_a_reply_without_a_call_is_answered(make_door: MakeDoor, run: Run, reply: bytes, nudge: str) -> None:
    session_api = make_door(FILES)
    session_api.will(reply, reply, EDIT, done())
    assert run(session_api) == 0
    said = session_api.requests[-1]["messages"]
    assert [item["role"] for item in said] == [
        "system", "user", "assistant", "user", "assistant", "user", "assistant", "tool",
    ]  # fmt: skip
    assert nudge in said[3]["content"]
    assert all(item["content"] for item in said if item["role"] == "assistant" and "tool_calls" not in item)


def test_three_replies_without_a_call_end_the_session(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(message("Hmm."))
    assert run(session_api) == 3
    assert (session_api.report.outcome, session_api.report.reason, session_api.report.turns) == (
        Outcome.ERROR,
        "model",
        3,
    )


@pytest.mark.parametrize(
    "garbage", [b"<html>Bad gateway</html>", b"{}", b"null", b'{"choices":[]}', b"\xff\xfe"]
)
def test_garbage_is_asked_for_again_and_then_given_up(make_door: MakeDoor, run: Run, garbage: bytes) -> None:
    session_api = make_door(FILES)
    session_api.will(garbage)
    assert run(session_api) == 3
    assert session_api.report.reason == "model"
    assert len(session_api.requests) == 3


def test_bad_calls_are_answered_each_with_what_is_wrong(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(
        message(
            None,
            ("read_file", '{"path": "calc.py'),
            ("delete_everything", {}),
            ("read_file", {"file": "calc.py"}),
            ("read_file", "[1]"),
            ("read_file", {"path": 7}),
            ("list_directory", ""),
        ),
        EDIT,
        done(),
    )
    assert run(session_api) == 0
    results = session_api.tool_results(1)
    assert "not JSON" in results[0]
    assert "There is no tool delete_everything. Known: read_file" in results[1]
    assert "no argument file; it takes path, start_line, end_line" in results[2]
    assert "not a JSON object" in results[3]
    assert "path must be a string, not a number" in results[4]
    assert "calc.py" in results[5]
    [asked] = [item for item in session_api.requests[1]["messages"] if item["role"] == "assistant"]
    assert asked["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_call_cut_off_at_the_output_limit_is_told_so(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(
        message(None, ("write_file", '{"path": "a.py", "content": "x'), finish="length"), EDIT, done()
    )
    assert run(session_api) == 0
    assert "cut off at the model's output limit" in session_api.tool_results(1)[0]


def test_completion_is_not_taken_beside_a_call_that_failed(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    wrong = ("edit_file", {"path": "calc.py", "old": "nowhere", "new": ""})
    session_api.will(message(None, wrong, ("task_complete", {"summary": "done"})), EDIT, done())
    assert run(session_api) == 0
    assert "not taken" in session_api.tool_results(1)[1]
    assert session_api.report.turns == 3


def test_a_tools_long_answer_is_bounded(make_door: MakeDoor, run: Run) -> None:
    skill = SkillText(name="long", description="", instructions="i" * 50_000)
    session_api = make_door(FILES, skills=(skill,), limits=Limits(output_chars=2_000))
    session_api.will(call("use_skill", name="long"), EDIT, done())
    assert run(session_api) == 0
    assert len(session_api.tool_results(1)[0]) < 2_100
    assert "48,000 characters left out here" in session_api.tool_results(1)[0]


def test_a_request_repeats_the_one_before_it_byte_for_byte(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES)
    session_api.will(call("read_file", path="calc.py"), EDIT, call("list_directory"), done())
    assert run(session_api) == 0
    for earlier, later in zip(session_api.raw_requests, session_api.raw_requests[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]}"))


@pytest.mark.parametrize("odd", ["\0", "\x1b"])
def test_odd_characters_in_any_argument_end_no_session(make_door: MakeDoor, run: Run, odd: str) -> None:
    session_api = make_door(FILES)
    look = call("read_file", path="calc.py")
    calls = [
        call("run_command", command=f"echo 'a{odd}b'"),
        call("write_file", path="odd.txt", content=f"a{odd}b"),
        call("write_file", path=f"a{odd}b.txt", content="odd"),
        call("read_file", path=f"a{odd}b"),
        call("search_files", pattern=f"a{odd}b"),
        call("search_files", pattern="a", glob=f"*{odd}"),
        call("glob_files", pattern=f"a{odd}b*"),
    ]
    session_api.will(EDIT, *(reply for odd_one in calls for reply in (odd_one, look)), done(f"done{odd}"))
    assert run(session_api) == 0
    assert "a + b" in git(session_api.repository, "show", f"{BRANCH}:calc.py")
