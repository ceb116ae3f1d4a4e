"""A world of many small repositories, each with one labelled issue: as many cases at once, told by the played session.

Every story here must end as it does without a fault: `lost` says what is otherwise. `start` lets stand-ins stand before
the ports of the Overlord that is started; nothing in it waits for real seconds.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from minion.protocol import SessionKind
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.decision import Decision, Verb
from overlord.domain.job import Job, JobState
from overlord.domain.launch import Launch
from overlord.domain.repositories.forge import Pull
from overlord.domain.session import Account, Session
from overlord.embedded.play import say
from overlord.engine.tick import Tick
from overlord.home import Home
from overlord.session_api.gateway.assistant import GatewayAssistant
from overlord.session_api.server import SessionApiServer
from overlord.store import decisions, jobs, sessions
from overlord.store.database import open_reader
from overlord.store.spaces import spaces
from tests.faults.player import OPENING, played
from tests.world import CALC, World, made_world

TITLE = "add() subtracts"
MOST_POLLS = 30
"""After which a story that is not through will never be."""
StandIns = Mapping[str, Callable[[Any], Any]]
"""For each of `forge`, `git`, `runner`, `assistant`, `database` and `model`: what is put before it."""
_SESSION = re.compile(r"j(\d+)-")


@contextlib.asynccontextmanager
async def made_spaces(count: int, title: str = TITLE, **overrides: Any) -> AsyncIterator[World]:
    """A world with repositories `acme/s1` to `acme/s<count>`. Without a title there are no issues."""
    async with made_world(**overrides) as world:
        names = [name_of(number) for number in range(1, count + 1)]
        world.overrides |= {"repositories": names, "process": {"python": played(world.root)}}
        world.overrides["sessions"] = {"grace_s": 1, "concurrent": 2 * count}
        for name in names:
            await world.forge.create_repository(name, files=CALC)
            if title:
                await world.forge.open_issue(name, title, "", labels=["nebulus-ready"])
        world.model_will(say("Go on."), when=OPENING)
        yield world


def name_of(number: int) -> str:
    return f"acme/s{number}"


async def start(world: World, stand_ins: StandIns, *, timeout_s: float = 20.0) -> None:
    """Start the Overlord with these before its ports, and a forge adapter that repeats reads without waiting."""
    await world.start()
    running, stack = world._running, world._stack
    assert running is not None
    forge = _signed_in(world, timeout_s)
    stack.push_async_callback(forge.close)

    def before(port: str, given: Any) -> Any:
        return stand_ins[port](given) if port in stand_ins else given

    database = before("database", running.parts.database)
    model = before("model", running.session_api.parts.model)
    session_api = SessionApiServer(
        replace(running.session_api.parts, database=database, model=model, pause=_no_pause)
    )
    stack.push_async_callback(session_api.close)
    parts = replace(
        running.parts,
        database=database,
        forge=before("forge", forge),
        git=before("git", running.parts.git),
        runner=before("runner", running.parts.runner),
        assistant=before("assistant", GatewayAssistant(session_api.parts)),
    )
    tick = Tick(parts)
    stack.push_async_callback(tick.close)
    world._running = replace(running, parts=parts, session_api=session_api, tick=tick)


def _signed_in(world: World, timeout_s: float) -> GitHubForge:
    at = world.settings().forge
    asked: dict[str, Any] = {"base_url": world.forge_url, "timeout_s": timeout_s, "retry_wait_s": 0.001}
    if not at.app_id:
        return GitHubForge.with_token(world.forge.token, **asked)
    return GitHubForge.with_app(at.app_id, at.private_key.get_secret_value(), now=world.clock.now, **asked)


async def _no_pause(_seconds: float) -> None:
    await asyncio.sleep(0)


def space_finder(world: World) -> Callable[[object], str | None]:
    """Which space a port's first argument is about; None when it is about none."""

    @cache
    def of_job(number: int) -> str:
        with contextlib.closing(open_reader(Home(world.root / "home").database)) as connection:
            return jobs.get(connection, number).space

    def find(given: object) -> str | None:
        if isinstance(given, Account | Launch):
            return given.space
        if isinstance(given, Pull):
            return "/".join(given.url.split("/")[-4:-2])
        if isinstance(given, Session):
            return of_job(given.job_id)
        if isinstance(given, str) and "/" in given:
            return given
        session = _SESSION.match(given) if isinstance(given, str) else None
        return of_job(int(session[1])) if session else None

    return find


async def job_of(world: World, space: str) -> Job | None:
    found = [job for job in await world.jobs() if job.space == space]
    return found[0] if found else None


async def trouble_of(world: World, space: str) -> str:
    """Everything a person is told of why this space's story does not go on."""
    job = await job_of(world, space)
    told = [(await world.read(lambda c: spaces.get(c, space))).trouble]
    if job is not None:
        told += [job.reason, *(f"{item.title} {item.body}" for item in await _asked(world, job))]
    return "\n".join(filter(None, told))


async def _asked(world: World, job: Job) -> list[Decision]:
    return list(await world.read(lambda c: decisions.waiting(c, job.id)))


async def answer_all(world: World) -> None:
    """A person lets everything be tried again."""
    for decision in await world.decisions():
        again = [verb for verb in (Verb.RETRY, Verb.REDELIVER) if verb in decision.verbs]
        assert again, f"nobody can let it be tried again: {decision}"
        await world.answer(decision, again[0])


async def is_through(world: World, space: str, end: JobState = JobState.IN_REVIEW) -> bool:
    """Whether this space's story has come to its end; one that is over shows it, and has left nothing behind."""
    job = await job_of(world, space)
    if job is None or job.state is not end:
        return False
    if job.is_open:
        return True
    left = [*await world.read(jobs.unprojected_closed), *await world.read(jobs.with_remains)]
    return job.id not in [other.id for other in left]


async def all_through(world: World, spaces: Collection[str], end: JobState = JobState.IN_REVIEW) -> None:
    """Until these stories are, however often a poll fails before there is a job; or until that is not to be expected any more."""
    for _ in range(MOST_POLLS):
        await world.settle()
        if all([await is_through(world, space, end) for space in spaces]):
            break
    await world.settle()


async def merge_all(world: World, spaces: Collection[str]) -> None:
    """Somebody merges what these stories have led to."""
    for space in spaces:
        for pull in world.forge.pulls(space):
            await world.forge.merge(space, pull.number)


async def lost(
    world: World, space: str, *, losses: bool = False, end: JobState = JobState.IN_REVIEW
) -> list[str]:
    """How this space's story ended otherwise than it does without a fault. `losses`: sessions may have been lost."""
    mine = [job for job in await world.jobs() if job.space == space]
    if len(mine) != 1:
        return [f"{len(mine)} jobs; {await trouble_of(world, space)}"]
    job = mine[0]
    if job.state is not end:
        return [f"it is {job.state}: {await trouble_of(world, space)}"]
    made = await world.read(lambda c: sessions.of_job(c, job.id))
    found = [f"{job.revision} revisions"] * bool(job.revision)
    for kind in (SessionKind.WORK, SessionKind.CHECK):
        count = sum(session.kind is kind for session in made)
        found += [f"{count} {kind} sessions"] * (count != 1 and not losses)
    pulls = world.forge.pulls(space)
    if [(pull.draft, pull.open, pull.head_sha) for pull in pulls] != [(False, job.is_open, job.head_sha)]:
        found.append(f"pull requests {pulls}")
    issue = world.forge.issue(space, job.issue.number)
    if (issue.open, issue.labels) != (job.is_open, ("in-review",) * job.is_open):
        found.append(f"an issue that is {'open' if issue.open else 'closed'}, with labels {issue.labels}")
    comments = len(world.forge.comments(space, job.issue.number))
    found += [f"{comments} comments"] * (comments != 1)
    found += [f"its reason is still {job.reason!r}"] * bool(job.reason)
    return found
