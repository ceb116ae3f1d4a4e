"""The session's own tools over MCP: what agents are told, what a call comes to, and what is refused."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from minion.agents.agent import Server
from minion.agents.session_tools.server import ToolsServer
from minion.protocol import EventKind, Limits, Outcome, Scope, SkillText, Terms
from minion.session import Session
from minion.session_api import SessionApi as WireDoor
from minion.tools.tool import Submission
from tests.minion.conftest import make_session
from tests.minion.session_api import Held, SessionApi, opened

FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}


class Client:
    """An MCP client of the plainest kind."""

    def __init__(self, server: Server) -> None:
        place = urlsplit(server.url)
        self.path = place.path
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **server.headers,
        }
        self.connection = http.client.HTTPConnection(place.netloc, timeout=60)
        self.number = 0

    def send(
        self, body: bytes | None, method: str = "POST", path: str = "", **headers: str
    ) -> tuple[int, Any]:
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path or self.path, body, {**self.headers, **changed})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        status, answer = self.send(json.dumps(message).encode())
        assert (status, answer["jsonrpc"], answer["id"]) == (200, "2.0", self.number)
        return answer

    def call(self, tool: str, /, **arguments: Any) -> str:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        [content] = result["content"]
        assert content["type"] == "text"
        assert result["isError"] is content["text"].startswith("Error: ")
        return str(content["text"])


@contextmanager
def serving(session: Session, **more: Any) -> Iterator[tuple[ToolsServer, Client]]:
    server = ToolsServer(session, **more)
    client = Client(server.start())
    try:
        yield server, client
    finally:
        client.connection.close()
        server.close()


@pytest.fixture
def served(session: Session) -> Iterator[tuple[ToolsServer, Client]]:
    with serving(session) as both:
        yield both


@pytest.fixture
def asked(short_path: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[SessionApi, Session, Client]]]:
    """A session whose questions are answered by a session API of the test's own."""
    with ExitStack() as stack:

        def make(*, wait_s: float = 60.0, **brief: Any) -> tuple[SessionApi, Session, Client]:
            far = stack.enter_context(opened(short_path, FILES))
            session = make_session(tmp_path, FILES, **brief)
            session.session_api = WireDoor(far.socket, patience_s=5)
            stack.callback(session.session_api.close)
            _, client = stack.enter_context(serving(session, answer_wait_s=wait_s))
            return far, session, client

        yield make


def test_a_client_is_introduced_and_sees_the_sessions_tools_alone(
    served: tuple[ToolsServer, Client],
) -> None:
    _, client = served
    hello = client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x"})
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert hello["result"]["serverInfo"]["name"] == "overlord"
    told = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    assert client.send(told, MCP_Protocol_Version="2025-06-18") == (202, None)
    assert client.ask("ping")["result"] == {}
    tools = client.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [
        "ask_question",
        "wait_for_answer",
        "task_complete",
        "task_blocked",
    ]
    assert all(tool["annotations"]["destructiveHint"] is False for tool in tools)
    assert tools[2]["inputSchema"]["required"] == ["summary"]


def test_a_newer_protocol_is_answered_with_the_newest_known(served: tuple[ToolsServer, Client]) -> None:
    assert (
        served[1].ask("initialize", protocolVersion="2030-01-01")["result"]["protocolVersion"] == "2025-11-25"
    )


def test_skills_are_served_where_the_brief_has_some(tmp_path: Path) -> None:
    skill = SkillText(name="order", description="How.", instructions="First a test.")
    with serving(make_session(tmp_path, FILES, skills=(skill,))) as (_, client):
        assert client.call("use_skill", name="order") == "First a test."
        assert client.call("use_skill", name="none").startswith("Error: There is no skill 'none'")


def test_a_contract_s_words_are_in_the_schema(tmp_path: Path) -> None:
    terms = Terms(contract="c", phase="build", outcomes=("done", "rework"), events=("license_risk",))
    with serving(make_session(tmp_path, FILES, terms=terms)) as (server, client):
        listed = {tool["name"]: tool["inputSchema"] for tool in client.ask("tools/list")["result"]["tools"]}
        assert listed["task_complete"]["properties"]["outcome"]["enum"] == ["done", "rework"]
        client.call("task_blocked", reason="GPL inside", event="license_risk")
        assert server.submission is not None
        assert server.submission.event == "license_risk"


def test_work_is_handed_in_once(session: Session) -> None:
    ended = []
    with serving(session, on_end=lambda: ended.append(True)) as (server, client):
        assert "No file of the repository has changed" in client.call("task_complete", summary="nothing")
        assert (server.submission, server.ended.is_set(), ended) == (None, False, [])
        (session.workspace.root / "calc.py").write_text("def add(a, b):\n    return a + b\n")
        assert "the session ends here" in client.call("task_complete", summary="Add adds.", learnings=["x"])
        assert server.submission == Submission(
            outcome=Outcome.COMPLETE, summary="Add adds.", learnings=("x",)
        )
        assert (server.ended.is_set(), ended) == (True, [True])
        assert session.workspace.head is not None
        assert "The session has ended" in client.call("task_blocked", reason="second thoughts")
        assert server.submission.outcome is Outcome.COMPLETE


def test_an_end_is_held_up_by_what_a_person_wrote_meanwhile(session: Session) -> None:
    words = ["Not ended: a person wrote to you.", ""]
    with serving(session, holds_up=lambda: words.pop(0)) as (server, client):
        assert client.call("task_blocked", reason="no") == "Not ended: a person wrote to you."
        assert server.submission is None
        client.call("task_blocked", reason="still no")
        assert server.ended.is_set()


def test_one_of_many_calls_at_the_same_time_ends_the_session(session: Session) -> None:
    with serving(session) as (server, client):
        said: list[str] = []

        def block(number: int) -> None:
            own = Client(
                Server(name="o", url=f"http://{client.connection.host}:{client.connection.port}/mcp")
            )
            own.headers = client.headers
            said.append(own.call("task_blocked", reason=f"reason {number}"))
            own.connection.close()

        threads = [threading.Thread(target=block, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(text.partition(":")[0] for text in said) == ["Error"] * 7 + ["Taken"]
        assert server.submission is not None


def test_an_answer_that_comes_in_time_is_the_calls_result(
    asked: Callable[..., tuple[SessionApi, Session, Client]],
) -> None:
    far, session, client = asked(scope=Scope(patterns=("calc.py",)))
    granted = b'{"answered": true, "answer": "yes", "scope": {"mode": "directory", "patterns": ["*.md"]}}'
    far.answers = [lambda handler: handler.answer(200, granted)]
    said = client.call("ask_question", question="May I?", kind="scope", patterns=["README.md"])
    assert said == "A person answered: yes\nYou may now write: *.md."
    assert session.territory.scope.patterns == ("*.md",)
    [event] = far.events
    assert (event.kind, event.question_kind, event.patterns) == (EventKind.QUESTION, "scope", ("README.md",))


def test_an_answer_that_comes_later_is_waited_for_by_its_id(
    asked: Callable[..., tuple[SessionApi, Session, Client]],
) -> None:
    far, session, client = asked(wait_s=0.05)
    held = Held(b'{"answered": true, "answer": "b", "scope": {"mode": "directory", "patterns": ["docs"]}}')
    far.answers = [held]
    said = client.call("ask_question", question="Which?", options=["a", "b"])
    assert said.startswith("Not answered yet: call wait_for_answer with id q1")
    assert client.call("wait_for_answer", id="q1").startswith("Not answered yet")
    held.released.set()
    while (said := client.call("wait_for_answer", id=" q1 ")).startswith("Not answered yet"):
        pass
    assert said == "A person answered: b\nYou may now write: docs."
    assert session.territory.scope.patterns == ("docs",)
    assert client.call("wait_for_answer", id="q7") == "Error: There is no question 'q7'. Known: q1."


def test_a_session_ends_while_a_question_is_open(
    asked: Callable[..., tuple[SessionApi, Session, Client]],
) -> None:
    far, _, client = asked(wait_s=0.05)
    held = Held()
    far.answers = [held]
    client.call("ask_question", question="Which?")
    assert "the session ends here" in client.call("task_blocked", reason="nobody is there")
    held.released.set()


def test_questions_are_limited_and_refusals_are_words(
    asked: Callable[..., tuple[SessionApi, Session, Client]],
) -> None:
    far, _, client = asked(limits=Limits(questions=2))
    far.answers = [
        lambda handler: handler.answer(410),
        lambda handler: handler.refuse(404, "http_404", "no such question"),
    ]
    assert client.call("ask_question", question="a?").startswith("Nobody answered in time.")
    assert "The question was not accepted: no such question" in client.call("ask_question", question="b?")
    assert "has asked its 2 questions" in client.call("ask_question", question="c?")


def test_a_session_api_that_is_gone_is_an_error_of_the_call(session: Session) -> None:
    with serving(session) as (_, client):
        assert "The session API did not take" in client.call("ask_question", question="Anyone?")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "task_blocked needs reason"),
        ({"reason": 3}, "reason must be a string"),
        ({"reason": "r", "more": 1}, "has no argument more"),
        ({"reason": "\ud800"}, "lone surrogate"),
    ],
)
def test_arguments_that_do_not_fit_are_said_in_words(
    served: tuple[ToolsServer, Client], arguments: dict[str, Any], words: str
) -> None:
    assert words in served[1].call("task_blocked", **arguments)
    assert served[0].submission is None


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, -32700),
        (b"{", 400, -32700),
        (b"\xff\xfe", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', 400, -32700),
        (b'{"id": 1, "method": "ping"}', 400, -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', 200, -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', 200, -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["x"]}}', 200, -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "read_file"}}',
            200,
            -32602,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "task_blocked", "arguments": "x"}}',
            200,
            -32602,
        ),
    ],
)
def test_what_is_no_request_is_answered_with_an_error(
    served: tuple[ToolsServer, Client], body: bytes, status: int, code: int
) -> None:
    said, answer = served[1].send(body)
    assert (said, answer["error"]["code"]) == (status, code)
    assert served[1].ask("ping")["result"] == {}


def test_an_answer_nobody_asked_for_is_passed_over(served: tuple[ToolsServer, Client]) -> None:
    assert served[1].send(b'{"jsonrpc": "2.0", "id": 1, "result": {}}') == (202, None)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "", {}, 405),
        ("DELETE", "", {}, 405),
        ("POST", "/", {}, 404),
        ("POST", "", {"Authorization": "Bearer guess"}, 401),
        ("POST", "", {"Authorization": ""}, 401),
        ("GET", "", {"Authorization": "Bearer guess"}, 401),
        ("POST", "", {"Origin": "https://example.com"}, 403),
        ("POST", "", {"Origin": "http://127.0.0.1.example.com"}, 403),
        ("POST", "", {"Origin": "null"}, 403),
        ("POST", "", {"Origin": "http://["}, 403),
        ("POST", "", {"Content_Type": "text/plain"}, 415),
        ("POST", "", {"MCP_Protocol_Version": "1999-01-01"}, 400),
        ("POST", "", {"Content_Length": "99999999"}, 413),
        ("POST", "", {"Content_Length": "-1"}, 411),
        ("POST", "", {"Transfer_Encoding": "chunked"}, 411),
    ],
)
def test_requests_that_are_not_the_agents_are_refused(
    served: tuple[ToolsServer, Client], method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}' if method == "POST" else None
    said, answer = served[1].send(body, method, path, **headers)
    assert (said, answer["error"]["code"]) == (status, -32600)
    assert served[1].ask("ping")["result"] == {}


def test_a_page_on_loopback_is_let_in(served: tuple[ToolsServer, Client]) -> None:
    body = b'{"jsonrpc": "2.0", "id": "a", "method": "ping"}'
    assert served[1].send(body, Origin="http://localhost:6274")[0] == 200


def test_nothing_is_answered_once_it_is_closed(session: Session) -> None:
    server = ToolsServer(session)
    client = Client(server.start())
    client.ask("ping")
    server.close()
    server.close()
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    assert client.send(body)[0] == 401  # the connection was open before
    with pytest.raises(ConnectionRefusedError):
        client.send(body)


def test_long_words_are_shortened(tmp_path: Path) -> None:
    skill = SkillText(name="long", description="How.", instructions="x" * 50_000)
    with serving(make_session(tmp_path, FILES, skills=(skill,))) as (_, client):
        said = client.call("use_skill", name="long")
        assert "30,000 characters left out here" in said
