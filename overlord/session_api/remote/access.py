"""The listener for sessions on other machines, and what each is given to reach its session API there."""

import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial

from overlord.domain.launch import SessionAccess
from overlord.domain.session import SessionState
from overlord.errors import NotFound
from overlord.session_api.parts import SessionApiParts
from overlord.store import sessions

AccessOf = Callable[[str], SessionAccess | None]
"""A session's way in; None where there is no session listener."""


@contextlib.asynccontextmanager
async def session_listener(
    parts: SessionApiParts, *, now: Callable[[], datetime] | None = None
) -> AsyncIterator[AccessOf]:
    """Listen for sessions on other machines while the block runs, if the settings say so. `now` is the time that those machines have,
    if it is another than ours. Raises SettingsError, OSError."""
    settings = parts.settings.session_listener
    if not settings.is_on:
        yield lambda _: None
        return
    # Most have none, and do without what certificates are made with.
    from overlord.session_api.remote.certificates import Certificates
    from overlord.session_api.remote.gate import SessionGate
    from overlord.session_api.remote.tokens import SessionTokens

    tokens = SessionTokens.at(parts.home.session_listener / "token.key")
    certificates = Certificates(parts.home.session_listener, settings, now=now or parts.clock.now)
    gate = SessionGate(
        bound=settings.bound,
        certificates=certificates,
        tokens=tokens,
        socket_of=parts.home.socket,
        is_live=partial(_is_live, parts),
        monotonic=parts.clock.monotonic,
    )
    await gate.open()
    try:
        yield lambda session: SessionAccess(
            url=settings.url(gate.port), token=tokens.of(session), authority=certificates.authority
        )
    finally:
        await gate.close()


async def _is_live(parts: SessionApiParts, session: str) -> bool:
    try:
        found = await parts.database.read(lambda c: sessions.get(c, session))
    except NotFound:
        return False
    return found.state is not SessionState.ENDED
