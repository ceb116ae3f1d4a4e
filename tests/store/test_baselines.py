"""Baselines: a base commit is checked once for each way of checking it, and the first result stays."""

from dataclasses import replace

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.store.checks import baselines
from overlord.store.database import Database
from tests.records import BASE, HEAD, NOW, REPO

TESTS = CheckStep(name="tests", command=("pytest", "-q"))
RESULT = StepResult(
    name="tests", outcome=StepOutcome.RAN, exit_code=1, junit="<x/>", output="[1]", duration_s=0.5
)


async def test_a_result_is_kept_for_its_commit_and_plan(database: Database) -> None:
    plan = baselines.plan_of(TESTS)
    lint = replace(TESTS, name="lint")
    assert await database.read(lambda c: baselines.missing(c, REPO, BASE, [TESTS, lint])) == [TESTS, lint]
    await database.write("by hand", lambda c: baselines.put(c, REPO, BASE, plan, RESULT, at=NOW))
    assert await database.read(lambda c: baselines.get(c, REPO, BASE, plan)) == RESULT
    assert await database.read(lambda c: baselines.missing(c, REPO, BASE, [TESTS, lint])) == [lint]
    assert await database.read(lambda c: baselines.get(c, REPO, HEAD, plan)) is None
    assert await database.read(lambda c: baselines.get(c, "acme/web", BASE, plan)) is None


async def test_the_first_result_stays(database: Database) -> None:
    plan = baselines.plan_of(TESTS)
    for result in (RESULT, replace(RESULT, exit_code=0)):
        await database.write("by hand", lambda c, r=result: baselines.put(c, REPO, BASE, plan, r, at=NOW))  # type: ignore[misc]
    assert await database.read(lambda c: baselines.get(c, REPO, BASE, plan)) == RESULT


def test_another_command_is_another_plan() -> None:
    others = [
        replace(TESTS, command=("pytest",)),
        replace(TESTS, restore=("tests",)),
        replace(TESTS, name="lint"),
    ]
    assert len({baselines.plan_of(step) for step in [TESTS, *others]}) == 4
