"""What people say to a session while it works. The session asks for it before each turn, and says what it has."""

import sqlite3

from starlette.requests import Request
from starlette.responses import Response

from minion.protocol import Messages, encode
from overlord.domain.conversation.steering import MOST_OF_JOB
from overlord.domain.session import Session
from overlord.failpoints import Failpoint
from overlord.session_api import wire
from overlord.session_api.parts import SessionApiParts
from overlord.store.conversation import steering

MOST_TURNS = 1_000_000
"""No turn that a session may name is above this."""


async def messages(request: Request, parts: SessionApiParts, session: Session) -> Response:
    """`POST /session/messages`: what the session has not taken yet. What it says it took counts as read, of its own job alone."""
    confirmed = await wire.read(request, wire.MESSAGES_TAKEN, limit=wire.MAX_EVENT_BYTES)
    taken, turn = frozenset(confirmed.taken[:MOST_OF_JOB]), min(max(confirmed.turn, 1), MOST_TURNS)
    if taken:
        at = parts.clock.now()

        def take(connection: sqlite3.Connection) -> None:
            steering.mark_read(connection, session, taken, turn=turn, at=at)

        await parts.database.write(Failpoint.STEERING_READ, take)
        parts.wakeup.notify()
    unread = await parts.database.read(lambda c: steering.unread(c, session.job_id))
    found = Messages(messages=tuple(steering.as_message(message) for message in unread))
    return Response(encode(found), media_type="application/json")
