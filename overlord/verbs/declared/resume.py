"""Let paused work go on (`resume owner/repo`, `resume --all`), or a run (`resume 2`)."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import SpaceArgument
from overlord.domain.interface import Interface
from overlord.failpoints import Failpoint
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """What."""

    space: Annotated[str | None, SpaceArgument()] = None


def _resume(context: Context, arguments: Resume) -> Done:
    space = context.space(arguments.space) or None
    paused = commands.resume_work(context.connection, space, actor=context.actor, at=context.at)
    rest = f" Still paused: {', '.join(pause.what for pause in paused)}." if paused else ""
    return Done(text=f"Going on: {space or 'everything'}.{rest}")


VERB = Verb(
    arguments=Resume,
    act=_resume,
    space=lambda context, arguments: context.space(arguments.space),
    right=Right.APPROVER,
    usage="resume owner/repo",
    means="go on there; `resume everything` for all",
    position=6,
    failpoint=Failpoint.WORK_RESUMED,
    has_runs=False,
    gaps={Interface.MCP: "what a person paused, a person lets go on"},
)
