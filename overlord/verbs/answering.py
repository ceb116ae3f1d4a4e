"""An answer to what waits for a person, typed or pressed: who may give it, what it does, and what is said of it."""

from overlord.command_ref import CommandRef, Hint, hint
from overlord.domain.conversation.decision_words import OPENS, confirmation
from overlord.domain.decision import Audience, Decision, DecisionKind, Verb
from overlord.domain.knowledge.width import ANSWERED_BY_RULE
from overlord.verbs import commands
from overlord.verbs.proposal import approve_proposal, reject_proposal
from overlord.verbs.right import Right
from overlord.verbs.skill import approve_draft, reject_draft
from overlord.verbs.verb import Context, Done


def answer(context: Context, decision: Decision, verb: Verb, text: str) -> Done:
    """Answer a decision as it was shown. Raises Refused, NotAllowed."""
    check_eyes(context, decision, verb)
    if decision.draft_id is not None:
        return _answer_draft(context, decision.draft_id, verb, text)
    if decision.proposal_id is not None:
        return _answer_proposal(context, decision.proposal_id, verb, text)
    answered = commands.answer_decision(
        context.connection,
        decision.id,
        verb,
        actor=context.actor,
        text=text,
        digest=context.digest,
        at=context.at,
        by=context.person if decision.audience is Audience.APPROVER else None,
    )
    return Done(text=confirmation(answered), hint=_offered(context, answered))


def _offered(context: Context, answered: Decision) -> Hint | None:
    """What makes a rule of an answer, so that the question is asked no more: for who may make one."""
    if answered.subject not in ANSWERED_BY_RULE or answered.verb is not Verb.REPLY or context.by is None:
        return None
    return hint(CommandRef("rule-add", (answered.ref.label,)), " answers this always")


def right_of(decision: Decision) -> Right:
    """What whoever answers it must at least be."""
    return Right.APPROVER if decision.audience is Audience.APPROVER else Right.WRITER


def check_eyes(context: Context, decision: Decision, verb: Verb) -> None:
    """Raises NotAllowed where four eyes are asked for and somebody would allow what their own work asks."""
    is_asked = decision.kind is DecisionKind.APPROVAL or verb is Verb.GRANT
    if is_asked and decision.job_id is not None and verb in OPENS:
        context.check_eyes(decision.job_id)


def _answer_proposal(context: Context, number: int, verb: Verb, reason: str) -> Done:
    connection, by, digest, at = context.connection, context.person, context.digest, context.at
    if verb is Verb.REJECT:
        proposal = reject_proposal(connection, number, by=by, reason=reason, digest=digest, at=at)
        return Done(text=f"Proposal {proposal.name}: rejected. It comes back only with twice the evidence.")
    proposal = approve_proposal(connection, number, by=by, reason=reason, digest=digest, at=at)
    if proposal.is_drafted:
        return Done(text=f"Proposal {proposal.name}: approved. A skill for {proposal.space} is drafted.")
    if proposal.issue_number is not None:
        again = f"taken up again, as {proposal.space}#{proposal.issue_number}"
        return Done(text=f"Proposal {proposal.name}: {again}.")
    return Done(text=f"Proposal {proposal.name}: approved. An issue is opened in {proposal.space}.")


def _answer_draft(context: Context, number: int, verb: Verb, reason: str) -> Done:
    if verb is Verb.REJECT:
        draft = reject_draft(
            context.connection,
            number,
            by=context.person,
            reason=reason,
            digest=context.digest,
            at=context.at,
        )
        return Done(text=f"Draft {draft.label}: rejected.")
    draft = approve_draft(
        context.connection, number, by=context.person, reason=reason, digest=context.digest, at=context.at
    )
    return Done(text=f"Draft {draft.label}: approved. An issue is opened in {draft.space}.")
