"""What `init` commits is the very text that a person confirmed last: whatever was proposed, pushed or asked for since."""

from dataclasses import replace
from typing import Any

import yaml

from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.embedded.play import call, submit
from overlord.store import ledger
from overlord.store.contracts import plan_files
from tests.architect import CONTRACT
from tests.memory.world import made_memory_world
from tests.scenarios.test_init import asked, requested
from tests.world import REPO, World

PATH = ".nebulus/contract/contract.yaml"
OTHER: dict[str, Any] = {**CONTRACT, "lifetime": {"hours": 4}}


async def at_gate(world: World) -> None:
    """A contract is proposed, and a person is asked about it."""
    await world.start()
    await requested(world, discovers=False)
    world.model_will(call("propose_contract", contract=CONTRACT), submit("proposed"))
    await world.settle()


async def delivered(world: World) -> Job:
    await at_gate(world)
    await world.answer(await asked(world, Subject.GATE), Verb.APPROVE)
    await world.settle()
    return await in_review(world)


async def in_review(world: World) -> Job:
    job = await world.job()
    assert job.state is JobState.IN_REVIEW, await world.transcript()
    return job


async def hours(world: World, job: Job) -> int:
    """What the contract in the job's branch says of its lifetime."""
    found = await world.overlord.parts.git.read_file(job.space, job.head, PATH)
    said: int = yaml.safe_load(found or b"")["lifetime"]["hours"]
    return said


async def commits(world: World) -> int:
    entries = await world.read(lambda c: list(ledger.entries(c, job_id=1)))
    return sum(entry.name == EventName.CONTRACT_COMMITTED for entry in entries)


async def written(world: World) -> str:
    """The proposal as it stands."""
    text: str = (await world.read(plan_files.of_job, 1))["plan/contract.yaml"]
    return text


async def test_what_was_shown_is_committed_whatever_the_proposal_is_by_then() -> None:
    async with made_memory_world() as world:
        await at_gate(world)
        gate, text = await asked(world, Subject.GATE), await written(world)
        late = {"plan/contract.yaml": text.replace("hours: 48", "hours: 4")}
        assert late["plan/contract.yaml"] != text
        at = world.clock.now()
        await world.overlord.parts.database.write(
            "by hand", lambda c: plan_files.put(c, 1, late, session_id="j1-work-1", at=at)
        )
        await world.answer(gate, Verb.APPROVE)
        await world.settle()
        job = await in_review(world)
        found = await world.overlord.parts.git.read_file(job.space, job.head, PATH)
        assert found == text.encode()
        assert await commits(world) == 1


async def test_another_contract_after_a_review_is_put_to_a_person_first() -> None:
    async with made_memory_world() as world:
        pull = (await delivered(world)).pull_number or 0
        await world.forge.review(
            REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Four hours are enough."
        )
        world.model_will(call("propose_contract", contract=OTHER), submit("four hours"))
        await world.settle()
        gate = await asked(world, Subject.GATE)
        assert await hours(world, await world.job()) == 48
        await world.answer(gate, Verb.APPROVE)
        await world.settle()
        assert await hours(world, await in_review(world)) == 4
        assert await commits(world) == 2


async def test_a_round_that_leaves_the_contract_as_it_was_confirmed_asks_nobody() -> None:
    async with made_memory_world() as world:
        pull = (await delivered(world)).pull_number or 0
        await world.forge.review(REPO, pull, author="alice", state="CHANGES_REQUESTED", body="Why so long?")
        world.model_will(submit("a day is short for people who are away"))
        await world.settle()
        assert (await in_review(world)).round == 1
        assert await commits(world) == 1


async def test_a_contract_that_a_person_pushes_is_asked_about_and_never_taken_back() -> None:
    async with made_memory_world() as world:
        job = await delivered(world)
        mine = (await written(world)).replace("hours: 48", "hours: 6")
        await world.forge.push_files(REPO, job.branch, {PATH: mine}, "Six hours")
        await world.settle()
        gate = await asked(world, Subject.GATE)
        assert "6" in gate.body and await written(world) == mine
        await world.answer(gate, Verb.APPROVE)
        await world.settle()
        assert await hours(world, await in_review(world)) == 6
        assert await commits(world) == 1, "what they pushed is what they confirmed"


async def test_a_contract_is_not_committed_whose_evidence_is_gone() -> None:
    async with made_memory_world() as world:
        await at_gate(world)
        gate = await asked(world, Subject.GATE)
        other = replace(gate, options=("0" * 16, *gate.options[1:]))
        await world.overlord.parts.database.write(
            "by hand",
            lambda c: c.execute(
                "UPDATE decisions SET options = replace(options, ?, ?)", (gate.options[0], other.options[0])
            ),
        )
        await world.answer(await asked(world, Subject.GATE), Verb.APPROVE)
        await world.settle()
        refused = await asked(world, Subject.DELIVERY_REFUSED)
        assert "not kept any more" in refused.body
        assert await commits(world) == 0
