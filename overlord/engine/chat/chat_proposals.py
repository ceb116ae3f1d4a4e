"""Proposals in the chat: what a person who was recognised (`engine/chat/handle_requests.py`) presses, types or sends, as the verb it stands for."""

import sqlite3
from collections.abc import Callable
from datetime import datetime

from overlord.domain.chat.proposal_card import APPROVE, REJECT
from overlord.domain.person import Person
from overlord.domain.proposals.proposal import ProposalStatus
from overlord.errors import Refused
from overlord.store.chat.buttons import KnownButton
from overlord.store.chat.messages import Message
from overlord.store.chat.requests import Request
from overlord.store.proposals import proposals
from overlord.verbs.proposal import ApproveProposal, RejectProposal, approve_proposal, reject_proposal


def approve(
    connection: sqlite3.Connection, number: int, *, by: Person, reason: str, digest: str | None, at: datetime
) -> str:
    """Say yes for an approver; what became of it. Raises NotFound, Refused."""
    command = ApproveProposal(proposal_id=number, by=by, reason=reason, digest=digest)
    proposal = approve_proposal(connection, command, at=at)
    if proposal.is_drafted:
        return f"Proposal {proposal.name}: approved. A skill for {proposal.space} is drafted."
    if proposal.issue_number is not None:
        return f"Proposal {proposal.name}: taken up again, as {proposal.space}#{proposal.issue_number}."
    return f"Proposal {proposal.name}: approved. An issue is opened in {proposal.space}."


def reject(
    connection: sqlite3.Connection, number: int, *, by: Person, reason: str, digest: str | None, at: datetime
) -> str:
    """Say no for an approver. Raises NotFound, Refused."""
    command = RejectProposal(proposal_id=number, by=by, reason=reason, digest=digest)
    proposal = reject_proposal(connection, command, at=at)
    return f"Proposal {proposal.name}: rejected. It comes back only with twice the evidence."


def pressed(
    connection: sqlite3.Connection, request: Request, button: KnownButton, message: Message, at: datetime
) -> tuple[str, Callable[[sqlite3.Connection, Person], str]]:
    """The space of a proposal whose button was pressed, or whose form was sent, and what that does when given by a person whose
    word counts there. Raises Refused."""
    proposal = proposals.get(connection, message.ref)
    verbs = {APPROVE: approve, REJECT: reject}
    if button.verb not in verbs:
        raise Refused("that button means nothing any more")
    decide, number = verbs[button.verb], proposal.id

    def act(connection: sqlite3.Connection, by: Person) -> str:
        return decide(connection, number, by=by, reason=request.text, digest=button.digest, at=at)

    return proposal.space, act


def check_pending(connection: sqlite3.Connection, number: int) -> None:
    """Raises Refused for a proposal that takes no answer any more."""
    proposal = proposals.get(connection, number)
    if proposal.status is not ProposalStatus.PENDING:
        by = f", by {proposal.decided_by}" if proposal.decided_by else ""
        raise Refused(f"proposal {proposal.name} is {proposal.status} already{by}")
