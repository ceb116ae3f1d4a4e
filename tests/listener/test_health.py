"""What watches a daemon is told whether it goes on, and what it lacks; nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from overlord.app import Overlord
from overlord.entrypoints.listen.health import KNOWN_FOR_S, STALLED_S, Health
from overlord.errors import RunnerUnavailable
from overlord.home import Home
from tests.engine.troubled import TroubledRunner, troubled_world
from tests.listener.wire import exchange, get, heard_world
from tests.world import CALC, World

Troubled = tuple[World, TroubledRunner]


@pytest.fixture
async def troubled() -> AsyncIterator[Troubled]:
    async with troubled_world(CALC) as made:
        yield made


async def asked(running: Overlord, health: Health | None = None) -> tuple[int, Any]:
    answer = await (health or Health(running)).readyz(Request({"type": "http"}))
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
