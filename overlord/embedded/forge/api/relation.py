"""How the operations are answered that relate issues to each other. A forge that has no such relations knows no such address."""

from collections.abc import Sequence

from starlette.responses import Response

from overlord.embedded.forge.api.problem import invalid, missing
from overlord.embedded.forge.api.reply import fields, page_of, reply
from overlord.embedded.forge.api.rest import Call, may_see
from overlord.embedded.forge.record import Issue


async def list_sub_issues(call: Call) -> Response:
    _check(call.state.has_sub_issues)
    return _listed(call, call.state.sub_issues(call.thread()))


async def add_sub_issue(call: Call) -> Response:
    _check(call.state.has_sub_issues)
    parent = call.thread(to_write=True)
    child = await _named(call, "sub_issue_id")
    return reply(call.shape.issue(call.state.add_sub_issue(parent, child)), 201)


async def list_blocked_by(call: Call) -> Response:
    _check(call.state.has_dependencies)
    return _listed(call, call.state.blockers(call.thread()))


async def add_blocked_by(call: Call) -> Response:
    _check(call.state.has_dependencies)
    issue = call.thread(to_write=True)
    blocker = await _named(call, "issue_id")
    return reply(call.shape.issue(call.state.add_blocker(issue, blocker)), 201)


async def remove_blocked_by(call: Call) -> Response:
    _check(call.state.has_dependencies)
    issue = call.thread(to_write=True)
    return reply(call.shape.issue(call.state.remove_blocker(issue, call.request.path_params["issue_id"])))


def _check(is_known: bool) -> None:
    if not is_known:
        raise missing()


def _sees(call: Call, issue: Issue) -> bool:
    return may_see(call.user, call.state.repository(issue.repository))


def _listed(call: Call, issues: Sequence[Issue]) -> Response:
    """Those of repositories that this account may see."""
    page, link = page_of(call.request, [issue for issue in issues if _sees(call, issue)])
    return reply(call.shape.each(page), headers=link)


async def _named(call: Call, field: str) -> Issue:
    """The issue whose id is in this field, if this account may see it."""
    number = (await fields(call.request)).get(field)
    if not isinstance(number, int) or isinstance(number, bool):
        raise invalid("Issue", field, "missing_field" if number is None else "invalid")
    found = call.state.issue_with(number)
    if not _sees(call, found):
        raise missing()
    return found
