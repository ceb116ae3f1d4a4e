"""What every session API is built from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakValueDictionary

from overlord.domain.text.redaction import Redactor
from overlord.home import Home
from overlord.metrics import Meters
from overlord.ports.clock import Clock
from overlord.ports.git import GitContent
from overlord.ports.hooks import Hooks, NoHooks
from overlord.ports.mcp import Mcp
from overlord.ports.model import Model
from overlord.session_api.in_flight import Flight
from overlord.session_api.limits import SessionLimits
from overlord.session_api.mcp_conversations import Conversations
from overlord.session_api.outages import Outages
from overlord.session_api.push_limits import Pushes
from overlord.session_api.transcript import Transcripts
from overlord.session_api.turn_journal import Journal
from overlord.settings.current import CurrentSettings
from overlord.settings.load import Settings
from overlord.settings.model import PRIMARY
from overlord.store.database import Database
from overlord.wakeup import Wakeup

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionApiParts:
    """`wakeup` is notified when a session reports what moves its job, and waited for while one waits for an answer."""

    current: CurrentSettings
    home: Home
    database: Database
    model: Model
    """The endpoint of the `model` section."""
    git: GitContent
    """What commits hold: a proposed contract and a recorded answer are held against it."""
    mcp: Mcp
    """The MCP servers of the settings."""
    clock: Clock
    wakeup: Wakeup
    hooks: Hooks = field(default_factory=NoHooks)
    """The operator's own programs, which may refuse what a session asks for."""
    watchers: Wakeup = field(default_factory=Wakeup)
    """Rung for what a session says that only people who watch it want to know."""
    spare_models: Mapping[str, Model] = field(default_factory=dict)
    """Those of `endpoints`, by name."""
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How the gateway waits before it asks an endpoint again, in seconds."""
    limits: SessionLimits = field(default_factory=SessionLimits)
    """What each session may take of the daemon."""
    flight: Flight = field(default_factory=Flight)
    meters: Meters = field(default_factory=Meters)
    pushes: Pushes = field(default_factory=Pushes)
    journal: Journal = field(default_factory=Journal)
    mcp_conversations: Conversations = field(default_factory=Conversations)
    reading: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """By account: its requests to a model are read and written one after another, beside the daemon's other work."""
    hook_calls: dict[str, int] = field(default_factory=dict)
    """By session, how often the operator's programs were asked for it."""
    transcripts: Transcripts = field(init=False)
    outages: Outages = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "transcripts", Transcripts(self.home, self.redactor))
        outages = Outages(
            database=self.database,
            clock=self.clock,
            settings=lambda: self.settings,
            notify=self.wakeup.notify,
        )
        object.__setattr__(self, "outages", outages)

    @property
    def settings(self) -> Settings:
        return self.current.settings

    @property
    def redactor(self) -> Redactor:
        return self.current.redactor

    def endpoint(self, name: str) -> Model:
        return self.model if name == PRIMARY else self.spare_models[name]

    async def beside(self, account: str, make: Callable[[], Made]) -> Made:
        """What `make` makes of an account's request, in a thread: the largest takes a second, and each account has one at a time."""
        lock = self.reading.setdefault(account, asyncio.Lock())
        async with lock:
            return await asyncio.to_thread(make)
