"""Each request that is made around a delivery meets each fault, as `test_forge_matrix.py` has it for those that lead to one.

Where the forge says no for good to what is asked for others' convenience alone, the story goes on without it, and each such
ending is listed here.
"""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from overlord.adapters.github.operation import OPERATIONS as ASKED_FOR
from overlord.embedded.forge.api.wire import GIT_OPERATIONS, LOG
from tests.faults import afterwards, test_forge_matrix
from tests.faults.afterwards import (
    BRANCH,
    CHECKS,
    EXPECTED,
    EXPLAINED,
    ISSUE,
    OPERATIONS,
    REACTION,
    READ_LOG,
    REPLY,
)
from tests.faults.crossing import Crossing, arrange
from tests.faults.invariants import check_world, must_hold
from tests.faults.spaces import job_of, name_of, start
from tests.faults.test_forge_matrix import KINDS, TIMEOUT_S, TIMEOUTS
from tests.turning import ACTIVE
from tests.world import World

pytestmark = pytest.mark.timeout(1200)
ELSEWHERE = {
    "users/get-authenticated": "`overlord doctor` asks who it is: tests/cli/test_doctor_forge.py",
    "rate-limit/get": "`overlord doctor` asks what is left: tests/cli/test_doctor_forge.py",
    "issues/list-labels-for-repo": "`overlord doctor` looks for its labels: tests/cli/test_doctor_forge.py",
    "issues/create-label": "`overlord doctor --fix` makes them: tests/cli/test_doctor_forge.py",
    **dict.fromkeys(
        (
            *("issues/list-sub-issues", "issues/add-sub-issue", "issues/list-dependencies-blocked-by"),
            *("issues/add-blocked-by-dependency", "issues/remove-dependency-blocked-by"),
        ),
        "asked for by tasks of an initiative alone: tests/adapters/test_github_relation.py",
    ),
    "lfs": "asked for by repositories with large files alone: tests/adapters/test_git_lfs.py",
}
"""What no job asks for, or few do, and where its faults are."""
LIMIT = "403-rate-limit"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "answers": tuple(kind for kind in KINDS if kind != LIMIT),
    "a limit": (LIMIT,),
    "silence": TIMEOUTS,
}
"""What is tried in one world: while a limit is waited for, an hour at a time, others would try again and again."""
MOST_LOOKS = 40
"""At the spaces, until a step is taken."""
REFUSALS = ("401", "403", "404", "409", "422")
DONE_WITHOUT: Mapping[str, Mapping[str, Any]] = {
    REACTION: {kind: [] for kind in REFUSALS},
    EXPLAINED: {"404": 0},
    ISSUE: dict.fromkeys(REFUSALS, True),
    BRANCH: dict.fromkeys(REFUSALS, True),
    REPLY: {"404": 0},
    READ_LOG: dict.fromkeys([*REFUSALS, "403-rate-limit", "secondary-limit", "bad-json"], False),
}
"""What a refusal for good leaves undone: at an operation, with these kinds, what came of it otherwise than it does without
a fault. A comment, a thread or a log that is not there was deleted."""


def test_every_request_there_is_meets_faults_here_or_where_it_is_said() -> None:
    everything = {*ASKED_FOR, *GIT_OPERATIONS, LOG.name}
    assert everything == {*test_forge_matrix.OPERATIONS, *OPERATIONS, *ELSEWHERE}


@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
async def test_a_request_around_a_delivery_that_fails_once_changes_nothing(kinds: tuple[str, ...]) -> None:
    crossings = _crossings(kinds, for_good=False)
    async with afterwards.made_stage(len(kinds)) as world:
        await _start(world, kinds, crossings)
        for step in afterwards.STEPS:
            await _take(world, step, crossings)
        unmet = [
            f"{item}: never {sorted(item.operations - set(+item.met))}"
            for item in crossings.values()
            if len(+item.met) < len(OPERATIONS)
        ]
        assert not unmet, "every story makes every request"
        await check_world(world)
        found = list[str]()
        for space, crossing in crossings.items():
            less = (
                {READ_LOG: False} if crossing.kind == "bad-json" else {}
            )  # text that is cut is a log as well
            found += _otherwise(crossing, await afterwards.came_of(world, space), {**EXPECTED, **less})
        must_hold(found)


@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
async def test_what_fails_for_good_around_a_delivery_is_told_and_goes_on(kinds: tuple[str, ...]) -> None:
    crossings = _crossings(kinds, for_good=True)
    async with afterwards.made_stage(len(kinds)) as world:
        await _start(world, kinds, crossings)
        for step in afterwards.STEPS:
            await _take(world, step, crossings)
        for crossing in crossings.values():
            crossing.lift(OPERATIONS)
        await check_world(world)
        found = list[str]()
        for space, crossing in crossings.items():
            less = {
                name: kinds[crossing.kind] for name, kinds in DONE_WITHOUT.items() if crossing.kind in kinds
            }
            came = await afterwards.came_of(world, space)
            found += _otherwise(crossing, came, {**EXPECTED, **less, "asked": came["asked"]})
        must_hold(found)


def _otherwise(crossing: Crossing, came: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """What came of a story otherwise than it was to."""
    names = sorted(came.keys() | expected.keys())
    return [
        f"{crossing}: {name}: {came.get(name)!r}, not {expected.get(name)!r}"
        for name in names
        if came.get(name, ...) != expected.get(name, ...)
    ]


def _crossings(kinds: Collection[str], *, for_good: bool) -> dict[str, Crossing]:
    return {
        name_of(number): Crossing(kind=kind, operations=set(OPERATIONS), for_good=for_good)
        for number, kind in enumerate(kinds, 1)
    }


async def _start(world: World, kinds: Collection[str], crossings: Mapping[str, Crossing]) -> None:
    arrange(world.forge, crossings)
    await start(world, {}, timeout_s=TIMEOUT_S if kinds is TIMEOUTS else 20.0)


async def _take(world: World, step: afterwards.Step, crossings: Mapping[str, Crossing]) -> None:
    """Take all spaces through a step. Where one is stuck for good, people are told why, and what it met is lifted."""
    for space in crossings:
        await step.act(world, space)
    waiting, before = set(crossings), dict.fromkeys(crossings, "")

    async def is_told(space: str) -> bool:
        return await _is_told(world, space, crossings[space], before[space])

    async def are_stuck() -> bool:
        for space in sorted(waiting):
            if await step.is_done(world, space):
                waiting.discard(space)
            elif await _is_moving(world, space) and not await is_told(space):
                return False
        return True

    for _ in range(MOST_LOOKS):
        await world.make_due()
        try:
            await world.until(are_stuck)
        except TimeoutError:
            break
        for space in waiting:
            if crossings[space].for_good and await is_told(space):
                before[space] = await afterwards.told(world, space)
                crossings[space].lift([name for name, count in crossings[space].met.items() if count])
                await afterwards.let_go_on(world, space)
        if not waiting:
            return
        world.clock.move(world.overlord.tick.next_delay_s() or 0)
    raise AssertionError(await _told(world, step, {space: crossings[space] for space in waiting}))


async def _is_moving(world: World, space: str) -> bool:
    """Whether a space is to go on without being looked at again."""
    job = await job_of(world, space)
    return job is None or job.state in ACTIVE


async def _is_told(world: World, space: str, crossing: Crossing, before: str) -> bool:
    """Whether people are told of a fault that was met, or it is one that hides something from us."""
    if not +crossing.met:
        return False
    is_hidden = crossing.kind == "403" and crossing.met[CHECKS]  # as it is to every fine-grained token
    told = await afterwards.told(world, space)
    return bool(is_hidden or (told and (told != before or not crossing.for_good)))


async def _told(world: World, step: afterwards.Step, crossings: Mapping[str, Crossing]) -> str:
    lines = [f"{crossing}: {await afterwards.told(world, space)!r}" for space, crossing in crossings.items()]
    return "\n".join([f"not {step.name}:", *lines])
