"""What watches a daemon is told whether it goes on, and what it lacks; nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from overlord.app import Overlord
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.entrypoints.listen.health import KNOWN_FOR_S, STALLED_S, Health
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, RunnerUnavailable
from overlord.home import Home
from tests.engine.between import forge_world
from tests.engine.troubled import TroubledRunner, troubled_world
from tests.listener.wire import exchange, get, heard_world
from tests.quick import made_quick_world
from tests.world import CALC, REPO, World

Troubled = tuple[World, TroubledRunner]


@pytest.fixture
async def troubled() -> AsyncIterator[Troubled]:
    async with troubled_world(CALC) as made:
        yield made


async def asked(
    running: Overlord, health: Health | None = None, *, headers: Sequence[tuple[bytes, bytes]] = ()
) -> tuple[int, Any]:
    own = [] if any(name == b"host" for name, _ in headers) else [(b"host", b"localhost:8712")]
    request = Request({"type": "http", "headers": [*own, *headers]})
    answer = await (health or Health(running)).readyz(request)
    return answer.status_code, json.loads(bytes(answer.body))


async def test_a_daemon_is_well_while_its_loop_makes_passes() -> None:
    async with heard_world() as (world, place):
        assert ((first := await get(place, "/healthz")).status, first.said) == (200, {"status": "ok"})
        world.clock.move(STALLED_S)
        for path in ("/healthz", "/readyz"):
            assert (await get(place, path)).status == 503
        await world.overlord.turn()
        for path in ("/healthz", "/readyz"):
            assert (await get(place, path)).status == 200


async def test_answers_say_nothing_of_what_answers() -> None:
    async with heard_world() as (_, place):
        for path in ("/healthz", "/readyz"):
            answer = await get(place, path)
            assert answer.headers.keys() <= {"content-type", "content-length", "connection", "cache-control"}
            head = await exchange(place, f"HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            assert (head.status, head.body) == (200, b"")


async def test_ready_is_who_could_work(troubled: Troubled) -> None:
    world, _ = troubled
    assert await asked(world.overlord) == (200, {"status": "ready"})


async def test_a_runner_that_does_not_answer_is_a_reason(troubled: Troubled) -> None:
    world, runner = troubled
    runner.will_fail("sessions", RunnerUnavailable("the engine is at /secret/path"))
    status, said = await asked(world.overlord)
    assert (status, said["reasons"]) == (503, ["the runner does not answer"])


async def test_a_runner_that_never_answers_is_not_waited_for(troubled: Troubled) -> None:
    world, runner = troubled
    runner.gates["sessions"] = asyncio.Event()
    status, said = await asked(world.overlord)
    assert (status, said["reasons"]) == (503, ["the runner does not answer"])


async def test_a_disk_without_room_is_a_reason(troubled: Troubled) -> None:
    world, _ = troubled
    no_room = Home(Path("/proc"))  # a file system that has no blocks to give
    assert no_room.shortage()
    running = replace(world.overlord, parts=replace(world.overlord.parts, home=no_room))
    status, said = await asked(running)
    assert (status, said["reasons"]) == (503, ["the disk has no room"])


async def test_a_database_that_another_daemon_has_is_a_reason(troubled: Troubled) -> None:
    world, _ = troubled
    await world.overlord.parts.database.write("by hand", lambda c: c.execute("UPDATE daemon SET token = 'x'"))
    status, said = await asked(world.overlord)
    assert (status, said["reasons"]) == (503, ["the database is another daemon's, or cannot be used"])


async def test_however_many_ask_the_runner_is_asked_once(troubled: Troubled) -> None:
    world, runner = troubled
    health = Health(world.overlord)
    runner.called.clear()
    await asyncio.gather(*(asked(world.overlord, health) for _ in range(50)))
    assert runner.called == ["sessions"]
    world.clock.move(KNOWN_FOR_S)
    await asked(world.overlord, health)
    assert runner.called == ["sessions"] * 2


async def polled(world: World) -> None:
    world.clock.move(interval_s(world.overlord.parts.settings) + 1)
    await world.until(lambda: world.overlord.tick.is_idle)


async def test_where_no_repository_can_be_reached_it_is_not_ready_until_one_can() -> None:
    async with forge_world(repositories=[REPO]) as (world, forge):
        await polled(world)
        forge.fails("activity", ForgeRefused("401 Bad credentials"))
        await polled(world)
        status, said = await asked(world.overlord)
        assert (status, said["reasons"]) == (503, ["no repository can be reached; see `overlord status`"])
        forge.is_well()
        await polled(world)
        assert await asked(world.overlord) == (200, {"status": "ready"})


async def test_a_mistyped_repository_beside_a_good_one_is_named_to_those_who_may_know() -> None:
    async with made_quick_world(repositories=[REPO, "acme/calk"]) as world:
        await world.start()
        await polled(world)
        status, said = await asked(world.overlord)
        named = "acme/calk: it cannot be reached; see `overlord status`"
        assert (status, said) == (200, {"status": "ready", "notes": [named]})
        counted = "1 of 2 repositories cannot be reached or read; see `overlord status`"
        _, said = await asked(world.overlord, headers=[(b"x-forwarded-for", b"203.0.113.9")])
        assert said["notes"] == [counted]
        _, said = await asked(world.overlord, headers=[(b"host", b"rebound.example.com")])
        assert said["notes"] == [counted], "a page in a browser may have its own name lead here"
        _, said = await asked(world.overlord, Health(world.overlord, "the token"))
        assert said["notes"] == [counted]
        _, said = await asked(
            world.overlord,
            Health(world.overlord, "the token"),
            headers=[(b"authorization", b"Bearer the token")],
        )
        assert said["notes"] == [named]


async def test_one_listing_that_is_refused_leaves_it_ready_with_a_note() -> None:
    async with forge_world() as (world, forge):
        forge.fails("comments_since", ForgeMissing("404 for these comments"))
        await polled(world)
        assert await asked(world.overlord) == (
            200,
            {"status": "ready", "notes": [f"{REPO}: part of it cannot be read; see `overlord status`"]},
        )


async def test_a_forge_that_asks_to_wait_is_reached() -> None:
    async with forge_world() as (world, forge):
        forge.fails("activity", ForgeUnavailable("limit; asked to wait 60 s", retry_after_s=60.0))
        world.clock.move(interval_s(world.overlord.parts.settings) + 1)
        await world.overlord.turn()
        await world.overlord.tick.rest()
        status, said = await asked(world.overlord)
        assert (status, said["notes"]) == (200, [f"{REPO}: part of it cannot be read; see `overlord status`"])
