"""Where the calls of a checkout are worked on: by the daemon of this home that manages its repository, else in the checkout's own place."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from overlord import wakeup
from overlord.domain.identifiers import RepositoryName
from overlord.entrypoints.local.build.origin import address_of
from overlord.entrypoints.local.build.origin import place_of as forge_place
from overlord.entrypoints.local.checkout import Checkout
from overlord.entrypoints.local.place import Place, place_of
from overlord.errors import ContractError, Refused, SettingsError, StoreError
from overlord.failpoints import Failpoint
from overlord.home import Home
from overlord.settings.env import home_of
from overlord.settings.load import Settings, load, with_added
from overlord.store.database import is_held, open_reader, write_from_command
from overlord.store.disciplines import calls
from overlord.store.schema.migrations import migrate
from overlord.store.spaces import managed

if TYPE_CHECKING:
    from overlord.entrypoints.mcp.checkout.local_engine import LocalEngine

Result = TypeVar("Result")
LOOK_S, POLL_S = 1.0, 0.15
SETTINGS_S = 5.0
"""How long settings that were read count."""


class Where(Protocol):
    """A home, and whoever works in it."""

    @property
    def home(self) -> Home:
        """Where rows and mirrors are."""

    @property
    def space(self) -> RepositoryName:
        """What the repository is called there."""

    @property
    def settings(self) -> Settings:
        """Raises SettingsError, ContractError."""

    async def ensure(self) -> None:
        """See to it that somebody works on what is asked for. Raises OverlordError, with what is missing."""

    async def make_database(self) -> None:
        """Have a database of this program's, to read and to write to."""

    async def wait(self, timeout_s: float) -> None:
        """Return when something may have happened, or after a moment."""

    async def close(self) -> None:
        """End what was begun here."""


async def found(own: Checkout, environment: Mapping[str, str]) -> Where:
    """The daemon's home, if one works there on the repository that the checkout comes from, else the checkout's own place."""
    home = Home(home_of(environment))
    if is_held(home.database) and (space := await _managed(own, environment, home)):
        return DaemonHome(home=home, space=space, environment=environment)
    place = place_of(str(own.place), environment)
    return LocalHome(place=place, environment=environment)


async def _managed(own: Checkout, environment: Mapping[str, str], home: Home) -> RepositoryName | None:
    """The repository that `origin` names, if the daemon manages it."""
    try:
        origin = forge_place(await address_of(own.git_dir))
        settings = daemon_settings(environment, home)
    except (Refused, SettingsError, ContractError, StoreError):
        return None
    if origin is None or not origin.is_at(settings.forge.api_url):
        return None
    known = {name.casefold(): name for name in settings.repositories}
    name = known.get(origin.name.casefold())
    return RepositoryName(name) if name else None


def daemon_settings(environment: Mapping[str, str], home: Home) -> Settings:
    """The settings of a daemon, with the repositories that people added by command."""
    with closing(open_reader(home.database)) as connection:
        return with_added(load(environment), managed.added(connection))


def read(home: Home, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """One consistent look at a home's database; where there is none yet, at an empty one."""
    if not home.database.exists():
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
            empty.row_factory = sqlite3.Row
            migrate(empty)
            return act(empty)
    with closing(open_reader(home.database)) as connection:
        connection.execute("BEGIN")
        return act(connection)


async def read_at(at: Where, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """The same, beside somebody who may just begin to work there: a database that is being made, or is an older program's, is waited for."""
    try:
        return await asyncio.to_thread(read, at.home, act)
    except StoreError:
        await at.make_database()
    return await asyncio.to_thread(read, at.home, act)


def write(home: Home, point: Failpoint, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """One transaction, after which whoever works there is woken."""
    result = write_from_command(home.database, point, act)
    wakeup.notify(home.wakeup)
    return result


async def changed(home: Home, timeout_s: float) -> None:
    """Return when another process has written to a database, or after a moment."""
    until = time.monotonic() + min(timeout_s, LOOK_S)
    if not home.database.exists():
        await asyncio.sleep(min(timeout_s, POLL_S))
        return
    try:
        reader = open_reader(home.database)
    except StoreError:  # it is being made
        await asyncio.sleep(min(timeout_s, POLL_S))
        return
    with closing(reader) as connection:
        seen = _version(connection)
        while (left_s := until - time.monotonic()) > 0 and _version(connection) == seen:  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(min(left_s, POLL_S))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


@dataclass(slots=True)
class _Kept:
    """Settings for a moment."""

    settings: Settings | None = None
    at: float = 0.0

    def get(self, load_them: Callable[[], Settings]) -> Settings:
        if self.settings is None or time.monotonic() - self.at > SETTINGS_S:
            self.settings, self.at = load_them(), time.monotonic()
        return self.settings


@dataclass(slots=True, kw_only=True)
class DaemonHome:
    """The home of a daemon: rows are written beside it, as commands do."""

    home: Home
    space: RepositoryName
    environment: Mapping[str, str]
    _kept: _Kept = field(default_factory=_Kept)

    @property
    def settings(self) -> Settings:
        return self._kept.get(lambda: daemon_settings(self.environment, self.home))

    async def ensure(self) -> None:
        if not is_held(self.home.database):
            raise Refused(
                f"the daemon of {self.home.root} that works on {self.space} does not run; start it with `overlord serve`, and call again"
            )

    async def make_database(self) -> None:
        """The daemon has made it."""

    async def wait(self, timeout_s: float) -> None:
        await changed(self.home, timeout_s)

    async def close(self) -> None:
        """The daemon goes on."""


@dataclass(slots=True, kw_only=True)
class LocalHome:
    """The place that `overlord run` has for a checkout."""

    place: Place
    environment: Mapping[str, str]
    _engine: "LocalEngine | None" = None
    _kept: _Kept = field(default_factory=_Kept)
    _seen: int = 0

    @property
    def home(self) -> Home:
        return self.place.home

    @property
    def space(self) -> RepositoryName:
        return RepositoryName(self.place.repository)

    @property
    def settings(self) -> Settings:
        if self._engine is not None and self._engine.running is not None:
            return self._engine.running.parts.settings
        return self._kept.get(lambda: self.place.settings(self.environment))

    @property
    def engine(self) -> "LocalEngine":
        """Its modules take longer to import than a server may take to be ready."""
        if self._engine is None:
            from overlord.entrypoints.mcp.checkout.local_engine import LocalEngine

            self._engine = LocalEngine(place=self.place, environment=self.environment)
        return self._engine

    async def ensure(self) -> None:
        await self.engine.ensure()

    async def make_database(self) -> None:
        await self.engine.make_database()

    async def wait(self, timeout_s: float) -> None:
        if await read_at(self, lambda c: bool(calls.open_calls(c, self.space))):
            await self.engine.ensure()
        running = self._engine.running if self._engine is not None else None
        if running is None:
            await changed(self.home, timeout_s)
            return
        await running.watchers.wait(self._seen, timeout_s=min(timeout_s, LOOK_S))
        self._seen = running.watchers.count

    async def close(self) -> None:
        if self._engine is not None:
            await self._engine.close()
