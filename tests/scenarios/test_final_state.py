"""What is kept of a job when it ends: once, by every ending, and also where its repository's mirror is gone."""

import json
from typing import Any

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.errors import GitFailed
from overlord.store import evidence
from tests.engine.between import Instead, between_world
from tests.memory.world import made_memory_world
from tests.two_roles import merged, until_gate
from tests.world import FIX, World


async def finals(world: World) -> list[dict[str, Any]]:
    """The final states that were kept."""
    kept = [item for item in await world.read(evidence.exhibits) if item.kind == "final"]
    return [json.loads(world.overlord.parts.evidence.get(item.sha256)) for item in kept]


async def test_a_merged_job_leaves_its_tree_its_sessions_and_its_contract() -> None:
    async with made_memory_world() as world:
        job = await merged(world)
        assert job.state is JobState.COMPLETED
        [final] = await finals(world)
        assert (final["state"], final["contract"], final["phase"]) == ("completed", "two-roles", job.phase)
        assert (final["head"], final["base"], final["branch"]) == (job.head_sha, job.base_sha, job.branch)
        assert {"calc.py", "README.md"} <= final["tree"].keys()
        assert not final["tree_note"]
        work = [item for item in final["sessions"] if item["kind"] == "work"]
        assert [item["role"] for item in work] == ["architect", "backend"]
        assert work[1]["commit"] == job.head_sha
        assert final["tokens"] > 0
        assert final["open_gates"] == []
        assert len(final["contract_digest"]) == 16


async def test_a_job_that_is_stopped_at_a_gate_says_which_gate_was_open() -> None:
    async with made_memory_world() as world:
        await until_gate(world)
        assert await finals(world) == []
        await world.stop_job()
        await world.settle()
        [final] = await finals(world)
        assert (final["state"], final["reason"]) == ("cancelled", "not needed any more")
        [gate] = final["open_gates"]
        assert (gate["gate"], gate["subject"]) == ("plan_approval", "gate")


async def test_a_job_that_ends_before_its_first_session_has_a_final_state_without_a_tree() -> None:
    async with made_memory_world(sessions={"concurrent": 1}) as world:
        await world.issue("first")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.issue("add() subtracts")
        await world.make_due()
        await world.until(lambda: _has_jobs(world, 2))
        await world.stop_job(2)
        await world.until(lambda: _has_finals(world, 1))
        [final] = await finals(world)
        assert (final["job"], final["tree"]) == (2, {})
        assert final["tree_note"] == "It ended before a commit was chosen to start from."
        world.let_go()
        await world.settle()


async def test_a_mirror_that_is_gone_is_said_and_stops_nothing() -> None:
    async with between_world("git") as (world, git):
        await until_gate(world)
        git.instead["listing"] = _gone
        await world.stop_job()
        await world.until(lambda: _has_finals(world, 1))
        [final] = await finals(world)
        assert final["tree"] == {}
        assert "could not be read any more" in final["tree_note"]


async def _gone(_real: Instead, name: str, commit: str) -> None:
    raise GitFailed(f"commit {commit} is not in the mirror of {name}")


async def _has_jobs(world: World, number: int) -> bool:
    return len(await world.jobs()) == number


async def _has_finals(world: World, number: int) -> bool:
    return len(await finals(world)) == number
