"""A discipline worked by other agents: what they may do, and the result they give by our tool or as their last words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minion.agents.configuration.call_gate import refusal, to_json
from minion.agents.permissions import permissions_of
from minion.agents.session_tools.server import ToolsServer
from minion.protocol import Message, Outcome, Scope, ScopeMode
from minion.tools.registry import tools_of
from tests.minion.conftest import make_session
from tests.minion.disciplines import discipline
from tests.minion.session_api import BRANCH, SessionApi, git, make_brief
from tests.minion.stand_ins import FILES, FIX, FIXED, StandIn

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]

ONE_FILE = Scope(mode=ScopeMode.EXPLICIT, patterns=("docs/spec.md",))


@pytest.fixture(params=["claude-code", "codex", "opencode", "aider", "cursor"])
def agent(request: pytest.FixtureRequest, make_door: MakeDoor, short_path: Path) -> StandIn:
    return StandIn(request.param, short_path / "agent-bin", make_door)


@pytest.fixture
def opencode(make_door: MakeDoor, short_path: Path) -> StandIn:
    """The one whose stand-in calls tools."""
    return StandIn("opencode", short_path / "agent-bin", make_door)


def said(**more: Any) -> str:
    return json.dumps({"status": "pass", "phase": "review", "message": "clean", **more})


def answer_of(session_api: SessionApi) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(session_api.report.answer)
    return answer


def branches(session_api: SessionApi) -> str:
    return git(session_api.repository, "branch", "--list", BRANCH)


def test_its_last_words_are_a_result_and_a_reader_pushes_nothing(agent: StandIn, run: Run) -> None:
    session_api = agent.door(
        [FIX, ("words", said(verified=True)), ("result", said())], discipline=discipline("review")
    )
    assert run(session_api) == 0
    assert session_api.report.outcome is Outcome.COMPLETE
    assert answer_of(session_api) == {
        "status": "pass",
        "phase": "review",
        "skill": "review",
        "file_path": "",
        "runner_output": "",
        "verified": False,
        "message": "clean",
    }
    assert session_api.report.head is None
    assert branches(session_api) == ""
    told = agent.told(0)
    assert "project_root: /home/ada/calc" in told
    assert "It subtracts." not in told
    if agent.name != "cursor":  # it reads its rules from the working copy
        assert "You work by laws." in told


def test_what_a_writer_wrote_comes_with_its_last_words(agent: StandIn, run: Run) -> None:
    text = f"I am done.\n```json\n{said(phase='green', file_path='calc.py')}\n```"
    session_api = agent.door([FIX, ("words", text), ("result", text)], discipline=discipline("tdd_green"))
    assert run(session_api) == 0
    assert session_api.files()["calc.py"] == FIXED.strip()
    assert session_api.report.head == git(session_api.repository, "rev-parse", BRANCH)
    assert answer_of(session_api)["file_path"] == "calc.py"


def test_without_a_result_it_is_asked_once_and_then_given_up(agent: StandIn, run: Run) -> None:
    words = [("words", "It looks fine."), ("result", "It looks fine.")]
    session_api = agent.door(words, words, discipline=discipline("review"))
    assert run(session_api) == 3
    assert len(agent.started) == 2
    assert "You ended without a result." in agent.told(1)
    assert session_api.report.reason == "no_work"
    assert session_api.report.summary == "The worker returned no result. It said last: It looks fine."


def test_another_phase_in_its_last_words_is_told_the_right_one(agent: StandIn, run: Run) -> None:
    wrong, right = said(phase="red"), said()
    session_api = agent.door(
        [("words", wrong), ("result", wrong)],
        [("words", right), ("result", right)],
        discipline=discipline("review"),
    )
    assert run(session_api) == 0
    assert "phase is 'review' in this session, not 'red'" in agent.told(1)
    assert answer_of(session_api)["phase"] == "review"


def test_what_a_person_wrote_is_read_before_the_last_words_count(agent: StandIn, run: Run) -> None:
    words = [("words", said()), ("result", said())]
    session_api = agent.door(words, words, discipline=discipline("review"))
    session_api.messages.append((0, Message(id=1, text="Look at README.md, too.", by="alice", at="now")))
    assert run(session_api) == 0
    assert "Look at README.md, too." in agent.told(1)


def test_a_result_by_our_tool_ends_the_session(opencode: StandIn, run: Run) -> None:
    given = {"status": "fail", "message": "It subtracts.", "runner_output": [{"line": 2}]}
    session_api = opencode.door(
        [("tool", "give_result", {**given, "phase": "red"}), ("tool", "give_result", given)],
        discipline=discipline("review"),
    )
    assert run(session_api) == 0
    first, second = (opencode.place / "told.txt").read_text().splitlines()
    assert "phase is 'review' in this session, not 'red'" in first
    assert "Taken: the session ends here." in second
    assert answer_of(session_api)["runner_output"] == '[{"line": 2}]'


def test_an_agent_is_served_the_result_and_nothing_else(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES, discipline=discipline("tdd_red"))
    server = ToolsServer(session)
    try:
        assert tuple(server.start().tools) == ("give_result",)
    finally:
        server.close()


@pytest.mark.parametrize(
    ("name", "is_reader", "writable", "commands"),
    [
        ("review", True, (), None),
        ("debug", True, (), None),
        ("retrospective", True, (), ()),
        ("spec", False, ("docs/spec.md",), ()),
        ("tdd_red", False, ("docs/spec.md",), None),
    ],
)
def test_permissions_follow_the_tools(
    name: str, is_reader: bool, writable: tuple[str, ...], commands: tuple[str, ...] | None
) -> None:
    found = permissions_of(make_brief(discipline=discipline(name)), ONE_FILE)
    assert (found.is_reader, tuple(found.writable), found.commands) == (is_reader, writable, commands)
    assert found.can_ask is False
    assert ("write_file" in tools_of(make_brief(discipline=discipline(name)))) is not is_reader


def test_an_agent_that_may_not_write_a_file_is_not_told_to_ask() -> None:
    found = permissions_of(make_brief(discipline=discipline("spec")), ONE_FILE)
    patch = "*** Begin Patch\n*** Update File: calc.py\n*** End Patch"
    why = refusal(json.loads(to_json(found)), {"tool_name": "apply_patch", "tool_input": {"input": patch}})
    assert why.endswith("may write: docs/spec.md. Nothing was written. Work inside it.")
