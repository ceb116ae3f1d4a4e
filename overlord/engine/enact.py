"""An approved proposal becomes an issue, once, and a wish that it is worked on: what people do with any other issue holds for it.

It is looked for before it is opened again, by a key that nobody can know before it is there.
"""

import sqlite3
from datetime import timedelta

from overlord.commands_proposal import wish_for
from overlord.domain.proposal import EnhancementProposal
from overlord.domain.proposal_card import issue_body
from overlord.domain.text import defused_line
from overlord.engine.parts import Parts
from overlord.errors import ForgeMissing, ForgeRefused, Refused
from overlord.points import Point
from overlord.ports import RepositoryName
from overlord.store import proposals

LOOKS_BACK = timedelta(minutes=10)
"""Before an issue was ordered: the forge's clock is another one."""


async def step(parts: Parts, number: int) -> bool:
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
            Point.PROPOSAL_DISPATCHED, lambda c: _dispatched(c, parts, proposal, issue)
        )
        parts.ring()
    return True


async def _issue(parts: Parts, proposal: EnhancementProposal) -> int:
    name = RepositoryName(proposal.space)
    if name not in parts.settings.repositories:
        raise ForgeRefused(f"{name} is not in Overlord's care any more")
    found = await _found(parts, proposal)
    if found is not None:
        return found
    at = parts.clock.now()
    if proposal.ordered_at is None:
        await parts.database.write(Point.PROPOSAL_ORDERED, lambda c: proposals.order(c, proposal, at=at))
    return await parts.forge.open_issue(name, title=proposal.title, body=issue_body(proposal))


async def _found(parts: Parts, proposal: EnhancementProposal) -> int | None:
    """The issue that was opened and not noted."""
    if proposal.ordered_at is None:
        return None
    since = proposal.ordered_at - LOOKS_BACK
    states = await parts.forge.issues_since(RepositoryName(proposal.space), since)
    return next((state.issue.number for state in states if proposal.key in state.issue.body), None)


async def _rest(parts: Parts, proposal: EnhancementProposal, note: str) -> None:
    at = parts.clock.now()
    await parts.database.write(
        Point.PROPOSAL_DISPATCHED, lambda c: proposals.rest(c, proposal, note[:300], at=at)
    )


def _dispatched(
    connection: sqlite3.Connection, parts: Parts, proposal: EnhancementProposal, number: int
) -> None:
    at = parts.clock.now()
    known = proposals.dispatched(connection, proposal, issue_number=number, at=at)
    if not known.is_worked:
        return
    try:
        wish_for(connection, known, at=at)
    except Refused as error:
        proposals.rest(connection, known, f"its issue was not taken up: {error}", at=at)
