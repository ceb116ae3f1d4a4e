"""The log says once what is wrong with a repository, again when that changes, and when it is over."""

import pytest
from structlog.testing import capture_logs

from overlord.embedded.play import edit, submit
from overlord.engine.runtime.poll_outcome import UNSEEN, PollOutcomes, Reachability
from overlord.errors import ForgeRefused, RunnerUnavailable
from tests.engine.between import forge_world
from tests.engine.troubled import troubled_world, weathered
from tests.quick import made_quick_world
from tests.world import CALC, FIX, REPO, World

SIGN_IN = "GET /repos/acme/calc/issues: 401 Bad credentials (sign-in was refused; check GITHUB_TOKEN)"


def lines(outcomes: PollOutcomes, *polls: tuple[str, bool]) -> list[str]:
    with capture_logs() as said:
        for trouble, is_reached in polls:
            outcomes.note("a/b", trouble, is_reached=is_reached, again_in_s=30)
    assert all(line["space"] == "a/b" for line in said)
    return [line["event"] for line in said]


def test_what_stays_wrong_is_said_once_and_when_it_is_over() -> None:
    outcomes = PollOutcomes()
    assert lines(outcomes, ("", True), ("", True)) == []
    assert lines(outcomes, (SIGN_IN, False), (SIGN_IN, False)) == ["repository_not_reached"]
    assert lines(outcomes, ("404 of a listing", True)) == ["repository_read_in_part"]
    assert lines(outcomes, ("", True), ("", True)) == ["repository_reached_again"]


def test_another_number_in_the_same_words_is_no_news() -> None:
    outcomes = PollOutcomes()
    assert len(lines(outcomes, *((f"429; asked to wait {left} s", True) for left in (90, 60, 30)))) == 1


def test_nothing_is_reached_where_no_repository_is() -> None:
    outcomes = PollOutcomes()
    assert not outcomes.is_none_reached(["a/b"]), "it was not asked yet"
    assert not outcomes.is_none_reached([])
    outcomes.note("a/b", "404", is_reached=False, again_in_s=30)
    assert outcomes.is_none_reached(["a/b"]) and not outcomes.is_none_reached(["a/b", "a/c"])
    assert outcomes.of("a/b") is Reachability.NONE


async def polled(world: World) -> list[dict[str, object]]:
    await world.make_due()
    with capture_logs() as said:
        await world.until(lambda: world.overlord.tick.is_idle)
    return [dict(line) for line in said if str(line["event"]).startswith("repository_")]


async def test_a_refused_sign_in_is_in_the_log_once_and_when_it_is_mended() -> None:
    async with forge_world() as (world, forge):
        forge.fails("activity", ForgeRefused(SIGN_IN))
        [line] = await polled(world)
        assert (line["event"], line["log_level"]) == ("repository_not_reached", "warning")
        assert (line["space"], line["trouble"], line["again_in_s"]) == (REPO, SIGN_IN, 30)
        assert await polled(world) == []
        forge.is_well()
        [line] = await polled(world)
        assert (line["event"], line["after"]) == ("repository_reached_again", SIGN_IN)


async def test_a_repository_that_is_not_there_is_said_with_what_to_check() -> None:
    async with made_quick_world(repositories=["acme/calk"]) as world:
        [line] = await polled(world)
        assert line["trouble"] == f"GET /repos/acme/calk: 404 Not Found; {UNSEEN}"


@pytest.mark.parametrize("operation", ["issues/list-comments-for-repo", "pulls/list"])
async def test_a_404_of_one_listing_is_said_too(operation: str) -> None:
    async with made_quick_world() as world:
        world.forge.fail(operation, kind="404", times=2)
        [line] = await polled(world)
        assert line["event"] == "repository_read_in_part"
        assert "404 Not Found" in str(line["trouble"])


async def test_a_step_that_fails_again_and_again_is_in_the_log_once_and_when_it_works_again() -> None:
    async with troubled_world(CALC) as (world, runner):
        runner.will_fail("start", *[RunnerUnavailable("the engine does not answer")] * 4)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        with capture_logs() as said:
            await weathered(world, runner)
    lines = [line for line in said if str(line["event"]).startswith("step_")]
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("step_put_off", "warning"),
        ("step_works_again", "info"),
    ]
    assert (lines[1]["after"], lines[1]["failures"]) == ("the engine does not answer", 4)
