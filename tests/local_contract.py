"""A repository of a user's whose own contract has a plan, a person's gate, and the work."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from overlord.embedded.play import submit, write
from tests.local import LocalSession
from tests.quick import quick_desk
from tests.world import CALC

TITLE = "add() subtracts"
PATH = ".nebulus/contract/contract.yaml"
CONTRACT = """\
name: plan-then-build
version: 2
lifetime: {hours: 24}
roles:
  architect:
    scope: [docs/**]
    outputs: [a plan]
    verification: [{artifact_exists: plan/acceptance.md}]
    budget: {iterations: 2, turns: 20, exhausted: ask}
  backend:
    scope: [calc.py]
    outputs: [a change]
    verification: [diff_non_empty]
    budget: {iterations: 3, turns: 20, exhausted: ask}
phases:
  plan:
    actors: [architect]
    inputs: [issue]
    outputs: [plan/**]
    criteria: [{artifact_exists: plan/acceptance.md}]
    next: {done: build}
  build:
    actors: [backend]
    inputs: [plan/**]
    outputs: [calc.py]
    criteria: [evaluation_passed]
    next: {done: ship}
  ship: {actors: [], terminal: true}
gates:
  plan_approval: {"on": plan->build, audience: person, inputs: [plan/acceptance.md], approve: build, reject: plan}
  merge: {"on": ship->end, audience: person, approve: merged, reject: pr_closed}
"""
PLAN = "# Acceptance\n\nadd() adds.\n"


@asynccontextmanager
async def contract_desk() -> AsyncIterator[LocalSession]:
    """A machine with this repository on it."""
    async with quick_desk({**CALC, PATH: CONTRACT}) as user:
        yield user


def will_plan(user: LocalSession) -> None:
    """What the architect does."""
    user.model.will(write("plan/acceptance.md", PLAN), submit("the plan is made"))


def hold(user: LocalSession) -> str:
    """A command that runs until the test lets it go with a file `go`; `holding` is there once it runs."""
    return f"touch {user.root}/holding; until test -e {user.root}/go; do sleep 0.02; done"
