"""Where the points are reached at which something is proposed, answered by a person, and becomes an issue."""

import contextlib
from collections.abc import Mapping

from overlord.domain.job import JobState
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.failpoints import Failpoint
from overlord.store.database import open_reader
from overlord.store.proposals import proposals
from tests.faults.campaign import Campaign
from tests.faults.story import Story
from tests.world import CALC, REPO

S = JobState


def _newest(told: Campaign) -> EnhancementProposal:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return proposals.newest(connection)[0]


def _pending(told: Campaign) -> list[EnhancementProposal]:
    with contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection:
        return [item for item in proposals.unfinished(connection) if item.status is ProposalStatus.PENDING]


async def _improved(told: Campaign) -> None:
    """A job is given up over its blocker until that is proposed; approved, it is one issue, worked on and merged."""
    while not _blocked_enough(told):
        issue = await told.issue("blocked")
        await told.settle()
        *_, decision = told.waiting()
        await told.command("decisions", "answer", str(decision), "drop", done=(0, 5))
        await told.settle()
        told.expect(issue, S.CANCELLED)
    [proposal] = _pending(told)
    told.play()
    # Whoever says yes again hears that it was said.
    await told.command("proposals", "approve", proposal.name, done=(0, 5))
    await told.settle()
    approved = _newest(told)
    assert (approved.status, approved.decided_by[:4]) == (ProposalStatus.APPROVED, "cli:"), approved
    opened = [item.number for item in told.world.forge.issues(REPO) if approved.key in item.body]
    assert opened == [approved.issue_number], f"issues {opened} were opened\n{told.log()}"
    job = told.expect(approved.issue_number or 0, S.IN_REVIEW)
    await told.world.forge.merge(REPO, job.pull_number or 0)
    await told.settle()
    assert _newest(told).status is ProposalStatus.IMPLEMENTED
    await told.world.push({"calc.py": CALC["calc.py"]})


def _blocked_enough(told: Campaign) -> bool:
    return (told.place.home / "overlord.db").exists() and bool(_pending(told))


IMPROVED = Story(name="improved", tell=_improved)

P = Failpoint
PLACES: Mapping[Failpoint, Story] = dict.fromkeys(
    (P.PROPOSALS_WEIGHED, P.PROPOSAL_DECIDED, P.PROPOSAL_ORDERED, P.PROPOSAL_DISPATCHED, P.OPEN_ISSUE),
    IMPROVED,
)
