"""An answer to what waits for a person, typed or pressed: who may give it, what it does, and what is said of it."""

from overlord.command_ref import CommandRef, Hint, hint
from overlord.domain.conversation.decision_words import OPENS, confirmation
from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.job import JobId
from overlord.domain.knowledge.width import ANSWERED_BY_RULE
from overlord.errors import Refused
from overlord.store.portfolio import escalations, initiatives, plan_approval, tasks
from overlord.verbs import commands
from overlord.verbs.proposal import approve_proposal, reject_proposal
from overlord.verbs.right import Right
from overlord.verbs.skill import approve_draft, reject_draft
from overlord.verbs.verb import Context, Done


def answer(context: Context, decision: Decision, verb: Verb, text: str) -> Done:
    """Answer a decision as it was shown. Raises Refused, NotAllowed."""
    commands.check_machine(decision, verb, context.interface)
    check_eyes(context, decision, verb)
    if decision.draft_id is not None:
        return _answer_draft(context, decision.draft_id, verb, text)
    _check_as_shown(context, decision, verb)
    if decision.proposal_id is not None:
        return _answer_proposal(context, decision.proposal_id, verb, text)
    answered = commands.answer_decision(
        context.connection,
        decision.id,
        verb,
        actor=context.actor,
        interface=context.interface,
        text=text,
        digest=context.digest,
        at=context.at,
        by=context.person if decision.audience is Audience.APPROVER else None,
    )
    return Done(text=confirmation(answered), hint=_offered(context, answered))


def _check_as_shown(context: Context, decision: Decision, verb: Verb) -> None:
    """Raises Refused for a plan that somebody edited since it was shown: what is approved is what was read."""
    is_gate = decision.subject is Subject.GATE and verb is Verb.APPROVE
    if (
        is_gate
        and decision.job_id is not None
        and not plan_approval.is_as_shown(context.connection, decision.job_id)
    ):
        raise Refused(
            "the plan was edited since it was shown; you are asked again in a moment, with what it says now"
        )


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
    if not is_asked or verb not in OPENS:
        return
    job_id = decision.job_id
    if decision.subject is Subject.ESCALATED:
        escalation = escalations.of_decision(context.connection, decision.id)
        job_id = JobId(escalation.job_id) if escalation is not None and escalation.job_id else None
    if job_id is not None:
        context.check_eyes(job_id)
    elif decision.subject is Subject.DISCOVERED_TASK:
        task = tasks.named(context.connection, decision.about)
        of = initiatives.get(context.connection, task.initiative_id)
        context.check_eyes_of(decision.space, {task.created_by, of.actor})


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
