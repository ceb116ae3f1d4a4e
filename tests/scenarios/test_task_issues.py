"""The issue of a task is closed by its merge, and what was read before that begins nothing anew."""

import sqlite3
from dataclasses import replace

from overlord.domain.decision import Verb
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import JobState
from overlord.domain.portfolio.task import TaskState
from overlord.embedded.play import call, edit, submit
from overlord.engine.portfolio import issue_states
from overlord.store.portfolio import issue_work, tasks
from tests.leading import MEND, a_plan, asked_to_plan, gate, proposes
from tests.memory.world import MemoryWorld, made_memory_world
from tests.world import FIX, REPO

ADDRESSED = [{"number": number, "evidence": "tests/test_calc.py"} for number in (1, 2)]
WORK = (
    edit(*FIX),
    call("record_completion", notes="The sign was wrong.", addressed=ADDRESSED),
    call("note_knowledge", text="It was one sign.", nothing_learned=True),
    submit(),
)


async def in_review(world: MemoryWorld) -> None:
    """A plan with one task is approved, and its pull request waits."""
    await world.start()
    await asked_to_plan(world)
    world.model_will(*proposes(a_plan(MEND)))
    await world.settle()
    world.model_will(*WORK)
    await world.answer(await gate(world), Verb.APPROVE)
    await world.settle()
    assert (await world.job(2)).state is JobState.IN_REVIEW, await world.transcript()


async def merged(world: MemoryWorld) -> None:
    """A person merges it, and Overlord has seen that."""
    await world.forge.merge(REPO, (await world.job(2)).pull_number or 0)
    await world.make_due()

    async def is_over() -> bool:
        return (await world.job(2)).state is JobState.COMPLETED

    await world.until(is_over)


def before_the_cycle(connection: sqlite3.Connection) -> None:
    """The rows as they are between a merge and the cycle that takes note of it."""
    connection.execute("UPDATE tasks SET state = 'in_progress', completed_at = NULL")
    connection.execute("UPDATE job_portfolio SET is_processed = 0")


async def test_an_issue_that_its_merge_closed_is_not_opened_again() -> None:
    async with made_memory_world() as world:
        await in_review(world)
        await merged(world)
        await world.overlord.parts.database.write("by hand", before_the_cycle)
        parts, task = world.overlord.parts, await world.read(tasks.get, 1)
        state = await parts.forge.issue(RepositoryName(REPO), task.issue_number or 0)
        assert not state.open
        await issue_states.seen(parts, RepositoryName(REPO), state)
        assert await world.read(issue_work.to_reopen) == []
        await world.settle()
        assert len(await world.jobs()) == 2


async def test_a_list_that_is_older_than_the_merge_takes_no_task_up_again() -> None:
    async with made_memory_world() as world:
        await in_review(world)
        parts, number = world.overlord.parts, (await world.read(tasks.get, 1)).issue_number or 0
        before = await parts.forge.issue(RepositoryName(REPO), number)
        await merged(world)
        await world.settle()
        assert (await world.read(tasks.get, 1)).is_issue_closed
        await issue_states.seen(parts, RepositoryName(REPO), replace(before, open=True))
        task = await world.read(tasks.get, 1)
        assert (task.state, task.is_issue_closed) == (TaskState.DONE, True)
        await world.settle()
        assert len(await world.jobs()) == 2
