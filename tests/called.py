"""A call of a discipline, as its caller makes it: asked for, and waited for."""

from functools import partial
from typing import Any

from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.identifiers import NO_COMMIT, RepositoryName, Sha
from overlord.failpoints import Failpoint
from overlord.store.disciplines import calls
from overlord.verbs.calls import Ground, request_call
from tests.world import REPO, World

ACTOR = "mcp:ada"


async def request(
    world: World, discipline: str, *, base_sha: str = NO_COMMIT, branch: str = "", **arguments: Any
) -> Call:
    """Ask for one, on a branch of the repository or on a commit over a caller's files."""
    parts = world.overlord.parts
    ground = Ground(space=RepositoryName(REPO), base_branch="main", branch=branch, base_sha=Sha(base_sha))
    given = {"project_root": REPO, **arguments}
    made = await parts.database.write(
        Failpoint.CALL_REQUESTED,
        partial(
            request_call,
            discipline=DisciplineName(discipline),
            arguments=given,
            ground=ground,
            settings=parts.settings,
            actor=ACTOR,
            at=parts.clock.now(),
        ),
    )
    parts.notify()
    return made


async def current(world: World, call: Call) -> Call:
    return await world.overlord.parts.database.read(lambda c: calls.get(c, call.id))


async def ended(world: World, call: Call) -> Call:
    """The call once it has ended."""

    async def is_over() -> bool:
        return (await current(world, call)).state is not CallState.OPEN

    await world.until(is_over)
    return await current(world, call)


async def called(world: World, discipline: str, **arguments: Any) -> Call:
    """Ask for one and wait for what becomes of it."""
    return await ended(world, await request(world, discipline, **arguments))
