"""A retrospective: what a job that is over teaches, as at most three notes.

The facts are rows. A model reads them in one metered call without tools, on the books of the repository and not of the job, and what it
answers is held against the facts; without a model what sessions said they learned is kept as drafts. A job is looked back on once.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog

from minion.protocol import SessionKind
from overlord.config_files import packaged
from overlord.domain.disciplines.prompts import page
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.job import Job
from overlord.domain.knowledge.discipline import LAWS, OUTPUT_CONTRACT, RULES
from overlord.domain.knowledge.note import MOST_SOURCE_CHARS, Note, NoteSource, NoteState
from overlord.domain.knowledge.retrospective import (
    Lesson,
    Lessons,
    LookBack,
    lessons_in,
    lessons_of,
    messages_for,
)
from overlord.domain.knowledge.vetting import COUNTS_AT_ONCE
from overlord.domain.session import Account
from overlord.engine.knowledge.look_back import look_back
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ModelRefused, ModelUnavailable
from overlord.failpoints import Failpoint
from overlord.store import jobs, ledger
from overlord.store.knowledge import notes, retrospectives
from overlord.store.knowledge.retrospectives import Retrospective

WITHIN_S = 90.0
"""For one answer."""
REST_S = 300.0
"""After a model gave no reply, none is asked for this long."""
TRIES = 2
"""A model that gave no reply is asked once more; a crash while it is asked counts as one try."""
_PACE = "retrospective"

log = structlog.get_logger()


def is_due(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether a job ended that nobody has looked back on."""
    return _next(connection, parts) is not None


async def step(parts: Parts) -> Progress:
    """Look back on one job."""
    job = await parts.database.read(lambda c: _next(c, parts))
    if job is None:
        return Progress.IDLE
    back = await look_back(parts, job)
    texts = [fact.text for fact in back.shown.values()]
    known = await parts.database.read(lambda c: retrospectives.known_about(c, job.space, texts))
    lessons = await _asked(parts, job, back, known)
    if lessons is None:
        return Progress.IDLE
    await parts.database.write(
        Failpoint.RETROSPECTIVE_NOTED, partial(_keep, parts=parts, job=job, back=back, lessons=lessons)
    )
    parts.notify()
    return Progress.MOVED


def _next(connection: sqlite3.Connection, parts: Parts) -> Job | None:
    """The job whose turn it is: one of a repository that wants this, and while no model rests."""
    if not parts.portfolio_pace.is_time(_PACE, REST_S, parts.clock.monotonic()):
        return None
    settings = parts.settings
    wanted = [name for name in settings.repositories if settings.space(name).portfolio.retrospectives]
    number = retrospectives.next_due(connection, wanted, parts.clock.now()) if wanted else None
    return jobs.get(connection, number) if number is not None else None


async def _asked(parts: Parts, job: Job, back: LookBack, known: Sequence[Note]) -> Lessons | None:
    """What is learned: from a model's answer, or without one from what sessions said. None while a model rests and is asked again."""
    if not back.facts:
        return Lessons()
    alone = lessons_of(back.learnings, known)
    if not parts.settings.space(job.space).checks.review:
        return alone
    before = await parts.database.read(lambda c: retrospectives.get(c, job.id))
    if before.tries >= TRIES:
        return alone
    tried = Retrospective(fingerprint=back.fingerprint, tries=before.tries + 1)
    await parts.database.write(Failpoint.RETROSPECTIVE_NOTED, lambda c: retrospectives.keep(c, job.id, tried))
    try:
        async with asyncio.timeout(WITHIN_S):
            reply = await parts.assistant.answer(_account(job), _messages(back, known))
    except (ModelUnavailable, TimeoutError) as error:
        log.warning("retrospective_not_answered", job=job.id, reason=str(error) or "no reply in time")
        if tried.tries >= TRIES:
            return alone
        parts.portfolio_pace.done(_PACE, parts.clock.monotonic())
        return None
    except ModelRefused as error:
        log.warning("retrospective_not_answered", job=job.id, reason=str(error))
        return alone
    found = await asyncio.to_thread(lessons_in, parts.current.redactor.redact(reply), back, known)
    return found if found.is_readable else alone


def _account(job: Job) -> Account:
    """The repository's books: what a job may spend is for its work."""
    return Account(id=f"retrospective-{job.id}", space=job.space, kind=SessionKind.REVIEW)


def _messages(back: LookBack, known: Sequence[Note]) -> list[dict[str, str]]:
    return messages_for(
        back,
        known,
        prompt=packaged("prompts/retrospective.md"),
        discipline=page("retrospective").text(LAWS, OUTPUT_CONTRACT, RULES),
        fence=f"data-{secrets.token_hex(8)}",
    )


def _keep(
    connection: sqlite3.Connection, *, parts: Parts, job: Job, back: LookBack, lessons: Lessons
) -> None:
    """Keep the notes and say so, unless it was done before."""
    before = retrospectives.get(connection, job.id)
    if before.is_done:
        return
    at = parts.clock.now()
    is_trusted = lessons.is_vouched and parts.settings.space(job.space).autonomy in COUNTS_AT_ONCE
    made = tuple(
        notes.add(connection, _note(job, lesson, is_active=is_trusted and not lesson.doubt, at=at)).ref
        for lesson in lessons.kept
    )
    dropped = sum(lessons.dropped.values())
    done = replace(before, fingerprint=back.fingerprint, is_done=True, notes=made, dropped=dropped)
    retrospectives.keep(connection, job.id, done)
    data: dict[str, Json] = {
        "notes": len(made),
        "refs": list(made),
        "dropped": dict(sorted(lessons.dropped.items())),
        "source": "model" if lessons.is_vouched else "reports",
    }
    event = LedgerEvent(name=EventName.RETROSPECTIVE_WRITTEN, at=at, job_id=job.id, data=data)
    ledger.append(connection, event)


def _note(job: Job, lesson: Lesson, *, is_active: bool, at: datetime) -> Note:
    return Note(
        id=0,
        space=job.space,
        kind=lesson.kind,
        text=lesson.text,
        question=lesson.question,
        state=NoteState.ACTIVE if is_active else NoteState.DRAFT,
        source=NoteSource(job_id=job.id, evidence=f"retrospective: {lesson.evidence}"[:MOST_SOURCE_CHARS]),
        actor=OVERLORD,
        created_at=at,
        updated_at=at,
        reason=lesson.doubt,
    )
