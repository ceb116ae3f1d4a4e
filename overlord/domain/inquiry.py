"""What people are shown who ask: status, queue, history, why, cost, decisions. Neutral values; interfaces render them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import Finding
from overlord.domain.budgets.budget import Budget, Cost, Spending
from overlord.domain.conversation.steering import SteeringMessage
from overlord.domain.decision import Decision
from overlord.domain.job import Job
from overlord.domain.model_fault import ModelOutage
from overlord.domain.pause import Pause
from overlord.domain.session import Session
from overlord.domain.text.plain import count


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job, and what is done in it now."""

    job: Job
    session: Session | None
    cost: Cost
    trouble: str = ""
    """What keeps its session from going on just now: its model does not answer."""
    unread: int = 0
    """Messages of people that no session has read."""

    @property
    def doing(self) -> str:
        """In a few words: what its session is at, or why it stands where it stands. May be a model's words."""
        waits = f"{count(self.unread, 'message')} to read" if self.unread else ""
        return " · ".join(filter(None, (waits, self._doing)))

    @property
    def _doing(self) -> str:
        if self.session is None:
            return self.job.reason
        if self.trouble:
            return self.trouble
        if not self.session.turn:
            return self.session.id
        return f"turn {self.session.turn}: {self.session.last_action}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceError:
    """A repository that gives trouble. `is_gone`: it cannot be found, and nothing is asked of it any more."""

    name: str
    trouble: str
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDecision:
    """A decision that waits, and what it is about."""

    decision: Decision
    space: str
    issue_number: int | None = None
    """None for what is about a space as a whole."""
    initiative: str = ""
    """The initiative it is of, by its name; empty where it is of none."""
    why: str = ""
    """What speaks for the answer that is suggested, in the words of whoever suggests it."""

    @property
    def place(self) -> str:
        """Where it is asked: `acme/calc / refresh-tokens`, `acme/calc#7`, `acme/calc`."""
        if self.initiative:
            return f"{self.space} / {self.initiative}"
        return self.space if self.issue_number is None else f"{self.space}#{self.issue_number}"

    @property
    def question(self) -> str:
        """What is asked, without the place that its title begins with."""
        places = [self.place, self.space]
        if self.issue_number is not None:
            places.insert(0, f"{self.space}#{self.issue_number}")
        title = self.decision.title
        found = next((place for place in places if title.startswith(f"{place}: ")), None)
        return title if found is None else title[len(found) + 2 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What is going on."""

    at: datetime
    jobs: tuple[JobView, ...]
    waiting: tuple[OpenDecision, ...]
    poll_errors: tuple[SpaceError, ...]
    pauses: tuple[Pause, ...]
    today: Cost
    outages: tuple[ModelOutage, ...] = ()
    """Models that give no replies."""
    settings: tuple[str, ...] = ()
    """What is to be said of the settings: that newer ones do not load, or wait for a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedRepository:
    """One repository managed by Overlord, at a glance."""

    name: str
    by: str
    """How it came there: the settings, or who added it."""
    running: int
    most: int
    """Sessions, now and at once."""
    open_jobs: int
    state: str
    """That it goes on, or what holds it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceValue:
    """One value a repository is worked on by, and where that is said."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A job that waits for its next session."""

    job: Job
    why: str
    """What it waits for, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Queued jobs, in the order they are begun. Sessions run at once: `running` of at most `most`."""

    at: datetime
    jobs: tuple[Queued, ...]
    running: int
    most: int
    pauses: tuple[Pause, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    """A job that has ended."""

    job: Job
    ended_at: datetime
    cost: Cost

    @property
    def took_s(self) -> float:
        """From claim to end, in seconds."""
        return max((self.ended_at - self.job.created_at).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What ended lately, newest first."""

    at: datetime
    jobs: tuple[EndedJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that happened, as a sentence."""

    at: datetime
    sentence: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a job stands, and how it came there."""

    at: datetime
    view: JobView
    told: tuple[HistoryLine, ...]
    """The last events, oldest first."""
    earlier: int
    """How many there were before those."""
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    """What its last evaluation held against its work."""
    unread: tuple[SteeringMessage, ...] = ()
    """What people said to it and no session has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A budget and where it stands. Its limit is with what people added."""

    budget: Budget
    spending: Spending
    space: str = ""
    """Of a cap over one repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What was spent by one of several: a repository, a session."""

    name: str
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCost:
    """What was spent on one day of UTC."""

    day: str
    cost: Cost
    spaces: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What was spent over some days, newest first; `caps` are today's."""

    at: datetime
    days: tuple[DayCost, ...]
    total: Cost
    caps: tuple[Cap, ...]

    @property
    def spaces(self) -> tuple[Share, ...]:
        """Over all of the days, by repository, what cost most first."""
        names = sorted({share.name for day in self.days for share in day.spaces})
        found = (
            Share(name=name, cost=total(s.cost for d in self.days for s in d.spaces if s.name == name))
            for name in names
        )
        return tuple(sorted(found, key=lambda share: (-(share.cost.nusd or 0), -share.cost.tokens)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost:
    """What one job has cost so far, session by session."""

    at: datetime
    job: Job
    total: Cost
    sessions: tuple[Share, ...]
    caps: tuple[Cap, ...] = ()


def total(costs: Iterable[Cost]) -> Cost:
    """The sum: money where any of them has a price."""
    found = list(costs)
    priced = [cost.nusd for cost in found if cost.nusd is not None]
    return Cost(tokens=sum(cost.tokens for cost in found), nusd=sum(priced) if priced else None)


def age_text(seconds: float) -> str:
    """A length of time, in one unit: `3 h`."""
    whole = max(0, int(seconds))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"
