"""End a job. Its session is stopped; branch, pull request and evidence stay."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument, WordsArgument
from overlord.domain.text.reference import Target
from overlord.failpoints import Failpoint
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Which job, and why."""

    job: Annotated[Target | None, JobArgument()]
    reason: Annotated[str, WordsArgument(option="reason", help="Why; the job's issue says so.")] = ""


def _stop(context: Context, arguments: Stop) -> Done:
    number = context.job(arguments.job).id
    job = commands.stop_job(
        context.connection, number, actor=context.actor, reason=arguments.reason, at=context.at
    )
    return Done(text=f"Stopped job {job.id}, {job.issue_ref}. What it made stays.")


VERB = Verb(
    arguments=Stop,
    act=_stop,
    space=lambda context, arguments: context.job(arguments.job).space,
    right=Right.WRITER,
    usage="stop #42",
    means="end its job; what it made stays",
    confirm="Its session ends; branch, pull request and evidence stay.",
    position=2,
    failpoint=Failpoint.JOB_STOPPED,
    is_destructive=True,
)
