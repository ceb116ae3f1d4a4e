"""The first, the second, … call of a port fails: once before its effect, once after it, and then for good until it is mended.

Once: the story ends as it does without a fault, with one pull request and no attempt spent. For good: it waits and says
which far end keeps it, and goes on to its end when that is back.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, count

import pytest

from overlord.errors import ForgeUnavailable, GitFailed, ModelUnavailable, RunnerUnavailable
from tests.faults.faulty import Faulty, Mode, Plan, every
from tests.faults.invariants import check_world
from tests.faults.spaces import (
    answer_all,
    is_through,
    lost,
    made_spaces,
    name_of,
    space_finder,
    start,
    trouble_of,
)
from tests.world import World

pytestmark = pytest.mark.timeout(1200)
PROMISED = {
    "forge": ForgeUnavailable,
    "git": GitFailed,
    "runner": RunnerUnavailable,
    "assistant": ModelUnavailable,
}
AT_ONCE = 10
"""Stories in one world: with more each request looks at more connections, and each look at more issues."""
TRIES = 3
"""How often what fails for good is tried before it is mended."""
GIT_EFFECTS = (
    *("refresh_mirror", "prepare_session", "ready_copy", "forget_ready"),
    *("canonical_commit", "push", "remove_session"),
)
"""Of git's calls most only read: failing after that is failing before it."""


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("port", PROMISED)
async def test_whichever_call_fails_the_story_ends_as_it_does_without_a_fault(port: str, mode: Mode) -> None:
    numbers, found, reached, any_fired = _numbers(port), list[str](), True, False
    while reached:
        plans = {
            name_of(index): Plan(number=next(numbers), mode=mode, error=PROMISED[port])
            for index in range(1, (2 if port == "assistant" else AT_ONCE) + 1)
        }
        found += await _told(port, mode, plans)
        reached = all(plan.fired for plan in plans.values())
        any_fired |= any(plan.fired for plan in plans.values())
    assert any_fired, "no call was counted"
    assert not found, "\n".join(found)


def _numbers(port: str) -> Iterator[int]:
    """Every call; of git's many, those that come late (they look at what is judged, again and again) in steps."""
    return chain(range(1, 17), count(17, every(5))) if port == "git" else count(1)


async def _told(port: str, mode: Mode, plans: Mapping[str, Plan]) -> list[str]:
    """Tell these stories in one world; what went wrong in them."""
    only = GIT_EFFECTS if port == "git" and mode is Mode.AFTER else ()
    async with made_spaces(len(plans)) as world:
        find = space_finder(world)
        await start(world, {port: lambda real: Faulty(real, plans, find, only=only)})
        found = []
        try:
            if mode is Mode.FOR_GOOD:
                found = await _held_up(world, port, plans)
                await answer_all(world)
            await world.settle()
            for plan in plans.values():
                plan.is_lifted = True  # or it is another poll that fails, after the story
            await world.settle()
        except TimeoutError:
            return [f"{port}: {plan}: {await trouble_of(world, name)}" for name, plan in plans.items()]
        try:
            await check_world(world)
        except AssertionError as error:
            found.append(f"{port}: {', '.join(map(str, plans.values()))}: {error}")
        for name, plan in plans.items():
            found += [f"{port}: {plan}: {wrong}" for wrong in await lost(world, name)]
    return found


async def _held_up(world: World, port: str, plans: Mapping[str, Plan]) -> list[str]:
    """Let every story go as far as it gets; then mend what was broken. What people were not told."""

    async def is_stuck() -> bool:
        for name, plan in plans.items():
            is_told = len(plan.fired) >= TRIES and "as was arranged" in await trouble_of(world, name)
            if not is_told and not await is_through(world, name):
                return False
        return True

    await world.make_due()
    await world.until(is_stuck)
    found = []
    for name, plan in plans.items():
        told = await trouble_of(world, name)
        if not await is_through(world, name) and not any(f"{method} failed" in told for method in plan.fired):
            found.append(f"{port}: {plan}: people are told {told!r}")
        plan.is_lifted = True
    return found
