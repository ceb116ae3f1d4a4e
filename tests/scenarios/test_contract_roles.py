"""A contract at work: roles in turn, phases and their criteria, gates and what is kept of a plan."""

import json

from minion.protocol import SessionKind
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from overlord.store import sessions
from overlord.store.contracts import plan_files
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import FIX, REPO

PLAN = "# Plan\n\n## Approach\n\nAdd.\n\n## Acceptance\n\n- add(2, 2) is 4.\n\n## Risks\n\nNone.\n"


async def planned(world: MemoryWorld) -> Decision:
    """A job that waits at the gate after its plan."""
    world.overrides["contract"] = "plan-first"
    await world.issue("add() subtracts")
    world.model_will(write("plan/plan.md", PLAN), submit("planned"))
    await world.settle()
    [decision] = await world.decisions()
    return decision


async def test_a_plan_is_approved_and_then_carried_out() -> None:
    async with made_memory_world() as world:
        decision = await planned(world)
        assert (decision.subject, decision.verbs[:2]) == (Subject.GATE, (Verb.APPROVE, Verb.REJECT))
        assert "add(2, 2) is 4." in decision.body
        world.model_will(run("cat plan/plan.md"), edit(*FIX), submit("carried out"))
        await world.answer(decision, Verb.APPROVE)
        await world.settle()
        job = await world.job()
        assert (job.state, job.phase, job.role) == (JobState.IN_REVIEW, "implement", "developer")
        assert await world.read(plan_files.of_job, 1) == {"plan/plan.md": PLAN}
        [pull] = world.forge.pulls(REPO)
        assert not any(path.startswith("plan/") for path in world.forge.files(REPO, pull.head_branch))
        assert "add(2, 2) is 4." in str(world.minion_heard())


async def test_a_rejected_plan_goes_back_with_the_words() -> None:
    async with made_memory_world() as world:
        decision = await planned(world)
        world.model_will(write("plan/plan.md", PLAN + "\nAnd double().\n"), submit("planned again"))
        await world.answer(decision, Verb.REJECT, "Think of double() too.")
        await world.settle()
        assert "Think of double() too." in str(world.minion_heard())
        [again] = await world.decisions()
        assert "And double()" in again.body
        assert again.options[0] != decision.options[0]


RED = "from calc import add\n\n\ndef test_more():\n    assert add(1, 1) == 2\n"


async def test_red_and_green_wants_a_test_that_fails_for_an_assertion_first() -> None:
    async with made_memory_world() as world:
        world.overrides["contract"] = "red-green"
        await world.issue("add() subtracts")
        world.model_will(write("test_more.py", "def test_more():\n    assert True\n"), submit("a test"))
        world.model_will(write("test_more.py", RED), submit("a red test"))
        world.model_will(edit(*FIX), submit("mended"))
        await world.settle()
        job = await world.job()
        assert (job.state, job.phase, job.role) == (JobState.IN_REVIEW, "green", "developer")
        brief = json.loads((await world.read(sessions.get, "j1-work-2")).brief)
        assert "No test that this phase wrote fails" in str(brief["findings"])
        [pull] = world.forge.pulls(REPO)
        assert world.forge.files(REPO, pull.head_branch)["test_more.py"] == RED.encode()


DELEGATION = """\
assignments:
  prove: {role: tester, text: A red test for add().}
  mend: {role: backend, text: Make add() add.}
without: [frontend]
"""


async def test_a_crew_works_by_the_delegation_that_a_person_approved() -> None:
    async with made_memory_world() as world:
        world.overrides["contract"] = "crew"
        await world.issue("add() subtracts")
        world.model_will(
            write("plan/plan.md", PLAN), write("plan/delegation.yaml", DELEGATION), submit("planned")
        )
        await world.settle()
        [decision] = await world.decisions()
        assert "Make add() add." in decision.body
        world.model_will(write("test_more.py", RED), submit("a red test"))
        world.model_will(edit(*FIX), submit("mended"))
        await world.answer(decision, Verb.APPROVE)
        await world.settle()
        job = await world.job()
        assert (job.state, job.phase, job.role) == (JobState.IN_REVIEW, "build", "backend")
        work = [item for item in await world.read(sessions.of_job, 1) if item.kind is SessionKind.WORK]
        briefs = [json.loads(item.brief) for item in work]
        assert [brief["role"] for brief in briefs] == ["architect", "tester", "backend"]
        assert [item["name"] for item in briefs[2]["terms"]["assignments"]] == ["mend"]
        assert [item["role"] for item in briefs[2]["terms"]["history"]] == ["architect", "tester"]
