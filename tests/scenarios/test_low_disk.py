"""The disk runs low: what runs goes on, nothing new is begun, everybody hears of it once, and it goes on by itself."""

import contextlib
import json

import pytest
from starlette.requests import Request

from overlord.domain.job import JobState
from overlord.embedded.play import say
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.entrypoints.listen.health import Health
from overlord.home import Home
from overlord.queries.overview import status
from overlord.store import ledger
from tests.chatting import Talk, made_talk
from tests.faults.disks import mounted
from tests.faults.player import OPENING, played
from tests.world import REPO, World

S = JobState
LEAST = {"least_free_gb": 0.03, "least_free_files": 0}
LOW = "Everything is paused by overlord: the disk has "


async def rested(world: World) -> None:
    """Until the retention of the start is over, and another day's would be long to come."""
    await world.overlord.turn()
    await world.overlord.tick.rest()


async def events(talk: Talk) -> list[str]:
    found = await talk.world.read(lambda c: list(ledger.entries(c)))
    return [entry.name for entry in found if entry.name.startswith("disk_")]


async def ready(talk: Talk) -> tuple[int, list[str]]:
    talk.world.clock.move(3)
    answer = await Health(talk.world.overlord).readyz(Request({"type": "http", "headers": []}))
    return answer.status_code, json.loads(bytes(answer.body)).get("reasons", [])


async def test_a_disk_that_runs_low_stops_what_is_new_until_there_is_room_again() -> None:
    with mounted("size=64m") as disk, contextlib.suppress(FileNotFoundError):
        async with made_talk(disk=LEAST, sessions={"concurrent": 1}) as talk:
            world = talk.world
            world.overrides["process"] = {"python": played(world.root)}
            (world.root / "home").symlink_to(disk.root)
            world.model_will(*(say("Go on.") for _ in range(20)), when=OPENING)
            await world.issue("holds")
            await world.until_holding()
            await world.issue("plain")
            world.clock.move(interval_s(world.settings()) + 1)
            await world.until(lambda: _has(talk, 2))
            await rested(world)
            (left := disk.root / ".restoring-x").mkdir()
            (disk.root / "filler").write_bytes(b"\0" * 40_000_000)
            await world.issue("plain too")
            world.clock.move(interval_s(world.settings()) + 1)
            await world.until(lambda: _is_told(talk, 2))
            world.let_go()
            (world.root / "go").touch()
            await world.until(lambda: _is(talk, 1, S.IN_REVIEW))
            assert [job.state for job in await world.jobs()] == [S.IN_REVIEW, S.QUEUED], "what ran went on"
            assert (await world.job(2)).reason.startswith(LOW)
            assert await events(talk) == ["disk_ran_low"]
            await world.until(lambda: not left.exists())
            assert await ready(talk) == (503, ["the disk runs low: no new work is begun"])
            shown = await world.read(lambda c: status(c, world.settings(), at=world.clock.now()))
            assert [pause.line[: len(LOW)] for pause in shown.pauses] == [LOW]
            await world.until(lambda: bool(talk.cards("No new work is begun: the disk has ")))
            (disk.root / "filler").unlink()
            await world.settle()
            await world.settle()
            assert [job.state for job in await world.jobs()] == [S.IN_REVIEW] * 3
            assert await events(talk) == ["disk_ran_low", "disk_recovered"]
            assert (await ready(talk))[0] == 200
            talk.card("No new work is begun: the disk has ")
            talk.card("The disk has room again (")
            await world.stop()


async def _has(talk: Talk, number: int) -> bool:
    return len(await talk.world.jobs()) >= number


async def _is_told(talk: Talk, number: int) -> bool:
    return (await talk.world.job(number)).reason.startswith(LOW)


async def _is(talk: Talk, number: int, state: JobState) -> bool:
    return (await talk.world.job(number)).state is state


@pytest.mark.parametrize("low", [True, False])
async def test_a_daemon_that_starts_says_what_changed_while_it_was_away(low: bool) -> None:
    plenty, none = {"least_free_gb": 0}, {"least_free_gb": 1e9}
    async with made_talk(disk=plenty if low else none) as talk:
        world = talk.world
        await world.start()
        await world.overlord.turn()
        before = await events(talk)
        await world.stop()
        world.overrides["disk"] = none if low else plenty
        await world.start()
        await world.overlord.turn()
        assert await events(talk) == [*before, "disk_ran_low" if low else "disk_recovered"]
        await world.overlord.turn()
        assert len(await events(talk)) == len(before) + 1
        assert (world.root / "home") == Home(world.settings().home).root
        assert not world.forge.issues(REPO)
