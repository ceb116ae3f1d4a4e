"""Stories under two to four kills at random points, each with a seed of its own: `FAULT_SEED` begins another series."""

import os
import random

import pytest

from overlord.domain.job import JobState
from tests.faults.campaign import Campaign, under_fire
from tests.faults.cut import Cut

pytestmark = pytest.mark.timeout(1200)
RUNS, BATCH = 200, 10
FIRST = int(os.environ.get("FAULT_SEED", "1"))
WORDS = ("plain", "plain", "plain", "breaks first", "breaks always", "idle", "blocked", "check dies")
ENDS = {
    "plain": JobState.IN_REVIEW,
    "breaks first": JobState.IN_REVIEW,
    "check dies": JobState.IN_REVIEW,
    "breaks always": JobState.WAITING,
    "idle": JobState.WAITING,
    "blocked": JobState.WAITING,
}
WITHIN = (110, 60, 40, 30)
"""Within how many points of its start each daemon is killed: what is left to do gets shorter."""


@pytest.mark.parametrize("first", range(FIRST, FIRST + RUNS, BATCH))
async def test_kills_at_random_points_lose_nothing(first: int) -> None:
    async with under_fire() as told:
        for seed in range(first, first + BATCH):
            print(f"seed {seed}")
            try:
                await _run(told, random.Random(seed))
            except AssertionError as error:
                raise AssertionError(f"FAULT_SEED={first}, seed {seed}: {error}") from error
        await told.settle()
        await told.check()


async def _run(told: Campaign, chance: random.Random) -> None:
    kills = chance.randint(2, 4)
    told.cuts = [Cut(count=chance.randint(1, within)) for within in WITHIN[:kills]]
    while told.cuts:  # what a short story did not come to meets the next
        title = chance.choice(WORDS)
        issue = await told.issue(title)
        await told.settle()
        told.expect(issue, ENDS[title])
        planned, told.cuts = told.cuts, []
        await told.check()
        await told.dismiss(issue)
        told.cuts = planned
