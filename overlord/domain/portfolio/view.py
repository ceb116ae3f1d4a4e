"""All of the portfolio at one moment, as a cycle sees it: read once, and decided on without another look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from minion.protocol import Scope
from overlord.domain.budgets.budget import Cost
from overlord.domain.decision import Decision, Subject
from overlord.domain.job import JobId, JobState
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.files.goals import Goal
from overlord.domain.portfolio.graph import graph_of
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskLink, TaskState


class Autonomy(StrEnum):
    """What Overlord begins by itself in a space."""

    CAUTIOUS = "cautious"
    PROACTIVE = "proactive"
    SCHEDULED = "scheduled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two notes that do not go together."""

    key: str
    title: str
    text: str
    space: str
    """Empty where they are of two: then it is about all repositories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceView:
    """What a cycle goes by in one repository."""

    name: str
    autonomy: Autonomy = Autonomy.CAUTIOUS
    is_turn: bool = True
    """Whether something may be begun here now: the schedule's time where the space goes by that alone, and no pause."""
    goals: tuple[Goal, ...] = ()
    notes: int = 0
    """How many count."""
    has_worked: bool = False
    """Whether a job of it was ever merged."""
    red_at_base: str = ""
    """The tests that failed at base, by the last job that saw it; empty where none do."""
    open_initiatives: int = 3
    leads: int = 1
    pulls: int = 0
    """Open jobs with a pull request or on their way to one."""
    most_pulls: int = 3
    stale_days: int = 7
    thin_notes: int = 3
    usd: float | None = None
    tokens: int | None = None
    path_leases: bool = True
    pause: str = ""
    """Why nothing is begun, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job of a task or of a lead, as far as a cycle asks."""

    id: JobId
    state: JobState
    ending: str = ""
    """The event that ended it."""
    summary: str = ""
    """What its last session said it did."""
    scope: Scope | None = None
    """What its last session could write, where that was not everything."""
    waits_for_person: bool = False

    @property
    def is_over(self) -> bool:
        return self.state in (JobState.COMPLETED, JobState.CANCELLED, JobState.FAILED)


@dataclass(frozen=True, kw_only=True)
class PortfolioView:
    """Everything, read in one transaction."""

    at: datetime
    spaces: Mapping[str, SpaceView]
    initiatives: Sequence[Initiative]
    """Those that have not ended."""
    tasks: Sequence[Task]
    """Unfinished ones of these initiatives, and those of ended ones that are still worked on."""
    ended: Mapping[int, frozenset[TaskState]] = field(default_factory=dict)
    """By initiative, how its other tasks have ended; none where it has no others."""
    links: Sequence[TaskLink] = ()
    done: frozenset[int] = frozenset()
    """Rows of tasks that are done or cancelled and that another one waits for."""
    escalations: Sequence[Escalation] = ()
    """Unresolved ones."""
    jobs: Mapping[tuple[str, int], JobView] = field(default_factory=dict)
    """The last job of each task's and each planned initiative's issue, by repository and number; none whose end was taken note of."""
    open_jobs: Sequence[tuple[str, JobView]] = ()
    """Open jobs that are no task's, by repository."""
    answered: Sequence[Decision] = ()
    """Decisions about the portfolio that were answered and not carried out."""
    asked: frozenset[tuple[str, str]] = frozenset()
    """Open decisions about the portfolio: subject, and what each is about."""
    costs: Mapping[int, Cost] = field(default_factory=dict)
    """By initiative."""
    keys: frozenset[str] = frozenset()
    """Of all initiatives there ever were."""
    raised: frozenset[str] = frozenset()
    """What was ever asked about, by the `about` of its decision."""
    conflicts: Sequence[Conflict] = ()
    edited_plans: frozenset[int] = frozenset()
    """Active initiatives whose plan.md a person changed since its plan was made."""
    troubles: Mapping[int, str] = field(default_factory=dict)
    """By task that is in progress, why its issue was not opened or not taken up."""
    lead_troubles: Mapping[int, str] = field(default_factory=dict)
    """The same of initiatives that are being planned."""
    last_served: Mapping[str, datetime] = field(default_factory=dict)
    """When a task of a repository was assigned last."""

    @cached_property
    def graph(self) -> dict[int, set[int]]:
        """By task, those it waits for."""
        return graph_of((link.blocker_id, link.blocked_id) for link in self.links)

    @cached_property
    def by_id(self) -> dict[int, Initiative]:
        return {item.id: item for item in self.initiatives}

    @cached_property
    def tasks_of(self) -> dict[int, list[Task]]:
        """By initiative, in the order of their numbers."""
        found = dict[int, list[Task]]()
        for task in sorted(self.tasks, key=lambda item: (item.initiative_id, item.number)):
            found.setdefault(task.initiative_id, []).append(task)
        return found

    @cached_property
    def task_rows(self) -> dict[int, Task]:
        return {task.id: task for task in self.tasks}

    def job_of(self, space: str, issue_number: int | None) -> JobView | None:
        """The last job of an issue."""
        return self.jobs.get((space, issue_number)) if issue_number is not None else None

    def is_asked(self, about: str, *, but: Subject | None = None) -> bool:
        """Whether a person is asked about it now, something else than `but`, or has answered and that is not carried out."""
        subjects = self._asked_about.get(about, frozenset())
        return bool(subjects - {but})

    @cached_property
    def _asked_about(self) -> Mapping[str, frozenset[str]]:
        found = dict[str, frozenset[str]]()
        answered = ((item.subject, item.about) for item in self.answered)
        for subject, about in (*self.asked, *answered):
            found[about] = found.get(about, frozenset()) | {subject}
        return found

    def blocking(self, task: Task) -> Escalation | None:
        """The escalation without which a task cannot go on."""
        return self._by_task.get(task.id) or self._by_initiative.get(task.initiative_id)

    @cached_property
    def _by_task(self) -> dict[int, Escalation]:
        return {item.task_id: item for item in self.escalations if item.task_id is not None}

    @cached_property
    def _by_initiative(self) -> dict[int, Escalation]:
        found = (item for item in self.escalations if item.blocks_initiative)
        return {item.initiative_id: item for item in found if item.initiative_id is not None}

    def waits_for(self, task: Task) -> tuple[int, ...]:
        """The rows that a task waits for."""
        return tuple(sorted(row for row in self.graph.get(task.id, ()) if row not in self.done))

    @cached_property
    def in_progress(self) -> dict[str, list[Task]]:
        """By repository."""
        found = dict[str, list[Task]]()
        for task in self.tasks:
            if task.state is TaskState.IN_PROGRESS:
                found.setdefault(task.space, []).append(task)
        return found
