"""Whose yes counts for a plan, and for what: never their own work's where four eyes are wanted, and never for what they were not shown."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, Verb
from overlord.domain.interface import Interface
from overlord.domain.person import Person
from overlord.errors import Refused
from overlord.store import decisions, jobs
from overlord.store.portfolio import tasks
from overlord.verbs.answering import answer
from overlord.verbs.right import NotAllowed
from overlord.verbs.verb import Context
from tests.leading import MEND, WRITE, a_plan, asked_to_plan, gate, proposes
from tests.memory.world import MemoryWorld, made_memory_world


async def waits(world: MemoryWorld, *planned: dict[str, Any], **given: Any) -> Decision:
    """The plan of an initiative waits at its gate."""
    await world.start()
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
        asked = await waits(world, actor="slack:U1")
        with pytest.raises(NotAllowed, match="somebody else is to approve it"):
            await by_person(world, "slack:U1", asked)
        assert await world.read(decisions.waiting) == [asked]
        await by_person(world, "slack:U2", asked)


async def test_a_plan_that_was_edited_since_is_not_approved_as_it_was_shown() -> None:
    async with made_memory_world() as world:
        asked = await waits(world)

        def edit(connection: sqlite3.Connection) -> None:
            [first, _] = tasks.of_initiative(connection, 1)
            at = world.clock.now()
            tasks.change(connection, first.id, at=at, actor="slack:U1", subject="Remove everything")

        with pytest.raises(Refused, match="edited since it was shown"):
            await by_person(world, "slack:U2", asked, edit)
        assert (await world.read(jobs.get, 1)).is_open
        await by_person(world, "slack:U2", asked)
