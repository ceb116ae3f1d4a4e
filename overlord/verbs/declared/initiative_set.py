"""Change the priority, budget, paths or title of an initiative."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import InitiativeArgument, WordsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import InitiativeRef
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import set_initiative, space_of
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeSet:
    """Which initiative, and what of it."""

    initiative: Annotated[InitiativeRef, InitiativeArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what is to change, as in: priority high.",
            noun="the words",
            help="What, and its value: priority high, budget $20, paths src/**, title …",
        ),
    ]


def _act(context: Context, arguments: InitiativeSet) -> Done:
    return set_initiative(context, arguments.initiative, arguments.words)


VERB = Verb(
    arguments=InitiativeSet,
    act=_act,
    space=lambda context, arguments: space_of(context, arguments.initiative),
    right=Right.WRITER,
    usage="initiative-set i3 priority high",
    means="change priority, budget, paths or title of an initiative",
    position=32,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    terminal="initiatives set",
    has_runs=False,
    gaps={
        Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio",
        Interface.MCP: "a person says what an initiative may spend and write",
    },
)
