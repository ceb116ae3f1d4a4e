"""Words in a thread of the chat: the answer to what is asked there, else a message to the job the thread is about.

Nobody's words are left without a word: what cannot be an answer is told to whoever wrote it, with what to type instead. Talk in
other threads is none of ours.
"""

import sqlite3
from collections.abc import Callable
from functools import partial

from overlord.domain.conversation.command import MOST_CHARS, typed
from overlord.domain.conversation.decision_words import answer_in
from overlord.domain.decision import Decision, DecisionState, Verb
from overlord.domain.person import Person
from overlord.engine.chat.chat_verbs import Done, check_eyes, space_of_decision
from overlord.engine.runtime.parts import Parts
from overlord.errors import Refused
from overlord.store import decisions, jobs
from overlord.store.chat import messages
from overlord.store.chat.messages import Message, MessageKind
from overlord.store.chat.requests import Request
from overlord.verbs import commands, message

WORDLESS = "Overlord cannot read files. Write the answer in words, in the same thread."


def plan(
    connection: sqlite3.Connection, parts: Parts, request: Request
) -> tuple[str, Callable[[sqlite3.Connection, Person], Done]] | None:
    """The space a reply is about and what it does; None for talk that is none of ours.

    Raises Refused for what cannot be an answer, and for a message without words: who sent a file alone took it for one.
    """
    root = messages.at(connection, request.channel, request.thread)
    found, job_id = _meant(connection, root, request) if root is not None else (None, None)
    if found is None and job_id is None:
        return None
    words = typed(request.text[:MOST_CHARS])
    if not words.strip():
        raise Refused(WORDLESS)
    if found is not None:
        verb, text = answer_in(found, words)
        act = partial(answer, parts=parts, decision=found, verb=verb, text=text)
        return space_of_decision(connection, found), act
    job = jobs.get(connection, job_id or 0)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already, and nobody reads this")
    return job.space, partial(_send_reply, parts=parts, job_id=job.id, text=words)


def _meant(
    connection: sqlite3.Connection, root: Message, request: Request
) -> tuple[Decision | None, int | None]:
    """The open decision that a thread is about, else its job: that of a decision's card, or of a job's thread what the job waits for
    and words answer."""
    if root.kind is MessageKind.DECISION:
        decision = decisions.get(connection, root.ref)
        return (decision if decision.state is DecisionState.OPEN else None), decision.job_id
    if root.kind is MessageKind.JOB:
        return message.answerable(connection, root.ref, before=request.at), root.ref
    return None, None


def _send_reply(connection: sqlite3.Connection, by: Person, *, parts: Parts, job_id: int, text: str) -> Done:
    """The job's thread tells that it was said, and that it was read."""
    command = message.SendMessage(job_id=job_id, text=text, actor=by.actor)
    message.send_message(connection, command, at=parts.clock.now())
    return Done(said="")


def answer(
    connection: sqlite3.Connection,
    by: Person,
    *,
    parts: Parts,
    decision: Decision,
    verb: Verb,
    text: str,
    digest: str | None = None,
) -> Done:
    """Answer a decision as it was shown. Raises Refused, NotTheirs."""
    check_eyes(connection, parts, decision, verb, by.actor)
    command = commands.AnswerDecision(
        decision_id=decision.id, verb=verb, text=text, actor=by.actor, digest=digest or decision.digest
    )
    commands.answer_decision(connection, command, at=parts.clock.now())
    return Done(said="")
