"""A lead as a scripted model plays it, and the initiative that it plans."""

from typing import Any

from overlord.domain.decision import Decision, Subject
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.embedded.play import Turn, call, submit
from overlord.store import decisions
from overlord.store.portfolio import initiatives, tasks
from overlord.verbs.plan import request_plan
from tests.world import REPO, World

TEXT = (
    "# Sums\n\n## Goal\n\nThe calculator adds right.\n\n## Current state\n\ncalc.py subtracts.\n\n"
    "## Approach\n\nMend add, then write it down.\n\n## What is next\n\nadd.\n"
)
MEND: dict[str, Any] = {
    "subject": "Make add() add",
    "acceptance_criteria": ["add(2, 2) is 4", "tests/test_calc.py shows it"],
    "description": "calc.py subtracts.",
    "paths": ["calc.py", "tests/**"],
    "priority": "high",
}
WRITE: dict[str, Any] = {
    "subject": "Say in the README what add() does",
    "acceptance_criteria": ["README.md names add()"],
    "paths": ["README.md"],
    "blocked_by": [1],
}


def an_initiative(**given: Any) -> Initiative:
    at = given.pop("at")
    values: dict[str, Any] = {
        "id": 0,
        "space": REPO,
        "slug": "",
        "title": "Right sums",
        "goal": "The calculator adds right.",
        "source": InitiativeSource.PERSON,
        "key": "person:1",
        "state": InitiativeState.QUEUED,
        "priority": Priority.NORMAL,
        "actor": "cli:ada",
        "created_at": at,
        "updated_at": at,
    }
    return Initiative(**{**values, **given})


def proposes(*plans: dict[str, Any], says: str = "The plan is proposed.") -> tuple[Turn, ...]:
    """The turns of a lead that proposes these, each after the first because the one before was refused."""
    return *(call("propose_plan", **plan) for plan in plans), submit(says)


def a_plan(*planned: dict[str, Any], text: str = TEXT) -> dict[str, Any]:
    return {"text": text, "tasks": list(planned)}


async def asked_to_plan(world: World, **given: Any) -> Initiative:
    """An initiative whose planning was just asked for."""

    def ask(connection: Any) -> Initiative:
        at = world.clock.now()
        made = initiatives.add(connection, an_initiative(at=at, **given))
        assert made is not None
        return request_plan(connection, made, actor="cli:ada", at=at)

    made: Initiative = await world.overlord.parts.database.write("by hand", ask)
    world.overlord.wakeup.notify()
    return made


async def gate(world: World) -> Decision:
    """The gate that a plan waits at."""
    waiting = [item for item in await world.read(decisions.waiting) if item.subject is Subject.GATE]
    assert len(waiting) == 1, (waiting, await world.transcript())
    decision: Decision = waiting[0]
    return decision


async def states(world: World) -> dict[str, str]:
    """By task, how far it is."""
    return {item.subject: str(item.state) for item in await world.read(tasks.of_initiative, 1)}
