"""Many repositories: each is worked on by settings of its own over those for all, and they take turns."""

import json
import os
from typing import Any

import pytest

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, run, submit
from overlord.errors import SettingsError
from overlord.store import sessions
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.runners import engine_or_skip
from tests.world import CALC, FIX, REPO, World

OTHER = "acme/other"
WORK = (edit(*FIX), submit())
BLOCKED = call("task_blocked", reason="I cannot see why")


async def opened(world: World, title: str, *labels: str, space: str = OTHER) -> int:
    return int(await world.forge.open_issue(space, title, "", labels=list(labels)))


def both(**own: object) -> dict[str, Any]:
    return {"repositories": [REPO, OTHER], "spaces": {OTHER: own}}


async def test_a_repositorys_own_labels_are_heard_there_and_nowhere_else() -> None:
    async with made_memory_world(**both(labels={"work": "robot", "in_review": "look"})) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await opened(world, "not for us", "nebulus-ready")
        number = await opened(world, "add() subtracts", "robot")
        world.model_will(*WORK)
        await world.settle()
        [job] = await world.jobs()
        assert (job.space, job.issue.number, job.state) == (OTHER, number, JobState.IN_REVIEW)
        assert world.forge.issue(OTHER, number).labels == ("look",)


async def test_a_repositorys_own_budget_is_spent_before_that_of_the_others() -> None:
    async with made_memory_world(**both(budget={"job_tokens": 100, "completion_tokens": 50})) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await opened(world, "add() subtracts", "nebulus-ready")
        await world.issue("add() subtracts")
        world.model_will(*WORK, when=REPO)
        await world.settle()
        states = {job.space: job.state for job in await world.jobs()}
        assert states == {REPO: JobState.IN_REVIEW, OTHER: JobState.WAITING}
        [decision] = await world.decisions()
        assert decision.body.startswith("Spent: this job's budget (100 tokens).")


async def test_a_repository_has_its_own_model_limits_and_checks() -> None:
    own = both(model="fast", sessions={"turns": 7}, checks={"review": False}, questions={"per_session": 0})
    models = {"default": [{}], "fast": [{"model": "hare"}]}
    async with made_memory_world(**own, models=models) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await opened(world, "add() subtracts", "nebulus-ready")
        world.model_will(*WORK)
        await world.settle()
        [job] = await world.jobs()
        assert job.state is JobState.IN_REVIEW
        assert {json.loads(seen.body)["model"] for seen in world.model.requests} == {"hare"}
        [session] = [item for item in await world.read(sessions.of_job, job.id) if item.kind == "work"]
        limits = json.loads(session.brief)["limits"]
        assert (limits["turns"], limits["questions"]) == (7, 0)
        assert "review" not in [check.name for check in await world.checks()]


async def test_what_an_issues_label_stands_for_is_what_its_job_may_write() -> None:
    async with made_memory_world(**both(scope_map={"docs": ["*.md"]}, infer_scope=False)) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await opened(world, "add() subtracts", "nebulus-ready", "docs")
        world.model_will(*WORK)
        await world.settle()
        assert (await world.job()).state is JobState.WAITING
        [session] = await world.read(sessions.of_job, 1)
        assert json.loads(session.scope) == ["*.md"]


async def test_a_repository_has_no_more_sessions_at_once_than_it_may() -> None:
    async with made_memory_world(**both(sessions={"concurrent": 1, "grace_s": 1})) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        for title in ("first", "second"):
            await opened(world, title, "nebulus-ready")
        await world.issue("add() subtracts")
        world.model_will(world.hold(), BLOCKED)
        world.model_will(world.hold(), BLOCKED)
        world.model_will(BLOCKED)
        await world.make_due()
        await world.until(lambda: sum(world.is_holding(f"j{number}-work-1") for number in (1, 2, 3)) == 2)
        running = await world.read(sessions.running_by_space)
        assert running == {REPO: 1, OTHER: 1}
        for number in (1, 2, 3):
            world.let_go(f"j{number}-work-1")
        await world.settle()
        assert [item.subject for item in await world.decisions()] == [Subject.BLOCKED] * 3


async def test_one_job_of_a_quiet_repository_is_begun_before_the_second_of_a_busy_one() -> None:
    async with made_memory_world(**both(), sessions={"concurrent": 1, "grace_s": 1}) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        for title in ("first", "second", "third", "fourth"):
            await world.issue(title)
        world.model_will(world.hold(), BLOCKED)
        await world.until_holding()
        await opened(world, "alone", "nebulus-ready")
        await world.make_due()
        for _ in range(4):
            world.model_will(BLOCKED)
        world.let_go()
        await world.settle()
        made = "SELECT space FROM sessions JOIN jobs ON jobs.id = job_id ORDER BY sessions.rowid"
        turns = await world.read(lambda c: [row["space"] for row in c.execute(made)])
        assert turns == [REPO, OTHER, REPO, REPO, REPO]


async def test_a_repository_that_asks_for_containers_is_not_begun_without_them() -> None:
    nowhere = {"host": "unix:///nowhere/docker.sock"}
    with pytest.raises(SettingsError, match=f"^spaces.{OTHER}.runner: docker, but"):
        async with made_quick_world(**both(runner="docker"), docker=nowhere) as world:
            await world.start()


async def test_a_repository_that_asks_for_containers_later_waits_for_a_restart() -> None:
    async with made_quick_world() as world:
        await world.start()
        world.write_settings(f"spaces: {{{REPO}: {{runner: docker}}}}")
        await world.until_settings_are_read()
        await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DISPATCH_REFUSED
        assert "asks for docker, and this Overlord was started without it; start it again" in decision.body


@pytest.mark.docker
async def test_one_repository_runs_in_containers_beside_another_in_processes() -> None:
    await engine_or_skip()
    async with made_quick_world(**both(runner="docker")) as world:
        await world.forge.create_repository(OTHER, files=CALC)
        await opened(world, "add() subtracts", "nebulus-ready")
        await world.issue("add() subtracts")
        for space in (REPO, OTHER):
            world.model_will(run("id -u"), *WORK, when=space)
        await world.settle()
        assert {job.state for job in await world.jobs()} == {JobState.IN_REVIEW}
        seen = {
            space: message["content"].split()[0]
            for messages in (world.model.messages(number) for number in range(len(world.model.requests)))
            for space in (REPO, OTHER)
            for message in messages
            if message["role"] == "tool" and space in str(messages[:2]) and message["content"][0].isdigit()
        }
        assert seen == {REPO: str(os.getuid()), OTHER: "10001"}
