"""Have an architect propose the contract of a repository, or review the one there is: its questions and its confirmation come to people.

An issue is opened for it. A contract says who may do what. So where approvers are named, they alone have one made.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.build_argument import IssueSpaceArgument
from overlord.domain.conversation.look_argument import FlagArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.issue_request import ask_init, space_meant
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """Where, and how."""

    repository: Annotated[str | None, IssueSpaceArgument()]
    review: Annotated[
        bool, FlagArgument(name="review", help="Begin with the contract that is there, and what it led to.")
    ] = False
    skip_discovery: Annotated[
        bool, FlagArgument(name="skip-discovery", help="Ask no questions, and write no vision.")
    ] = False


def _init(context: Context, arguments: Init) -> Done:
    return ask_init(
        context,
        arguments.repository,
        is_review=arguments.review,
        discovers=not arguments.skip_discovery,
    )


VERB = Verb(
    arguments=Init,
    act=_init,
    space=lambda context, arguments: space_meant(context, arguments.repository),
    right=Right.WRITER,
    usage="init owner/repo",
    comment_usage="init",
    means="have a contract proposed for it; `init owner/repo review` looks at the one it has",
    position=19,
    failpoint=Failpoint.ISSUE_REQUESTED,
    makes_new=True,
    opens_issue=True,
    wait_s=10.0,
    has_runs=False,
    gaps={Interface.TERMINAL: "the command of that name there is about the repository of its directory"},
)
