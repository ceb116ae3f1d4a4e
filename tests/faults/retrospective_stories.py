"""Where the point is reached at which a job that is over is looked back on: once, whatever is cut off."""

import contextlib
import json
from collections.abc import Mapping

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import NoteState
from overlord.embedded.play import say
from overlord.embedded.reviewer import RETROSPECTIVE
from overlord.failpoints import Failpoint
from overlord.store import ledger
from overlord.store.database import open_reader
from overlord.store.knowledge import notes, retrospectives
from tests.faults.campaign import Campaign
from tests.faults.story import Story
from tests.world import CALC, REPO

TURNS = 5
"""No job moves while one is looked back on, so a daemon may be let go before that is done."""
LESSON = {"kind": "convention", "text": "Sums are checked by hand.", "question": "", "evidence": ["f1"]}


async def _looked_back(told: Campaign) -> None:
    """Work that had to be revised is merged, and looked back on: one fact of it, and its notes are there once."""
    issue = await told.issue("breaks first")
    told.world.model_will(say(json.dumps({"notes": [LESSON]})), when=RETROSPECTIVE)
    await told.settle()
    job = told.expect(issue, JobState.IN_REVIEW)
    await told.world.forge.merge(REPO, job.pull_number or 0)
    await told.settle()
    told.expect(issue, JobState.COMPLETED)
    for _ in range(TURNS):
        if EventName.RETROSPECTIVE_WRITTEN not in told.events(issue):
            await told.settle()
    assert told.events(issue).count(EventName.RETROSPECTIVE_WRITTEN) == 1, told.log()
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        found, drafts = retrospectives.get(connection, job.id), notes.of_job(connection, job.id)
        fact = ledger.last(connection, job.id, EventName.RETROSPECTIVE_WRITTEN) or {}
    assert found.is_done
    assert [note.ref for note in drafts] == list(found.notes) == fact["refs"], told.log()
    assert {note.state for note in drafts} <= {NoteState.DRAFT}
    await told.world.push({"calc.py": CALC["calc.py"]})


LOOKED_BACK = Story(name="looked-back", tell=_looked_back, settings={"portfolio": {"retrospectives": True}})
PLACES: Mapping[Failpoint, Story] = {Failpoint.RETROSPECTIVE_NOTED: LOOKED_BACK}
