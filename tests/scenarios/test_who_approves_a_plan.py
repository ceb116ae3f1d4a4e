"""Whose yes counts for a plan, and for what: never their own work's where four eyes are wanted, and never for what they were not shown."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, Subject, Verb
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.errors import Refused
from overlord.store import decisions, jobs
from overlord.store.portfolio import initiatives, tasks
from overlord.verbs.answering import answer
from overlord.verbs.right import NotAllowed
from overlord.verbs.verb import Context
from tests.leading import MEND, WRITE, a_plan, an_initiative, asked_to_plan, gate, proposes
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import REPO


async def waits(world: MemoryWorld, *planned: dict[str, Any], **given: Any) -> Decision:
    """The plan of an initiative waits at its gate."""
    await asked_to_plan(world, **given)
    world.model_will(*proposes(a_plan(*(planned or (MEND, WRITE)))))
    await world.settle()
    return await gate(world)


async def by_person(
    world: MemoryWorld, actor: str, decision: Decision, before: Callable[[sqlite3.Connection], object] = bool
) -> None:
    """Somebody at the page approves, where something else may have happened just before."""
    parts = world.overlord.parts

    def act(connection: sqlite3.Connection) -> None:
        before(connection)
        context = Context(
            connection=connection,
            current_settings=lambda: parts.settings,
            contract=parts.contract,
            interface=Interface.PAGE,
            at=parts.clock.now(),
            actor=actor,
            by=Person.of(actor),
            digest=decision.digest,
        )
        found = context.decision(ApprovalRef(kind=ApprovalKind.DECISION, number=decision.id))
        answer(context, found, Verb.APPROVE, "")

    await parts.database.write("by hand", act)


async def test_who_opened_an_initiative_does_not_approve_its_plan_where_four_eyes_are_wanted() -> None:
    async with made_memory_world(slack={"four_eyes": True}) as world:
        await world.start()
        asked = await waits(world, actor="slack:U01")
        with pytest.raises(NotAllowed, match="somebody else is to approve it"):
            await by_person(world, "slack:U01", asked)
        assert await world.read(decisions.waiting) == [asked]
        await by_person(world, "slack:U02", asked)


async def test_a_plan_that_was_edited_since_is_not_approved_as_it_was_shown() -> None:
    async with made_memory_world() as world:
        await world.start()
        asked = await waits(world)

        def edit(connection: sqlite3.Connection) -> None:
            [first, _] = tasks.of_initiative(connection, 1)
            at = world.clock.now()
            tasks.change(connection, first.id, at=at, actor="slack:U01", subject="Remove everything")

        with pytest.raises(Refused, match="edited since it was shown"):
            await by_person(world, "slack:U02", asked, edit)
        assert (await world.read(jobs.get, 1)).is_open
        await by_person(world, "slack:U02", asked)


OTHER = "acme/other"
ELSEWHERE = {**MEND, "subject": "Mend it there too", "repository": OTHER}


@pytest.mark.parametrize(
    ("actor", "approvers", "state"),
    [
        ("cli:alice", [], "pending"),
        ("github:bob", ["U01"], "proposed"),
        ("github:bob", ["github:Bob"], "pending"),
        ("slack:U01", ["U02"], "proposed"),
        ("slack:U01", ["U01", "U02"], "pending"),
    ],
)
async def test_who_decides_for_one_repository_has_nothing_done_in_another(
    actor: str, approvers: list[str], state: str
) -> None:
    settings: dict[str, Any] = {"slack": {"approvers": ["U01"]}, "spaces": {OTHER: {"approvers": approvers}}}
    async with made_memory_world(repositories=[REPO, OTHER], **settings) as world:
        await world.forge.create_repository(OTHER, files={"calc.py": "pass\n"})
        await world.start()
        await world.overlord.parts.database.write("by hand", open_there(world))
        asked = await waits(world, MEND, ELSEWHERE)
        assert "other repositories: acme/other" in asked.body
        await world.answer(asked, Verb.APPROVE, by=actor)
        await world.settle()
        found = await states(world)
        assert found[MEND["subject"]] in ("pending", "in_progress")
        assert (found[ELSEWHERE["subject"]] == "proposed") == (state == "proposed")
        questions = [item for item in await world.read(decisions.waiting) if item.about == "i2.2"]
        if state == "pending":
            assert questions == []
            return
        [question] = questions
        assert (question.space, question.subject) == (OTHER, Subject.DISCOVERED_TASK)
        assert "where others decide" in question.body
        await world.answer(question, Verb.APPROVE, by="github:eve")
        await world.settle()
        assert (await states(world))[ELSEWHERE["subject"]] in ("pending", "in_progress")


def open_there(world: MemoryWorld) -> Callable[[sqlite3.Connection], object]:
    """Another initiative makes the other repository one of the portfolio."""
    there = an_initiative(at=world.clock.now(), space=OTHER, key="there", state=InitiativeState.PROPOSED)
    return lambda connection: initiatives.add(connection, there)


async def states(world: MemoryWorld) -> dict[str, str]:
    return {item.subject: str(item.state) for item in await world.read(tasks.of_initiative, 2)}
