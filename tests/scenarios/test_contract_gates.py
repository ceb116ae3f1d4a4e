"""A person's gate under a contract: what was approved is asked again where something changed, and only there."""

import json
import sqlite3
from typing import Any

import pytest

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.interface import Interface
from overlord.domain.job import JobState
from overlord.domain.person import Person
from overlord.embedded.play import call, edit, submit, write
from overlord.store.contracts import role_notes
from overlord.verbs.answering import answer
from overlord.verbs.right import NotAllowed
from overlord.verbs.verb import Context
from tests.memory.world import MemoryWorld, made_memory_world
from tests.scenarios.test_contract_failure import CONTRACT, begun, changed, facts
from tests.world import FIX

PLAN = "# Plan\n\nAdd.\n"


def gated() -> str:
    """A plan and its gate, a phase that reads it and changes nothing, and a gate that leads back to the plan."""
    there = [{"artifact_exists": "README.md"}]
    build = {
        **CONTRACT["phases"]["build"],
        "actors": ["coder"],
        "inputs": ["plan/**"],
        "outputs": ["calc.py"],
    }
    document: dict[str, Any] = {
        **CONTRACT,
        "roles": {
            **CONTRACT["roles"],
            "architect": {
                **CONTRACT["roles"]["architect"],
                "verification": [{"artifact_exists": "plan/plan.md"}],
            },
            "writer": {**CONTRACT["roles"]["writer"], "verification": there},
        },
        "phases": {
            "plan": {
                "actors": ["architect"],
                "inputs": ["issue"],
                "outputs": ["plan/**"],
                "criteria": [{"artifact_exists": "plan/plan.md"}],
                "next": {"done": "read"},
            },
            "read": {
                "actors": ["writer"],
                "inputs": ["plan/**"],
                "outputs": ["*.md"],
                "criteria": there,
                "next": {"done": "build"},
            },
            "build": build,
        },
        "gates": {
            "first": {"on": "plan->read", "approve": "read", "reject": "plan"},
            "second": {"on": "read->build", "approve": "build", "reject": "plan"},
            **CONTRACT["gates"],
        },
    }
    return json.dumps(document)


async def rejected_at_the_second(world: MemoryWorld, plan_again: str) -> None:
    """A job whose first gate is approved, and whose second one sends it back to a plan."""
    world.contract(gated())
    await world.issue("add() subtracts")
    world.model_will(write("plan/plan.md", PLAN), submit("planned"))
    await world.settle()
    await answered(world, "first", Verb.APPROVE)
    world.model_will(submit("read"), submit("read"))
    await world.settle()
    world.model_will(write("plan/plan.md", plan_again), submit("planned again"))
    world.model_will(submit("read"), submit("read"))
    await answered(world, "second", Verb.REJECT, "Think again.")
    await world.settle()


async def answered(world: MemoryWorld, gate: str, verb: Verb, words: str = "") -> Decision:
    [decision] = await world.decisions()
    assert (decision.subject, decision.options[1]) == (Subject.GATE, gate)
    await world.answer(decision, verb, words)
    return decision


async def test_what_was_approved_and_is_unchanged_is_not_asked_again() -> None:
    async with made_memory_world() as world:
        await rejected_at_the_second(world, PLAN)
        [reused] = await facts(world, "gate_reused")
        assert reused["gate"] == "first"
        world.model_will(edit(*FIX), submit("mended"))
        await answered(world, "second", Verb.APPROVE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_what_was_approved_and_is_another_plan_by_now_is_asked_again() -> None:
    async with made_memory_world() as world:
        await rejected_at_the_second(world, PLAN + "And double.\n")
        decision = await answered(world, "first", Verb.APPROVE)
        assert await facts(world, "gate_reused") == []
        assert len([item for item in await facts(world, "gate_reached") if item["gate"] == "first"]) == 2
        [first, *_] = [item for item in await facts(world, "gate_reached") if item["gate"] == "first"]
        assert decision.options[0] != first["fingerprint"]


async def test_words_at_a_gate_are_kept_with_who_said_them() -> None:
    async with made_memory_world() as world:
        await rejected_at_the_second(world, PLAN)
        [note] = [item for item in await world.read(role_notes.of_job, 1) if item.kind == "rejection"]
        assert (note.text, ":" in note.source) == ("Think again.", True)
        [rejected] = await facts(world, "gate_rejected")
        assert (rejected["gate"], rejected["notes"]) == ("second", "Think again.")


async def test_a_gate_of_approvers_is_answered_where_one_is_known_and_not_by_a_comment() -> None:
    async with made_memory_world() as world:
        document = json.loads(gated())
        document["gates"]["first"]["audience"] = "approver"
        world.contract(json.dumps(document))
        await world.issue("add() subtracts")
        world.model_will(write("plan/plan.md", PLAN), submit("planned"))
        await world.settle()
        [decision] = await world.decisions()

        def given(by: Person | None) -> Any:
            def act(connection: sqlite3.Connection) -> object:
                context = Context(
                    connection=connection,
                    current_settings=world.settings,
                    at=world.clock.now(),
                    contract=world.overlord.parts.contract,
                    interface=Interface.TERMINAL,
                    actor="cli:alice",
                    by=by,
                )
                return answer(context, decision, Verb.APPROVE, "")

            return world.overlord.parts.database.write("by hand", act)

        with pytest.raises(NotAllowed, match="only an approver decides that"):
            await given(None)
        world.model_will(submit("read"), submit("read"))
        await given(Person.of("cli:alice"))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.options[1] == "second"


async def test_the_architect_is_asked_about_a_role_as_often_as_its_budget_says() -> None:
    budget = {"iterations": 1, "exhausted": "architect"}
    async with made_memory_world() as world:
        await begun(world, changed("roles", "coder", "budget", budget))
        for _ in range(2):
            world.model_will(submit("nothing"), submit("nothing"))
            world.model_will(call("give_answer", choice="guidance", text="Mend line 2."))
        world.model_will(submit("nothing"), submit("nothing"))
        await world.settle()
        assert len(await facts(world, "escalated")) == 2
        [decision] = await world.decisions()
        assert decision.subject is Subject.ESCALATION


async def test_a_job_has_the_lifetime_that_its_repositorys_own_contract_gives_it() -> None:
    async with made_memory_world() as world:
        await world.push({".nebulus/contract/contract.yaml": changed("lifetime", {"hours": 5})})
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        job = await world.job()
        assert (job.expires_at - job.created_at).total_seconds() == 5 * 3600
