"""Kill -9 all along the calls of another agent, and where a call has kept something outside of the row of its result already."""

import os
import random

import pytest

from overlord.failpoints import Failpoint, Moment
from tests.faults.call_stories import CALLED
from tests.faults.campaign import under_fire
from tests.faults.cut import Cut

pytestmark = pytest.mark.timeout(1200)
SEEDS = range(int(os.environ.get("FAULT_CALL_SEEDS", "2")))
FAR = 60
"""Within how many points of its start a daemon is killed."""
KEPT = (
    Cut(point=Failpoint.KEEP_TRAINING_DATA, moment=Moment.AFTER, count=2),
    Cut(point=Failpoint.KEEP_COMMIT, moment=Moment.AFTER),
)
"""Behind the record itself, whose note is the first; behind the commit of a change."""


async def test_what_a_call_has_kept_already_is_kept_once() -> None:
    async with under_fire(dict(CALLED.files), **CALLED.settings) as told:
        told.chain = list(KEPT)
        await CALLED.tell(told)
        assert not told.chain, f"never reached: {told.chain}"
        told.cuts = []
        await told.check()


@pytest.mark.parametrize("seed", SEEDS)
async def test_calls_that_are_killed_along_their_way_end_the_same(seed: int) -> None:
    chance = random.Random(seed)
    async with under_fire(dict(CALLED.files), **CALLED.settings) as told:
        told.cuts = [Cut(count=chance.randint(1, FAR)) for _ in range(12)]
        await CALLED.tell(told)
        assert len(told.cuts) < 12, "nothing was cut off"
        told.cuts = []
        await told.check()
