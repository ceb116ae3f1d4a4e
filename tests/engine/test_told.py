"""What a session of a task is told of its initiative's tasks."""

from typing import Any

from overlord.domain.job import Job
from overlord.engine.portfolio.told import portfolio_brief
from overlord.store.portfolio import initiatives, tasks
from tests import stored
from tests.domain.test_plan import a_task
from tests.leading import an_initiative
from tests.memory.world import made_memory_world
from tests.records import NOW


async def test_a_session_is_told_of_all_that_its_task_waits_for() -> None:
    async with made_memory_world() as world:
        await world.start()

        def make(connection: Any) -> Job:
            made = initiatives.add(connection, an_initiative(at=NOW))
            assert made is not None
            rows = [tasks.add(connection, a_task(n, id=0, initiative_id=made.id)) for n in (1, 2, 3)]
            tasks.link(connection, rows[2], rows[:2], at=NOW)
            job = stored.claim(connection)
            tasks.change(connection, rows[2].id, at=NOW, issue_number=job.issue.number)
            return job

        parts = world.overlord.parts
        told = await portfolio_brief(parts, await parts.database.write("by hand", make))
        assert told is not None
        assert told.task is not None
        assert told.task.blocked_by == ("i1.1", "i1.2")
