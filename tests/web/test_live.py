"""Server-sent events: a page is told that something is new, after it was cut off too."""

import asyncio

import httpx
import pytest

from overlord.domain.access import AccessRight
from overlord.entrypoints.web.server import page_served
from overlord.failpoints import Failpoint
from overlord.store import access, ledger
from tests.memory.world import made_memory_world
from tests.web.paging import Page, made_page


async def events(page: Page, count: int, *, last: str = "") -> list[dict[str, str]]:
    """The next events of a stream."""
    found: list[dict[str, str]] = []
    headers = {"last-event-id": last} if last else {}
    async with asyncio.timeout(20), page.client.stream("GET", "/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        event: dict[str, str] = {}
        async for line in stream.aiter_lines():
            if not line and event:
                if "event" in event:
                    found.append(event)
                event = {}
                if len(found) == count:
                    return found
            elif line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                event[name] = value
    raise AssertionError("the stream ended")


async def test_a_page_is_told_of_what_is_new() -> None:
    async with made_page() as page:
        listening = asyncio.create_task(events(page, 1))
        await page.world.issue("add() subtracts")
        await page.world.settle()
        [event] = await listening
        assert event["event"] == "changed" and event["id"] == event["data"]


async def test_a_page_that_slept_is_told_at_once() -> None:
    async with made_page() as page:
        await page.world.issue("add() subtracts")
        await page.world.settle()
        [event] = await events(page, 1, last="1")
        assert int(event["id"]) == await page.world.read(ledger.last_number)


async def test_no_stream_without_a_session() -> None:
    async with made_page() as page, httpx.AsyncClient(base_url=page.address) as stranger:
        assert (await stranger.get("/events")).status_code == 401


@pytest.mark.parametrize("ends", ["revoked", "owner's token removed"])
async def test_who_is_signed_out_watches_no_longer_than_to_the_next_ping(ends: str) -> None:
    async with made_memory_world(page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        parts, at = world.overlord.parts, world.clock.now()
        _, secret = await parts.database.write(
            Failpoint.ACCESS_GRANTED,
            lambda c: access.create(c, "watches", AccessRight.READ, actor="cli:alice", at=at),
        )
        async with (
            page_served(world.overlord, ping_s=0.01) as address,
            httpx.AsyncClient(base_url=address) as client,
        ):
            owners = parts.home.page_token.read_text(encoding="ascii")
            await client.post("/sign-in", data={"token": secret if ends == "revoked" else owners})
            async with asyncio.timeout(20), client.stream("GET", "/events") as stream:
                lines = stream.aiter_lines()
                async for line in lines:
                    if line == ": still here":
                        break
                if ends == "revoked":
                    await parts.database.write(
                        Failpoint.ACCESS_REVOKED,
                        lambda c: access.revoke(c, "watches", actor="cli:alice", at=at),
                    )
                else:
                    parts.home.page_token.unlink()
                async for _ in lines:
                    pass  # it ends
            assert (await client.get("/events")).status_code == 401
