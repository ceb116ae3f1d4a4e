"""Rows as tests need them, written by the store's own functions in one transaction each."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from minion.protocol import SessionKind
from overlord.domain.decision import Decision
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.rule import Rule
from overlord.domain.proposals import proposal
from overlord.domain.proposals.proposal import EnhancementProposal, Evidence, Pattern, Trigger
from overlord.domain.session import Session
from overlord.store import decisions, jobs, sessions
from overlord.store.database import Database
from overlord.store.knowledge import notes, rules
from overlord.store.proposals import proposals
from tests.records import BASE, HEAD, NOW, REPO, a_decision, a_session, an_issue, contract


@asynccontextmanager
async def opened(path: Path, *, exclusive: bool = True) -> AsyncIterator[Database]:
    database = await Database.open(path, exclusive=exclusive)
    try:
        yield database
    finally:
        await database.close()


def claim(connection: sqlite3.Connection, number: int = 7, space: str = REPO, **issue: Any) -> Job:
    """A claimed job whose branch has a base."""
    job = jobs.claim(
        connection,
        space=space,
        issue=an_issue(number=number, **issue),
        base_branch="main",
        contract=contract(),
        at=NOW,
    )
    assert job is not None
    jobs.repair(connection, job.id, base_sha=BASE)
    return jobs.get(connection, job.id)


def prepare(
    connection: sqlite3.Connection,
    job: Job | None = None,
    kind: SessionKind = SessionKind.WORK,
    ordinal: int = 1,
    **given: Any,
) -> Session:
    """A prepared session, of a new job if none is given."""
    session = a_session(job or claim(connection), kind, ordinal, **given)
    sessions.prepare(connection, session)
    return sessions.get(connection, session.id)


def ask(connection: sqlite3.Connection, job: Job | None = None, **given: Any) -> Decision:
    """A decision that waits, of a new job if none is given."""
    job = job or claim(connection)
    return decisions.raise_decision(connection, a_decision(id=0, job_id=job.id, **given))


def propose(connection: sqlite3.Connection, space: str = REPO, **given: Any) -> EnhancementProposal:
    """A proposal that waits for a person."""
    seen = Evidence(weight=2, times=3, jobs=(1, 2), issues=(7, 8))
    pattern = Pattern(
        space=space,
        fingerprint="f" * 16,
        trigger=Trigger.FAILURE,
        label="lint/F401",
        sample="`os` imported but unused",
    )
    return proposals.raise_proposal(connection, replace(proposal.propose(pattern, seen, at=NOW), **given))


def evaluating(connection: sqlite3.Connection) -> Job:
    """A job whose work has come back."""
    job = claim(connection)
    at_work: dict[str, Json] = {"session": "j1-work-1", "head": HEAD}
    jobs.move(connection, job.id, EventName.SESSION_STARTED, at=NOW, data=at_work)
    return jobs.move(connection, job.id, EventName.WORK_SUBMITTED, at=NOW, data=at_work, head_sha=HEAD)


def note(connection: sqlite3.Connection, text: str = "All endpoints return data.", **given: Any) -> Note:
    """A note that counts in the repository."""
    values = {
        "space": REPO,
        "kind": NoteKind.CONVENTION,
        "question": "",
        "state": NoteState.ACTIVE,
        "source": NoteSource(),
        "actor": "cli:alice",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return notes.add(connection, Note(id=0, text=text, **{**values, **given}))


def rule(connection: sqlite3.Connection, *words: str, answer: str = "Redis.", **given: Any) -> Rule:
    """A rule that counts everywhere."""
    values = {"space": "", "question": "", "actor": "slack:U1", "created_at": NOW}
    return rules.add(connection, Rule(id=0, words=words, answer=answer, **{**values, **given}))
