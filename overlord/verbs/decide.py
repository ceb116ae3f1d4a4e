"""Yes and no to what waits for a person: what `approve`, `reject` and `answer` do, typed or pressed."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import ApprovalArgument, WordsArgument
from overlord.domain.conversation.decision_words import decision_verb
from overlord.domain.decision import ApprovalKind, ApprovalRef
from overlord.failpoints import Failpoint
from overlord.verbs.answering import answer
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
    return _decide(context, arguments, approves=True)


def reject(context: Context, arguments: Decide) -> Done:
    """Raises NotFound, Refused, NotAllowed."""
    return _decide(context, arguments, approves=False)


def _decide(context: Context, arguments: Decide, *, approves: bool) -> Done:
    decision = context.decision(arguments.which)
    return answer(context, decision, decision_verb(decision, approves=approves), arguments.reason)
