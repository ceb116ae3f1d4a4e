"""An answer to a decision, typed or pressed: who may give it, and what is said of it."""

from overlord.domain.conversation.decision_words import OPENS, confirmation
from overlord.domain.decision import Decision, DecisionKind, Verb
from overlord.verbs import commands
from overlord.verbs.verb import Context, Done


def answer(context: Context, decision: Decision, verb: Verb, text: str) -> Done:
    """Answer a decision as it was shown. Raises Refused, NotAllowed."""
    check_eyes(context, decision, verb)
    command = commands.AnswerDecision(
        decision_id=decision.id, verb=verb, text=text, actor=context.actor, digest=context.digest
    )
    return Done(text=confirmation(commands.answer_decision(context.connection, command, at=context.at)))


def check_eyes(context: Context, decision: Decision, verb: Verb) -> None:
    """Raises NotAllowed where four eyes are asked for and somebody would allow what their own work asks."""
    is_asked = decision.kind is DecisionKind.APPROVAL or verb is Verb.GRANT
    if is_asked and decision.job_id is not None and verb in OPENS:
        context.check_eyes(decision.job_id)
