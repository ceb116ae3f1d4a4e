"""Proposals in the chat: who presses Approve or sends a rejection is a person, once their standing was looked at; then the verb."""

import sqlite3
from datetime import datetime
from functools import partial

from overlord.commands_proposal import ApproveProposal, RejectProposal, approve_proposal, reject_proposal
from overlord.domain.person import Person
from overlord.domain.proposal import ProposalStatus
from overlord.domain.proposal_card import APPROVE, REJECT
from overlord.errors import Refused
from overlord.store import proposals
from overlord.store.buttons import KnownButton
from overlord.store.messages import Message
from overlord.store.requests import Request


def approve(
    connection: sqlite3.Connection, number: int, *, actor: str, reason: str, digest: str | None, at: datetime
) -> str:
    """Say yes for somebody whose word counts; what became of it. Raises NotFound, Refused."""
    command = ApproveProposal(proposal_id=number, by=Person.of(actor), reason=reason, digest=digest)
    proposal = approve_proposal(connection, command, at=at)
    if proposal.is_drafted:
        return f"Proposal {proposal.name}: approved. A skill for {proposal.space} is drafted."
    if proposal.issue_number is not None:
        return f"Proposal {proposal.name}: taken up again, as {proposal.space}#{proposal.issue_number}."
    return f"Proposal {proposal.name}: approved. An issue is opened in {proposal.space}."


def reject(
    connection: sqlite3.Connection, number: int, *, actor: str, reason: str, digest: str | None, at: datetime
) -> str:
    """Say no for somebody whose word counts. Raises NotFound, Refused."""
    command = RejectProposal(proposal_id=number, by=Person.of(actor), reason=reason, digest=digest)
    proposal = reject_proposal(connection, command, at=at)
    return f"Proposal {proposal.name}: rejected. It comes back only with twice the evidence."


def pressed(
    connection: sqlite3.Connection, request: Request, button: KnownButton, message: Message, at: datetime
) -> tuple[str, partial[str]]:
    """The space of a proposal whose button was pressed, or whose form was sent, and what that does. Raises Refused."""
    proposal = proposals.get(connection, message.ref)
    verbs = {APPROVE: approve, REJECT: reject}
    if button.verb not in verbs:
        raise Refused("that button means nothing any more")
    return proposal.space, partial(
        verbs[button.verb],
        number=proposal.id,
        actor=request.actor,
        reason=request.text,
        digest=button.digest,
        at=at,
    )


def check_pending(connection: sqlite3.Connection, number: int) -> None:
    """Raises Refused for a proposal that takes no answer any more."""
    proposal = proposals.get(connection, number)
    if proposal.status is not ProposalStatus.PENDING:
        by = f", by {proposal.decided_by}" if proposal.decided_by else ""
        raise Refused(f"proposal {proposal.name} is {proposal.status} already{by}")
