"""The verbs that have an issue opened: each writes down what is asked for, and the tick opens it."""

from overlord.command_ref import CommandRef, hint
from overlord.domain.conversation.issue_request import InitMode, IssueRequest, RequestKind, RequestOptions
from overlord.domain.conversation.requested_issue import init_text, init_title, title_of
from overlord.domain.interface import Interface
from overlord.domain.text.reference import space_named
from overlord.errors import Refused
from overlord.store import jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.spaces import work_requests
from overlord.store.spaces.work_requests import WorkRequestState
from overlord.verbs.right import NotAllowed
from overlord.verbs.verb import Context, Done


def space_meant(context: Context, named: str | None) -> str:
    """The repository that is named, or the only one; in a comment, its own. Raises NotFound, Refused."""
    if context.comment is None:
        return space_named(named, context.settings.repositories)
    own = context.comment.space
    if named is not None and named.casefold() not in {own.casefold(), own.casefold().rpartition("/")[2]}:
        raise Refused(f"a comment opens issues in its own repository, {own}: leave the other one out")
    return own


def ask_build(context: Context, named: str | None, requirement: str) -> Done:
    """Have an issue opened for a requirement. Raises NotFound, Refused."""
    space = space_meant(context, named)
    asked = issue_requests.request(
        context.connection,
        space=space,
        kind=RequestKind.BUILD,
        title=title_of(requirement),
        body=requirement,
        options=RequestOptions(),
        actor=context.actor,
        at=context.at,
        comment_id=_comment_id(context),
    )
    return _asked(asked)


def ask_init(context: Context, named: str | None, *, is_review: bool, discovers: bool) -> Done:
    """Have an issue opened whose job makes or reviews a repository's contract. Raises NotFound, Refused, NotAllowed."""
    space = space_meant(context, named)
    _check_may(context, space)
    _check_none(context, space)
    mode = InitMode.REVIEW if is_review else InitMode.NEW
    asked = issue_requests.request(
        context.connection,
        space=space,
        kind=RequestKind.INIT,
        title=init_title(space, mode),
        body=init_text(mode, discovers=discovers),
        options=RequestOptions(mode=mode, discovers=discovers),
        actor=context.actor,
        at=context.at,
        comment_id=_comment_id(context),
    )
    return _asked(asked)


def _check_may(context: Context, space: str) -> None:
    """A contract says who may do what. Raises NotAllowed in a comment, which shows no approver, where there are some."""
    if context.interface is Interface.COMMENT and context.settings.approvers(space):
        raise NotAllowed("only an approver has a contract made: in the chat, or on the page")


def _check_none(context: Context, space: str) -> None:
    """Raises Refused while another one is under way."""
    known = issue_requests.last_init(context.connection, space)
    if known is None:
        return
    if known.issue_number is None:
        raise Refused(f"the contract of {space} is asked for already, and its issue is about to be opened")
    job = jobs.live_for(context.connection, space, known.issue_number)
    if job is not None:
        shows = hint(CommandRef("status"), " shows where it stands")
        raise Refused(f"job {job.id} works on the contract of {space} already: {job.issue_ref}", hint=shows)
    if known.wish_id is not None and _is_open(context, known.wish_id):
        raise Refused(f"{space}#{known.issue_number} is about to be taken up for the contract of {space}")


def _is_open(context: Context, wish_id: int) -> bool:
    return any(
        item.id == wish_id and item.state is WorkRequestState.OPEN
        for item in work_requests.waiting(context.connection)
    )


def _comment_id(context: Context) -> int | None:
    return context.comment.comment_id if context.comment is not None else None


def _asked(asked: IssueRequest) -> Done:
    what = "its contract" if asked.kind is RequestKind.INIT else "that"
    return Done(text=f"I open an issue for {what} in {asked.space}.", issue_request_id=asked.id)
