"""Give an initiative up: tasks that nobody works on end with it."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import cancel_initiative, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeCancel:
    """Which initiative, and why."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]
    reason: Annotated[str, WordsArgument()] = ""


def _act(context: Context, arguments: InitiativeCancel) -> Done:
    return cancel_initiative(context, arguments.initiative, arguments.reason)


VERB = Verb(
    arguments=InitiativeCancel,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage="initiative-cancel i3",
    means="give an initiative up",
    position=35,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    is_destructive=True,
    terminal="initiatives cancel",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
