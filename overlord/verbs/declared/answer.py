"""Answer a decision, with one of its answers or in words of your own. The first answer counts, from wherever it comes.

The text of add_budget is 500000 (tokens) or '$2'.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import ApprovalArgument, WordsArgument
from overlord.domain.conversation.decision_words import answer_in
from overlord.domain.decision import ApprovalRef
from overlord.domain.decision import Verb as DecisionVerb
from overlord.failpoints import Failpoint
from overlord.verbs.answering import answer
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Which decision, and the answer."""

    decision: Annotated[ApprovalRef | None, ApprovalArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what the answer is.",
            help="One of the answers that `decisions show` offers, and its text; else words of your own, which the next session reads.",
        ),
    ]
    named: DecisionVerb | None = None
    """The answer, where an interface knows for certain which is meant, and `words` are its text."""


def _answer(context: Context, arguments: Answer) -> Done:
    decision = context.decision(arguments.decision)
    verb, text = (
        (arguments.named, arguments.words) if arguments.named else answer_in(decision, arguments.words)
    )
    return answer(context, decision, verb, text)


VERB = Verb(
    arguments=Answer,
    act=_answer,
    space=lambda context, arguments: context.approval_space(arguments.decision),
    right=Right.WRITER,
    usage="answer 5 use the second one",
    means="answer one in words",
    position=10,
    failpoint=Failpoint.DECISION_ANSWERED,
    is_delivered=True,
)
