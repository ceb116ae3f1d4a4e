"""MCP servers that sessions reach through Overlord: what passes, what does not, and what becomes of a server that misbehaves."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from minion.protocol import McpServer, SessionKind, encode
from overlord.session_api.mcp_conversations import MOST_CALLS
from overlord.settings.load import rebuilt
from overlord.store import sessions
from tests.mcp_stub import Stub, answered
from tests.records import a_brief
from tests.session_api.ground import Ground, Visitor, visitor

TOKEN = "tok-4711-very-secret"


@asynccontextmanager
async def offered(
    ground: Ground, stub: Stub, *, tools: tuple[str, ...] = ("echo", "fail", "session"), **more: Any
) -> AsyncIterator[Visitor]:
    """A session that is offered the stub as `docs`."""
    server = {"url": stub.url, "headers": {"Authorization": f"Bearer {TOKEN}"}, "tools": list(tools), **more}
    ground.settings = rebuilt(ground.settings, mcp={"docs": server})
    await ground.restart()
    told = (McpServer(name="docs", tools=tools), McpServer(name="local", command=("x",)))
    job = await ground.job()
    brief = replace(a_brief(job, SessionKind.WORK, 1), mcp=told)
    session = await ground.session(job, brief=encode(brief).decode())
    async with visitor(ground, session) as guest:
        yield guest


async def ask(guest: Visitor, method: str, request_id: Any = 1, name: str = "docs", **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    response = await guest.post(f"/session/mcp/{name}", message)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", request_id)
    return answer


async def call(guest: Visitor, tool: str, **arguments: Any) -> str:
    message = {
        "jsonrpc": "2.0",
        "id": "c",
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    answer = (await guest.post("/session/mcp/docs", message)).json()
    if "error" in answer:
        return f"Error: {answer['error']['message']}"
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("streams", [False, True])
async def test_a_session_lists_what_it_is_offered_and_calls_it(ground: Ground, streams: bool) -> None:
    with Stub(streams=streams).running() as stub:
        async with offered(ground, stub) as guest:
            hello = await ask(
                guest, "initialize", 0, protocolVersion="2025-11-25", capabilities={"sampling": {}}
            )
            assert hello["result"] == {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "docs", "version": "1"},
                "instructions": "Be kind.",
            }
            told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert (await guest.post("/session/mcp/docs", told)).status_code == 202
            first = (await ask(guest, "tools/list"))["result"]
            assert [tool["name"] for tool in first["tools"]] == ["echo", "fail"]
            assert "x-own" not in first["tools"][0]
            more = (await ask(guest, "tools/list", "b", cursor=first["nextCursor"]))["result"]
            assert [tool["name"] for tool in more["tools"]] == ["session"]
            with capture_logs() as lines:
                assert await call(guest, "echo", text="héllo 😀") == "héllo 😀"
            assert [line["tool"] for line in lines if line["event"] == "mcp_called"] == ["echo"]
            assert (await ask(guest, "ping"))["result"] == {}
        assert stub.methods[:3] == ["initialize", "notifications/initialized", "tools/list"]
        assert stub.messages[0]["params"]["clientInfo"]["name"] == "overlord"
        assert stub.messages[0]["params"]["capabilities"] == {}


async def test_the_server_gets_overlords_headers_and_none_of_the_sessions(ground: Ground) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            own = {"Authorization": "Bearer mine", "X-Own": "1", "Mcp-Session-Id": "stolen", "Cookie": "a=b"}
            answer = await guest.post("/session/mcp/docs", message, headers=own)
        assert "mcp-session-id" not in answer.headers
        for sent in stub.headers:
            assert sent["authorization"] == f"Bearer {TOKEN}"
            assert not {"x-own", "cookie"} & set(sent)
            assert sent["user-agent"].startswith("python-httpx")
        assert [sent.get("mcp-session-id") for sent in stub.headers] == [None, "c1", "c1"]
        assert [sent.get("mcp-protocol-version") for sent in stub.headers] == [
            None,
            "2025-06-18",
            "2025-06-18",
        ]


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        (
            "tools/call",
            {"name": "secret"},
            "the tool secret of docs is not offered to this session; offered: echo, fail, session",
        ),
        ("tools/call", {"name": ["echo"]}, "is not offered to this session"),
        ("tools/call", {}, "the tool None of docs is not offered"),
        ("tools/call", {"name": "echo", "arguments": [1]}, "the arguments must be an object"),
        ("resources/read", {"uri": "file:///etc/passwd"}, "resources/read is not passed on"),
        ("sampling/createMessage", {}, "is not passed on"),
    ],
)
async def test_what_is_not_offered_never_reaches_the_server(
    ground: Ground, method: str, params: dict[str, Any], words: str
) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = (await guest.post("/session/mcp/docs", message)).json()
        assert words in answer["error"]["message"]
        assert stub.messages == []


@pytest.mark.parametrize("name", ["other", "local", "docs2", "%2e%2e"])
async def test_only_servers_of_the_brief_that_have_an_address_are_asked(ground: Ground, name: str) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            answer = await guest.post(f"/session/mcp/{name}", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert "is offered to this session" in answer.json()["error"]["message"]
        assert stub.messages == []


async def test_a_server_or_a_tool_that_left_the_settings_is_no_longer_offered(ground: Ground) -> None:
    plain = ground.settings
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            assert await call(guest, "echo", text="a") == "a"
            current = ground.keeper.parts.current
            current.take(rebuilt(plain, mcp={"docs": {"url": stub.url, "tools": ["fail"]}}))
            assert "offered: fail" in await call(guest, "echo", text="b")
            current.take(rebuilt(plain, mcp={"x": {"url": stub.url, "tools": ["fail"]}}))
            assert "no MCP server called docs" in await call(guest, "fail")


async def test_a_secret_never_comes_back(ground: Ground) -> None:
    def betrays(handler: Any, message: dict[str, Any]) -> None:
        text = json.dumps({"content": [{"type": "text", "text": f"it is {TOKEN}"}]})
        text = text.replace("4711", "\\u0034711")
        handler.send(200, f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {text}}}'.encode())

    def refuses(handler: Any, message: dict[str, Any]) -> None:
        error = {"code": -5, "message": f"wrong token Bearer {TOKEN}"}
        handler.give({"jsonrpc": "2.0", "id": message["id"], "error": error})

    with Stub().running() as stub:
        stub.script["tools/call"] = [betrays, refuses]
        async with offered(ground, stub) as guest:
            assert await call(guest, "echo") == "it is [redacted]"
            refused = await call(guest, "echo")
        assert TOKEN not in refused
        assert refused.startswith("Error: the MCP server docs refused: wrong token")


async def test_a_server_that_was_started_again_is_introduced_anew(ground: Ground) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            await call(guest, "echo", text="a")
            stub.forget()
            answers = await asyncio.gather(*(call(guest, "echo", text=str(number)) for number in range(6)))
        assert answers == [str(number) for number in range(6)]
        assert stub.begun == 2


async def test_an_overlord_that_was_started_again_begins_the_conversation_anew(ground: Ground) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            await call(guest, "echo", text="a")
            await ground.restart()
            assert await call(guest, "echo", text="b") == "b"
        assert stub.begun == 2


async def test_a_server_that_forgets_each_time_is_given_up(ground: Ground) -> None:
    with Stub().running() as stub:
        stub.script["ping"] = [lambda handler, _: handler.send(404, b"{}")] * 2
        async with offered(ground, stub) as guest:
            answer = await ask(guest, "ping")
        assert "forgets the conversation again and again" in answer["error"]["message"]


Answers = Callable[[Any, dict[str, Any]], None]


def body(text: bytes, kind: str = "application/json") -> Answers:
    return lambda handler, _message: handler.send(200, text, **{"Content-Type": kind})


def status(code: int, **headers: str) -> Answers:
    return lambda handler, _message: handler.send(code, b"{}", **headers)


def result(value: Any) -> Answers:
    return lambda handler, message: handler.give({"jsonrpc": "2.0", "id": message["id"], "result": value})


def cut(handler: Any, _message: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"jsonrpc"')
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (body(b"hello"), "gives no answer of the protocol (it sends application/json)"),
        (body(b"[" * 100_000), "gives no answer of the protocol"),
        (body(b"<html>", "text/html; charset=x"), "gives no answer of the protocol (it sends text/html)"),
        (body(b"", ""), "gives no answer of the protocol (it sends nothing)"),
        (body(b"data: {}\n\n", "text/event-stream"), "gives no answer of the protocol"),
        (body(b"data: " + b"x" * 5_000_000, "text/event-stream"), "answers with more than 4 MiB"),
        (body(b" " * 5_000_000), "answers with more than 4 MiB"),
        (
            lambda handler, message: handler.give(answered({**message, "id": 99})),
            "gives no answer of the protocol",
        ),
        (
            body(b'{"jsonrpc": "2.0", "id": 2, "result": {"content": [1e999]}}'),
            "gives no answer of the protocol",
        ),
        (
            body(b'{"jsonrpc": "2.0", "id": 2, "result": {"content": [NaN]}}'),
            "gives no answer of the protocol",
        ),
        (result("text"), "gives no answer of the protocol"),
        (result({"content": "text"}), "gave no result of a tool"),
        (status(401), "refuses Overlord (401): its headers may be wrong"),
        (status(307, Location="http://127.0.0.1:9/"), "answers with a redirect (307), which is not followed"),
        (status(500), "answers with an error (500)"),
        (status(200, **{"Content-Encoding": "gzip"}), "packs its answers"),
        (cut, "cannot be reached (the connection was cut)"),
    ],
)
async def test_a_server_that_misbehaves_costs_a_call_and_no_more(
    ground: Ground, answers: Answers, words: str
) -> None:
    with Stub().running() as stub:
        stub.script["tools/call"] = [answers]
        async with offered(ground, stub) as guest:
            said = await call(guest, "echo", text="a")
            assert said.startswith("Error: the MCP server docs")
            assert words in said
            assert await call(guest, "echo", text="b") == "b"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (result({"protocolVersion": "1999-01-01"}), "speaks version 1999-01-01, and Overlord 2025-11-25"),
        (result({}), "speaks version None"),
        (status(503), "answers with an error (503)"),
    ],
)
async def test_a_server_that_cannot_be_begun_with_is_tried_again_by_the_next_call(
    ground: Ground, answers: Answers, words: str
) -> None:
    with Stub().running() as stub:
        stub.script["initialize"] = [answers]
        async with offered(ground, stub) as guest:
            with capture_logs() as lines:
                assert words in await call(guest, "echo", text="a")
            assert [line["server"] for line in lines if line["event"] == "mcp_server_failed"] == ["docs"]
            assert await call(guest, "echo", text="b") == "b"


async def test_a_stream_that_ends_with_its_answer_needs_no_blank_line(ground: Ground) -> None:
    with Stub().running() as stub:
        text = b'data: {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "a"}]}}\n'
        stub.script["tools/call"] = [body(text, "text/event-stream")]
        async with offered(ground, stub) as guest:
            assert await call(guest, "echo") == "a"


async def test_what_cannot_be_written_again_is_no_fault_of_ours(ground: Ground) -> None:
    deep = b"[" * 900 + b"]" * 900
    with Stub().running() as stub:
        stub.script["tools/call"] = [
            body(
                b'{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "half \\ud83d"}]}}'
            ),
            body(b'{"jsonrpc": "2.0", "id": 3, "result": {"content": [%b]}}' % deep),
        ]
        async with offered(ground, stub) as guest:
            assert await call(guest, "echo", text="\ud83d") == "half \ud83d"
            message = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": %b}}}'
            assert (await guest.post("/session/mcp/docs", message % deep)).status_code in (200, 400)


async def test_a_list_of_tools_that_is_none_is_refused_and_a_long_one_is_filtered(ground: Ground) -> None:
    many = [{"name": f"t{number}"} for number in range(10_000)]
    with Stub().running() as stub:
        stub.script["tools/list"] = [
            result({"tools": {}}),
            result({"tools": [*many, {"name": ["echo"]}, 7, {"name": "echo"}]}),
        ]
        async with offered(ground, stub) as guest:
            assert "gave no list of tools" in (await ask(guest, "tools/list"))["error"]["message"]
            assert (await ask(guest, "tools/list"))["result"]["tools"] == [{"name": "echo"}]


async def test_a_silent_server_is_given_up_in_its_time(ground: Ground) -> None:
    over = threading.Event()
    with Stub().running() as stub:
        stub.script["tools/call"] = [
            lambda handler, _message: handler.send(200 if over.wait(60) else 500, b"{}")
        ]
        async with offered(ground, stub, timeout_s=1) as guest:
            assert "the MCP server docs did not answer within 1 s" in await call(guest, "echo")
        over.set()


async def test_a_server_that_is_not_there_is_said(ground: Ground) -> None:
    stub = Stub()
    stub._server.server_close()
    async with offered(ground, stub) as guest:
        assert "the MCP server docs cannot be reached (connection refused)" in await call(guest, "echo")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"[]",
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    ],
)
async def test_what_is_no_message_is_refused(ground: Ground, sent: bytes) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            response = await guest.post("/session/mcp/docs", sent)
            assert response.status_code == 400
            assert response.json()["error"]["code"] in (-32700, -32600)
            assert (await guest.post("/session/mcp/docs", b" " * (1024 * 1024 + 1))).status_code == 413
            assert (await guest.get("/session/mcp/docs")).status_code == 405
        assert stub.messages == []


async def test_a_session_may_not_ask_without_end(ground: Ground) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            [session] = await ground.database.read(sessions.live)
            ground.keeper.parts.mcp_conversations.of(session.id, "docs").calls = MOST_CALLS - 1
            assert await call(guest, "echo", text="last") == "last"
            assert "has asked docs 5000 times, which is the most" in await call(guest, "echo")
        assert stub.methods.count("tools/call") == 1


async def test_what_is_remembered_goes_with_the_session(ground: Ground) -> None:
    with Stub().running() as stub:
        async with offered(ground, stub) as guest:
            await call(guest, "echo")
            [session] = await ground.database.read(sessions.live)
            conversation = ground.keeper.parts.mcp_conversations.of(session.id, "docs")
            assert conversation.calls == 1
            await ground.end(session)
            await ground.keeper.reconcile()
            assert ground.keeper.parts.mcp_conversations.of(session.id, "docs") is not conversation


async def test_a_check_session_reaches_no_server(ground: Ground) -> None:
    session = await ground.session(kind=SessionKind.CHECK)
    async with visitor(ground, session) as guest:
        answer = await guest.post("/session/mcp/docs", {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 403
