"""Jobs whose sessions ended because they wait for an answer: to what they escalated."""

import sqlite3

from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.session import Session
from overlord.store.conversation import steering
from overlord.store.portfolio import escalations


def open_of_job(connection: sqlite3.Connection, job_id: int) -> list[Escalation]:
    """What a job's sessions escalated and nobody has answered, oldest first."""
    return [item for item in escalations.of_job(connection, job_id) if item.is_open]


def has_unread_answer(connection: sqlite3.Connection, session: Session) -> bool:
    """Whether an answer to what a session escalated came, and the session ended before it read it."""
    written = escalations.of_job(connection, session.job_id)
    is_answered = any(item.session_id == session.id and item.resolution for item in written)
    return is_answered and bool(steering.unread(connection, session.job_id))
