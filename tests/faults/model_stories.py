"""Where the point is reached at which a model that cannot be used is written down, and that it answers again."""

import contextlib
from collections.abc import Mapping

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.embedded.model import Refusal
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.store.budgets import model_outages
from overlord.store.database import open_reader
from tests.faults.campaign import Campaign
from tests.faults.story import Story

S = JobState
WRONG_KEY = Refusal(status=401, message="Incorrect API key provided.", code="invalid_api_key")


async def _unusable(told: Campaign) -> None:
    """The key is refused in the middle of the work: a person is asked, puts it right, and the work goes on."""
    issue = await told.issue("plain")
    told.world.model.refusal = WRONG_KEY
    await told.settle()
    told.world.model.refusal = None
    told.expect(issue, S.WAITING)
    *_, number = told.waiting()
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        assert decisions.get(connection, number).subject is Subject.MODEL
        assert [outage.kind for outage in model_outages.every(connection)] == ["key"]
    await told.command("decisions", "answer", str(number), "retry", done=(0, 5))
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        assert model_outages.every(connection) == []
    await told.close(issue)


UNUSABLE = Story(name="unusable model", tell=_unusable)
PLACES: Mapping[Failpoint, Story] = {Failpoint.MODEL_OUTAGE_NOTED: UNUSABLE}
