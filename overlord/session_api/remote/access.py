"""The listener for sessions on other machines, and what each is given to reach its session API there."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from overlord.domain.launch import SessionAccess
from overlord.domain.session import SessionState
from overlord.errors import NotFound
from overlord.ports.access import NoRemoteAccess, RemoteAccess
from overlord.session_api.parts import SessionApiParts
from overlord.store import sessions

if TYPE_CHECKING:
    from overlord.session_api.remote.certificates import Certificates
    from overlord.session_api.remote.tokens import SessionTokens


@dataclass(frozen=True, slots=True)
class Accesses:
    """What programs on other machines are given: made when it is asked for, so that it trusts the certificates of that moment."""

    url: str
    tokens: "SessionTokens"
    certificates: "Certificates"

    def session(self, session: str) -> SessionAccess:
        return self._with(self.tokens.of(session))

    def copy(self, space: str, name: str) -> SessionAccess:
        return self._with(self.tokens.of_copy(space, name))

    def _with(self, token: str) -> SessionAccess:
        return SessionAccess(url=self.url, token=token, authority=self.certificates.authority)


@contextlib.asynccontextmanager
async def session_listener(
    parts: SessionApiParts, *, now: Callable[[], datetime] | None = None
) -> AsyncIterator[RemoteAccess]:
    """Listen for sessions on other machines while the block runs, if the settings say so. `now` is the time that those machines have,
    if it is another than ours. Raises SettingsError, OSError."""
    settings = parts.settings.session_listener
    if not settings.is_on:
        yield NoRemoteAccess()
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
        copy_of=partial(_copy_of, parts),
        is_live=partial(_is_live, parts),
        monotonic=parts.clock.monotonic,
    )
    await gate.open()
    try:
        yield Accesses(settings.url(gate.port), tokens, certificates)
    finally:
        await gate.close()


async def _is_live(parts: SessionApiParts, session: str) -> bool:
    try:
        found = await parts.database.read(lambda c: sessions.get(c, session))
    except NotFound:
        return False
    return found.state is not SessionState.ENDED


def _copy_of(parts: SessionApiParts, space: str, name: str) -> Path:
    return parts.home.ready(space) / name
