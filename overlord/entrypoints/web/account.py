"""What accounts at GitHub may here: those who may write to a repository see it and act on it, and nobody else sees anything.

Reading is no right of its own: a public repository may be read by everybody, and GitHub says no more of somebody who was invited to
read. The forge is asked with Overlord's own sign-in, when a person signs in and then every quarter of an hour of use. It is asked
beside a look, which goes on with what was said last, and before an act. While GitHub does not answer, acts are refused at once and looks
after an hour: what was once allowed counts no longer than that.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable

import structlog

from overlord.domain.access import Account
from overlord.domain.identifiers import RepositoryName
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, OverlordError, StoreError
from overlord.failpoints import Failpoint
from overlord.ports.clock import Clock
from overlord.ports.forge import Forge
from overlord.store import access
from overlord.store.database import Database

WITHIN_S = 15.0
"""For all questions about one account."""
AGAIN_S = 15.0
"""How long nobody is asked about an account whose question was not answered."""
MOST_SILENT = 1000
SILENT = "GitHub does not say just now what you may do here; try again in a minute"

log = structlog.get_logger()


class NotNow(OverlordError):
    """Whether somebody may still come in cannot be found out just now."""


class AccountRights:
    """Asks the forge, and keeps what it says with the session."""

    def __init__(
        self, forge: Forge, database: Database, clock: Clock, repositories: Callable[[], Iterable[str]]
    ) -> None:
        self._forge, self._database, self._clock = forge, database, clock
        self._repositories = repositories
        self._asking: dict[str, asyncio.Task[Account | None]] = {}
        """By the secret of the session."""
        self._silent_at: dict[str, float] = {}

    async def ask(self, login: str) -> Account:
        """What an account may now. Raises ForgeUnavailable."""
        at = self._clock.now()
        names = list(self._repositories())
        try:
            async with asyncio.timeout(WITHIN_S):
                said = await asyncio.gather(*(self._may_write(name, login) for name in names))
        except TimeoutError:
            raise ForgeUnavailable(f"GitHub: no answer within {WITHIN_S:g} s") from None
        spaces = tuple(name for name, may in zip(names, said, strict=True) if may)
        return Account(login=login, spaces=spaces, asked_at=at)

    async def _may_write(self, name: str, login: str) -> bool:
        try:
            return await self._forge.may_write(RepositoryName(name), login)
        except ForgeMissing:  # the repository for us, or the account for the forge
            return False
        except ForgeRefused as error:
            log.warning("account_not_asked", account=login, trouble=str(error))
            return False

    async def current(self, known: Account, secret: str, *, acts: bool) -> Account:
        """What an account may, as fresh as it has to be. Raises NotNow."""
        at = self._clock.now()
        if not known.is_due(at):
            return known
        asking = self._ask_anew(known.login, secret)
        if not acts and not known.is_too_old(at):
            return known
        found = await asyncio.shield(asking) if asking is not None else None
        if found is None:
            raise NotNow(SILENT)
        return found

    def _ask_anew(self, login: str, secret: str) -> "asyncio.Task[Account | None] | None":
        """The one question about a session that is on its way; None just after one that was not answered."""
        if (asking := self._asking.get(secret)) is not None:
            return asking
        silent_at = self._silent_at.get(secret)
        if silent_at is not None and self._clock.monotonic() - silent_at < AGAIN_S:
            return None
        self._asking[secret] = asking = asyncio.create_task(self._noted(login, secret))
        asking.add_done_callback(lambda _: self._asking.pop(secret, None))
        return asking

    async def _noted(self, login: str, secret: str) -> Account | None:
        """What the forge says, written down; None where it says nothing."""
        try:
            account = await self.ask(login)
            await self._database.write(
                Failpoint.ACCESS_GRANTED, lambda c: access.note_account(c, secret, account)
            )
        except (ForgeUnavailable, StoreError, sqlite3.Error) as error:
            log.warning("account_not_asked", account=login, trouble=str(error))
            if len(self._silent_at) >= MOST_SILENT:
                self._silent_at.clear()
            self._silent_at[secret] = self._clock.monotonic()
            return None
        self._silent_at.pop(secret, None)
        return account

    async def close(self) -> None:
        """End the questions that are on their way."""
        asking = list(self._asking.values())
        for one in asking:
            one.cancel()
        if asking:
            await asyncio.wait(asking)
