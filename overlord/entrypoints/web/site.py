"""What the page's handlers share: what runs, a reader, templates; and who asks."""

import asyncio
import getpass
import os
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from starlette.requests import Request

from overlord.app import Overlord
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.web.live import Live
from overlord.entrypoints.web.reader import Reader
from overlord.entrypoints.web.sign_in import Attempts, same
from overlord.entrypoints.web.visitor import Visitor
from overlord.home import Home
from overlord.queries.look import Look
from overlord.verbs.right import Right
from overlord.verbs.verb import Context

Result = TypeVar("Result")
LASTS_S = 7 * 86_400
"""How long a browser stays signed in."""


def owner_token(home: Home) -> str:
    """The token of whoever owns the home, who alone can read it there; made once."""
    file = home.page_token
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text(encoding="ascii").strip()
    with os.fdopen(handle, "w", encoding="ascii") as new:
        new.write(secrets.token_urlsafe(32))
    return file.read_text(encoding="ascii")


def owner() -> str:
    """The name of whoever runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


@dataclass(slots=True, kw_only=True)
class Site:
    """One page of one daemon."""

    running: Overlord
    reader: Reader
    live: Live
    health_of: Health
    owner_token: str
    is_local: bool
    """Whether only this machine reaches it."""
    port: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sessions: dict[str, Visitor] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        """Its name: browsers keep one jar for all ports of a machine."""
        return f"overlord-{self.port}"

    @property
    def now(self) -> datetime:
        return self.running.parts.clock.now()

    async def begin_session(self, token: str) -> Visitor | None:
        """Whoever signs in with a token; None for one that is none."""
        if not (self.is_local and same(token, self.owner_token)):
            return None
        visitor = Visitor(actor=f"web:{owner()}", right=Right.OPERATOR, secret=secrets.token_urlsafe(32))
        self._sessions[visitor.secret] = visitor
        return visitor

    async def visitor(self, request: Request) -> Visitor | None:
        """Whose session's cookie a request has."""
        return self._sessions.get(request.cookies.get(self.cookie, ""))

    async def end_session(self, visitor: Visitor) -> None:
        self._sessions.pop(visitor.secret, None)

    async def look(self, act: Callable[[Look], Result]) -> Result:
        """What a query or a page reads. Raises NotFound, Refused."""
        return await self.reader.read(lambda connection: act(self.look_at(connection)))

    async def health(self) -> list[str]:
        """What keeps work from going on, in sentences."""
        return await self.health_of.reasons()

    def look_at(self, connection: sqlite3.Connection) -> Look:
        settings = self.running.parts.settings
        return Look(connection=connection, current_settings=lambda: settings, at=self.now)

    def context(self, connection: sqlite3.Connection, by: Person | None = None, digest: str = "") -> Context:
        """What a verb looks at; without anybody who gives it, nothing can be done."""
        parts = self.running.parts
        return Context(
            connection=connection,
            current_settings=lambda: parts.settings,
            contract=parts.contract,
            interface=Interface.PAGE,
            at=self.now,
            actor=by.actor if by is not None else "",
            by=by,
            digest=digest or None,
        )
