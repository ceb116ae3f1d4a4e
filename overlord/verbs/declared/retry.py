"""Try again what a job waits for."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import JobArgument
from overlord.domain.text.reference import Target
from overlord.failpoints import Failpoint
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Which job."""

    job: Annotated[Target | None, JobArgument()]


def _retry(context: Context, arguments: Retry) -> Done:
    job = context.job(arguments.job)
    commands.retry_job(
        context.connection, job.id, actor=context.actor, interface=context.interface, at=context.at
    )
    return Done(text=f"Job {job.id}, {job.issue_ref}, has another try.")


VERB = Verb(
    arguments=Retry,
    act=_retry,
    space=lambda context, arguments: context.job(arguments.job).space,
    right=Right.WRITER,
    usage="retry #42",
    means="try again what its job waits for",
    position=3,
    failpoint=Failpoint.DECISION_ANSWERED,
    terminal="job retry",
)
