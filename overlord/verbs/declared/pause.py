"""Begin nothing new in a repository, or at all; `overlord resume` ends that.

What runs goes on and is judged. Labels and comments are read, and their jobs queue.
"""

from dataclasses import dataclass
from typing import Annotated

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.argument import SpaceArgument, WordsArgument
from overlord.failpoints import Failpoint
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What, and why."""

    space: Annotated[str | None, SpaceArgument()] = None
    reason: Annotated[str, WordsArgument(option="reason", help="Why; jobs that wait for its end say so.")] = (
        ""
    )


def _pause(context: Context, arguments: Pause) -> Done:
    space = context.space(arguments.space) or None
    pause = commands.pause_work(
        context.connection, space, actor=context.actor, reason=arguments.reason, at=context.at
    )
    ends = hint(CommandRef("resume", (pause.what,)), " ends that")
    return Done(text=f"Paused: {pause.what}. What runs goes on, new work queues", hint=ends)


VERB = Verb(
    arguments=Pause,
    act=_pause,
    space=lambda context, arguments: context.space(arguments.space),
    right=Right.APPROVER,
    usage="pause owner/repo",
    means="begin nothing new there; `pause everything` for all",
    position=5,
    failpoint=Failpoint.WORK_PAUSED,
    has_runs=False,
)
