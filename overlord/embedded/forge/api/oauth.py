"""Signing people in by way of the forge, as GitHub does it: a person says yes in their browser, and an App's client gets a code."""

import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from overlord.embedded.forge.api.reply import reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.oauth import CODE_LASTS, AppClient, Code

AUTHORIZE, EXCHANGE = "/login/oauth/authorize", "/login/oauth/access_token"
REFUSALS = {
    "incorrect_client_credentials": "The client_id and/or client_secret passed are incorrect.",
    "redirect_uri_mismatch": "The redirect_uri MUST match the registered callback URL for this application.",
    "bad_verification_code": "The code passed is incorrect or expired.",
}


async def authorize(call: Call) -> Response:
    """A person's yes or no, and back to where they came from."""
    known, asked = call.state.oauth, call.request.query_params
    client, state = known.client, asked.get("state", "")
    if client is None or asked.get("client_id") != client.id:
        return PlainTextResponse("Not Found", 404)
    if asked.get("redirect_uri", client.callback) != client.callback:
        return _back(client, error="redirect_uri_mismatch", state=state)
    if not known.person:
        return _back(client, error="access_denied", state=state)
    code, hashed = secrets.token_hex(10), asked.get("code_challenge_method") == "S256"
    known.codes[code] = Code(
        login=known.person,
        challenge=asked.get("code_challenge", "") if hashed else "",
        until=call.state.now() + CODE_LASTS,
    )
    return _back(client, code=code, state=state)


async def exchange(call: Call) -> Response:
    """A token for a code, once. A refusal is answered with 200, as GitHub does."""
    known, sent = call.state.oauth, dict(parse_qsl((await call.request.body()).decode()))
    client = known.client
    if client is None or (sent.get("client_id"), sent.get("client_secret")) != (client.id, client.secret):
        return _refused("incorrect_client_credentials")
    if sent.get("redirect_uri", client.callback) != client.callback:
        return _refused("redirect_uri_mismatch")
    code = known.codes.pop(sent.get("code", ""), None)
    if code is None or code.until <= call.state.now() or not code.fits(sent.get("code_verifier", "")):
        return _refused("bad_verification_code")
    token = call.state.user(code.login).token
    return reply({"access_token": token, "token_type": "bearer", "scope": ""})


def _refused(error: str) -> Response:
    return reply({"error": error, "error_description": REFUSALS[error]})


def _back(client: AppClient, **said: str) -> Response:
    return RedirectResponse(f"{client.callback}?{urlencode(said)}", 302)
