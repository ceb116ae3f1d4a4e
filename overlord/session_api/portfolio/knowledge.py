"""What a session learned, and what it looks up: `note_knowledge` and `search_knowledge`.

What a session notes is a model's words, about words of others: bounded, vetted as skills are, and a draft, unless the repository's
autonomy lets it count at once and nothing is held against it.
"""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import KnownNote, NewNote, NoteKept, NotesFound, PortfolioTool, encode
from overlord.domain.knowledge.matching import question_in, says_same
from overlord.domain.knowledge.note import (
    MOST_SOURCE_CHARS,
    CheckKind,
    Note,
    NoteCheck,
    NoteKind,
    NoteSource,
    NoteState,
)
from overlord.domain.knowledge.vetting import COUNTS_AT_ONCE, Vetted, vetted
from overlord.domain.session import Session
from overlord.domain.text.plain import visible
from overlord.errors import NotFound
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.caller import Caller, caller, check_at_work, received
from overlord.store.knowledge import learning, notes

NEW_NOTE = wire.strict(NewNote)
MOST_NOTES = 20
"""Of one session."""
MOST_OF_JOB = 60
"""Of all sessions of a job: each revision and round of it is another session."""
MOST_CONTRADICTED = 5
"""Notes that the sessions of one job may say are wrong: one that was contradicted answers nobody until a person has looked at it."""
MOST_NOTE_BYTES = 32 * 1024
MOST_FOUND = 12
MOST_QUERY_CHARS = 400
MOST_PATH_CHARS = 300
_CONTRADICTS = "contradicts "
_REF = re.compile(r"n?([1-9][0-9]{0,9})")


async def search(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/knowledge?q=words`: notes that count in the session's repository and have the words, the best first."""
    called = await caller(parts, session, PortfolioTool.SEARCH_KNOWLEDGE)
    words = request.query_params.get("q", "")[:MOST_QUERY_CHARS]
    if not words.strip():
        raise HTTPException(400, "say which words to look for: ?q=words")
    space = called.job.space
    found = await parts.database.read(lambda c: notes.search(c, words, space=space, limit=MOST_FOUND))
    texts = tuple(
        KnownNote(ref=note.ref, kind=str(note.kind), text=parts.redactor.redact(note.text), space=note.space)
        for note in found
    )
    return Response(encode(NotesFound(notes=texts)), media_type="application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noting:
    """What a session notes, by whom, and when."""

    parts: SessionApiParts
    session: Session
    called: Caller
    said: NewNote
    at: datetime

    @property
    def by(self) -> str:
        return f"session:{self.session.id}"

    @property
    def counts_at_once(self) -> bool:
        return self.parts.settings.space(self.called.job.space).autonomy in COUNTS_AT_ONCE


async def note(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/knowledge`: something learned, something that contradicts a note, or that there is nothing to note."""
    called = await caller(parts, session, PortfolioTool.NOTE_KNOWLEDGE)
    said = await received(request, parts, NEW_NOTE, limit=MOST_NOTE_BYTES)
    found = await parts.beside(session.id, lambda: _held(said))
    noting = _Noting(parts=parts, session=session, called=called, said=said, at=parts.clock.now())
    kept = await parts.database.write(Failpoint.NOTE_WRITTEN, lambda c: _keep(c, noting, found))
    parts.wakeup.notify()
    return Response(encode(kept), media_type="application/json")


def _held(said: NewNote) -> Vetted:
    """What is held against a note. Raises HTTPException 422, with a sentence that a model can act on."""
    if not said.nothing_learned and said.kind not in set(NoteKind):
        raise HTTPException(422, f"a note is one of {', '.join(NoteKind)}; not {visible(said.kind)[:40]!r}")
    found = vetted(said.text, said.question)
    if found.problem:
        raise HTTPException(422, found.problem)
    return found


def _keep(connection: sqlite3.Connection, noting: _Noting, found: Vetted) -> NoteKept:
    check_at_work(connection, noting.session)
    session, job, said = noting.session, noting.called.job, noting.said
    if said.nothing_learned:
        learning.nothing_learned(connection, job.id, found.text)
        return NoteKept(ref="", state="nothing")
    written = learning.of_job(connection, job.id)
    wrong = _contradicted(connection, said.contradicts, job.space) if said.contradicts else None
    if wrong is not None and (again := _said_before(written, found.text, wrong)) is not None:
        return NoteKept(ref=again.ref, state=str(again.state))
    if (same := _known_already(connection, found.text, job.space, said)) is not None:
        return NoteKept(ref=same.ref, state=str(same.state))
    _check_room(written, session, contradicts=wrong is not None)
    if wrong is not None:
        notes.contradict(connection, wrong.id, found.text, by=noting.by, at=noting.at, job_id=job.id)
    is_active = noting.counts_at_once and not found.doubt and not said.contradicts
    made = notes.add(
        connection,
        Note(
            id=0,
            space=job.space,
            kind=NoteKind(said.kind),
            text=found.text,
            question=found.question or question_in(found.text),
            state=NoteState.ACTIVE if is_active else NoteState.DRAFT,
            source=_source(noting, wrong),
            actor=noting.by,
            created_at=noting.at,
            updated_at=noting.at,
            check=_check(said),
            reason=found.doubt,
        ),
    )
    return NoteKept(ref=made.ref, state=str(made.state))


def _said_before(written: Sequence[Note], text: str, wrong: Note) -> Note | None:
    """The note by which a session of the same job said the same against the same one: it asks again because the answer was lost."""
    evidence = _CONTRADICTS + wrong.ref
    return next((note for note in written if note.source.evidence == evidence and note.text == text), None)


def _check_room(written: Sequence[Note], session: Session, *, contradicts: bool) -> None:
    """Raises HTTPException 429 for a session or a job that has noted enough."""
    if sum(note.source.session_id == session.id for note in written) >= MOST_NOTES:
        raise HTTPException(
            429, f"this session has noted {MOST_NOTES} things, which is the most: note what matters first"
        )
    if len(written) >= MOST_OF_JOB:
        raise HTTPException(
            429, f"the sessions of this job have noted {MOST_OF_JOB} things, which is the most: go on without"
        )
    said = sum(note.source.evidence.startswith(_CONTRADICTS) for note in written)
    if contradicts and said >= MOST_CONTRADICTED:
        raise HTTPException(
            429,
            f"the sessions of this job have contradicted {MOST_CONTRADICTED} notes, which is the most: name the others in your report",
        )


def _source(noting: _Noting, wrong: Note | None) -> NoteSource:
    contradicts = f"{_CONTRADICTS}{wrong.ref}" if wrong is not None else ""
    return NoteSource(
        job_id=noting.called.job.id,
        session_id=noting.session.id,
        evidence=(contradicts or f"the work on {noting.called.job.issue_ref}")[:MOST_SOURCE_CHARS],
    )


def _contradicted(connection: sqlite3.Connection, named: str, space: str) -> Note:
    """The note that is said to be wrong. Raises HTTPException 422 for one that the session cannot know."""
    found = _REF.fullmatch(named.strip().casefold())
    try:
        note = notes.get(connection, int(found[1])) if found else None
    except NotFound:
        note = None
    if note is None or note.space not in ("", space) or note.state is not NoteState.ACTIVE:
        raise HTTPException(422, "`contradicts` takes the number of a note that counts here, as n12")
    return note


def _known_already(connection: sqlite3.Connection, text: str, space: str, said: NewNote) -> Note | None:
    """A note that counts or waits here and says the same: nothing is written twice."""
    if said.contradicts:
        return None
    states = (NoteState.ACTIVE, NoteState.DRAFT)
    near = notes.search(connection, text, space=space, kind=NoteKind(said.kind), states=states)
    return next((note for note in near if says_same(note.text, text)), None)


def _check(said: NewNote) -> NoteCheck | None:
    """What has to hold for it to count. Raises HTTPException 422 for what cannot be held against a commit."""
    if said.check is None:
        return None
    kind, path, text = said.check.kind, said.check.path.strip().removeprefix("./"), said.check.text
    if kind not in set(CheckKind):
        raise HTTPException(422, f"a check is one of {', '.join(CheckKind)}")
    if (
        not path
        or len(path) > MOST_PATH_CHARS
        or path.startswith("/")
        or ".." in path.split("/")
        or visible(path) != path
    ):
        raise HTTPException(422, "a check's path is one of the repository's, from its root: src/app.py")
    if (
        kind in (CheckKind.TEXT_PRESENT, CheckKind.TEXT_ABSENT)
        and not 0 < len(text.strip()) <= MOST_PATH_CHARS
    ):
        raise HTTPException(422, f"a check of text needs that text, at most {MOST_PATH_CHARS} characters")
    return NoteCheck(kind=CheckKind(kind), path=path, text=text)
