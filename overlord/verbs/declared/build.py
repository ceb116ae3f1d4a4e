"""Have a requirement built: an issue is opened for it, and worked on as the repository's contract says.

The answer comes at once, and once more with the issue's number when it is there.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.build_argument import IssueSpaceArgument, RequirementArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs.issue_request import ask_build, space_meant
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Where, and what is to be there."""

    repository: Annotated[str | None, IssueSpaceArgument()]
    requirement: Annotated[
        str,
        RequirementArgument(
            missing="Say what is to be built.",
            noun="the requirement",
            help="What is to be there, in words; its first line becomes the issue's title.",
        ),
    ]


def _build(context: Context, arguments: Build) -> Done:
    return ask_build(context, arguments.repository, arguments.requirement)


VERB = Verb(
    arguments=Build,
    act=_build,
    space=lambda context, arguments: space_meant(context, arguments.repository),
    right=Right.WRITER,
    usage='build owner/repo "add() takes several numbers"',
    comment_usage='build "add() takes several numbers"',
    means="open an issue for a requirement, and have it worked on",
    position=18,
    failpoint=Failpoint.ISSUE_REQUESTED,
    mcp="run",
    makes_new=True,
    opens_issue=True,
    wait_s=10.0,
    has_runs=False,
    gaps={Interface.TERMINAL: "the command of that name there is about the repository of its directory"},
)
