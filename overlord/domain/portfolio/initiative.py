"""An initiative: a goal in a space, with a plan and tasks."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.portfolio.priority import Priority

MOST_TITLE_CHARS = 200
MOST_GOAL_CHARS = 8_000
_SLUG_CHARS = 48


class InitiativeState(StrEnum):
    """How far it is."""

    PROPOSED = "proposed"
    """Overlord came upon it, and a person is asked whether it is wanted."""
    QUEUED = "queued"
    """Wanted, and its planning has not begun."""
    PLANNING = "planning"
    """A lead plans it, or its plan waits for a person."""
    ACTIVE = "active"
    """Its plan is approved: its tasks are worked on."""
    PAUSED = "paused"
    """A person lets it rest: nothing of it is begun."""
    DONE = "done"
    CANCELLED = "cancelled"


OPEN = (InitiativeState.QUEUED, InitiativeState.PLANNING, InitiativeState.ACTIVE)
"""The states that count against the limit of open initiatives."""
ENDED = (InitiativeState.DONE, InitiativeState.CANCELLED)


class InitiativeSource(StrEnum):
    """Where it comes from."""

    PERSON = "person"
    OVERVIEW = "overview"
    """A goal of the space's OVERVIEW.md."""
    TESTS = "tests"
    """Tests that fail at base."""
    KNOWLEDGE = "knowledge"
    """Little is known of the space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Initiative:
    """A row."""

    id: int
    space: str
    slug: str
    """Its directory's name, once in a space."""
    title: str
    goal: str
    """What is wanted, in the words of whoever wants it. Untrusted."""
    source: InitiativeSource
    key: str
    """What it was made from: the same is made into one initiative only."""
    state: InitiativeState
    priority: Priority
    actor: str
    created_at: datetime
    updated_at: datetime
    nusd_budget: int | None = None
    """What all its jobs together may cost, in nano-dollars; None for what the settings say."""
    token_budget: int | None = None
    paths: tuple[str, ...] = ()
    """What its tasks may write, as scope patterns; empty where nothing was said."""
    issue_request_id: int | None = None
    issue_number: int | None = None
    """Of its own issue, whose sub-issues its tasks are."""
    job_id: int | None = None
    """The last job that planned it."""
    plan_digest: str = ""
    """Of the plan that was approved last."""
    replan: str = ""
    """Why the plan has to be looked at again; empty where it has not."""
    last_task: int = 0
    """The high watermark: the highest number a task of it ever had."""
    waits: str = ""
    """Why nothing of it goes on now, in a few words."""
    is_issue_closed: bool = False
    is_issue_behind: bool = False
    """Whether its issue is still to say what the initiative says now."""
    completed_at: datetime | None = None

    @property
    def ref(self) -> str:
        """As people write it: `i3`."""
        return f"i{self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


def slug_of(title: str) -> str:
    """A directory's name for a title: lower case letters, digits and hyphens. Never empty, never a path."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:_SLUG_CHARS].strip("-")
    return words or "initiative"
