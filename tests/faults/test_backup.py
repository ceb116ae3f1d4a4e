"""The home is lost, and there is a backup: it was written while a daemon worked, and another daemon goes on from it."""

import contextlib
import signal
import sqlite3
from pathlib import Path

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.database import open_reader
from tests.faults.campaign import Campaign, under_fire
from tests.faults.served import At, asked, served
from tests.world import REPO

S, P = JobState, Failpoint


async def test_jobs_in_every_kind_of_state_end_as_they_should_after_a_restore() -> None:
    async with under_fire() as told:
        issues = {title: await told.issue(title) for title in ("holds", "blocked", "plain")}
        file = told.world.root / "backup.tar.gz"
        async with served(told) as daemon:
            await daemon.until_state(issues["holds"], S.RUNNING)
            await daemon.until_state(issues["blocked"], S.WAITING)
            await daemon.until_state(issues["plain"], S.IN_REVIEW)
            await daemon.until(told.world.is_holding)
            told.world.forge.fail("git/receive-pack", kind="500", times=1000)
            issues["breaks first"] = await told.issue("breaks first")
            await daemon.until(lambda: _has_unpushed(told, issues["breaks first"]))
            await told.command("backup", str(file))
        for process in ("j1-work-1", "j2-work-1", "j3-work-1", "j4-work-1"):
            await told.world.kill_session(process)
        told.world.forge.wire.faults.pending.clear()
        before = {title: told.job(issue) for title, issue in issues.items()}
        told.place.home.rename(told.world.root / "lost")
        await told.command("restore", str(file))
        await told.command("ledger", "verify")
        (told.world.root / "go").touch()
        await told.settle()
        assert told.expect(issues["plain"], S.IN_REVIEW).head_sha == before["plain"].head_sha
        kept = told.expect(issues["breaks first"], S.IN_REVIEW)
        assert (kept.revision, kept.losses) == (1, 0), (
            "the commit that only the backup had was judged, not made again"
        )
        held = told.expect(issues["holds"], S.IN_REVIEW)
        assert (held.revision, "session_lost" in told.events(issues["holds"])) == (0, True)
        told.expect(issues["blocked"], S.WAITING)
        [decision] = told.waiting()
        await told.command("decisions", "answer", str(decision), "drop")
        await told.settle()
        told.expect(issues["blocked"], S.CANCELLED)
        await told.check()


def _has_unpushed(told: Campaign, issue: int) -> bool:
    def look(connection: sqlite3.Connection) -> bool:
        found = [job for job in jobs.all_jobs(connection) if job.issue.number == issue]
        return any(job.head_sha and job.pushed_sha != job.head_sha and job.reason for job in found)

    return asked(told, look, False)


async def test_a_backup_beside_a_job_that_ended_since_does_not_begin_it_again() -> None:
    async with under_fire() as told:
        issue = await told.issue("plain")
        file = told.world.root / "backup.tar.gz"
        async with served(told, At(point=P.CHECK_PREPARED, signals=(signal.SIGKILL,))) as daemon:
            await daemon.code()
        await told.command("backup", str(file))
        await told.settle()
        pull = told.expect(issue, S.IN_REVIEW).pull_number or 0
        await told.world.forge.merge(REPO, pull)
        await told.settle()
        told.expect(issue, S.COMPLETED)
        told.place.home.rename(told.world.root / "lost")
        await told.command("restore", str(file))
        await told.settle()
        told.expect(issue, S.COMPLETED)
        assert [item.number for item in told.world.forge.pulls(REPO)] == [pull]


async def test_what_a_restored_home_cannot_know_is_asked_and_not_done_twice() -> None:
    """A backup from before the work began, and the work is at the forge."""
    async with under_fire() as told:
        issue = await told.issue("plain")
        file = told.world.root / "backup.tar.gz"
        async with served(told, At(point=P.JOB_CLAIMED, signals=(signal.SIGKILL,))) as daemon:
            await daemon.code()
        await told.command("backup", str(file))
        await told.settle()
        told.expect(issue, S.IN_REVIEW)
        told.place.home.rename(told.world.root / "lost")
        await told.command("restore", str(file), "--json")
        await told.settle()
        told.expect(issue, S.WAITING)
        assert _subjects(told.place.home / "overlord.db") == [Subject.FOUND_WORK]
        assert len(told.world.forge.pulls(REPO)) == 1


def _subjects(database: Path) -> list[Subject]:
    with contextlib.closing(open_reader(database)) as connection:
        return [decision.subject for decision in decisions.waiting(connection)]
