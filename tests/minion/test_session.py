"""A work session from brief to report, the program run for real: every ending, and every thing a model gets wrong."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from minion.protocol import Answer, EventKind, Finding, Limits, Outcome, Scope, SkillText
from tests.minion.conftest import Program
from tests.minion.door import BRANCH, Door, call, cut, done, git, message, status

MakeDoor = Callable[..., Door]
Run = Callable[..., int]
Begin = Callable[..., Program]

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "README.md": "Calc\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")


class Held:
    """A reply the test lets go of when it wants to; the connection may be gone by then."""

    def __init__(self, reply: bytes = b"") -> None:
        self.reached = threading.Event()
        self.released = threading.Event()
        self._reply = reply

    def __call__(self, handler: Any) -> None:
        self.reached.set()
        assert self.released.wait(30)
        if self._reply:
            handler.answer(200, self._reply)


def test_an_edit_is_pushed_and_reported(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(
        call("read_file", path="calc.py"),
        EDIT,
        call("run_command", command="python -c 'import calc; print(calc.add(1, 2))'"),
        call("task_complete", summary="Add adds.", learnings=["no tests"], follow_ups=["write tests"]),
    )
    assert run(door) == 0
    assert door.report.outcome is Outcome.COMPLETE
    assert door.report.summary == "Add adds."
    assert (door.report.learnings, door.report.follow_ups) == (("no tests",), ("write tests",))
    assert door.report.turns == 4
    assert door.report.head == git(door.repository, "rev-parse", BRANCH)
    assert door.files()["calc.py"] == "def add(a, b):\n    return a + b"
    assert door.tool_results(1) == ["     1\tdef add(a, b):\n     2\t    return a - b"]
    assert door.tool_results(3) == ["3\n[exit code 0]"]


def test_progress_is_told_beside_the_work(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(EDIT, done())
    run(door)
    told = [(event.kind, event.turn, event.text) for event in door.events]
    assert told == [
        (EventKind.PROGRESS, 1, "edit_file calc.py"),
        (EventKind.PROGRESS, 2, "task_complete done"),
    ]


def test_blocked_keeps_the_work_so_far(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(EDIT, call("task_blocked", reason="The specification contradicts itself."))
    assert run(door) == 0
    assert door.report.outcome is Outcome.BLOCKED
    assert door.report.summary == "The specification contradicts itself."
    assert "a + b" in door.files()["calc.py"]


def test_the_turn_limit_ends_the_session_with_its_work_pushed(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES, limits=Limits(turns=6))
    door.will(EDIT, call("list_directory"))
    assert run(door) == 3
    assert (door.report.outcome, door.report.reason, door.report.turns) == (Outcome.ERROR, "turn_limit", 6)
    assert "a + b" in door.files()["calc.py"]
    assert "5 turns left" in door.tool_results(1)[-1]


def test_three_turns_of_failing_calls_end_the_session(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(call("read_file", path="missing.py"))
    assert run(door) == 3
    assert (door.report.reason, door.report.turns) == ("tool_errors", 3)


def test_a_call_that_works_starts_the_count_of_errors_again(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    wrong = call("read_file", path="missing.py")
    door.will(wrong, wrong, EDIT, wrong, wrong, done())
    assert run(door) == 0


def test_the_time_limit_interrupts_even_a_model_that_never_answers(make_door: MakeDoor, run: Run) -> None:
    held = Held()
    door = make_door(FILES, limits=Limits(time_s=2))
    door.will(EDIT, held)
    assert run(door) == 3
    held.released.set()
    assert door.report.reason == "time_limit"
    assert "a + b" in door.files()["calc.py"]


def test_the_time_limit_kills_a_command(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES, limits=Limits(time_s=2))
    door.will(call("run_command", command="echo half > new.txt; sleep 600"))
    assert run(door) == 3
    assert door.report.reason == "time_limit"
    assert door.files()["new.txt"] == "half"


def test_term_pushes_and_reports(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    door = make_door(FILES)
    door.will(EDIT, held)
    program = start(door)
    assert held.reached.wait(30)
    program.terminate()
    assert program.wait() == 3
    held.released.set()
    assert (door.report.outcome, door.report.reason) == (Outcome.ERROR, "terminated")
    assert "a + b" in door.files()["calc.py"]


def test_a_spent_budget_pushes_and_reports(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(EDIT, status(402, "budget_exhausted"))
    assert run(door) == 4
    assert door.report.outcome is Outcome.OUT_OF_BUDGET
    assert "a + b" in door.files()["calc.py"]


def test_a_refused_model_call_is_the_models_error(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(status(403, "unknown_model", "no such model"))
    assert run(door) == 3
    assert door.report.reason == "model"
    assert "no such model" in door.report.summary


def test_a_model_that_stays_away_is_reported_while_the_door_is_there(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(EDIT, status(502, "model_unavailable", "no endpoint replied"))
    assert run(door, MINION_PATIENCE_S="0") == 3
    assert (door.report.reason, door.report.summary) == (
        "model",
        "no endpoint replied (502 model_unavailable)",
    )
    assert "a + b" in door.files()["calc.py"]


def test_a_conversation_the_model_finds_too_long_is_shortened_and_sent_again(
    make_door: MakeDoor, run: Run
) -> None:
    door = make_door({**FILES, "long.txt": "0123456789\n" * 2_000}, limits=Limits(context_tokens=20_000))
    sizes: list[int] = []

    def too_long_once(handler: Any) -> None:
        sizes.append(len(door.raw_requests[-1]))
        if len(sizes) == 1:
            handler.refuse(
                400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."
            )
        else:
            handler.answer(200, EDIT)

    door.will(call("read_file", path="long.txt"), too_long_once, done())
    assert run(door) == 0
    assert sizes[1] < sizes[0] / 2


def test_work_in_progress_is_pushed_every_ten_turns(make_door: MakeDoor, start: Begin) -> None:
    held = Held(done())
    door = make_door(FILES)
    door.will(EDIT, *[call("list_directory")] * 10, held)
    program = start(door)
    assert held.reached.wait(30)
    door.wait_for(lambda: any(path.endswith("git-receive-pack") and "?" not in path for path in door.paths))
    held.released.set()
    assert program.wait() == 0
    assert git(door.repository, "log", "--format=%s", f"main..{BRANCH}") == "Work in progress, turn 10"


def test_a_door_that_vanishes_for_a_while_is_waited_out(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    door = make_door(FILES)
    door.will(EDIT, held, done())
    program = start(door)
    assert held.reached.wait(30)
    door.vanish()
    held.released.set()
    door.script[1] = call("list_directory")
    door.open()
    assert program.wait() == 0
    assert door.report.turns == 3


def test_a_door_that_stays_away_ends_the_session(make_door: MakeDoor, start: Begin) -> None:
    held = Held()
    door = make_door(FILES)
    door.will(held)
    program = start(door, MINION_PATIENCE_S="0")
    assert held.reached.wait(30)
    door.vanish()
    held.released.set()
    assert program.wait() == 5


@pytest.mark.parametrize(
    "trouble", [cut, status(503), status(500), status(429)], ids=["cut", "503", "500", "429"]
)
def test_a_completion_that_breaks_is_asked_for_again(make_door: MakeDoor, run: Run, trouble: Any) -> None:
    door = make_door(FILES)
    times: list[int] = []

    def once(handler: Any) -> None:
        times.append(1)
        if len(times) == 1:
            trouble(handler)
        else:
            handler.answer(200, EDIT)

    door.will(once, done())
    assert run(door) == 0
    assert door.raw_requests[0] == door.raw_requests[1]


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
    door = make_door(FILES)
    door.will(reply, reply, EDIT, done())
    assert run(door) == 0
    said = door.requests[-1]["messages"]
    assert [item["role"] for item in said] == [
        "system", "user", "assistant", "user", "assistant", "user", "assistant", "tool",
    ]  # fmt: skip
    assert nudge in said[3]["content"]
    assert all(item["content"] for item in said if item["role"] == "assistant" and "tool_calls" not in item)


def test_three_replies_without_a_call_end_the_session(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(message("Hmm."))
    assert run(door) == 3
    assert (door.report.outcome, door.report.reason, door.report.turns) == (Outcome.ERROR, "model", 3)


@pytest.mark.parametrize(
    "garbage", [b"<html>Bad gateway</html>", b"{}", b"null", b'{"choices":[]}', b"\xff\xfe"]
)
def test_garbage_is_asked_for_again_and_then_given_up(make_door: MakeDoor, run: Run, garbage: bytes) -> None:
    door = make_door(FILES)
    door.will(garbage)
    assert run(door) == 3
    assert door.report.reason == "model"
    assert len(door.requests) == 3


def test_bad_calls_are_answered_each_with_what_is_wrong(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(
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
    assert run(door) == 0
    results = door.tool_results(1)
    assert "not JSON" in results[0]
    assert "There is no tool delete_everything. Known: read_file" in results[1]
    assert "no argument file; it takes path, start_line, end_line" in results[2]
    assert "not a JSON object" in results[3]
    assert "path must be a string, not a number" in results[4]
    assert "calc.py" in results[5]
    [asked] = [item for item in door.requests[1]["messages"] if item["role"] == "assistant"]
    assert asked["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_call_cut_off_at_the_output_limit_is_told_so(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(message(None, ("write_file", '{"path": "a.py", "content": "x'), finish="length"), EDIT, done())
    assert run(door) == 0
    assert "cut off at the model's output limit" in door.tool_results(1)[0]


def test_completion_is_not_taken_beside_a_call_that_failed(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    wrong = ("edit_file", {"path": "calc.py", "old": "nowhere", "new": ""})
    door.will(message(None, wrong, ("task_complete", {"summary": "done"})), EDIT, done())
    assert run(door) == 0
    assert "not taken" in door.tool_results(1)[1]
    assert door.report.turns == 3


def test_completion_without_a_change_is_questioned_once(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(done())
    assert run(door) == 0
    assert "No file of the repository has changed" in door.tool_results(1)[0]
    assert (door.report.outcome, door.report.head, door.report.turns) == (Outcome.COMPLETE, None, 2)


def test_a_command_that_went_around_the_scope_is_pointed_out_once(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES, scope=Scope(patterns=("calc.py",)))
    door.will(EDIT, call("run_command", command="echo more >> README.md"), done(), done())
    assert run(door) == 0
    assert "outside your scope and the work will be sent back for them: README.md" in door.tool_results(3)[0]
    assert door.report.outcome is Outcome.COMPLETE


def test_a_write_outside_the_scope_is_refused_and_a_grant_opens_it_at_once(
    make_door: MakeDoor, run: Run
) -> None:
    door = make_door(FILES, scope=Scope(patterns=("calc.py",)))
    write = call("write_file", path="README.md", content="Calc adds.\n")
    ask = call("ask_question", question="May I?", kind="scope", patterns=["README.md"])
    door.will(write, ask, write, done())
    granted = b'{"answered": true, "answer": "yes", "scope": {"mode": "directory", "patterns": ["*.md", "calc.py"]}}'
    door.answers = [lambda handler: handler.answer(204), lambda handler: handler.answer(200, granted)]
    assert run(door) == 0
    assert 'ask_question(kind="scope", patterns=["README.md"]' in door.tool_results(1)[0]
    [asked] = [event for event in door.events if event.kind is EventKind.QUESTION]
    assert (asked.question_kind, asked.patterns, asked.text) == ("scope", ("README.md",), "May I?")
    assert "You may now write: *.md, calc.py" in door.tool_results(2)[0]
    assert door.files()["README.md"] == "Calc adds."


def test_a_question_nobody_answers_lets_the_session_go_on(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES, limits=Limits(questions=1))
    ask = call("ask_question", question="Which one?", options=["a", "b"])
    door.will(ask, EDIT, ask, done())
    door.answers = [status(410, "expired")]
    assert run(door) == 0
    assert "Nobody answered in time" in door.tool_results(1)[0]
    assert "has asked its 1 questions" in door.tool_results(3)[0]


def test_a_scope_that_does_not_parse_stops_the_session(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    assert run(door, MINION_SCOPE="src/**") == 2
    assert (door.report.outcome, door.report.reason) == (Outcome.ERROR, "scope")
    assert "MINION_SCOPE is not JSON" in door.report.summary
    assert not door.requests


def test_a_missing_scope_stops_the_session(make_door: MakeDoor, start: Begin, run: Run) -> None:
    door = make_door(FILES)
    assert run(door, MINION_SCOPE="[]") == 2
    assert "nothing could be written" in door.report.summary


@pytest.mark.parametrize("wrong", [{"OVERLORD_URL": "http://127.0.0.1:1"}, {"MINION_PATIENCE_S": "long"}])
def test_an_environment_without_a_door_is_refused(
    make_door: MakeDoor, run: Run, wrong: dict[str, str]
) -> None:
    assert run(make_door(FILES), **wrong) == 6


def test_a_repository_that_cannot_be_cloned_is_reported(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.brief = replace(door.brief, head_sha="1" * 40)
    door.will(EDIT)
    assert run(door) == 3
    assert door.report.reason == "internal"
    assert "git checkout" in door.report.summary


def test_a_reply_that_breaks_a_tool_apart_is_reported_as_internal(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(EDIT, call("ask_question", question="?"))
    door.answers = [lambda handler: handler.answer(200, b"not json")]
    assert run(door) == 3
    assert door.report.reason == "internal"
    assert any(event.kind is EventKind.LOG and "Traceback" in event.text for event in door.events)


def test_a_revision_is_told_its_findings_and_answers(make_door: MakeDoor, run: Run) -> None:
    door = make_door(
        FILES,
        change={"calc.py": "def add(a, b):\n    return b + a\n"},
        findings=(Finding(check="review", rule="r-1", message="mind the order", file="calc.py", line=2),),
        answers=(Answer(question="Which order?", answer="a first"),),
        guidance="Use tabs.",
        knowledge="CI is slow.",
        skills=(SkillText(name="order", description="how to order", instructions="a, then b"),),
    )
    door.will(
        message(None, ("list_skills", {}), ("use_skill", {"name": "order"}), ("use_skill", {"name": "none"})),
        call("edit_file", path="calc.py", old="b + a", new="a + b"),
        done(),
    )
    assert run(door) == 0
    system, mission = (item["content"] for item in door.requests[0]["messages"][:2])
    assert "review r-1 · calc.py:2 · mind the order" in system
    assert all(
        text in mission for text in ("Which order?", "a first", "Use tabs.", "CI is slow.", "how to order")
    )
    assert door.tool_results(1)[1] == "a, then b"
    assert "There is no skill 'none'. Known: order." in door.tool_results(1)[2]
    assert git(door.repository, "log", "--format=%s", f"main..{BRANCH}") == "done\nchange"


def test_a_request_repeats_the_one_before_it_byte_for_byte(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    door.will(call("read_file", path="calc.py"), EDIT, call("list_directory"), done())
    assert run(door) == 0
    for earlier, later in zip(door.raw_requests, door.raw_requests[1:], strict=False):
        assert later.startswith(earlier.removesuffix(b"]}"))


def test_a_commit_a_command_made_or_unmade_does_not_disturb_the_push(make_door: MakeDoor, run: Run) -> None:
    door = make_door(FILES)
    rewrite = "git checkout -q -b other && git commit -qam mine && git commit -q --amend -m again && git reset -q --hard HEAD~1"
    door.will(EDIT, *[call("list_directory")] * 10, call("run_command", command=rewrite), EDIT, done())
    assert run(door) == 0
    assert "a + b" in door.files()["calc.py"]


def test_commands_reach_the_model_by_loopback_and_carry_nothing_of_ours(
    make_door: MakeDoor, run: Run
) -> None:
    door = make_door(FILES)
    ask = (
        "import os, urllib.request as u\nprint(sorted(os.environ))\n"
        "print(u.urlopen(os.environ['OPENAI_BASE_URL'] + '/chat/completions', b'{\"messages\": []}').read())\n"
    )
    door.will(
        call("write_file", path="ask.py", content=ask), call("run_command", command="python ask.py"), done()
    )
    assert run(door, OPENAI_API_KEY="canary", GITHUB_TOKEN="canary") == 0
    [printed] = door.tool_results(2)
    assert "write_file" in printed
    assert "OPENAI_API_KEY" in printed
    assert not any(
        name in printed for name in ("OVERLORD_URL", "MINION_SCOPE", "GITHUB_TOKEN", "MINION_WORK")
    )
