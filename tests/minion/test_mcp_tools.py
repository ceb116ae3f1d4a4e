"""The native agent's tools of MCP servers: started or reached, listed, called, and what becomes of servers that misbehave."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minion.agents.servers import servers_of
from minion.errors import McpFailed, ToolError
from minion.mcp.client import McpClient
from minion.mcp.stdio import StdioTransport
from minion.mcp.tools import ServerTools, text_of
from minion.native.model import ToolCall
from minion.protocol import EventKind, Limits, McpServer, Outcome
from minion.session import Session
from minion.tools.registry import perform
from tests import mcp_stub
from tests.minion.conftest import make_session
from tests.minion.session_api import SessionApi, call, done

MakeDoor = Callable[..., SessionApi]
Run = Callable[..., int]
FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
EDIT = call("edit_file", path="calc.py", old="a - b", new="a + b")
STUB = str(Path(mcp_stub.__file__))


def local(*faults: str, name: str = "local", tools: tuple[str, ...] = (), **environment: str) -> McpServer:
    return McpServer(
        name=name,
        command=(sys.executable, STUB, *faults),
        environment=tuple(environment.items()),
        tools=tools,
    )


@contextmanager
def begun(home: Path, *servers: McpServer, **brief: Any) -> Iterator[tuple[Session, list[str]]]:
    """A session with the tools of these servers, and what was written in its log."""
    said: list[str] = []
    session = make_session(home, FILES, mcp=servers, **brief)
    tools = ServerTools(session, said.append)
    session.server_tools = tools.open()
    try:
        yield session, said
    finally:
        tools.close()


def use(session: Session, name: str, /, **arguments: Any) -> str:
    result = perform(session, ToolCall(id="1", name=name, arguments=arguments))
    assert isinstance(result, str)
    return result


def test_a_command_s_tools_are_offered_and_called(tmp_path: Path) -> None:
    with begun(tmp_path, local(STUB_WORD="from the settings")) as (session, said):
        assert list(session.server_tools) == [
            f"mcp__local__{name}" for name in ("echo", "fail", "picture", "session", "secret")
        ]
        schema = session.server_tools["mcp__local__echo"].schema()["function"]
        assert schema["parameters"]["properties"] == {"text": {"type": "string"}}
        assert "MCP server local, in its own words: What echo does." in schema["description"]
        assert use(session, "mcp__local__echo", text="héllo") == "héllo"
        assert use(session, "mcp__local__session", session="mine") == "session is mine"
        assert use(session, "mcp__local__secret") == "from the settings"
        assert use(session, "mcp__local__picture") == "[image image/png: left out, only text is shown]\na cat"
        with pytest.raises(ToolError, match="it did not work"):
            use(session, "mcp__local__fail")
        with pytest.raises(ToolError, match="There is no tool mcp__local__more"):
            use(session, "mcp__local__more")
    assert said == []


def test_only_the_tools_of_the_allow_list_are_offered(tmp_path: Path) -> None:
    servers = (local(tools=("echo",)), local(name="two", tools=("fail", "nothing")))
    with begun(tmp_path, *servers) as (session, _):
        assert list(session.server_tools) == ["mcp__local__echo", "mcp__two__fail"]


def test_a_whole_session_uses_a_command_and_an_address(make_door: MakeDoor, run: Run) -> None:
    far = make_door(FILES, mcp=(local(), McpServer(name="docs", tools=("echo",))))
    sent: list[dict[str, Any]] = []

    def answers(handler: Any, message: dict[str, Any]) -> None:
        sent.append(message)
        answer = mcp_stub.answered(message)
        handler.answer(200 if answer else 202, json.dumps(answer).encode() if answer else b"")

    far.mcp = answers
    far.will(call("mcp__local__echo", text="a"), call("mcp__docs__echo", text="b"), EDIT, done())
    assert run(far) == 0
    offered = [tool["function"]["name"] for tool in far.requests[0]["tools"]]
    assert {"mcp__local__echo", "mcp__docs__echo"} <= set(offered)
    assert far.tool_results(1) == ["a"]
    assert far.tool_results(2) == ["b"]
    assert far.report.outcome is Outcome.COMPLETE
    assert [item["method"] for item in sent][:2] == ["initialize", "notifications/initialized"]
    assert {path for path in far.paths if "mcp" in path} == {"/session/mcp/docs"}


def test_a_server_that_cannot_be_had_costs_a_line_in_the_log(make_door: MakeDoor, run: Run) -> None:
    missing = McpServer(name="gone", command=("no-such-program",))
    far = make_door(FILES, mcp=(missing, local("dies@initialize", name="dead"), McpServer(name="docs")))
    far.mcp = lambda handler, _message: handler.refuse(403, "http_403", "not for you")
    far.will(EDIT, done())
    assert run(far) == 0
    told = {event.text for event in far.events if event.kind is EventKind.LOG}
    assert any("MCP server gone is not offered: it cannot be started" in text for text in told)
    assert "MCP server dead is not offered: it has ended with exit code 3" in told
    assert "MCP server docs is not offered: not for you (403 http_403)" in told


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("flood@tools/list", "it printed a line of more than 4 MiB, and was ended"),
        ("dies@tools/list", "it has ended with exit code 3"),
    ],
)
def test_a_server_that_cannot_list_is_not_offered(tmp_path: Path, fault: str, words: str) -> None:
    with begun(tmp_path, local(fault), local(name="sound", tools=("echo",))) as (session, said):
        assert said == [f"MCP server local is not offered: {words}"]
        assert use(session, "mcp__sound__echo", text="a") == "a"


def test_noise_and_questions_of_a_server_are_passed_over(tmp_path: Path) -> None:
    with begun(tmp_path, local("noise@tools/list", "asks@tools/call", tools=("echo",))) as (session, said):
        assert use(session, "mcp__local__echo", text="a") == "a"
        assert said == []


def test_a_list_of_ten_thousand_is_cut_and_an_endless_one_ends(tmp_path: Path) -> None:
    servers = (local("many@tools/list"), local("endless@tools/list", name="loop"))
    with begun(tmp_path, *servers) as (session, said):
        assert len(session.server_tools) == 64
        assert said == ["MCP server local has 2000 tools: the first 64 are offered"]


def test_a_server_that_dies_in_a_call_is_an_error_and_stays_one(tmp_path: Path) -> None:
    with begun(tmp_path, local("dies@tools/call")) as (session, _):
        with pytest.raises(
            ToolError, match=r"The MCP server local cannot do that: it has ended with exit code 3\."
        ):
            use(session, "mcp__local__echo", text="a")
        with pytest.raises(ToolError, match="it has ended"):
            use(session, "mcp__local__echo", text="a")


def test_a_silent_server_is_given_up_and_its_processes_are_ended(tmp_path: Path) -> None:
    with begun(tmp_path, local("silent@tools/call"), limits=Limits(command_s=1)) as (session, _):
        with pytest.raises(ToolError, match="it did not answer in time"):
            use(session, "mcp__local__echo", text="a")
        with pytest.raises(ToolError, match="it did not answer in time"):
            use(session, "mcp__local__echo", text="x" * 1_000_000)  # more than its pipe holds
    marks = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert not [mark for mark in marks if b"silent@tools/call" in mark and STUB.encode() in mark]


def test_names_that_models_cannot_say_are_mended_and_clashes_are_said(tmp_path: Path) -> None:
    session = make_session(tmp_path, FILES)
    said: list[str] = []
    tools = ServerTools(session, said.append)
    listed: list[dict[str, Any]] = [
        {"name": "a.b", "inputSchema": {"type": "object"}},
        {"name": ""},
        {"name": 7},
        {"name": "long" * 40, "description": "x" * 5_000, "inputSchema": "none"},
        {"name": "huge", "inputSchema": {"type": "object", "description": "x" * 30_000}},
    ]
    made = tools._tools(McpServer(name="s"), listed)
    assert [tool.name for tool in made] == ["mcp__s__a_b", f"mcp__s__{'long' * 14}"]
    assert [len(tool.name) for tool in made] == [11, 64]
    assert len(made[1].meaning) < 2_000
    assert made[1].schema()["function"]["parameters"] == {"type": "object"}
    assert said == ["MCP server s: the schema of huge is too large, so it is not offered"]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({}, "(nothing)"),
        ({"content": "text"}, "(nothing)"),
        ({"content": [], "structuredContent": {"a": "é"}}, '{"a": "é"}'),
        ({"content": [7, {"type": 1}]}, "[something that cannot be read was left out]\n" * 2),
        ({"content": [{"type": "audio", "data": "AA"}]}, "[audio: left out, only text is shown]"),
        ({"content": [{"type": "resource", "resource": {"uri": "x", "text": "words"}}]}, "words"),
        ({"content": [{"type": "resource_link", "uri": "https://x"}]}, "[a link: https://x]"),
    ],
)
def test_what_is_no_text_has_a_note_in_its_place(result: dict[str, Any], text: str) -> None:
    assert text_of(result) == text.rstrip("\n")


def test_a_refusal_and_an_answer_without_a_result_are_failures(tmp_path: Path) -> None:
    transport = StdioTransport([sys.executable, STUB], directory=tmp_path, environment=dict(os.environ))
    client = McpClient(transport)
    with pytest.raises(McpFailed, match="it refused: unknown: no-such"):
        client.call("no-such", {}, timeout_s=60)
    client.close()
    client.close()
    with pytest.raises(McpFailed, match="it has ended"):
        client.call("echo", {}, timeout_s=60)


def test_agents_are_told_of_commands_and_of_the_session_api(tmp_path: Path) -> None:
    brief = replace(
        make_session(tmp_path, FILES).brief,
        mcp=(
            McpServer(name="local", command=("x", "-y"), environment=(("A", "b"),)),
            McpServer(name="docs", tools=("search",)),
        ),
    )
    run, reached = servers_of(brief, "http://127.0.0.1:4711")
    assert (run.name, run.command, run.environment, run.url) == ("local", ("x", "-y"), {"A": "b"}, "")
    assert (reached.name, reached.url, reached.tools) == (
        "docs",
        "http://127.0.0.1:4711/session/mcp/docs",
        ("search",),
    )
    assert not reached.headers
