"""Have an initiative planned, or planned anew: a lead looks whether its plan still holds, and a person approves what it proposes.

What is under way goes on by the plan that was approved.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.plan import plan_anew
from overlord.verbs.portfolio import space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativePlan:
    """Which one, and why."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]
    reason: Annotated[str, WordsArgument(help="Why; the lead reads it.")] = ""


def _plan(context: Context, arguments: InitiativePlan) -> Done:
    planned = plan_anew(
        context.connection,
        context.initiative(arguments.initiative),
        actor=context.actor,
        words=arguments.reason,
        at=context.at,
    )
    return Done(text=f"A lead plans {planned.ref}. You are asked once its plan is ready.")


VERB = Verb(
    arguments=InitiativePlan,
    act=_plan,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage="initiative-plan i3 the API changed",
    means="have an initiative planned, or planned anew",
    position=40,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    terminal="initiatives plan",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
