"""Take back what was said about a repository without tests: the next job there asks anew."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import SpaceArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import space_named
from overlord.failpoints import Failpoint
from overlord.verbs import untested
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAgain:
    """Which; it need not be named where there is one."""

    space: Annotated[str | None, SpaceArgument()] = None


def _space(context: Context, arguments: AskAgain) -> str:
    return space_named(arguments.space, context.settings.repositories)


def _ask_again(context: Context, arguments: AskAgain) -> Done:
    name = _space(context, arguments)
    policy = untested.ask_again(context.connection, name, actor=context.actor, at=context.at)
    return Done(text=f"{name}: “{policy.describe()}” counts no more. The next job without tests asks anew.")


VERB = Verb(
    arguments=AskAgain,
    act=_ask_again,
    space=_space,
    right=Right.APPROVER,
    usage="ask-again owner/repo",
    means="take back what was said about its missing tests",
    position=14,
    failpoint=Failpoint.DECISION_ANSWERED,
    terminal="space ask-again",
    gaps={Interface.MCP: "it takes back what a person said"},
)
