"""What a call begins on: a session goes on from its own work that holds, and from the branch where there is none."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from overlord.domain.disciplines.call import Call, CallId, CallResult, CallStatus
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.event import EventName
from overlord.domain.identifiers import NO_COMMIT, RepositoryName, Sha
from overlord.engine.disciplines import ground
from overlord.store import jobs
from overlord.store.disciplines import calls
from tests.engine.stage import Stage, made_stage
from tests.world import REPO

KEY = "sess-1"


async def _call(stage: Stage, actor: str = "web:ada") -> Call:
    call = Call(
        id=CallId(0),
        discipline=DisciplineName.TDD_GREEN,
        space=RepositoryName(REPO),
        session_key=KEY,
        actor=actor,
        is_checkout=False,
        base_sha=NO_COMMIT,
        created_at=stage.parts.clock.now(),
    )
    made: Call = await stage.write(partial(calls.request), call, base_branch="main", title="green")
    return made


async def _left(stage: Stage, head: Sha, *, actor: str = "web:ada", **changes: Any) -> None:
    """A call of the session ended, and left a commit."""
    call = await _call(stage, actor)
    result = replace(CallResult(status=CallStatus.PASS, phase="green", skill="tdd"), **changes)
    number = call.job_id or 0
    await stage.move(await stage.job(number), EventName.SESSION_STARTED)
    await stage.write(jobs.repair, number, head_sha=head)
    await stage.write(calls.end, call, result, patch="f" * 64, at=stage.parts.clock.now())


async def _base(stage: Stage) -> tuple[Sha, Sha]:
    """The branch, and another commit that there is."""
    parts, name = stage.parts, RepositoryName(REPO)
    await parts.git.refresh_mirror(name, await parts.forge.remote(name))
    old = await parts.git.branch_head(name, "main")
    await stage.world.push({"more.py": "more = 1\n"})
    await parts.git.refresh_mirror(name, await parts.forge.remote(name))
    new = await parts.git.branch_head(name, "main")
    assert old is not None and new is not None and old != new
    return new, old


async def _begun_on(stage: Stage) -> Sha:
    call = await _call(stage)
    job = await stage.job(call.job_id or 0)
    return (await ground.laid(stage.parts, job, call)).base


async def test_a_session_goes_on_from_what_its_last_call_left() -> None:
    async with made_stage() as stage:
        _, left = await _base(stage)
        await _left(stage, left)
        assert await _begun_on(stage) == left


@pytest.mark.parametrize("otherwise", [{"actor": "web:bob"}, {"status": CallStatus.ERROR}], ids=str)
async def test_work_of_another_one_and_work_that_failed_are_passed_over(otherwise: dict[str, Any]) -> None:
    async with made_stage() as stage:
        branch, left = await _base(stage)
        await _left(stage, left, **otherwise)
        assert await _begun_on(stage) == branch


async def test_a_commit_that_is_gone_is_no_ground() -> None:
    async with made_stage() as stage:
        branch, _ = await _base(stage)
        await _left(stage, Sha("9" * 40))
        assert await _begun_on(stage) == branch
