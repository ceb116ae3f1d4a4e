"""Have an issue worked on, label or not; one whose job waits goes on."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.conversation.argument import IssueArgument
from overlord.domain.text.reference import IssueRef
from overlord.errors import Refused
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.verbs import commands
from overlord.verbs.right import Right
from overlord.verbs.verb import CommentPlace, Context, Done, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Which issue."""

    issue: Annotated[IssueRef | None, IssueArgument()]


def _work(context: Context, arguments: Work) -> Done:
    """A comment was read with its issue, so its work begins at once; elsewhere the forge is asked for the issue first."""
    if context.comment is not None:
        _begin(context, context.comment)
        return Done(text="")
    space, number = context.issue(arguments.issue)
    live = jobs.live_for(context.connection, space, number)
    if live is not None:
        commands.check_nobody_asked(decisions.waiting(context.connection, live.id), context.interface)
    work_request = commands.work_on(context.connection, space, number, actor=context.actor, at=context.at)
    return Done(text="", work_request_id=work_request.id)


def _begin(context: Context, comment: CommentPlace) -> None:
    if comment.live is not None:
        issue = comment.issue or comment.live.issue
        commands.resume_job(
            context.connection, comment.live.id, actor=context.actor, issue=issue, at=context.at
        )
        return
    if comment.issue is None:
        raise Refused(f"#{comment.number} is no open issue")
    jobs.claim(
        context.connection,
        space=comment.space,
        issue=comment.issue,
        base_branch=comment.base_branch,
        contract=context.contract(comment.space),
        at=context.at,
        actor=context.actor,
        is_urgent=context.settings.space(comment.space).labels.priority in comment.issue.labels,
    )


VERB = Verb(
    arguments=Work,
    act=_work,
    space=lambda context, arguments: context.issue(arguments.issue)[0],
    right=Right.WRITER,
    usage="work on #42",
    means="work on an issue, label or not",
    position=1,
    failpoint=Failpoint.WORK_WISHED,
    wait_s=10.0,
    has_runs=False,
)
