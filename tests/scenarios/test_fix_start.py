"""A job that mends a failed one begins at the phase that failed, on what the phases before it brought; else at the start, and says why."""

from typing import Any

from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit, write
from overlord.failpoints import Failpoint
from overlord.store import ledger
from overlord.store.bootstrap import issue_requests
from overlord.store.contracts import plan_files
from tests.memory.world import MemoryWorld, made_memory_world
from tests.two_roles import CONTRACT, PLAN, until_gate
from tests.world import FIX, REPO


async def stopped_in_build(world: MemoryWorld) -> None:
    """Job 1: its plan is approved, its work came back, and then it was stopped while the work was made anew."""
    await until_gate(world)
    world.model_will(world.hold(), submit())
    [asked] = await world.decisions()
    await world.answer(asked, asked.verbs[0], "go on")
    await world.until_holding("j1-work-2")
    await world.stop_job()
    world.let_go("j1-work-2")
    await world.settle()
    assert (await world.job()).state is JobState.CANCELLED, await world.transcript()


async def mending(world: MemoryWorld, *, from_job: int = 1) -> None:
    """Issue 2, asked for as the mending of a job."""

    def ask(connection: Any) -> None:
        issue_requests.request(
            connection,
            space=REPO,
            kind=RequestKind.FIX,
            title="Fix: add() subtracts",
            body="",
            options=RequestOptions(from_job=from_job),
            actor="cli:ann",
            at=world.overlord.parts.clock.now(),
            issue_number=2,
        )

    await world.overlord.parts.database.write(Failpoint.ISSUE_REQUESTED, ask)
    assert await world.issue("Fix: add() subtracts") == 2


async def taken(world: MemoryWorld) -> dict[str, Any]:
    return dict(await world.read(ledger.last, 2, "contract_taken"))


async def test_it_begins_where_the_other_failed_and_nobody_is_asked_again() -> None:
    async with made_memory_world() as world:
        await stopped_in_build(world)
        failed = await world.job()
        await world.push({"NEWS.md": "Something else went on meanwhile.\n"})
        await mending(world)
        world.model_will(edit(*FIX), submit("add() adds"))
        await world.settle()
        job = await world.job(2)
        assert job.state is JobState.IN_REVIEW, await world.transcript()
        assert (job.base_sha, job.phase_sha) == (failed.base_sha, failed.phase_sha)
        assert (await taken(world))["phase"] == "build"
        assert await world.read(plan_files.of_job, 2) == {"plan/acceptance.md": PLAN}
        assert "gate_reached" not in await world.events(2)
        heard = str(world.minion_heard(0))
        assert "plan/acceptance.md" in heard


async def test_under_another_contract_it_begins_at_the_start_and_says_so() -> None:
    async with made_memory_world() as world:
        await stopped_in_build(world)
        await world.stop()
        world.contract(CONTRACT.replace("Small commits.", "Large commits."))
        await world.start()
        await mending(world)
        world.model_will(write("plan/acceptance.md", PLAN), submit("the plan is made"))
        await world.settle()
        assert (await world.job(2)).state is JobState.WAITING
        data = await taken(world)
        assert (data["phase"], data["afresh"]) == ("plan", "the contract is another one than that of job 1")


async def test_a_job_that_never_began_leaves_nothing_to_go_on_with() -> None:
    async with made_memory_world() as world:
        await stopped_in_build(world)
        await mending(world, from_job=9)
        world.model_will(write("plan/acceptance.md", PLAN), submit("the plan is made"))
        await world.settle()
        data = await taken(world)
        assert (data["phase"], "mends" in data) == ("plan", False)
