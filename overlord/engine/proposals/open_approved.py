"""An approved proposal becomes an issue, once, and a request that it is worked on: what people do with any other issue holds for it."""

import sqlite3

from overlord.domain.chat.proposal_card import issue_body
from overlord.domain.proposals.proposal import EnhancementProposal
from overlord.domain.text.plain import defused_line
from overlord.engine.issues.open_issue import opened
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, Refused
from overlord.failpoints import Failpoint
from overlord.store.proposals import proposals
from overlord.verbs.proposal import work_request_for


async def step(parts: Parts, number: int) -> Progress:
    """Open an approved proposal's issue, and note it. Raises ForgeUnavailable."""
    proposal = await parts.database.read(lambda c: proposals.get(c, number))
    try:
        issue = await _issue(parts, proposal)
    except ForgeMissing:
        await _rest(parts, proposal, "its repository cannot be found, or Overlord may not see it")
    except ForgeRefused as error:
        await _rest(parts, proposal, f"its issue cannot be opened: {defused_line(str(error))}")
    else:
        await parts.database.write(
            Failpoint.PROPOSAL_DISPATCHED, lambda c: _dispatched(c, parts, proposal, issue)
        )
        parts.notify()
    return Progress.MOVED


async def _issue(parts: Parts, proposal: EnhancementProposal) -> int:
    async def order() -> None:
        at = parts.clock.now()
        await parts.database.write(Failpoint.PROPOSAL_ORDERED, lambda c: proposals.order(c, proposal, at=at))

    return await opened(
        parts,
        proposal.space,
        title=proposal.title,
        body=issue_body(proposal),
        key=proposal.key,
        ordered_at=proposal.ordered_at,
        order=order,
    )


async def _rest(parts: Parts, proposal: EnhancementProposal, note: str) -> None:
    at = parts.clock.now()
    await parts.database.write(
        Failpoint.PROPOSAL_DISPATCHED, lambda c: proposals.rest(c, proposal, note[:300], at=at)
    )


def _dispatched(
    connection: sqlite3.Connection, parts: Parts, proposal: EnhancementProposal, number: int
) -> None:
    at = parts.clock.now()
    known = proposals.dispatched(connection, proposal, issue_number=number, at=at)
    try:
        work_request_for(connection, known, at=at)
    except Refused as error:
        proposals.rest(connection, known, f"its issue was not taken up: {error}", at=at)
