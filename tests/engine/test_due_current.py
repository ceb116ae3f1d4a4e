"""What a pass takes up of jobs that a pause holds, and of spaces with issues that people want worked on."""

from functools import partial

from overlord.domain.job import JobState
from overlord.domain.pause import EVERYTHING, Pause
from overlord.engine.sessions import capacity
from overlord.store import jobs
from overlord.store.spaces import pauses, work_requests
from tests.engine.test_due import OTHER, Ground, ground  # noqa: F401 - the fixture
from tests.world import REPO


async def hold(ground: Ground, space: str) -> Pause:  # noqa: F811
    pause = Pause(space=space, actor="cli:alice", at=ground.world.clock.now(), reason="lunch")
    await ground.write(lambda c: pauses.add(c, pause))
    return pause


async def test_a_held_job_is_taken_up_until_it_says_so_and_leaves_the_room_to_others(ground: Ground) -> None:  # noqa: F811
    mine = [await ground.job(JobState.QUEUED) for _ in range(3)]
    other = await ground.job(JobState.QUEUED, OTHER)
    pause = await hold(ground, REPO)
    assert await ground.due() == [*mine, other], "they are to say so, room or not"
    for job in mine:
        assert await ground.write(partial(capacity.note_paused, job_id=job))
        assert not await ground.write(partial(capacity.note_paused, job_id=job)), "told before"
    assert await ground.due() == [other]
    assert (await ground.write(lambda c: jobs.get(c, mine[0]))).reason == pause.describe()
    await hold(ground, EVERYTHING)
    assert await ground.due() == [*mine, other], "it is another one's now"


async def test_what_is_not_held_or_not_queued_says_nothing(ground: Ground) -> None:  # noqa: F811
    queued, waiting = await ground.job(JobState.QUEUED, OTHER), await ground.job(JobState.WAITING)
    await hold(ground, REPO)
    for job in (queued, waiting):
        assert not await ground.write(partial(capacity.note_paused, job_id=job))


async def test_what_has_a_session_goes_on_under_a_pause(ground: Ground) -> None:  # noqa: F811
    job = await ground.job(JobState.QUEUED)
    await ground.live(job)
    await hold(ground, EVERYTHING)
    assert await ground.due() == [job]


async def test_a_wish_makes_its_space_due_also_one_that_is_none_of_ours(ground: Ground) -> None:  # noqa: F811
    at = ground.world.clock.now()
    await ground.write(
        lambda c: c.execute("INSERT INTO spaces (name, polled_at) VALUES (?, ?)", (REPO, at.isoformat()))
    )
    await ground.write(
        lambda c: c.execute("INSERT INTO spaces (name, polled_at) VALUES (?, ?)", (OTHER, at.isoformat()))
    )
    assert list((await ground.look()).polls) == []
    for space in (REPO, "acme/sold"):
        await ground.write(partial(work_requests.add, space=space, number=1, actor="cli:alice", at=at))
    assert list((await ground.look()).polls) == [REPO, "acme/sold"]
