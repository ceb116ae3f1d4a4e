"""A person decides, once, and the tick carries it out: every arrow out of WAITING."""

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import blocked, edit, run, submit, write
from overlord.errors import Refused
from overlord.store import sessions
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World


async def _failed_scope(world: World) -> None:
    await world.issue("add() subtracts")
    outside = run("for name in a b c; do echo x > $name.txt; done")
    world.model_will(edit(*FIX), outside, submit(), submit())
    await world.settle()


async def test_granting_the_scope_has_the_same_work_judged_again() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["calc.py"]}}) as world:
        await _failed_scope(world)
        [decision] = await world.decisions()
        assert (decision.subject, decision.patterns) == (Subject.SCOPE, ("a.txt", "b.txt", "c.txt"))
        assert world.forge.pulls(REPO) == []
        await world.answer(decision, Verb.GRANT)
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0)
        assert (await world.events()).count("session_started") == 1
        assert "a.txt" in world.forge.files(REPO, job.branch)


async def test_one_more_after_a_scope_violation_starts_from_what_there_is() -> None:
    async with made_memory_world(spaces={REPO: {"scope": ["calc.py"]}}) as world:
        await _failed_scope(world)
        [decision] = await world.decisions()
        world.model_will(run("rm a.txt b.txt c.txt"), submit())
        await world.answer(decision, Verb.ONE_MORE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "An earlier session of this task said it did this:" in world.minion_heard()[1]["content"]


async def test_a_refused_delivery_waits_and_can_be_tried_again() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        world.forge.fail("pulls/update", kind="403", times=1)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DELIVERY_REFUSED
        await world.answer(decision, Verb.REDELIVER)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert len(world.forge.pulls(REPO)) == 1


@pytest.mark.parametrize(("verb", "event"), [(Verb.TAKE_OVER, "taken_over"), (Verb.DROP, "dropped")])
async def test_a_person_can_take_over_or_drop(verb: Verb, event: str) -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), blocked("I cannot reach the specification."))
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.BLOCKED
        assert "I cannot reach the specification." in decision.body
        await world.answer(decision, verb)
        await world.settle()
        job = await world.job()
        assert job.state is JobState.CANCELLED
        assert event in await world.events()
        assert job.head_sha is not None, "what was done so far is kept"


async def test_an_answer_counts_once_and_only_for_what_was_shown() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(blocked("Stuck."))
        await world.settle()
        [decision] = await world.decisions()
        await world.answer(decision, Verb.DROP)
        with pytest.raises(Refused, match="answered before, by cli:alice"):
            await world.answer(decision, Verb.RETRY, by="cli:bob")


async def test_what_a_person_says_reaches_the_next_session() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(blocked("Plus or minus?"))
        await world.settle()
        [decision] = await world.decisions()
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.RETRY, "Plus, of course.")
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert "Plus, of course." in world.minion_heard()[1]["content"]


CONTRACT = """
name: two-steps
version: 1
lifetime_h: 24
start: fix
roles:
  coder: {scope: {mode: directory, patterns: [calc.py]}, budget: {}}
  writer: {scope: {mode: directory, patterns: ["*.md"]}, budget: {turns: 10}}
phases:
  fix: {role: coder, inputs: [issue], outputs: [change], criteria: [evaluation_passed], next: document}
  document: {role: writer, inputs: [change], outputs: [change], criteria: [evaluation_passed]}
"""


async def test_a_contract_with_two_phases_goes_through_both() -> None:
    async with made_memory_world() as world:
        world.contract(CONTRACT)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit("mended"))
        world.model_will(write("NOTES.md", "add() adds.\n"), submit("documented"))
        await world.settle()
        job = await world.job()
        assert (job.state, job.phase) == (JobState.IN_REVIEW, "document")
        assert "phase_completed" in await world.events()
        scopes = [item.scope for item in await world.read(sessions.of_job, 1) if item.kind == "work"]
        assert scopes == ['["calc.py"]', '["*.md"]']
