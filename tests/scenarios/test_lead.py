"""A lead plans an initiative: its plan is held against rules, put to a person, and gone by once they approve it."""

from typing import Any

from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.portfolio.discovered import question
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import TaskState
from overlord.embedded.play import call, submit
from overlord.engine.portfolio import files, lead_job
from overlord.store import decisions, jobs, ledger
from overlord.store.contracts import plan_files
from overlord.store.portfolio import initiatives, plan_drafts, tasks
from overlord.verbs import commands
from overlord.verbs.plan import request_plan
from tests.domain.test_plan import a_task
from tests.leading import MEND, WRITE, a_plan, an_initiative, asked_to_plan, gate, proposes, states
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import REPO


async def planned(world: MemoryWorld, *turns: Any) -> None:
    """Its plan waits for a person."""
    await asked_to_plan(world)
    world.model_will(*(turns or proposes(a_plan(MEND, WRITE))))
    await world.settle()


async def test_a_plan_is_proposed_sent_back_proposed_anew_and_gone_by() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world, *proposes(a_plan({**MEND, "acceptance_criteria": [" "]}), a_plan(MEND)))
        first = await gate(world)
        assert first.title == "i1 Right sums: Plan ready: 1 task"
        assert "mend" in first.body.lower()
        assert "add(2, 2) is 4" in first.body
        assert Verb.TAKE_OVER not in first.verbs
        assert (await world.job()).state is JobState.WAITING
        assert await states(world) == {MEND["subject"]: "proposed"}
        world.model_will(*proposes(a_plan(MEND, WRITE)))
        await world.answer(first, Verb.REJECT, "The README is wanted as well.")
        await world.settle()
        second = await gate(world)
        assert "The README is wanted as well." in str(world.minion_heard(-1))
        assert second.title.endswith("Plan ready: 2 tasks")
        await world.answer(second, Verb.APPROVE)
        await world.settle()
        job, initiative = await world.job(), await world.read(initiatives.get, 1)
        assert job.state is JobState.COMPLETED, await world.transcript()
        assert job.pull_number is None
        assert initiative.state is InitiativeState.ACTIVE
        assert initiative.plan_digest
        assert initiative.job_id == job.id
        found = await world.read(tasks.of_initiative, 1)
        assert [item.subject for item in found] == [MEND["subject"], WRITE["subject"]]
        assert not {item.state for item in found} - {TaskState.PENDING, TaskState.IN_PROGRESS}
        written = (world.root / "home/spaces" / REPO / "plans" / initiative.slug / "plan.md").read_text()
        assert "Mend add, then write it down." in written
        assert "planned: 2 tasks" in await forge_comment(world, job.issue.number)


async def forge_comment(world: MemoryWorld, issue: int) -> str:
    comments = await world.overlord.parts.forge.comments(job_space(world), issue)
    return "\n".join(comment.body for _, comment in comments)


def job_space(_world: MemoryWorld) -> Any:
    return REPO


async def test_a_lead_that_proposes_nothing_is_told_so_until_a_person_is_asked() -> None:
    async with made_memory_world() as world:
        await world.start()
        await asked_to_plan(world)
        for _ in range(3):
            world.model_will(submit("I planned it in my head."), submit("I did."), submit("I really did."))
        await world.settle()
        [asked] = [item for item in await world.read(decisions.waiting) if item.job_id is not None]
        assert asked.subject is Subject.ESCALATION, (asked, await world.transcript())
        assert "propose_plan" in asked.body
        assert not await world.read(tasks.of_initiative, 1)


async def test_a_lead_that_never_ends_is_ended_and_a_person_is_asked() -> None:
    async with made_memory_world() as world:
        await world.start()
        await asked_to_plan(world)
        for _ in range(3):
            world.model_will(*(call("read", path="calc.py") for _ in range(200)))
        await world.settle()
        job = await world.job()
        assert job.state is JobState.WAITING, await world.transcript()
        assert [item for item in await world.read(decisions.waiting) if item.job_id == job.id]


async def test_a_plan_that_was_sent_back_is_not_put_to_a_person_again_as_it_was() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world)
        world.model_will(submit("It is fine as it is."), submit("It is."), submit("It is."))
        world.model_will(*proposes(a_plan(MEND)))
        await world.answer(await gate(world), Verb.REJECT, "Without the README.")
        await world.settle()
        assert (await gate(world)).title.endswith("Plan ready: 1 task"), await world.transcript()


async def test_what_a_person_edits_while_it_waits_is_shown_and_gone_by() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world)
        shown = await gate(world)
        [first, _] = await world.read(tasks.of_initiative, 1)
        at = world.clock.now()
        await world.overlord.parts.database.write(
            "by hand",
            lambda c: tasks.change(c, first.id, at=at, actor="cli:ada", subject="Make add() add up"),
        )
        world.overlord.wakeup.notify()
        await world.settle()
        again = await gate(world)
        assert again.id != shown.id
        assert "Changed since you looked" in again.body
        assert "Make add() add up" in again.body
        await world.answer(again, Verb.APPROVE)
        await world.settle()
        assert "Make add() add up" in await states(world)


async def approved(world: MemoryWorld, *turns: Any) -> None:
    await planned(world, *turns)
    await world.answer(await gate(world), Verb.APPROVE)
    await world.settle()


async def again(world: MemoryWorld, *turns: Any) -> None:
    """The same initiative is planned anew."""

    def ask(connection: Any) -> None:
        initiative = initiatives.get(connection, 1)
        request_plan(connection, initiative, actor="cli:ada", at=world.clock.now(), reason="the API changed")

    world.model_will(*turns)
    await world.overlord.parts.database.write("by hand", ask)
    world.overlord.wakeup.notify()
    await world.settle()


async def test_a_plan_that_still_holds_is_not_asked_about_again() -> None:
    async with made_memory_world() as world:
        await world.start()
        await approved(world)
        before = await states(world)
        await again(world, *proposes({"still_holds": True}))
        found = await world.read(jobs.all_jobs)
        last = max((job for job in found if job.issue.number == 1), key=lambda item: item.id)
        assert last.state is JobState.COMPLETED, await world.transcript()
        assert before.keys() == (await states(world)).keys()
        assert "the API changed" in str(world.minion_heard(-1))
        named = {entry.name for entry in await world.read(lambda c: list(ledger.entries(c, job_id=last.id)))}
        assert EventName.GATE_REUSED in named
        assert EventName.PLAN_ACCEPTED in named


async def test_a_plan_anew_keeps_what_is_done_and_cancels_what_it_leaves_out() -> None:
    async with made_memory_world(autonomy="cautious") as world:
        await world.start()
        await approved(world)
        first, second = await world.read(tasks.of_initiative, 1)
        at = world.clock.now()

        def done(connection: Any) -> None:
            tasks.change(connection, first.id, at=at, state=TaskState.DONE)
            tasks.change(connection, second.id, at=at, state=TaskState.PENDING)
            initiatives.change(connection, 1, at=at, state=InitiativeState.PAUSED)

        await stop_others(world)
        await world.overlord.parts.database.write("by hand", done)
        await again(world, *proposes(a_plan({**MEND, "subject": "Add tests of add()"})))
        shown = await gate(world)
        assert "(done)" in shown.body
        assert "(to be cancelled)" in shown.body
        await world.answer(shown, Verb.APPROVE)
        await world.settle()
        found = await states(world)
        assert found[first.subject] == "done"
        assert found[second.subject] == "cancelled"
        assert "Add tests of add()" in found


async def stop_others(world: MemoryWorld) -> None:
    """The tasks' own jobs end."""

    def stop(connection: Any) -> None:
        for job in jobs.open_jobs(connection):
            commands.stop_job(connection, job.id, actor="cli:ada", at=world.clock.now())

    await world.overlord.parts.database.write("by hand", stop)
    await world.settle()


async def test_a_lead_that_waits_holds_no_place_of_a_pull_request() -> None:
    async with made_memory_world(delivery={"open_pulls": 1}, sessions={"concurrent": 1}) as world:
        await world.start()
        await planned(world)
        assert (await world.job()).state is JobState.WAITING
        taken = await world.read(lambda c: jobs.pulls_taken(c, REPO, without=0))
        assert taken == 0
        assert await world.read(initiatives.planning_jobs) == {1}


async def test_what_a_person_says_of_discovered_work_is_done() -> None:
    async with made_memory_world(autonomy="cautious") as world:
        await world.start()
        at = world.clock.now()

        def discover(connection: Any) -> None:
            made = initiatives.add(connection, an_initiative(at=at, state=InitiativeState.QUEUED))
            assert made is not None
            paused = initiatives.change(connection, made.id, at=at, state=InitiativeState.PAUSED)
            for number in (1, 2):
                row = a_task(number, id=0, initiative_id=made.id, state=TaskState.PROPOSED, created_at=at)
                task = tasks.add(connection, row)
                decisions.raise_decision(connection, question(paused, task, is_within=True, at=at))

        await world.overlord.parts.database.write("by hand", discover)
        wanted, other = await world.read(decisions.waiting)
        await world.answer(wanted, Verb.APPROVE)
        await world.answer(other, Verb.REJECT)
        await world.settle()
        assert [item.state for item in await world.read(tasks.of_initiative, 1)] == [
            TaskState.PENDING,
            TaskState.CANCELLED,
        ]


async def test_an_edit_that_a_stop_left_half_asked_is_asked_about_all_the_same() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world)
        shown = await gate(world)

        def half(connection: Any) -> None:
            at, [first, _] = world.clock.now(), tasks.of_initiative(connection, 1)
            tasks.change(connection, first.id, at=at, actor="cli:ada", subject="Make add() add up")
            draft = plan_drafts.of_job(connection, 1)
            assert draft is not None
            plan_drafts.adopt_edit(connection, draft, draft.text)
            made = lead_job.refreshed(connection, draft)
            plan_files.put(connection, 1, made, session_id="people", at=at)

        await world.overlord.parts.database.write("by hand", half)
        world.overlord.wakeup.notify()
        await world.settle()
        asked = await gate(world)
        assert asked.id != shown.id
        assert "Make add() add up" in asked.body


async def test_a_plan_of_an_initiative_that_was_given_up_is_not_gone_by() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world)

        def give_up(connection: Any) -> None:
            initiatives.change(connection, 1, at=world.clock.now(), state=InitiativeState.CANCELLED)

        await world.overlord.parts.database.write("by hand", give_up)
        await world.answer(await gate(world), Verb.APPROVE)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED, await world.transcript()
        assert (await world.read(initiatives.get, 1)).state is InitiativeState.CANCELLED
        assert set((await states(world)).values()) == {"proposed"}


async def test_what_a_person_writes_in_plan_md_while_it_waits_is_the_plan() -> None:
    async with made_memory_world() as world:
        await world.start()
        await planned(world)
        initiative = await world.read(initiatives.get, 1)
        place = world.root / "home/spaces" / REPO / "plans" / initiative.slug
        proposed = (place / "plan.md").read_text()
        (place / "plan.md").write_text(proposed.replace("Mend add", "Rewrite add"))
        await files.look(world.overlord.parts)
        world.overlord.wakeup.notify()
        await world.settle()
        asked = await gate(world)
        assert "Rewrite add" in asked.body, asked.body
        assert "Changed since you looked" in asked.body
        await world.answer(asked, Verb.APPROVE)
        await world.settle()
        assert "Rewrite add" in (place / "plan.md").read_text()
