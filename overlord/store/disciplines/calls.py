"""Calls: asked for once, worked by a job without an issue, ended once with a result, each with its ledger event in the same transaction."""

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta

from minion.protocol import Issue, SessionKind
from overlord.domain.disciplines.call import Call, CallId, CallResult, CallState, read_ref
from overlord.domain.disciplines.history import HistoryEntry
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.text.plain import plain_line
from overlord.errors import NotFound, Refused
from overlord.store import jobs, ledger, sessions
from overlord.store.disciplines import history
from overlord.store.rows import adapter, insert, select, update

LIFETIME = timedelta(hours=6)
"""The longest that a call may take, whatever holds it up."""
CANCELLED = "it was cancelled"
"""Why the job of a call ended that somebody cancelled."""
MOST_OPEN = 20
"""Calls in one repository at once."""


def request(connection: sqlite3.Connection, call: Call, *, base_branch: str, title: str) -> Call:
    """Keep a new one with the job that works on it. `title` is one line for people. Raises Refused where too many are open."""
    query = "SELECT count(*) FROM calls WHERE space = ? AND state = ?"
    if connection.execute(query, (call.space, CallState.OPEN.value)).fetchone()[0] >= MOST_OPEN:
        raise Refused(
            f"{MOST_OPEN} calls are open in {call.space} already; wait for one of them, or cancel it"
        )
    columns = {
        name: getattr(call, name)
        for name in call.__dataclass_fields__
        if name not in {"id", "arguments", "result"}
    }
    columns["arguments"] = adapter(dict).dump_json(dict(call.arguments)).decode()
    call = replace(call, id=CallId(insert(connection, "calls", columns)))
    job = _begin_job(connection, call, base_branch=base_branch, title=title)
    update(connection, "calls", call.id, {"job_id": job.id})
    data: dict[str, Json] = {
        "call": call.ref,
        "discipline": call.discipline,
        "space": call.space,
        "session": call.session_key,
        "base": call.base_sha,
    }
    event = LedgerEvent(
        name=EventName.CALL_REQUESTED, at=call.created_at, actor=call.actor, job_id=job.id, data=data
    )
    ledger.append(connection, event)
    return get(connection, call.id)


def _begin_job(connection: sqlite3.Connection, call: Call, *, base_branch: str, title: str) -> Job:
    """The job of a call: its issue is at no forge, and its number is the call's, negative."""
    issue = Issue(number=-call.id, title=title, body="", author=call.actor)
    job = Job(
        id=JobId(0),
        space=call.space,
        issue=issue,
        state=JobState.QUEUED,
        branch=f"minion/call-{call.id}",
        base_branch=base_branch,
        contract="default",
        phase=call.kind.phase,
        created_at=call.created_at,
        updated_at=call.created_at,
        expires_at=call.created_at + LIFETIME,
        base_sha=call.base_sha or None,
        projected=JobState.QUEUED,
    )
    columns = {name: getattr(job, name) for name in job.__dataclass_fields__ if name != "id"}
    number = insert(connection, "jobs", {**columns, "issue_number": issue.number, "is_open": True})
    return jobs.get(connection, number)


def get(connection: sqlite3.Connection, number: int) -> Call:
    """Raises NotFound."""
    found = select(connection, Call, "SELECT * FROM calls WHERE id = ?", number)
    if not found:
        raise NotFound(f"there is no call c{number}")
    return found[0]


def named(connection: sqlite3.Connection, ref: str) -> Call:
    """The call of a handle. Raises NotFound, also for what is no handle."""
    number = read_ref(ref)
    if number is None:
        raise NotFound(f"there is no call {ref[:40]!r}: a handle is c and a number, as c7")
    return get(connection, number)


def of_job(connection: sqlite3.Connection, job: Job) -> Call | None:
    """The call that a job works on; None for every other job."""
    return get(connection, job.call_number) if job.call_number is not None else None


def open_calls(connection: sqlite3.Connection, space: str = "") -> list[Call]:
    """Those without a result yet, oldest first; of one repository, or of all."""
    query = "SELECT * FROM calls WHERE state = 'open' AND (? = '' OR space = ?) ORDER BY id"
    return select(connection, Call, query, space, space)


def latest(connection: sqlite3.Connection, space: str = "", *, limit: int = 50) -> list[Call]:
    """Newest first; of one repository, or of all."""
    query = "SELECT * FROM calls WHERE ? = '' OR space = ? ORDER BY id DESC LIMIT ?"
    return select(connection, Call, query, space, space, limit)


def of_session(connection: sqlite3.Connection, space: str, session_key: str) -> list[Call]:
    """The calls of a caller's session, oldest first. In any repository where `space` is empty."""
    query = "SELECT * FROM calls WHERE session_key = ? AND (? = '' OR space = ?) ORDER BY id"
    return select(connection, Call, query, session_key, space, space)


def training_key(connection: sqlite3.Connection, call: Call) -> str:
    """What a call's training data is filed under: the name of its session; where another repository's session of that name came first,
    with the repository."""
    query = "SELECT space FROM calls WHERE session_key = ? AND discipline = ? ORDER BY id LIMIT 1"
    first = connection.execute(query, (call.session_key, call.discipline.value)).fetchone()
    is_first = first is None or first[0] == call.space
    return call.session_key if is_first else f"{call.session_key} in {call.space}"


def stage(connection: sqlite3.Connection, number: int, words: str) -> None:
    """Say what it is at; no fact."""
    update(connection, "calls", number, {"stage": words})


def base(connection: sqlite3.Connection, number: int, **columns: object) -> Call:
    """Write down what it begins on, once that is known: `base_sha`, `branch`."""
    update(connection, "calls", number, columns)
    return get(connection, number)


def cancel(connection: sqlite3.Connection, call: Call, *, actor: str, at: datetime) -> Call:
    """End it without a result, with its job; whatever runs for it is stopped by the next pass. Of one that has ended nothing changes."""
    if call.state is CallState.OPEN and call.job_id is not None:
        data: dict[str, Json] = {"call": call.ref, "discipline": call.discipline}
        name = EventName.CALL_CANCELLED
        ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, job_id=call.job_id, data=data))
        jobs.move(connection, call.job_id, EventName.STOPPED, at=at, actor=actor, reason=CANCELLED)
    return get(connection, call.id)


def end(connection: sqlite3.Connection, call: Call, result: CallResult, *, patch: str, at: datetime) -> Call:
    """Keep its result, add it to its session's history, and end its job: one transaction, once."""
    assert call.job_id is not None, "every call has a job"
    data: dict[str, Json] = {
        "call": call.ref,
        "discipline": call.discipline,
        "status": result.status,
        "verified": result.verified,
        "evidence": result.evidence,
        "patch": patch,
        "base_tree": result.base_tree,
        "head_tree": result.head_tree,
    }
    jobs.move(
        connection, call.job_id, EventName.CALL_ENDED, at=at, actor=OVERLORD, data=data, reason=result.why
    )
    head = connection.execute("SELECT hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()[0]
    update(
        connection,
        "calls",
        call.id,
        {
            "state": CallState.ENDED,
            "stage": "",
            "result": adapter(CallResult).dump_json(result).decode(),
            "patch": patch,
            "ledger_head": head,
            "ended_at": at,
        },
    )
    if call.session_key:
        history.append(connection, entry_of(call, result, at=at))
    return get(connection, call.id)


def entry_of(call: Call, result: CallResult, *, at: datetime) -> HistoryEntry:
    """What the history of its session keeps of it."""
    return HistoryEntry(
        id=0,
        space=call.space,
        session_key=call.session_key,
        skill=result.skill,
        phase=result.phase,
        final_status=result.status,
        file_path=result.file_path,
        message=result.message,
        verified=result.verified,
        actor=call.actor,
        at=at,
        call_id=call.id,
    )


def ending_of(connection: sqlite3.Connection, call: Call) -> str:
    """How a call ended that has no result: `was cancelled, and has no result`, `ended without a result: its lifetime is over`. Empty for
    every other one."""
    if call.state is not CallState.CANCELLED or call.job_id is None:
        return ""
    reason = jobs.get(connection, call.job_id).reason
    if reason in {CANCELLED, ""}:
        return "was cancelled, and has no result"
    return f"ended without a result: {plain_line(reason, limit=200)}"


def stage_of(connection: sqlite3.Connection, call: Call) -> str:
    """What it is at, in a few words that change as the work goes on: for whoever waits."""
    if call.state is not CallState.OPEN or call.job_id is None:
        return ""
    job, session = jobs.get(connection, call.job_id), sessions.live_of(connection, call.job_id)
    if job.state is JobState.QUEUED and (session is None or session.kind is SessionKind.SETUP):
        return job.reason or call.stage
    if session is not None and session.kind is SessionKind.WORK and session.turn:
        return (
            f"turn {session.turn}: {session.last_action}" if session.last_action else f"turn {session.turn}"
        )
    return call.stage
