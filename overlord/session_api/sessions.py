"""The session calls: brief, events, answers, report. The socket a request came through says which session it is."""

import asyncio
import json
import sqlite3
from datetime import timedelta

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope as ServerScope
from structlog.contextvars import bind_contextvars

from minion.protocol import CheckReport, Event, EventKind, Report, Scope, ScopeError, SessionKind, encode
from overlord.domain.checks.testruns.packed_report import without_values_in
from overlord.domain.decision import Decision, DecisionKind, DecisionState, Subject, Verb
from overlord.domain.knowledge.known import is_known
from overlord.domain.session import Session, SessionState
from overlord.domain.text.plain import plain_line, quoted, visible
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.wire import Record
from overlord.store import decisions, jobs, sessions
from overlord.store.knowledge.answering import answer_known, note_answered

POLL_S = 25.0
"""How long one request for an answer is held open."""
_ACTION_CHARS = 200
_OF_A_SETUP = (EventKind.HEARTBEAT, EventKind.PROGRESS)
_MOST_TURNS = 1_000_000
_MOST_PATTERNS = 50


async def brief(_request: Request, _parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/brief`: the brief, exactly as it was written when the session was prepared."""
    return Response(session.brief, media_type="application/json")


async def scope(_request: Request, _parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/scope`: what the session may write now, with what people granted since it began."""
    return Response(session.scope, media_type="application/json")


async def secrets(_request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/secrets`: what a setup may sign in with, as environment variables; kept nowhere."""
    job = await parts.database.read(lambda c: jobs.get(c, session.job_id))
    own = parts.settings.space(job.space).setup_secrets
    known = parts.settings.environments.signed_in()
    return JSONResponse({**known, **{name: value.get_secret_value() for name, value in own.items()}})


async def events(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/events`: heartbeat, progress, exploring, question, log."""
    received = await wire.read(request, wire.EVENT, limit=wire.MAX_EVENT_BYTES)
    event = _without_secrets(parts, session, received, wire.EVENT)
    if session.kind is SessionKind.SETUP and event.kind not in _OF_A_SETUP:
        raise HTTPException(403, "a setup says that it lives and what it is at, and asks nobody")
    at = parts.clock.now()
    progress: dict[str, object] = {"heartbeat_at": at}
    if event.kind is EventKind.PROGRESS:
        progress |= {
            "turn": min(max(event.turn, 0), _MOST_TURNS),
            "last_action": visible(event.text)[:_ACTION_CHARS],
        }
        parts.journal.turned(session.id, event.turn, at)
    elif event.kind is EventKind.EXPLORING:
        progress["last_action"] = visible(event.text)[:_ACTION_CHARS]
    elif event.kind is EventKind.CALLED:
        parts.journal.called(session.id, event, at)
        return Response(status_code=202)
    await parts.database.write(Failpoint.PROGRESS_SEEN, lambda c: sessions.mark(c, session.id, **progress))
    if event.kind is EventKind.QUESTION:
        _check_question(event)
        await parts.database.write(Failpoint.QUESTION_ASKED, lambda c: _ask(c, parts, session, event))
        parts.wakeup.notify()
    elif event.kind in (EventKind.PROGRESS, EventKind.EXPLORING):
        parts.watchers.notify()
    return Response(status_code=202)


def _without_secrets(
    parts: SessionApiParts, session: Session, record: Record, kind: TypeAdapter[Record]
) -> Record:
    """What a session says, before it is kept. Written anew first: whoever knows a secret could have spelt it in escapes.

    Of a check's results only what is known to be secret is taken out: a test's name may look like a token.
    """
    text = encode(record).decode()
    redactor = parts.redactor
    clean = redactor.without_values(text) if session.kind is SessionKind.CHECK else redactor.redact(text)
    return record if clean == text else wire.record(clean, kind)


def _check_question(event: Event) -> None:
    """Raises HTTPException 400 for what could not be answered, or not be carried out if a person grants it."""
    if not event.question_id:
        raise HTTPException(400, "a question needs a question_id: its answer is asked for by it")
    if event.question_kind == "scope":
        if len(event.patterns) > _MOST_PATTERNS:
            raise HTTPException(400, f"a request for scope names at most {_MOST_PATTERNS} patterns")
        try:
            Scope.parse(json.dumps(event.patterns))
        except ScopeError as error:
            raise HTTPException(400, str(error)) from None


def _ask(connection: sqlite3.Connection, parts: SessionApiParts, session: Session, event: Event) -> None:
    """Put a Minion's question to people, once however often it is sent."""
    if decisions.of_question(connection, session.id, event.question_id) is not None:
        return
    asked = decisions.asked_by(connection, session.id)
    job = jobs.get(connection, session.job_id)
    if job.call_number is not None:
        raise HTTPException(
            409, "a session of a call asks nobody: say in your result what you could not find out"
        )
    questions = parts.settings.space(job.space).questions
    if asked >= questions.per_session:
        raise HTTPException(409, f"a session may ask {questions.per_session} questions")
    at = parts.clock.now()
    is_scope = event.question_kind == "scope"
    asking = Decision(
        id=0,
        job_id=job.id,
        session_id=session.id,
        kind=DecisionKind.APPROVAL if is_scope else DecisionKind.QUESTION,
        subject=Subject.SCOPE_REQUEST if is_scope else Subject.QUESTION,
        title=f"{job.issue_ref}: {plain_line(event.text, limit=140) or 'a question without words'}",
        body=quoted(event.text),
        verbs=(Verb.ONCE, Verb.GRANT, Verb.REFUSE) if is_scope else (Verb.REPLY,),
        blocks="the running session",
        created_at=at,
        expires_at=at + timedelta(seconds=questions.wait_s),
        options=tuple(visible(option)[:200] for option in event.options[:10]),
        patterns=event.patterns if is_scope else (),
    )
    known = None if is_scope else answer_known(connection, job.space, event.text, job_id=job.id, at=at)
    if known is None:
        decisions.raise_decision(connection, asking, question_id=event.question_id)
        return
    decisions.keep_known(connection, asking, known.answer, by=known.by, question_id=event.question_id)
    note_answered(connection, known, event.text, space=job.space, job_id=job.id, at=at)


async def answers(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`GET /session/answers/{id}`: 200 with the answer, 204 when there is none yet, 410 when none will come."""
    question = str(request.path_params["question_id"])
    until = parts.clock.monotonic() + POLL_S
    while True:
        seen = parts.wakeup.count
        decision = await parts.database.read(lambda c: decisions.of_question(c, session.id, question))
        if decision is None:
            raise HTTPException(404, "no such question was asked in this session")
        if decision.state is DecisionState.ANSWERED:
            return JSONResponse(await _answer_payload(parts, decision))
        if decision.state is not DecisionState.OPEN:
            return wire.error_response(410, "expired", "nobody answered in time")
        left = until - parts.clock.monotonic()
        if left <= 0 or not await parts.wakeup.wait(seen, timeout_s=left):
            return Response(status_code=204)


async def _answer_payload(parts: SessionApiParts, decision: Decision) -> dict[str, object]:
    scope = None
    if decision.verb in (Verb.ONCE, Verb.GRANT):
        widened = await parts.database.read(lambda c: sessions.get(c, decision.session_id or ""))
        scope = json.loads(widened.scope)
    by = {"by": decision.answered_by} if is_known(decision.answered_by) else {}
    return {"answered": True, "answer": decision.answer, "scope": scope, **by}


async def report(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/report`: the session's one report. The same one again is fine, another one is refused."""
    cleaned: Report | CheckReport
    if session.kind is SessionKind.WORK:
        received = await wire.read(request, wire.REPORT, limit=wire.MAX_REPORT_BYTES)
        cleaned = _without_secrets(parts, session, received, wire.REPORT)
    else:
        results = await wire.read(request, wire.CHECK_REPORT, limit=wire.MAX_REPORT_BYTES)
        results = await asyncio.to_thread(without_values_in, results, parts.redactor)
        cleaned = _without_secrets(parts, session, results, wire.CHECK_REPORT)

    def take(connection: sqlite3.Connection) -> bool:
        sessions.mark(connection, session.id, heartbeat_at=parts.clock.now())
        return sessions.take_report(connection, session.id, cleaned)

    taken = await parts.database.write(Failpoint.REPORT_TAKEN, take)
    parts.wakeup.notify()
    if not taken:
        return wire.error_response(409, "reported", "this session has reported already, or has ended")
    return Response(status_code=204)


async def live(parts: SessionApiParts, scope: ServerScope) -> Session:
    """The session a request is of, as it stands now; its job's space is noted in the request's scope. Raises HTTPException 410 once it
    has ended."""

    def read(connection: sqlite3.Connection) -> tuple[Session, str]:
        session = sessions.get(connection, scope["overlord.session"])
        return session, jobs.space_of(connection, session.job_id)

    session, scope["overlord.space"] = await parts.database.read(read)
    if session.state is SessionState.ENDED:
        raise HTTPException(410, "this session has ended")
    bind_contextvars(job_id=session.job_id)  # of the task that answers this one request
    return session
