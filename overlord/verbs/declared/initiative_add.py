"""Open an initiative: a goal in a repository, which a lead plans and whose tasks are then worked on.

In a terminal quote the lines, or give `-` alone and type them, or have a file read: `< goal.md`.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import WordsArgument
from overlord.domain.conversation.build_argument import IssueSpaceArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import space_named
from overlord.failpoints import Failpoint
from overlord.verbs.portfolio import add_initiative
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeAdd:
    """Where, and what is wanted."""

    repository: Annotated[str | None, IssueSpaceArgument()]
    words: Annotated[
        str,
        WordsArgument(
            missing="Say what is wanted, in a line.",
            noun="the words",
            help="What is wanted: the first line is the title, what follows the goal.",
        ),
    ]


def _act(context: Context, arguments: InitiativeAdd) -> Done:
    return add_initiative(context, arguments.repository, arguments.words)


VERB = Verb(
    arguments=InitiativeAdd,
    act=_act,
    space=lambda context, arguments: space_named(arguments.repository, context.settings.repositories),
    right=Right.WRITER,
    usage='initiative-add owner/repo "Totals in euros"',
    means="open an initiative, which is planned before anything is written",
    position=31,
    failpoint=Failpoint.INITIATIVE_CHANGED,
    makes_new=True,
    terminal="initiatives add",
    has_runs=False,
    gaps={Interface.COMMENT: "a comment stands at one issue, and this is about the portfolio"},
)
