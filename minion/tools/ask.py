"""Asking a person, and waiting for the answer while the session goes on."""

import json
import os
import time

from minion.errors import SessionApiRefused, ToolError
from minion.protocol import ANSWERS_PATH, EVENTS_PATH, Event, EventKind, Scope, ScopeError, encode
from minion.session import Session
from minion.session_api import Answer, SessionApi
from minion.tools.tool import Kind, Parameter, Tool

POLL_TIMEOUT_S = 90.0
"""Longer than the session API holds one question open."""
SHORTEST_POLL_S = 1.0
KINDS = ("question", "decision", "scope")

UNANSWERED = (
    "Nobody answered in time. Go on with what you can decide by yourself and say in your summary what you assumed, "
    "or end with task_blocked and say what is needed."
)


def ask_question(
    session: Session,
    *,
    question: str,
    options: tuple[str, ...] = (),
    kind: str = "question",
    patterns: tuple[str, ...] = (),
) -> str:
    with session.interrupts.waiting():
        question_id = put_question(session, question=question, options=options, kind=kind, patterns=patterns)
        return answer_to(session, session.session_api, question_id) if question_id else UNANSWERED


def put_question(
    session: Session, *, question: str, options: tuple[str, ...], kind: str, patterns: tuple[str, ...]
) -> str:
    """Ask, and return the id by which the answer is asked for; an empty one where nobody will answer. Raises ToolError."""
    limits = session.brief.limits
    if session.questions >= limits.questions:
        raise ToolError(
            f"This session has asked its {limits.questions} questions. Decide, or end with task_blocked."
        )
    if kind == "scope" and not patterns:
        raise ToolError('A question of kind "scope" needs patterns: the paths you want to write.')
    event = Event(
        kind=EventKind.QUESTION,
        turn=session.turn,
        text=question,
        question_id=os.urandom(8).hex(),
        question_kind=kind,
        options=options,
        patterns=patterns,
    )
    session.questions += 1
    try:
        session.session_api.post(EVENTS_PATH, encode(event))
    except SessionApiRefused as error:
        _check_unanswered(error)
        return ""
    return event.question_id


def answer_to(session: Session, session_api: SessionApi, question_id: str) -> str:
    """Wait for a question's answer, no longer than its own limit. A scope that comes with it counts at once. Raises ToolError."""
    try:
        answer = _wait(session_api, question_id, session.brief.limits.question_wait_s)
    except SessionApiRefused as error:
        _check_unanswered(error)
        return UNANSWERED
    return UNANSWERED if answer is None else _understood(session, answer)


def _check_unanswered(error: SessionApiRefused) -> None:
    """Raises ToolError for a refusal that says anything but that nobody answered in time."""
    if error.status != 410:
        raise ToolError(f"The question was not accepted: {error}") from error


def _wait(session_api: SessionApi, question_id: str, wait_s: float) -> Answer | None:
    until = time.monotonic() + wait_s
    while (began := time.monotonic()) < until:
        answer = session_api.call("GET", f"{ANSWERS_PATH}/{question_id}", timeout_s=POLL_TIMEOUT_S)
        if answer.status == 200:
            return answer
        # A session API that holds the poll open is asked again at once; one that does not is not hammered.
        time.sleep(max(0.0, min(began + SHORTEST_POLL_S, until) - time.monotonic()))
    return None


def _understood(session: Session, answer: Answer) -> str:
    payload = answer.json()
    by = payload.get("by")
    who = f"This was answered before ({by}), so nobody is asked again" if by else "A person answered"
    words = f"{who}: {payload.get('answer', '')}"
    if not payload.get("scope"):
        return words
    try:
        session.territory.scope = Scope.parse(json.dumps(payload["scope"]))
    except ScopeError as error:
        return f"{words}\n(The scope that came with it cannot be read, so yours is unchanged: {error})"
    return f"{words}\nYou may now write: {session.territory.scope.describe()}."


TOOLS = (
    Tool(
        name="ask_question",
        meaning=(
            "Ask a person and wait for the answer (minutes). For what only a person can decide, or, with kind scope, "
            "to be allowed to write more paths."
        ),
        run=ask_question,
        parameters=(
            Parameter(
                name="question", meaning="The question, with what is needed to answer it.", required=True
            ),
            Parameter(name="options", meaning="Answers to choose from.", kind=Kind.TEXTS),
            Parameter(name="kind", meaning="What is asked for.", choices=KINDS),
            Parameter(name="patterns", meaning="For kind scope: path patterns to write.", kind=Kind.TEXTS),
        ),
    ),
)
