"""What people read of a proposal: its issue at the forge, its card in the chat. Facts are Overlord's, everything else a quote."""

from overlord.domain.chat.card import FILL, PRESS, Place, ValueOf, cut, who
from overlord.domain.pause import name_of
from overlord.domain.proposals.proposal import EnhancementProposal, ProposalStatus, Trigger
from overlord.domain.text.plain import defused_line, last_of, quoted
from overlord.domain.view.span import Bold, Code, Span
from overlord.domain.view.view import (
    Button,
    Buttons,
    ButtonStyle,
    Heading,
    Note,
    Paragraph,
    Part,
    Quote,
    View,
)

APPROVE, REJECT = "approve", "reject"
"""What its buttons mean."""
_TITLE, _REASON, _SHOWN, _LISTED = 140, 300, 10, 20
_MARKS = {
    ProposalStatus.PENDING: "💡",
    ProposalStatus.APPROVED: "👍",
    ProposalStatus.REJECTED: "🚫",
    ProposalStatus.IMPLEMENTED: "✅",
}
_QUOTES = {
    Trigger.FAILURE: "What was held against the work",
    Trigger.SYSTEMIC: "What the review says",
    Trigger.BLOCKER: "What Minions say",
    Trigger.QUESTION: "What Minions ask",
    Trigger.SCOPE_REQUEST: "What Minions ask to write",
    Trigger.SKILL: "The skill",
}


def type_in_words(proposal: EnhancementProposal) -> str:
    """As people read it."""
    return proposal.type.replace("_", " ")


def issue_body(proposal: EnhancementProposal) -> str:
    """The text of the issue an approved proposal becomes; its last line is what it is found by."""
    shown, more = last_of([f"#{number}" for number in proposal.issues], _LISTED)
    related = ", ".join(shown) + more
    parts = [
        proposal.rationale,
        f"{_QUOTES[proposal.trigger]}:",
        quoted(proposal.sample),
    ]
    if proposal.answer:
        parts += ["What people answer:", quoted(proposal.answer)]
    parts += ["### What to do", proposal.action]
    parts.append(f"Seen at {related}. Expected impact {proposal.impact}, risk {proposal.risk}.")
    by = defused_line(name_of(proposal.decided_by))
    text = f": {defused_line(proposal.reason)}" if proposal.reason else ""
    parts.append(f"Proposal {proposal.name} of Overlord, approved by {by}{text} · {proposal.key}")
    return "\n\n".join(parts)


def proposal_card(proposal: EnhancementProposal, place: Place, value: ValueOf) -> View:
    """What is proposed, what it rests on, and the two answers: none once there is one."""
    text = f"{_MARKS[proposal.status]} Proposal {proposal.name}: {cut(proposal.title, _TITLE)}"
    parts: list[Part] = [
        Heading(text),
        Paragraph((Bold(type_in_words(proposal).capitalize()), " for ", Code(proposal.space))),
        Paragraph((proposal.rationale,)),
        Quote(cut(proposal.sample, 600)),
    ]
    if proposal.answer:
        parts += [Paragraph(("People answered:",)), Quote(cut(proposal.answer, 600))]
    parts.append(Paragraph((Bold("Proposed: "), proposal.action)))
    shown, more = last_of([str(number) for number in proposal.jobs], _SHOWN)
    jobs = ", ".join(shown) + more
    facts = f"impact {proposal.impact} · risk {proposal.risk} · seen at "
    parts.append(Paragraph((facts, *_issues(proposal, place), f" · jobs {jobs}")))
    if proposal.status is ProposalStatus.PENDING:
        return View(summary=text, parts=(*parts, _what_comes_next(proposal), _buttons(proposal, value)))
    return View(summary=text, parts=(*parts, *_outcome(proposal, place, value)))


def _issues(proposal: EnhancementProposal, place: Place) -> list[Span]:
    shown, more = last_of([str(number) for number in proposal.issues], _SHOWN)
    spans: list[Span] = []
    for number in map(int, shown):
        spans += [place.issue_at(proposal.space, number), " "]
    return [*spans[:-1], *([more] if more else [])]


def seen_at(proposal: EnhancementProposal) -> str:
    """The issues and jobs it rests on, the last of them by name."""
    issues, other_issues = last_of(proposal.related, _LISTED)
    jobs, other_jobs = last_of([str(number) for number in proposal.jobs], _LISTED)
    return f"seen at {', '.join(issues)}{other_issues} · jobs {', '.join(jobs)}{other_jobs}"


def _what_comes_next(proposal: EnhancementProposal) -> Note:
    return Note(
        "Approved, a draft of the skill is put to you here: to edit, and to approve word for word."
        if proposal.is_drafted
        else "Approved, it becomes an issue and is worked on like any other."
    )


def _buttons(proposal: EnhancementProposal, value: ValueOf) -> Buttons:
    what = (
        f"A skill for {proposal.space} is drafted."
        if proposal.is_drafted
        else f"An issue is opened in {proposal.space} and worked on."
    )
    approve = Button(
        action=PRESS,
        label="Approve",
        value=value(APPROVE, ""),
        style=ButtonStyle.PRIMARY,
        confirm=f"Approve {proposal.name}? {what}",
    )
    return Buttons((approve, Button(action=FILL, label="Reject …", value=value(REJECT, ""))))


def _outcome(proposal: EnhancementProposal, place: Place, value: ValueOf) -> list[Part]:
    verb = "Rejected" if proposal.status is ProposalStatus.REJECTED else "Approved"
    parts: list[Part] = [Paragraph(("✔️ ", Bold(verb), " · ", who(proposal.decided_by)))]
    if proposal.reason:
        parts.append(Quote(cut(proposal.reason, _REASON)))
    if proposal.issue_number is not None:
        done = "Merged: " if proposal.status is ProposalStatus.IMPLEMENTED else "Its issue: "
        parts.append(Paragraph((done, place.issue_at(proposal.space, proposal.issue_number))))
    elif proposal.is_approved and proposal.is_drafted and not proposal.rests:
        parts.append(Paragraph(("Its draft is put to you in a message of its own.",)))
    if proposal.rests:
        parts.append(Paragraph((f"It rests: {cut(proposal.note, _REASON)}",)))
        parts.append(Buttons((Button(action=PRESS, label="Take up again", value=value(APPROVE, "")),)))
    return parts
