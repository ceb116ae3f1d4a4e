"""A session that says it is blocked by what it has escalated: its job waits for that alone, and gives its place to another meanwhile."""

import sqlite3
from datetime import datetime

from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.session import Session
from overlord.domain.text.plain import defused_line
from overlord.store import jobs
from overlord.store.portfolio import waits

_REASON_CHARS = 200


def begin(
    connection: sqlite3.Connection,
    session: Session,
    data: dict[str, Json],
    *,
    head: Sha | None,
    at: datetime,
) -> bool:
    """Whether the job waits for an escalation: then nobody is asked a second time what blocks it. It goes on once that is resolved; at
    once where it just was, and the session ended before it read the answer."""
    asked = waits.open_of_job(connection, session.job_id)
    is_answered = not asked and waits.has_unread_answer(connection, session)
    if not asked and not is_answered:
        return False
    refs = ", ".join(item.ref for item in asked)
    reason = f"waits for {refs}: {defused_line(asked[0].question)[:_REASON_CHARS]}" if asked else ""
    stopped = EventName.SESSION_STOPPED_SHORT
    jobs.move(connection, session.job_id, stopped, at=at, data=data, head_sha=head, losses=0, reason=reason)
    if is_answered:
        jobs.move(connection, session.job_id, EventName.WORK_RESUMED, at=at, data=data)
    return True
