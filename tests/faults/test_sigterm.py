"""SIGTERM in every state of a job and of its sessions: the daemon ends in order, sessions go on, and the next one finishes.

A second SIGTERM ends it as it stands, and nothing is lost by that either.
"""

import signal
import sqlite3
from collections.abc import Sequence

import pytest

from overlord.domain.job import JobState
from overlord.entrypoints.daemon import CUT_SHORT
from overlord.failpoints import Failpoint, Moment
from overlord.store import decisions
from tests.faults.campaign import Campaign, under_fire
from tests.faults.served import At, asked, served

P, S = Failpoint, JobState
TWICE = (signal.SIGTERM, signal.SIGINT)
"""Told twice: two of one kind at once may arrive as one."""
ONCE_AT = (
    P.DAEMON_STARTED,
    P.JOB_CLAIMED,
    P.WORK_PREPARED,
    P.WORK_STARTED,
    P.EXCHANGE_RESERVED,
    P.REPORT_TAKEN,
    P.EVALUATION_BEGUN,
    P.CHECK_STARTED,
    P.SESSION_SEALED,
    P.VERDICT_WRITTEN,
    P.OPEN_PULL,
    P.JOB_DELIVERED,
)
"""One point at least in each state a job goes through, and in each a session goes through."""
TWICE_AT = (P.WORK_PREPARED, P.EXCHANGE_RESERVED, P.PUSH, P.ADD_COMMENT)


@pytest.mark.parametrize("points", [ONCE_AT[:4], ONCE_AT[4:8], ONCE_AT[8:]], ids=" ".join)
async def test_a_daemon_told_to_stop_ends_in_order_and_the_next_one_finishes(
    points: Sequence[Failpoint],
) -> None:
    async with under_fire() as told:
        for point in points:
            issue = await told.issue("plain")
            async with served(told, At(point=point)) as daemon:
                assert await daemon.code() == 0, f"{point}\n{told.log()}"
            assert "Traceback" not in told.log(), f"{point}\n{told.log()}"
            await _finished(told, issue)
        await told.check()


async def test_a_daemon_told_twice_ends_at_once_and_the_next_one_finishes() -> None:
    async with under_fire() as told:
        for point in TWICE_AT:
            issue = await told.issue("plain")
            async with served(told, At(point=point, moment=Moment.BEFORE, signals=TWICE)) as daemon:
                assert await daemon.code() == CUT_SHORT, f"{point}\n{told.log()}"
            assert "Traceback" not in told.log(), f"{point}\n{told.log()}"
            await _finished(told, issue)
        await told.check()


async def _finished(told: Campaign, issue: int) -> None:
    await told.settle()
    job = told.expect(issue, S.IN_REVIEW)
    assert (job.revision, job.losses) == (0, 0)


RESTING = (
    ("holds", S.RUNNING, S.IN_REVIEW),
    ("asks", S.RUNNING, S.IN_REVIEW),
    ("blocked", S.WAITING, S.WAITING),
    ("plain", S.IN_REVIEW, S.IN_REVIEW),
)


def _questions(told: Campaign) -> list[int]:
    def find(connection: sqlite3.Connection) -> list[int]:
        return [item.id for item in decisions.waiting(connection) if item.session_id]

    return asked(told, find, list[int]())


async def test_what_rests_when_a_daemon_is_told_to_stop_is_found_again() -> None:
    async with under_fire() as told:
        issues = {title: await told.issue(title) for title, _, _ in RESTING}
        # All at once: two sessions run on, and two jobs are in people's hands.
        async with served(told, sessions={"concurrent": 4}) as daemon:
            for title, state, _ in RESTING:
                await daemon.until_state(issues[title], state)
            await daemon.until(lambda: daemon.sees(lambda c: len(decisions.waiting(c)) == 2))
            await daemon.stopped()
        (told.world.root / "go").touch()
        async with served(told, sessions={"concurrent": 4}) as daemon:
            await daemon.until_serving()
            [question] = _questions(told)
            await told.command("decisions", "answer", str(question), "reply", "yes")
            for title, _, end in RESTING:
                await daemon.until_state(issues[title], end)
            await daemon.stopped()
        await told.settle()  # it may have been stopped before all was told at the forge
        for title, _, end in RESTING:
            job = told.expect(issues[title], end)
            assert (job.revision, job.losses) == (0, 0)
        await told.check()


async def test_what_does_not_end_is_waited_for_no_longer_than_an_engine_waits() -> None:
    async with under_fire(forge={"timeout_s": 300}) as told:
        told.world.forge.fail("pulls/create", kind="timeout-before", times=1)
        issue = await told.issue("plain")
        async with served(told, At(point=P.OPEN_PULL, moment=Moment.BEFORE)) as daemon:
            assert await daemon.code(within_s=180) == 0, told.log()
        await _finished(told, issue)
        await told.check()
