"""Where the points are reached at which people say something to a Minion that works, and are told that it has read it."""

import contextlib
from collections.abc import Mapping

from overlord.domain.conversation.steering import SteeringMessage
from overlord.domain.job import JobState as S
from overlord.failpoints import Failpoint
from overlord.store.conversation import steering
from overlord.store.database import open_reader
from tests.faults.campaign import Campaign
from tests.faults.story import Story
from tests.world import REPO

MARK = "<!-- overlord:message"


def _said(told: Campaign, job: int) -> list[SteeringMessage]:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return steering.of_job(connection, job)


async def _steered(told: Campaign) -> None:
    """Somebody types a message and another writes a comment while a session works: both are read, the comment is replied to once."""
    issue = await told.issue("holds and reads")
    await told.until_holding()
    await told.command("message", str(told.job(issue).id), "use tabs", "--wait", "0", done=(0,))
    await told.world.forge.comment(REPO, issue, "/overlord message and say so")
    await told.until_holding()
    (told.world.root / "go").touch()
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    said = _said(told, told.job(issue).id)
    assert {item.text for item in said} == {"use tabs", "and say so"}, told.log()
    replies = [item.body for item in told.world.forge.comments(REPO, issue) if MARK in item.body]
    [commented] = [item for item in said if item.comment_id is not None]
    assert commented.is_told and len(replies) == 1, f"{replies}\n{told.log()}"
    assert told.events(issue).count("message_posted") == len(said)
    (told.world.root / "go").unlink()
    await told.close(issue)


STEERED = Story(name="steered", tell=_steered)
P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (P.STEERING_SENT, P.STEERING_READ, P.STEERING_TOLD), STEERED
)
