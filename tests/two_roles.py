"""A job under a contract of two roles: a plan, a person's gate, and the work. For tests of what is kept of one."""

from overlord.domain.decision import Verb
from overlord.domain.job import Job, JobState
from overlord.embedded.play import edit, submit, write
from overlord.store import decisions
from tests.world import FIX, REPO, World

CONTRACT = """\
name: two-roles
version: 2
lifetime: {hours: 24}
redact: ["card-[0-9]{4}"]
guidance: Small commits.
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
    budget: {iterations: 2, turns: 20, exhausted: ask}
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
    criteria: [{command_succeeds: "printf card-%s 4242"}, evaluation_passed]
    next: {done: ship}
  ship: {actors: [], terminal: true}
gates:
  plan_approval: {"on": plan->build, audience: person, inputs: [plan/acceptance.md], approve: build, reject: plan}
  merge: {"on": ship->end, audience: person, approve: merged, reject: pr_closed}
"""
PLAN = "# Acceptance\n\nadd() adds; card-1111 is not shown.\n"


async def until_gate(world: World, *artifacts: tuple[str, str], title: str = "add() subtracts") -> Job:
    """Up to the gate between plan and build."""
    world.contract(CONTRACT)
    await world.issue(title)
    plan = artifacts or (("plan/acceptance.md", PLAN),)
    world.model_will(*(write(path, text) for path, text in plan), submit("the plan is made"))
    await world.settle()
    job = await world.job()
    assert job.state is JobState.WAITING, await world.transcript()
    return job


async def approve(world: World, words: str = "go on, but card-2222 small") -> None:
    """A person lets the work through the gate, and the backend works."""
    [asked] = await world.read(decisions.waiting, 1)
    world.model_will(edit(*FIX), submit("add() adds"))
    await world.answer(asked, Verb.APPROVE, words)
    await world.settle()


async def merged(world: World, *artifacts: tuple[str, str], title: str = "add() subtracts") -> Job:
    """The whole story, up to the merge."""
    await until_gate(world, *artifacts, title=title)
    await approve(world)
    job = await world.job()
    assert job.state is JobState.IN_REVIEW, await world.transcript()
    await world.forge.merge(REPO, job.pull_number or 0)
    await world.settle()
    return await world.job()
