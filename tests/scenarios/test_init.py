"""`init`: an architect asks, writes vision and architecture and proposes a contract; a person answers and confirms; Overlord commits it."""

from typing import Any

from overlord.domain.conversation.issue_request import InitMode, RequestKind, RequestOptions
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.discovery.question import Kind, Status
from overlord.domain.job import JobState
from overlord.embedded.play import call, submit, write
from overlord.store import decisions
from overlord.store.bootstrap import contract_drafts, discoveries, issue_requests
from overlord.store.contracts import plan_files
from tests.architect import CONTRACT, VISION, architecture, recorded
from tests.memory.world import made_memory_world
from tests.world import REPO, World


async def requested(world: World, **options: Any) -> int:
    """A person asks for a contract: the issue is there before anybody knows what it is for."""
    number = await world.issue("Propose a contract", "An architect looks.", label="")
    await world.overlord.parts.database.write(
        "by hand",
        lambda c: issue_requests.request(
            c,
            space=REPO,
            kind=RequestKind.INIT,
            title="Propose a contract",
            body="",
            options=RequestOptions(**options),
            actor="cli:alice",
            at=world.clock.now(),
            issue_number=number,
        ),
    )
    await world.forge.label(REPO, number, "nebulus-ready")
    return number


async def asked(world: World, subject: Subject) -> Decision:
    decision: Decision
    [decision] = await world.read(decisions.waiting, 1)
    assert decision.subject is subject, decision
    return decision


async def accept_all(world: World) -> int:
    """Accept every batch; how many there were."""
    batches = 0
    while (waiting := await world.read(decisions.waiting, 1)) and waiting[0].subject is Subject.DISCOVERY:
        batches += 1
        left = len((await world.read(discoveries.of_job, 1)).open)
        if left <= len(waiting[0].options):
            world.model_will(
                write("vision.md", VISION),
                write("architecture.md", await architecture_after(world)),
                submit("written"),
            )
            world.model_will(call("propose_contract", contract=CONTRACT), submit("proposed"))
        await world.answer(waiting[0], Verb.ACCEPT)
        await world.settle()
    return batches


async def architecture_after(world: World) -> str:
    """The architecture as it has to be once what is proposed now is accepted."""
    discovery = await world.read(discoveries.of_job, 1)
    made = (item for item in discovery.questions if item.kind is Kind.DECISION)
    return architecture((item.id, item.section, item.proposed) for item in made)


async def test_a_repository_gets_the_contract_that_a_person_confirmed() -> None:
    async with made_memory_world() as world:
        await world.start()
        await requested(world)
        world.model_will(recorded(), submit("I looked at everything"))
        await world.settle()
        first = await asked(world, Subject.DISCOVERY)
        assert len(first.options) == 3
        await world.answer(first, Verb.REPLY, "2: People who add numbers.")
        await world.settle()
        second = await asked(world, Subject.DISCOVERY)
        assert first.options[1] not in second.options
        assert first.options[0] in second.options, "what was left out is asked again"
        discovery = await world.read(discoveries.of_job, 1)
        assert discovery.get(first.options[1]).status is Status.ANSWERED
        assert await accept_all(world) > 2
        gate = await asked(world, Subject.GATE)
        assert "developer" in gate.body
        await world.answer(gate, Verb.APPROVE)
        await world.settle()
        job = await world.job()
        assert job.state is JobState.IN_REVIEW, await world.transcript()
        committed = await world.overlord.parts.git.read_file(
            job.space, job.head, ".nebulus/contract/contract.yaml"
        )
        assert committed == (await world.read(plan_files.of_job, 1))["plan/contract.yaml"].encode()
        listing = await world.overlord.parts.git.listing(job.space, job.head)
        assert {"vision.md", "architecture.md"} <= set(listing)
        assert not [path for path in listing if path.startswith("plan/")]


async def test_every_violation_goes_back_until_the_contract_holds() -> None:
    async with made_memory_world() as world:
        await world.start()
        await requested(world, discovers=False)
        bad = {**CONTRACT, "gates": {}}
        world.model_will(
            call("propose_contract", contract=bad),
            call("propose_contract", contract=CONTRACT),
            submit("proposed"),
        )
        await world.settle()
        told = world.minion_heard(1)[-1]["content"]
        assert "5.5" in told, told
        gate = await asked(world, Subject.GATE)
        await world.answer(gate, Verb.REJECT, "Give the developer less time.")
        less = {**CONTRACT, "lifetime": {"hours": 4}}
        world.model_will(call("propose_contract", contract=less), submit("less time"))
        await world.settle()
        again = await asked(world, Subject.GATE)
        assert "Give the developer less time." in str(world.minion_heard(-2))
        assert "4" in again.body
        await world.answer(again, Verb.APPROVE)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, await world.transcript()


async def test_an_architect_that_never_proposes_a_valid_contract_leaves_the_best_draft_to_a_person() -> None:
    async with made_memory_world() as world:
        await world.start()
        await requested(world, discovers=False)
        for _ in range(3):
            world.model_will(
                call("propose_contract", contract={**CONTRACT, "gates": {}}),
                submit("done"),
                submit("done all the same"),
            )
        await world.settle()
        decision = await asked(world, Subject.CONTRACT_INVALID)
        assert "5.5" in decision.body
        draft = await world.read(contract_drafts.of_job, 1)
        assert draft.problems
        await world.answer(decision, Verb.DROP)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED


async def test_a_review_starts_from_the_contract_there() -> None:
    async with made_memory_world() as world:
        await world.push({".nebulus/contract/contract.yaml": "name: there\n"})
        await world.start()
        await requested(world, discovers=False, mode=InitMode.REVIEW)
        world.model_will(call("propose_contract", contract=CONTRACT), submit("better"))
        await world.settle()
        await asked(world, Subject.GATE)
        files = await world.read(plan_files.of_job, 1)
        assert files["plan/present/contract.yaml"] == "name: there\n"
        assert "plan/experience.md" in files
