"""Have an initiative planned, or planned anew: a lead looks whether its plan still holds, and a person approves what it proposes.

What is under way goes on by the plan that was approved.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.portfolio_argument import InitiativeArgument
from overlord.failpoints import Failpoint
from overlord.store.portfolio import initiatives
from overlord.verbs.plan import plan_anew
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativePlan:
    """Which one, and why."""

    initiative: Annotated[str, InitiativeArgument()]
    words: Annotated[str, WordsArgument(option="reason", help="Why; the lead reads it.")] = ""


def _plan(context: Context, arguments: InitiativePlan) -> Done:
    planned = plan_anew(
        context.connection,
        arguments.initiative,
        actor=context.actor,
        words=arguments.words,
        at=context.at,
    )
    return Done(text=f"A lead plans {planned.ref}. You are asked once its plan is ready.")


VERB = Verb(
    arguments=InitiativePlan,
    act=_plan,
    space=lambda context, arguments: initiatives.named(context.connection, arguments.initiative).space,
    right=Right.WRITER,
    usage="initiative-plan i3 the API changed",
    means="have an initiative planned, or planned anew",
    position=40,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    terminal="initiative plan",
    has_runs=False,
)
