"""A webhook was accepted: what it was about is looked at afterwards, whatever other poll of its space came in between."""

from typing import Any

from overlord.domain.job import JobState
from overlord.engine.intake import poll
from overlord.engine.runtime.hint import QUIET_S
from tests.engine.between import Instead, forge_world
from tests.engine.by_hand import SPACE, job_in_review
from tests.quick import made_quick_world
from tests.world import REPO

POLL_S = 2
"""Shorter than the space is left alone after a hint, so that an ordinary poll comes before a hint is due."""


async def test_a_check_that_failed_is_seen_by_the_ordinary_poll_that_comes_before_its_hint_is_due() -> None:
    async with made_quick_world(poll_s=POLL_S) as world:
        await world.start()
        parts, head = world.overlord.parts, (await job_in_review(world)).head_sha or ""
        parts.hints.give(SPACE)
        await poll.poll(parts, SPACE)
        assert (await world.job()).state is JobState.IN_REVIEW
        await world.forge.check_run(REPO, head, "build")
        parts.hints.give(SPACE)
        world.clock.move(POLL_S + 0.5)
        assert POLL_S + 0.5 < QUIET_S, "the hint is not due yet"
        await poll.poll(parts, SPACE)
        assert (await world.job()).state is JobState.QUEUED
        assert "ci_failed" in await world.events()


async def test_a_hint_that_comes_while_a_space_is_polled_makes_another_poll_look_at_everything() -> None:
    async with forge_world(poll_s=86_400) as (world, forge):
        parts, head = world.overlord.parts, (await job_in_review(world)).head_sha or ""

        async def fails_afterwards(real: Instead, *asked: Any, **options: Any) -> Any:
            said = await real(*asked, **options)
            forge.is_well()
            await world.forge.check_run(REPO, head, "build")
            parts.hints.give(SPACE)
            return said

        forge.instead["checks_of"] = fails_afterwards
        parts.hints.give(SPACE)
        await poll.poll(parts, SPACE)
        assert (await world.job()).state is JobState.IN_REVIEW
        world.clock.move(QUIET_S)
        await poll.poll(parts, SPACE)
        assert (await world.job()).state is JobState.QUEUED
