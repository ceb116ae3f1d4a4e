"""What a pass takes up: all that can move, however many jobs there are, and nothing that cannot."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.domain.decision import DecisionState, Subject, Verb
from overlord.domain.job import JobId, JobState
from overlord.domain.question import ask
from overlord.engine import due
from overlord.engine.due import Due
from overlord.engine.issues.projection import projection_key
from overlord.engine.sessions import capacity
from overlord.store import decisions, jobs, sessions
from overlord.store.rows import update
from overlord.store.spaces import spaces
from tests.memory.world import made_memory_world
from tests.records import BASE, a_session, an_issue, contract
from tests.world import REPO, World

OTHER = "acme/other"
DAY_S = 24 * 3600


@dataclass
class Ground:
    """Rows put there by hand, and what a pass would make of them."""

    world: World
    count: int = 0

    async def write(self, act: Callable[[sqlite3.Connection], Any]) -> Any:
        return await self.world.overlord.parts.database.write("by hand", act)

    async def job(self, state: JobState, space: str = REPO, **given: object) -> JobId:
        """A job in this state, whose labels and comment stand at the forge as they should."""
        self.count += 1
        number, at = self.count, self.world.clock.now()

        def put(connection: sqlite3.Connection) -> JobId:
            job = jobs.claim(
                connection,
                space=space,
                issue=an_issue(number=number),
                base_branch="main",
                contract=contract(),
                at=at,
            )
            assert job is not None
            update(connection, "jobs", job.id, {"state": state, "base_sha": BASE, **given})
            key = projection_key(jobs.get(connection, job.id))
            jobs.repair(connection, job.id, projected=key)
            return job.id

        found: JobId = await self.write(put)
        return found

    async def live(self, job_id: JobId, kind: SessionKind = SessionKind.WORK) -> None:
        def put(connection: sqlite3.Connection) -> None:
            job = jobs.get(connection, job_id)
            sessions.prepare(connection, a_session(job, kind))

        await self.write(put)

    async def look(self, *, retried: tuple[JobId, ...] = (), delayed: tuple[JobId, ...] = ()) -> Due:
        parts = self.world.overlord.parts
        return await parts.database.read(lambda c: due.look(c, parts, retried=retried, delayed=delayed))

    async def due(self, **failed: tuple[JobId, ...]) -> list[int]:
        """The jobs a pass would take up."""
        return [job.id for job in (await self.look(**failed)).steps]


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    async with made_memory_world(repositories=[REPO, OTHER], sessions={"concurrent": 2}) as world:
        await world.start()
        yield Ground(world)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING])
async def test_what_moves_from_outside_is_looked_at_in_every_pass(ground: Ground, state: JobState) -> None:
    job = await ground.job(state)
    assert await ground.due() == [job]


async def test_a_pull_request_is_left_alone_between_polls(ground: Ground) -> None:
    await ground.job(JobState.IN_REVIEW, pull_number=3)
    assert await ground.due() == []


async def test_what_does_not_stand_at_the_forge_as_it_should_is_put_right_and_moves_nothing(
    ground: Ground,
) -> None:
    job = await ground.job(JobState.IN_REVIEW, pull_number=3)
    assert (await ground.look()).behind == []
    await ground.write(lambda c: jobs.repair(c, job, reason="something else is true now"))
    found = await ground.look()
    assert ([item.id for item in found.behind], found.steps) == ([job], [])


async def test_a_question_is_taken_up_once_it_is_answered_and_until_that_is_carried_out(
    ground: Ground,
) -> None:
    job = await ground.job(JobState.WAITING)
    at = ground.world.clock.now()
    asked = await ground.write(
        lambda c: decisions.raise_decision(c, ask(jobs.get(c, job), Subject.BLOCKED, "Which?", at=at))
    )
    assert await ground.due() == []
    answer = {"digest": asked.digest, "verb": Verb.RETRY, "text": "", "actor": "cli:alice", "at": at}
    decision = await ground.write(lambda c: decisions.answer(c, asked.id, **answer))
    assert decision.state is DecisionState.ANSWERED
    assert await ground.due() == [job]
    await ground.write(lambda c: decisions.mark_applied(c, decision))
    assert await ground.due() == []


async def test_queued_jobs_are_taken_up_oldest_first_as_far_as_there_is_room(ground: Ground) -> None:
    first, second, _third = [await ground.job(JobState.QUEUED) for _ in range(3)]
    assert await ground.due() == [first, second]
    await ground.live(first)
    assert await ground.due() == [first, second]
    await ground.live(second)
    assert await ground.due() == [first, second], "sessions of their own are to be started"


async def test_spaces_take_turns_however_many_wait_in_one(ground: Ground) -> None:
    mine = [await ground.job(JobState.QUEUED) for _ in range(50)]
    other = await ground.job(JobState.QUEUED, OTHER)
    assert await ground.due() == [mine[0], other]
    await ground.live(mine[0])
    assert await ground.due() == [mine[0], other], "the other space has none yet"


async def test_of_two_spaces_that_have_as_many_the_one_that_waited_longer_is_next(ground: Ground) -> None:
    await ground.live(await ground.job(JobState.RUNNING, "acme/third"))
    await ground.job(JobState.QUEUED)
    other = await ground.job(JobState.QUEUED, OTHER)
    await ground.write(lambda c: spaces.note_begun(c, REPO, at=ground.world.clock.now()))
    assert (await ground.due())[1:] == [other]


async def test_a_space_whose_environment_is_set_up_keeps_no_other_waiting(ground: Ground) -> None:
    first = await ground.job(JobState.QUEUED)
    await ground.live(first, SessionKind.SETUP)
    mine = [await ground.job(JobState.QUEUED) for _ in range(2)]
    other = await ground.job(JobState.QUEUED, OTHER)
    assert await ground.due() == [first, mine[0], other]


async def test_a_paused_space_and_a_job_that_is_put_off_leave_the_room_to_others(ground: Ground) -> None:
    await ground.job(JobState.QUEUED, OTHER)
    mine = [await ground.job(JobState.QUEUED) for _ in range(3)]
    await ground.write(lambda c: c.execute("INSERT INTO spaces (name, paused) VALUES (?, 1)", (OTHER,)))
    assert await ground.due(delayed=(mine[0],)) == mine[1:]


async def test_a_job_that_waits_for_others_pull_requests_is_taken_up_until_it_says_so(ground: Ground) -> None:
    parts = ground.world.overlord.parts
    for number in range(parts.settings.delivery.open_pulls - 1):
        await ground.job(JobState.IN_REVIEW, pull_number=100 + number)
    first, second = [await ground.job(JobState.QUEUED) for _ in range(2)]
    mine = await ground.job(JobState.QUEUED, pull_number=99)
    held = await ground.job(JobState.QUEUED, reason=capacity.no_pull_left(parts, REPO))
    assert await ground.due() == [first, second, mine], "the second is to say so"
    urgent = await ground.job(JobState.QUEUED, is_urgent=True)
    assert held not in (taken := await ground.due())
    assert urgent in taken


async def test_it_is_left_alone_while_no_session_may_be_started(ground: Ground) -> None:
    parts = ground.world.overlord.parts
    for number in range(parts.settings.delivery.open_pulls):
        await ground.job(JobState.IN_REVIEW, pull_number=100 + number)
    held = await ground.job(JobState.QUEUED)
    assert await ground.due() == [held]
    running = [await ground.job(JobState.RUNNING, OTHER) for _ in range(2)]
    for job_id in running:
        await ground.live(job_id)
    assert await ground.due() == running, "its step would find no room, and say nothing"


async def test_urgent_jobs_are_taken_up_first(ground: Ground) -> None:
    [first, _, _] = [await ground.job(JobState.QUEUED) for _ in range(3)]
    urgent = await ground.job(JobState.QUEUED, is_urgent=True)
    assert await ground.due() == [first, urgent]


async def test_what_failed_is_tried_again_whatever_its_state(ground: Ground) -> None:
    job = await ground.job(JobState.IN_REVIEW, pull_number=3)
    assert await ground.due(retried=(job,)) == [job]


async def test_a_job_whose_lifetime_is_over_is_taken_up_in_any_state(ground: Ground) -> None:
    job = await ground.job(JobState.WAITING)
    ground.world.clock.move(400 * DAY_S)
    assert await ground.due() == [job]
