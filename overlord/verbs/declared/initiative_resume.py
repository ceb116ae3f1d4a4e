"""Let an initiative go on that rests."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import resume_initiative, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeResume:
    """Which initiative."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]


def _act(context: Context, arguments: InitiativeResume) -> Done:
    return resume_initiative(context, arguments.initiative)


VERB = Verb(
    arguments=InitiativeResume,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage="initiative-resume i3",
    means="let an initiative go on that rests",
    position=34,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    terminal="initiatives resume",
    has_runs=False,
    gaps={
        Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio",
        Interface.MCP: "what a person lets rest, a person lets go on",
    },
)
