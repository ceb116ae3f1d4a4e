"""What a retrospective of a session found becomes drafts of knowledge, by the rules of every other retrospective."""

import sqlite3
from collections.abc import Callable, Sequence

from overlord.domain.disciplines.call import Call, Verification
from overlord.domain.disciplines.history import HistoryEntry
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.job import Job
from overlord.domain.knowledge.note import MOST_SOURCE_CHARS, Note, NoteSource, NoteState
from overlord.domain.knowledge.retrospective import Fact, Lesson, LookBack, lessons_in
from overlord.engine.runtime.parts import Parts
from overlord.store.knowledge import notes, retrospectives


async def keeper(  # noqa: PLR0917
    parts: Parts,
    job: Job,
    call: Call,
    found: WorkerResult,
    entries: Sequence[HistoryEntry],
    verification: Verification,
) -> Callable[[sqlite3.Connection], str]:
    """What keeps its notes as the call ends, and says what became of them. Nothing is kept of one that cites what does not exist."""
    if not verification.verified:
        return lambda _: ""
    back = look_back(call, entries)
    known = await parts.database.read(
        lambda c: retrospectives.known_about(c, call.space, [fact.text for fact in back.facts])
    )
    lessons = lessons_in(found.runner_output, back, known)

    def keep(connection: sqlite3.Connection) -> str:
        refs = [notes.add(connection, _note(parts, job, call, lesson)).ref for lesson in lessons.kept]
        return f"(drafted {', '.join(refs)})" if refs else "(nothing to note)"

    return keep


def look_back(call: Call, entries: Sequence[HistoryEntry]) -> LookBack:
    """A session as it is looked back on: its entries are the facts, by their own ids."""
    facts = tuple(
        Fact(
            source=f"entry {entry.ref}", text=f"{entry.phase}: {entry.final_status}. {entry.message}".strip()
        )
        for entry in entries
    )
    return LookBack(
        issue=f"session {call.session_key}",
        title=call.session_key,
        ending="",
        facts=facts,
        ids=tuple(entry.ref for entry in entries),
    )


def _note(parts: Parts, job: Job, call: Call, lesson: Lesson) -> Note:
    at = parts.clock.now()
    return Note(
        id=0,
        space=call.space,
        kind=lesson.kind,
        text=lesson.text,
        question=lesson.question,
        state=NoteState.DRAFT,
        source=NoteSource(
            job_id=job.id, evidence=f"{call.ref}, retrospective: {lesson.evidence}"[:MOST_SOURCE_CHARS]
        ),
        actor=call.actor,
        created_at=at,
        updated_at=at,
        reason=lesson.doubt,
    )
