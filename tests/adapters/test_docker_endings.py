"""How the Docker runner tells whether a session goes on, ended, or was started again, whatever order replies and events come in."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.docker.notes import Note, Notes
from overlord.adapters.docker.runner import DockerRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Running
from overlord.domain.session import Ending, EndKind
from tests.adapters.recorded_engine import SpokenEngine, exited, running, spoken_engine

S1 = SessionId("s1")
LABELS = {"overlord.instance": "i", "overlord.session": S1}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SpokenEngine]:
    async with spoken_engine(tmp_path / "engine", LABELS) as engine:
        yield engine


@pytest.fixture
async def runner(tmp_path: Path, engine: SpokenEngine) -> AsyncIterator[DockerRunner]:
    Notes(tmp_path / "notes").take(S1, Note.STARTED)
    runner = DockerRunner(tmp_path / "notes", image="", instance="i", address=f"unix://{tmp_path / 'engine'}")
    yield runner
    await runner.close()


async def test_an_end_between_a_look_and_its_reply_is_no_second_start(
    engine: SpokenEngine, runner: DockerRunner
) -> None:
    engine.replies.clear()
    looking = asyncio.create_task(runner.find(S1))
    await engine.asked.wait()
    heard = asyncio.ensure_future(anext(runner.follow()))
    await engine.followed.wait()
    engine.state = exited()
    await engine.send_event("die")
    assert await heard == S1
    engine.replies.set()
    assert await looking == Running(session=S1)
    assert await runner.find(S1) == Running(session=S1, ending=Ending(kind=EndKind.EXITED, exit_code=0))


@pytest.mark.parametrize("status", ["running", "paused"])
async def test_a_container_that_runs_and_has_ended_before_was_started_again(
    engine: SpokenEngine, runner: DockerRunner, status: str
) -> None:
    engine.state = running(finished="2026-11-25T01:53:13.356648075Z") | {"Status": status}
    found = await runner.find(S1)
    assert found is not None and found.ending == Ending(
        kind=EndKind.KILLED, detail="somebody started its container again"
    )
