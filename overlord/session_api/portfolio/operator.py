"""The operator's programs, asked on behalf of a session: one after another and so often at most, since each is a process of this machine
and the other sessions wait for their turn too."""

import asyncio

from starlette.exceptions import HTTPException

from overlord.domain.hooks import HookCall
from overlord.domain.session import Session
from overlord.session_api.parts import SessionApiParts

MOST_ASKED = 20
"""By one session: an agent of ours asks a handful of times."""


async def refusals(parts: SessionApiParts, session: Session, call: HookCall) -> tuple[str, ...]:
    """What the operator's programs hold against it. Raises HTTPException 429 for a session that asks without end."""
    asked = parts.hook_calls.get(session.id, 0)
    if asked >= MOST_ASKED:
        raise HTTPException(
            429, f"the operator's programs were asked {MOST_ASKED} times for this session: end it as it is"
        )
    parts.hook_calls[session.id] = asked + 1
    lock = parts.reading.setdefault(f"hooks {session.id}", asyncio.Lock())
    async with lock:
        return (await parts.hooks.ask(call)).refusals
