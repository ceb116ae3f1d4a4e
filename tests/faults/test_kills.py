"""Kill -9 at every commit and every outward act, before and after it, and again during the recovery: nothing is lost or done twice."""

import random
import zlib

import pytest

from overlord.domain.job import JobState
from overlord.points import Moment, Point
from tests.faults.campaign import under_fire
from tests.faults.cut import Cut
from tests.faults.stories import PLACES

RECOVERY = 12
"""Within how many points of its start the daemon that comes after is killed too."""


def test_every_point_has_its_place() -> None:
    assert set(Point) - set(PLACES) == set()


@pytest.mark.parametrize("point", PLACES)
async def test_a_daemon_killed_at_a_point_loses_nothing(point: Point) -> None:
    story = PLACES[point]
    recovery = random.Random(zlib.crc32(point.encode()))
    async with under_fire(dict(story.files), **story.settings) as told:
        told.refused = story.refused
        for moment in Moment:
            told.cuts = [Cut(point=point, moment=moment), Cut(count=recovery.randint(1, RECOVERY))]
            told.world.clock.move(
                60
            )  # the forge's clock: what is done in this story is later than in the last
            wanted = f"{story.name}, cut off {', then '.join(map(str, told.cuts))}"
            try:
                await story.tell(told)
                assert len(told.cuts) < 2, "the point was never reached"
                told.cuts = []
                if story.is_checked:
                    await told.check()
            except AssertionError as error:
                raise AssertionError(f"{wanted}: {error}") from error


async def test_a_push_that_was_not_noted_does_not_stand_in_the_way_of_the_next() -> None:
    async with under_fire() as told:
        for again in ((), (Point.PUSH_ORDERED,), (Point.PUSH,)):
            told.cuts = [Cut(point=point, moment=Moment.AFTER) for point in (Point.PUSH, *again)]
            issue = await told.issue("breaks first")
            await told.settle()
            assert not told.cuts
            assert told.expect(issue, JobState.IN_REVIEW).revision == 1
            await told.check()


async def test_a_draft_that_was_not_noted_is_found_again_though_its_work_did_not_pass() -> None:
    async with under_fire() as told:
        told.cuts = [Cut(point=Point.OPEN_PULL, moment=Moment.AFTER)]
        issue = await told.issue("breaks always")
        await told.settle()
        assert not told.cuts
        assert told.expect(issue, JobState.WAITING).pull_number is not None
        await told.check()
