"""One proposal, with what it rests on."""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import actions_of, facts, words
from overlord.domain.chat.proposal_card import seen_at, type_in_words
from overlord.domain.conversation.argument import ApprovalArgument
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision, DecisionState
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus
from overlord.domain.view.span import Bold, Code, Command, Issue
from overlord.domain.view.view import Actions, Heading, Paragraph, Part, Quote, View
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.proposals import proposals


@dataclass(frozen=True, slots=True, kw_only=True)
class OfProposal:
    """A proposal."""

    number: Annotated[ApprovalRef | None, ApprovalArgument(kinds=frozenset({ApprovalKind.PROPOSAL}))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProposal:
    """A proposal, what an answer to it is bound to, and the decision that takes one."""

    proposal: EnhancementProposal
    digest: str
    decision: Decision


def _read(look: Look, arguments: OfProposal) -> ShownProposal:
    decision = look.decision(arguments.number)
    proposal = proposals.get(look.connection, decision.proposal_id or 0)
    return ShownProposal(proposal=proposal, digest=proposal.digest, decision=decision)


def _view(_look: Look, shown: ShownProposal) -> View:
    proposal = shown.proposal
    text = f"Proposal {proposal.name}, {proposal.status}: {words(proposal.title)}"
    what = f" for {proposal.space} · impact {proposal.impact} · risk {proposal.risk}"
    parts: list[Part] = [
        Heading(text),
        Paragraph((Bold(type_in_words(proposal)), what)),
        Paragraph((proposal.rationale,)),
        Quote(words(proposal.sample, 600)),
    ]
    if proposal.answer:
        parts += [Paragraph(("People answered:",)), Quote(words(proposal.answer, 600))]
    parts += [Paragraph((Bold("Proposed: "), proposal.action)), Paragraph((seen_at(proposal),))]
    if proposal.decided_by:
        verb = "rejected" if proposal.status is ProposalStatus.REJECTED else "approved"
        reason = f": {words(proposal.reason, 500)}" if proposal.reason else ""
        parts.append(Paragraph((f"{verb} by {words(proposal.decided_by)}{reason}",)))
    if proposal.issue_number is not None:
        parts.append(Paragraph(("its issue is ", Issue(proposal.space, proposal.issue_number))))
    elif proposal.is_approved and proposal.is_drafted and not proposal.rests:
        parts.append(Paragraph(("its draft is among ", Command(CommandRef("drafts")))))
    if proposal.rests:
        parts.append(Paragraph((f"it rests: {words(proposal.note, 300)}",)))
    if shown.decision.state is DecisionState.OPEN:
        parts.append(Actions(actions_of(shown.decision)))
    parts.append(facts(("shown as", (Code(shown.digest),))))
    return View(summary=text, parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfProposal,
    usage="proposal p3",
    means="one proposal, with what it rests on",
    position=13,
    terminal="proposals show",
)
