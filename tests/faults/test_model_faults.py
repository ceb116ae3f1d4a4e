"""The model behind the gateway fails, or says what is of no use: once, and for good. The Minion here is the real one, but
where it would wait ten minutes for a model to come back; what is judged is played.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from overlord.domain.job import Job, JobState
from overlord.embedded.play import (
    Turn,
    cut,
    cut_off,
    edit,
    empty,
    garbage,
    malformed,
    refusal,
    run,
    say,
    silence,
    status,
    submit,
)
from tests.faults.faulty import Call, chains
from tests.faults.invariants import check_world
from tests.faults.player import played
from tests.faults.spaces import answer_all, start
from tests.quick import made_quick_world
from tests.world import FIX, World, made_world

PASSING: Mapping[str, Turn] = {
    "status 429": status(429),
    "status 500": status(500),
    "status 529": status(529),
    "a cut stream": cut(),
    "garbage": garbage(),
    "malformed arguments": malformed(),
    "an empty reply": empty(),
    "a refusal": refusal(),
    "a reply cut off": cut_off(),
    "silence": silence(),
}
STEPS = (run("cat calc.py"), edit(*FIX), run("cat calc.py"), submit())
KINDS = tuple(PASSING)
LASTING: Mapping[str, Turn] = {
    "garbage": garbage(),
    "malformed arguments": malformed(),
    "empty replies": empty(),
    "refusals": refusal(),
    "endless talk": say("Let me think about it."),
    "endless work": run("true"),
}
UNAVAILABLE: Mapping[str, Turn] = {
    **{f"status {code}": status(code) for code in (400, 401, 429, 500, 529)},
    "cut streams": cut(),
}
MANY: dict[str, Any] = {
    "delivery": {"open_pulls": 50},
    "sessions": {"grace_s": 1, "concurrent": 4},
    "model": {"timeout_s": 3},
}


async def test_whichever_of_its_answers_fails_costs_no_attempt() -> None:
    async with made_quick_world(**MANY) as world:
        stories = {_title(chain): chain for chain in chains(_failing(), apart=True)}
        for title, chain in stories.items():
            fails = {turn: PASSING[KINDS[kind]] for turn, kind in chain}
            turns = [(fails.get(f"turn {at}"), step) for at, step in enumerate(STEPS, 1)]
            await world.issue(title)
            world.model_will(*[turn for pair in turns for turn in pair if turn], when=title)
        await start(world, {})
        await world.settle()
        ended = {job.issue.title: (job.state, job.revision, job.losses) for job in await world.jobs()}
        assert ended == dict.fromkeys(stories, (JobState.IN_REVIEW, 0, 0))
        await check_world(world)


def _title(chain: Sequence[Call]) -> str:
    return "; ".join(f"{KINDS[kind]} at {turn}" for turn, kind in chain) + "."


def _failing() -> list[Call]:
    """Every answer with every fault, in the order in which `chains` deals one story different faults."""
    count = len(KINDS)
    return [
        (f"turn {at}", (3 * at + number) % count)
        for at in range(1, len(STEPS) + 1)
        for number in range(count)
    ]


async def test_a_model_that_is_of_no_use_ends_at_a_person() -> None:
    async with made_quick_world(**MANY) as world:
        for title, turn in LASTING.items():
            await world.issue(title)
            world.model_will(*[turn] * 60, when=title)
        await start(world, {})
        await world.settle()
        _all_wait(await world.jobs(), LASTING)
        await _mended(world, LASTING, edit(*FIX), submit())


@pytest.mark.parametrize("title", UNAVAILABLE)
async def test_a_model_that_is_gone_for_good_is_told_and_waited_for(title: str) -> None:
    async with made_world(**MANY) as world:
        world.overrides["process"] = {"python": played(world.root, patience_s=0.2)}
        await world.issue(title)
        world.model_will(UNAVAILABLE[title], when=title)
        await start(world, {})
        await world.settle()
        _all_wait(await world.jobs(), UNAVAILABLE)
        [decision] = await world.decisions()
        assert "model" in decision.body, decision.body
        await _mended(world, UNAVAILABLE, say("Go on."))


def _all_wait(jobs: list[Job], reasons: Mapping[str, Turn]) -> None:
    waiting = {job.issue.title: (job.state, bool(job.reason)) for job in jobs}
    assert waiting == dict.fromkeys(waiting, (JobState.WAITING, True)), [job.reason for job in jobs]
    assert waiting.keys() <= reasons.keys()


async def _mended(world: World, reasons: Mapping[str, Turn], *turns: Turn) -> None:
    """The model is itself again, and a person lets every job be tried once more."""
    world.model.forget()
    for title in reasons:
        world.model_will(*turns, when=title)
    await answer_all(world)
    await world.settle()
    assert {job.state for job in await world.jobs()} == {JobState.IN_REVIEW}
    await check_world(world)
