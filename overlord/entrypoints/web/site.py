"""What the page's handlers share: what runs, a reader, templates; and who asks."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import structlog
from starlette.requests import Request

from overlord.adapters.github.oauth import OAuthClient
from overlord.app import Overlord
from overlord.domain.access import SESSION_LASTS, Account, BrowserSession
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.mirror_commits import MirrorCommits
from overlord.entrypoints.web.account import AccountRights
from overlord.entrypoints.web.live import Live
from overlord.entrypoints.web.owner import OwnerToken, owner
from overlord.entrypoints.web.pages import health
from overlord.entrypoints.web.reader import Reader
from overlord.entrypoints.web.sign_in import Attempts
from overlord.entrypoints.web.verifying import LedgerVerifier
from overlord.entrypoints.web.visitor import Visitor
from overlord.errors import StoreError
from overlord.failpoints import Failpoint
from overlord.queries.look import Look
from overlord.store import access, seen_decisions
from overlord.verbs.right import OF_TOKEN, Right
from overlord.verbs.verb import Context

log = structlog.get_logger()
Result = TypeVar("Result")
LASTS_S = int(SESSION_LASTS.total_seconds())
STRANGER = "web:stranger"


@dataclass(slots=True, kw_only=True)
class Site:
    """One page of one daemon."""

    running: Overlord
    reader: Reader
    sessions: Reader
    """Who somebody is, is found also while pages take long."""
    live: Live
    verifier: LedgerVerifier
    health_of: Health
    owner_token: OwnerToken
    is_local: bool
    """Whether only this machine reaches it."""
    port: int = 0
    url: str = ""
    """The address people type, where that is another: the settings' `page.url`."""
    oauth: OAuthClient | None = None
    accounts: AccountRights | None = None
    """How people sign in with an account at GitHub, and what that may; None where nobody does."""
    attempts: Attempts = field(default_factory=Attempts)
    refusals: Attempts = field(default_factory=Attempts)
    """Acts of people who are signed in and may not give them."""

    @property
    def cookie(self) -> str:
        """Its name: browsers keep one jar for all ports of a machine."""
        return f"overlord-{self.port}"

    @property
    def now(self) -> datetime:
        return self.running.parts.clock.now()

    async def begin_session(self, token: str) -> str | None:
        """The secret of a session's cookie, for whoever signs in with a token; None for a token that is none."""
        database, at = self.running.parts.database, self.now
        if self.is_local and self.owner_token.is_it(token):
            actor = f"web:{owner()}@local"  # no token has such a name
            return await database.write(
                Failpoint.ACCESS_GRANTED,
                lambda c: access.begin_owner_session(c, actor=actor, token=token, at=at),
            )
        found = await self.sessions.read(lambda c: access.find(c, token, at=at))
        if found is None:
            return None
        return await database.write(Failpoint.ACCESS_GRANTED, lambda c: access.begin_session(c, found, at=at))

    async def note_stranger(self, token: str) -> None:
        """Write down that somebody could not sign in: once a minute at most."""
        at = self.now
        await self.running.parts.database.write(
            Failpoint.ACCESS_GRANTED, lambda c: access.note_refusal(c, token, actor=STRANGER, at=at)
        )

    async def visitor(self, request: Request) -> Visitor | None:
        """Whose session's cookie a request has."""
        secret = request.cookies.get(self.cookie, "")
        return await self.visitor_with(secret, acts=request.method == "POST") if secret else None

    async def visitor_with(self, secret: str, *, acts: bool = False, is_use: bool = True) -> Visitor | None:
        """Whose session has that secret; None where nobody's counts. `acts`: they want something done, so what GitHub says of them is
        to be fresh. `is_use`: they ask for something, which is written down now and then. Raises NotNow."""
        at = self.now
        session = await self.sessions.read(lambda c: access.find_session(c, secret, at=at))
        if session is None or (session.is_owners and not self._is_owners(session)):
            return None
        if is_use and session.is_use_due(at):
            await self.running.parts.database.write(
                Failpoint.ACCESS_GRANTED, lambda c: access.note_session_use(c, secret, at=at)
            )
        if session.account is not None:
            return await self._account_visitor(session.account, secret, acts=acts)
        spaces = session.token.spaces if session.token is not None else ()
        return Visitor(actor=session.actor, right=OF_TOKEN[session.right], spaces=spaces, secret=secret)

    async def bearer(self, token: str, *, is_use: bool = True) -> Visitor | None:
        """Whose token a program comes with: the owner's of the home, on this machine alone, or an access token. `is_use`: it asks for
        something, which is written down now and then."""
        if self.is_local and self.owner_token.is_it(token):
            return Visitor(actor=f"web:{owner()}@local", right=Right.OPERATOR, secret=token)
        at = self.now
        found = await self.sessions.read(lambda c: access.find(c, token, at=at))
        if found is None:
            return None
        if is_use and found.is_use_due(at):
            await self.running.parts.database.write(
                Failpoint.ACCESS_GRANTED, lambda c: access.note_use(c, found.id, at=at)
            )
        return Visitor(actor=found.actor, right=OF_TOKEN[found.right], spaces=found.spaces, secret=token)

    def _is_owners(self, session: BrowserSession) -> bool:
        return self.is_local and self.owner_token.began(session.begun_with)

    async def _account_visitor(self, known: Account, secret: str, *, acts: bool) -> Visitor | None:
        """What an account may by what GitHub said last, in the repositories that are worked on now."""
        if self.accounts is None:
            return None
        account = await self.accounts.current(known, secret, acts=acts)
        settings = self.running.parts.settings
        spaces = tuple(name for name in settings.repositories if account.reaches(name))
        if not spaces:
            return None
        rights = {name.casefold(): self._right_of(account, name) for name in spaces}
        return Visitor(actor=account.actor, right=Right.ANYONE, spaces=spaces, rights=rights, secret=secret)

    def _right_of(self, account: Account, space: str) -> Right:
        """Who may write is a writer there, and an approver whom the settings name."""
        named = {name.casefold() for name in self.running.parts.settings.approvers(space)}
        return Right.APPROVER if account.actor.casefold() in named else Right.WRITER

    async def end_session(self, visitor: Visitor) -> None:
        at = self.now
        await self.running.parts.database.write(
            Failpoint.ACCESS_REVOKED, lambda c: access.end_session(c, visitor.secret, at=at)
        )

    async def look(self, act: Callable[[Look], Result]) -> Result:
        """What a query or a page reads. Raises NotFound, Refused."""
        return await self.reader.read(lambda connection: act(self.look_at(connection)))

    async def known(self) -> health.Known:
        """How it is with what the daemon calls, as its own work has shown."""
        return await health.known(self.running, self.health_of)

    async def note_seen(self, visitor: Visitor, shown: Mapping[int, str]) -> None:
        """Remember what somebody is shown of what waits; where that cannot be written, it is shown all the same."""
        at = self.now
        try:
            await self.running.parts.database.write(
                Failpoint.ACCESS_GRANTED, lambda c: seen_decisions.note(c, visitor.actor, shown, at=at)
            )
        except (StoreError, sqlite3.DatabaseError) as error:
            log.warning("page_not_told", trouble=str(error))

    def look_at(self, connection: sqlite3.Connection) -> Look:
        settings = self.running.parts.settings
        commits = MirrorCommits(home=self.running.parts.home, extent=settings.extent)
        return Look(connection=connection, current_settings=lambda: settings, at=self.now, commits=commits)

    def context(
        self,
        connection: sqlite3.Connection,
        by: Person | None = None,
        digest: str = "",
        interface: Interface = Interface.PAGE,
    ) -> Context:
        """What a verb looks at; without anybody who gives it, nothing can be done."""
        parts = self.running.parts
        return Context(
            connection=connection,
            current_settings=lambda: parts.settings,
            contract=parts.contract,
            interface=interface,
            at=self.now,
            actor=by.actor if by is not None else "",
            by=by,
            digest=digest or None,
        )
