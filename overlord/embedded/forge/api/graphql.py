"""The GraphQL endpoint: the few things Overlord asks that REST does not have, and nothing else."""

from typing import Any

from starlette.responses import Response

from overlord.embedded.forge.api.permission import REFUSED
from overlord.embedded.forge.api.problem import Problem
from overlord.embedded.forge.api.reply import fields, reply
from overlord.embedded.forge.api.rest import Call, may_see
from overlord.embedded.forge.api.shape import moment, node_id
from overlord.embedded.forge.record import Pull, User

READY = "markPullRequestReadyForReview"
EDITED = "lastEditedAt"


async def graphql(call: Call) -> Response:
    """One mutation or one query, told apart by what it names."""
    viewer, asked = call.user, await fields(call.request)
    query, variables = str(asked.get("query")), asked.get("variables") or {}
    if READY in query:
        return _ready(call, viewer, variables)
    if EDITED in query:
        return _edited(call, viewer, variables)
    return _error_response({}, f"Only {READY} and {EDITED} are understood here", "INVALID")


def _ready(call: Call, viewer: User, variables: dict[str, Any]) -> Response:
    wanted, nothing = variables.get("id"), {READY: None}
    pulls = [pull for repository in call.state.repositories() for pull in call.state.pulls(repository.name)]
    found = next((pull for pull in pulls if node_id("PR", pull.id) == wanted), None)
    if found is not None and not may_see(viewer, call.state.repository(found.repository)):
        found = None
    if found is None:
        return _error_response(
            nothing, f"Could not resolve to a node with the global id of '{wanted}'.", "NOT_FOUND"
        )
    if not viewer.permits(contents="write", pull_requests="write"):
        return _error_response(nothing, REFUSED, "FORBIDDEN")
    if not viewer.may_write:
        return _error_response(nothing, f"{viewer.login} does not have permission for {READY}.", "FORBIDDEN")
    ready = call.state.mark_ready(found)
    return reply({"data": {READY: {"pullRequest": {"id": wanted, "isDraft": ready.draft}}}})


def _edited(call: Call, viewer: User, variables: dict[str, Any]) -> Response:
    name = f"{variables.get('owner')}/{variables.get('name')}"
    try:
        issue = call.state.issue(name, int(variables.get("number") or 0))
    except Problem:
        issue = None
    if issue is None or isinstance(issue, Pull) or not may_see(viewer, call.state.repository(name)):
        return _error_response(
            {"repository": None}, f"Could not resolve to an Issue of '{name}'.", "NOT_FOUND"
        )
    if not viewer.permits(issues="read"):
        return _error_response({"repository": None}, REFUSED, "FORBIDDEN")
    return reply({"data": {"repository": {"issue": {EDITED: moment(issue.edited_at)}}}})


def _error_response(data: dict[str, Any], message: str, kind: str) -> Response:
    return reply({"data": data or None, "errors": [{"type": kind, "path": list(data), "message": message}]})
