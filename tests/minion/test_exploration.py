"""Explorations: a question about the repository that a conversation of its own answers, which only reads."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from minion.errors import ToolError
from minion.native.exploration import MOST_SUMMARY_CHARS, MOST_TURNS, model_of
from minion.native.model import ToolCall
from minion.portfolio import PortfolioBrief, PortfolioTool
from minion.protocol import (
    AgentChoice,
    Consultation,
    ConsultationKind,
    EventKind,
    Limits,
    Outcome,
    Terms,
)
from minion.session_api import SessionApi as WireDoor
from minion.tools.explore import MOST_EXPLORATIONS, READS, reading_tools
from minion.tools.registry import perform, tools_of
from tests.minion.conftest import Program, make_session
from tests.minion.session_api import Held, SessionApi, Wire, call, done, make_brief, message, opened, status
from tests.minion.test_tools_server import Client, serving

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
Asked = Callable[..., tuple[SessionApi, Client, Any]]

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "long.py": "".join(f"x{number} = {number}\n" for number in range(1, 100)),
}
PORTFOLIO = PortfolioBrief(briefing="Go.", initiative="i3", tools=(PortfolioTool.EXPLORE,))
WHAT = "What does add do?"
EXPLORE = call("explore", question=WHAT, paths=["calc.py"])
READ = call("read_file", path="calc.py")
ANSWER = message("It subtracts (calc.py:2).")


def told(session_api: SessionApi, turn: int = 1) -> str:
    [text] = session_api.tool_results(turn)
    return text


def test_a_question_is_answered_with_what_was_read(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO, model="good")
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(
        message("I look.", ("read_file", {"path": "./calc.py"}), ("search_files", {"pattern": "add"})),
        call("read_file", path="long.py", start_line=10, end_line=20),
        message(
            None,
            ("read_file", {"path": "long.py", "start_line": 21, "end_line": 30}),
            ("read_file", {"path": "long.py", "start_line": 40, "end_line": 40}),
            ("read_file", {"path": "gone.py"}),
        ),
        ANSWER,
    )
    assert run(session_api) == 0
    assert told(session_api) == (
        "It subtracts (calc.py:2).\n\nFiles it read:\n- calc.py:1-2\n- long.py:10-30, 40"
    )
    assert session_api.report.turns == 2, "what an exploration takes is no turn of the session's"
    first = session_api.explorations[0]
    assert first["model"] == "good"
    assert {tool["function"]["name"] for tool in first["tools"]} == set(READS)
    rules, question = (item["content"] for item in first["messages"])
    assert "You only read" in rules
    assert (WHAT in question, "calc.py" in question) == (True, True)
    said = json.dumps(session_api.requests)
    assert "I look." not in said, "what it reads is not in the session's own conversation"
    exploring = [event for event in session_api.events if event.kind is EventKind.EXPLORING]
    assert [(event.turn, event.text) for event in exploring] == [
        (1, "explores: read_file ./calc.py; search_files add"),
        (1, "explores: read_file long.py"),
        (1, "explores: read_file long.py; read_file long.py; read_file gone.py"),
        (1, "explores: its answer"),
    ]


HOSTILE: tuple[tuple[str, Any], ...] = (
    ("write_file", {"path": "calc.py", "content": "owned"}),
    ("edit_file", {"path": "calc.py", "old": "a - b", "new": "owned"}),
    ("run_command", {"command": "echo owned > calc.py"}),
    ("ask_question", {"question": "May I?"}),
    ("explore", {"question": "deeper"}),
    ("task_complete", {"summary": "owned"}),
    ("task_blocked", {"reason": "owned"}),
    ("mcp__shop__buy", {}),
    ("read_file", "{"),
    ("read_file", {"path": "../../etc/passwd"}),
    ("read_file", {"path": ".git/../../x"}),
)


def test_an_exploration_that_wants_to_write_does_not(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(EXPLORE, READ, call("write_file", path="mine.txt", content="mine"), done())
    session_api.will_explore(message(None, *HOSTILE), ANSWER)
    assert run(session_api) == 0
    results = [item["content"] for item in session_api.explorations[1]["messages"] if item["role"] == "tool"]
    assert len(results) == len(HOSTILE)
    assert all(text.startswith("Error: ") for text in results)
    assert all(
        f"An exploration has no tool {name}: it only reads." in text
        for (name, _), text in zip(HOSTILE[:8], results, strict=False)
    )
    assert told(session_api) == "It subtracts (calc.py:2).\n\nNo file was read."
    assert told(session_api, 2) == "     1\tdef add(a, b):\n     2\t    return a - b"
    assert EventKind.QUESTION not in {event.kind for event in session_api.events}
    assert session_api.files().keys() == {*FILES, "mine.txt"}
    assert "owned" not in str(session_api.files())
    assert session_api.report.summary == "done"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ((status(400, "bad", "no such model"),), "ended without an answer: no such model"),
        ((b"not json",), "were no completion at all"),
        ((message(""),), "replies in a row said nothing (last: empty)"),
        ((READ, message("", refusal="never")), "replies in a row said nothing (last: refused)"),
    ],
)
def test_a_model_that_fails_is_a_tool_s_answer(
    make_door: MakeDoor, run: Run, script: tuple[Wire, ...], words: str
) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(*script)
    assert run(session_api) == 0
    assert told(session_api).startswith("Error: ")
    assert words in told(session_api)


def test_a_spent_budget_ends_the_exploration_and_then_the_session(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    spent = status(402, "budget_exhausted", "the budget is spent")
    session_api.will(EXPLORE, spent)
    session_api.will_explore(READ, spent)
    assert run(session_api) == 4
    assert session_api.report.outcome is Outcome.OUT_OF_BUDGET
    said = session_api.requests[-1]["messages"][-1]["content"]
    assert said.startswith("Error: The exploration ended without an answer: the session's budget is spent")


def test_it_ends_with_its_turns(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(READ)
    assert run(session_api) == 0
    assert len(session_api.explorations) == MOST_TURNS
    last = session_api.explorations[-1]["messages"][-1]["content"]
    assert last.endswith(
        "[You have read enough: reply now with your answer, as text and without a tool call.]"
    )
    assert "You have read enough" not in str(session_api.explorations[-2]["messages"])
    assert told(session_api) == (
        "The exploration reached its limit and gave no answer.\n\nFiles it read:\n- calc.py:1-2"
    )


def test_it_ends_with_its_share_of_the_tokens(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO, limits=Limits(context_tokens=80))
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    reads = message("Half of it.", ("read_file", {"path": "calc.py"}))
    session_api.will_explore(reads)
    assert run(session_api) == 0
    assert len(session_api.explorations) == 3, "each request had 100 tokens, and twice 80 were left"
    assert told(session_api).startswith("Half of it.\n[The exploration reached its limit here")


def test_it_ends_with_its_share_of_the_time(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(
        FILES, portfolio=PORTFOLIO, limits=Limits(time_s=0)
    )  # no limit of the session's own
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(READ)
    assert run(session_api) == 0
    assert len(session_api.explorations) == 1
    assert told(session_api).startswith("The exploration reached its limit and gave no answer.")


def test_words_before_anything_was_read_are_asked_about_once(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(message("I will read calc.py."), message("Nothing has to be read."))
    assert run(session_api) == 0
    assert "You have read nothing yet" in session_api.explorations[1]["messages"][-1]["content"]
    assert told(session_api) == "Nothing has to be read.\n\nNo file was read."


def test_a_long_answer_is_cut(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(EXPLORE, EXPLORE, call("task_blocked", reason="enough"))
    session_api.will_explore(READ, message("x" * 10_000), READ, message("half", finish="length"))
    assert run(session_api) == 0
    text = told(session_api)
    assert text.startswith("x" * MOST_SUMMARY_CHARS + "\n[… 4,000 more characters were left out]")
    assert text.endswith("- calc.py:1-2")
    assert told(session_api, 2).startswith("half\n[… cut off at the model's output limit]")


def test_a_session_that_is_told_to_stop_stops_its_exploration(
    make_door: MakeDoor, start: Callable[..., Program]
) -> None:
    held = Held()
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    session_api.will(call("write_file", path="mine.txt", content="mine"), EXPLORE)
    session_api.will_explore(held)
    program = start(session_api)
    assert held.reached.wait(60)
    program.terminate()
    assert program.wait() == 3
    held.released.set()
    assert (session_api.report.reason, len(session_api.explorations)) == ("terminated", 1)
    assert "mine.txt" in session_api.files()


def test_explorations_are_counted(make_door: MakeDoor, run: Run) -> None:
    session_api = make_door(FILES, portfolio=PORTFOLIO)
    blank = call("explore", question=" ")
    explore = [EXPLORE] * (MOST_EXPLORATIONS + 1)
    session_api.will(blank, *explore, call("task_blocked", reason="enough"))
    session_api.will_explore(message(""), *[READ, ANSWER] * MOST_EXPLORATIONS)
    session_api.exploration.pop(0)
    assert run(session_api) == 0
    assert told(session_api).startswith("Error: question is empty")
    assert told(session_api, MOST_EXPLORATIONS + 1).startswith("It subtracts")
    assert "has made its 8 explorations" in told(session_api, MOST_EXPLORATIONS + 2)
    assert len(session_api.explorations) == 2 * MOST_EXPLORATIONS


def terms(**more: Any) -> Terms:
    return Terms(contract="c", phase="p", **more)


ASKED = Consultation(kind=ConsultationKind.GATE, question="Good?", facts="", choices=("approve",))


@pytest.mark.parametrize(
    ("given", "reads"),
    [
        ({}, None),
        ({"portfolio": PortfolioBrief(briefing="", initiative="")}, None),
        ({"portfolio": PORTFOLIO}, set(READS)),
        ({"portfolio": PORTFOLIO, "terms": terms()}, set(READS)),
        ({"portfolio": PORTFOLIO, "terms": terms(tools=("read_file", "run_command"))}, {"read_file"}),
        ({"portfolio": PORTFOLIO, "terms": terms(tools=("run_command",))}, None),
        ({"portfolio": PORTFOLIO, "terms": terms(consultation=ASKED)}, None),
    ],
)
def test_it_is_offered_where_the_portfolio_says_so_and_reads_what_the_session_may(
    given: dict[str, Any], reads: set[str] | None
) -> None:
    brief = make_brief(**given)
    assert ("explore" in tools_of(brief)) == (reads is not None)
    if reads is not None:
        assert set(reading_tools(brief)) == reads


def test_what_the_contract_keeps_out_of_sight_is_out_of_its_sight(make_door: MakeDoor, run: Run) -> None:
    files = {**FILES, "secret/key.txt": "hunter2"}
    session_api = make_door(files, portfolio=PORTFOLIO, terms=terms(secret_paths=("secret",)))
    session_api.will(EXPLORE, call("task_blocked", reason="enough"))
    reads = (
        ("read_file", {"path": "secret/key.txt"}),
        ("search_files", {"pattern": "hunter"}),
        ("glob_files", {"pattern": "*.txt"}),
        ("list_directory", {"depth": 3}),
    )
    session_api.will_explore(message(None, *reads), ANSWER)
    assert run(session_api) == 0
    said = [item["content"] for item in session_api.explorations[1]["messages"] if item["role"] == "tool"]
    assert "hunter2" not in str(said)
    assert "key.txt" not in str(said[2:])


def test_without_the_portfolio_there_is_no_such_tool(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES)
    with pytest.raises(ToolError, match="There is no tool explore"):
        perform(session, ToolCall(id="1", name="explore", arguments={"question": "?"}))


def test_the_model_is_the_one_the_session_works_with() -> None:
    assert model_of(make_brief(model="a", agent=AgentChoice(model="b"))) == "a"
    assert model_of(make_brief(model="a", agent=AgentChoice(program="codex", model="b"))) == "b"
    assert model_of(make_brief(model="a", agent=AgentChoice(program="codex"))) == "a"


@pytest.fixture
def asked(short_path: Path, tmp_path: Path) -> Iterator[Asked]:
    """Another agent's session, whose explorations are answered by a session API of the test's own."""
    with ExitStack() as stack:

        def make(*script: Wire, wait_s: float = 60.0, **brief: Any) -> tuple[SessionApi, Client, Any]:
            far = stack.enter_context(opened(short_path, FILES))
            far.will_explore(*script)
            session = make_session(tmp_path, FILES, **{"portfolio": PORTFOLIO, **brief})
            session.session_api = WireDoor(far.socket, patience_s=5)
            stack.callback(session.session_api.close)
            server, client = stack.enter_context(serving(session, answer_wait_s=wait_s))
            return far, client, server

        yield make


def test_another_agent_has_it_as_a_tool_of_its_server(asked: Asked) -> None:
    far, client, _ = asked(READ, ANSWER)
    listed = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert listed["explore"]["annotations"]["readOnlyHint"] is True
    assert "wait_for_answer" in listed
    assert client.call("explore", question=WHAT).endswith("Files it read:\n- calc.py:1-2")
    assert len(far.explorations) == 2
    assert client.call("explore", question=" ").startswith("Error: question is empty")


def test_one_that_takes_its_time_is_waited_for_by_its_id(asked: Asked) -> None:
    held = Held(ANSWER)
    _, client, _ = asked(READ, held, wait_s=0.05)
    assert client.call("explore", question=WHAT).startswith(
        "Not answered yet: call wait_for_answer with id x1"
    )
    held.released.set()
    while (said := client.call("wait_for_answer", id="x1")).startswith("Not answered yet"):
        pass
    assert said.startswith("It subtracts")
    assert "Known: x1." in client.call("wait_for_answer", id="x2")


def test_several_at_once_are_made_one_after_the_other(asked: Asked) -> None:
    held = Held(ANSWER)
    far, client, _ = asked(held, ANSWER, READ, message("The second."), wait_s=0.05)
    client.call("explore", question="first?")
    assert held.reached.wait(60)
    client.call("explore", question="second?")
    assert len(far.explorations) == 1
    held.released.set()
    while (said := client.call("wait_for_answer", id="x2")).startswith("Not answered yet"):
        pass
    assert said.startswith("The second.")
    questions = [request["messages"][1]["content"] for request in far.explorations]
    assert ["second?" in text for text in questions] == [False, False, True, True]


@pytest.mark.parametrize("how", ["ended", "told"])
def test_no_model_is_asked_for_a_session_that_is_over(asked: Asked, how: str) -> None:
    held = Held(READ)
    far, client, server = asked(held, ANSWER, wait_s=0.05)
    client.call("explore", question=WHAT)
    assert held.reached.wait(60)
    if how == "ended":
        client.call("task_blocked", reason="enough")
    else:
        server._session.interrupts.is_ending = True
    held.released.set()
    for thread in threading.enumerate():
        if thread.name == "explore":
            thread.join(60)
    assert client.call("wait_for_answer", id="x1") == (
        "Error: The exploration ended without an answer: the session is over."
    )
    assert len(far.explorations) == 1


def test_a_spent_budget_is_told_to_the_agent(asked: Asked) -> None:
    _, client, _ = asked(status(402, "budget_exhausted", "spent"))
    assert "the session's budget is spent" in client.call("explore", question=WHAT)
