"""A job of `init` comes to the same end wherever its daemon is killed: at each of its moves, and all along its way.

`FAULT_SEED` begins another series of places.
"""

import os
import random

import pytest

from overlord.failpoints import Moment
from tests.faults.campaign import under_fire
from tests.faults.cut import Cut
from tests.faults.init_stories import INITIALIZED, MOVES

pytestmark = pytest.mark.timeout(1200)
FIRST = int(os.environ.get("FAULT_SEED", "1"))
RUNS = 3
KILLS, WITHIN = 60, 40
"""How often a daemon is killed in one telling, and within how many points of its start: a telling has some hundred."""


@pytest.mark.parametrize("moment", Moment)
async def test_a_job_of_init_that_is_killed_at_each_of_its_moves_comes_to_the_same_end(
    moment: Moment,
) -> None:
    async with under_fire(dict(INITIALIZED.files)) as told:
        told.chain = [Cut(point=point, moment=moment) for point in MOVES]
        await INITIALIZED.tell(told)
        assert not told.chain, f"never reached: {', '.join(map(str, told.chain))}"
        told.cuts = []
        await told.check()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + RUNS))
async def test_a_job_of_init_that_is_killed_all_along_comes_to_the_same_end(seed: int) -> None:
    chance = random.Random(seed)
    async with under_fire(dict(INITIALIZED.files)) as told:
        told.cuts = [Cut(count=chance.randint(1, WITHIN)) for _ in range(KILLS)]
        await INITIALIZED.tell(told)
        assert len(told.cuts) < KILLS, "it was never killed"
        print(f"killed {KILLS - len(told.cuts)} times")
        told.cuts = []
        await told.check()


async def test_a_job_of_init_that_nobody_kills_comes_to_the_end_that_is_expected() -> None:
    async with under_fire(dict(INITIALIZED.files)) as told:
        await INITIALIZED.tell(told)
        await told.check()
