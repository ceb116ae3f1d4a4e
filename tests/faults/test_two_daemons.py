"""Two daemons on one database, of which the first was suspended and its lock was lost: only the last one started goes on."""

import contextlib
import signal
import sqlite3

import pytest

from overlord.domain.job import JobState
from overlord.failpoints import Failpoint, Moment
from tests.faults.campaign import Campaign, under_fire
from tests.faults.served import At, Daemon, served

SUSPENDED = (signal.SIGSTOP,)
TAKEN_OVER = 7
P = Failpoint


async def _lose_lock(told: Campaign, suspended: Daemon) -> None:
    """A suspended daemon's lock is lost. It may have been in the middle of a commit of something else: nobody could write to
    its database then, so it goes on until that is over."""
    while _is_writing(told):
        suspended.send(signal.SIGCONT)
        await suspended.until(lambda: not _is_writing(told))
        suspended.send(signal.SIGSTOP)
        await suspended.until(lambda: suspended.is_suspended)
    (told.place.home / "overlord.lock").unlink()


def _is_writing(told: Campaign) -> bool:
    path = told.place.home / "overlord.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
    return False


IN_THE_MIDDLE = (
    (P.JOB_CLAIMED, Moment.AFTER),
    (P.WORK_PREPARED, Moment.AFTER),
    (P.START_SESSION, Moment.BEFORE),
    (P.EXCHANGE_RESERVED, Moment.AFTER),
    (P.REPORT_TAKEN, Moment.AFTER),
    (P.KEEP_COMMIT, Moment.AFTER),
    (P.CHECK_PREPARED, Moment.AFTER),
    (P.PUSH, Moment.BEFORE),
    (P.OPEN_PULL, Moment.BEFORE),
    (P.OPEN_PULL, Moment.AFTER),
    (P.VERDICT_WRITTEN, Moment.AFTER),
    (P.MARK_READY, Moment.BEFORE),
)
"""Before an act: the daemon has looked whether it is the last one, and does this one act when it is continued."""


@pytest.mark.parametrize("first", range(3))
async def test_a_daemon_that_was_suspended_and_replaced_ends_by_itself(first: int) -> None:
    async with under_fire() as told:
        for point, moment in IN_THE_MIDDLE[first::3]:
            await _replaced(told, At(point=point, moment=moment, signals=SUSPENDED))
        await told.check()


async def _replaced(told: Campaign, at: At) -> None:
    issue = await told.issue("plain")
    async with served(told, at) as old:
        await old.until(lambda: old.is_suspended)
        await _lose_lock(told, old)
        async with served(told) as new:
            await new.until_serving()
            old.send(signal.SIGCONT)
            assert await old.code() == TAKEN_OVER, f"{at}\n{told.log()}"
            assert "another Overlord daemon has taken over" in told.log()
            await new.until_state(issue, JobState.IN_REVIEW)
            await new.stopped()
    await told.settle()  # it may have been stopped before all was told at the forge
    job = told.expect(issue, JobState.IN_REVIEW)
    assert (job.revision, job.losses) == (0, 0), at


async def test_sessions_of_a_suspended_daemon_go_on_with_the_one_that_came_after() -> None:
    async with under_fire() as told:
        issue = await told.issue("holds")
        async with served(told) as first:
            await first.until(told.world.is_holding)
            first.send(signal.SIGSTOP)
            await first.until(lambda: first.is_suspended)
            await _lose_lock(told, first)
            async with served(told) as second:
                await second.until_serving()
                (told.world.root / "go").touch()
                await second.until_state(issue, JobState.IN_REVIEW)
                first.send(signal.SIGCONT)
                assert await first.code() == TAKEN_OVER, told.log()
                await second.stopped()
        await told.settle()
        await told.check()
        job = told.expect(issue, JobState.IN_REVIEW)
        assert (job.revision, job.losses) == (0, 0)


async def test_a_second_daemon_is_refused_while_a_suspended_one_holds_the_lock() -> None:
    async with under_fire() as told:
        issue = await told.issue("holds")
        async with served(told) as first:
            await first.until(told.world.is_holding)
            first.send(signal.SIGSTOP)
            async with served(told) as second:
                assert await second.code() == 6
            assert "another Overlord daemon is using" in told.log()
            first.send(signal.SIGCONT)
            (told.world.root / "go").touch()
            await first.until_state(issue, JobState.IN_REVIEW)
            await first.stopped()
        await told.settle()
        await told.check()
