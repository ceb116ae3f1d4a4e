"""Where the points are reached at which a skill is drafted, approved by a person, and becomes an issue."""

import contextlib
from collections.abc import Mapping

from overlord.domain.job import JobState
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.domain.skills.draft import DraftState, SkillDraft
from overlord.embedded.play import say
from overlord.embedded.reviewer import REVIEW
from overlord.failpoints import Failpoint
from overlord.store.database import open_reader
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from tests.drafting import DRAFTING, finding, review, skill
from tests.faults.campaign import Campaign
from tests.faults.story import Story
from tests.world import REPO

S = JobState


def _pending(told: Campaign) -> list[EnhancementProposal]:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return [item for item in proposals.unfinished(connection) if item.status is ProposalStatus.PENDING]


def _newest(told: Campaign) -> SkillDraft:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return drafts.newest(connection)[0]


async def _evolved(told: Campaign) -> None:
    """What a review calls systemic is drafted as a skill, once; approved, it is one issue, and merged it is compared with base."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(len(told.world.forge.issues(REPO))))
    lesson = {**finding(f"Nobody says {word}."), "rule": "readability", "systemic": True}
    told.world.model_will(review(lesson), when=REVIEW)
    issue = await told.issue("plain")
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    [proposal] = _pending(told)
    told.world.model_will(say(skill(f"say-{word}")), when=DRAFTING)
    await told.command("proposals", "approve", proposal.name, done=(0, 5))
    await told.settle()
    waits = _newest(told)
    assert (waits.state, waits.proposal_id) == (DraftState.WAITING, proposal.id), told.log()
    told.play()
    # Whoever says yes again hears that it was said.
    await told.command("skills", "approve", waits.label, done=(0, 5))
    await told.settle()
    worked = _newest(told)
    assert (worked.id, worked.state) == (waits.id, DraftState.IN_REVIEW), told.log()
    opened = [item.number for item in told.world.forge.issues(REPO) if worked.key in item.body]
    assert opened == [worked.issue_number], told.log()
    job = told.expect(opened[0], S.IN_REVIEW)
    await told.world.forge.merge(REPO, job.pull_number or 0)
    await told.settle()
    merged = _newest(told)
    assert (merged.state, merged.note) == (DraftState.DEPLOYED, ""), told.log()
    await told.close(issue)


EVOLVED = Story(name="evolved", tell=_evolved, settings={"checks": {"review": True}})

P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (
        *(P.DRAFT_PREPARED, P.DRAFT_WRITTEN, P.DRAFT_CHECKED),
        *(P.DRAFT_DECIDED, P.DRAFT_ORDERED, P.DRAFT_DISPATCHED, P.DRAFT_COMPARED),
    ),
    EVOLVED,
)
