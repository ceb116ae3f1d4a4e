"""Kill -9 at every commit and every outward act, before and after it, and again during the recovery: nothing is lost or done twice.

A story is told in chains: one telling serves several cuts, far from each other. `FAULT_TOGETHER=1` tries each alone, and
`FAULT_POINTS` names those that are tried, if not all.
"""

import os
import random
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pytest

from overlord.domain.job import JobState
from overlord.failpoints import Failpoint, Moment
from tests.faults.campaign import under_fire
from tests.faults.cut import Cut, Cuts
from tests.faults.stories import PLACES
from tests.faults.story import Story

pytestmark = pytest.mark.timeout(1200)
TOGETHER = int(os.environ.get("FAULT_TOGETHER", "12"))
"""How many cuts one telling serves; the recovery from each is cut off too."""
POINTS = [Failpoint(name) for name in os.environ.get("FAULT_POINTS", "").split()] or list(PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A story, and the cuts that one telling of it is to serve."""

    story: Story
    number: int
    cuts: Cuts

    def __str__(self) -> str:
        return f"{self.story.name}-{self.number}"


def _chains(points: Collection[Failpoint]) -> Iterator[Chain]:
    """Neighbours in a story are in different chains where it has several, what is before a point and what is after it too: between
    two cuts there is as much of the story as there can be."""
    for story in {PLACES[point].name: PLACES[point] for point in points}.values():
        mine = [point for point in points if PLACES[point].name == story.name]
        cuts = tuple(Cut(point=point, moment=moment) for point in mine for moment in Moment)
        count = -(-len(cuts) // TOGETHER)
        for number in range(count):
            yield Chain(story=story, number=number + 1, cuts=cuts[number::count])


CHAINS = list(_chains(POINTS))


def test_every_point_has_its_place() -> None:
    assert set(Failpoint) - set(PLACES) == set()


def test_every_point_is_in_a_chain_on_both_sides() -> None:
    tried = [(cut.point, cut.moment) for chain in _chains(list(Failpoint)) for cut in chain.cuts]
    assert sorted(tried) == sorted((point, moment) for point in Failpoint for moment in Moment)


@pytest.mark.parametrize("chain", CHAINS, ids=str)
async def test_a_daemon_killed_at_its_points_loses_nothing(chain: Chain) -> None:
    story = chain.story
    async with under_fire(dict(story.files), **story.settings) as told:
        told.refused, told.chain = story.refused, list(chain.cuts)
        told.chance = random.Random(zlib.crc32(str(chain).encode()))
        while told.chain:
            left = len(told.chain)
            told.world.clock.move(
                60
            )  # the forge's clock: what is done in this story is later than in the last
            try:
                await story.tell(told)
                assert len(told.chain) < left, f"never reached: {', '.join(map(str, told.chain))}"
                told.chain, rest, told.cuts = [], told.chain, []
                if story.is_checked:
                    await told.check()
                told.chain = rest
            except AssertionError as error:
                wanted = ", ".join(map(str, chain.cuts))
                raise AssertionError(f"{chain}, cut off {wanted}: {error}") from error


async def test_a_push_that_was_not_noted_does_not_stand_in_the_way_of_the_next() -> None:
    async with under_fire() as told:
        for again in ((), (Failpoint.PUSH_ORDERED,), (Failpoint.PUSH,)):
            told.cuts = [Cut(point=point, moment=Moment.AFTER) for point in (Failpoint.PUSH, *again)]
            issue = await told.issue("breaks first")
            await told.settle()
            assert not told.cuts
            assert told.expect(issue, JobState.IN_REVIEW).revision == 1
            await told.check()


async def test_a_draft_that_was_not_noted_is_found_again_though_its_work_did_not_pass() -> None:
    async with under_fire() as told:
        told.cuts = [Cut(point=Failpoint.OPEN_PULL, moment=Moment.AFTER)]
        issue = await told.issue("breaks always")
        await told.settle()
        assert not told.cuts
        assert told.expect(issue, JobState.WAITING).pull_number is not None
        await told.check()
