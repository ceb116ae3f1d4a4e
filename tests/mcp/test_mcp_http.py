"""`/mcp` of a daemon: who comes in, what they reach, and what a lost connection means."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import CallState
from overlord.entrypoints.web.visitor import UNSEEN
from overlord.failpoints import Failpoint
from overlord.store import access
from overlord.store.disciplines import calls
from tests.mcp.asking import HANDSHAKE, data_of, words_of
from tests.mcp.http_stage import HttpStage, made_http_stage
from tests.records import REPO

RED = {"project_root": REPO, "spec": "the parser refuses an empty text"}
ACCEPTS = {"accept": "application/json, text/event-stream"}
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "tdd_red", "arguments": RED, "_meta": {"progressToken": 1}},
}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


NEWEST = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NEWEST,
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
    "progressToken": 1,
}


def newest(method: str, name: str) -> dict[str, str]:
    """The headers of a request of the newest protocol, which has no session."""
    return {**ACCEPTS, "mcp-protocol-version": NEWEST, "mcp-method": method, "mcp-name": name}


@pytest.fixture
async def http() -> AsyncIterator[HttpStage]:
    async with made_http_stage() as made:
        yield made


@pytest.mark.parametrize("mode", [HANDSHAKE, "2026-07-28"])
async def test_a_call_over_http_gives_the_patch_and_writes_nothing(http: HttpStage, mode: str) -> None:
    async with http.client(await http.token(), mode) as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", {**RED, "project_root": f"{REPO}@main"}))
        call = await http.requested()
        await http.end(call, patch=b"diff --git a/a.py b/a.py\n")
        data = data_of(await asking)
    assert (call.space, call.branch, call.is_checkout, call.actor) == (REPO, "main", False, "web:ci")
    assert (data["status"], data["patch"], data["applied"]) == ("pass", "diff --git a/a.py b/a.py\n", False)
    assert data["not_applied_because"].startswith("Over HTTP nothing is written")


@pytest.mark.parametrize("apply", [True, False])
async def test_what_the_callers_own_tools_go_by_is_named_for_a_person(http: HttpStage, apply: bool) -> None:
    async with http.client(await http.token()) as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", {**RED, "apply": apply}))
        changed = ("tests/test_a.py", ".claude/settings.json")
        await http.end(await http.requested(), patch=b"diff --git a/a.py b/a.py\n", changed=changed)
        data = data_of(await asking)
    assert data["not_applied_because"].endswith(
        " A person has to look at the patch first: agents, editors, shells and git go by .claude/settings.json."
    )


async def test_who_has_no_token_that_counts_is_told_how_to_come(http: HttpStage) -> None:
    expired = await http.token("old", expires_at=http.world.clock.now() + timedelta(seconds=1))
    http.world.clock.move(2)
    for secret in ("", "ovl_wrong", expired):
        async with http.http(secret) as client:
            said = await client.post("/mcp", json=PING)
        assert said.status_code == 401
        assert said.headers["www-authenticate"] == 'Bearer realm="overlord"'
        assert "token" in said.json()["detail"]


async def test_a_token_for_reading_looks_and_calls_nothing(http: HttpStage) -> None:
    async with http.client(await http.token(right=AccessRight.READ)) as client:
        assert (await client.list_tools()).tools
        said = await client.call_tool("tdd_red", RED)
        about = {"session_id": "s", "project_root": REPO}
        assert data_of(await client.call_tool("session_log", about))["entries"] == []
        added = await client.call_tool(
            "session_log", {**about, "phase": "red", "skill": "tdd", "final_status": "pass"}
        )
    assert words_of(said) == "tdd_red takes a token with the right act, and this one may read alone"
    assert words_of(added).startswith("this token may look")


async def test_a_token_of_another_repository_sees_no_call(http: HttpStage) -> None:
    async with http.client(await http.token()) as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", {**RED, "session_id": "s"}))
        call = await http.requested()
        async with http.client(await http.token("other", spaces=("acme/other",))) as other:
            for tool in ("wait", "cancel", "call_status"):
                said = await other.call_tool(tool, {"call": call.ref})
                assert words_of(said) == f"there is no call {call.ref}"
            refused = words_of(await other.call_tool("tdd_red", RED))
            unknown = words_of(await other.call_tool("tdd_red", {**RED, "project_root": "acme/no"}))
            assert refused.replace(REPO, "X") == unknown.replace("acme/no", "X")
            assert words_of(await other.call_tool("session_log", {"session_id": "s"})).startswith(
                "project_root is required"
            )
        await http.end(call)
        assert data_of(await asking)["status"] == "pass"


@pytest.mark.parametrize(
    "root", ["/home/me/widgets", "widgets", f"{REPO}@", f"{REPO}@-x", f"{REPO}@a..b", f"{REPO}@{'b' * 300}"]
)
async def test_a_root_that_is_no_repository_here_is_refused(http: HttpStage, root: str) -> None:
    async with http.client(await http.token()) as client:
        said = await client.call_tool("tdd_red", {**RED, "project_root": root})
    assert said.is_error
    assert "`owner/name` or `owner/name@branch`" in words_of(said)


async def test_a_session_is_of_the_token_it_was_begun_with(http: HttpStage) -> None:
    async with http.http(await http.token()) as mine, http.http(await http.token("other")) as other:
        begun = await mine.post("/mcp", json=BEGIN, headers=ACCEPTS)
        of_session = {**ACCEPTS, "mcp-session-id": begun.headers["mcp-session-id"]}
        assert (await other.post("/mcp", json=PING, headers=of_session)).status_code == 404
        assert (await mine.post("/mcp", json=PING, headers=of_session)).status_code == 200


async def test_a_connection_that_is_lost_leaves_the_call_to_be_waited_for(http: HttpStage) -> None:
    token = await http.token()
    async with http.http(token) as client:
        begun = await client.post("/mcp", json=BEGIN, headers=ACCEPTS)
        headers = {**ACCEPTS, "mcp-session-id": begun.headers["mcp-session-id"]}
        await _lost(http, token, CALL, headers)
    await _waited_for(http, token)


async def test_a_connection_of_the_newest_protocol_that_is_lost_does_so_too(http: HttpStage) -> None:
    token = await http.token()
    asked = {**CALL, "params": {**CALL["params"], "_meta": META}}
    await _lost(http, token, asked, newest("tools/call", "tdd_red"))
    await _waited_for(http, token)


async def _lost(http: HttpStage, token: str, asked: dict[str, Any], headers: dict[str, str]) -> None:
    """A client asks, hears of the call, and its connection is cut without a word."""
    async with (
        http.http(token) as client,
        client.stream("POST", "/mcp", json=asked, headers=headers) as answer,
    ):
        async for line in answer.aiter_lines():
            if "c1: waits for a session" in line:
                return
    raise AssertionError("nothing was heard of the call")


async def _waited_for(http: HttpStage, token: str) -> None:
    async with http.client(token) as client:
        call = await http.requested()
        waiting = asyncio.create_task(client.call_tool("wait", {"call": call.ref}))
        await http.end(call)
        assert data_of(await waiting)["status"] == "pass"


async def test_a_client_that_withdraws_its_request_over_http_cancels_the_call(http: HttpStage) -> None:
    heard = asyncio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.set()

    async with http.client(await http.token()) as client:
        asking = asyncio.create_task(client.call_tool("tdd_red", RED, progress_callback=hear))
        await heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        call = await http.requested()
        told = data_of(await client.call_tool("wait", {"call": call.ref}))
    assert told["status"] == "cancelled"


async def test_a_body_that_is_too_long_is_refused_with_the_bound(http: HttpStage) -> None:
    async with http.http(await http.token()) as client:
        said = await client.post("/mcp", content=b"x" * (5 << 20))
    assert said.status_code == 413
    assert said.json()["detail"] == "a request has 4,194,304 bytes at most"


async def test_nothing_is_served_where_the_settings_say_no() -> None:
    async with made_http_stage(disciplines={"http": False}) as off, off.http(await off.token()) as client:
        said = await client.post("/mcp", json=PING)
    assert said.status_code == 404
    assert "`disciplines.http`" in said.json()["detail"]


async def test_another_name_that_leads_here_is_not_answered(http: HttpStage) -> None:
    async with http.http(await http.token()) as client:
        said = await client.post("/mcp", json=PING, headers={"host": "evil.example"})
    assert said.status_code == 421


async def test_a_token_that_is_taken_back_ends_its_session(http: HttpStage) -> None:
    async with http.client(await http.token()) as client:
        await client.list_tools()
        at = http.world.clock.now()
        await http.world.overlord.parts.database.write(
            Failpoint.ACCESS_REVOKED, lambda c: access.revoke(c, "ci", actor="cli:tester", at=at)
        )
        with pytest.raises(Exception, match="Server returned an error response"):
            await client.list_tools()
    found = await http.world.overlord.parts.database.read(calls.latest)
    assert [call for call in found if call.state is CallState.OPEN] == []


HALF = "half \ud800"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("retrospective", {"session_id": HALF}),
        ("session_log", {"session_id": HALF}),
        ("tdd_red", {**RED, "spec": HALF}),
        ("brain_write", {"content": HALF, "project_root": REPO}),
        ("brain_query", {"query": HALF}),
        ("brain_write", {"content": "x", "tags": [HALF]}),
        ("run", {"requirement": HALF, "repository": REPO}),
        ("briefing", {"since": HALF}),
        ("status", {HALF: 1}),
    ],
)
async def test_half_a_character_is_refused_with_a_sentence(
    http: HttpStage, tool: str, arguments: dict[str, Any]
) -> None:
    asked = {**CALL, "params": {"name": tool, "arguments": arguments, "_meta": META}}
    async with http.http(await http.token()) as client:
        answer = await client.post(
            "/mcp",
            content=json.dumps(asked),
            headers={**newest("tools/call", tool), "content-type": "application/json"},
        )
    told = answer.json()["result"]
    assert told["isError"]
    assert told["content"][0]["text"].startswith("there is half a character (a lone surrogate) in ")


async def test_half_a_character_in_a_prompt_is_refused_too(http: HttpStage) -> None:
    given = {"project_root": REPO, "error": HALF}
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "prompts/get",
        "params": {"name": "debug", "arguments": given, "_meta": META},
    }
    async with http.http(await http.token()) as client:
        answer = await client.post(
            "/mcp",
            content=json.dumps(asked),
            headers={**newest("prompts/get", "debug"), "content-type": "application/json"},
        )
    assert answer.json()["error"]["message"].startswith("there is half a character")


async def test_a_token_for_reading_is_shown_what_it_may_call(http: HttpStage) -> None:
    async with http.client(await http.token(right=AccessRight.READ)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"wait", "call_status", "session_log", "brain_query", "status"} <= names
    assert not {"tdd_red", "review", "cancel", "brain_write", "answer", "run", "stop"} & names


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("session_log", {"session_id": "s", "project_root": REPO}),
        ("retrospective", {"session_id": "s", "project_root": REPO}),
        ("retrospective", {"session_id": "s"}),
        ("trainer", {"session_id": "s"}),
        ("review", {"project_root": REPO, "files": ["calc.py"]}),
        ("brain_query", {"query": "parser", "collection": REPO}),
        ("brain_query", {"query": "parser"}),
        ("brain_write", {"content": "x", "collection": REPO}),
        ("brain_write", {"content": "x", "collection": "all"}),
        ("brain_write", {"content": "x", "session_id": "s"}),
        ("tier", {}),
        ("jobs", {}),
        ("history", {}),
        ("search", {"words": "parser"}),
    ],
)
async def test_what_another_repository_has_is_told_to_no_token_of_another(
    http: HttpStage, tool: str, arguments: dict[str, Any]
) -> None:
    about = {"session_id": "s", "project_root": REPO}
    entry = {"phase": "red", "skill": "tdd", "final_status": "pass", "message": "HUSH"}
    async with http.client(await http.token()) as client:
        await client.call_tool("session_log", {**about, **entry})
        await client.call_tool("brain_write", {**about, "content": "HUSH, says the parser."})
        asking = asyncio.create_task(client.call_tool("tdd_red", {**RED, "session_id": "s", "spec": "HUSH"}))
        call = await http.requested()
        async with http.client(await http.token("other", spaces=("acme/other",))) as other:
            said = await other.call_tool(tool, arguments)
            listed = (await other.list_resources()).resources
            with pytest.raises(Exception, match=UNSEEN):
                await other.read_resource("overlord://jobs/1/ledger")
        text = f"{words_of(said)} {said.structured_content}"
        assert "HUSH" not in text, text
        assert REPO not in text.replace(repr(REPO), ""), text
        assert listed == []
        assert (await http.requested()).id == call.id
        await http.end(call)
        assert data_of(await asking)["status"] == "pass"
