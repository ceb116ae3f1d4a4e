"""A home with a thousand open jobs in the states they really stand in: most wait for people or for a review, few run."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from minion.protocol import Issue, SessionKind
from overlord.adapters.clock import SystemClock
from overlord.adapters.process.runner import ProcessRunner
from overlord.app import Overlord, overlord
from overlord.domain.decision import Subject
from overlord.domain.identifiers import SessionId
from overlord.domain.job import Job, JobState
from overlord.domain.launch import Launch
from overlord.domain.question import ask
from overlord.domain.session import Session, SessionState, session_id
from overlord.engine.issues.projection import projection_key
from overlord.home import Home
from overlord.settings.load import Settings, contract_for, load
from overlord.store import decisions, jobs, sessions
from overlord.store.database import Database
from overlord.store.rows import update
from overlord.store.spaces import spaces

RUNNING = 8
MIX: Sequence[tuple[JobState, float]] = (
    (JobState.IN_REVIEW, 0.4),
    (JobState.WAITING, 0.3),
    (JobState.QUEUED, 1.0),
)
"""How those that do not run are spread: shares of all, the last takes the rest."""
SPACES = 20
AWAY = "http://127.0.0.1:9"
"""A forge and a model that are never asked while nothing moves."""
BODY = "Steps to reproduce, what happens, what should happen instead.\n" * 20


def settings_of(root: Path, **given: object) -> Settings:
    """An Overlord in a home of its own whose sessions are idle programs, and whose polls are far off."""
    return load(
        {"OVERLORD_HOME": str(root)},
        **{
            "repositories": [f"bench/space{number}" for number in range(SPACES)],
            "runner": "process",
            "poll_s": 86_400,
            "sessions": {"concurrent": RUNNING},
            "forge": {"api_url": AWAY, "token": "bench"},
            "model": {"base_url": AWAY, "name": "scripted", "api_key": "bench"},
            "process": {"python": str(_idle_program(root))},
            **given,
        },
    )


def _idle_program(root: Path) -> Path:
    program = root / "idle"
    root.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\nexec sleep 900\n", encoding="ascii")
    program.chmod(0o755)
    return program


@asynccontextmanager
async def filled(root: Path, count: int) -> AsyncIterator[Overlord]:
    """An Overlord over `count` open jobs of which the first few run."""
    settings = settings_of(root)
    running = await fill(settings, count)
    runner = ProcessRunner(Home(root).processes, command=(str(_idle_program(root)),))
    try:
        for session in running:
            session_api = Home(root).session_api(session.id)
            await runner.start(
                Launch(
                    session=SessionId(session.id),
                    job=str(session.job_id),
                    environment={},
                    session_api=session_api,
                )
            )
        async with overlord(settings) as built:
            yield built
    finally:
        for session in running:
            await runner.remove(SessionId(session.id))
        await runner.close()


async def fill(settings: Settings, count: int, *, running: int = RUNNING) -> list[Session]:
    """Write the rows of `count` open jobs; the sessions of those that run."""
    database = await Database.open(Home(settings.home).database, exclusive=True)
    try:
        return await database.write("by hand", lambda c: _fill(c, settings, count, running))
    finally:
        await database.close()


def _fill(connection: sqlite3.Connection, settings: Settings, count: int, running: int) -> list[Session]:
    at = SystemClock().now()
    for name in settings.repositories:
        spaces.note_poll(connection, name, at=at)
    found = []
    for number in range(count):
        job = _claimed(connection, settings, number)
        state = JobState.RUNNING if number < running else _state(number / count)
        changes: dict[str, object] = {"state": state, "base_sha": "b" * 40, "head_sha": "c" * 40}
        if state is JobState.RUNNING:
            found.append(_session(job))
            sessions.prepare(connection, found[-1])
        if state is JobState.IN_REVIEW:
            changes["pull_number"] = number + 1
        if state is JobState.WAITING:
            decisions.raise_decision(connection, ask(job, Subject.BLOCKED, "Which of the two?", at=at))
        update(connection, "jobs", job.id, changes)
        jobs.repair(connection, job.id, projected=projection_key(jobs.get(connection, job.id)))
    return found


def _state(share: float) -> JobState:
    """The state of a job that many of all come before."""
    for state, part in MIX:
        if share < part:
            return state
        share -= part
    return JobState.QUEUED


def _claimed(connection: sqlite3.Connection, settings: Settings, number: int) -> Job:
    space = settings.repositories[number % SPACES]
    issue = Issue(number=number + 1, title=f"Adding subtracts ({number})", body=BODY, author="alice")
    job = jobs.claim(
        connection,
        space=space,
        issue=issue,
        base_branch="main",
        contract=contract_for(settings, space),
        at=SystemClock().now(),
    )
    assert job is not None
    return job


def _session(job: Job) -> Session:
    at = SystemClock().now()
    return Session(
        id=session_id(job.id, SessionKind.WORK, 1),
        job_id=job.id,
        kind=SessionKind.WORK,
        state=SessionState.STARTED,
        brief="{}",
        scope="[]",
        branch=job.branch,
        token_budget=10**9,
        time_limit_s=1800,
        prepared_at=at,
        started_at=at,
        heartbeat_at=at,
    )
