"""Signing in with an account at GitHub: a person is sent there and comes back with a code, which says who they are and no more.

What began in a browser is kept in a cookie of that browser, under a key of this process: the state that comes back has to be its own,
counts once, and for ten minutes. Nothing is kept for somebody who only begins.
"""

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from overlord.adapters.github.oauth import OAuthClient
from overlord.domain.access import ACCOUNT_LASTS
from overlord.entrypoints.web.account import AccountRights
from overlord.entrypoints.web.sign_in import Attempts, address_of, path_here, same, signed_in
from overlord.entrypoints.web.site import Site
from overlord.errors import ForgeRefused, ForgeUnavailable
from overlord.failpoints import Failpoint
from overlord.store import access

CALLBACK = "/sign-in/github/callback"
LASTS_S = 600
MOST_USED = 10_000
"""States that came back, of which none counts again. GitHub's codes count once too, and for ten minutes."""
NOT_BEGUN = "That sign-in was not begun in this browser, or too long ago. Sign in once more."
SILENT = "GitHub does not answer just now. Sign in once more in a minute, or with a token."
DENIED = {
    "access_denied": "You did not let GitHub say who you are, so nobody is signed in.",
    "redirect_uri_mismatch": "GitHub does not know this page: the App's callback URL is to be its address and "
    + CALLBACK,
    "application_suspended": "GitHub has suspended the App that people sign in with.",
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """What is known of a browser that was sent to GitHub."""

    state: str
    verifier: str
    to: str
    until: int


class GitHubSignIn:
    """There and back. `show` is the page to sign in on, with what went wrong."""

    def __init__(
        self,
        site: Site,
        client: OAuthClient,
        accounts: AccountRights,
        show: Callable[[str, str, int], Response],
    ) -> None:
        self._site, self._client, self._accounts, self._show = site, client, accounts, show
        self._key = secrets.token_bytes(32)
        self._used: dict[str, None] = {}
        self._refused = Attempts()

    @property
    def _cookie(self) -> str:
        return f"{self._site.cookie}-github"

    async def begin(self, request: Request) -> Response:
        """Send a browser to GitHub."""
        if request.headers.get("sec-fetch-dest", "document") != "document":
            return PlainTextResponse("sign in on a page\n", 400)
        begun = _Begun(
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            to=path_here(request.query_params.get("to", "")),
            until=int(self._site.now.timestamp()) + LASTS_S,
        )
        response = RedirectResponse(self._client.address(begun.state, begun.verifier), 303)
        response.set_cookie(
            self._cookie,
            self._sealed(begun),
            max_age=LASTS_S,
            httponly=True,
            samesite="lax",  # it comes back with what GitHub sends the browser to
            secure=self._site.url.startswith("https:"),
            path="/sign-in/github",
        )
        return response

    async def back(self, request: Request) -> Response:
        """A browser that GitHub has sent back."""
        begun = self._begun(request.cookies.get(self._cookie, ""))
        response = await self._answer(request, begun)
        response.delete_cookie(self._cookie, path="/sign-in/github")
        return response

    async def _answer(self, request: Request, begun: _Begun | None) -> Response:
        asked = request.query_params
        if begun is None or not same(asked.get("state", ""), begun.state) or begun.state in self._used:
            return self._show(NOT_BEGUN, "/", 400)
        self._note_used(begun.state)
        if "error" in asked or not asked.get("code"):
            text = DENIED.get(asked.get("error", ""), "GitHub says nobody's name. Sign in once more.")
            return self._show(text, begun.to, 403)
        address = address_of(request, is_behind_proxy=bool(self._site.url))
        if wait_s := self._refused.wait_s(address):
            headers = {"retry-after": str(int(wait_s) + 1)}
            return PlainTextResponse("too many tries; wait a minute\n", 429, headers)
        try:
            login = await self._client.login(asked["code"], begun.verifier)
            account = await self._accounts.ask(login)
        except ForgeUnavailable as error:
            log.warning("github_sign_in_failed", trouble=str(error))
            return self._show(SILENT, begun.to, 503)
        except ForgeRefused as error:
            self._refused.note(address)
            log.warning("github_sign_in_failed", trouble=str(error))
            return self._show(f"{error}.", begun.to, 403)
        database = self._site.running.parts.database
        if not account.spaces:
            self._refused.note(address)
            at = account.asked_at
            await database.write(
                Failpoint.ACCESS_GRANTED, lambda c: access.note_account_refusal(c, login, at=at)
            )
            return self._show(_nothing_for(login), begun.to, 403)
        secret = await database.write(
            Failpoint.ACCESS_GRANTED, lambda c: access.begin_account_session(c, account)
        )
        return signed_in(
            begun.to,
            self._site.cookie,
            secret,
            is_secure=self._site.url.startswith("https:"),
            lasts_s=int(ACCOUNT_LASTS.total_seconds()),
        )

    def _note_used(self, state: str) -> None:
        if len(self._used) >= MOST_USED:
            del self._used[next(iter(self._used))]
        self._used[state] = None

    # What the cookie holds

    def _sealed(self, begun: _Begun) -> str:
        text = json.dumps([begun.state, begun.verifier, begun.to, begun.until]).encode()
        body = base64.urlsafe_b64encode(text).decode("ascii").rstrip("=")
        return f"{body}.{self._seal(body)}"

    def _begun(self, cookie: str) -> _Begun | None:
        """What a cookie of ours says; None for anything else, and for what began too long ago."""
        body, _, seal = cookie.partition(".")
        if not same(seal, self._seal(body)):
            return None
        text = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))  # our seal is on it
        state, verifier, to, until = json.loads(text)
        found = _Begun(state=state, verifier=verifier, to=to, until=until)
        return found if self._site.now.timestamp() < found.until else None

    def _seal(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), hashlib.sha256).hexdigest()


def _nothing_for(login: str) -> str:
    return (
        f"{login} may write to none of the repositories that Overlord works in, so there is nothing to see here."
        " Whoever runs a repository gives write access at GitHub; whoever runs Overlord makes tokens."
    )
