"""Let an initiative rest: what runs goes on, nothing of it is begun."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import pause_initiative, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativePause:
    """Which initiative, and why."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]
    reason: Annotated[str, WordsArgument()] = ""


def _act(context: Context, arguments: InitiativePause) -> Done:
    return pause_initiative(context, arguments.initiative, arguments.reason)


VERB = Verb(
    arguments=InitiativePause,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage="initiative-pause i3",
    means="let an initiative rest",
    position=33,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    terminal="initiatives pause",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
