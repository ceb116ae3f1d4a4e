"""Several runners as one: each space's sessions run with the runner it asks for, and are found wherever they are."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from overlord.adapters.process.runner import ProcessRunner
from overlord.adapters.space_runners import SpaceRunners
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import EndKind
from overlord.errors import RunnerRefused

SCRIPT = """
echo from $0
test -z "$MINION_ENVIRONMENT" || echo {} > "$MINION_ENVIRONMENT/environment.json"
test -z "$HOLD" || sleep 60
"""
PROGRAM = ("/bin/sh", "-c", SCRIPT)


@pytest.fixture
async def runners(tmp_path: Path) -> AsyncIterator[SpaceRunners]:
    """Two of them, of one kind under two names."""
    kinds = {kind: ProcessRunner(tmp_path / kind, command=(*PROGRAM, kind)) for kind in ("process", "docker")}
    asked = {"acme/walled": "docker", "acme/far": "swarm"}
    runners = SpaceRunners(kinds, lambda space: asked.get(space, "auto"))
    yield runners
    await runners.close()


def launch(tmp_path: Path, session: str, space: str, **environment: str) -> Launch:
    session_api = tmp_path / "door" / session
    session_api.mkdir(parents=True)
    return Launch(
        session=SessionId(session),
        job="1",
        environment={"MINION_ID": session, **environment},
        session_api=session_api,
        memory_mb=256,
        cpus=1.0,
        space=space,
    )


async def ended(runners: SpaceRunners, session: str) -> EndKind:
    async with asyncio.timeout(180):
        async for said in runners.follow():
            if said == session:
                break
    found = await runners.find(SessionId(session))
    assert found is not None and found.ending is not None
    return found.ending.kind


async def test_each_space_has_the_runner_it_asks_for(runners: SpaceRunners, tmp_path: Path) -> None:
    for session, space, kind in (
        ("j1-work-1", "acme/calc", "process"),
        ("j2-work-1", "acme/walled", "docker"),
    ):
        waiting = asyncio.create_task(ended(runners, session))
        await runners.start(launch(tmp_path, session, space))
        assert await waiting is EndKind.EXITED
        assert await runners.logs(SessionId(session), limit_bytes=100) == f"from {kind}\n"
    assert sorted(item.session for item in await runners.sessions()) == ["j1-work-1", "j2-work-1"]
    for session in ("j1-work-1", "j2-work-1"):
        await runners.remove(SessionId(session))
    assert await runners.sessions() == []


async def test_what_runs_with_another_is_stopped_there(runners: SpaceRunners, tmp_path: Path) -> None:
    session = SessionId("j2-work-1")
    await runners.start(launch(tmp_path, session, "acme/walled", HOLD="1"))
    await runners.stop(session, grace_s=5)
    found = await runners.find(session)
    assert found is not None and found.ending is not None
    await runners.remove(session)


async def test_a_space_never_runs_with_another_than_it_asks_for(
    runners: SpaceRunners, tmp_path: Path
) -> None:
    asked = launch(tmp_path, "j3-work-1", "acme/far")
    for act in (
        runners.start(asked),
        runners.ground("", space="acme/far"),
        runners.prepare_layer("k", image="", packages=(), space="acme/far"),
    ):
        with pytest.raises(RunnerRefused, match=r"spaces\.acme/far\.runner asks for swarm"):
            await act
    await runners.start(replace(asked, space="acme/calc"))
    await runners.remove(asked.session)


async def test_an_environment_is_kept_where_its_setup_ran(runners: SpaceRunners, tmp_path: Path) -> None:
    session = SessionId("j2-setup-1")
    await runners.prepare_layer("0123abcd", image="", packages=(), space="acme/walled")
    waiting = asyncio.create_task(ended(runners, session))
    setup = replace(launch(tmp_path, session, "acme/walled"), layer="0123abcd", makes_layer=True)
    await runners.start(setup)
    await waiting
    await runners.keep_layer(session, "0123abcd")
    assert await runners.has_layer("0123abcd")
    await runners.remove(session)
    await runners.remove_layer("0123abcd")
    assert not await runners.has_layer("0123abcd")
