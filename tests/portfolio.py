"""Initiatives and tasks as tests need them: whole, plausible, and different only where a test says so."""

from typing import Any

from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from tests.records import NOW, REPO


def an_initiative(**given: Any) -> Initiative:
    """Not stored; its key is its slug."""
    slug = given.get("slug", "refresh-tokens")
    values: dict[str, Any] = {
        "id": 0,
        "space": REPO,
        "slug": slug,
        "title": "Refresh tokens",
        "goal": "Sessions last longer.",
        "source": InitiativeSource.PERSON,
        "key": slug,
        "state": InitiativeState.QUEUED,
        "priority": Priority.NORMAL,
        "actor": "cli:alice",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Initiative(**{**values, **given})


def a_task(**given: Any) -> Task:
    """Not stored."""
    values: dict[str, Any] = {
        "id": 0,
        "initiative_id": 1,
        "number": 0,
        "space": REPO,
        "subject": "Implement token blacklist",
        "description": "",
        "acceptance_criteria": ("It works.",),
        "state": TaskState.IN_PROGRESS,
        "priority": Priority.NORMAL,
        "created_by": "cli:alice",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Task(**{**values, **given})
