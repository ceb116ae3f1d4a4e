"""Each request a story makes of the forge meets each fault: once, and then for good until it is lifted.

Once: the story ends as it does without a fault. For good: it waits, people are told what the forge does not do, and when
that is lifted (and a person has answered, where the forge said no) it goes on to its end.
"""

import pytest

from overlord.adapters.git import command
from overlord.adapters.github.requests import READ_ATTEMPTS
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.store import jobs
from tests.faults.crossing import Crossing, arrange
from tests.faults.invariants import check_world, must_hold
from tests.faults.spaces import (
    MOST_POLLS,
    answer_all,
    is_through,
    lost,
    made_spaces,
    name_of,
    start,
    trouble_of,
)
from tests.world import World

pytestmark = pytest.mark.timeout(1200)
OPERATIONS = (
    "issues/list-for-repo",
    "issues/list-events",
    "issues/list-comments-for-repo",
    "repos/get-collaborator-permission-level",
    "pulls/list-reviews",
    "pulls/list-review-comments",
    "repos/get-combined-status-for-ref",
    "repos/get",
    "issues/list-comments",
    "issues/get",
    "issues/add-labels",
    "issues/remove-label",
    "issues/create-comment",
    "issues/update-comment",
    "pulls/list",
    "pulls/list-files",
    "pulls/create",
    "pulls/get",
    "pulls/update",
    "graphql",
    "repos/create-commit-status",
    "git/refs",
    "git/upload-pack",
    "git/receive-pack",
)
TIMEOUTS = ("timeout-before", "timeout-after")
KINDS = (
    *("401", "403", "403-rate-limit", "secondary-limit", "404", "409", "422", "500", "502-html"),
    *("reset", "reset-after", "bad-json"),
)
STORIES = 3
"""How many of them meet the faults of all operations, those in each far from each other: with more in one world, each request looks
at more connections, and each look at more issues."""
TIMEOUT_S = 1.0
GIT_TIMEOUT_S = 3.0
TRIES = 1
REQUESTS = 3
"""What one fetch asks of a forge that does not answer as git does."""


@pytest.mark.parametrize("kind", [*KINDS, *TIMEOUTS])
async def test_a_request_that_fails_once_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crossings = {
        name_of(number): Crossing(kind=kind, operations=set(OPERATIONS[number - 1 :: STORIES]))
        for number in range(1, STORIES + 1)
    }
    async with made_spaces(STORIES) as world:
        arrange(world.forge, crossings)
        await _start(world, kind, monkeypatch)
        try:
            await _all_met(world, crossings)
        except TimeoutError:
            raise AssertionError(await _told(world, crossings)) from None
        await check_world(world)
        must_hold([f"{crossings[name]}: {wrong}" for name in crossings for wrong in await lost(world, name)])
        assert not _unmet(crossings), "every story makes every request"


async def _all_met(world: World, crossings: dict[str, Crossing]) -> None:
    """Until all faults are over, and what they put off is done; or until that is not to be expected any more."""
    for _ in range(MOST_POLLS):
        await world.settle()
        if not _unmet(crossings) and world.overlord.tick.next_delay_s() is None:
            break
    await world.settle()


def _unmet(crossings: dict[str, Crossing]) -> list[Crossing]:
    return [crossing for crossing in crossings.values() if len(+crossing.met) < len(crossing.operations)]


@pytest.mark.parametrize("kinds", [KINDS, TIMEOUTS], ids=["answers", "silence"])
async def test_what_fails_for_good_is_waited_for_and_told(
    kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    crossings = {
        name_of(index): Crossing(kind=kind, operations=set(OPERATIONS), for_good=True)
        for index, kind in enumerate(kinds, 1)
    }
    async with made_spaces(len(kinds)) as world:
        arrange(world.forge, crossings)
        await _start(world, kinds[-1], monkeypatch)
        try:
            while not all([await is_through(world, name) for name in crossings]):
                await _until_stuck(world, crossings)
                await _mend(world, crossings)
            await world.settle()
        except TimeoutError:
            raise AssertionError(await _told(world, crossings)) from None
        for crossing in crossings.values():
            crossing.lift(OPERATIONS)
        await check_world(world)
        must_hold([f"{crossings[name]}: {wrong}" for name in crossings for wrong in await lost(world, name)])


async def _start(world: World, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind in TIMEOUTS:
        monkeypatch.setitem(vars(command), "TIMEOUT_S", GIT_TIMEOUT_S)
    await start(world, {}, timeout_s=TIMEOUT_S if kind in TIMEOUTS else 20.0)


async def _until_stuck(world: World, crossings: dict[str, Crossing]) -> None:
    """Until no story goes on: each is through, or has met a fault again and again."""

    async def is_stuck() -> bool:
        for name, crossing in crossings.items():
            again = any(count >= TRIES for count in crossing.met.values())
            if not await is_through(world, name) and not (again and await trouble_of(world, name)):
                return False
        return True

    await world.make_due()
    await world.until(is_stuck)


async def _mend(world: World, crossings: dict[str, Crossing]) -> None:
    """People are told what the forge does not do; what was met is lifted, and they let it be tried again."""
    for name, crossing in crossings.items():
        told = await trouble_of(world, name)
        if not await is_through(world, name):
            far_end = (f"/repos/{name}", "graphql", "git ")
            assert any(words in told for words in far_end), f"{crossing}: people are told {told!r}"
        crossing.lift([operation for operation, count in crossing.met.items() if count])
    await answer_all(world)


async def _told(world: World, crossings: dict[str, Crossing]) -> str:
    found = {job.space: job.state for job in await world.read(jobs.all_jobs)}
    return "\n".join(
        [f"{crossings[name]}: {found.get(name)}: {await trouble_of(world, name)}" for name in crossings]
    )


async def test_a_forge_that_answers_git_with_something_else_is_waited_for_and_nobody_is_asked() -> None:
    space = name_of(1)
    crossing = Crossing(kind="bad-json", operations={"git/refs"}, for_good=True)
    async with made_spaces(1) as world:
        arrange(world.forge, {space: crossing})
        await start(world, {})
        await world.make_due()
        await world.until(lambda: crossing.met["git/refs"] >= 3 * REQUESTS)
        assert "is no git server" in await trouble_of(world, space)
        assert await world.decisions() == []
        crossing.lift(OPERATIONS)
        await world.settle()
        await world.settle()
        must_hold(await lost(world, space))


@pytest.mark.parametrize("kind", ["500", "404", "403-rate-limit", "reset", "bad-json"])
async def test_a_page_that_fails_in_the_middle_of_a_listing_claims_nothing_and_gives_nothing_up(
    kind: str,
) -> None:
    async with made_spaces(1, "holds", delivery={"open_pulls": 1}) as world:
        space = name_of(1)
        await start(world, {})
        await world.make_due()
        await world.until(world.is_holding)
        for number in range(2, 110):
            await world.forge.open_issue(space, f"Another {number}", "", labels=["nebulus-ready"])
        world.forge.fail("issues/list-for-repo", kind=kind, after=1, times=READ_ATTEMPTS)
        world.clock.move(interval_s(world.overlord.parts.settings) + 1)
        await world.until(lambda: trouble_of(world, space))
        [job] = await world.jobs()
        assert (job.state, job.issue.number) == ("running", 1)
        assert "nebulus-ready" not in world.forge.issue(space, 1).labels
        world.let_go()
