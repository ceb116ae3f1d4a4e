"""Clocks that jump and machines that sleep: by that alone nothing is stopped, lost or expired, and polling goes on.

Durations are counted on the monotonic clock. The wall clock only dates things, with these promises: a job's lifetime is over
once the wall clock has said so for an hour; a day's budget belongs to its date, and a date's spending is never forgotten.
"""

import contextlib
import os
import signal
from typing import Any

from minion.protocol import SessionKind
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.session import Session
from overlord.embedded.play import say
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.store import decisions, sessions
from overlord.store.budgets import exchanges
from tests.faults.invariants import check_world
from tests.faults.player import OPENING, played
from tests.world import World, _processes_of, made_world

S = JobState
HOUR_S, YEAR_S = 3600, 365 * 86400
JUMPS = {"+1 hour": HOUR_S, "-1 hour": -HOUR_S, "-1 year": -YEAR_S, "+1 year": YEAR_S, "+1 more": YEAR_S}
"""One after the other: each begins where the one before it ended."""
TITLES = ("plain", "holds", "asks", "check waits", "blocked", "put off")
"""One job at each telling moment; each is its own job's number minus one here."""


@contextlib.asynccontextmanager
async def _everywhere() -> Any:
    """A world with a job in review, one whose session works, one that asks, one that is checked, one that waits for a
    person, and one whose step was put off."""
    async with made_world() as world:
        world.overrides |= {"process": {"python": played(world.root)}, "delivery": {"open_pulls": 100}}
        world.overrides["sessions"] = {"grace_s": 1, "concurrent": 10}
        world.model_will(*(say("Go on.") for _ in range(20)), when=OPENING)
        for title in TITLES[:-1]:
            await world.issue(title)
        await world.make_due()
        await world.until(lambda: _is_everywhere(world))
        world.forge.fail("pulls/create", kind="500", times=2)
        await world.issue(TITLES[-1])
        await world.make_due()
        await world.until(lambda: world.overlord.tick.next_delay_s() is not None)
        yield world


async def _is_everywhere(world: World) -> bool:
    states = [job.state for job in await world.jobs()]
    asked = [item.subject for item in await world.decisions()]
    live: list[Session] = await world.read(sessions.live)
    checked = any(item.kind is SessionKind.CHECK and item.started_at for item in live)
    return (
        states == [S.IN_REVIEW, S.RUNNING, S.RUNNING, S.EVALUATING, S.WAITING]
        and set(asked) == {Subject.QUESTION, Subject.BLOCKED}
        and checked
        and world.is_holding("j2-work-1")
    )


async def _standing(world: World) -> list[Any]:
    """What a jump must not change."""
    jobs = [(job.id, job.state, job.revision, job.losses) for job in await world.jobs()]
    live = [item for item in await world.read(sessions.live) if item.job_id < len(TITLES)]
    runs = [(item.id, item.state, item.stop_reason) for item in live]
    return [jobs[:-1], runs, [item.id for item in await world.decisions()]]


async def _end_well(world: World) -> None:
    """Let everything go on to its end."""
    [question] = [item for item in await world.decisions() if item.subject is Subject.QUESTION]
    await world.answer(question, Verb.REPLY, "yes")
    world.let_go()
    await world.settle()
    found = {job.issue.title: job for job in await world.jobs()}
    wanted = {title: S.WAITING if title == "blocked" else S.IN_REVIEW for title in TITLES}
    assert {title: job.state for title, job in found.items()} == wanted
    assert {(job.revision, job.losses) for job in found.values()} == {(0, 0)}
    assert "decision_expired" not in [name for number in range(1, 7) for name in await world.events(number)]
    await check_world(world)


def _polls(world: World) -> int:
    return sum("sort=updated&direction=desc" in line for line in world.forge.transcript().splitlines())


async def test_a_wall_clock_that_jumps_while_the_daemon_runs_changes_nothing() -> None:
    async with _everywhere() as world:
        before = await _standing(world)
        for jump, seconds in JUMPS.items():
            world.clock.jump(seconds)
            await world.until(lambda: True)
            polls = _polls(world)
            world.clock.move(interval_s(world.overlord.parts.settings) + 1)
            await world.until(lambda: True)
            assert _polls(world) == polls + 1, jump
            assert await _standing(world) == before, jump
        await _end_well(world)


async def test_a_wall_clock_that_jumps_between_two_daemons_changes_nothing() -> None:
    async with _everywhere() as world:
        before = await _standing(world)
        for jump, seconds in JUMPS.items():
            await world.stop()
            world.clock.jump(seconds)
            world.clock.restart()
            await world.make_due()
            await world.until(lambda: True)
            assert await _standing(world) == before, jump
        await _end_well(world)


async def test_a_machine_that_sleeps_for_a_night_goes_on_where_it_was() -> None:
    async with _everywhere() as world:
        before = await _standing(world)
        asleep = [
            pid for item in await world.read(sessions.live) for pid in _processes_of(item.id, world.root)
        ]
        assert asleep
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        world.clock.jump(9 * HOUR_S)
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
        await world.until(lambda: True)
        assert await _standing(world) == before
        await _end_well(world)


async def test_a_question_expires_by_what_was_waited_for_it() -> None:
    async with made_world(sessions={"grace_s": 1, "silent_s": 3600}) as world:
        world.overrides["process"] = {"python": played(world.root)}
        world.model_will(say("Go on."), when=OPENING)
        await world.issue("asks")
        await world.make_due()
        await world.until(lambda: world.read(lambda c: bool(decisions.waiting(c))))
        world.clock.jump(-YEAR_S)
        world.clock.move(world.settings().questions.wait_s - 1)
        await world.until(lambda: True)
        assert len(await world.decisions()) == 1
        world.clock.move(1)
        await world.settle()
        assert await world.decisions() == []
        assert (await world.job()).state is S.IN_REVIEW


async def test_a_date_that_comes_again_has_spent_what_it_has_spent() -> None:
    cap = {"day_tokens": 600, "completion_tokens": 500}
    async with made_world(budget=cap) as world:
        world.overrides["process"] = {"python": played(world.root)}
        world.model_will(*(say("Go on.") for _ in range(10)), when=OPENING)
        spent = []
        for jump in (0, YEAR_S, -YEAR_S, YEAR_S):
            world.clock.jump(jump)
            await _until_spent(world)
            spent.append((await world.read(lambda c: exchanges.day_cost(c, world.clock.now()))).tokens)
        # Each date lets as much be spent as it has, once.
        assert 0 < spent[0] <= cap["day_tokens"]
        assert spent[2] == spent[0]
        assert spent[3] == spent[1] > 0


async def _until_spent(world: World) -> None:
    """Open issues until one's session is refused by the day's budget."""
    while True:
        number = await world.issue("plain")
        await world.settle()
        job = next(job for job in await world.jobs() if job.issue.number == number)
        if job.state is S.WAITING:
            assert "today's budget" in job.reason
            return
