"""The trainer's two sessions: a reader finds what is worth learning in a history, then a writer makes records of that, in two files.

Exactly two, in this order, whatever the reader found; but for a reader whose candidates cannot be read, after which nothing is written.
"""

import asyncio
import sqlite3

from minion.protocol import Report, Scope, ScopeMode, SessionKind
from overlord.domain.disciplines.call import Call, Verification
from overlord.domain.disciplines.catalog import KINDS, READING, WRITING, DisciplineName
from overlord.domain.disciplines.prompts import Role
from overlord.domain.disciplines.worker_result import worker_result
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.domain.training import session as training
from overlord.domain.training.candidate import CandidatesError, read_candidates
from overlord.domain.training.project_words import ProjectWords, project_words
from overlord.domain.training.record import MOST_FILE_BYTES
from overlord.engine.disciplines import answer
from overlord.engine.disciplines.answer import Worked
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.errors import StoreError
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.disciplines import calls
from overlord.store.training import files as training_files

WRITER_TOOLS = (*READING, *WRITING)
SOURCES = (
    ".py",
    ".go",
    ".js",
    ".ts",
    ".tsx",
    ".jsx",
    ".rs",
    ".java",
    ".rb",
    ".c",
    ".h",
    ".cpp",
    ".cs",
    ".kt",
    ".php",
)
MOST_SOURCES = 400
SOURCE_BYTES = 100_000
"""Files whose identifiers are looked for, and as much of each."""
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


def scope_for(role: Role | None, key: str) -> Scope | None:
    """What a writer may write: its two files, by what they are filed under. None for everybody else."""
    if role is not Role.WRITER:
        return None
    return Scope(mode=ScopeMode.EXPLICIT, patterns=training.scope_of(key))


def files_line(key: str) -> str:
    """Where a writer writes, as its task says it."""
    sft, dpo = training.scope_of(key)
    return f"sft_file: {sft}\ndpo_file: {dpo}"


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
    found = worker_result(report.answer, KINDS[DisciplineName.TRAINER]) if isinstance(report, Report) else ""
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
    found = worker_result(report.answer if isinstance(report, Report) else "", call.kind)
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


async def finish(parts: Parts, job: Job, call: Call) -> Progress:
    """Hold the writer's records against the gate, and append those that pass."""
    redactor = parts.current.redactor
    candidates, key = await parts.database.read(
        lambda c: (candidates_of(c, job), calls.training_key(c, call))
    )
    files = await parts.git.read_files(
        job.space, job.head, training.scope_of(key), limit_bytes=MOST_FILE_BYTES
    )
    words = await _words(parts, job, call)
    brain = parts.home.brain

    def judge_and_write() -> training.TrainingOutcome:
        existing = training_files.existing_records(brain, key, call=call.ref)
        outcome = training.judged(
            candidates, files, session_key=key, words=words, redactor=redactor, existing=existing
        )
        training_files.write_records(brain, key, outcome.kept, call=call.ref)
        return outcome

    try:
        outcome = await asyncio.to_thread(judge_and_write)
    except StoreError as error:  # full, or something else in its place: no second try mends that
        return await answer.failed(parts, job, call, str(error))
    why = (
        "The records were written." if outcome.verified else "No record passed the gate, so none was written."
    )
    worked = Worked(
        status=outcome.status,
        message=outcome.message,
        file_path=f"brain/{outcome.file_path}" if outcome.file_path else "",
        runner_output=outcome.runner_output,
        verification=Verification(verified=outcome.verified, why=why),
        details={
            "records": {str(kind): number for kind, number in outcome.counts.items()},
            "dropped": dict(outcome.dropped),
        },
    )

    def note(connection: sqlite3.Connection) -> str:
        if outcome.verified:
            data: dict[str, Json] = {
                "call": call.ref,
                "records": len(outcome.kept),
                "session": call.session_key,
            }
            jobs.note(connection, job.id, EventName.TRAINING_WRITTEN, at=parts.clock.now(), data=data)
        return ""

    return await answer.end(parts, job, call, worked, hands_back=False, note=note)


async def _words(parts: Parts, job: Job, call: Call) -> ProjectWords:
    """What of the project no record may hold: its paths, names and distinctive identifiers."""
    listing = await parts.git.listing(job.space, job.base)
    sources = [path for path in listing if path.endswith(SOURCES)][:MOST_SOURCES]
    read = await parts.git.read_files(job.space, job.base, sources, limit_bytes=SOURCE_BYTES)
    texts = {path: content.decode(errors="replace") for path, content in read.items()}
    actor = call.actor.rpartition(":")[2]
    return await asyncio.to_thread(project_words, listing, names=(job.space, actor), sources=texts)
