"""A home after years of work: ten thousand jobs of which three hundred are open, and a million events in the ledger."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from bench.filled import BODY, RUNNING, SPACES
from minion.protocol import Issue, SessionKind
from overlord.adapters.clock import SystemClock
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobId, JobState, branch_name
from overlord.domain.question import ask
from overlord.domain.session import Session, SessionState, session_id
from overlord.home import Home
from overlord.settings.load import Settings, contract_for
from overlord.store import decisions, evidence, ledger
from overlord.store.database import Database
from overlord.store.evidence import EvidenceFile, EvidenceStore
from overlord.store.rows import insert, to_column, update

JOBS, EVENTS = 10_000, 1_000_000
AT_REST = {JobState.WAITING: 60, JobState.IN_REVIEW: 100, JobState.QUEUED: 132}
"""Open jobs beside those that run."""
DAYS = 730
TURNS = 5_000
"""Model calls of one session, whose transcript is the longest."""
CALLS = 10
"""Model calls of each other session."""
ASKED_OF = 4
"""One of so many jobs was a question once."""
AT_ONCE = 50_000
CHECKS = tuple(
    CheckResult(
        name=name, score=CheckScore.PASS, summary="412 passed, 1 new (1 of them fails on base), 0 broken"
    )
    for name in (CheckName.SCOPE, CheckName.INTEGRITY, CheckName.TESTS, CheckName.LINT, CheckName.REVIEW)
)
STORY = (
    (EventName.SESSION_STARTED, {"session": "j1-work-1", "scope": '["src/**"]'}),
    (EventName.WORK_SUBMITTED, {"session": "j1-work-1", "head": "c" * 40}),
    (EventName.CHECK_STARTED, {"session": "j1-check-1"}),
    (
        EventName.CHECK_COMPLETED,
        {"check": "tests", "score": "pass", "summary": CHECKS[0].summary, "head": "c" * 40, "evidence": []},
    ),
    (EventName.BRANCH_PUSHED, {"branch": "minion/issue-1", "head": "c" * 40}),
)


OPEN = RUNNING + sum(AT_REST.values())
LONGEST = JOBS - OPEN
"""The job with the longest transcript: the last that ended."""


async def fill_years(settings: Settings) -> None:
    """Write it, where it is not there already."""
    path = Home(settings.home).database
    if path.exists():
        return
    database = await Database.open(path, exclusive=True)
    begins = SystemClock().now() - timedelta(days=DAYS)
    states = [*[JobState.COMPLETED] * LONGEST, *(state for state, n in AT_REST.items() for _ in range(n))]
    states += [JobState.RUNNING] * RUNNING
    try:
        for first in range(0, JOBS, 1_000):
            part = range(first, min(first + 1_000, JOBS))
            await database.write(
                "by hand", partial(_jobs, settings=settings, states=states, begins=begins, part=part)
            )
        for first in range(0, EVENTS, AT_ONCE):
            await database.write("by hand", partial(_tell, first=first, count=min(AT_ONCE, EVENTS - first)))
        await database.write("by hand", partial(_long_transcript, settings=settings))
    finally:
        await database.close()


def _jobs(
    connection: sqlite3.Connection,
    settings: Settings,
    states: Sequence[JobState],
    begins: datetime,
    part: range,
) -> None:
    for number in part:
        at = begins + timedelta(days=DAYS) * number / len(states)
        _job(connection, settings, number, states[number], at)


def _job(
    connection: sqlite3.Connection, settings: Settings, number: int, state: JobState, at: datetime
) -> None:
    """A job with its sessions, its model calls, an evaluation, and a question to a person."""
    space = settings.repositories[number % SPACES]
    contract = contract_for(settings, space)
    is_open = state is not JobState.COMPLETED
    job = Job(
        id=JobId(number + 1),
        space=RepositoryName(space),
        issue=Issue(
            number=number + 1, title=f"Slugs of titles with {number} blanks", body=BODY, author="alice"
        ),
        state=state,
        branch=branch_name(number + 1, taken=0),
        base_branch="main",
        contract=contract.name,
        phase=contract.start,
        created_at=at,
        updated_at=at + timedelta(hours=2),
        expires_at=at + timedelta(days=3_000),
        pull_number=None if state is JobState.QUEUED else number + 20_000,
    )
    columns = {name: getattr(job, name) for name in job.__dataclass_fields__}
    insert(
        connection, "jobs", {**columns, "issue_number": number + 1, "is_open": is_open, "projected": state}
    )
    if state is JobState.QUEUED:
        return
    for place in (1, 2) if not is_open else (1,):
        _session(connection, job, place, is_live=state is JobState.RUNNING, calls=CALLS)
    given = {
        "head_sha": "c" * 40,
        "revision": 0,
        "at": at,
        "checks": CHECKS,
        "overall": "pass",
        "closed": True,
    }
    insert(connection, "evaluations", {"job_id": job.id, **given})
    if state is JobState.WAITING or number % ASKED_OF == 0:
        raised = decisions.raise_decision(
            connection, ask(job, Subject.BLOCKED, "Which of the two is meant?", at=at)
        )
        if not is_open:
            given = {
                "state": "answered",
                "answered_by": "web:alice",
                "answered_at": at,
                "answer": "The first.",
            }
            update(connection, "decisions", raised.id, {**given, "verb": "reply", "applied": True})


def _session(connection: sqlite3.Connection, job: Job, place: int, *, is_live: bool, calls: int) -> None:
    at = job.created_at
    session = Session(
        id=session_id(job.id, SessionKind.WORK, place),
        job_id=job.id,
        kind=SessionKind.WORK,
        state=SessionState.STARTED if is_live else SessionState.ENDED,
        brief=json.dumps({"role": "coder", "task": BODY}),
        scope='["src/**"]',
        branch=job.branch,
        token_budget=10**9,
        time_limit_s=1800,
        prepared_at=at,
        started_at=at,
        ended_at=None if is_live else at + timedelta(minutes=12),
        turn=calls,
        last_action="run_command python -m pytest -q",
        cleared=not is_live,
    )
    insert(connection, "sessions", {name: getattr(session, name) for name in session.__dataclass_fields__})
    rows = [
        (
            session.id,
            job.id,
            job.space,
            at.date().isoformat(),
            at.isoformat(),
            1000,
            200,
            4000,
            900,
            100,
            2_000_000,
        )
        for _ in range(calls)
    ]
    connection.executemany(
        """INSERT INTO exchanges (session_id, job_id, space, day, at, model, reserved, settled, status, prompt, cached, completion,
           cost_nusd) VALUES (?, ?, ?, ?, ?, 'scripted', ?, 1, ?, ?, ?, ?, ?)""",
        rows,
    )


def _tell(connection: sqlite3.Connection, first: int, count: int) -> None:
    """So many events more, spread over the jobs, each hashed over the one before."""
    last = connection.execute("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
    seq, head = (last["seq"], last["hash"]) if last else (0, ledger.GENESIS)
    at = SystemClock().now().isoformat()

    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal head
        for number in range(1, count + 1):
            name, data = STORY[number % len(STORY)]
            job = (first + number) % JOBS + 1
            entry = ledger.Entry(
                seq=seq + number,
                at=at,
                job_id=job,
                name=name,
                actor="overlord",
                data=json.dumps(data, sort_keys=True),
                previous=head,
                hash="",
            )
            digest = entry.computed_hash()
            yield (entry.seq, at, job, name, entry.actor, entry.data, head, digest)
            head = digest

    connection.executemany(
        "INSERT INTO ledger (seq, at, job_id, name, actor, data, previous, hash) VALUES (?,?,?,?,?,?,?,?)",
        rows(),
    )


def _long_transcript(connection: sqlite3.Connection, settings: Settings) -> None:
    """The last session of a job made thousands of turns."""
    at = SystemClock().now()
    message = {"role": "tool", "tool_call_id": "c1", "content": "412 passed in 3.2s\n" * 20}
    call = {
        "id": "c1",
        "function": {"name": "run_command", "arguments": '{"command": "python -m pytest -q"}'},
    }
    reply = {
        "choices": [{"message": {"role": "assistant", "content": "Now the tests.", "tool_calls": [call]}}]
    }
    line = {"at": to_column(at), "model": "scripted", "same": 2, "messages": [message], "reply": reply}
    content = (json.dumps(line).encode() + b"\n") * TURNS
    digest = EvidenceStore(Home(settings.home).evidence).put(content)
    session = session_id(JobId(LONGEST), SessionKind.WORK, 2)
    kept = EvidenceFile(
        job_id=LONGEST, session_id=session, kind="transcript", sha256=digest, size=len(content), at=at
    )
    evidence.record(connection, kept)
