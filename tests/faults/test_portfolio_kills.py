"""Kill -9 all along a goal's way to merged work: whatever is cut off, each task is one issue and one merge, and nothing is asked twice.

Its points themselves, before and after each, are tried by `test_kills.py`.
"""

import os
import random

import pytest

from tests.faults.campaign import under_fire
from tests.faults.cut import Cut
from tests.faults.portfolio_stories import WORKED_OFF

pytestmark = pytest.mark.timeout(1200)
SEEDS = range(int(os.environ.get("FAULT_PORTFOLIO_SEEDS", "4")))
FAR = 120
"""Within how many points of its start a daemon is killed."""


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_portfolio_killed_along_its_way_ends_the_same(seed: int) -> None:
    chance = random.Random(seed)
    async with under_fire(dict(WORKED_OFF.files), **WORKED_OFF.settings) as told:
        told.cuts = [Cut(count=chance.randint(1, FAR)) for _ in range(12)]
        await WORKED_OFF.tell(told)
        assert len(told.cuts) < 12, "nothing was cut off"
        told.cuts = []
        await told.check()
