"""Facts as they happen, over the API: a program that was cut off goes on where it was."""

import asyncio
import json
from typing import Any

import httpx

from overlord.domain.access import AccessRight
from overlord.entrypoints.web.server import page_served
from overlord.failpoints import Failpoint
from overlord.store import access
from tests.memory.world import MemoryWorld, made_memory_world
from tests.web.api_client import PREFIX, Program, made_program, program
from tests.web.paging import made_page
from tests.world import REPO


async def facts(asking: Program, count: int, *, last: str = "", path: str = "/events") -> list[Any]:
    """The next facts of a stream."""
    found: list[Any] = []
    headers = {"last-event-id": last} if last else {}
    async with (
        asyncio.timeout(20),
        asking.client.stream("GET", f"{PREFIX}{path}", headers=headers) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == count:
                return found
    raise AssertionError("the stream ended")


async def test_a_stream_that_was_cut_goes_on_after_the_last_fact_that_was_seen() -> None:
    async with made_program() as asking:
        await asking.give("pause")
        known = (await asking.get("/ledger"))["items"]
        first = await facts(asking, 2, last="0")
        rest = await facts(asking, len(known) - 2, last=str(first[-1]["seq"]))
        assert first + rest == known
        after = await facts(asking, 1, path=f"/events?after={known[-2]['seq']}")
        assert after == [known[-1]]


async def test_a_fact_reaches_who_listens_already() -> None:
    async with made_program() as asking:
        listening = asyncio.create_task(facts(asking, 1))
        while not listening.done():
            await asking.give("pause")
            await asking.give("resume")
        [fact] = await listening
        assert fact["name"] in {"paused", "resumed"} and fact["actor"] == "web:ci"


async def test_a_stream_of_one_job_tells_of_that_job_and_a_token_of_its_repository_alone() -> None:
    async with made_page() as page, program(page) as asking:
        await page.world.issue("add() subtracts")
        await page.world.settle()
        of_job = await facts(asking, 3, path="/events?job=1&after=0")
        assert {fact["job"] for fact in of_job} == {1}
        async with program(page, "mine", AccessRight.READ, (REPO,)) as mine:
            seen = await facts(mine, 3, last="0")
        assert seen == of_job, "what is about no repository is not theirs"


async def test_a_number_that_is_none_is_refused() -> None:
    async with made_program() as asking:
        for path in ("/events?after=x", "/events?after=-1", "/events?job=0", "/events?after=" + "9" * 40):
            assert (await asking.get(path, 400))["type"].endswith("not-understood")


async def test_a_stream_ends_with_its_token_also_while_facts_keep_coming() -> None:
    async with made_memory_world(page={"address": "127.0.0.1:0"}) as world:
        await world.start()
        parts, at = world.overlord.parts, world.clock.now()
        _, secret = await parts.database.write(
            Failpoint.ACCESS_GRANTED,
            lambda c: access.create(c, "watches", AccessRight.READ, actor="cli:alice", at=at),
        )
        headers = {"authorization": f"Bearer {secret}"}
        async with (
            page_served(world.overlord, ping_s=0.01) as address,
            httpx.AsyncClient(base_url=address, headers=headers) as client,
            asyncio.timeout(20),
            client.stream("GET", f"{PREFIX}/events", params={"after": "0"}) as stream,
        ):
            lines = stream.aiter_lines()
            assert await anext(lines) == "retry: 2000"
            await parts.database.write(
                Failpoint.ACCESS_REVOKED, lambda c: access.revoke(c, "watches", actor="cli:alice", at=at)
            )
            going_on = asyncio.create_task(_facts_without_end(world))
            async for _ in lines:
                pass  # it ends
            going_on.cancel()


async def _facts_without_end(world: MemoryWorld) -> None:
    while True:
        await world.overlord.parts.database.write(
            Failpoint.ACCESS_GRANTED,
            lambda c: access.note_refusal(c, "x", actor="web:stranger", at=world.clock.now()),
        )
        world.clock.move(61)
        world.overlord.parts.notify()
