"""A person says something to a job's Minion."""

import sqlite3
from datetime import datetime

from minion.protocol import SessionKind
from overlord.command_ref import CommandRef, Hint, hint
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.conversation.steering import MOST_OF_JOB, MOST_WAITING, SteeringMessage, message_text
from overlord.domain.decision import Decision, DecisionKind, Verb
from overlord.errors import Refused
from overlord.store import decisions, jobs, sessions
from overlord.store.conversation import steering


def send_message(
    connection: sqlite3.Connection,
    job_id: int,
    text: str,
    *,
    actor: str,
    comment_id: int | None = None,
    at: datetime,
) -> SteeringMessage:
    """Say something to a job: its session reads it before its model's next turn; where none works, the next one's brief has it.

    `text` is at most 4,000 characters. `actor` says so: `cli:name`, `slack:U123`, `github:name`. `comment_id` is the comment it
    was said in, for a reply once it was read. Written down only: the session takes it by itself. Its `outcome()` is what its author
    is told.

    Raises NotFound for an unknown job; Refused for one that has ended, for no words or too many, and where too much waits to be read.
    """
    job = jobs.get(connection, job_id)
    text = message_text(text)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already ({state_in_words(job.state)}), and nobody reads this")
    known = steering.of_job(connection, job.id)
    if sum(not message.is_read for message in known) >= MOST_WAITING:
        raise Refused(f"{MOST_WAITING} messages to job {job.id} wait to be read already")
    if len(known) >= MOST_OF_JOB:
        raise Refused(f"job {job.id} has {MOST_OF_JOB} messages already, which is the most")
    live = sessions.live_of(connection, job.id)
    is_at_work = live is not None and live.kind is SessionKind.WORK and live.report is None
    return steering.add(
        connection,
        SteeringMessage(
            id=0,
            job_id=job.id,
            text=text,
            actor=actor,
            at=at,
            session_id=live.id if live is not None and is_at_work else None,
            comment_id=comment_id,
        ),
    )


def answerable(connection: sqlite3.Connection, job_id: int, *, before: datetime) -> Decision | None:
    """What a job waits for that words answer, if that was asked before they were written: the Minion's question, else a decision."""
    asked = [item for item in decisions.waiting(connection, job_id) if Verb.REPLY in item.verbs]
    shown = [item for item in asked if item.created_at.replace(microsecond=0) <= before]
    return next(iter(sorted(shown, key=lambda item: item.kind is not DecisionKind.QUESTION)), None)


def way_on(connection: sqlite3.Connection, job_id: int) -> Hint | None:
    """What somebody is told beside, who writes to a job that waits for an answer in words."""
    asked = [item for item in decisions.waiting(connection, job_id) if Verb.REPLY in item.verbs]
    if not asked:
        return None
    return hint(
        "the job waits for an answer: ",
        CommandRef("answer", (asked[0].ref.label, "your words")),
        " lets it go on",
    )
