"""The trainer's two sessions: a reader finds what is worth learning in a history, then a writer makes records of that, in two files.

Exactly two, in this order, whatever the reader found; but for a reader whose candidates cannot be read, after which nothing is written.
"""

import sqlite3

from minion.protocol import Report, Scope, ScopeMode, SessionKind
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import READING, WRITING, DisciplineName
from overlord.domain.disciplines.prompts import Role
from overlord.domain.disciplines.worker_result import worker_result
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.domain.training import session as training
from overlord.domain.training.candidate import CandidatesError, read_candidates
from overlord.engine.disciplines import answer
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.disciplines import calls

WRITER_TOOLS = (*READING, *WRITING)
WRITES = "trainer-writer"
"""The phase of a trainer's job once its reader is done."""


def role_of(job: Job, call: Call) -> Role | None:
    """Whose turn it is; None for every other discipline."""
    if call.discipline is not DisciplineName.TRAINER:
        return None
    return Role.WRITER if job.phase == WRITES else Role.READER


def is_reader(session: Session) -> bool:
    """Whether a session read for a trainer."""
    return session.role == Role.READER


def scope_for(call: Call, role: Role | None) -> Scope | None:
    """What a writer may write: its two files. None for everybody else."""
    if role is not Role.WRITER:
        return None
    return Scope(mode=ScopeMode.EXPLICIT, patterns=training.scope_of(call.session_key))


async def candidates_for(parts: Parts, job: Job, role: Role | None) -> str:
    """What the reader found, for the writer; empty for everybody else."""
    if role is not Role.WRITER:
        return ""
    return await parts.database.read(lambda c: candidates_of(c, job))


def candidates_of(connection: sqlite3.Connection, job: Job) -> str:
    """The last word of a job's reader."""
    ran = [
        item
        for item in sessions.of_job(connection, job.id)
        if item.kind is SessionKind.WORK and is_reader(item)
    ]
    report = ran[-1].report if ran else None
    found = worker_result(report.answer, DisciplineName.TRAINER) if isinstance(report, Report) else ""
    return "" if isinstance(found, str) else found.runner_output


def _trouble_of(text: str) -> str:
    """Why a reader's candidates cannot be read; empty where they can."""
    try:
        read_candidates(text)
    except CandidatesError as error:
        return str(error)
    return ""


async def read(parts: Parts, job: Job, call: Call, over: endings.Over) -> Progress:
    """The reader is done: the writer is next."""
    report = over.session.report
    found = worker_result(report.answer if isinstance(report, Report) else "", DisciplineName.TRAINER)
    trouble = found if isinstance(found, str) else _trouble_of(found.runner_output)
    if trouble:
        return await answer.failed(
            parts, job, call, f"The reader's candidates cannot be read: {trouble}", over
        )

    def write(connection: sqlite3.Connection) -> None:
        endings.close(connection, parts, over)
        data: dict[str, Json] = {"session": over.session.id, "role": Role.READER, "next": Role.WRITER}
        at = parts.clock.now()
        jobs.move(connection, job.id, EventName.ROLE_COMPLETED, at=at, data=data, phase=WRITES, losses=0)
        calls.stage(connection, call.id, "the writer is next")

    await parts.database.write(Failpoint.CALL_COLLECTED, write)
    return Progress.MOVED
