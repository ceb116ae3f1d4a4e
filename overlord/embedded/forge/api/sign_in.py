"""What the embedded forge answers to those who ask about themselves: apps, their installations and tokens, limits."""

from starlette.responses import Response

from overlord.embedded.forge.api import account_shape
from overlord.embedded.forge.api.permission import REFUSED, SUSPENDED
from overlord.embedded.forge.api.problem import Problem, missing
from overlord.embedded.forge.api.reply import fields, reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.api.shape import moment


async def get_authenticated(call: Call) -> Response:
    """Who a token belongs to; an app's belongs to nobody."""
    if call.user.permissions is not None:
        raise Problem(403, REFUSED)
    return reply(account_shape.account(call.shape, call.user.login))


async def get_rate_limit(call: Call) -> Response:
    core = call.state.limit.shown(call.user.login, call.state.now().timestamp())
    return reply(account_shape.limits(core))


async def get_installation(call: Call) -> Response:
    app, repository = call.app(), call.state.repository(call.repository_name)
    if not app.is_installed or repository.name not in app.repositories:
        raise missing()
    return reply(account_shape.installation(call.shape, app, repository.owner))


async def create_installation_token(call: Call) -> Response:
    app, asked = call.app(), await fields(call.request)
    if not app.is_installed or call.request.path_params["installation_id"] != app.installation_id:
        raise missing()
    if app.suspended_at is not None:
        raise Problem(403, SUSPENDED)
    grant = call.state.grant(app, asked.get("repositories"), asked.get("permissions"))
    shown = {
        "token": grant.token,
        "expires_at": moment(grant.expires_at),
        "permissions": grant.permissions,
        "repository_selection": "selected",
    }
    return reply(shown, 201)
