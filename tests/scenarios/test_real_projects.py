"""Real projects of different build systems: each as its repository was at a release, without tags, prepared by nobody.

Its environment is set up with network, a change to it is made and judged without.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import docker
import pytest

from minion.protocol import CheckReport, StepOutcome
from overlord.adapters.git.command import git
from overlord.domain.decision import Subject, Verb
from overlord.domain.evaluation import CheckScore
from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit, write
from overlord.home import Home
from overlord.store import environments, ledger, sessions
from tests.projects import ITSDANGEROUS, PLUGGY, TAKEN, Project
from tests.required import missing
from tests.runners import engine_or_skip
from tests.sdists import files_of
from tests.world import REPO, World, made_world

OUT_OF_REACH = ("dns error", "client error (Connect)", "Temporary failure resolving")
"""What uv and apt say without a network."""
TEST = "python -m pytest --continue-on-collection-errors"
PATIENCE_S = 400.0
"""A setup downloads, and may build a system with a compiler first."""
REACH_OUT = run(
    "ls /sys/class/net; UV_OFFLINE=0 UV_HTTP_RETRIES=0 uv pip install --no-cache --target /tmp/x six && echo reached"
)


@contextlib.asynccontextmanager
async def world_of(project: Project, **overrides: Any) -> AsyncIterator[World]:
    """A world around this project, which leaves nothing in the engine."""
    files = files_of(project.sdist)
    async with made_world({}, **overrides) as world:
        world.deadline_s = PATIENCE_S
        await world.forge.push_files(REPO, "main", files, f"Release {project.sdist.version}")
        await world.issue(f"Add {project.function}()")
        try:
            yield world
        finally:
            for made in await world.read(environments.everything):
                await world.overlord.parts.runner.remove_layer(made.id)
            if world.overlord.parts.runner.name == "docker":
                _remove_volumes(Home(world.root / "home").instance())


async def settled(world: World) -> None:
    """Let the story happen; where its setup cannot reach any package index, there is none to tell."""
    await world.settle()
    for decision in await world.decisions():
        if decision.subject is Subject.ENVIRONMENT and any(said in decision.body for said in OUT_OF_REACH):
            missing("docker", f"the setup reaches no package index: {decision.body[-500:]}")


def _remove_volumes(instance: str) -> None:
    with contextlib.closing(docker.from_env()) as engine:
        for volume in engine.volumes.list(filters={"label": f"overlord.instance={instance}"}):
            volume.remove()


@pytest.mark.docker
@pytest.mark.parametrize("project", TAKEN, ids=lambda project: project.sdist.name)
async def test_a_change_to_a_real_project_is_made_and_judged_without_network(project: Project) -> None:
    await engine_or_skip()
    async with world_of(project, runner="docker") as world:
        world.model_will(REACH_OUT, *project.change, run(TEST), submit())
        await settled(world)
        if project.has_no_tests:
            [asked] = await world.decisions()
            assert asked.subject is Subject.UNTESTED
            await world.answer(asked, Verb.WRITE_TESTS)
            await settled(world)
        assert (await world.job()).state is JobState.IN_REVIEW, await world.decisions()
        assert project.found in await _told(world)
        tried, *_, tested = _heard(world)
        assert tried.startswith("lo\n") and "dns error" in tried and "reached" not in tried
        assert "passed" in tested
        await _assert_well_judged(world)
        [pull] = world.forge.pulls(REPO)
        assert not pull.draft
        assert await _names_changed(world) == sorted([project.source, project.test])


async def test_a_process_has_a_real_projects_dependencies_too() -> None:
    async with world_of(PLUGGY) as world:
        change, test = PLUGGY.change
        offline = edit(PLUGGY.test, '== ["lo"]', "!= []")  # a process is not cut off, and says so
        world.model_will(change, test, offline, run(TEST), submit())
        await settled(world)
        assert (await world.job()).state is JobState.IN_REVIEW, await world.decisions()
        assert "passed" in _heard(world)[-1] and "failed" not in _heard(world)[-1]
        await _assert_well_judged(world)


@pytest.mark.docker
async def test_a_dependency_that_a_person_allowed_is_there_when_its_tests_are_judged() -> None:
    await engine_or_skip()
    async with world_of(ITSDANGEROUS, runner="docker") as world:
        body = 'def test_sorted() -> None:\n    assert list(SortedList("ba")) == ["a", "b"]\n'
        test = f"from sortedcontainers import SortedList\n\n\n{body}"
        asks = run(f"echo sortedcontainers==2.4.0 >>requirements/tests.txt; {TEST}")
        world.model_will(write("tests/test_sorted.py", test), *ITSDANGEROUS.change, asks, submit())
        await settled(world)
        assert "No module named 'sortedcontainers'" in _heard(world)[-1]
        [decision] = await world.decisions()
        assert decision.subject is Subject.DEPENDENCIES
        assert "+sortedcontainers==2.4.0" in decision.body
        await world.answer(decision, Verb.INSTALL)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW, await world.decisions()
        assert (await world.events()).count("environment_completed") == 2
        await _assert_well_judged(world)


def _heard(world: World) -> list[str]:
    """What the tools told the Minion, in order."""
    return [message["content"] for message in world.minion_heard() if message["role"] == "tool"]


async def _told(world: World) -> list[str]:
    """What the setup was started for."""
    entries = await world.read(lambda c: list(ledger.entries(c, job_id=1)))
    [what] = [json.loads(entry.data)["what"] for entry in entries if entry.name == "setup_started"]
    return list(what)


async def _assert_well_judged(world: World) -> None:
    """Its tests ran before and after, what base had passes as before, and the new ones are among them."""
    [tests] = [check for check in await world.checks() if check.name == "tests"]
    assert tests.score is CheckScore.PASS
    assert ", 0 new" not in tests.summary and "0 broken" in tests.summary
    steps = dict(await _steps(world))
    assert steps["tests"] is StepOutcome.RAN
    assert steps["baseline"] in {StepOutcome.RAN, StepOutcome.NOTHING_TO_RUN}


async def _steps(world: World) -> Iterator[tuple[str, StepOutcome]]:
    past = await world.read(lambda c: sessions.of_job(c, 1))
    reports = [session.report for session in past if session.kind == "check"]
    return (
        (step.name, step.outcome)
        for report in reports
        if isinstance(report, CheckReport)
        for step in report.steps
    )


async def _names_changed(world: World) -> list[str]:
    listed = await git(world.forge.directory(REPO), "diff", "--name-only", "main", "minion/issue-1")
    return sorted(listed.decode().split())
