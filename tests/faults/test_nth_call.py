"""The first, the second, … call of a port fails: once before its effect, once after it, and then for good until it is fixed.

A story goes from a label to a pull request in review, and on to where somebody has merged that. Once: it ends as it does
without a fault, with one pull request and no attempt spent. For good: it waits and says which external service keeps it, and goes on
to its end when that is back.
"""

from collections.abc import Collection, Mapping, Sequence

import pytest

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.errors import ForgeUnavailable, GitFailed, ModelUnavailable, RunnerUnavailable
from overlord.store import ledger
from tests.faults.faulty import Call, Faulty, Mode, Plan, told
from tests.faults.invariants import check_world, must_hold, noted
from tests.faults.spaces import (
    all_through,
    answer_all,
    is_through,
    job_of,
    lost,
    made_spaces,
    merge_all,
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
AT_ONCE = 5
"""Stories in one world: with more each request looks at more connections, and each look at more issues."""
TRIES = 3
"""How often what fails for good is tried before it is fixed."""
GIT_EFFECTS = (
    *("refresh_mirror", "prepare_session", "ready_copy", "forget_ready"),
    *("canonical_commit", "push", "remove_session"),
)
"""Of git's calls most only read: failing after that is failing before it."""
LEGS = (JobState.IN_REVIEW, JobState.COMPLETED)
_calls: dict[str, Sequence[Call]] = {}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("port", PROMISED)
async def test_whichever_call_fails_the_story_ends_as_it_does_without_a_fault(port: str, mode: Mode) -> None:
    only = GIT_EFFECTS if port == "git" and mode is Mode.AFTER else ()
    calls = [call for call in await _calls_of(port) if not only or call[0] in only]

    async def tell(chains: list[list[Call]]) -> list[Plan]:
        plans = [Plan(left=chain, mode=mode, error=PROMISED[port]) for chain in chains]
        found = list[str]()
        for first in range(0, len(plans), AT_ONCE):
            some = {name_of(number): plan for number, plan in enumerate(plans[first : first + AT_ONCE], 1)}
            found += await _told(port, mode, some, only)
        assert not found, "\n".join(found)
        return plans

    await told(calls, tell, apart=mode is Mode.AFTER)


async def _calls_of(port: str) -> Sequence[Call]:
    """Every call that a story makes of this port where nothing fails."""
    if not _calls:
        plans = {each: Plan(mode=Mode.BEFORE, error=error) for each, error in PROMISED.items()}
        async with made_spaces(1) as world:
            find = space_finder(world)
            before = {
                each: lambda real, plan=plan: Faulty(real, {name_of(1): plan}, find)
                for each, plan in plans.items()
            }
            await start(world, before)
            for leg in LEGS:
                await _go_on(world, [name_of(1)], leg)
                await all_through(world, [name_of(1)], leg)
            must_hold(await lost(world, name_of(1), end=JobState.COMPLETED))
        _calls.update({each: plan.seen for each, plan in plans.items()})
    return _calls[port]


async def _told(port: str, mode: Mode, plans: Mapping[str, Plan], only: Sequence[str]) -> list[str]:
    """Tell these stories in one world; what went wrong in them."""
    async with made_spaces(len(plans)) as world:
        find = space_finder(world)
        await start(world, {port: lambda real: Faulty(real, plans, find, only=only)})
        found = []
        try:
            for leg in LEGS:
                await _go_on(world, plans, leg)
                if mode is Mode.FOR_GOOD:
                    found += await _held_up(world, port, plans, leg)
                await all_through(world, plans, leg)
            for plan in plans.values():
                plan.end()
            await world.settle()
        except TimeoutError:
            return [f"{port}: {plan}: {await trouble_of(world, name)}" for name, plan in plans.items()]
        try:
            await check_world(world)
        except AssertionError as error:
            found.append(f"{port}: {', '.join(map(str, plans.values()))}: {error}")
        for name, plan in plans.items():
            found += noted(
                [f"{port}: {plan}: {wrong}" for wrong in await lost(world, name, end=JobState.COMPLETED)]
            )
    return found


async def _go_on(world: World, spaces: Collection[str], leg: JobState) -> None:
    """What people do, so that stories go on to the end of a leg."""
    if leg is JobState.COMPLETED:
        await merge_all(world, spaces)


async def _held_up(world: World, port: str, plans: Mapping[str, Plan], leg: JobState) -> list[str]:
    """Let every story go as far as it gets, fix what is broken, and so on until all are through. What people were not
    told."""

    async def is_stuck() -> bool:
        for name, plan in plans.items():
            is_told = plan.failures and "as was arranged" in await _said(world, name)
            if not is_told and not await is_through(world, name, leg):
                return False
        return True

    async def is_tried() -> bool:
        tried = {name for name, plan in plans.items() if len(plan.failures) >= TRIES}
        return all([name in tried or await is_through(world, name, leg) for name in plans])

    found, is_down = [], True
    while is_down:
        await world.make_due()
        await world.until(is_stuck)
        if not await is_tried():
            continue
        is_down = any(plan.failures for plan in plans.values())
        for name, plan in plans.items():
            trouble = await _said(world, name)
            is_named = any(f"{call} failed" in trouble for call in plan.failures)
            if not is_named and not await is_through(world, name, leg):
                found.append(f"{port}: {plan}: people are told {trouble!r}")
            plan.lift()
        await answer_all(world)
    return found


async def _said(world: World, space: str) -> str:
    """What people are told of why a story does not go on; of a job that is over, also what its own story says last."""
    job, trouble = await job_of(world, space), await trouble_of(world, space)
    if job is None or job.is_open:
        return trouble
    entries = await world.read(lambda c: list(ledger.entries(c, job_id=job.id)))
    failed = [entry.data for entry in entries if entry.name == EventName.STEP_FAILED]
    return "\n".join([trouble, *failed[-1:]])
