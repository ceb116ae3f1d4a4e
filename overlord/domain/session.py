"""A session: one attempt by one Minion, or one run of the judge's commands, in one container."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from minion.protocol import NATIVE, Brief, CheckReport, Outcome, Report, SessionKind, encode
from overlord.domain.budgets.budget import Budget, Per, Unit
from overlord.domain.identifiers import NO_COMMIT, Sha
from overlord.domain.job import JobId

MAX_LOSSES = 3
"""Losses to infrastructure that are put back in the queue; the next one asks a person."""


CONTAINER_UID = 10001
"""The user that sessions in containers run as."""
MAX_PUSH_BYTES = 200 * 1024 * 1024
"""The largest pack a session may push."""
MAX_PUSHED_BYTES = 500 * 1024 * 1024
"""What all its pushes may take of the disk together."""


class SessionState(StrEnum):
    """`prepared`: its row and brief exist; `started`: the runner has it; `ended`: nothing of it runs any more."""

    PREPARED = "prepared"
    STARTED = "started"
    ENDED = "ended"


class StopReason(StrEnum):
    """Why Overlord stopped a session that was still running."""

    TIME_LIMIT = "time_limit"
    SILENT = "silent"
    REPORTED = "reported"
    """It had reported and did not leave by itself."""
    JOB_CLOSED = "job_closed"


class EndKind(StrEnum):
    """How a session's program ended, as the runner saw it. Only `exited` is its own doing."""

    EXITED = "exited"
    STOPPED = "stopped"
    """By us: a stop we asked for."""
    KILLED = "killed"
    """By someone else, or by a restart of the engine."""
    OUT_OF_MEMORY = "out_of_memory"
    LOST = "lost"
    """It was started and nothing of it is left to ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it ended; `exit_code` is a hint for people, never evidence of success."""

    kind: EndKind
    exit_code: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whose books a request to a model goes on: a session's, or a repository's alone, where it is about no job."""

    id: str
    """The session's, or what tells one undertaking from another."""
    space: str
    kind: SessionKind
    job_id: JobId | None = None
    """None for a repository's."""
    budgets: tuple[Budget, ...] = ()
    """The session's own caps."""
    model: str = ""
    """A name of models.yaml that counts in place of the repository's; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A row: what was asked, what it says, how it ended."""

    id: str
    job_id: JobId
    kind: SessionKind
    state: SessionState
    brief: str
    """The Brief as JSON, exactly as the session API serves it."""
    scope: str
    """`MINION_SCOPE`, exactly as the container gets it."""
    branch: str
    token_budget: int
    time_limit_s: int
    prepared_at: datetime
    door_opened_at: datetime | None = None
    sealed_at: datetime | None = None
    """When a check session opened the connection for its one report: from then on its session API listens to nobody."""
    started_at: datetime | None = None
    heartbeat_at: datetime | None = None
    ended_at: datetime | None = None
    turn: int = 0
    last_action: str = ""
    nusd_budget: int | None = None
    """Nano-dollars it may spend; None when only tokens are capped."""
    exhausted: Budget | None = None
    """The budget that was spent when its model calls were refused."""
    report: Report | CheckReport | None = None
    stop_reason: StopReason | None = None
    dropped: tuple[str, ...] = ()
    """Paths outside the scope whose changes were taken out of its work."""
    taken_sha: Sha = NO_COMMIT
    """The commit that its work became; empty while it runs, and where nothing was taken."""
    ending: str = ""
    """The runner's word for how it ended, with its detail."""
    layer: str = ""
    """The key of the environment it runs in, or makes; empty for none."""
    cleared: bool = False
    """Whether what it held is freed: its container or processes, its repository."""
    agent: str = NATIVE
    """The coding agent that works in it, by the name it was chosen by."""
    model: str = ""
    """The name of models.yaml that answers it, where its agent has one of its own; empty for the repository's."""

    @property
    def role(self) -> str:
        """Who works in it, by its brief; empty for what has none."""
        return str(json.loads(self.brief).get("role", "")) if self.brief else ""

    @property
    def asks_model(self) -> str:
        """What its model's endpoint calls the model it is to ask, by its brief; empty where nobody said."""
        return str((json.loads(self.brief).get("agent") or {}).get("model", "")) if self.brief else ""

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """Its own caps."""
        tokens = Budget(per=Per.SESSION, unit=Unit.TOKENS, limit=self.token_budget)
        if self.nusd_budget is None:
            return (tokens,)
        return (tokens, Budget(per=Per.SESSION, unit=Unit.USD, limit=self.nusd_budget))

    def account(self, space: str) -> Account:
        """Its books. `space` is its job's."""
        return Account(
            id=self.id,
            space=space,
            kind=self.kind,
            job_id=self.job_id,
            budgets=self.budgets,
            model=self.model,
        )


def prepared(
    brief: Brief,
    job_id: JobId,
    *,
    at: datetime,
    layer: str,
    time_limit_s: int,
    token_budget: int = 0,
    nusd_budget: int | None = None,
    model: str = "",
) -> Session:
    """The row of a session that is told `brief`."""
    return Session(
        id=brief.session_id,
        job_id=job_id,
        kind=brief.kind,
        state=SessionState.PREPARED,
        brief=encode(brief).decode(),
        scope=brief.scope.to_json(),
        branch=brief.branch,
        token_budget=token_budget,
        nusd_budget=nusd_budget,
        time_limit_s=time_limit_s,
        prepared_at=at,
        layer=layer,
        agent=brief.agent.name,
        model=model,
    )


def who_worked(ran: Iterable[Session], answered: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The agents of work sessions, each once with the models that `answered` its sessions, by their ids: `codex with gpt-6`. None where
    the native one alone worked."""
    models: dict[str, dict[str, None]] = {}
    for session in ran:
        if session.kind is SessionKind.WORK:
            models.setdefault(session.agent, {}).update(dict.fromkeys(answered.get(session.id, ())))
    if not models.keys() - {NATIVE}:
        return ()
    return tuple(with_models(agent, names) for agent, names in models.items())


def with_models(agent: str, names: Iterable[str]) -> str:
    """An agent and the models it works with, in words."""
    known = ", ".join(filter(None, names))
    return f"{agent} with {known}" if known else agent


def session_id(job_id: JobId, kind: SessionKind, ordinal: int) -> str:
    """The deterministic name of a job's n-th session: `j12-work-1`, `j12-check-2`."""
    return f"j{job_id}-{kind}-{ordinal}"


def socket_name(identifier: str, key: bytes) -> str:
    """Eight characters that stand for a session in a socket's path, which may be 107 bytes at most."""
    return sha256(key + identifier.encode()).hexdigest()[:8]


class SessionVerdict(StrEnum):
    """What a work session that is over means for its job."""

    SUBMITTED = "submitted"
    LOST = "lost"
    STOPPED_SHORT = "stopped_short"


def judge_ending(session: Session, ending: Ending) -> SessionVerdict:
    """What a session's end means. Its own report counts first; an exit code is never evidence.

    A session that ended by itself without a report, or was killed or told to stop by someone else, was lost to
    infrastructure.
    """
    if isinstance(session.report, Report) and not _was_stopped_by_engine(session, ending):
        complete = session.report.outcome is Outcome.COMPLETE
        return SessionVerdict.SUBMITTED if complete else SessionVerdict.STOPPED_SHORT
    if session.stop_reason in (StopReason.TIME_LIMIT, StopReason.SILENT):
        return SessionVerdict.STOPPED_SHORT
    if ending.kind is EndKind.OUT_OF_MEMORY:
        return SessionVerdict.STOPPED_SHORT
    return SessionVerdict.LOST


def _was_stopped_by_engine(session: Session, ending: Ending) -> bool:
    """Whether it says that it was told to stop, and not by us: an engine that goes down tells its containers so."""
    if not isinstance(session.report, Report) or session.report.reason != TERMINATED:
        return False
    if session.stop_reason is None:
        return ending.kind is not EndKind.STOPPED
    return session.stop_reason is StopReason.REPORTED


TERMINATED = "terminated"
"""A report's reason: it was told to stop."""

MODEL = "model"
"""A report's reason: the model gave it no answers to work with."""

_SHORT = {
    "turn_limit": "It used all of its turns.",
    "tool_errors": "Too many tool calls in a row failed.",
    "time_limit": "Its time was up.",
    TERMINATED: "It was told to stop.",
    MODEL: "The model gave no usable answers.",
    "scope": "Its scope could not be read.",
    "internal": "The Minion itself failed.",
    "no_work": "Its agent ended without changing a file, and without a word of why.",
    "agent": "Its agent's program is missing, or cannot run here.",
}


def why_short(session: Session, ending: Ending) -> str:
    """One sentence for people: why a session stopped short."""
    report = session.report
    if session.stop_reason is StopReason.TIME_LIMIT:
        return f"Overlord stopped it after {session.time_limit_s} s."
    if session.stop_reason is StopReason.SILENT:
        return "Overlord stopped it: no sign of life for too long."
    if isinstance(report, Report) and report.outcome is Outcome.OUT_OF_BUDGET:
        if session.exhausted is not None:
            return f"Spent: {session.exhausted.describe()}."
        return f"It spent its budget of {session.token_budget:,} tokens."
    if isinstance(report, Report):
        return _SHORT.get(report.reason, "") or "It reported that it cannot go on."
    return f"It ended without a report: {ending.kind.replace('_', ' ')}."
