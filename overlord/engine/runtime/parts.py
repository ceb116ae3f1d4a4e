"""What each step is handed: the store, the ports and the settings, built once by the composition root."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.turn import Turn
from overlord.domain.event import OVERLORD
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobId
from overlord.domain.review.rubric import Rubric
from overlord.domain.scope.reason import Inference
from overlord.domain.session_watchdog import SessionWatchdog
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.contact import Contacts, watched
from overlord.engine.runtime.diff_cache import DiffCache
from overlord.engine.runtime.early_fetch import EarlyFetches
from overlord.engine.runtime.hint import Hints
from overlord.engine.runtime.pace import Pace
from overlord.engine.runtime.poll_outcome import PollOutcomes
from overlord.engine.runtime.poll_schedule import PollSchedule
from overlord.errors import ForgeUnavailable
from overlord.home import Home
from overlord.metrics import Meters
from overlord.ports.access import NoRemoteAccess, RemoteAccess
from overlord.ports.clock import Clock
from overlord.ports.forge import Forge
from overlord.ports.git import Git
from overlord.ports.hooks import Hooks, NoHooks
from overlord.ports.model import Assistant
from overlord.ports.runner import Runner
from overlord.settings.current import CurrentSettings
from overlord.settings.load import Settings
from overlord.store.contracts import job_contracts
from overlord.store.database import Database
from overlord.store.evidence import EvidenceStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`notify` wakes whoever waits for a fact: the daemon's loop and the session API."""

    current: CurrentSettings
    home: Home
    database: Database
    evidence: EvidenceStore
    forge: Forge
    git: Git
    runner: Runner
    assistant: Assistant
    clock: Clock
    rubric: Rubric
    notify: Callable[[], None]
    access: RemoteAccess = field(default_factory=NoRemoteAccess)
    """What sessions on other machines are given."""
    session_watchdog: SessionWatchdog = field(default_factory=SessionWatchdog)
    hints: Hints = field(default_factory=Hints)
    early_fetches: EarlyFetches = field(default_factory=EarlyFetches)
    poll_schedule: PollSchedule = field(default_factory=PollSchedule)
    poll_outcomes: PollOutcomes = field(default_factory=PollOutcomes)
    contacts: Contacts = field(default_factory=Contacts)
    meters: Meters = field(default_factory=Meters)
    hooks: Hooks = field(default_factory=NoHooks)
    """The operator's own programs."""
    chat_output: ChatOutput | None = None
    """The chat; None where there is none, and everything works all the same."""
    inferred: dict[object, Inference] = field(default_factory=dict)
    """Scopes that were told from issues: the same words at the same commit say the same."""
    diffs: DiffCache = field(default_factory=DiffCache)
    """What evaluations look at, read once."""
    skills_at_base: dict[str, bytes] = field(default_factory=dict)
    """Skill files by the names of their contents, which never change."""
    skill_review_asked: dict[RepositoryName, tuple[float, int]] = field(default_factory=dict)
    """What the review has asked of the forge for a space, and since when by the daemon's own clock."""
    skill_reading_rests: dict[str, float] = field(default_factory=dict)
    """Until when, by the daemon's own clock, no model is asked to read the skills of a space, because it gave no reply."""
    drafts_refused: dict[JobId, str] = field(default_factory=dict)
    """The head of a job that could not be shown while it was judged. Forgotten with the daemon: delivery asks people."""
    portfolio_pace: Pace = field(default_factory=Pace)
    unopened: dict[str, tuple[RepositoryName, ForgeUnavailable]] = field(default_factory=dict)
    """By its key, an issue of Overlord's own that the forge does not open now, and why: the poll of its space tells of it."""

    notes_checked_at: dict[str, str] = field(default_factory=dict)
    """The base commit at which a repository's notes were last held against it."""
    notes_compared: dict[str, str] = field(default_factory=dict)
    """What the notes were like when they were last compared with each other."""

    @property
    def settings(self) -> Settings:
        return self.current.settings

    def contract(self, space: str) -> Contract:
        """The contract of a space, for what is claimed there now."""
        return self.current.contract(space)

    def contract_of(self, connection: sqlite3.Connection, job: Job) -> Contract:
        """The contract a job goes by."""
        return job_contracts.of_job(connection, job.id, lambda: self.contract(job.space))

    async def turn_of(self, job: Job) -> Turn:
        """Whose turn it is on a job, by the contract it goes by. Raises ContractError."""
        return Turn.of(await self.database.read(lambda c: self.contract_of(c, job)), job)

    def watched(self) -> "Parts":
        """The same, with how calls of the runner and the chat go noted in `contacts`."""
        if self.chat_output is not None:
            self.chat_output.chat = watched(self.chat_output.chat, self.contacts.chat, self.clock.now)
        return replace(self, runner=watched(self.runner, self.contacts.runner, self.clock.now))

    def still(self) -> "Parts":
        """The same for one step: its settings stay as they are now."""
        return replace(self, current=self.current.still())


@dataclass(frozen=True, slots=True, kw_only=True)
class Caretaker:
    """What retention is handed, by a daemon or by a command. Without a runner, what lives there is left alone."""

    settings: Settings
    home: Home
    database: Database
    evidence: EvidenceStore
    git: Git
    runner: Runner | None
    clock: Clock
    actor: str = OVERLORD

    @classmethod
    def of(cls, parts: Parts) -> "Caretaker":
        """The daemon's own."""
        return cls(
            settings=parts.settings,
            home=parts.home,
            database=parts.database,
            evidence=parts.evidence,
            git=parts.git,
            runner=parts.runner,
            clock=parts.clock,
        )
