"""Sessions in rows: one that lives for each job, one report each, and when one is overdue."""

import json
import sqlite3
from functools import partial

import pytest

from minion.protocol import CheckReport, Outcome, Report, SessionKind, StepOutcome, StepResult
from overlord.domain.session import SessionState, StopReason
from overlord.errors import NotFound
from overlord.store import jobs, ledger, sessions
from overlord.store.database import Database
from tests.records import NOW, a_session, later
from tests.stored import claim, prepare

DONE = Report(outcome=Outcome.COMPLETE, summary="{done} [1]", learnings=("a", "b"), turns=3)


async def test_a_prepared_session_is_read_back_as_it_was_written(database: Database) -> None:
    job = await database.write("by hand", claim)
    session = await database.write("by hand", lambda c: prepare(c, job))
    assert session == a_session(job)
    *_, entry = await database.read(lambda c: list(ledger.entries(c, job_id=job.id)))
    assert entry.name == "session_prepared"
    assert json.loads(entry.data) == {
        "session": "j1-work-1",
        "kind": "work",
        "role": "minion",
        "scope": session.scope,
        "branch": session.branch,
    }


async def test_a_job_has_one_live_session(database: Database) -> None:
    job = await database.write("by hand", claim)
    first = await database.write("by hand", lambda c: prepare(c, job))
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        await database.write("by hand", lambda c: prepare(c, job, ordinal=2))
    await database.write("by hand", lambda c: sessions.end(c, first, at=NOW, ending="exited"))
    second = await database.write("by hand", lambda c: prepare(c, job, ordinal=2))
    assert await database.read(lambda c: sessions.live_of(c, job.id)) == second


async def test_a_session_needs_its_job(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        await database.write("by hand", lambda c: sessions.prepare(c, a_session()))


async def test_a_session_from_start_to_end(database: Database) -> None:
    session = await database.write("by hand", prepare)
    await database.write("by hand", lambda c: sessions.start(c, session, at=later(1)))
    started = await database.read(lambda c: sessions.get(c, session.id))
    assert (started.state, started.started_at, started.heartbeat_at) == (
        SessionState.STARTED,
        later(1),
        later(1),
    )
    await database.write("by hand", lambda c: sessions.stop_because(c, session.id, StopReason.SILENT))
    await database.write("by hand", lambda c: sessions.stop_because(c, session.id, StopReason.JOB_CLOSED))
    stopped = await database.read(lambda c: sessions.get(c, session.id))
    assert stopped.stop_reason is StopReason.SILENT, "the first reason stays"
    await database.write("by hand", lambda c: sessions.end(c, stopped, at=later(61), ending="stopped: by us"))
    ended = await database.read(lambda c: sessions.get(c, session.id))
    assert (ended.state, ended.ended_at, ended.ending) == (SessionState.ENDED, later(61), "stopped: by us")
    *_, entry = await database.read(lambda c: list(ledger.entries(c)))
    assert json.loads(entry.data) == {
        "session": session.id,
        "ending": "stopped: by us",
        "stopped_for": "silent",
    }
    job = await database.read(lambda c: jobs.get(c, session.job_id))
    assert await database.read(lambda c: sessions.work_time_s(c, job)) == 60


STEP = StepResult(
    name="tests", outcome=StepOutcome.RAN, exit_code=1, junit="<x/>", output="[]", duration_s=0.25
)


@pytest.mark.parametrize(
    ("kind", "report", "other"),
    [
        (SessionKind.WORK, DONE, Report(outcome=Outcome.COMPLETE, summary="something else")),
        (SessionKind.CHECK, CheckReport(steps=(STEP,)), CheckReport(steps=())),
    ],
)
async def test_a_session_reports_once(
    database: Database, kind: SessionKind, report: Report | CheckReport, other: Report | CheckReport
) -> None:
    session = await database.write("by hand", lambda c: prepare(c, kind=kind))
    assert await database.write("by hand", lambda c: sessions.take_report(c, session.id, report))
    assert await database.write("by hand", lambda c: sessions.take_report(c, session.id, report)), (
        "the same again is fine"
    )
    assert not await database.write("by hand", lambda c: sessions.take_report(c, session.id, other))
    assert (await database.read(lambda c: sessions.get(c, session.id))).report == report


async def test_an_ended_session_reports_no_more(database: Database) -> None:
    session = await database.write("by hand", prepare)
    await database.write("by hand", lambda c: sessions.end(c, session, at=NOW, ending="killed"))
    assert not await database.write("by hand", lambda c: sessions.take_report(c, session.id, DONE))
    assert (await database.read(lambda c: sessions.get(c, session.id))).report is None


async def test_sessions_are_found_by_what_they_are(database: Database) -> None:
    job = await database.write("by hand", claim)
    first = await database.write("by hand", lambda c: prepare(c, job))
    await database.write("by hand", lambda c: sessions.end(c, first, at=NOW, ending="exited"))
    check = await database.write(
        "by hand", lambda c: prepare(c, job, SessionKind.CHECK, prepared_at=later(10))
    )
    other = await database.write("by hand", lambda c: prepare(c, claim(c, 8)))

    def found(connection: sqlite3.Connection) -> list[list[str]]:
        return [
            [item.id for item in sessions.of_job(connection, job.id)],
            [item.id for item in sessions.live(connection)],
        ]

    assert await database.read(found) == [[first.id, check.id], [check.id, other.id]]
    last = await database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
    assert last is not None
    assert last.id == first.id
    assert await database.read(lambda c: sessions.last_of(c, other.job_id, SessionKind.CHECK)) is None
    assert await database.read(sessions.started_running) == 2
    assert await database.read(lambda c: sessions.count_since(c, job.id, SessionKind.CHECK, later(10))) == 1
    assert await database.read(lambda c: sessions.count_since(c, job.id, SessionKind.CHECK, later(11))) == 0


async def test_what_the_sessions_of_a_job_said_they_did_is_known_in_order(database: Database) -> None:
    job = await database.write("by hand", claim)

    def reported(connection: sqlite3.Connection, ordinal: int, summary: str) -> None:
        report = Report(outcome=Outcome.COMPLETE, summary=summary)
        prepare(connection, job, ordinal=ordinal, report=report, state=SessionState.ENDED)

    for ordinal, summary in enumerate(("first", "", "third"), start=1):
        await database.write("by hand", partial(reported, ordinal=ordinal, summary=summary))
    checked = CheckReport(steps=(STEP,))
    await database.write("by hand", lambda c: prepare(c, job, SessionKind.CHECK, report=checked))
    assert await database.read(lambda c: sessions.summaries(c, job.id)) == ("first", "third")


async def test_an_unknown_session_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match="there is no session j9-work-1"):
        await database.read(lambda c: sessions.get(c, "j9-work-1"))
