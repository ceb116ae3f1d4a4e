"""Sessions: prepared by dispatch, opened by the session API keeper, started by the tick, ended by what the runner says."""

import sqlite3
from datetime import datetime

from minion.protocol import NATIVE, CheckReport, Report, SessionKind
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.job import Job
from overlord.domain.session import Session, SessionState, StopReason
from overlord.errors import NotFound
from overlord.store import ledger
from overlord.store.rows import insert, select, update


def count(connection: sqlite3.Connection, job_id: int, kind: SessionKind) -> int:
    """How many sessions of this kind the job has had."""
    query = "SELECT count(*) FROM sessions WHERE job_id = ? AND kind = ?"
    return int(connection.execute(query, (job_id, kind)).fetchone()[0])


def summaries(connection: sqlite3.Connection, job_id: int) -> tuple[str, ...]:
    """What the job's work sessions said they did, oldest first."""
    reports = (session.report for session in of_job(connection, job_id))
    return tuple(report.summary for report in reports if isinstance(report, Report) and report.summary)


def count_since(connection: sqlite3.Connection, job_id: int, kind: SessionKind, since: datetime) -> int:
    """How many sessions of this kind the job has had from a moment on."""
    found = (session for session in of_job(connection, job_id) if session.kind is kind)
    return sum(session.prepared_at >= since for session in found)


def prepare(connection: sqlite3.Connection, session: Session, *, agent_by: str = "") -> None:
    """Write a session's row and fact; the keeper opens its session API when it sees the row. `agent_by` says who chose its agent."""
    agent: dict[str, Json] = {} if session.agent == NATIVE else {"agent": session.agent, "agent_by": agent_by}
    insert(connection, "sessions", {name: getattr(session, name) for name in session.__dataclass_fields__})
    ledger.append(
        connection,
        LedgerEvent(
            name=EventName.SESSION_PREPARED,
            at=session.prepared_at,
            job_id=session.job_id,
            data={
                "session": session.id,
                "kind": session.kind,
                "role": session.role,
                "scope": session.scope,
                "branch": session.branch,
                **agent,
            },
        ),
    )


def get(connection: sqlite3.Connection, session_id: str) -> Session:
    """Raises NotFound."""
    found = select(connection, Session, "SELECT * FROM sessions WHERE id = ?", session_id)
    if not found:
        raise NotFound(f"there is no session {session_id}")
    return found[0]


def live_of(connection: sqlite3.Connection, job_id: int) -> Session | None:
    """The job's one session that has not ended."""
    query = "SELECT * FROM sessions WHERE job_id = ? AND state != 'ended'"
    return next(iter(select(connection, Session, query, job_id)), None)


def last_of(connection: sqlite3.Connection, job_id: int, kind: SessionKind) -> Session | None:
    """The job's latest session of a kind."""
    query = "SELECT * FROM sessions WHERE job_id = ? AND kind = ? ORDER BY rowid DESC LIMIT 1"
    return next(iter(select(connection, Session, query, job_id, kind)), None)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Session]:
    """Every session of a job, oldest first."""
    return select(connection, Session, "SELECT * FROM sessions WHERE job_id = ? ORDER BY rowid", job_id)


def live(connection: sqlite3.Connection) -> list[Session]:
    """Every session that has not ended, oldest first."""
    # By `+rowid`, SQLite finds the few by their index and sorts them, instead of reading every session there ever was.
    return select(connection, Session, "SELECT * FROM sessions WHERE state != 'ended' ORDER BY +rowid")


def live_ids(connection: sqlite3.Connection) -> dict[int, str]:
    """The session that has not ended, of each job that has one; each has one at most."""
    rows = connection.execute("SELECT job_id, id FROM sessions WHERE state != 'ended'")
    return {row["job_id"]: row["id"] for row in rows}


def uncleared(connection: sqlite3.Connection) -> list[Session]:
    """Ended sessions whose container and repository may still be there. Of a review that is being made they are needed."""
    query = """SELECT * FROM sessions WHERE state = 'ended' AND NOT cleared AND NOT (
                 kind = 'review'
                 AND rowid = (SELECT max(rowid) FROM sessions AS own WHERE own.job_id = sessions.job_id AND own.kind != 'draft')
                 AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = job_id AND jobs.state = 'evaluating'))"""
    return select(connection, Session, query)


def mark(connection: sqlite3.Connection, session_id: str, **changes: object) -> None:
    """Change columns that are hints (door opened, heartbeat, progress) and leave no event."""
    update(connection, "sessions", session_id, changes)


def start(connection: sqlite3.Connection, session: Session, *, at: datetime) -> None:
    """The runner has it. The job's own move, if there is one, is the caller's, in the same transaction."""
    update(
        connection,
        "sessions",
        session.id,
        {"state": SessionState.STARTED, "started_at": at, "heartbeat_at": at},
    )


def end(connection: sqlite3.Connection, session: Session, *, at: datetime, ending: str) -> None:
    """Nothing of it runs any more."""
    update(
        connection, "sessions", session.id, {"state": SessionState.ENDED, "ended_at": at, "ending": ending}
    )
    ledger.append(
        connection,
        LedgerEvent(
            name=EventName.SESSION_ENDED,
            at=at,
            job_id=session.job_id,
            data={"session": session.id, "ending": ending, "stopped_for": session.stop_reason},
        ),
    )


def take_report(connection: sqlite3.Connection, session_id: str, report: Report | CheckReport) -> bool:
    """Store a session's one report. True when it is stored, or the very same one was before; False for a second one."""
    session = get(connection, session_id)
    if session.report is not None:
        return session.report == report
    if session.state is SessionState.ENDED:
        return False
    update(connection, "sessions", session_id, {"report": report})
    return True


def stop_because(connection: sqlite3.Connection, session_id: str, reason: StopReason) -> None:
    """Remember why we are about to stop it; the first reason stays."""
    connection.execute(
        "UPDATE sessions SET stop_reason = coalesce(stop_reason, ?) WHERE id = ?", (reason, session_id)
    )


def started_running(connection: sqlite3.Connection) -> int:
    """How many sessions the runner has or is about to get: what `sessions.concurrent` limits."""
    return int(connection.execute("SELECT count(*) FROM sessions WHERE state != 'ended'").fetchone()[0])


def running_by_space(connection: sqlite3.Connection) -> dict[str, int]:
    """The same for each space that has any."""
    query = """SELECT jobs.space, count(*) AS many FROM sessions JOIN jobs ON jobs.id = sessions.job_id
               WHERE sessions.state != 'ended' GROUP BY jobs.space"""
    return {row["space"]: row["many"] for row in connection.execute(query)}


def spaces_setting_up(connection: sqlite3.Connection) -> frozenset[str]:
    """The spaces of which an environment is being set up."""
    query = """SELECT DISTINCT jobs.space FROM sessions JOIN jobs ON jobs.id = sessions.job_id
               WHERE sessions.state != 'ended' AND sessions.kind = 'setup'"""
    return frozenset(row["space"] for row in connection.execute(query))


def work_time_s(connection: sqlite3.Connection, job: Job) -> float:
    """Wall time of the job's ended sessions, in seconds."""
    return sum(
        max((session.ended_at - session.started_at).total_seconds(), 0.0)
        for session in of_job(connection, job.id)
        if session.started_at and session.ended_at
    )
