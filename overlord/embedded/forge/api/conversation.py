"""How the operations are answered that tell who did and said what: issue events, permissions, comments, reactions."""

from starlette.responses import Response

from overlord.embedded.forge.api import account_shape
from overlord.embedded.forge.api.problem import missing
from overlord.embedded.forge.api.reply import page_of, reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.api.shape import moment
from overlord.embedded.forge.record import Comment, User

OLD_WORDS = {"triage": "read", "maintain": "write"}
"""What GitHub called a role before there were so many."""


async def list_events(call: Call) -> Response:
    page, link = page_of(call.request, call.state.occurrences(call.thread()))
    return reply([call.shape.occurrence(item) for item in page], headers=link)


async def get_permission(call: Call) -> Response:
    """What somebody may do here; a public repository may be read by everybody."""
    repository = call.repository(to_write=True)
    user = call.state.records.get(User, call.request.path_params["username"])
    if user is None:
        raise missing()
    role = call.state.role(repository, user)
    permission, name = OLD_WORDS.get(role, role), "" if role == "none" else role
    shown = account_shape.collaborator(call.shape, user.login, permission, name)
    return reply({"permission": permission, "role_name": name, "user": shown})


async def list_recent_comments(call: Call) -> Response:
    """The comments on all issues and pull requests, the longest unchanged first where that is asked for."""
    repository = call.repository()
    since = call.query("since")
    lines = [
        comment
        for comment in call.state.records.all(Comment)
        if comment.repository == repository.name
        and (not since or (moment(comment.updated_at) or "") >= since)
    ]
    if call.query("sort") == "updated":
        lines.sort(
            key=lambda item: (item.updated_at, item.id), reverse=call.query("direction", "desc") == "desc"
        )
    page, link = page_of(call.request, lines)
    return reply([call.shape.comment(comment) for comment in page], headers=link)


async def create_reaction(call: Call) -> Response:
    content = await call.text("content", "Reaction")
    comment_id = call.request.path_params["comment_id"]
    reaction, is_new = call.state.react(call.repository().name, comment_id, content, call.user.login)
    return reply(call.shape.reaction(reaction), 201 if is_new else 200)
