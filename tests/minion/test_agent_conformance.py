"""Every agent, from brief to report: a program that plays it is started by the real Minion, over a session API of the test's own.

Whatever an agent does, its session ends with a report, its work is saved, and nothing of it goes on.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from minion.agents.registry import AGENTS, agent_of
from minion.protocol import WITHOUT_TOOLS, EventKind, Limits, Message, Outcome, Scope
from tests.minion import agent_stand_in
from tests.minion.conftest import Program
from tests.minion.session_api import BRANCH, SessionApi, git, status
from tests.minion.stand_ins import FIX, FIXED, MakeDoor, Run, StandIn, sentinel

Begin = Callable[..., Program]

NAMES = sorted(name for name, (module, _) in AGENTS.items() if find_spec(module) is not None)


@pytest.fixture(params=NAMES)
def agent(request: pytest.FixtureRequest, make_door: MakeDoor, short_path: Path) -> StandIn:
    """Each of them, for what depends on how it says things."""
    return StandIn(request.param, short_path / "agent-bin", make_door)


@pytest.fixture(params=["claude-code", "aider"])
def either(request: pytest.FixtureRequest, make_door: MakeDoor, short_path: Path) -> StandIn:
    """One with events and one without, for what is the same for all."""
    return StandIn(request.param, short_path / "agent-bin", make_door)


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def end_of(session_api: SessionApi) -> tuple[str, str]:
    return session_api.report.outcome, session_api.report.reason


def test_those_without_tools_are_known_to_who_chooses_them() -> None:
    assert {name for name in AGENTS if not agent_of(name).capabilities.mcp} == WITHOUT_TOOLS


def test_every_agent_has_a_stand_in() -> None:
    assert agent_stand_in.PLAYERS.keys() == AGENTS.keys()


def test_work_is_saved_and_its_last_words_are_the_summary(agent: StandIn, run: Run) -> None:
    session_api = agent.door(
        [
            ("words", "I look."),
            ("action", "cat calc.py"),
            FIX,
            ("words", "Add adds now."),
            ("result", "Add adds now."),
        ]
    )
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.report.summary.endswith("Add adds now.")
    assert session_api.files() == {"calc.py": FIXED.strip(), "README.md": "Calc", ".gitignore": "*.tmp"}
    assert session_api.report.head == git(session_api.repository, "rev-parse", BRANCH)
    [started] = agent.started
    environment = started["environment"]
    assert "It subtracts." in agent.told(0)
    assert environment["HOME"] == str(session_api.root / "work" / "agent")
    assert not [
        name for name in environment if name.startswith(("MINION_", "OVERLORD_")) and name != "MINION_ID"
    ]


def test_an_agent_that_does_nothing_is_asked_once_and_is_no_success(agent: StandIn, run: Run) -> None:
    session_api = agent.door([("words", "Done!"), ("result", "Done!")])
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "no_work")
    assert len(agent.started) == 2
    assert "Nothing has changed" in agent.told(1)


def test_no_change_with_a_reason_is_taken(either: StandIn, run: Run) -> None:
    play = [sentinel("PHASE_COMPLETE", summary="It adds already."), ("result", "ok")]
    session_api = either.door(play)
    assert run(session_api) == 0
    assert (session_api.report.outcome, session_api.report.summary) == (Outcome.COMPLETE, "It adds already.")


def test_an_agent_that_fails_says_why_and_keeps_its_work(agent: StandIn, run: Run) -> None:
    session_api = agent.door([FIX, ("error", "no such model: gpt-0"), ("exit", 1)])
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "agent")
    assert f"{agent.name} failed with exit code 1" in session_api.report.summary
    assert "no such model: gpt-0" in session_api.report.summary
    assert "a + b" in session_api.files()["calc.py"]


def test_an_agent_that_is_killed_is_an_error(either: StandIn, run: Run) -> None:
    session_api = either.door([FIX, ("die",)])
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "agent")
    assert "exit code 137" in session_api.report.summary
    assert "a + b" in session_api.files()["calc.py"]


def test_silence_ends_it_with_all_it_started(either: StandIn, run: Run) -> None:
    pid = either.place / "pid"
    session_api = either.door([FIX, ("daemon", str(pid)), ("wait", True)], limits=Limits(silent_s=1))
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "agent")
    assert "Nothing was seen of" in session_api.report.summary
    assert "a + b" in session_api.files()["calc.py"]
    assert not is_running(int(pid.read_text()))


def test_what_it_leaves_running_is_ended(either: StandIn, run: Run) -> None:
    pid = either.place / "pid"
    session_api = either.door([FIX, ("daemon", str(pid)), ("result", "Done.")])
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert not is_running(int(pid.read_text()))


def test_a_flood_and_what_is_no_event_hurt_nothing(agent: StandIn, run: Run) -> None:
    session_api = agent.door(
        [
            ("flood", 30_000),
            (
                "raw",
                "{",
                '{"type": 1}',
                "[]",
                "null",
                '"x"',
                "\x00\x1b[31m",
                '{"type":"assistant","message":[]}',
            ),
            ("raw", '{"type":"result"', "[" * 100_000),
            FIX,
            sentinel("PHASE_COMPLETE", summary="Add adds."),
            ("result", "Done."),
        ]
    )
    assert run(session_api) == 0
    assert (session_api.report.outcome, session_api.report.summary) == (Outcome.COMPLETE, "Add adds.")


def test_commits_branches_and_configuration_of_its_own_change_nothing(either: StandIn, run: Run) -> None:
    """Whatever it did to history, the index and git's configuration, what is handed in is what the working tree holds."""
    commands = (
        "git config core.hooksPath /tmp; git config user.name Mallory; git config user.email m@example.invalid; "
        "git config core.autocrlf true; git config --global alias.add '!false'; "
        "git checkout -q -b mine; git commit -qam 'as Mallory'; git rm -q --cached README.md; "
        "printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; "
        "git remote set-url origin /nowhere; git tag v1"
    )
    session_api = either.door([FIX, ("shell", commands), ("result", "Done.")])
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.files() == {"calc.py": FIXED.strip(), "README.md": "Calc", ".gitignore": "*.tmp"}
    log = git(session_api.repository, "log", "--format=%an", f"main..{BRANCH}")
    assert log == "Overlord Minion"


def test_a_change_outside_the_scope_is_named_once(agent: StandIn, run: Run) -> None:
    session_api = agent.door(
        [FIX, ("write", "README.md", "More\n"), ("result", "Done.")],
        [("write", "README.md", "Calc\n"), ("result", "Undone.")],
        scope=Scope(patterns=("calc.py",)),
    )
    assert run(session_api) == 0
    assert "outside your scope" in agent.told(1)
    assert "README.md" in agent.told(1)
    assert session_api.report.outcome is Outcome.COMPLETE
    assert session_api.files()["README.md"] == "Calc"


@pytest.mark.parametrize("kind", ["NEEDS_ESCALATION", "EXCEPTION"])
def test_a_sentinel_line_hands_the_work_up(either: StandIn, run: Run, kind: str) -> None:
    session_api = either.door([FIX, sentinel(kind, reason="The tests need a database."), ("result", "")])
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.BLOCKED
    assert session_api.report.summary == "The tests need a database."
    assert "a + b" in session_api.files()["calc.py"]


def test_a_completion_brings_replies_and_learnings(agent: StandIn, run: Run) -> None:
    more = {
        "summary": "Add adds.",
        "replies": ["1: fixed"],
        "learnings": ["no tests"],
        "follow_ups": ["test"],
    }
    session_api = agent.door([FIX, sentinel("PHASE_COMPLETE", **more), ("result", "ok")])
    assert run(session_api) == 0
    report = session_api.report
    assert (report.summary, report.replies) == ("Add adds.", ("1: fixed",))
    assert (report.learnings, report.follow_ups) == (("no tests",), ("test",))


def test_a_question_reaches_people_and_the_answer_comes_back(agent: StandIn, run: Run) -> None:
    session_api = agent.door(
        [sentinel("QUESTION", question="Which one?", options=["a", "b"]), ("result", "I wait.")],
        [FIX, sentinel("PHASE_COMPLETE", summary="Did a."), ("result", "ok")],
    )
    session_api.answers = [lambda handler: handler.answer(200, b'{"answered": true, "answer": "Take a."}')]
    assert run(session_api) == 0
    [asked] = [event for event in session_api.events if event.kind is EventKind.QUESTION]
    assert (asked.text, asked.options, asked.question_kind) == ("Which one?", ("a", "b"), "question")
    assert "Take a." in agent.told(1)
    assert session_api.report.summary == "Did a."
    if "It subtracts." in agent.told(1):  # it cannot be resumed, so it is told everything again
        assert "Which one?" in agent.told(1)


def test_a_granted_scope_counts(either: StandIn, run: Run) -> None:
    session_api = either.door(
        [sentinel("QUESTION", question="May I?", kind="scope", patterns=["README.md"]), ("result", "")],
        [FIX, ("write", "README.md", "Calc adds.\n"), ("result", "Done.")],
        scope=Scope(patterns=("calc.py",)),
    )
    granted = b'{"answered": true, "answer": "yes", "scope": {"mode": "directory", "patterns": ["*.md", "calc.py"]}}'
    session_api.answers = [lambda handler: handler.answer(200, granted)]
    assert run(session_api) == 0
    assert "You may now write: *.md, calc.py" in either.told(1)
    assert session_api.files()["README.md"] == "Calc adds."
    assert len(either.started) == 2


def test_what_people_write_is_given_before_it_ends(either: StandIn, run: Run) -> None:
    session_api = either.door([FIX, ("result", "Done.")], [("result", "Read it.")])
    said = Message(id=7, text="Mind the tests.", by="github:anna", at="2026-11-25 14:02 UTC")
    session_api.messages = [(0, said)]
    assert run(session_api) == 0
    assert "Mind the tests." in either.told(1)
    assert [number for _, number in session_api.taken] == [7]


def test_a_spent_budget_is_told_from_any_other_failure(agent: StandIn, run: Run) -> None:
    session_api = agent.door([FIX, ("model",), ("result", "API error 402", True), ("exit", 1)])
    session_api.will(status(402, "budget_exhausted"))
    assert run(session_api) == 4
    assert session_api.report.outcome is Outcome.OUT_OF_BUDGET
    assert "a + b" in session_api.files()["calc.py"]


def test_a_model_that_refuses_is_the_models_failure(either: StandIn, run: Run) -> None:
    session_api = either.door([FIX, ("model",), ("result", "API error 400", True), ("exit", 1)])
    session_api.will(status(400, "bad_request"))
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "model")


def test_the_time_limit_ends_it(either: StandIn, run: Run) -> None:
    session_api = either.door([FIX, ("wait", False)], limits=Limits(time_s=2))
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "time_limit")
    assert "a + b" in session_api.files()["calc.py"]


def test_turns_end_it(agent: StandIn, run: Run) -> None:
    turn = [("model",)] if agent.name == "aider" else [("words", "I look."), ("action", "ls")]
    session_api = agent.door([FIX, *turn * 5, ("wait", False)], limits=Limits(turns=3))
    session_api.will(status(200))
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "turn_limit")
    assert session_api.report.turns == 3
    assert "a + b" in session_api.files()["calc.py"]


def test_a_missing_program_is_said(either: StandIn, run: Run) -> None:
    session_api = either.door([])
    os.unlink(session_api.brief.agent.command[0])
    assert run(session_api) == 3
    assert end_of(session_api) == (Outcome.ERROR, "agent")
    assert f"The agent {either.name} is missing" in session_api.report.summary
