"""The sessions of tokens at `/mcp`: how they are opened, and what ends them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from mcp.server.lowlevel.server import Server

from overlord.entrypoints.mcp import http as at_http
from overlord.entrypoints.web.server import page_served
from tests.mcp.asking import data_of
from tests.mcp.http_stage import HttpStage, made_http_stage
from tests.mcp.test_mcp_http import ACCEPTS, BEGIN, CALL, META, PING, newest
from tests.memory.world import made_memory_world


class Opening:
    """Servers whose first sessions are opened when a test says so, or not at all."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails, self.count = fails, 0
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    def made(self, backend_of: Any) -> Server[Any]:
        server = at_http.made_server(backend_of)
        server.lifespan = self._lifespan
        return server

    @contextlib.asynccontextmanager
    async def _lifespan(self, _server: Any) -> AsyncIterator[dict[str, Any]]:
        self.count += 1
        self.begun.set()
        if self.fails and self.count == 1:
            raise OSError("no room")
        if not self.fails:
            await self.go_on.wait()
        yield {}


async def test_a_first_request_that_is_cut_off_leaves_the_token_its_sessions() -> None:
    opening = Opening()
    async with made_memory_world(None, page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        routes = []

        @contextlib.asynccontextmanager
        async def beside(site: Any) -> AsyncIterator[Any]:
            async with at_http.mcp_route(site, made=opening.made) as route:
                routes.append(route)
                yield route

        async with page_served(world.overlord, beside=beside) as address:
            stage = HttpStage(world=world, address=address)
            token = await stage.token()
            first = asyncio.ensure_future(_asked(routes[0].app, token))
            await opening.begun.wait()
            first.cancel()
            await asyncio.wait([first])
            assert first.cancelled()
            opening.go_on.set()
            async with stage.client(token) as client:
                assert (await client.list_tools()).tools


async def _asked(app: Any, token: str) -> None:
    await app(_scope(token), _nothing_more(), _unheard)


def _scope(token: str) -> dict[str, Any]:
    headers = {"host": "127.0.0.1", "authorization": f"Bearer {token}"}
    return {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
    }


def _nothing_more() -> Any:
    told = iter([{"type": "http.request", "body": b"{}", "more_body": False}])

    async def receive() -> Any:
        return next(told)

    return receive


async def _unheard(_message: Any) -> None:
    raise AssertionError("it was answered")


async def test_sessions_that_cannot_be_opened_are_tried_again() -> None:
    opening = Opening(fails=True)
    async with made_http_stage({"made": opening.made}) as stage, stage.http(await stage.token()) as client:
        assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 500
        assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 200
    assert opening.count == 2


async def test_a_server_that_cannot_be_made_is_tried_again() -> None:
    tries = []

    def made(backend_of: Any) -> Server[Any]:
        tries.append(1)
        if len(tries) == 1:
            raise ImportError("no such library")
        return at_http.made_server(backend_of)

    async with made_http_stage({"made": made}) as stage, stage.http(await stage.token()) as client:
        assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 500
        assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 200


@pytest.mark.parametrize("is_newest", [False, True])
@pytest.mark.parametrize("expires", [False, True])
async def test_what_a_token_waits_for_ends_once_it_counts_no_more(is_newest: bool, expires: bool) -> None:
    async with made_http_stage({"look_s": 0.01}) as stage:
        ends = stage.world.clock.now() + timedelta(hours=1)
        token = await stage.token(expires_at=ends if expires else None)
        headers, asked = {**ACCEPTS}, CALL
        async with stage.http(token) as client:
            if is_newest:
                asked = {**CALL, "params": {**CALL["params"], "_meta": META}}
                headers = newest("tools/call", "tdd_red")
            else:
                begun = await client.post("/mcp", json=BEGIN, headers=ACCEPTS)
                headers["mcp-session-id"] = begun.headers["mcp-session-id"]
            heard = []
            async with client.stream("POST", "/mcp", json=asked, headers=headers) as answer:
                async for line in answer.aiter_lines():
                    heard.append(line)
                    if "c1: waits for a session" in line:
                        if expires:
                            stage.world.clock.move(3601)
                        else:
                            await stage.revoke()
            assert '"result"' not in "".join(heard)
            assert (await client.post("/mcp", json=PING, headers=headers)).status_code == 401
        # The call is the repository's, and goes on.
        async with stage.client(await stage.token("next")) as client:
            await stage.end(await stage.requested())
            assert data_of(await client.call_tool("wait", {"call": "c1"}))["status"] == "pass"


async def test_the_sessions_of_a_token_that_is_away_for_long_are_forgotten() -> None:
    opened, ended = [], asyncio.Event()

    @contextlib.asynccontextmanager
    async def lifespan(_server: Any) -> AsyncIterator[dict[str, Any]]:
        opened.append(1)
        try:
            yield {}
        finally:
            ended.set()

    def made(backend_of: Any) -> Server[Any]:
        server = at_http.made_server(backend_of)
        server.lifespan = lifespan
        return server

    async with (
        made_http_stage({"look_s": 0.01, "made": made}) as stage,
        stage.http(await stage.token()) as client,
    ):
        begun = await client.post("/mcp", json=BEGIN, headers=ACCEPTS)
        headers = {**ACCEPTS, "mcp-session-id": begun.headers["mcp-session-id"]}
        while not ended.is_set():
            stage.world.clock.move(at_http.IDLE.total_seconds())
            await asyncio.to_thread(lambda: None)
        assert (await client.post("/mcp", json=PING, headers=headers)).status_code == 404
        assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 200
    assert len(opened) == 2


async def test_a_token_s_requests_are_withdrawn_by_nobody_else() -> None:
    """Each token has a server of its own: what one remembers pushes nothing of another's out."""
    made_for = []

    def made(backend_of: Any) -> Server[Any]:
        made_for.append(backend_of)
        return at_http.made_server(backend_of)

    async with made_http_stage({"made": made}) as stage:
        for name in ("one", "two"):
            async with stage.client(await stage.token(name)) as client:
                await client.list_tools()
    assert len(made_for) == 2


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async with made_http_stage({"body_s": 0.05}) as stage:
        token, port = await stage.token(), int(stage.address.rstrip("/").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = (
            "POST /mcp HTTP/1.1",
            "host: 127.0.0.1",
            f"authorization: Bearer {token}",
            "content-length: 9",
        )
        writer.write("".join(f"{line}\r\n" for line in (*lines, "", "{")).encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_a_body_of_pieces_has_the_same_bound() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * (1 << 20)

    async with made_http_stage() as stage, stage.http(await stage.token()) as client:
        said = await client.post("/mcp", content=pieces(), headers=ACCEPTS)
    assert said.status_code == 413
    assert said.json()["detail"] == "a request has 4,194,304 bytes at most"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_page_of_another_site_is_not_answered(origin: str) -> None:
    async with made_http_stage() as stage, stage.http(await stage.token()) as client:
        said = await client.post("/mcp", json=BEGIN, headers={**ACCEPTS, "origin": origin})
        own = await client.post("/mcp", json=BEGIN, headers={**ACCEPTS, "origin": stage.address.rstrip("/")})
    assert (said.status_code, own.status_code) == (403, 200)


async def test_a_token_has_a_bound_of_sessions_of_its_own() -> None:
    async with made_http_stage() as stage:
        async with stage.http(await stage.token()) as client:
            for _ in range(at_http.MOST_SESSIONS):
                assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 200
            assert (await client.post("/mcp", json=BEGIN, headers=ACCEPTS)).status_code == 503
        async with stage.client(await stage.token("other")) as other:
            assert (await other.list_tools()).tools
