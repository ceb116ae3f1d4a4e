"""The verbs of `verbs/commands.py` that are about proposals. What they write down takes a `Person`: no text and no program can approve."""

import sqlite3
from dataclasses import replace
from datetime import datetime

from overlord.domain.person import Person
from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.skills.draft import wanted_of
from overlord.domain.text.plain import plain_line
from overlord.store.proposals import proposals
from overlord.store.skills import drafts
from overlord.verbs.commands import work_on

MOST_REASON = 500
"""Characters of why a proposal was approved or rejected."""


def approve_proposal(
    connection: sqlite3.Connection,
    proposal_id: int,
    *,
    by: Person,
    reason: str = "",
    digest: str | None = None,
    at: datetime,
) -> EnhancementProposal:
    """Have an enhancement that Overlord proposes made: an issue is opened for it and worked on; a skill is drafted first. Of one
    that is approved and rests, take it up again.

    `digest` is that of what the person was shown; without one, what stands now counts as shown. Raises NotFound; Refused when it
    was decided before and does not rest, or is another one than was shown.
    """
    proposal = proposals.get(connection, proposal_id)
    reason = plain_line(reason[:1000], limit=MOST_REASON)
    approved = proposals.approve(connection, proposal, by=by, reason=reason, at=at, digest=digest)
    if approved.is_drafted:
        _have_drafted(connection, approved, by, at=at)
    elif approved.issue_number is not None:  # it rested
        work_request_for(connection, replace(approved, decided_by=by.actor), at=at)
    return proposals.get(connection, proposal.id)


def _have_drafted(
    connection: sqlite3.Connection, proposal: EnhancementProposal, by: Person, *, at: datetime
) -> None:
    """Have what it asks for written down as a draft, for a person to see."""
    kind, name = wanted_of(proposal)
    drafts.request(
        connection,
        space=proposal.space,
        kind=kind,
        by=by,
        at=at,
        name=name,
        reason=proposal.reason,
        proposal_id=proposal.id,
    )


def work_request_for(connection: sqlite3.Connection, proposal: EnhancementProposal, *, at: datetime) -> None:
    """Ask for work on an approved proposal's issue, as the person who approved it. Raises Refused as `work_on` does."""
    assert proposal.issue_number is not None, "an issue is opened first"
    asked = work_on(connection, proposal.space, proposal.issue_number, actor=proposal.decided_by, at=at)
    proposals.wished(connection, proposal, asked.id)


def reject_proposal(
    connection: sqlite3.Connection,
    proposal_id: int,
    *,
    by: Person,
    reason: str = "",
    digest: str | None = None,
    at: datetime,
) -> EnhancementProposal:
    """Say no to an enhancement; it comes back only when there is twice as much evidence for it.

    `digest` is as in `approve_proposal`. Raises NotFound; Refused when it was decided before, or is another one than was shown.
    """
    proposal = proposals.get(connection, proposal_id)
    reason = plain_line(reason[:1000], limit=MOST_REASON)
    return proposals.reject(connection, proposal, by=by, reason=reason, at=at, digest=digest)
