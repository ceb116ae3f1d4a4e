"""Yes and no to what waits for a person: what `approve`, `reject` and `answer` do, typed or pressed."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import (
    ApprovalArgument,
    ApprovalKind,
    ApprovalRef,
    WordsArgument,
)
from overlord.domain.conversation.decision_words import decision_verb
from overlord.failpoints import Failpoint
from overlord.verbs.answering import answer
from overlord.verbs.proposal import ApproveProposal, RejectProposal, approve_proposal, reject_proposal
from overlord.verbs.skill import ApproveDraft, RejectDraft, approve_draft, reject_draft
from overlord.verbs.verb import Context, Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """What is approved or rejected, and why."""

    which: Annotated[ApprovalRef | None, ApprovalArgument()]
    reason: Annotated[str, WordsArgument()] = ""


def failpoint_of(arguments: Decide) -> Failpoint:
    """Where a command line can be stopped after it."""
    points = {
        ApprovalKind.PROPOSAL: Failpoint.PROPOSAL_DECIDED,
        ApprovalKind.DRAFT: Failpoint.DRAFT_DECIDED,
    }
    kind = arguments.which.kind if arguments.which is not None else ApprovalKind.DECISION
    return points.get(kind, Failpoint.DECISION_ANSWERED)


def approve(context: Context, arguments: Decide) -> Done:
    """Raises NotFound, Refused, NotAllowed."""
    which, reason = arguments.which, arguments.reason
    if which is not None and which.kind is ApprovalKind.PROPOSAL:
        wanted = ApproveProposal(
            proposal_id=which.number, by=context.person, reason=reason, digest=context.digest
        )
        proposal = approve_proposal(context.connection, wanted, at=context.at)
        if proposal.is_drafted:
            return Done(text=f"Proposal {proposal.name}: approved. A skill for {proposal.space} is drafted.")
        if proposal.issue_number is not None:
            again = f"taken up again, as {proposal.space}#{proposal.issue_number}"
            return Done(text=f"Proposal {proposal.name}: {again}.")
        return Done(text=f"Proposal {proposal.name}: approved. An issue is opened in {proposal.space}.")
    if which is not None and which.kind is ApprovalKind.DRAFT:
        command = ApproveDraft(draft_id=which.number, by=context.person, reason=reason, digest=context.digest)
        draft = approve_draft(context.connection, command, at=context.at)
        return Done(text=f"Draft {draft.label}: approved. An issue is opened in {draft.space}.")
    decision = context.decision(which)
    return answer(context, decision, decision_verb(decision, approves=True), reason)


def reject(context: Context, arguments: Decide) -> Done:
    """Raises NotFound, Refused, NotAllowed."""
    which, reason = arguments.which, arguments.reason
    if which is not None and which.kind is ApprovalKind.PROPOSAL:
        refused = RejectProposal(
            proposal_id=which.number, by=context.person, reason=reason, digest=context.digest
        )
        proposal = reject_proposal(context.connection, refused, at=context.at)
        return Done(text=f"Proposal {proposal.name}: rejected. It comes back only with twice the evidence.")
    if which is not None and which.kind is ApprovalKind.DRAFT:
        command = RejectDraft(draft_id=which.number, by=context.person, reason=reason, digest=context.digest)
        return Done(text=f"Draft {reject_draft(context.connection, command, at=context.at).label}: rejected.")
    decision = context.decision(which)
    return answer(context, decision, decision_verb(decision, approves=False), reason)
