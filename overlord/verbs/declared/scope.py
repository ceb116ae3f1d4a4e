"""Let a job write more paths, for 14 days; its running session too. `scope explain '#42'` tells what it may, and why."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument, PatternsArgument
from overlord.domain.interface import Interface
from overlord.domain.text.reference import Target
from overlord.failpoints import Failpoint
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class WidenScope:
    """Which job, and which paths."""

    job: Annotated[
        Target | None,
        JobArgument(help="A job's number, or its issue as '#42'; or `explain`, and then one of these."),
    ]
    patterns: Annotated[tuple[str, ...], PatternsArgument()]


def _widen(context: Context, arguments: WidenScope) -> Done:
    job = context.job(arguments.job)
    context.check_eyes(job.id)
    outcome = commands.widen_scope(
        context.connection,
        job.id,
        arguments.patterns,
        actor=context.actor,
        interface=context.interface,
        at=context.at,
    )
    return Done(text=f"Job {job.id} may write {outcome}.")


VERB = Verb(
    arguments=WidenScope,
    act=_widen,
    space=lambda context, arguments: context.job(arguments.job).space,
    right=Right.WRITER,
    usage="scope #42 +src/**",
    means="let its job write more",
    position=4,
    failpoint=Failpoint.DECISION_ANSWERED,
    gaps={Interface.MCP: "what a job may write, a person widens"},
)
