"""Small views of a portfolio, for tests of what a cycle decides."""

from datetime import timedelta
from typing import Any

from overlord.domain.event import OVERLORD
from overlord.domain.job import JobId, JobState
from overlord.domain.portfolio.escalation import Escalation, EscalationKind, EscalationState, EscalationType
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskLink, TaskState
from overlord.domain.portfolio.view import Autonomy, JobView, PortfolioView, SpaceView
from tests.records import NOW, REPO

LONG_AGO = NOW - timedelta(days=30)


def a_space(name: str = REPO, **given: Any) -> SpaceView:
    return SpaceView(**{"name": name, "autonomy": Autonomy.PROACTIVE, **given})


def an_initiative(number: int = 1, **given: Any) -> Initiative:
    common = {
        "id": number,
        "space": REPO,
        "slug": f"goal-{number}",
        "title": f"Goal {number}",
        "goal": "Everything is faster.",
        "source": InitiativeSource.PERSON,
        "key": f"person:{number}",
        "state": InitiativeState.ACTIVE,
        "priority": Priority.NORMAL,
        "actor": OVERLORD,
        "created_at": NOW,
        "updated_at": NOW,
        "plan_digest": "d",
    }
    return Initiative(**{**common, **given})


def a_task(row: int = 1, **given: Any) -> Task:
    """A task whose number is its row."""
    common = {
        "id": row,
        "initiative_id": 1,
        "number": row,
        "space": REPO,
        "subject": f"Do part {row}",
        "description": "",
        "acceptance_criteria": ("it works", "it is tested"),
        "state": TaskState.PENDING,
        "priority": Priority.NORMAL,
        "created_by": OVERLORD,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Task(**{**common, **given})


def at_work(row: int = 1, **given: Any) -> Task:
    """One that is in progress, at the issue of its row's number."""
    return a_task(row, **{"state": TaskState.IN_PROGRESS, "issue_number": row, **given})


def a_job_view(number: int = 1, state: JobState = JobState.RUNNING, **given: Any) -> JobView:
    return JobView(id=JobId(number), state=state, **given)


def a_link(blocker: int, blocked: int) -> TaskLink:
    return TaskLink(blocker_id=blocker, blocked_id=blocked)


def an_escalation(number: int = 1, **given: Any) -> Escalation:
    common = {
        "id": number,
        "type": EscalationType.QUESTION,
        "kind": EscalationKind.SCOPE,
        "space": REPO,
        "question": "Should the page have a theme?",
        "context": "",
        "suggested": (),
        "escalated_by": "session:j1-work-1",
        "path": ("session",),
        "priority": Priority.NORMAL,
        "state": EscalationState.PENDING,
        "created_at": NOW,
    }
    return Escalation(**{**common, **given})


def a_view(*tasks: Task, **given: Any) -> PortfolioView:
    """One space, one active initiative, and these tasks, unless something else is given."""
    common = {
        "at": NOW,
        "spaces": {REPO: a_space()},
        "initiatives": [an_initiative()],
        "tasks": list(tasks),
    }
    return PortfolioView(**{**common, **given})
